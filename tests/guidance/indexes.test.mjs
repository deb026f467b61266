// Cost and content of indexes. The statements are those of README.md.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { KB, S, ofIndex, ofTable, serverOfFile, sized, units } from './statements.mjs';

const db = serverOfFile('--throttling=enforce');
const key = (pk) => ({ pk: S(pk) });
const byG = (more) => ({ indexes: { 'by-g': { key: 'g', ...more } } });
const ofG = (answer) => [ofTable(answer), ofIndex(answer, 'by-g')];

test('S131: a write costs the table, and each global index by the size of its entry', async () => {
  await db.table('s131', 'pk', { indexes: { 'by-g': { key: 'g' }, 'by-h': { key: 'h', projection: 'KEYS_ONLY' } } });
  const answer = await db.put('s131', sized({ ...key('a'), g: S('g'), h: S('h') }, 3 * KB));
  assert.deepEqual([units(answer), ofTable(answer), ofIndex(answer, 'by-g'), ofIndex(answer, 'by-h')], [7, 3, 3, 1]);
});

test('S132: a write of attributes that an index does not project costs it nothing', async () => {
  await db.table('s132', 'pk', byG({ projection: 'KEYS_ONLY' }));
  await db.put('s132', { ...key('a'), g: S('g'), remark: S('x') });
  assert.deepEqual(ofG(await db.update('s132', key('a'), 'SET remark = :o', { ':o': S('y') })), [1, 0]);
  assert.deepEqual(ofG(await db.put('s132', { ...key('a'), g: S('g'), remark: S('y') })), [1, 0], 'nothing changes');
});

test('S133: a change of an index key costs two writes: the old entry goes, the new one comes', async () => {
  await db.table('s133', 'pk', byG());
  assert.deepEqual(ofG(await db.put('s133', sized({ ...key('a'), g: S('1') }, 2 * KB))), [2, 2]);
  assert.deepEqual(ofG(await db.update('s133', key('a'), 'SET g = :g', { ':g': S('2') })), [2, 4]);
});

test('S134: an item without the index key has no entry and costs the index nothing', async () => {
  await db.table('s134', 'pk', byG());
  assert.deepEqual(ofG(await db.put('s134', key('plain'))), [1, 0]);
  await db.put('s134', { ...key('special'), g: S('g') });
  assert.deepEqual((await db.scan('s134', { IndexName: 'by-g' })).Items, [{ ...key('special'), g: S('g') }]);
});

test('S135: an entry goes when its key is removed, for one write', async () => {
  await db.table('s135', 'pk', byG());
  await db.put('s135', { ...key('a'), g: S('g') });
  assert.deepEqual(ofG(await db.update('s135', key('a'), 'REMOVE g')), [1, 1]);
  assert.equal((await db.scan('s135', { IndexName: 'by-g' })).Count, 0);
  await db.put('s135', { ...key('a'), g: S('g') });
  assert.deepEqual(ofG(await db.delete('s135', key('a'))), [1, 1]);
});

test('S136: a change of a projected attribute costs one write of the entry', async () => {
  await db.table('s136', 'pk', byG({ projection: 'INCLUDE', attributes: ['state'] }));
  await db.put('s136', { ...key('a'), g: S('g'), state: S('new') });
  assert.deepEqual(ofG(await db.update('s136', key('a'), 'SET #s = :s', { ':s': S('old') }, { ExpressionAttributeNames: { '#s': 'state' } })), [1, 1]);
});

test('S137: an entry has the keys and the projected attributes: of 10 KB it may take one unit', async () => {
  await db.table('s137', 'pk', { indexes: { slim: { key: 'g', projection: 'KEYS_ONLY' }, fat: { key: 'g' } } });
  const answer = await db.put('s137', sized({ ...key('a'), g: S('g') }, 10 * KB));
  assert.deepEqual([ofIndex(answer, 'slim'), ofIndex(answer, 'fat')], [1, 10]);
});

test('S138: global indexes are read eventually consistent only, local ones strongly, too', async () => {
  await db.table('s138', 'pk sk', { ...byG(), locals: { 'by-l': { key: 'pk l' } } });
  await db.put('s138', { pk: S('p'), sk: S('s'), g: S('g'), l: S('l') });
  const { message } = await db.fails('Query', { TableName: 's138', IndexName: 'by-g', KeyConditionExpression: 'g = :g',
    ExpressionAttributeValues: { ':g': S('g') }, ConsistentRead: true });
  assert.match(message, /Consistent reads are not supported on global secondary indexes/);
  assert.equal((await db.query('s138', 'pk = :p', { ':p': S('p') }, { IndexName: 'by-l', ConsistentRead: true })).Count, 1);
});

test('S139: a Query of a global index costs its entries, and the table nothing', async () => {
  await db.table('s139', 'pk', { indexes: { slim: { key: 'g', projection: 'KEYS_ONLY' }, fat: { key: 'g' } } });
  for (let i = 0; i < 20; i++) await db.put('s139', sized({ ...key(`item-${i}`), g: S('g') }, 4 * KB));
  const cost = async (IndexName) => {
    const answer = await db.query('s139', 'g = :g', { ':g': S('g') }, { IndexName });
    assert.equal(answer.Count, 20);
    return [ofTable(answer), ofIndex(answer, IndexName)];
  };
  assert.deepEqual(await cost('fat'), [0, 10]);
  assert.deepEqual(await cost('slim'), [0, 0.5]);
});

