// Reads without ConsistentRead that a server answers from its memory (--eventual-staleness): few of them reach Ceph, none is from before what
// the server has acknowledged, and what another server writes is seen. STATOR_CLUSTER_DIR is the cluster's directory.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { Server } from '../sdk/harness.mjs';

const {
  CreateTableCommand, DeleteItemCommand, DynamoDBClient, GetItemCommand, PutItemCommand, TransactWriteItemsCommand, waitUntilTableExists,
} = createRequire(new URL('../sdk/package.json', import.meta.url))('@aws-sdk/client-dynamodb');

const conf = path.join(process.env.STATOR_CLUSTER_DIR, 'ceph.conf');
const pool = [`--ceph-conf=${conf}`, '--ceph-user=stator', '--pool=stator', `--ceph-namespace=recent-${process.pid}`];
const start = (...args) => Server.startOne({ args: ['--engine=rados', ...pool, ...args], dataDir: null, readyWithin: 60000 });
const clientOf = (server) => new DynamoDBClient({ endpoint: server.endpoint, region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
const TableName = 'recent';
const item = (pk, n) => ({ pk: { S: pk }, n: { N: String(n) } });

async function gauge(server, name) {
  const text = await (await fetch(`${server.endpoint}/metrics`)).text();
  const found = text.match(new RegExp(`^stator_\\S*${name}\\S* (\\S+)$`, 'm'));
  assert.ok(found, `no ${name} in /metrics`);
  return Number(found[1]);
}

describe('reads from memory', () => {
  let slow, other, never;
  const clients = {};
  // The value of a key, null if it is absent.
  const read = async (client, pk, ConsistentRead = false) => {
    const { Item } = await client.send(new GetItemCommand({ TableName, Key: { pk: { S: pk } }, ConsistentRead }));
    return Item ? Number(Item.n.N) : null;
  };
  before(async () => {
    // Ten seconds, so that a busy machine does not turn hits into misses.
    slow = await start('--eventual-staleness=10s');
    other = await start();
    never = await start('--eventual-staleness=0s');
    Object.assign(clients, { slow: clientOf(slow), other: clientOf(other), never: clientOf(never) });
    await clients.other.send(new CreateTableCommand({
      TableName, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    }));
    for (const client of Object.values(clients)) await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 0.1, maxDelay: 0.5 }, { TableName });
  });
  after(async () => {
    for (const client of Object.values(clients)) client.destroy();
    for (const server of [slow, other, never]) await server?.stop();
  });

  test('of 200 reads of an item few reach Ceph, and with 0s all do', async () => {
    await clients.other.send(new PutItemCommand({ TableName, Item: item('hot', 1) }));
    for (const [server, client, most, least] of [[slow, clients.slow, 30, 0], [never, clients.never, Infinity, 200]]) {
      const before = await gauge(server, 'kv_rados_point_reads');
      for (let i = 0; i < 200; ++i) assert.equal(await read(client, 'hot'), 1);
      const reads = await gauge(server, 'kv_rados_point_reads') - before;
      assert.ok(reads >= least && reads <= most, `${reads} reads of Ceph`);
    }
    assert.ok(await gauge(slow, 'kv_rados_recent_reads') >= 170);
    assert.equal(await gauge(never, 'kv_rados_recent_reads'), 0);
  });

  test('a read is not older than a write, or a read, of the same server', async () => {
    for (let n = 1; n <= 50; ++n) {
      await clients.slow.send(new PutItemCommand({ TableName, Item: item('own', n) }));
      assert.equal(await read(clients.slow, 'own'), n);
      if (n % 10 === 0) {
        await clients.slow.send(new DeleteItemCommand({ TableName, Key: { pk: { S: 'own' } } }));
        assert.equal(await read(clients.slow, 'own'), null);
      }
      const Put = { TableName, Item: item('own', n + 0.5) };
      const Other = { TableName, Item: item(`partner-${n}`, n) };
      await clients.slow.send(new TransactWriteItemsCommand({ TransactItems: [{ Put }, { Put: Other }] }));
      assert.equal(await read(clients.slow, 'own'), n + 0.5);
      // A strong read shows what another server wrote, and no later read goes behind it.
      await clients.other.send(new PutItemCommand({ TableName, Item: item('own', -n) }));
      assert.equal(await read(clients.slow, 'own', true), -n);
      assert.equal(await read(clients.slow, 'own'), -n);
    }
  });

  test('what another server writes is seen within the time', async () => {
    assert.equal(await read(clients.slow, 'seen'), null);
    await clients.other.send(new PutItemCommand({ TableName, Item: item('seen', 7) }));
    const written = performance.now();
    while (await read(clients.slow, 'seen') !== 7) assert.ok(performance.now() - written < 30_000, 'not seen in 30 s');
  });
});
