// Reading, and designs of keys and items. The statements are those of README.md.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';

import { KB, N, S, serverOfFile, sized, units } from './statements.mjs';

const db = serverOfFile();
const strong = { ConsistentRead: true };
const sortKeys = ({ Items }) => Items.map((item) => item.sk.S);

async function fill(TableName, items) {
  for (let i = 0; i < items.length; i += 25) {
    await db.ask('BatchWriteItem', { RequestItems: { [TableName]: items.slice(i, i + 25).map((Item) => ({ PutRequest: { Item } })) } });
  }
}
const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

test('S161: a Query reads what its key condition names and no more', async () => {
  await db.table('s161', 'pk sk');
  await fill('s161', times(50, (i) => sized({ pk: S('p'), sk: S(`${i < 40 ? 'old' : 'new'}#${i}`) }, 4 * KB)));
  const answer = await db.query('s161', 'pk = :p AND begins_with(sk, :b)', { ':p': S('p'), ':b': S('new#') }, strong);
  assert.deepEqual([answer.Count, answer.ScannedCount, units(answer)], [10, 10, 10]);
  const filtered = await db.query('s161', 'pk = :p', { ':p': S('p'), ':b': S('xxx') }, { ...strong, FilterExpression: 'begins_with(filler, :b)' });
  assert.equal(units(filtered), 50, 'a filter reads the whole collection');
});

test('S162: a page of a Scan has 1 MB: 128 units eventually consistent, 256 strongly', async () => {
  await db.table('s162', 'pk sk');
  await fill('s162', times(300, (i) => sized({ pk: S('p'), sk: S(String(i).padStart(3, '0')) }, 4 * KB)));
  const page = await db.scan('s162');
  assert.ok(Math.abs(units(page) - 128) <= 4, `${units(page)}: each partition of a Scan rounds for itself`);
  assert.ok(page.LastEvaluatedKey !== undefined && Math.abs(page.Count - 256) <= 1, `${page.Count}`);
  const query = await db.query('s162', 'pk = :p', { ':p': S('p') }, strong);
  assert.ok(Math.abs(units(query) - 256) <= 1, `${units(query)}`);
});

test('S163: a page of 40 items of 4 KB takes 20 units eventually consistent, 40 strongly', async () => {
  await db.table('s163', 'pk sk');
  await fill('s163', times(100, (i) => sized({ pk: S('p'), sk: S(String(i).padStart(3, '0')) }, 4 * KB)));
  const page = (more) => db.query('s163', 'pk = :p', { ':p': S('p') }, { Limit: 40, ...more });
  assert.equal(units(await page()), 20);
  assert.equal(units(await page(strong)), 40);
});

test('S164: a Scan with a filter reads the whole table for what it returns', async () => {
  await db.table('s164');
  await fill('s164', times(100, (i) => sized({ pk: S(`item-${i}`), wanted: S(i === 7 ? 'yes' : 'no') }, 4 * KB)));
  const answer = await db.scan('s164', { FilterExpression: 'wanted = :y', ExpressionAttributeValues: { ':y': S('yes') } });
  assert.deepEqual([answer.Count, answer.ScannedCount], [1, 100]);
  assert.ok(units(answer) >= 50, `${units(answer)}`);
});

test('S165: the segments of a parallel Scan read each item once', async () => {
  await db.table('s165');
  await fill('s165', times(200, (i) => ({ pk: S(`item-${i}`) })));
  const segments = await Promise.all(times(4, (Segment) => db.scan('s165', { Segment, TotalSegments: 4 })));
  const all = segments.flatMap(({ Items }) => Items.map((item) => item.pk.S));
  assert.deepEqual([all.length, new Set(all).size], [200, 200]);
  assert.ok(segments.every(({ Count }) => Count > 20), 'each has its part');
});

test('S166: a small page leaves capacity between pages, and all pages read what one does', async () => {
  await db.table('s166', 'pk sk');
  await fill('s166', times(100, (i) => sized({ pk: S('p'), sk: S(String(i).padStart(3, '0')) }, 4 * KB)));
  let sum = 0, most = 0, count = 0, ExclusiveStartKey;
  do {
    const page = await db.query('s166', 'pk = :p', { ':p': S('p') }, { Limit: 10, ...strong, ...(ExclusiveStartKey && { ExclusiveStartKey }) });
    sum += units(page);
    most = Math.max(most, page.Count > 0 ? units(page) : 0);
    count += page.Count;
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey);
  assert.equal(count, 100);
  assert.equal(most, 10);
  assert.ok(sum >= 100 && sum <= 101, `${sum}: the last page may be empty`);
});