test('S140: a global index has what it projects, and cannot be asked for more', async () => {
  await db.table('s140', 'pk', byG({ projection: 'KEYS_ONLY' }));
  await db.put('s140', { ...key('a'), g: S('g'), remark: S('x') });
  assert.deepEqual((await db.query('s140', 'g = :g', { ':g': S('g') }, { IndexName: 'by-g' })).Items, [{ ...key('a'), g: S('g') }]);
  const { name } = await db.fails('Query', { TableName: 's140', IndexName: 'by-g', KeyConditionExpression: 'g = :g',
    ExpressionAttributeValues: { ':g': S('g') }, Select: 'ALL_ATTRIBUTES' });
  assert.equal(name, 'ValidationException');
});

test('S141: a local index has the partition key of its table', async () => {
  const { message } = await db.fails('CreateTable', { TableName: 's141', BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: ['pk', 'sk', 'l'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
    LocalSecondaryIndexes: [{ IndexName: 'by-l', KeySchema: [{ AttributeName: 'l', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
      Projection: { ProjectionType: 'ALL' } }] });
  assert.match(message, /hash key|partition key|range key/i);
});

test('S142: attributes that a local index does not project are fetched, each item for its own units', async () => {
  await db.table('s142', 'pk sk', { locals: { 'by-l': { key: 'pk l', projection: 'KEYS_ONLY' } } });
  for (let i = 0; i < 10; i++) await db.put('s142', sized({ pk: S('p'), sk: S(`${i}`), l: S(`${i}`) }, 3 * KB));
  const query = (more) => db.query('s142', 'pk = :p', { ':p': S('p') }, { IndexName: 'by-l', ConsistentRead: true, ...more });
  assert.equal(units(await query()), 1);
  assert.equal(units(await query({ Select: 'ALL_ATTRIBUTES' })), 1 + 10);
});

test('S143: writes of local indexes are taken from the capacity of their table', async () => {
  await db.table('s143', 'pk sk', { locals: { 'by-l': { key: 'pk l' } }, read: 5, write: 50 });
  const answer = await db.put('s143', sized({ pk: S('p'), sk: S('s'), l: S('l') }, 2 * KB));
  assert.deepEqual([ofTable(answer), ofIndex(answer, 'by-l')], [2, 2]);
  assert.equal((await db.manage('tables/s143/partitions')).resources[0].consumed.write, 4);
});

test('S144: a table has 20 global indexes at most, and 5 local ones', async () => {
  const many = (count, its) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`index-${i}`, { key: its(i), projection: 'KEYS_ONLY' }]));
  const { GlobalSecondaryIndexes, LocalSecondaryIndexes } = (await db.ask('DescribeTable', { TableName: await db.table('s144', 'pk sk',
    { indexes: many(20, (i) => `g${i}`), locals: Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`local-${i}`, { key: `pk l${i}` }])) }) })).Table;
  assert.deepEqual([GlobalSecondaryIndexes.length, LocalSecondaryIndexes.length], [20, 5]);
  await assert.rejects(db.table('s144-more', 'pk', { indexes: many(21, (i) => `g${i}`) }));
  await assert.rejects(db.table('s144-more', 'pk sk', { locals: many(6, (i) => `pk l${i}`) }));
});

test('S145: an index without capacity refuses the writes of its table', async () => {
  await db.table('s145', 'pk', { ...byG({ write: 1 }), read: 5, write: 1000 });
  const refused = await db.raw('PutItem', { TableName: 's145', Item: { ...key('a'), g: S('1') } });
  assert.equal(refused.status, 200);
  const error = await db.fails('PutItem', { TableName: 's145', Item: { ...key('b'), g: S('2') } });
  assert.equal(error.name, 'ProvisionedThroughputExceededException');
  assert.deepEqual(error.ThrottlingReasons.map(({ reason }) => reason), ['IndexWriteProvisionedThroughputExceeded']);
  assert.match(error.message, /^Index by-g: 2 (\(so far\) )?of 1 provisioned write units\/s/);
  assert.equal((await db.get('s145', key('b'))).Item, undefined, 'the table has not stored it either');
  await db.put('s145', key('c'), {});
});

test('S146: an index serves reads from its own capacity: it is a replica that a report may use up', async () => {
  await db.table('s146', 'pk', { ...byG(), read: 2, write: 100 });
  for (let i = 0; i < 10; i++) await db.put('s146', sized({ ...key(`${i}`), g: S('g') }, 4 * KB));
  const report = { TableName: 's146', IndexName: 'by-g', KeyConditionExpression: 'g = :g', ExpressionAttributeValues: { ':g': S('g') } };
  await db.ask('Query', report);
  assert.equal((await db.fails('Query', report)).ThrottlingReasons[0].reason, 'IndexReadProvisionedThroughputExceeded');
  assert.equal((await db.get('s146', key('1'))).Item.pk.S, '1', 'the shop goes on');
});

