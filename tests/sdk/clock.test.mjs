// A server with --clock=manual: time is the test's.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { clientFor, operationsOf } from './clients.mjs';
import { Server, isStator, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;

describe('a manual clock', { skip: own ? false : 'needs a server of its own' }, () => {
  let server;
  let client;
  let ddb;
  before(async () => {
    server = await Server.start({ args: ['--clock=manual', '--clock-start=2026-11-21T12:00:00Z', '--delay-transient-statuses'] });
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
  });
  after(async () => {
    client.destroy();
    await server.stop();
  });

  const clock = async (body, headers = { 'X-Stator-Management': 'true' }) => {
    const reply = await request(server.endpoint, {
      method: body === undefined ? 'GET' : 'POST', path: '/_stator/clock', headers, body: body === undefined ? '' : JSON.stringify(body),
    });
    return { status: reply.status, ...reply.json() };
  };
  const TableName = 'dated';
  const create = () => ddb.CreateTable({
    TableName, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  });
  const status = async () => (await ddb.DescribeTable({ TableName })).Table.TableStatus;

  test('starts where it is told and moves forward only', async () => {
    assert.deepEqual(await clock(), { status: 200, clock: 'manual', now: '2026-11-21T12:00:00.000Z', epochSeconds: 1795262400 });
    assert.equal((await clock({ advance: '24h' })).now, '2026-11-22T12:00:00.000Z');
    assert.equal((await clock({ advance: 1.5 })).now, '2026-11-22T12:00:01.500Z');
    assert.equal((await clock({ set: '2026-11-22T12:30:00Z' })).now, '2026-11-22T12:30:00.000Z');
    const back = await clock({ set: '2026-11-21T12:00:00Z' });
    assert.equal(back.status, 400);
    assert.match(back.message, /forward only: it is 2026-11-22T12:30:00.000Z/);
    assert.equal((await clock({ advance: 1 }, {})).status, 403);
  });

  test('dates tables and ends their transient statuses', async () => {
    const created = (await create()).TableDescription;
    assert.equal(created.CreationDateTime.toISOString(), '2026-11-22T12:30:00.000Z');
    assert.equal(await status(), 'CREATING');
    await clock({ advance: 2.999 });
    assert.equal(await status(), 'CREATING');
    await clock({ advance: 0.001 });
    assert.equal(await status(), 'ACTIVE');
    await ddb.DeleteTable({ TableName });
    assert.equal(await status(), 'DELETING');
    await clock({ advance: 3 });
    await assert.rejects(status(), { name: 'ResourceNotFoundException' });
  });

  test('a table that changes is in use', async () => {
    const fails = (call, message) => assert.rejects(call, { name: 'ResourceInUseException', message });
    const protect = () => ddb.UpdateTable({ TableName, DeletionProtectionEnabled: false });
    await create();
    await fails(protect(), `Attempt to change a resource which is still in use: Table is being created: ${TableName}`);
    await fails(ddb.DeleteTable({ TableName }), `Attempt to change a resource which is still in use: Table is being created: ${TableName}`);
    await clock({ advance: 3 });
    await protect();
    assert.equal(await status(), 'UPDATING');
    await fails(protect(), `Attempt to change a resource which is still in use: Table is being updated: ${TableName}`);
    await clock({ advance: 3 });
    await ddb.DeleteTable({ TableName });
    await fails(protect(), `Attempt to change a resource which is still in use: Table is being deleted: ${TableName}`);
    await ddb.DeleteTable({ TableName });
    await clock({ advance: 3 });
  });

  test('leaves replies their real date', async () => {
    const reply = await request(server.endpoint, { method: 'GET', path: '/health/live' });
    assert.ok(Math.abs(Date.parse(reply.headers.date) - Date.now()) < 60_000, reply.headers.date);
  });

  test('the system clock is not moved', async () => {
    const system = await Server.start();
    try {
      const reply = await request(system.endpoint, {
        path: '/_stator/clock', headers: { 'X-Stator-Management': 'true' }, body: '{"advance": 1}',
      });
      assert.equal(reply.status, 409);
      assert.match(reply.json().message, /--clock=manual/);
    } finally {
      await system.stop();
    }
  });
});
