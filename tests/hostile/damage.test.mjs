// Bad disks: a full one refuses writes and goes on reading; damaged files are named, and never read as absence.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { call, isStator, request, Server } from '../sdk/harness.mjs';

const ours = { skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server and its disk are not ours' : false };
const TableName = 'damage';
const item = (i, bytes) => ({ pk: { S: `item-${i}` }, data: { S: `${i}:`.padEnd(bytes, 'abcdefghijklmnopqrstuvwxyz0123456789') } });

async function createTable(server) {
  const created = await call(server.endpoint, 'CreateTable', {
    TableName, KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], BillingMode: 'PAY_PER_REQUEST',
  });
  assert.equal(created.status, 200, created.text);
}
const put = (server, i, bytes) => call(server.endpoint, 'PutItem', { TableName, Item: item(i, bytes) });
const get = (server, i) => call(server.endpoint, 'GetItem', { TableName, Key: { pk: { S: `item-${i}` } }, ConsistentRead: true });

// Waits for what /health/ready answers.
async function until(status, server) {
  for (const end = Date.now() + 60000; ; await delay(20)) {
    const ready = await request(server.endpoint, { method: 'GET', path: '/health/ready' });
    if (ready.status === status) return;
    assert.ok(Date.now() < end, `/health/ready answers ${ready.status} and not ${status}: ${ready.text}`);
  }
}

// Flips bytes in the middle of a file.
function damage(file) {
  const bytes = fs.readFileSync(file);
  for (let i = 0; i < 64; i++) bytes[Math.floor(bytes.length / 2) + i] ^= 0x5a;
  fs.writeFileSync(file, bytes);
}
const filesOf = (directory, ending) => fs.readdirSync(directory).filter((name) => name.endsWith(ending)).map((name) => path.join(directory, name));
const largest = (files) => files.sort((a, b) => fs.statSync(b).size - fs.statSync(a).size)[0];

test('a damaged log is refused at the start, by name', ours, async () => {
  const server = await Server.start();
  server.ownsDirectory = false;
  await createTable(server);
  for (let i = 0; i < 50; i++) assert.equal((await put(server, i, 1000)).status, 200);
  await server.kill();
  const log = largest(filesOf(server.dataDir, '.log'));
  damage(log);
  await assert.rejects(Server.start({ dataDir: server.dataDir }), (error) => {
    assert.match(error.message, /cannot_open_store/);
    assert.ok(error.message.includes(path.basename(log)), error.message);
    return true;
  });
  fs.rmSync(server.dataDir, { recursive: true, force: true });
});

test('a damaged data file is an error by name, never an absent item', ours, async () => {
  const args = ['--memory-budget-mb', '16'];
  let server = await Server.start({ args });
  server.ownsDirectory = false;
  await createTable(server);
  const count = 400;
  for (let i = 0; i < count; i++) assert.equal((await put(server, i, 100_000)).status, 200); // 40 MB: memtables are flushed
  await server.stop();
  const table = largest(filesOf(server.dataDir, '.sst'));
  assert.ok(table, 'nothing was flushed');
  damage(table);
  let named = 0;
  let refused = false;
  try {
    server = await Server.start({ args, dataDir: server.dataDir });
  } catch (error) {
    refused = true; // found at the start: as good, if it says so
    assert.ok(error.message.includes(path.basename(table)), error.message);
  }
  if (!refused) {
    for (let i = 0; i < count; i++) {
      const reply = await get(server, i);
      if (reply.status === 200) {
        assert.deepEqual(reply.json().Item, item(i, 100_000), `item ${i} reads as absent or different`);
      } else {
        assert.equal(reply.status, 500);
        assert.match(reply.json().__type, /InternalServerError$/);
        named++;
      }
    }
    assert.ok(named > 0, 'the damage was not noticed');
    await server.logged(new RegExp(path.basename(table)));
    await server.stop();
  }
  fs.rmSync(server.dataDir, { recursive: true, force: true });
});

const mountable = process.getuid() === 0;
test('a full disk refuses writes, reads go on, and writes come back with the space', { skip: ours.skip || (mountable ? false : 'only root can mount a small disk') }, async (context) => {
  const disk = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-disk-'));
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=112m', 'tmpfs', disk]).status !== 0) {
    fs.rmdirSync(disk);
    return context.skip('this machine lets nobody mount a tmpfs');
  }
  try {
    const ballast = path.join(disk, 'ballast');
    const server = await Server.start({ dataDir: path.join(disk, 'data'), args: ['--memory-budget-mb', '16'] });
    await createTable(server);
    assert.equal((await put(server, 0, 1000)).status, 200);
    fs.writeFileSync(ballast, Buffer.alloc(60 << 20)); // below the reserve of 64 MB now
    await until(503, server); // the server looks at the disk every 100 ms
    const refused = await put(server, 1, 1000);
    assert.equal(refused.status, 500, refused.text);
    assert.match(refused.json().__type, /InternalServerError$/);
    assert.match(refused.json().message, /disk is full/i);
    assert.deepEqual((await get(server, 0)).json().Item, item(0, 1000));
    assert.equal((await get(server, 1)).json().Item, undefined);
    fs.rmSync(ballast);
    await until(200, server);
    assert.equal((await put(server, 1, 1000)).status, 200);
    await server.kill();
    const again = await Server.start({ dataDir: path.join(disk, 'data'), args: ['--memory-budget-mb', '16'] });
    assert.deepEqual((await get(again, 1)).json().Item, item(1, 1000));
    await again.stop();
  } finally {
    spawnSync('umount', ['-l', disk]); // lazily: a server that a failed test left still has it open
    fs.rmdirSync(disk);
  }
});
