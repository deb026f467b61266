// The live scripts of examples/lessons, against a server with a manual clock.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { DynamoDBStreams } from '@aws-sdk/client-dynamodb-streams';

import { play as autoScaling } from '../../examples/lessons/auto-scaling/live.mjs';
import { play as bulkLoad } from '../../examples/lessons/bulk-load/live.mjs';
import { play as cache } from '../../examples/lessons/cache/live.mjs';
import { play as cart } from '../../examples/lessons/cart/live.mjs';
import { play as goodAndPoorKeys } from '../../examples/lessons/good-and-poor-keys/live.mjs';
import { play as hotDate } from '../../examples/lessons/hot-date/live.mjs';
import { play as initialPartitions } from '../../examples/lessons/initial-partitions/live.mjs';
import { play as messageArchive } from '../../examples/lessons/message-archive/live.mjs';
import { play as onDemandGrowth } from '../../examples/lessons/on-demand-growth/live.mjs';
import { play as raiseCapacity } from '../../examples/lessons/raise-capacity/live.mjs';
import { play as readReplica } from '../../examples/lessons/read-replica/live.mjs';
import { play as sizeSplit } from '../../examples/lessons/size-split/live.mjs';
import { play as slimIndex } from '../../examples/lessons/slim-index/live.mjs';
import { play as sparseIndex } from '../../examples/lessons/sparse-index/live.mjs';
import { play as statusIndex } from '../../examples/lessons/status-index/live.mjs';
import { play as strongAndEventual } from '../../examples/lessons/strong-and-eventual/live.mjs';
import { play as tenants } from '../../examples/lessons/tenants/live.mjs';
import { play as threeHundredSeconds } from '../../examples/lessons/three-hundred-seconds/live.mjs';
import { play as timeSeries } from '../../examples/lessons/time-series/live.mjs';
import { play as ttlMessages } from '../../examples/lessons/ttl-messages/live.mjs';
import { play as twoApplications } from '../../examples/lessons/two-applications/live.mjs';
import { play as uploadByUser } from '../../examples/lessons/upload-by-user/live.mjs';
import { play as verticalPartitioning } from '../../examples/lessons/vertical-partitioning/live.mjs';
import { play as voteCounter } from '../../examples/lessons/vote-counter/live.mjs';
import { isStator, onCluster, Server } from './harness.mjs';

