// A small disk that fills up: deletes and DeleteTable make room where nothing else could, a server that starts on it says so and
// serves reads, and readiness follows the disk without a write.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { call, isStator, request, Server } from '../sdk/harness.mjs';

const unusable = process.env.STATOR_ENDPOINT || !isStator ? 'the server and its disk are not ours'
  : process.env.STATOR_CLUSTER_CONF ? 'the servers have no directory'
    : process.getuid() !== 0 ? 'only root can mount a small disk' : false;
const MB = 1 << 20;
const item = (i) => ({ pk: { S: `item-${i}` }, data: { S: `${i}:`.padEnd(100_000, `abcdefghij${i}klmnopqrstuvwxyz`) } });
const args = ['--memory-budget-mb', '16'];

class Disk {
  // Runs `use` with a tmpfs of `megabytes`; skips the test where none can be mounted.
  static async with(context, megabytes, use) {
    const disk = new Disk();
    disk.path = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-disk-'));
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', disk.path]).status !== 0) {
      fs.rmdirSync(disk.path);
      return context.skip('this machine lets nobody mount a tmpfs');
    }
    try {
      await use(disk);
    } finally {
      for (const server of disk.servers) if ((server.child.exitCode ?? server.child.signalCode) === null) await server.kill();
      spawnSync('umount', ['-l', disk.path]);
      fs.rmdirSync(disk.path);
    }
  }
  servers = [];
  get dataDir() { return path.join(this.path, 'data'); }
  get ballast() { return path.join(this.dataDir, 'BALLAST'); }
  async start(options = {}) {
    const server = await Server.startOne({ dataDir: this.dataDir, args, ...options });
    this.servers.push(server);
    return server;
  }
  free() { const stat = fs.statfsSync(this.path); return stat.bavail * stat.bsize; }
  // Leaves `bytes` free.
  fill(bytes) {
    const file = fs.openSync(path.join(this.path, 'filler'), 'a');
    const chunk = Buffer.alloc(64 << 10);
    while (this.free() > bytes) {
      try {
        if (fs.writeSync(file, chunk, 0, Math.min(chunk.length, this.free() - bytes)) === 0) break;
      } catch (error) {
        if (error.code === 'ENOSPC') break;
        throw error;
      }
    }
    fs.closeSync(file);
  }
  clear() { fs.rmSync(path.join(this.path, 'filler'), { force: true }); }
}

async function createTable(server, TableName) {
  const created = await call(server.endpoint, 'CreateTable', {
    TableName, KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], BillingMode: 'PAY_PER_REQUEST',
  });
  assert.equal(created.status, 200, created.text);
}
const put = (server, TableName, i) => call(server.endpoint, 'PutItem', { TableName, Item: item(i) });
const get = (server, TableName, i) => call(server.endpoint, 'GetItem', { TableName, Key: { pk: item(i).pk }, ConsistentRead: true });
const remove = (server, TableName, i) => call(server.endpoint, 'DeleteItem', { TableName, Key: { pk: item(i).pk } });
const ready = async (server) => (await request(server.endpoint, { method: 'GET', path: '/health/ready' })).status;
async function until(condition, what) {
  const end = Date.now() + 60000;
  while (Date.now() < end) {
    if (await condition()) return;
    await delay(20);
  }
  assert.fail(what);
}

test('deletes make room on a full disk, and writes come back with it', { skip: unusable }, async (context) => {
  await Disk.with(context, 224, async (disk) => {
    const server = await disk.start();
    await createTable(server, 'kept');
    await createTable(server, 'dropped');
    for (let i = 0; i < 50; i++) assert.equal((await put(server, 'kept', i)).status, 200);
    for (let i = 0; i < 700; i++) assert.equal((await put(server, 'dropped', i)).status, 200); // 70 MB
    await until(() => fs.existsSync(disk.ballast), 'no ballast was made');
    // Below what even a delete needs, but for the ballast. RocksDB may give back space meanwhile, of files that it has merged.
    await until(async () => {
      disk.fill(2 * MB);
      return (await ready(server)) === 503;
    }, 'a full disk is not told while nothing is written');
    const refused = await put(server, 'kept', 50);
    assert.equal(refused.status, 500, refused.text);
    assert.match(refused.json().message, /disk is full/i);
    for (let i = 0; i < 10; i++) assert.equal((await remove(server, 'kept', i)).status, 200, `delete ${i}`);
    assert.ok(!fs.existsSync(disk.ballast), 'the ballast is still there');
    assert.equal((await get(server, 'kept', 3)).json().Item, undefined);
    assert.deepEqual((await get(server, 'kept', 30)).json().Item, item(30));
    const dropped = await call(server.endpoint, 'DeleteTable', { TableName: 'dropped' });
    assert.equal(dropped.status, 200, dropped.text);
    // Nothing but the dropped table makes room, and no client writes meanwhile.
    await until(async () => (await ready(server)) === 200, `not ready again: ${disk.free() >> 20} MB free\n${server.output}`);
    assert.equal((await put(server, 'kept', 50)).status, 200);
    await server.kill();
    const again = await disk.start();
    assert.deepEqual((await get(again, 'kept', 50)).json().Item, item(50));
    assert.equal((await get(again, 'kept', 3)).json().Item, undefined);
    disk.clear();
    await until(() => fs.existsSync(disk.ballast), 'the ballast was not made again');
    assert.equal((await again.stop()).code, 0);
  });
});

