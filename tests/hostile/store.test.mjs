// A store that was harmed from outside, or that holds what was given up: a log that is missing or cut is refused by name and the
// loss accepted by name; a dropped table gives its disk back, also after a crash.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { call, isStator, request, Server } from '../sdk/harness.mjs';

const ours = {
  skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server and its directory are not ours'
    : process.env.STATOR_CLUSTER_CONF ? 'the servers have no directory' : false,
};
const TableName = 'harmed';
const item = (i, bytes = 1000) => ({ pk: { S: `item-${i}` }, data: { S: `${i}:`.padEnd(bytes, `${i}abcdefghijklmnopqrstuvwxyz`) } });
async function ok(server, operation, body) {
  const reply = await call(server.endpoint, operation, body);
  assert.equal(reply.status, 200, `${operation}: ${reply.text}`);
  return reply.json();
}
const createTable = (server, name = TableName) => ok(server, 'CreateTable', {
  TableName: name, KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], BillingMode: 'PAY_PER_REQUEST',
});
const put = (server, i, bytes) => ok(server, 'PutItem', { TableName, Item: item(i, bytes) });
async function countItems(server) {
  return (await ok(server, 'Scan', { TableName, Select: 'COUNT', ConsistentRead: true })).Count;
}
const filesOf = (directory, ending) => fs.readdirSync(directory).filter((name) => name.endsWith(ending)).map((name) => path.join(directory, name));
const status = async (server) => (await request(server.endpoint, { method: 'GET', path: '/_stator/status', headers: { 'X-Stator-Management': 'true' } })).json();
const bytesOfTables = (directory) => filesOf(directory, '.sst').reduce((sum, file) => {
  try {
    return sum + fs.statSync(file).size;
  } catch {
    return sum; // it went meanwhile
  }
}, 0);

// A store of 200 acknowledged items, killed: its directory, its newest log, and a way to bring the log back.
async function killed(args = []) {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-store-'));
  let server = await Server.startOne({ dataDir, args });
  await createTable(server);
  for (let i = 0; i < 100; i++) await put(server, i);
  await server.kill();
  server = await Server.startOne({ dataDir, args });
  for (let i = 100; i < 200; i++) await put(server, i);
  await server.kill();
  const log = filesOf(dataDir, '.log').sort().findLast((file) => fs.statSync(file).size > 0);
  const bytes = fs.readFileSync(log);
  return { dataDir, log, bytes, restore: () => fs.writeFileSync(log, bytes), remove: () => fs.rmSync(dataDir, { recursive: true, force: true }) };
}
const harms = {
  deleted: ({ log }) => fs.rmSync(log),
  emptied: ({ log }) => fs.truncateSync(log, 0),
  'cut in half': ({ log, bytes }) => fs.truncateSync(log, bytes.length >> 1),
};

test('a log that lost acknowledged writes is refused by name, opens when it is back, and the loss can be accepted', ours, async () => {
  const store = await killed();
  try {
    for (const [what, harm] of Object.entries(harms)) {
      store.restore();
      harm(store);
      await assert.rejects(Server.startOne({ dataDir: store.dataDir }), (error) => {
        assert.match(error.message, /has lost the last \d+ writes that were acknowledged/, what);
        assert.match(error.message, /--accept-lost-writes/);
        return true;
      });
    }
    store.restore();
    const server = await Server.startOne({ dataDir: store.dataDir });
    assert.equal(await countItems(server), 200);
    await server.stop();
  } finally {
    store.remove();
  }
});

test('an accepted loss is said once, with its number, and the store goes on', ours, async () => {
  const store = await killed();
  try {
    fs.rmSync(store.log);
    let server = await Server.startOne({ dataDir: store.dataDir, args: ['--accept-lost-writes'] });
    await server.logged(/lost_writes_accepted writes=1\d\d /);
    assert.equal(await countItems(server), 100);
    await put(server, 500);
    await server.kill();
    server = await Server.startOne({ dataDir: store.dataDir });
    assert.doesNotMatch(server.output, /lost_writes/);
    assert.equal(await countItems(server), 101);
    await server.stop();
  } finally {
    store.remove();
  }
});

test('without fsync a lost log is a warning with the number', ours, async () => {
  const store = await killed(['--durability=os']);
  try {
    fs.rmSync(store.log);
    const server = await Server.startOne({ dataDir: store.dataDir, args: ['--durability=os'] });
    await server.logged(/lost_writes writes=1\d\d /);
    assert.equal(await countItems(server), 100);
    await server.stop();
  } finally {
    store.remove();
  }
});

test('a dropped table gives its disk back, also when the server is killed in between', ours, async () => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-store-'));
  const args = ['--memory-budget-mb', '16'];
  const wait = async (condition, what) => {
    const end = Date.now() + 60000;
    while (Date.now() < end) {
      if (await condition()) return;
      await delay(20);
    }
    assert.fail(what);
  };
  try {
    let server = await Server.startOne({ dataDir, args });
    await createTable(server, 'kept');
    await ok(server, 'PutItem', { TableName: 'kept', Item: item(1) });
    for (const kill of [false, true]) {
      await createTable(server);
      for (let i = 0; i < 300; i++) await put(server, i, 100_000);
      await wait(() => bytesOfTables(dataDir) > 15 << 20, 'nothing was flushed');
      await ok(server, 'DeleteTable', { TableName });
      if (kill) {
        await server.kill();
        server = await Server.startOne({ dataDir, args });
      }
      await wait(async () => (await status(server)).dropped_waiting === 0, 'the dropped table waits');
      await wait(() => bytesOfTables(dataDir) < 2 << 20, `${bytesOfTables(dataDir) >> 20} MB are left`);
    }
    assert.deepEqual((await ok(server, 'GetItem', { TableName: 'kept', Key: { pk: item(1).pk } })).Item, item(1));
    const metrics = (await request(server.endpoint, { method: 'GET', path: '/metrics' })).text;
    assert.match(metrics, /^stator_dropped_waiting 0$/m);
    assert.match(metrics, /^stator_kv_reclaimed_bytes \d+/m);
    await server.stop();
  } finally {
    fs.rmSync(dataDir, { recursive: true, force: true });
  }
});
