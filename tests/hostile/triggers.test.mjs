// Triggers whose functions are down or hang, or whose filters are costly, take no more memory than their account has, and hold
// neither other clients nor a stop.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { FunctionHost, mappingsOf, triggersOf, until } from '../sdk/functions.mjs';
import { call, isStator, request, Server } from '../sdk/harness.mjs';
import { Judge, watchOf } from './judge.mjs';

const ours = {
  skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server is not ours' : process.env.STATOR_CLUSTER_CONF ? 'the servers have a cluster' : false,
  timeout: 420000,
};
const kMB = 1 << 20;
const kMappings = 100;
// Budget, in-flight limit and 200 MB, as for every attack.
const kBudget = 64, kInFlight = 512;
const kAllowed = (kBudget + kInFlight + 200) * kMB;
// Beyond the bound of the account is one change at a time, with what rendering it takes.
const kOneChange = 16 * kMB;
// docs/limits.md: 20 s; the rest is for a loaded machine.
const kStopMillis = 60000;

// Starts a server with functions NAME0, NAME1, ... behind `url`, and a table with a stream of `shards` shards.
async function start(t, functions, shards) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-hostile-triggers-'));
  fs.writeFileSync(path.join(folder, 'stator.toml'),
    functions.map(({ name, url }) => `[[functions]]\nname = "${name}"\nurl = "${url}"\n`).join(''));
  const server = await Server.startOne({
    args: ['--io-threads', '2', '--memory-budget-mb', String(kBudget), '--max-inflight-mb', String(kInFlight), '--throttling', 'off',
      '--config', path.join(folder, 'stator.toml')],
  });
  t.after(async () => {
    await server.kill();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const must = async (operation, body) => {
    const reply = await call(server.endpoint, operation, body, { timeout: 60000 });
    assert.equal(reply.status, 200, reply.text);
    return reply.json();
  };
  await must('CreateTable', {
    TableName: 'many', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
  });
  const describe = async () => (await must('DescribeTable', { TableName: 'many' })).Table;
  const arn = (await until(async () => ((await describe()).TableStatus === 'ACTIVE' ? describe() : undefined))).LatestStreamArn;
  for (let i = 1; i < shards; i++) {
    const split = await request(server.endpoint, { method: 'POST', path: '/_stator/tables/many/split', headers: { 'X-Stator-Management': 'true' } });
    assert.equal(split.status, 200, split.text);
  }
  return { server, must, arn, mappings: mappingsOf(server.endpoint) };
}

async function stopInTime(server) {
  server.child.ref();
  server.child.kill('SIGTERM');
  const ended = await Promise.race([server.exited, delay(kStopMillis, null, { ref: false })]);
  assert.ok(ended !== null, `no end ${kStopMillis} ms after SIGTERM:\n${server.output}`);
  assert.equal(ended.code, 0, server.output);
}

const read = (server, path) => request(server.endpoint, { method: 'GET', path, headers: { 'X-Stator-Management': 'true' }, timeout: 60000 });

// Creates 99 mappings to functions NAME0 to NAME98 and one to a function that works, "fine", with `count` changes that are each
// 2 MB as JSON. While the 99 fail or hang, `wanted` of the changes reach "fine", and the account holds.
async function manyMappings(t, { name, url, shards, count, wanted = count, settings = {}, tried = true }) {
  const seen = new Set();
  const host = await FunctionHost.start({
    web: (event) => {
      for (const record of event.Records) seen.add(record.dynamodb.Keys.pk.S);
      return {};
    },
  });
  t.after(() => host.stop());
  const functions = Array.from({ length: kMappings - 1 }, (_, i) => ({ name: `${name}${i}`, url }));
  const { server, must, arn, mappings } = await start(t, [...functions, { name: 'fine', url: `${host.endpoint}/hook` }], shards);
  const v = { S: '\u0001'.repeat(340000) };  // six bytes each as JSON
  for (let i = 0; i < count; i++) await must('PutItem', { TableName: 'many', Item: { pk: { S: `k${i}` }, v } });
  const judge = await Judge.of(server, { probeMillis: 10000 });
  t.after(() => judge.close());
  await judge.watch(async () => {
    for (const function_ of [...functions, { name: 'fine' }]) {
      const made = await mappings.create({
        FunctionName: function_.name, EventSourceArn: arn, StartingPosition: 'TRIM_HORIZON', ...settings,
      });
      assert.equal(made.status, 202, JSON.stringify(made.body));
    }
    await until(async () => seen.size >= wanted, { within: 180000, what: `${wanted} changes at the function that works` });
    // All others have been tried meanwhile: none waits for ever.
    if (tried) {
      await until(async () => (await triggersOf(server.endpoint)).mappings.every((one) => one.last_result !== 'No records processed'),
        { within: 180000, what: 'a result of each mapping' });
    }
  });
  const { memory } = await triggersOf(server.endpoint);
  t.diagnostic(`peak ${(judge.verdict.peakBytes / kMB).toFixed(0)} MB, account ${JSON.stringify(memory)}, slowest probe ${judge.verdict.slowestMillis.toFixed(0)} ms`);
  assert.ok(memory.changes.peak_bytes <= memory.changes.most_bytes + kOneChange, JSON.stringify(memory));
  assert.ok(memory.changes.peak_bytes > memory.changes.most_bytes / 2, `nothing was held: ${JSON.stringify(memory)}`);
  assert.ok(judge.verdict.peakBytes <= kAllowed, `${(judge.verdict.peakBytes / kMB).toFixed(0)} MB`);
  await stopInTime(server);
}

test('100 mappings whose functions are down share the account', ours, (t) =>
  manyMappings(t, { name: 'down', url: 'http://127.0.0.1:1/x', shards: 1, count: 20 }));

test('100 mappings of 16 shards whose functions are down share the account', ours, (t) =>
  manyMappings(t, { name: 'down', url: 'http://127.0.0.1:1/x', shards: 16, count: 24, wanted: 4 }));

test('100 mappings whose functions hang do not hold the memory of others', ours, async (t) => {
  // Reads and never answers.
  const sockets = new Set();
  const hanging = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.resume();
  });
  hanging.listen(0, '127.0.0.1');
  await once(hanging, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    hanging.close();
  });
  await manyMappings(t, {
    name: 'hangs', url: `http://127.0.0.1:${hanging.address().port}/x`, shards: 1, count: 20, settings: { ParallelizationFactor: 3 }, tried: false,
  });
});