test('S167: the newest item of a collection is one read backwards', async () => {
  await db.table('s167', 'pk sk');
  await fill('s167', times(100, (i) => sized({ pk: S('p'), sk: S(String(i).padStart(3, '0')) }, KB)));
  const newest = await db.query('s167', 'pk = :p', { ':p': S('p') }, { ScanIndexForward: false, Limit: 1 });
  assert.deepEqual([sortKeys(newest), units(newest)], [['099'], 0.5]);
});

test('S168: a composite sort key answers at every level of its hierarchy', async () => {
  await db.table('s168', 'pk sk');
  const places = ['DE#BY#Munich#Schwabing', 'DE#BY#Munich#Giesing', 'DE#BY#Nuremberg#Mitte', 'DE#NW#Cologne#Mitte', 'FR#IDF#Paris#1'];
  await fill('s168', places.map((place) => ({ pk: S('shops'), sk: S(place) })));
  const under = async (prefix) => (await db.query('s168', 'pk = :p AND begins_with(sk, :b)', { ':p': S('shops'), ':b': S(prefix) })).ScannedCount;
  assert.deepEqual([await under('DE#'), await under('DE#BY#'), await under('DE#BY#Munich#')], [4, 3, 2]);
});

test('S169: version 0 of an item is its latest one, and a prefix reads the history', async () => {
  await db.table('s169', 'pk sk');
  const write = (version) => db.ask('TransactWriteItems', { TransactItems: [0, version].map((v) => ({
    Put: { TableName: 's169', Item: { pk: S('equipment'), sk: S(`v${v}_audit`), latest: N(version) } } })) });
  for (const version of [1, 2, 3]) await write(version);
  const latest = await db.get('s169', { pk: S('equipment'), sk: S('v0_audit') });
  assert.deepEqual([latest.Item.latest, units(latest)], [N(3), 0.5]);
  const history = await db.query('s169', 'pk = :p AND sk BETWEEN :a AND :b', { ':p': S('equipment'), ':a': S('v1_'), ':b': S('v9_') });
  assert.deepEqual(sortKeys(history), ['v1_audit', 'v2_audit', 'v3_audit']);
});

test('S170: an adjacency list and its inverted index answer a relation from both sides', async () => {
  await db.table('s170', 'pk sk', { indexes: { inverted: { key: 'sk pk' } } });
  await fill('s170', [['Invoice-1', 'Invoice-1'], ['Invoice-1', 'Bill-1'], ['Invoice-1', 'Bill-2'], ['Invoice-2', 'Bill-2']]
    .map(([pk, sk]) => ({ pk: S(pk), sk: S(sk) })));
  assert.deepEqual(sortKeys(await db.query('s170', 'pk = :p', { ':p': S('Invoice-1') })), ['Bill-1', 'Bill-2', 'Invoice-1']);
  const invoices = await db.query('s170', 'sk = :b', { ':b': S('Bill-2') }, { IndexName: 'inverted' });
  assert.deepEqual(invoices.Items.map((item) => item.pk.S), ['Invoice-1', 'Invoice-2']);
});

test('S171: Limit counts what was read, before the filter', async () => {
  await db.table('s171', 'pk sk');
  await fill('s171', times(20, (i) => ({ pk: S('p'), sk: S(String(i).padStart(3, '0')), wanted: S(i >= 10 ? 'yes' : 'no') })));
  const answer = await db.query('s171', 'pk = :p', { ':p': S('p'), ':y': S('yes') }, { Limit: 5, FilterExpression: 'wanted = :y' });
  assert.deepEqual([answer.Count, answer.ScannedCount, answer.LastEvaluatedKey.sk], [0, 5, S('004')]);
});

test('S181: many values are items of their own, and not one large set', async () => {
  await db.table('s181', 'pk sk');
  const replies = times(50, (i) => `${i} ${'x'.repeat(KB - 100)}`);
  await db.put('s181', { pk: S('thread'), sk: S('all'), replies: { SS: replies } });
  await fill('s181', replies.map((text, i) => ({ pk: S('thread'), sk: S(`reply#${String(i).padStart(2, '0')}`), text: S(text) })));
  const whole = await db.update('s181', { pk: S('thread'), sk: S('all') }, 'ADD replies :r', { ':r': { SS: ['one more'] } });
  const one = await db.put('s181', { pk: S('thread'), sk: S('reply#50'), text: S('one more') });
  assert.ok(units(whole) >= 45, `${units(whole)}`);
  assert.equal(units(one), 1);
  assert.equal(units(await db.query('s181', 'pk = :p AND begins_with(sk, :r)', { ':p': S('thread'), ':r': S('reply#') }, { Limit: 10 })), 1.5,
    'the first ten replies, not all');
});

