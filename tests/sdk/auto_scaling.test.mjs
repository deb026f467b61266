// The control plane in time, on a manual clock: capacity that UpdateTable and auto scaling change.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { N, S, assertFails, clientFor, operationsOf } from './clients.mjs';
import { Server, isStator, oneServerOnly, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;

describe('capacity on a manual clock', { skip: own ? false : 'needs a server of its own' }, () => {
  let server;
  let client;
  let ddb;
  before(async () => {
    server = await Server.start({ args: ['--clock=manual', '--clock-start=2026-11-21T00:00:00Z', '--delay-transient-statuses'] });
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
  });
  after(async () => {
    client.destroy();
    await server.stop();
  });

  const manage = async (method, path, body) => {
    const reply = await request(server.endpoint, {
      method, path: `/_stator${path}`, headers: { 'X-Stator-Management': 'true' }, body: body === undefined ? '' : JSON.stringify(body),
    });
    return { status: reply.status, ...reply.json() };
  };
  const advance = async (by) => (await manage('POST', '/clock', { advance: by })).now;
  const create = async (TableName, units) => {
    await ddb.CreateTable({
      TableName, ProvisionedThroughput: { ReadCapacityUnits: units, WriteCapacityUnits: units },
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    });
    await advance('1m');
  };
  // Moves to the start of a minute, so that a decision at that time is visible at once.
  const align = async () => advance(60 - (Date.parse(await advance(0)) / 1000) % 60);
  const describeTable = async (TableName) => (await ddb.DescribeTable({ TableName })).Table;
  const write = (TableName, count) => Promise.all(Array.from({ length: count }, (_, i) => ddb.PutItem({ TableName, Item: { pk: S(`k${i}`), n: N(i) } })));

  test('a table is UPDATING while its capacity changes, and takes no other change', async () => {
    const TableName = 'changing';
    await create(TableName, 5);
    const change = (units) => ddb.UpdateTable({ TableName, ProvisionedThroughput: { ReadCapacityUnits: units, WriteCapacityUnits: units } });
    assert.equal((await change(6)).TableDescription.TableStatus, 'UPDATING');
    assert.equal((await describeTable(TableName)).TableStatus, 'UPDATING');
    await assertFails(change(7), 'ResourceInUseException', `Attempt to change a resource which is still in use: Table is being updated: ${TableName}`);
    await advance(3);
    assert.equal((await describeTable(TableName)).TableStatus, 'ACTIVE');
    for (let units = 5; units > 1; units--) {
      await change(units);
      await advance(3);
    }
    await assertFails(change(1), 'LimitExceededException', 'Number of decreases today: 4.');
    const { ProvisionedThroughput: now } = await describeTable(TableName);
    assert.equal(now.NumberOfDecreasesToday, 4);
    assert.equal(now.LastIncreaseDateTime.toISOString(), '2026-11-21T00:01:00.000Z');
    await advance('24h');
    assert.equal((await describeTable(TableName)).ProvisionedThroughput.NumberOfDecreasesToday, 0);
    await change(1);
  });

  test('auto scaling follows the load, minute by minute', oneServerOnly('capacity'), async () => {
    const TableName = 'scaled';
    await align();
    await create(TableName, 2);
    const path = `/tables/${TableName}/auto-scaling`;
    const rule = { min: 2, max: 40, target: 0.5 };
    const set = await manage('PUT', path, { write: rule });
    assert.equal(set.status, 200);
    assert.deepEqual(set.write, { ...rule, raise_cooldown: 0, lower_cooldown: 0, lower_margin: 0.2, lower_when_idle: false, from: 'table' });
    assert.deepEqual(set.activities, []);

    // Two minutes of 4 units a second: twice what there is.
    for (let minute = 0; minute < 2; minute++) {
      assert.equal((await describeTable(TableName)).ProvisionedThroughput.WriteCapacityUnits, 2);
      await write(TableName, 240);
      await advance('1m');
    }
    const grown = await describeTable(TableName);
    assert.equal(grown.ProvisionedThroughput.WriteCapacityUnits, 8);
    assert.equal(grown.ProvisionedThroughput.ReadCapacityUnits, 2);
    assert.equal(grown.TableStatus, 'UPDATING');
    assert.ok(grown.ProvisionedThroughput.LastIncreaseDateTime instanceof Date);

    // A quiet quarter of an hour.
    for (let minute = 0; minute < 15; minute++) {
      assert.equal((await describeTable(TableName)).ProvisionedThroughput.WriteCapacityUnits, 8, `after ${minute} minutes`);
      await write(TableName, 60);
      await advance('1m');
    }
    const shrunk = await describeTable(TableName);
    assert.equal(shrunk.ProvisionedThroughput.WriteCapacityUnits, 2);
    assert.equal(shrunk.ProvisionedThroughput.NumberOfDecreasesToday, 1);
    assert.equal(shrunk.WarmThroughput.WriteUnitsPerSecond, 8);
    const { activities } = await manage('GET', path);
    assert.deepEqual(activities.map(({ access, from, to }) => [access, from, to]), [['write', 2, 8], ['write', 8, 2]]);
    assert.equal(Date.parse(activities[1].at) - Date.parse(activities[0].at), 15 * 60 * 1000);
  });

  test('rules are checked, stay through a move of hours, and can be taken away', async () => {
    const TableName = 'ruled';
    await align();
    await create(TableName, 20);
    const path = `/tables/${TableName}/auto-scaling`;
    for (const [body, message] of [
      [{ read: { min: 5, max: 4 } }, /min must be at least 1 and at most max/],
      [{ read: { target: 0.95 } }, /target must be between 0.2 and 0.9/],
      [{ read: { min: 1.5 } }, /min must be a whole number of units, not 1.5/],
      [{ read: { speed: 1 } }, /speed is none of min, max, target/],
      [{ reads: {} }, /expected read, write and indexes/],
      [{ indexes: { none: { read: {} } } }, /no global secondary index none/],
    ]) {
      const refused = await manage('PUT', path, body);
      assert.equal(refused.status, 400, JSON.stringify(body));
      assert.match(refused.message, message);
    }
    assert.equal((await manage('GET', '/tables/nosuchtable/auto-scaling')).status, 404);
    assert.equal((await manage('PUT', '/tables/nosuchtable/auto-scaling', { read: {} })).status, 404);

    await manage('PUT', path, { read: { min: 5, lower_when_idle: true } });
    const before = Date.parse(await advance(0));
    await advance('6h');
    const { ProvisionedThroughput: lowered } = await describeTable(TableName);
    assert.equal(lowered.ReadCapacityUnits, 5);
    assert.equal(lowered.LastDecreaseDateTime.getTime() - before, 15 * 60 * 1000, 'in the minute in which it was due');
    const removed = await manage('DELETE', path);
    assert.equal(removed.status, 200);
    assert.equal(removed.read, undefined);
    assert.deepEqual(removed.indexes, {});
  });
});
