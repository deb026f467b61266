// Sizes at the limit and one past it.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { B, L, M, N, S, assertFails, assertSame, suite } from './clients.mjs';
import { isLocal, referenceOnly } from './harness.mjs';

const context = await suite();
const strings = await context.table('limits', 'pk:S');
const both = await context.table('limits-both', 'pk:S', 'sk:S');
const bytes = await context.table('limits-bytes', 'pk:B', 'sk:B');
const maximum = 400 * 1024;

describe('items of 400 KB', () => {
  const tooLarge = 'Item size has exceeded the maximum allowed size';
  const item = (size, pk = 'x') => ({ pk: S(pk), v: S('x'.repeat(size - 2 - pk.length - 1)) });
  test('PutItem', async () => {
    await context.ddb.PutItem({ TableName: strings, Item: item(maximum) });
    assertSame((await context.ddb.GetItem({ TableName: strings, Key: { pk: S('x') } })).Item, item(maximum));
    await assertFails(context.ddb.PutItem({ TableName: strings, Item: item(maximum + 1) }), 'ValidationException', tooLarge);
  });
  test('bytes count, not characters', async () => {
    await assertFails(context.ddb.PutItem({ TableName: strings, Item: { pk: S('x'), v: S('ä'.repeat(maximum / 2)) } }), 'ValidationException', tooLarge);
    await context.ddb.PutItem({ TableName: strings, Item: { pk: S('x'), v: S('ä'.repeat(maximum / 2 - 2)) } });
  });
  test('names count', referenceOnly('fails within'), async () => {
    const name = 'n'.repeat(65535);
    const fits = { pk: S('x'), [name]: S('x'.repeat(maximum - 3 - 65535)) };
    await context.ddb.PutItem({ TableName: strings, Item: fits });
    await assertFails(context.ddb.PutItem({ TableName: strings, Item: { ...fits, [name]: S(`${fits[name].S}x`) } }), 'ValidationException', tooLarge);
  });
  test('containers count', referenceOnly('counts otherwise'), async () => {
    const fits = { pk: S('x'), l: L(S('x'.repeat(maximum - 3 - 1 - 3 - 1 - 100 - 1)), S('y'.repeat(100))) };
    await context.ddb.PutItem({ TableName: strings, Item: fits });
    await assertFails(context.ddb.PutItem({ TableName: strings, Item: { ...fits, m: M({}) } }), 'ValidationException', tooLarge);
  });
  test('BatchWriteItem', async () => {
    await assertFails(context.ddb.BatchWriteItem({ RequestItems: { [strings]: [{ PutRequest: { Item: item(maximum + 1) } }, { PutRequest: { Item: item(10, 'y') } }] } }), 'ValidationException', tooLarge);
    assert.equal((await context.ddb.GetItem({ TableName: strings, Key: { pk: S('y') } })).Item, undefined);
    await context.ddb.BatchWriteItem({ RequestItems: { [strings]: [{ PutRequest: { Item: item(maximum) } }, { PutRequest: { Item: item(maximum, 'y') } }] } });
  });
  test('UpdateItem', async () => {
    const Key = { pk: S('update') };
    const append = (size) => context.ddb.UpdateItem({ TableName: strings, Key, UpdateExpression: 'SET v = :v', ExpressionAttributeValues: { ':v': S('x'.repeat(size)) } });
    await append(maximum - 1000);
    await assertFails(append(maximum), 'ValidationException', 'Item size to update has exceeded the maximum allowed size');
    assert.equal((await context.ddb.GetItem({ TableName: strings, Key })).Item.v.S.length, maximum - 1000);
  });
  test('25 puts of 400 KB in one batch', async () => {
    const items = Array.from({ length: 25 }, (_, i) => item(maximum, `batch${i}`));
    let RequestItems = { [strings]: items.map((Item) => ({ PutRequest: { Item } })) };
    while (Object.keys(RequestItems).length) RequestItems = (await context.ddb.BatchWriteItem({ RequestItems })).UnprocessedItems;
    for (const { pk } of items) assert.ok((await context.ddb.GetItem({ TableName: strings, Key: { pk } })).Item);
  });
});

