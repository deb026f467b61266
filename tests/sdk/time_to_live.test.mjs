// Time to live through the SDK, on a clock that the test moves.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { N, S, assertFails, assertSame, clientFor, operationsOf } from './clients.mjs';
import { Server, advanceClock, isStator, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const start = Date.parse('2026-11-21T12:00:00Z') / 1000;

describe('time to live', { skip: own ? false : 'needs a server of its own' }, () => {
  const TableName = 'sessions';
  let server;
  let client;
  let ddb;
  const open = async () => {
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
  };
  before(async () => {
    server = await Server.start({
      args: ['--clock=manual', `--clock-start=${start}`, '--delay-transient-statuses'],
    });
    await open();
  });
  after(async () => {
    client.destroy();
    await server.stop();
  });

  const advance = (by) => advanceClock(server, by);
  const metric = async (name) => {
    const found = [];  // each server counts what it did itself
    for (const endpoint of server.endpoints) {
      const { text } = await request(endpoint, { method: 'GET', path: '/metrics' });
      const line = text.split('\n').find((one) => one.startsWith(`${name}{table="${TableName}"}`));
      if (line !== undefined) found.push(Number(line.split(' ')[1]));
    }
    return found.length === 0 ? undefined : found.reduce((a, b) => a + b, 0);
  };
  const specify = (Enabled, AttributeName = 'expires') =>
    ddb.UpdateTimeToLive({ TableName, TimeToLiveSpecification: { AttributeName, Enabled } });
  const description = async () => (await ddb.DescribeTimeToLive({ TableName })).TimeToLiveDescription;
  const keys = async () => (await ddb.Scan({ TableName })).Items.map((item) => item.pk.S).sort();

  test('is enabled after a while, and expired items go', async () => {
    await ddb.CreateTable({
      TableName, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    });
    await assertFails(specify(true), 'ResourceInUseException', 'Table is being created: sessions');
    await advance(3);
    for (let i = 0; i < 200; ++i) {
      await ddb.PutItem({ TableName, Item: { pk: S(`hour-${i}`), expires: N(start + 3600 + i) } });
    }
    await ddb.PutItem({ TableName, Item: { pk: S('day'), expires: N(start + 86400) } });
    await ddb.PutItem({ TableName, Item: { pk: S('for ever') } });
    const { TimeToLiveSpecification } = await specify(true);
    assertSame(TimeToLiveSpecification, { AttributeName: 'expires', Enabled: true });
    assertSame(await description(), { TimeToLiveStatus: 'ENABLING', AttributeName: 'expires' });
    await advance(3);
    assertSame(await description(), { TimeToLiveStatus: 'ENABLED', AttributeName: 'expires' });
    assert.equal((await keys()).length, 202);
    await advance('2h');
    assert.deepEqual(await keys(), ['day', 'for ever']);
    assert.equal(await metric('stator_time_to_live_deleted_item_count_total'), 200);
    assert.equal(await metric('stator_time_to_live_backlog_seconds'), 0);
    assert.equal((await ddb.DescribeTable({ TableName })).Table.ItemCount, 2);
  });

  test('goes on after a restart', async () => {
    const { dataDir } = server;
    client.destroy();
    await server.kill();
    server = await Server.start({
      dataDir, args: ['--clock=manual', `--clock-start=${start + 7200}`, '--delay-transient-statuses'],
    });
    server.ownsDirectory = true;
    await open();
    assertSame(await description(), { TimeToLiveStatus: 'ENABLED', AttributeName: 'expires' });
    await ddb.PutItem({ TableName, Item: { pk: S('over'), expires: N(start) } });
    assert.deepEqual(await keys(), ['day', 'for ever', 'over'], 'expired, and not deleted yet');
    await advance(0);
    assert.deepEqual(await keys(), ['day', 'for ever']);
  });

  test('is changed once an hour', async () => {
    await assertFails(specify(true), 'ValidationException', /^TimeToLive is already enabled$/);
    await advance(3600);
    await specify(false);
    assert.equal((await description()).TimeToLiveStatus, 'DISABLING');
    await assertFails(specify(true), 'ValidationException',
      'Time to live has been modified multiple times within a fixed interval');
    await advance(3600);
    assertSame(await description(), { TimeToLiveStatus: 'DISABLED' });
    await advance('24h');
    assert.deepEqual(await keys(), ['day', 'for ever'], 'nobody looks any more');
    await specify(true);
    await advance(0);
    assert.deepEqual(await keys(), ['for ever'], 'found by the index that was filled anew');
  });

  test('sweeps by itself on the clock of the system', async () => {
    const system = await Server.start({ args: ['--ttl-interval=100ms'] });
    const its = clientFor(system.endpoint);
    try {
      const table = operationsOf(its);
      await table.CreateTable({
        TableName, BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      });
      await table.UpdateTimeToLive({ TableName, TimeToLiveSpecification: { AttributeName: 't', Enabled: true } });
      const now = Math.floor(Date.now() / 1000);
      await table.PutItem({ TableName, Item: { pk: S('a'), t: N(now - 1) } });
      await table.PutItem({ TableName, Item: { pk: S('b'), t: N(now + 3600) } });
      const end = Date.now() + 60000;
      for (;;) {
        const { Items } = await table.Scan({ TableName });
        if (Items.length === 1) {
          assert.equal(Items[0].pk.S, 'b');
          break;
        }
        assert.ok(Date.now() < end, 'the expired item is still there after 60 s');
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    } finally {
      its.destroy();
      await system.stop();
    }
  });
});