test('S147: indexes include 100 attributes at most, all together', async () => {
  const include = (from, count) => Array.from({ length: count }, (_, i) => `a${from + i}`);
  const five = (last) => Object.fromEntries([20, 20, 20, 20, last].map((count, i) => [`index-${i}`,
    { key: `g${i}`, projection: 'INCLUDE', attributes: include(100 * i, count) }]));
  await db.table('s147', 'pk', { indexes: five(20) });
  await assert.rejects(db.table('s147-more', 'pk', { indexes: { ...five(20), more: { key: 'g5', projection: 'INCLUDE', attributes: ['one'] } } }));
});

test('S148: one index with general keys serves several kinds of items', async () => {
  await db.table('s148', 'pk sk', { indexes: { overloaded: { key: 'sk data' } } });
  for (const [pk, sk, data] of [['HR-974', 'Employee_Name', 'Murphy, John'], ['HR-974', 'HR_confidential', '2008-11-08'],
    ['HR-974', 'Warehouse_01', 'current'], ['HR-975', 'Employee_Name', 'Smith, Jane'], ['HR-975', 'Warehouse_01', 'former']]) {
    await db.put('s148', { pk: S(pk), sk: S(sk), data: S(data) });
  }
  const find = async (sk, data) => (await db.query('s148', 'sk = :s AND begins_with(#d, :d)', { ':s': S(sk), ':d': S(data) },
    { IndexName: 'overloaded', ExpressionAttributeNames: { '#d': 'data' } })).Items.map((item) => item.pk.S);
  assert.deepEqual(await find('Employee_Name', 'Murphy'), ['HR-974'], 'an employee by name');
  assert.deepEqual(await find('Warehouse_01', 'current'), ['HR-974'], 'who works in a warehouse');
  assert.deepEqual(await find('HR_confidential', '2008'), ['HR-974'], 'who began in a year');
});

test('S149: a sharded index key is read by one Query for each shard, newest first', async () => {
  await db.table('s149', 'pk', { indexes: { 'by-state': { key: 'state opened' } } });
  for (let i = 0; i < 30; i++) await db.put('s149', { ...key(`order-${i}`), state: S(`OPEN.${i % 3}`), opened: S(String(i).padStart(3, '0')) });
  const shards = await Promise.all([0, 1, 2].map((shard) => db.query('s149', '#s = :s', { ':s': S(`OPEN.${shard}`) },
    { IndexName: 'by-state', ScanIndexForward: false, Limit: 5, ExpressionAttributeNames: { '#s': 'state' } })));
  const newest = shards.flatMap(({ Items }) => Items).sort((a, b) => b.opened.S.localeCompare(a.opened.S)).slice(0, 5);
  assert.deepEqual(newest.map((item) => item.pk.S), [29, 28, 27, 26, 25].map((i) => `order-${i}`));
  assert.equal(shards.reduce((sum, answer) => sum + units(answer), 0), 1.5, 'half a unit each');
});

test('S150: a sparse index of champions answers with one item of thousands', async () => {
  await db.table('s150', 'pk', { indexes: { champions: { key: 'champion', projection: 'KEYS_ONLY' } } });
  for (let i = 0; i < 8; i++) {
    await db.ask('BatchWriteItem', { RequestItems: { s150: Array.from({ length: 25 }, (_, k) => ({
      PutRequest: { Item: sized(key(`player-${25 * i + k}`), KB) } })) } });
  }
  await db.update('s150', key('player-7'), 'SET champion = :game', { ':game': S('Galaxy Invaders') });
  const found = await db.query('s150', 'champion = :game', { ':game': S('Galaxy Invaders') }, { IndexName: 'champions' });
  assert.deepEqual([found.Count, units(found)], [1, 0.5]);
  const scan = await db.scan('s150', { FilterExpression: 'attribute_exists(champion)' });
  assert.ok(scan.Count === 1 && units(scan) >= 25, `a Scan for it costs ${units(scan)}`);
});

test('S151: an index that is built later is filled with the items of the table', async () => {
  await db.table('s151', 'pk');
  await db.put('s151', { ...key('a'), g: S('g') });
  await db.ask('UpdateTable', { TableName: 's151', AttributeDefinitions: [{ AttributeName: 'g', AttributeType: 'S' }, { AttributeName: 'pk', AttributeType: 'S' }],
    GlobalSecondaryIndexUpdates: [{ Create: { IndexName: 'by-g', KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } } }] });
  for (let tries = 0; ; tries++) { // wait for the state, as a client has to
    const { GlobalSecondaryIndexes: [index] } = (await db.ask('DescribeTable', { TableName: 's151' })).Table;
    if (index.IndexStatus === 'ACTIVE') break;
    assert.ok(tries < 2000, index.IndexStatus);
    await new Promise((done) => { setTimeout(done, 5); });
  }
  assert.equal((await db.query('s151', 'g = :g', { ':g': S('g') }, { IndexName: 'by-g' })).Count, 1);
});