describe('keys', () => {
  const hashTooLong = isLocal ? '' : 'Size of hashkey has exceeded the maximum size limit of2048 bytes';
  const rangeTooLong = isLocal ? '' : 'Aggregated size of all range keys has exceeded the size limit of 1024 bytes';
  for (const [title, table, wrap] of [['S', both, S], ['B', bytes, B]]) {
    test(`${title}: 2048 and 1024 bytes`, async () => {
      const Key = { pk: wrap('p'.repeat(2048)), sk: wrap('s'.repeat(1024)) };
      await context.ddb.PutItem({ TableName: table, Item: { ...Key, v: N(1) } });
      assertSame((await context.ddb.GetItem({ TableName: table, Key })).Item, { ...Key, v: N(1) });
      const page = await context.ddb.Query({ TableName: table, KeyConditionExpression: 'pk = :p AND sk >= :s', ExpressionAttributeValues: { ':p': Key.pk, ':s': Key.sk }, Limit: 1 });
      assertSame(page.LastEvaluatedKey, Key);
      await context.ddb.DeleteItem({ TableName: table, Key });
    });
    test(`${title}: one more byte`, async () => {
      for (const [Key, text] of [[{ pk: wrap('p'.repeat(2049)), sk: wrap('s') }, hashTooLong], [{ pk: wrap('p'), sk: wrap('s'.repeat(1025)) }, rangeTooLong]]) {
        await assertFails(context.ddb.PutItem({ TableName: table, Item: Key }), 'ValidationException', text);
        await assertFails(context.ddb.UpdateItem({ TableName: table, Key }), 'ValidationException', text);
        await assertFails(context.ddb.GetItem({ TableName: table, Key }), 'ValidationException', text);
        await assertFails(context.ddb.DeleteItem({ TableName: table, Key }), 'ValidationException', text);
      }
    });
  }
  test('bytes count, not characters', async () => {
    await assertFails(context.ddb.PutItem({ TableName: strings, Item: { pk: S('ä'.repeat(1025)) } }), 'ValidationException', hashTooLong);
    await context.ddb.PutItem({ TableName: strings, Item: { pk: S('ä'.repeat(1024)) } });
  });
  test('empty keys', async () => {
    const text = (name, kind) => `The AttributeValue for a key attribute cannot contain an empty ${kind} value. Key: ${name}`;
    await assertFails(context.ddb.PutItem({ TableName: both, Item: { pk: S('x'), sk: S('') } }), 'ValidationException', text('sk', 'string'));
    await assertFails(context.ddb.PutItem({ TableName: bytes, Item: { pk: B(''), sk: B('x') } }), 'ValidationException', text('pk', 'binary'));
    await assertFails(context.ddb.GetItem({ TableName: bytes, Key: { pk: B('x'), sk: B('') } }), 'ValidationException', text('sk', 'binary'));
  });
});

describe('attribute names', () => {
  test('65535 bytes and one more', referenceOnly('fails within'), async () => {
    await context.ddb.PutItem({ TableName: strings, Item: { pk: S('names'), ['n'.repeat(65535)]: S('x') } });
    await assertFails(context.ddb.PutItem({ TableName: strings, Item: { pk: S('names'), ['n'.repeat(65536)]: S('x') } }), 'ValidationException');
  });
  test('none is empty', async () => {
    await assertFails(context.ddb.PutItem({ TableName: strings, Item: { pk: S('names'), '': S('x') } }), 'ValidationException');
  });
});

describe('placeholders of an expression', () => {
  test('255 bytes and more', async () => {
    const run = (length) => context.ddb.UpdateItem({
      TableName: strings, Key: { pk: S('p') }, UpdateExpression: `SET #${'n'.repeat(length - 1)} = :${'v'.repeat(length - 1)}`,
      ExpressionAttributeNames: { [`#${'n'.repeat(length - 1)}`]: 'a' }, ExpressionAttributeValues: { [`:${'v'.repeat(length - 1)}`]: N(1) },
    });
    await run(255);
    await assertFails(run(257), 'ValidationException');
  });
});
