// Stores that releases wrote, opened by the binary under test: everything that a client saw is there, and the store takes
// writes, splits, expiry and restarts. With STATOR_CLUSTER_DIR, the directory of a running cluster, the stores in a Ceph pool;
// without, those on RocksDB.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import zlib from 'node:zlib';

import { advanceClock, call, Server } from '../sdk/harness.mjs';
import { assertShows, kClock, kToken, storeName, transactionOf, view } from './contents.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const clusterDirectory = process.env.STATOR_CLUSTER_DIR;
const engine = clusterDirectory ? 'rados' : 'rocksdb';
const releases = fs.readdirSync(here, { withFileTypes: true }).filter((entry) => entry.isDirectory() && fs.existsSync(path.join(here, entry.name, `${engine}.json`)));

// Puts the release's store where `start` opens it. Returns {start, remove}.
const unpackers = {
  rocksdb(release) {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-upgrade-'));
    execFileSync('tar', ['-C', directory, '-xzf', path.join(here, release, 'rocksdb.tgz')]);
    return {
      start: () => Server.startOne({ args: kClock, dataDir: path.join(directory, 'store') }),
      remove: () => fs.rmSync(directory, { recursive: true }),
    };
  },
  rados(release) {
    const dump = path.join(os.tmpdir(), `stator-upgrade-${process.pid}.dump`);
    fs.writeFileSync(dump, zlib.gunzipSync(fs.readFileSync(path.join(here, release, 'rados.gz'))));
    execFileSync(path.join(here, '../cluster/cluster'), ['--dir', clusterDirectory, 'rados', '-p', 'stator', 'import', '--no-overwrite', dump]);
    fs.rmSync(dump);
    const store = ['--engine=rados', `--ceph-conf=${clusterDirectory}/ceph.conf`, '--ceph-user=stator', '--pool=stator', `--ceph-namespace=${storeName(release)}`];
    return {
      start: () => Server.startOne({ args: [...store, ...kClock], dataDir: null }),
      remove: () => {},
    };
  },
};

async function ok(server, operation, body) {
  const reply = await call(server.endpoint, operation, body);
  assert.equal(reply.status, 200, `${operation}: ${reply.text}`);
  return reply.json();
}

assert.ok(releases.length > 0, 'there is a store to open');
for (const { name: release } of releases) {
  test(`the ${engine} store of ${release}`, async () => {
    const expected = JSON.parse(fs.readFileSync(path.join(here, release, `${engine}.json`), 'utf8'));
    const store = unpackers[engine](release);
    let server = await store.start();
    try {
      const first = await view(server);
      assert.deepEqual(Object.keys(first.tables), Object.keys(expected.tables));
      assertShows(first, expected, 'view');

      // A repeated token is still known: the counter does not move.
      await ok(server, 'TransactWriteItems', transactionOf());
      assert.deepEqual((await ok(server, 'GetItem', { TableName: 'plain', Key: { pk: { S: 'counter' } }, ConsistentRead: true })).Item.c, { N: '1' });
      await ok(server, 'TransactWriteItems', { ...transactionOf(), ClientRequestToken: `${kToken}-new` });
      assert.deepEqual((await ok(server, 'GetItem', { TableName: 'plain', Key: { pk: { S: 'counter' } }, ConsistentRead: true })).Item.c, { N: '2' });

      // Items of the release are changed and removed, and the indexes follow.
      const key = { pk: { S: 'c3' }, sk: { N: '59' } };
      await ok(server, 'UpdateItem', { TableName: 'indexed', Key: key, UpdateExpression: 'SET g = :g, l = :l', ExpressionAttributeValues: { ':g': { S: 'moved' }, ':l': { N: '7' } } });
      await ok(server, 'DeleteItem', { TableName: 'indexed', Key: { pk: { S: 'c0' }, sk: { N: '40' } } });
      const moved = await ok(server, 'Query', { TableName: 'indexed', IndexName: 'by-g', KeyConditionExpression: 'g = :g', ExpressionAttributeValues: { ':g': { S: 'moved' } } });
      assert.deepEqual(moved.Items.map((item) => item.sk.N), ['59']);
      const local = await ok(server, 'Query', { TableName: 'indexed', IndexName: 'by-l', KeyConditionExpression: 'pk = :p AND l = :l', ExpressionAttributeValues: { ':p': { S: 'c3' }, ':l': { N: '7' } } });
      assert.equal(local.Count, 1);

      // The stream goes on behind the release's records.
      await ok(server, 'PutItem', { TableName: 'streamed', Item: { pk: { S: 's1' }, after: { BOOL: true } } });
      // Time to live counts on.
      await advanceClock(server, '250m');
      await ok(server, 'UpdateTable', { TableName: 'plain', DeletionProtectionEnabled: false });
      await ok(server, 'DeleteTable', { TableName: 'plain' });

      const before = await view(server);
      assert.equal(before.tables.plain, undefined);
      const end = Date.now() + 60000;
      let expiring = before.tables.expiring.items;
      while (expiring.length > 6 && Date.now() < end) {
        await delay(50);
        expiring = (await view(server)).tables.expiring.items;
      }
      assert.equal(expiring.length, 6, 'four of ten items have expired after 250 minutes');
      const records = (seen) => seen.tables.streamed.shards.flatMap((shard) => shard.records);
      assert.equal(records(before).length, records(expected).length + 1);

      await server.kill();
      server = await store.start();
      const after = await view(server);
      assert.deepEqual(Object.keys(after.tables), Object.keys(before.tables));
      for (const table of ['numbers', 'indexed', 'streamed']) {
        assert.deepEqual(after.tables[table].items, before.tables[table].items);
        assert.deepEqual(after.tables[table].indexes, before.tables[table].indexes);
      }
    } finally {
      await server.stop();
      store.remove();
    }
  });
}

// Versions without features know FORMAT's first line alone: 2 is theirs, 3 is refused.
test('a store that needs no feature keeps its format, and one that needs an unknown feature is refused by name', { skip: engine !== 'rocksdb' && 'the pool has no FORMAT file' }, async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-upgrade-'));
  try {
    execFileSync('tar', ['-C', directory, '-xzf', path.join(here, releases[0].name, 'rocksdb.tgz')]);
    const dataDir = path.join(directory, 'store');
    const format = path.join(dataDir, 'FORMAT');
    assert.equal(fs.readFileSync(format, 'utf8'), 'stator-store 2\n');
    await (await Server.startOne({ args: kClock, dataDir })).stop();
    assert.equal(fs.readFileSync(format, 'utf8'), 'stator-store 2\n');
    const files = () => fs.readdirSync(dataDir).sort().map((name) => `${name} ${fs.statSync(path.join(dataDir, name)).size}`);
    for (const [text, message] of [
      ['stator-store 3\nfeatures time-travel\n', `The store in ${dataDir} needs the feature time-travel, which this version of Stator does not know`],
      ['stator-store 3\nfeatures time-tr', 'FORMAT is damaged'],
    ]) {
      fs.writeFileSync(format, text);
      const before = files();
      await assert.rejects(Server.startOne({ args: kClock, dataDir }), (error) => {
        assert.ok(error.message.includes(message), error.message);
        return true;
      });
      assert.deepEqual(files(), before, 'the refused store was changed');
    }
    fs.writeFileSync(format, 'stator-store 2\n');
    const server = await Server.startOne({ args: kClock, dataDir });
    assert.ok(Object.keys((await view(server)).tables).length > 0);
    await server.stop();
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
});
