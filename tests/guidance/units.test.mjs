// Cost of requests, and sizes of items. The statements are those of README.md.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { KB, N, S, ofTable, serverOfFile, sized, units } from './statements.mjs';

const db = serverOfFile();
const strong = { ConsistentRead: true };
const key = (pk) => ({ pk: S(pk) });

test('S101: a read of up to 4 KB is a read unit, eventually consistent half of one', async () => {
  await db.table('s101');
  await db.put('s101', sized(key('a'), 4 * KB));
  assert.equal(units(await db.get('s101', key('a'), strong)), 1);
  assert.equal(units(await db.get('s101', key('a'))), 0.5);
});

test('S102: sizes of reads are rounded up to the next 4 KB', async () => {
  await db.table('s102');
  await db.put('s102', sized(key('a'), 4 * KB + 1));
  assert.equal(units(await db.get('s102', key('a'), strong)), 2);
  assert.equal(units(await db.get('s102', key('a'))), 1);
  await db.put('s102', sized(key('b'), 9 * KB));
  assert.equal(units(await db.get('s102', key('b'), strong)), 3);
});

test('S103: a transactional read takes two units for each 4 KB', async () => {
  await db.table('s103');
  await db.put('s103', sized(key('a'), 5 * KB));
  const { ConsumedCapacity: [consumed] } = await db.ask('TransactGetItems', { ReturnConsumedCapacity: 'TOTAL',
    TransactItems: [{ Get: { TableName: 's103', Key: key('a') } }] });
  assert.equal(consumed.CapacityUnits, 4);
});

test('S104: a write of up to 1 KB is a write unit, and sizes are rounded up to the next KB', async () => {
  await db.table('s104');
  assert.equal(units(await db.put('s104', sized(key('a'), KB))), 1);
  assert.equal(units(await db.put('s104', sized(key('b'), KB + 1))), 2);
  assert.equal(units(await db.put('s104', sized(key('c'), 20 * KB - 500))), 20);
});

test('S105: a transactional write takes two units for each KB', async () => {
  await db.table('s105');
  const { ConsumedCapacity: [consumed] } = await db.ask('TransactWriteItems', { ReturnConsumedCapacity: 'TOTAL',
    TransactItems: [{ Put: { TableName: 's105', Item: sized(key('a'), 3 * KB) } }, { Put: { TableName: 's105', Item: key('b') } }] });
  assert.equal(consumed.CapacityUnits, 8);
});

test('S106: a read of an item that is not there costs what the smallest one does', async () => {
  await db.table('s106');
  assert.equal(units(await db.get('s106', key('none'), strong)), 1);
  assert.equal(units(await db.get('s106', key('none'))), 0.5);
});

test('S107: a projection does not make a read cheaper', async () => {
  await db.table('s107');
  await db.put('s107', sized(key('a'), 20 * KB));
  const answer = await db.get('s107', key('a'), { ...strong, ProjectionExpression: 'pk' });
  assert.deepEqual(answer.Item, key('a'));
  assert.equal(units(answer), 5);
});

test('S108: BatchGetItem rounds each item: 1.5 KB and 6.5 KB are 12 KB', async () => {
  await db.table('s108');
  await db.put('s108', sized(key('a'), 1.5 * KB));
  await db.put('s108', sized(key('b'), 6.5 * KB));
  const { ConsumedCapacity: [consumed] } = await db.ask('BatchGetItem', { ReturnConsumedCapacity: 'TOTAL',
    RequestItems: { s108: { Keys: [key('a'), key('b')], ...strong } } });
  assert.equal(consumed.CapacityUnits, 3);
});

test('S109: a Query sums its items and rounds once: 40.8 KB are 11 units', async () => {
  await db.table('s109', 'pk sk');
  for (let i = 0; i < 10; i++) await db.put('s109', sized({ pk: S('p'), sk: S(`item-${i}`) }, Math.round(4.08 * KB)));
  const query = (more) => db.query('s109', 'pk = :p', { ':p': S('p') }, more);
  assert.equal(units(await query(strong)), 11);
  assert.equal(units(await query()), 5.5);
  let alone = 0;
  for (let i = 0; i < 10; i++) alone += units(await db.get('s109', { pk: S('p'), sk: S(`item-${i}`) }, strong));
  assert.equal(alone, 20, 'the same items read one by one');
});

