// ReturnConsumedCapacity, exact to the unit, at both sides of every step.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { BOOL, L, M, N, NS, NULL, S, SS, assertFails, suite } from './clients.mjs';
import { isLocal, referenceOnly } from './harness.mjs';

const context = await suite();
const table = await context.table('capacity', 'pk:S', 'sk:N', { ProvisionedThroughput: { ReadCapacityUnits: 1000, WriteCapacityUnits: 1000 } });
// One partition: ceil(1000 / 3000 + 500 / 1000).
const other = await context.table('capacity2', 'pk:S', undefined, { ProvisionedThroughput: { ReadCapacityUnits: 1000, WriteCapacityUnits: 500 } });
const onDemand = await context.table('capacity3', 'pk:S');

let serial = 0;
const freshKey = () => ({ pk: S(`k${String(++serial).padStart(7, '0')}`), sk: N(0) });
const keyBytes = 2 + 8 + 2 + 1;  // names, an 8-byte string and the number 0
// An item of exactly `bytes` bytes under that key.
const itemOf = (bytes, key = freshKey()) => ({ ...key, v: S('x'.repeat(bytes - keyBytes - 1)) });
const keyOf = ({ pk, sk }) => ({ pk, sk });
const units = async (operation, input) => (await context.ddb[operation]({ TableName: table, ReturnConsumedCapacity: 'TOTAL', ...input })).ConsumedCapacity.CapacityUnits;
const put = async (bytes) => {
  const Item = itemOf(bytes);
  await context.ddb.PutItem({ TableName: table, Item });
  return Item;
};

describe('PutItem', () => {
  for (const [bytes, expected] of [[20, 1], [1023, 1], [1024, 1], [1025, 2], [2048, 2], [2049, 3], [10240, 10], [10241, 11], [409600, 400]]) {
    test(`${bytes} bytes cost ${expected}`, async () => assert.equal(await units('PutItem', { Item: itemOf(bytes) }), expected));
  }
  for (const [before, now, expected] of [[5000, 100, 5], [100, 5000, 5], [5000, 5121, 6]]) {
    test(`${now} bytes in place of ${before} cost ${expected}`, async () => assert.equal(await units('PutItem', { Item: itemOf(now, keyOf(await put(before))) }), expected));
  }
});

describe('the size of values', () => {
  // A value and its size; the item is filled up to 1024 and 1025 bytes.
  const cases = [
    [S(''), 0], [S('äöü'), 6], [S('😀'), 4], [N(0), 1], [N(1), 2], [N(42), 2], [N(-42), 3], [N(100), 2], [N(123), 3], [N(1234), 3], [N('0.0000001'), 2], [N('1E125'), 2], [N('12.34'), 3],
    [N('12345678901234567890123456789012345678'), 20], [N('-12345678901234567890123456789012345678'), 21],
    [BOOL(true), 1], [BOOL(false), 1], [NULL, 1], [{ B: new Uint8Array(10) }, 10], [SS('a', 'bcd'), 4], [NS(1, -42), 5], [{ BS: [new Uint8Array(3), new Uint8Array(4)] }, 7],
    [L(), 3], [M({}), 3], [L(S('ab'), N(1)), 3 + 1 + 2 + 1 + 2], [M({ key: S('ab') }), 3 + 3 + 1 + 2], [M({ k: L(M({})) }), 3 + 1 + 1 + 3 + 1 + 3],
  ];
  for (const [value, size] of cases) {
    // Local counts numbers and containers otherwise.
    const simple = value.S !== undefined || value.B !== undefined || value.BOOL !== undefined || value.NULL !== undefined || value.SS !== undefined;
    test(`${JSON.stringify(value)} has ${size} bytes`, simple ? {} : referenceOnly('counts otherwise'), async () => {
      const fill = 1024 - keyBytes - 1 - 1 - size;
      assert.equal(await units('PutItem', { Item: { ...freshKey(), f: S('x'.repeat(fill)), v: value } }), 1);
      assert.equal(await units('PutItem', { Item: { ...freshKey(), f: S('x'.repeat(fill + 1)), v: value } }), 2);
    });
  }
});

