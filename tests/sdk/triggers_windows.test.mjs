// Tumbling windows of triggers: a function aggregates, and its state goes from call to call, over kill -9 too. Windows are by the
// dates of the records, so the clock is the test's.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';

import { N, S, clientFor, operationsOf } from './clients.mjs';
import { FunctionHost, mappingsOf, streamedTable, triggersOf, until } from './functions.mjs';
import { Server, isStator, onCluster, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT && !onCluster;
const kManagement = { 'X-Stator-Management': 'true' };

describe('tumbling windows', { skip: own ? false : 'needs a server of its own' }, () => {
  let host, server, client, ddb, mappings, folder, args, now = Date.parse('2026-11-21T12:00:00Z') / 1000, count = 0;

  const start = async (port) => {
    server = await Server.start({ args: [...args, `--clock-start=${now}`], dataDir: path.join(folder, 'data'), port });
  };
  before(async () => {
    host = await FunctionHost.start();
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-windows-'));
    fs.writeFileSync(path.join(folder, 'stator.toml'), `
      [[functions]]
      name = "web"
      url = "${host.endpoint}/hook"
      [[functions]]
      name = "archive"
      directory = "archive"
      [[triggers]]
      table = "Declared"
      function = "sum"
      tumbling-window = 60
    `);
    args = [`--config=${folder}/stator.toml`, `--lambda-endpoint=${host.endpoint}`, '--clock=manual'];
    await start();
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
    mappings = mappingsOf(server.endpoint);
  });
  after(async () => {
    client.destroy();
    await server.stop();
    await host.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  let table, arn;
  const newTable = async (name) => {
    ({ table, arn } = await streamedTable(ddb, name, 'NEW_IMAGE'));
  };
  beforeEach(async () => {
    await newTable(`tab${count += 1}`);
    // Each test begins with a window.
    await advance(600 - now % 600);
  });
  const put = (n, more = {}) => ddb.PutItem({ TableName: table, Item: { pk: S(`k${n}`), n: N(n), ...more } });
  const advance = async (seconds) => {
    const reply = await request(server.endpoint, { path: '/_stator/clock', headers: kManagement, body: JSON.stringify({ advance: seconds }) });
    assert.equal(reply.status, 200, reply.text);
    now += seconds;
  };
  const create = async (FunctionName, more = {}) => {
    const made = await mappings.create({ FunctionName, EventSourceArn: arn, StartingPosition: 'TRIM_HORIZON', TumblingWindowInSeconds: 60, ...more });
    assert.equal(made.status, 202, JSON.stringify(made.body));
    return made.body.UUID;
  };
  const mappingOf = async (uuid) => (await triggersOf(server.endpoint)).mappings.find((one) => one.uuid === uuid);
  // A function that adds up n; `calls` gets its events.
  const sumInto = (calls) => (event) => {
    calls.push(event);
    const sum = event.Records.reduce((all, one) => all + Number(one.dynamodb.NewImage.n.N), event.state.sum ?? 0);
    return { state: { sum } };
  };
  const text = (seconds) => new Date(1000 * seconds).toISOString().replace('.000Z', 'Z');

  test('the state goes from call to call, and the final call has it without records', async () => {
    const calls = [];
    host.functions.sum = sumInto(calls);
    const began = now;
    for (let n = 1; n <= 5; n += 1) await put(n); // before the mapping, so that its batches are as large as they may be
    const uuid = await create('sum', { BatchSize: 2 });
    assert.equal((await mappings.get(uuid)).body.TumblingWindowInSeconds, 60);
    await until(() => calls.length === 3);
    const { shards } = await until(async () => {
      const found = await mappingOf(uuid);
      return found.shards.some((one) => one.window?.state_bytes > 2) && found;
    });
    assert.deepEqual(shards.filter((one) => one.window).map((one) => one.window),
      [{ start: `${text(began).slice(0, -1)}.000Z`, end: `${text(began + 60).slice(0, -1)}.000Z`, state_bytes: '{"sum":15}'.length }]);
    await advance(62);
    await until(() => calls.length === 4);
    assert.deepEqual(calls.map((one) => one.Records.length), [2, 2, 1, 0]);
    assert.deepEqual(calls.map((one) => one.state), [{}, { sum: 3 }, { sum: 10 }, { sum: 15 }]);
    assert.deepEqual(calls.map((one) => one.isFinalInvokeForWindow), [false, false, false, true]);
    const { Records, shardId, ...rest } = calls[3];
    assert.deepEqual(Records, []);
    assert.match(shardId, /^shardId-/);
    assert.deepEqual(rest, {
      window: { start: text(began), end: text(began + 60) }, state: { sum: 15 }, eventSourceARN: arn,
      isFinalInvokeForWindow: true, isWindowTerminatedEarly: false,
    });
    // The next window begins with nothing. Its change is what says that the one before is over.
    await put(7);
    await until(() => calls.length === 5);
    assert.deepEqual([calls[4].state, calls[4].window.start], [{}, text(began + 60)]);
    await advance(60);
    await put(8);
    await until(() => calls.length === 7);
    assert.deepEqual(calls.slice(5).map((one) => [one.isFinalInvokeForWindow, one.state, one.Records.length]), [[true, { sum: 7 }, 0], [false, {}, 1]]);
    await mappings.remove(uuid);
  });

  test('the state survives kill -9, and so does a window that ends meanwhile', async () => {
    const calls = [];
    host.functions.kept = sumInto(calls);
    const uuid = await create('kept');
    for (let n = 1; n <= 4; n += 1) await put(n);
    const told = () => calls.at(-1);
    const total = () => told() !== undefined && told().Records.reduce((all, one) => all + Number(one.dynamodb.NewImage.n.N), told().state.sum ?? 0);
    await until(() => total() === 10);
    await server.kill();
    await start(server.port);
    await put(5);
    // A checkpoint may be a tenth of a second behind: then records come again, with the state from before them.
    await until(() => total() === 15);
    assert.equal(told().isFinalInvokeForWindow, false);
    await until(async () => (await mappingOf(uuid)).shards.some((one) => one.window?.state_bytes > 2));
    await server.kill();
    now += 62;
    await start(server.port);
    await until(() => told().isFinalInvokeForWindow);
    assert.deepEqual(told().state, { sum: 15 });
    assert.deepEqual(told().Records, []);
    await mappings.remove(uuid);
  });

  test('what failed is tried again with the same state; parts that are done are in it', async () => {
    const calls = [];
    let failures = 2;
    host.functions.partial = (event) => {
      const records = event.Records.map((one) => one.dynamodb);
      calls.push(event);
      if (records.length === 0) {
        if (failures > 0) { failures -= 1; throw new Error('the final call'); }
        return {};
      }
      const sum = (count) => ({ sum: records.slice(0, count).reduce((all, one) => all + Number(one.NewImage.n.N), event.state.sum ?? 0) });
      if (calls.length === 1) throw new Error('the first time');
      if (calls.length === 2) return { state: sum(3), batchItemFailures: [{ itemIdentifier: records[3].SequenceNumber }] };
      return { state: sum(records.length), batchItemFailures: [] };
    };
    for (let n = 1; n <= 5; n += 1) await put(n);
    const uuid = await create('partial', { FunctionResponseTypes: ['ReportBatchItemFailures'] });
    // Retries are by the clock.
    const move = async (check) => until(async () => { if (check()) return true; await advance(0.5); return false; });
    await move(() => calls.length >= 3);
    assert.deepEqual(calls.map((one) => [one.Records.length, one.state]), [[5, {}], [5, {}], [2, { sum: 6 }]]);
    await move(() => calls.length >= 6);
    assert.deepEqual(calls.slice(3).map((one) => [one.isFinalInvokeForWindow, one.state]), Array(3).fill([true, { sum: 15 }]));
    await mappings.remove(uuid);
  });

  test('a state beyond 1 MB ends the window early, and no record is lost', async () => {
    const calls = [];
    host.functions.large = (event) => {
      calls.push(event);
      const keys = [...(event.state.keys ?? []), ...event.Records.map((one) => one.dynamodb.Keys.pk.S)];
      return { state: { keys, text: 'x'.repeat(600_000 * keys.length) } };
    };
    const uuid = await create('large', { BatchSize: 1 });
    for (let n = 1; n <= 2; n += 1) await put(n);
    await until(() => calls.length >= 4);
    const told = calls.map((one) => [one.Records.map((record) => record.dynamodb.Keys.pk.S), one.state.keys, one.isFinalInvokeForWindow, one.isWindowTerminatedEarly]);
    assert.deepEqual(told.slice(0, 4), [
      [['k1'], undefined, false, false], [['k2'], ['k1'], false, false], [[], ['k1'], true, true], [['k2'], undefined, false, false],
    ]);
    assert.deepEqual(calls[3].window, calls[0].window);
    await mappings.remove(uuid);

    // Alone, such an answer is a failure.
    host.functions.huge = () => ({ state: { text: 'x'.repeat(2 << 20) } });
    const huge = await create('huge');
    await until(async () => (await mappingOf(huge)).last_result.includes('the most is 1048576'));
    await mappings.remove(huge);
  });

  test('a window whose final call is given up is counted', async () => {
    const finals = [];
    host.functions.stubborn = (event) => {
      if (!event.isFinalInvokeForWindow) return { state: { seen: true } };
      finals.push(event);
      throw new Error('no');
    };
    const uuid = await create('stubborn', { MaximumRetryAttempts: 0 });
    await put(1);
    await until(async () => (await mappingOf(uuid)).delivered === 1);
    await advance(62);
    await until(async () => (await mappingOf(uuid)).windows_lost === 1, { what: 'the window is lost' });
    assert.deepEqual(finals.map((one) => one.state), [{ seen: true }]);
    const { text: metrics } = await request(server.endpoint, { method: 'GET', path: '/metrics' });
    assert.match(metrics, new RegExp(`stator_trigger_windows_lost_total\\{[^}]*mapping="${uuid}"[^}]*\\} 1\n`));
    await mappings.remove(uuid);
  });

  test('a plain web server aggregates as well, and a mapping without windows ends what is open', async () => {
    const calls = [], ids = [];
    const sum = sumInto(calls);
    host.functions.web = (event, message) => { ids.push(message.headers['webhook-id']); return event.window ? sum(event) : (calls.push(event), null); };
    const uuid = await create('web');
    await put(1);
    await until(() => calls.length === 1);
    await until(async () => (await mappingOf(uuid)).shards.some((one) => one.window?.state_bytes > 2));  // the answer has come
    assert.equal((await mappings.update(uuid, { TumblingWindowInSeconds: 0 })).body.TumblingWindowInSeconds, 0);
    await until(() => calls.length === 2);
    assert.deepEqual([calls[1].isFinalInvokeForWindow, calls[1].state], [true, { sum: 1 }]);
    await put(2);
    await until(() => calls.length === 3);
    assert.deepEqual(Object.keys(calls[2]), ['Records']);
    assert.equal(new Set(ids).size, 3, ids.join(' '));
    await mappings.remove(uuid);
  });

  test('a closed shard ends its window; its children begin their own', async () => {
    const calls = [];
    host.functions.split = sumInto(calls);
    const uuid = await create('split');
    for (let n = 1; n <= 4; n += 1) await put(n);
    const final = () => calls.filter((one) => one.isFinalInvokeForWindow);
    await until(() => calls.flatMap((one) => one.Records).length === 4);
    const reply = await request(server.endpoint, { path: `/_stator/tables/${table}/split`, headers: kManagement, body: '{}' });
    assert.equal(reply.status, 200, reply.text);
    for (let n = 1; n <= 8; n += 1) await put(n, { again: S('x') });
    await until(() => final().length === 1);
    assert.deepEqual(final()[0].state, { sum: 10 });
    await until(() => calls.flatMap((one) => one.Records).length === 12);
    const children = calls.filter((one) => one.shardId !== calls[0].shardId);
    assert.deepEqual(children.find((one) => one.Records.length > 0).state, {});
    await advance(62);
    await until(() => new Set(final().map((one) => one.shardId)).size === 1 + new Set(children.map((one) => one.shardId)).size);
    assert.equal(final().slice(1).reduce((all, one) => all + one.state.sum, 0), 36);
    await mappings.remove(uuid);
  });

  test('stator.toml declares windows, and what cannot have them is refused by name', async () => {
    const calls = [];
    host.functions.sum = sumInto(calls);
    await newTable('Declared');
    await put(3);
    await until(() => calls.length === 1);
    assert.equal(calls[0].isFinalInvokeForWindow, false);
    const refused = async (more, type, words) => {
      const reply = await mappings.create({ FunctionName: 'other', EventSourceArn: arn, StartingPosition: 'LATEST', TumblingWindowInSeconds: 60, ...more });
      assert.equal(reply.status, 400, JSON.stringify(reply.body));
      assert.equal(reply.type, type);
      assert.ok(reply.body.message.includes(words), reply.body.message);
    };
    await refused({ TumblingWindowInSeconds: 901 }, 'ValidationException', "Value '901' at 'tumblingWindowInSeconds'");
    await refused({ TumblingWindowInSeconds: -1 }, 'ValidationException', "'tumblingWindowInSeconds'");
    await refused({ ParallelizationFactor: 2 }, 'InvalidParameterValueException', 'ParallelizationFactor must be 1');
    await refused({ FunctionName: 'archive' }, 'InvalidParameterValueException', 'an archive answers with no state');
  });
});
