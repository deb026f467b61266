// PutItem, GetItem, DeleteItem and the batch calls.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { B, L, M, N, S, SS, assertFails, assertSame, suite } from './clients.mjs';
import { isLocal, referenceOnly } from './harness.mjs';

const context = await suite();
const table = await context.table('items', 'pk:S', 'sk:N');
const other = await context.table('other', 'id:S');
const key = (pk, sk = 0) => ({ pk: S(pk), sk: N(sk) });
const get = async (Key) => (await context.ddb.GetItem({ TableName: table, Key, ConsistentRead: true })).Item;
const noSuchTable = isLocal ? '' : 'Requested resource not found';
const schemaMismatch = 'The provided key element does not match the schema';

describe('PutItem', () => {
  test('answers nothing', async () => {
    assertSame(await context.ddb.PutItem({ TableName: table, Item: { ...key('put'), a: N(1) } }), {});
  });
  test('replaces the whole item', async () => {
    await context.ddb.PutItem({ TableName: table, Item: { ...key('replace'), a: N(1), b: N(2) } });
    await context.ddb.PutItem({ TableName: table, Item: { ...key('replace'), c: N(3) } });
    assertSame(await get(key('replace')), { ...key('replace'), c: N(3) });
  });
  test('ReturnValues', async () => {
    const Item = { ...key('returns'), a: N(1) };
    assertSame(await context.ddb.PutItem({ TableName: table, Item, ReturnValues: 'ALL_OLD' }), {});
    assertSame(await context.ddb.PutItem({ TableName: table, Item: { ...Item, a: N(2) }, ReturnValues: 'ALL_OLD' }), { Attributes: Item });
    assertSame(await context.ddb.PutItem({ TableName: table, Item, ReturnValues: 'NONE' }), {});
    for (const ReturnValues of ['ALL_NEW', 'UPDATED_OLD', 'UPDATED_NEW']) {
      await assertFails(context.ddb.PutItem({ TableName: table, Item, ReturnValues }), 'ValidationException', isLocal ? 'Return values set to invalid value' : 'ReturnValues can only be ALL_OLD or NONE');
    }
  });
  const OPV = 'One or more parameter values were invalid: ';
  const emptyKey = 'One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk';
  const cases = [
    [{ pk: S('x') }, `${OPV}Missing the key sk in the item`],
    [{ sk: N(1) }, `${OPV}Missing the key pk in the item`],
    [{}, `${OPV}Missing the key pk in the item`],
    [{ pk: N(1), sk: N(1) }, `${OPV}Type mismatch for key pk expected: S actual: N`],
    [{ pk: S('x'), sk: S('1') }, `${OPV}Type mismatch for key sk expected: N actual: S`],
    [{ pk: SS('x'), sk: N(1) }, `${OPV}Type mismatch for key pk expected: S actual: SS`],
    [{ pk: S(''), sk: N(1) }, emptyKey],
  ];
  for (const [Item, message] of cases) {
    test(`${JSON.stringify(Item)}: ${message}`, async () => {
      await assertFails(context.ddb.PutItem({ TableName: table, Item }), 'ValidationException', isLocal ? '' : message);
    });
  }
  test('no such table', async () => {
    await assertFails(context.ddb.PutItem({ TableName: context.name('nothing'), Item: key('x') }), 'ResourceNotFoundException', noSuchTable);
  });
});

describe('GetItem', () => {
  test('a missing item gives no Item', async () => {
    assertSame(await context.ddb.GetItem({ TableName: table, Key: key('nobody') }), {});
    assertSame(await context.ddb.GetItem({ TableName: table, Key: key('nobody'), ConsistentRead: true }), {});
  });
  for (const Key of [{ pk: S('x') }, { sk: N(1) }, { pk: S('x'), sk: N(1), more: S('x') }, { pk: S('x'), other: N(1) }, { pk: N(1), sk: N(1) }, { pk: S('x'), sk: S('1') }]) {
    test(`a key that is none: ${JSON.stringify(Key)}`, async () => {
      for (const operation of ['GetItem', 'DeleteItem', 'UpdateItem']) {
        await assertFails(context.ddb[operation]({ TableName: table, Key }), 'ValidationException', isLocal ? '' : schemaMismatch);
      }
      await assertFails(context.ddb.BatchGetItem({ RequestItems: { [table]: { Keys: [Key] } } }), 'ValidationException', isLocal ? '' : schemaMismatch);
    });
  }
  test('an empty key', async () => {
    await assertFails(context.ddb.GetItem({ TableName: table, Key: { pk: S(''), sk: N(1) } }), 'ValidationException',
      'One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: pk');
  });
  test('no such table', async () => {
    for (const operation of ['GetItem', 'DeleteItem', 'UpdateItem']) {
      await assertFails(context.ddb[operation]({ TableName: context.name('nothing'), Key: key('x') }), 'ResourceNotFoundException', noSuchTable);
    }
  });
  test('table names that cannot be', referenceOnly('other texts'), async () => {
    for (const [TableName, text] of [['a b', 'failed to satisfy constraint'], ['x'.repeat(1025), 'failed to satisfy constraint'], ['ä', 'failed to satisfy constraint']]) {
      await assertFails(context.ddb.GetItem({ TableName, Key: key('x') }), 'ValidationException', text);
    }
  });
});