test('costly filters hold neither /metrics nor calls nor a stop', ours, async (t) => {
  const host = await FunctionHost.start({ web: () => ({}) });
  t.after(() => host.stop());
  const { server, must, arn, mappings } = await start(t, [0, 1].map((i) => ({ name: `web${i}`, url: `${host.endpoint}/hook` })), 1);
  for (let i = 0; i < 10; i++) {
    const v = { SS: Array.from({ length: 50000 }, (_, j) => `${i}${j.toString(16)}`) };
    await must('PutItem', { TableName: 'many', Item: { pk: { S: `k${i}` }, v } });
  }
  // Nearly as costly as a pattern may be.
  const either = Array.from({ length: 45 }, (_, i) => `{"SS":["-${i}"]}`).join(',');
  const costly = `{"dynamodb":{"NewImage":{"v":{"$or":[${either}]}}}}`;
  // Many choices are one search.
  const many = `{"dynamodb":{"NewImage":{"v":{"SS":[${Array.from({ length: 500 }, (_, i) => `"-${i}"`).join(',')}]}}}}`;
  const judge = await Judge.of(server, { probeMillis: 10000 });
  t.after(() => judge.close());
  await judge.watch(async () => {
    for (let i = 0; i < 2; i++) {
      const made = await mappings.create({
        FunctionName: `web${i}`, EventSourceArn: arn, StartingPosition: 'TRIM_HORIZON',
        FilterCriteria: { Filters: Array.from({ length: 10 }, (_, n) => ({ Pattern: i === 0 && n < 5 ? costly : many })) },
      });
      assert.equal(made.status, 202, JSON.stringify(made.body));
    }
    const calls = { metrics: () => read(server, '/metrics'), triggers: () => read(server, '/_stator/triggers'), list: () => mappings.list() };
    let slowest = 0;
    for (let round = 0; round < 20; round++) {
      for (const [name, one] of Object.entries(calls)) {
        const watch = watchOf(server);
        const reply = await one();
        assert.equal(reply.status, 200, name);
        slowest = Math.max(slowest, watch.millis);
      }
    }
    t.diagnostic(`slowest call ${slowest.toFixed(0)} ms`);
    assert.ok(slowest < 10000, `a call took ${slowest.toFixed(0)} ms`);
    await until(async () => (await read(server, '/metrics')).text.includes('function="web1",mapping=') &&
      (await triggersOf(server.endpoint)).mappings.find((one) => one.function === 'web1').filtered === 10,
    { within: 240000, what: 'the filters that are not costly are through' });
  });
  await stopInTime(server);
});

test('a pattern that is too costly is refused with the reason', ours, async (t) => {
  const { arn, mappings } = await start(t, [{ name: 'web', url: 'http://127.0.0.1:1/x' }], 1);
  const either = Array.from({ length: 150 }, (_, i) => `{"SS":["-${i}"]}`).join(',');
  const made = await mappings.create({
    FunctionName: 'web', EventSourceArn: arn, StartingPosition: 'TRIM_HORIZON',
    FilterCriteria: { Filters: [{ Pattern: `{"dynamodb":{"NewImage":{"v":{"$or":[${either}]}}}}` }] },
  });
  assert.equal(made.status, 400, JSON.stringify(made.body));
  assert.match(JSON.stringify(made.body), /100 is the most/);
});