describe('GetItem', () => {
  for (const [bytes, eventual, consistent] of [[20, 0.5, 1], [4096, 0.5, 1], [4097, 1, 2], [8192, 1, 2], [8193, 1.5, 3], [409600, 50, 100]]) {
    test(`${bytes} bytes cost ${eventual}, consistently ${consistent}`, async () => {
      const Key = keyOf(await put(bytes));
      assert.equal(await units('GetItem', { Key }), eventual);
      assert.equal(await units('GetItem', { Key, ConsistentRead: true }), consistent);
      assert.equal(await units('GetItem', { Key, ProjectionExpression: 'pk' }), eventual);
    });
  }
  test('a missing item', async () => {
    assert.equal(await units('GetItem', { Key: freshKey() }), 0.5);
    assert.equal(await units('GetItem', { Key: freshKey(), ConsistentRead: true }), 1);
  });
});

describe('UpdateItem and DeleteItem', () => {
  const set = (bytes) => ({ UpdateExpression: 'SET v = :v', ExpressionAttributeValues: { ':v': S('x'.repeat(bytes - keyBytes - 1)) } });
  for (const [before, now, expected] of [[3000, 3000, 3], [3000, 100, 3], [100, 3000, 3], [1024, 1025, 2]]) {
    test(`an update from ${before} to ${now} bytes costs ${expected}`, async () => {
      assert.equal(await units('UpdateItem', { Key: keyOf(await put(before)), ...set(now) }), expected);
    });
  }
  test('the whole item counts', async () => {
    assert.equal(await units('UpdateItem', { Key: keyOf(await put(5000)), UpdateExpression: 'SET a = :v', ExpressionAttributeValues: { ':v': N(1) } }), 5);
  });
  test('of a missing item', async () => assert.equal(await units('UpdateItem', { Key: freshKey(), ...set(1500) }), 2));
  for (const [bytes, expected] of [[20, 1], [1024, 1], [1025, 2], [10240, 10]]) {
    test(`a delete of ${bytes} bytes costs ${expected}`, async () => assert.equal(await units('DeleteItem', { Key: keyOf(await put(bytes)) }), expected));
  }
  test('a delete of nothing costs 1', async () => assert.equal(await units('DeleteItem', { Key: freshKey() }), 1));
});

describe('batches', () => {
  const total = (list) => list.reduce((sum, { CapacityUnits }) => sum + CapacityUnits, 0);
  test('BatchGetItem rounds per item', referenceOnly('does not count missing items'), async () => {
    const items = [await put(100), await put(4097), await put(4096)];
    const Keys = [...items.map(keyOf), freshKey()];
    const run = async (ConsistentRead) => (await context.ddb.BatchGetItem({ ReturnConsumedCapacity: 'TOTAL', RequestItems: { [table]: { Keys, ConsistentRead } } })).ConsumedCapacity;
    const eventual = await run(false);
    assert.equal(eventual.length, 1);
    assert.equal(eventual[0].TableName, table);
    assert.equal(total(eventual), 0.5 + 1 + 0.5 + 0.5);
    assert.equal(total(await run(true)), 1 + 2 + 1 + 1);
  });
  test('BatchWriteItem, an entry per table', referenceOnly('counts deletes otherwise'), async () => {
    const doomed = await put(3000);
    const { ConsumedCapacity } = await context.ddb.BatchWriteItem({
      ReturnConsumedCapacity: 'TOTAL',
      RequestItems: {
        [table]: [{ PutRequest: { Item: itemOf(1025) } }, { PutRequest: { Item: itemOf(100) } }, { DeleteRequest: { Key: keyOf(doomed) } }, { DeleteRequest: { Key: freshKey() } }],
        [other]: [{ PutRequest: { Item: { pk: S('x') } } }],
      },
    });
    const byTable = Object.fromEntries(ConsumedCapacity.map((entry) => [entry.TableName, entry.CapacityUnits]));
    assert.deepEqual(byTable, { [table]: 2 + 1 + 3 + 1, [other]: 1 });
  });
});

