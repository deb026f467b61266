// Time to live, tables by time, and changes of capacity by the clock. The statements are those of README.md.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { call } from '../sdk/harness.mjs';
import { KB, N, S, serverOfFile, sized, units } from './statements.mjs';

const db = serverOfFile('--throttling=enforce');
const kStart = Date.parse('2026-11-22T10:00:00Z') / 1000;
const key = (pk) => ({ pk: S(pk) });
const now = async () => Math.floor(Date.parse((await db.manage('clock')).now) / 1000);
async function expiring(TableName, more = {}) {
  await db.table(TableName, 'pk', more);
  await db.ask('UpdateTimeToLive', { TableName, TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true } });
}
const there = async (TableName, pk) => (await db.get(TableName, key(pk))).Item !== undefined;

test('S201: an expired item can be read until it is deleted, and a filter leaves it out', async () => {
  await expiring('s201');
  await db.put('s201', { ...key('a'), expires: N(await now() - 1) });
  const valid = { FilterExpression: 'expires > :now', ExpressionAttributeValues: { ':now': N(await now()) } };
  assert.equal((await db.scan('s201')).Count, 1);
  assert.equal((await db.scan('s201', valid)).Count, 0);
  await db.advance('48h');
  assert.equal((await db.scan('s201')).Count, 0, 'deleted within 48 hours');
});

test('S202: deletions by time to live take no write units', async () => {
  await expiring('s202', { read: 5, write: 100 });
  for (let i = 0; i < 10; i++) await db.put('s202', { ...sized(key(`${i}`), 5 * KB), expires: N(await now() + 10) });
  const used = async () => (await db.manage('tables/s202/partitions')).resources[0].consumed.write;
  const before = await used();
  await db.advance('48h');
  assert.equal((await db.scan('s202')).Count, 0);
  assert.equal(await used(), before);
});

test('S203: the stream tells what time to live deleted from what a user did', async () => {
  await expiring('s203', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'OLD_IMAGE' } });
  await db.put('s203', { ...key('expired'), expires: N(await now() + 10) });
  await db.put('s203', key('deleted'));
  await db.delete('s203', key('deleted'));
  await db.advance('1m'); // the server deletes what expired when its clock is moved; its records are kept for a day
  const { LatestStreamArn: StreamArn } = (await db.ask('DescribeTable', { TableName: 's203' })).Table;
  const stream = async (operation, body) => (await call(db.server.endpoint, operation, body, {
    headers: { 'X-Amz-Target': `DynamoDBStreams_20120810.${operation}` } })).json();
  const records = [];
  for (const { ShardId } of (await stream('DescribeStream', { StreamArn })).StreamDescription.Shards) {
    const { ShardIterator } = await stream('GetShardIterator', { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' });
    records.push(...(await stream('GetRecords', { ShardIterator })).Records);
  }
  const removed = Object.fromEntries(records.filter(({ eventName }) => eventName === 'REMOVE').map((record) => [record.dynamodb.Keys.pk.S, record.userIdentity]));
  assert.deepEqual(Object.keys(removed).sort(), ['deleted', 'expired'], JSON.stringify(records));
  assert.equal(removed.deleted, undefined);
  assert.deepEqual(removed.expired, { Type: 'Service', PrincipalId: 'dynamodb.amazonaws.com' });
});

test('S204: a time to live of more than five years ago is not followed', async () => {
  await expiring('s204');
  await db.put('s204', { ...key('old'), expires: N(kStart - 6 * 365 * 86400) });
  await db.put('s204', { ...key('recent'), expires: N(kStart - 4 * 365 * 86400) });
  await db.advance('48h');
  assert.deepEqual([await there('s204', 'old'), await there('s204', 'recent')], [true, false]);
});

test('S205: a time to live in milliseconds or as a text never comes', async () => {
  await expiring('s205');
  await db.put('s205', { ...key('millis'), expires: N(await now() * 1000) });
  await db.put('s205', { ...key('text'), expires: S(String(await now())) });
  await db.put('s205', { ...key('seconds'), expires: N(await now()) });
  await db.advance('48h');
  assert.deepEqual([await there('s205', 'millis'), await there('s205', 'text'), await there('s205', 'seconds')], [true, true, false]);
});

test('S206: a table a month goes at once and for no units; its items one by one cost what they are', async () => {
  for (const month of ['s206-10', 's206-11']) await db.table(month, 'pk', { read: 5, write: 1000 });
  for (let i = 0; i < 20; i++) await db.put('s206-10', sized(key(`${i}`), 2 * KB));
  let cost = 0;
  for (let i = 0; i < 10; i++) cost += units(await db.delete('s206-10', key(`${i}`)));
  assert.equal(cost, 20);
  const before = (await db.manage('tables/s206-10/partitions')).resources[0].consumed.write;
  assert.equal(before, 20 * 2 + 20);
  await db.ask('DeleteTable', { TableName: 's206-10' });
  assert.equal((await db.fails('DescribeTable', { TableName: 's206-10' })).name, 'ResourceNotFoundException');
  assert.equal((await db.manage('tables/s206-11/partitions')).resources[0].consumed.write, 0);
});

test('S207: capacity of old tables is lowered, and of the newest raised: each has its own', async () => {
  for (const [month, write] of [['s207-old', 1], ['s207-new', 500]]) await db.table(month, 'pk', { read: 1, write });
  await db.put('s207-old', key('a'));
  assert.equal((await db.fails('PutItem', { TableName: 's207-old', Item: key('b') })).name, 'ProvisionedThroughputExceededException');
  for (let i = 0; i < 50; i++) await db.put('s207-new', key(`${i}`));
});

test('S208: capacity is lowered four times a day, and once more for each hour without: raised as often as one likes', async () => {
  await db.table('s208', 'pk', { read: 100, write: 100 });
  const set = (write) => ({ TableName: 's208', ProvisionedThroughput: { ReadCapacityUnits: 100, WriteCapacityUnits: write } });
  for (const write of [99, 98, 97, 96]) await db.ask('UpdateTable', set(write));
  assert.equal((await db.fails('UpdateTable', set(95))).name, 'LimitExceededException');
  for (const write of [97, 98, 99, 100]) await db.ask('UpdateTable', set(write));
  await db.advance('61m');
  await db.ask('UpdateTable', set(95));
  assert.equal((await db.fails('UpdateTable', set(94))).name, 'LimitExceededException');
});

test('S209: a table becomes on demand four times in 24 hours, and provisioned at any time', async () => {
  await db.table('s209', 'pk', { read: 10, write: 10 });
  const onDemand = { TableName: 's209', BillingMode: 'PAY_PER_REQUEST' };
  const provisioned = { TableName: 's209', BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 10, WriteCapacityUnits: 10 } };
  for (let i = 0; i < 4; i++) {
    await db.ask('UpdateTable', onDemand);
    await db.ask('UpdateTable', provisioned);
  }
  assert.match((await db.fails('UpdateTable', onDemand)).name, /LimitExceeded|Subscriber/);
  await db.advance('25h');
  await db.ask('UpdateTable', onDemand);
});

test('S210: unused capacity is kept for 300 seconds and no longer', async () => {
  await db.table('s210', 'pk', { read: 10, write: 2 });
  const served = async () => {
    for (let count = 0; ; count++) {
      if ((await db.raw('PutItem', { TableName: 's210', Item: key('a') })).status !== 200) return count;
    }
  };
  await served();
  await db.advance(100);
  assert.equal(await served(), 200);
  await db.advance('10m');
  assert.equal(await served(), 600);
});