describe('DeleteItem', () => {
  test('deletes, and once more', referenceOnly('reports capacity unasked'), async () => {
    await context.ddb.PutItem({ TableName: table, Item: { ...key('delete'), a: N(1) } });
    assertSame(await context.ddb.DeleteItem({ TableName: table, Key: key('delete') }), {});
    assert.equal(await get(key('delete')), undefined);
    assertSame(await context.ddb.DeleteItem({ TableName: table, Key: key('delete') }), {});
  });
  test('ReturnValues', referenceOnly('reports capacity unasked'), async () => {
    const Item = { ...key('delete'), a: L(M({ b: N(1) })) };
    await context.ddb.PutItem({ TableName: table, Item });
    assertSame(await context.ddb.DeleteItem({ TableName: table, Key: key('delete'), ReturnValues: 'ALL_OLD' }), { Attributes: Item });
    assertSame(await context.ddb.DeleteItem({ TableName: table, Key: key('delete'), ReturnValues: 'ALL_OLD' }), {});
    await assertFails(context.ddb.DeleteItem({ TableName: table, Key: key('delete'), ReturnValues: 'ALL_NEW' }), 'ValidationException', isLocal ? '' : 'ReturnValues can only be ALL_OLD or NONE');
  });
});

describe('BatchWriteItem', () => {
  const put = (Item) => ({ PutRequest: { Item } });
  const remove = (Key) => ({ DeleteRequest: { Key } });
  test('puts and deletes over two tables', async () => {
    await context.ddb.PutItem({ TableName: table, Item: key('batch', 99) });
    const answer = await context.ddb.BatchWriteItem({
      RequestItems: {
        [table]: [...Array.from({ length: 20 }, (_, i) => put({ ...key('batch', i), i: N(i) })), remove(key('batch', 99)), remove(key('batch', 1000))],
        [other]: [put({ id: S('a'), b: B('x') }), put({ id: S('b') }), remove({ id: S('c') })],
      },
    });
    assertSame(answer, { UnprocessedItems: {} });
    assert.equal((await context.ddb.Query({ TableName: table, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': S('batch') } })).Count, 20);
    assert.equal((await context.ddb.Scan({ TableName: other })).Count, 2);
  });
  test('more than 25', async () => {
    await assertFails(context.ddb.BatchWriteItem({ RequestItems: { [table]: Array.from({ length: 26 }, (_, i) => put(key('26', i))) } }), 'ValidationException',
      isLocal ? 'Too many items requested for the BatchWriteItem call' : 'Member must have length less than or equal to 25');
    await assertFails(context.ddb.BatchWriteItem({
      RequestItems: { [table]: Array.from({ length: 13 }, (_, i) => put(key('26', i))), [other]: Array.from({ length: 13 }, (_, i) => put({ id: S(`${i}`) })) },
    }), 'ValidationException', 'Too many items requested for the BatchWriteItem call');
    assert.equal((await context.ddb.Query({ TableName: table, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': S('26') } })).Count, 0);
  });
  const refused = [
    ['duplicates', () => ({ [table]: [put(key('d', 1)), put({ ...key('d', '1.0'), a: N(1) })] }), 'Provided list of item keys contains duplicates'],
    ['put and delete of one key', () => ({ [table]: [put(key('d', 1)), remove(key('d', 1))] }), 'Provided list of item keys contains duplicates'],
    ['nothing', () => ({}), 'requestItems'],
    ['a table without requests', () => ({ [table]: [] }), ''],
    ['a request that is empty', () => ({ [table]: [{}] }), ''],
    ['a request that is both', () => ({ [table]: [{ ...put(key('d')), ...remove(key('e')) }] }), ''],
    // The reference speaks of keys in batches; that a put is worded like PutItem is as likely.
    ['an item without its key', () => ({ [table]: [put(key('d')), put({ pk: S('x') })] }), isLocal ? '' : new RegExp(`${schemaMismatch}|Missing the key sk in the item`)],
    ['a key of another type', () => ({ [table]: [remove({ pk: S('x'), sk: S('y') })] }), isLocal ? '' : schemaMismatch],
  ];
  for (const [title, items, message] of refused) {
    test(`${title} is refused`, async () => {
      await assertFails(context.ddb.BatchWriteItem({ RequestItems: items() }), 'ValidationException', isLocal && title === 'nothing' ? '' : message === 'requestItems' ? /equestItems/ : message);
    });
  }
  test('no such table', async () => {
    await assertFails(context.ddb.BatchWriteItem({ RequestItems: { [context.name('nothing')]: [put(key('d'))], [table]: [put(key('not written'))] } }), 'ResourceNotFoundException', noSuchTable);
    assert.equal(await get(key('not written')), undefined);
  });
});

describe('BatchGetItem', () => {
  test('over two tables, missing items left out', async () => {
    await context.load(table, Array.from({ length: 50 }, (_, i) => ({ ...key('bg', i), i: N(i) })));
    await context.load(other, [{ id: S('bg'), v: N(1) }]);
    const answer = await context.ddb.BatchGetItem({
      RequestItems: { [table]: { Keys: Array.from({ length: 60 }, (_, i) => key('bg', i)), ConsistentRead: true }, [other]: { Keys: [{ id: S('bg') }, { id: S('nobody') }] } },
    });
    assert.deepEqual(Object.keys(answer).sort(), ['Responses', 'UnprocessedKeys']);
    assert.deepEqual(answer.UnprocessedKeys, {});
    assert.deepEqual(answer.Responses[table].map((item) => Number(item.i.N)).sort((a, b) => a - b), Array.from({ length: 50 }, (_, i) => i));
    assertSame(answer.Responses[other], [{ id: S('bg'), v: N(1) }]);
  });
  test('nothing found', async () => {
    assertSame(await context.ddb.BatchGetItem({ RequestItems: { [table]: { Keys: [key('nobody')] } } }), { Responses: { [table]: [] }, UnprocessedKeys: {} });
  });
  test('more than 100', async () => {
    const Keys = Array.from({ length: 101 }, (_, i) => key('bg', i));
    await assertFails(context.ddb.BatchGetItem({ RequestItems: { [table]: { Keys } } }), 'ValidationException',
      isLocal ? 'Too many items requested for the BatchGetItem call' : 'Member must have length less than or equal to 100');
    await assertFails(context.ddb.BatchGetItem({ RequestItems: { [table]: { Keys: Keys.slice(0, 60) }, [other]: { Keys: Array.from({ length: 60 }, (_, i) => ({ id: S(`${i}`) })) } } }),
      'ValidationException', 'Too many items requested for the BatchGetItem call');
  });
  test('duplicates', async () => {
    await assertFails(context.ddb.BatchGetItem({ RequestItems: { [table]: { Keys: [key('bg', 1), key('bg', isLocal ? '1' : '1.0')] } } }), 'ValidationException', 'Provided list of item keys contains duplicates');
  });
  test('no such table', async () => {
    await assertFails(context.ddb.BatchGetItem({ RequestItems: { [context.name('nothing')]: { Keys: [key('x')] } } }), 'ResourceNotFoundException', noSuchTable);
  });
  test('nothing asked', async () => {
    await assertFails(context.ddb.BatchGetItem({ RequestItems: {} }), 'ValidationException');
    await assertFails(context.ddb.BatchGetItem({ RequestItems: { [table]: { Keys: [] } } }), 'ValidationException');
  });
  test('stops at 16 MB and says what is left', async () => {
    const big = Array.from({ length: 60 }, (_, i) => ({ ...key(`big${i}`), v: S('x'.repeat(380 * 1024)) }));
    for (const Item of big) await context.ddb.PutItem({ TableName: table, Item });
    let RequestItems = { [table]: { Keys: big.map(({ pk, sk }) => ({ pk, sk })) } };
    const seen = new Set();
    let rounds = 0;
    while (Object.keys(RequestItems).length) {
      const answer = await context.ddb.BatchGetItem({ RequestItems });
      const got = answer.Responses[table] ?? [];
      assert.ok(got.length > 0 && got.length <= 44, `${got.length} items in one answer`);
      for (const item of got) {
        assert.equal(item.v.S.length, 380 * 1024);
        assert.ok(!seen.has(item.pk.S));
        seen.add(item.pk.S);
      }
      RequestItems = answer.UnprocessedKeys;
      rounds++;
    }
    assert.equal(seen.size, 60);
    assert.ok(rounds >= 2);
  });
});