describe('Query and Scan', () => {
  const partition = 'q1234567';
  test('a query rounds the sum', async () => {
    for (let i = 1; i <= 10; i++) await context.ddb.PutItem({ TableName: table, Item: { ...itemOf(1000, { pk: S(partition), sk: N(0) }), sk: N(i) } });
    // Each item has 1001 bytes: a digit other than 0 costs a byte more than 0 does, and 10 costs as much as 1.
    const run = (more) => units('Query', { KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': S(partition) }, ...more });
    assert.equal(await run({}), 1.5);
    assert.equal(await run({ ConsistentRead: true }), 3);
    assert.equal(await run({ Limit: 1 }), 0.5);
    assert.equal(await run({ Limit: 4, ConsistentRead: true }), 1);
    assert.equal(await run({ Limit: 5, ConsistentRead: true }), 2);
    assert.equal(await run({ Select: 'COUNT' }), 1.5);
    assert.equal(await run({ ProjectionExpression: 'sk' }), 1.5);
    assert.equal(await run({ FilterExpression: 'absent1 = :x', ExpressionAttributeValues: { ':p': S(partition), ':x': N(1) } }), 1.5);
    // Local counts nothing for nothing.
    assert.equal(await run({ ExpressionAttributeValues: { ':p': S('nobody') } }), isLocal ? 0 : 0.5);
    assert.equal(await run({ ExpressionAttributeValues: { ':p': S('nobody') }, ConsistentRead: true }), isLocal ? 0 : 1);
  });
  test('a scan of one partition', async () => {
    const scan = (more) => units('Scan', { TableName: other, ...more });
    await context.ddb.PutItem({ TableName: other, Item: { pk: S('x'), v: S('y'.repeat(5000)) } });
    assert.equal(await scan({}), 1);
    assert.equal(await scan({ ConsistentRead: true }), 2);
  });
  test('a scan of a fresh on-demand table touches four partitions', referenceOnly('knows no partitions'), async () => {
    await context.ddb.PutItem({ TableName: onDemand, Item: { pk: S('tiny') } });
    assert.equal(await units('Scan', { TableName: onDemand }), 2);
    assert.equal(await units('Scan', { TableName: onDemand, ConsistentRead: true }), 4);
  });
});

describe('failed conditions', () => {
  // The error carries no capacity; what counts shows in the metrics. Here: the request fails and answers nothing else.
  test('carry no ConsumedCapacity', async () => {
    const error = await assertFails(context.ddb.PutItem({ TableName: table, Item: itemOf(100), ConditionExpression: 'attribute_exists(pk)', ReturnConsumedCapacity: 'TOTAL' }), 'ConditionalCheckFailedException');
    assert.equal(error.ConsumedCapacity, undefined);
  });
});

describe('forms of the answer', () => {
  const Item = itemOf(1500);
  test('none unless asked', async () => {
    assert.equal((await context.ddb.PutItem({ TableName: table, Item })).ConsumedCapacity, undefined);
    assert.equal((await context.ddb.PutItem({ TableName: table, Item, ReturnConsumedCapacity: 'NONE' })).ConsumedCapacity, undefined);
  });
  test('TOTAL', async () => {
    assert.deepEqual((await context.ddb.PutItem({ TableName: table, Item, ReturnConsumedCapacity: 'TOTAL' })).ConsumedCapacity, { TableName: table, CapacityUnits: 2 });
  });
  test('INDEXES adds the table', async () => {
    for (const [operation, input, expected] of [
      ['PutItem', { Item }, 2], ['GetItem', { Key: keyOf(Item) }, 0.5],
      ['UpdateItem', { Key: keyOf(Item), UpdateExpression: 'SET a = :v', ExpressionAttributeValues: { ':v': N(1) } }, 2],
      ['Query', { KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': Item.pk } }, 0.5], ['DeleteItem', { Key: keyOf(Item) }, 2],
    ]) {
      const { ConsumedCapacity } = await context.ddb[operation]({ TableName: table, ReturnConsumedCapacity: 'INDEXES', ...input });
      assert.deepEqual(ConsumedCapacity, { TableName: table, CapacityUnits: expected, Table: { CapacityUnits: expected } }, operation);
    }
  });
  test('an unknown one', referenceOnly('accepts it'), async () => {
    await assertFails(context.ddb.GetItem({ TableName: table, Key: freshKey(), ReturnConsumedCapacity: 'ALL' }), 'ValidationException', '[INDEXES, TOTAL, NONE]');
  });
});