test('S110: a filter is applied after the read, and saves no units', async () => {
  await db.table('s110', 'pk sk');
  for (let i = 0; i < 10; i++) await db.put('s110', sized({ pk: S('p'), sk: S(`item-${i}`) }, 4 * KB));
  const answer = await db.query('s110', 'pk = :p', { ':p': S('p'), ':none': S('none') }, { ...strong, FilterExpression: 'filler = :none' });
  assert.deepEqual([answer.Count, answer.ScannedCount, units(answer)], [0, 10, 10]);
});

test('S111: to count costs what to read does', async () => {
  await db.table('s111', 'pk sk');
  for (let i = 0; i < 10; i++) await db.put('s111', sized({ pk: S('p'), sk: S(`item-${i}`) }, 4 * KB));
  const answer = await db.query('s111', 'pk = :p', { ':p': S('p') }, { ...strong, Select: 'COUNT' });
  assert.deepEqual([answer.Count, answer.Items, units(answer)], [10, undefined, 10]);
});

test('S112: an update costs the whole item, before or after, whichever is larger', async () => {
  await db.table('s112');
  await db.put('s112', sized({ ...key('a'), n: S('1') }, 20 * KB));
  assert.equal(units(await db.update('s112', key('a'), 'SET n = :n', { ':n': S('2') })), 20);
  assert.equal(units(await db.update('s112', key('a'), 'SET filler = :small', { ':small': S('x') })), 20, 'the larger one was before');
  assert.equal(units(await db.update('s112', key('a'), 'SET n = :n', { ':n': S('3') })), 1);
});

test('S113: a put over a larger item costs the larger one', async () => {
  await db.table('s113');
  await db.put('s113', sized(key('a'), 7 * KB));
  assert.equal(units(await db.put('s113', key('a'))), 7);
  assert.equal(units(await db.put('s113', key('a'))), 1);
});

test('S114: a delete costs the item that goes, and one unit where there is none', async () => {
  await db.table('s114');
  await db.put('s114', sized(key('a'), 5 * KB));
  assert.equal(units(await db.delete('s114', key('a'))), 5);
  assert.equal(units(await db.delete('s114', key('a'))), 1);
});

test('S115: a condition that fails costs the item that it was compared with', async () => {
  await db.table('s115');
  await db.put('s115', sized(key('a'), 5 * KB));
  const before = await db.manage('tables/s115/partitions');
  const refused = await db.fails('PutItem', { TableName: 's115', Item: key('a'), ConditionExpression: 'attribute_not_exists(pk)' });
  assert.equal(refused.name, 'ConditionalCheckFailedException');
  await db.fails('UpdateItem', { TableName: 's115', Key: key('none'), UpdateExpression: 'SET a = :a', ExpressionAttributeValues: { ':a': S('x') },
    ConditionExpression: 'attribute_exists(pk)' });
  const used = (report) => report.resources[0].consumed.write;
  assert.equal(used(await db.manage('tables/s115/partitions')) - used(before), 5 + 1);
});

test('S116: a batch of writes costs what its writes do one by one', async () => {
  await db.table('s116');
  const { ConsumedCapacity: [consumed] } = await db.ask('BatchWriteItem', { ReturnConsumedCapacity: 'TOTAL', RequestItems: { s116: [
    { PutRequest: { Item: sized(key('a'), 1.5 * KB) } }, { PutRequest: { Item: sized(key('b'), 1.5 * KB) } }, { DeleteRequest: { Key: key('c') } }] } });
  assert.equal(consumed.CapacityUnits, 2 + 2 + 1);
});

