// Snapshots of an account's state, in memory and with a data directory: what a return takes back, over the wire; the default account
// without --isolate; what a restart, kill -9 and the space of dropped tables make of them; and what is refused.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as sdk from '@aws-sdk/client-dynamodb';
import * as streamsSdk from '@aws-sdk/client-dynamodb-streams';

import { N, S, assertFails, operationsOf } from './clients.mjs';
import { Server, isStator, onCluster, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT && !onCluster;
const management = { 'X-Stator-Management': 'true' };
const clients = [];
const clientOf = (server, key, Client = sdk.DynamoDBClient) => {
  const client = new Client({ endpoint: server.endpoint, region: 'us-east-1', credentials: { accessKeyId: key, secretAccessKey: 'any' }, maxAttempts: 5 });
  clients.push(client);
  return client;
};
const manage = async (server, method, target) => {
  const reply = await request(server.endpoint, { method, path: `/_stator/${target}`, headers: management, body: '' });
  return { status: reply.status, ...reply.json() };
};
const kOrders = {
  TableName: 'orders', BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'customer', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  GlobalSecondaryIndexes: [{ IndexName: 'by-customer', KeySchema: [{ AttributeName: 'customer', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } }],
  StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
  Tags: [{ Key: 'team', Value: 'sales' }],
};
const byCustomer = (ddb, name) => ddb.Query({
  TableName: 'orders', IndexName: 'by-customer', KeyConditionExpression: 'customer = :c', ExpressionAttributeValues: { ':c': S(name) },
});
async function records(streams, arn) {
  const { StreamDescription } = await streams.DescribeStream({ StreamArn: arn });
  const images = [];
  for (const shard of StreamDescription.Shards) {
    const { ShardIterator } = await streams.GetShardIterator({ StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: 'TRIM_HORIZON' });
    const { Records } = await streams.GetRecords({ ShardIterator });
    images.push(...Records.map((record) => record.dynamodb.NewImage?.pk.S ?? `-${record.dynamodb.Keys.pk.S}`));
  }
  return images;
}

async function roundTrip(server, key, prefix) {
  const ddb = operationsOf(clientOf(server, key));
  const streams = operationsOf(clientOf(server, key, streamsSdk.DynamoDBStreamsClient), streamsSdk);
  await ddb.CreateTable(kOrders);
  for (const pk of ['1', '2', '3']) await ddb.PutItem({ TableName: 'orders', Item: { pk: S(pk), customer: S('ann') } });
  const { Table: before } = await ddb.DescribeTable({ TableName: 'orders' });
  assert.deepEqual(await manage(server, 'POST', `${prefix}snapshot`).then(({ status, name, tables }) => ({ status, name, tables })), { status: 200, name: 'default', tables: 1 });

  for (let round = 0; round < 3; ++round) {
    await ddb.PutItem({ TableName: 'orders', Item: { pk: S('4'), customer: S('bob') } });
    await ddb.DeleteItem({ TableName: 'orders', Key: { pk: S('1') } });
    if (round > 0) await ddb.TagResource({ ResourceArn: before.TableArn, Tags: [{ Key: 'late', Value: 'yes' }] });
    if (round > 1) {
      await ddb.DeleteTable({ TableName: 'orders' });
      await ddb.CreateTable({ ...kOrders, GlobalSecondaryIndexes: undefined, AttributeDefinitions: kOrders.AttributeDefinitions.slice(0, 1) });
      await ddb.CreateTable({ ...kOrders, TableName: 'extra' });
    }
    const restored = await manage(server, 'POST', `${prefix}restore`);
    assert.equal(restored.status, 200, JSON.stringify(restored));
    assert.deepEqual((await ddb.ListTables()).TableNames, ['orders']);
    assert.deepEqual((await ddb.DescribeTable({ TableName: 'orders' })).Table, before);
    assert.deepEqual((await ddb.ListTagsOfResource({ ResourceArn: before.TableArn })).Tags, kOrders.Tags);
    assert.equal((await byCustomer(ddb, 'ann')).Items.length, 3);
    assert.equal((await byCustomer(ddb, 'bob')).Items.length, 0);
    assert.deepEqual((await records(streams, before.LatestStreamArn)).sort(), ['1', '2', '3']);
  }
  // Later writes are there, in index and stream too.
  await ddb.PutItem({ TableName: 'orders', Item: { pk: S('5'), customer: S('bob'), n: N(1) } });
  assert.equal((await byCustomer(ddb, 'bob')).Items.length, 1);
  assert.deepEqual((await records(streams, before.LatestStreamArn)).sort(), ['1', '2', '3', '5']);
}

for (const [where, args] of [['in memory', ['--in-memory']], ['with a data directory', []]]) {
  describe(`snapshots ${where}`, { skip: own ? false : 'needs a server of its own' }, () => {
    after(() => { for (const client of clients.splice(0)) client.destroy(); });

    test('the default account returns, without --isolate', async () => {
      const server = await Server.startOne({ args });
      try {
        await roundTrip(server, 'any', '');
        assert.equal((await manage(server, 'POST', 'restore?name=none')).status, 404);
        assert.equal((await manage(server, 'POST', 'accounts/some-key/snapshot')).status, 400);
        assert.equal((await manage(server, 'POST', 'accounts/000000000000/restore')).status, 200);
        const { snapshots, most } = await manage(server, 'GET', 'snapshots');
        assert.deepEqual([snapshots.length, snapshots[0].given_up, most], [1, false, 16]);
        assert.equal((await manage(server, 'DELETE', 'snapshots')).status, 200);
        assert.equal((await manage(server, 'DELETE', 'snapshots')).status, 404);
        for (let i = 0; i < most; ++i) assert.equal((await manage(server, 'POST', `snapshot?name=s${i}`)).status, 200);
        assert.equal((await manage(server, 'POST', 'snapshot')).status, 409);
        assert.equal((await manage(server, 'POST', 'snapshot?name=')).status, 400);
      } finally {
        assert.equal((await server.stop()).code, 0, server.output);
      }
    });

    test('isolated accounts return without seeing one another', async () => {
      const server = await Server.startOne({ args: [...args, '--isolate=access-key'] });
      try {
        await Promise.all(['one', 'two', 'three:four'].map((key) => roundTrip(server, key, `accounts/${encodeURIComponent(key)}/`)));
        assert.equal((await manage(server, 'GET', 'accounts/one/snapshots')).of_all_accounts, 3);
        assert.equal((await manage(server, 'DELETE', 'accounts/one')).status, 200);
        assert.equal((await manage(server, 'POST', 'accounts/one/restore')).status, 404);
        assert.equal((await manage(server, 'GET', 'accounts/two/snapshots')).of_all_accounts, 2);
        // An account that no request has made yet is empty, and so is what it returns to.
        assert.equal((await manage(server, 'POST', 'accounts/new/snapshot')).tables, 0);
        const ddb = operationsOf(clientOf(server, 'new'));
        await ddb.CreateTable(kOrders);
        assert.equal((await manage(server, 'POST', 'accounts/new/restore')).status, 200);
        assert.deepEqual((await ddb.ListTables()).TableNames, []);
        await assertFails(ddb.GetItem({ TableName: 'orders', Key: { pk: S('1') } }), 'ResourceNotFoundException');
      } finally {
        assert.equal((await server.stop()).code, 0, server.output);
      }
    });
  });
}

describe('snapshots of a data directory', { skip: own ? false : 'needs a server of its own' }, () => {
  after(() => { for (const client of clients.splice(0)) client.destroy(); });
  const all = async (ddb, TableName = 'orders') => (await ddb.Scan({ TableName, ConsistentRead: true })).Items.map((item) => `${item.pk.S}=${item.customer.S}`).sort();
  const fill = async (ddb, count, customer, TableName = 'orders') => {
    for (let from = 0; from < count; from += 25) {
      const puts = Array.from({ length: Math.min(25, count - from) }, (_, i) => ({ PutRequest: { Item: { pk: S(`p${from + i}`), customer: S(customer) } } }));
      await ddb.BatchWriteItem({ RequestItems: { [TableName]: puts } });
    }
  };

  test('what returned is there after a restart, and snapshots are not', async () => {
    const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-snapshots-'));
    let server = await Server.startOne({ dataDir });
    try {
      let ddb = operationsOf(clientOf(server, 'any'));
      await ddb.CreateTable(kOrders);
      await fill(ddb, 50, 'ann');
      const then = await all(ddb);
      assert.equal((await manage(server, 'POST', 'snapshot')).status, 200);
      await fill(ddb, 100, 'bob');
      await ddb.DeleteTable({ TableName: 'orders' });
      await ddb.CreateTable({ ...kOrders, TableName: 'late' });
      assert.equal((await manage(server, 'POST', 'restore')).status, 200);
      assert.deepEqual(await all(ddb), then);
      // The space of what was dropped and is back is not given back, with the snapshot and without it.
      assert.equal((await manage(server, 'DELETE', 'snapshots')).status, 200);
      for (const end of ['kill', 'stop']) {
        await server[end]();
        server = await Server.startOne({ dataDir });
        ddb = operationsOf(clientOf(server, 'any'));
        assert.deepEqual((await ddb.ListTables()).TableNames, ['orders']);
        assert.deepEqual(await all(ddb), then);
        assert.equal((await byCustomer(ddb, 'ann')).Items.length, 50);
        assert.equal((await manage(server, 'POST', 'restore')).status, 404);
      }
      // Tablets of later tables have given their space back; none waits.
      const waits = async () => /^stator_dropped_waiting (\d+)/m.exec((await request(server.endpoint, { method: 'GET', path: '/metrics' })).text)?.[1];
      for (let left = 600; await waits() !== '0'; --left) {
        assert.ok(left > 0, 'tablets wait');
        await delay(100);
      }
      assert.deepEqual(await all(ddb), then);
    } finally {
      await server.stop();
      fs.rmSync(dataDir, { recursive: true, force: true });
    }
  });

  test('kill -9 during returns leaves all of one or nothing', async () => {
    const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-snapshots-'));
    let server = await Server.startOne({ dataDir });
    try {
      let ddb = operationsOf(clientOf(server, 'any'));
      await ddb.CreateTable(kOrders);
      await fill(ddb, 200, 'then');
      for (let round = 0; round < 4; ++round) {
        assert.equal((await manage(server, 'POST', 'snapshot')).status, 200);
        await fill(ddb, 300, `now${round}`);
        const now = await all(ddb);
        const returned = manage(server, 'POST', 'restore').then(({ status }) => status === 200, () => false);
        await delay(3 * round);
        await server.kill();
        const acknowledged = await returned;
        server = await Server.startOne({ dataDir });
        ddb = operationsOf(clientOf(server, 'any'));
        const found = await all(ddb);
        const back = found.length === 200 && found.every((item) => item.endsWith('=then'));
        assert.ok(back || (!acknowledged && JSON.stringify(found) === JSON.stringify(now)), `round ${round}: ${found.length} items`);
        assert.equal((await byCustomer(ddb, back ? 'then' : `now${round}`)).Items.length, found.length);
        if (!back) {
          await ddb.DeleteTable({ TableName: 'orders' });
          await ddb.CreateTable(kOrders);
          await fill(ddb, 200, 'then');
        }
      }
    } finally {
      await server.stop();
      fs.rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