test('deletes on a full disk are refused below 4 MB, or by name while RocksDB waits for room', { skip: unusable, timeout: 300000 }, async (context) => {
  await Disk.with(context, 220, async (disk) => {
    const server = await disk.start({ args: ['--memory-budget-mb', '64'] });
    for (const name of ['kept', 'dropped']) await createTable(server, name);
    await until(() => fs.existsSync(disk.ballast), 'no ballast was made');
    // One item in eight is the dropped table's, so that its keys stand in files beside the others'.
    const kept = [];
    await Promise.all(Array.from({ length: 8 }, async (_, i) => {
      for (let j = 0; ; j++) {
        const Item = { pk: { S: `${i}-${j}` }, v: { S: randomBytes(15000).toString('hex') } };
        const { status } = await call(server.endpoint, 'PutItem', { TableName: i === 0 ? 'dropped' : 'kept', Item });
        if (status !== 200) return;
        if (i > 0) kept.push({ pk: Item.pk });
      }
    }));
    disk.fill(0);
    const take = async () => call(server.endpoint, 'DeleteItem', { TableName: 'kept', Key: kept.pop() });
    await take();
    await call(server.endpoint, 'DeleteTable', { TableName: 'dropped' });
    let taken = 0;
    for (let i = 0; i < 100; i++) {
      const free = disk.free();
      const { status, text } = await take();
      if (status === 200) taken++;
      // RocksDB may write files at any moment, so the space before and after says that there was enough.
      else if (Math.min(free, disk.free()) > 6 * MB) assert.match(text, /takes no writes/, `delete ${i} with ${disk.free() >> 20} MB free: ${text}`);
      await delay(40);
    }
    context.diagnostic(`${taken} of 100 deletes`);
    assert.equal((await get(server, 'kept', 0)).status, 200);
    disk.clear();
    await until(async () => (await ready(server)) === 200, 'not ready again');
    assert.equal((await put(server, 'kept', 1)).status, 200);
  });
});

test('a server that starts on a full disk uses the ballast, or serves reads and says why it takes no writes', { skip: unusable }, async (context) => {
  await Disk.with(context, 160, async (disk) => {
    const first = await disk.start();
    await createTable(first, 'kept');
    for (let i = 0; i < 20; i++) assert.equal((await put(first, 'kept', i)).status, 200);
    await until(() => fs.existsSync(disk.ballast), 'no ballast was made');
    await first.kill();

    disk.fill(0);
    const opened = await disk.start({ readyPath: '/health/live' });
    assert.ok(!fs.existsSync(disk.ballast));
    assert.equal((await remove(opened, 'kept', 0)).status, 200);
    await opened.kill();

    disk.fill(0);
    const reading = await disk.start({ readyPath: '/health/live' });
    assert.equal(await ready(reading), 503);
    assert.deepEqual((await get(reading, 'kept', 7)).json().Item, item(7));
    const page = await call(reading.endpoint, 'Scan', { TableName: 'kept', Select: 'COUNT' });
    assert.equal(page.status, 200, page.text);
    for (const answer of [await put(reading, 'kept', 30), await remove(reading, 'kept', 1)]) {
      assert.equal(answer.status, 500, answer.text);
      assert.match(answer.json().message, /disk is full.*restart the server/i);
    }
    const ended = await reading.stop();
    assert.deepEqual([ended.code, ended.signal], [0, null], reading.output);

    // A new store needs room.
    await assert.rejects(Server.startOne({ dataDir: path.join(disk.path, 'new'), args }), (error) => {
      assert.match(error.message, /disk is full|No space left/i);
      assert.doesNotMatch(error.message, /Assertion/);
      return true;
    });
    disk.clear();
    const last = await disk.start();
    assert.equal((await get(last, 'kept', 0)).json().Item, undefined);
    assert.equal((await put(last, 'kept', 30)).status, 200);
    await last.stop();
  });
});