// Attributes whose size is `bytes`: padded to 1 KB they cost one unit, with a byte more two.
async function assertSize(TableName, attributes, bytes) {
  const rest = KB - 'pk'.length - 1 - bytes - 'filler'.length;
  const put = async (more) => units(await db.put(TableName, { pk: S(more ? 'b' : 'a'), ...attributes, filler: S('x'.repeat(rest + more)) }));
  assert.deepEqual([await put(0), await put(1)], [1, 2], `${JSON.stringify(attributes)} has ${bytes} bytes`);
}

test('S117: an item has the bytes of its names and of its values in UTF-8', async () => {
  await db.table('s117');
  await assertSize('s117', { a: S('') }, 1);
  await assertSize('s117', { name: S('value') }, 9);
  await assertSize('s117', { größe: S('€') }, 7 + 3);
  await assertSize('s117', { binary: { B: Buffer.from('12345').toString('base64') } }, 6 + 5);
});

test('S118: a number has a byte for two digits and one more; zeros at its ends do not count', async () => {
  await db.table('s118');
  for (const [number, bytes] of [['0', 1], ['7', 2], ['42', 2], ['123', 3], ['-42', 3], ['1200', 2], ['0.05', 2], ['12345678', 5]]) await assertSize('s118', { n: N(number) }, 1 + bytes);
});

test('S119: true, false and null have one byte; lists and maps three, and one for each element', async () => {
  await db.table('s119');
  await assertSize('s119', { a: { BOOL: true }, b: { NULL: true } }, 4);
  await assertSize('s119', { l: { L: [] }, m: { M: {} } }, 2 + 6);
  await assertSize('s119', { l: { L: [S('ab'), S('c')] } }, 1 + 3 + (1 + 2) + (1 + 1));
  await assertSize('s119', { m: { M: { key: S('ab') } } }, 1 + 3 + (1 + 3 + 2));
  await assertSize('s119', { s: { SS: ['ab', 'c'] } }, 1 + 3);
});

test('S120: an item has 400 KB at most, names included', async () => {
  await db.table('s120');
  assert.equal(units(await db.put('s120', sized(key('a'), 400 * KB))), 400);
  const { message } = await db.fails('PutItem', { TableName: 's120', Item: sized(key('b'), 400 * KB + 1) });
  assert.match(message, /Item size has exceeded the maximum allowed size/);
});

test('S121: the 100 bytes of storage for each item cost no write units', async () => {
  await db.table('s121');
  assert.equal(units(await db.put('s121', sized(key('a'), KB))), 1, '1,024 and not 1,124 bytes');
  assert.equal(ofTable(await db.put('s121', sized(key('b'), 3 * KB))), 3);
});

test('S122: a cancelled transaction stores nothing, and says which action did it', async () => {
  await db.table('s122');
  await db.put('s122', key('there'));
  const refused = await db.fails('TransactWriteItems', { TransactItems: [{ Put: { TableName: 's122', Item: key('new') } },
    { Put: { TableName: 's122', Item: key('there'), ConditionExpression: 'attribute_not_exists(pk)' } }] });
  assert.equal(refused.name, 'TransactionCanceledException');
  assert.deepEqual(refused.CancellationReasons.map(({ Code }) => Code), ['None', 'ConditionalCheckFailed']);
  assert.equal((await db.get('s122', key('new'))).Item, undefined);
});

test('S123: a transaction with the same token within ten minutes is done once', async () => {
  await db.table('s123');
  const add = { ClientRequestToken: 'once', TransactItems: [{ Update: { TableName: 's123', Key: key('counter'), UpdateExpression: 'ADD votes :one',
    ExpressionAttributeValues: { ':one': N(1) } } }] };
  await db.ask('TransactWriteItems', add);
  await db.ask('TransactWriteItems', add);
  assert.deepEqual((await db.get('s123', key('counter'))).Item.votes, N(1));
  await db.advance('11m');
  await db.ask('TransactWriteItems', add);
  assert.deepEqual((await db.get('s123', key('counter'))).Item.votes, N(2));
});