const options = { skip: process.env.STATOR_ENDPOINT || !isStator || onCluster ? 'the server, its clock and its capacity are not ours alone' : false };
let server, ddb, streams, school;
before(async () => {
  if (options.skip) return;
  server = await Server.start({ args: ['--in-memory', '--clock=manual', '--throttling=enforce'] });
  const settings = { endpoint: server.endpoint, region: 'us-east-1', maxAttempts: 1, credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' } };
  ddb = new DynamoDB(settings);
  streams = new DynamoDBStreams(settings);
  school = { ddb, streams, endpoint: server.endpoint };
});
after(async () => {
  ddb?.destroy();
  streams?.destroy();
  await server?.stop();
});

test('good and poor keys', options, async () => {
  const { user, status, device } = await goodAndPoorKeys(school);
  assert.equal(user.throttled, 0);
  for (const poor of [status, device]) {
    assert.ok(poor.served < 0.8 * poor.sent, `${poor.served} of ${poor.sent}`);
    assert.deepEqual([...poor.reasons], ['TableWriteKeyRangeThroughputExceeded']);
  }
  assert.match(status.message, /^Hot key "200 OK"/);
  assert.match(device.message, /^Hot key "device-7"/);
});

test('initial partitions', options, async () => {
  assert.deepEqual(await initialPartitions(school), { '1000/500': 1, '1000/1000': 2, '5000/2000': 4, 'on demand': 4 });
});

test('hot date', options, async () => {
  const { date, spread } = await hotDate(school);
  assert.ok(date.served >= 400 && date.served <= 420, `${date.served} of ${date.sent}`);
  assert.deepEqual([spread.served, spread.throttled], [1200, 0]);
});

test('three hundred seconds', options, async () => {
  const { first, burst } = await threeHundredSeconds(school);
  assert.ok(first.served >= 1 && first.served <= 50, `${first.served}`);
  assert.ok(burst.served * 10 >= 3000 && burst.served * 10 <= 3600, `${burst.served}`);
  assert.match(burst.message, /^Table events: 1,000 of 10 provisioned write units\/s\. /);
});

test('sparse index', options, async () => {
  const { found, scanned, indexed, units } = await sparseIndex(school);
  assert.deepEqual([found, indexed], [18, 18]);
  assert.ok(scanned > 90 && units <= 2, `${scanned}, ${units}`);
});

test('vote counter', options, async () => {
  const { one, spread, shards, sum } = await voteCounter(school);
  assert.ok(one.served >= 3000 && one.served <= 3100, `${one.served} of ${one.sent}`);
  assert.ok(shards >= 2, `${shards}`);
  assert.deepEqual([spread.served, sum], [4500, 4500]);
});

test('size split', options, async () => {
  assert.deepEqual(await sizeSplit(school), { before: 4, after: [250, 250, 500, 500, 500] });
});

test('raise the capacity', options, async () => {
  assert.deepEqual(await raiseCapacity(school), [4, 8, 8]);
});

test('upload by user', options, async () => {
  const outcomes = await uploadByUser(school);
  assert.ok(outcomes['by-user'].served < 0.5 * outcomes['by-user'].sent, `${outcomes['by-user'].served}`);
  assert.ok(outcomes.interleaved.served > 0.8 * outcomes.interleaved.sent, `${outcomes.interleaved.served}`);
});

test('bulk load', options, async () => {
  const shares = await bulkLoad(school);
  assert.equal(shares[10_999].partitions, 11);
  assert.ok(Math.abs(shares[10_999].write - 200 / 11) < 0.1, `${shares[10_999].write}`);
  assert.deepEqual(shares[1900], { partitions: 2, write: 100 });
});

test('time series', options, async () => {
  assert.equal(await timeSeries(school), 400);
});

test('messages that expire', options, async () => {
  assert.deepEqual(await ttlMessages(school), { living: true, gone: true });
});

test('cache', options, async () => {
  const { strong, eventual } = await cache(school);
  assert.ok(strong.served < strong.sent, `${strong.served}`);
  assert.match(strong.message, /^Hot key "bestseller"/);
  assert.equal(eventual.served, eventual.sent);
});

test('vertical partitioning', options, async () => {
  assert.deepEqual(await verticalPartitioning(school), { whole: 20, stock: 1 });
});

test('status index', options, async () => {
  const outcomes = await statusIndex(school);
  assert.ok(outcomes['by status'].served < 0.8 * outcomes['by status'].sent);
  assert.deepEqual([...outcomes['by status'].reasons], ['IndexWriteKeyRangeThroughputExceeded']);
  assert.equal(outcomes['by status and number'].throttled, 0);
});

test('on-demand growth', options, async () => {
  assert.deepEqual(await onDemandGrowth(school), { cold: 4, warmed: 16 });
});

test('auto scaling', options, async () => {
  const { before, after } = await autoScaling(school);
  assert.equal(before, 50);
  assert.ok(after >= 55 && after <= 70, `${after}`);
});

test('cart', options, async () => {
  const { filter, prefix, bought } = await cart(school);
  assert.deepEqual([filter.count, prefix.count, bought], [5, 5, 4]);
  assert.ok(filter.units > 20 && filter.units < 30, `${filter.units}`);
  assert.equal(prefix.units, 0.5);
});

test('slim index', options, async () => {
  assert.deepEqual(await slimIndex(school), { table: 80, index: 0.5, written: { table: 32, index: 1 } });
});

test('index as read replica', options, async () => {
  const { shared, replica, strong } = await readReplica(school);
  assert.ok(shared.served < 0.9 * shared.sent, `${shared.served} of ${shared.sent}`);
  assert.equal(replica.served, replica.sent);
  assert.match(strong, /Consistent reads are not supported on global secondary indexes/);
});

test('two applications', options, async () => {
  const outcomes = await twoApplications(school);
  const { shop, report } = outcomes['two indexes'];
  assert.ok(outcomes['one index'].shop.served < 0.9 * outcomes['one index'].shop.sent, `${outcomes['one index'].shop.served}`);
  assert.equal(shop.served, shop.sent);
  assert.ok(report.served < 0.6 * report.sent, `${report.served} of ${report.sent}`);
});

test('tenants', options, async () => {
  assert.deepEqual(await tenants(school), { read: 21, write: 200, left: 40 });
});

test('archive of messages', options, async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-archive-'));
  try {
    const { removed, expired, file } = await messageArchive({ ...school, file: path.join(directory, 'archive.ndjson') });
    assert.deepEqual([removed, expired], [30, 20]);
    const lines = fs.readFileSync(file, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
    assert.deepEqual(lines.map(({ Item }) => Number(Item.sk.S)).sort((a, b) => a - b), Array.from({ length: 30 }, (_, n) => n).filter((n) => n % 3 !== 0));
    assert.ok(lines.every(({ SequenceNumber }) => /^\d{21,40}$/.test(SequenceNumber)));
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
});

test('strong and eventual reads', options, async () => {
  const kept = await strongAndEventual(school);
  const all = { 'own write': true, 'nothing goes back': true, 'first written, first seen': true };
  assert.deepEqual(kept, {
    'strong, random ages': all,
    'eventual, no fault': all,
    'eventual, one age': { ...all, 'own write': false },
    'eventual, random ages': { 'own write': false, 'nothing goes back': false, 'first written, first seen': false },
  });
});