test('S182: a small change of a large item costs all of it, of a part of its own one unit', async () => {
  await db.table('s182', 'pk sk');
  await db.put('s182', sized({ pk: S('product'), sk: S('all'), stock: S('5') }, 20 * KB));
  await db.put('s182', sized({ pk: S('product'), sk: S('description') }, 19 * KB));
  await db.put('s182', { pk: S('product'), sk: S('stock'), stock: S('5') });
  const sell = (sk) => db.update('s182', { pk: S('product'), sk: S(sk) }, 'SET stock = :s', { ':s': S('4') });
  assert.deepEqual([units(await sell('all')), units(await sell('stock'))], [20, 1]);
  assert.equal(units(await db.get('s182', { pk: S('product'), sk: S('stock') })), 0.5);
  assert.equal(units(await db.get('s182', { pk: S('product'), sk: S('all') })), 2.5);
});

test('S183: a compressed attribute costs its compressed bytes', async () => {
  await db.table('s183');
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(400);
  assert.equal(units(await db.put('s183', { pk: S('plain'), text: S(text) })), 18);
  assert.equal(units(await db.put('s183', { pk: S('packed'), text: { B: zlib.gzipSync(text).toString('base64') } })), 1);
});

test('S184: a large object in an object store leaves an item of one unit', async () => {
  await db.table('s184');
  const large = Buffer.alloc(500 * KB).toString('base64');
  assert.match((await db.fails('PutItem', { TableName: 's184', Item: { pk: S('photo'), data: { B: large } } })).message, /maximum allowed size/);
  assert.equal(units(await db.put('s184', { pk: S('photo'), at: S('s3://bucket/photo-1'), bytes: N(500 * KB) })), 1);
});

test('S185: shards of a counter are added up by one batch of reads', async () => {
  await db.table('s185');
  for (let vote = 0; vote < 60; vote++) {
    await db.update('s185', { pk: S(`candidate-A.${vote % 20 + 1}`) }, 'ADD votes :one', { ':one': N(1) });
  }
  const { Responses, ConsumedCapacity: [consumed] } = await db.ask('BatchGetItem', { ReturnConsumedCapacity: 'TOTAL',
    RequestItems: { s185: { Keys: times(20, (i) => ({ pk: S(`candidate-A.${i + 1}`) })) } } });
  assert.equal(Responses.s185.reduce((sum, item) => sum + Number(item.votes.N), 0), 60);
  assert.equal(consumed.CapacityUnits, 10);
});

test('S186: ten items of one collection are one Query, for a tenth of the units of ten reads', async () => {
  await db.table('s186', 'pk sk');
  await fill('s186', times(10, (i) => ({ pk: S('cart'), sk: S(`item-${i}`) })));
  let alone = 0;
  for (let i = 0; i < 10; i++) alone += units(await db.get('s186', { pk: S('cart'), sk: S(`item-${i}`) }));
  const together = await db.query('s186', 'pk = :p', { ':p': S('cart') });
  assert.deepEqual([alone, units(together), together.Count], [5, 0.5, 10]);
});

test('S187: with suffixes all of a key are read by a Query for each; a computed one is read alone', async () => {
  await db.table('s187', 'pk sk');
  const suffix = (order) => order % 20 + 1;
  await fill('s187', times(100, (order) => ({ pk: S(`2014-07-09.${suffix(order)}`), sk: S(`order-${order}`) })));
  const queries = await Promise.all(times(20, (i) => db.query('s187', 'pk = :p', { ':p': S(`2014-07-09.${i + 1}`) })));
  assert.equal(queries.reduce((sum, { Count }) => sum + Count, 0), 100);
  assert.equal(queries.reduce((sum, answer) => sum + units(answer), 0), 10);
  const one = await db.get('s187', { pk: S(`2014-07-09.${suffix(42)}`), sk: S('order-42') });
  assert.deepEqual([one.Item.sk.S, units(one)], ['order-42', 0.5]);
});

test('S191: a strongly consistent read sees the last write, an eventually consistent one may not', async () => {
  await db.table('s191');
  await db.put('s191', { pk: S('a'), version: N(1) });
  await db.advance(10);
  const faults = await db.manage('faults/s191', 'PUT', { faults: [{ fault: 'stale-read', age: '1s' }] });
  await db.put('s191', { pk: S('a'), version: N(2) });
  const read = async (more) => (await db.get('s191', { pk: S('a') }, more)).Item.version.N;
  assert.deepEqual([await read(strong), await read()], ['2', '1'], JSON.stringify(faults));
  await db.advance(10);
  assert.equal(await read(), '2', 'consistency across copies is reached, usually within a second');
  await db.manage('faults', 'DELETE');
});
