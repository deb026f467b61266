// Triggers: event source mappings to functions behind HTTP, through Lambda's API of mappings.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { B, BOOL, L, M, N, NULL, S, SS, clientFor, operationsOf } from './clients.mjs';
import { FunctionHost, mappingsOf, streamedTable, triggersOf, until } from './functions.mjs';
import { Server, isStator, onCluster, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT && !onCluster;

describe('triggers', { skip: own ? false : 'needs a server of its own' }, () => {
  let host, server, client, ddb, mappings, folder, count = 0;

  before(async () => {
    host = await FunctionHost.start();
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-triggers-'));
    fs.writeFileSync(path.join(folder, 'hook.secret'), 'a secret of the webhook\n');
    fs.writeFileSync(path.join(folder, 'stator.toml'), `
      [[functions]]
      name = "web"
      url = "${host.endpoint}/hook"
      secret-file = "hook.secret"
      [[functions]]
      name = "slow"
      lambda = "${host.endpoint}"
      timeout = "300ms"
      [[functions]]
      name = "dead-letters"
      directory = "dead"
      [[functions]]
      name = "nobody"
      lambda = "http://127.0.0.1:1"
      [[triggers]]
      table = "Declared"
      function = "declared"
      batch-size = 7
      filters = ['{"eventName":["INSERT"]}']
    `);
    server = await Server.start({ args: [`--config=${folder}/stator.toml`, `--lambda-endpoint=${host.endpoint}`] });
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
  const newTable = (TableName = `tab${count += 1}`, more = {}) => streamedTable(ddb, TableName, 'NEW_AND_OLD_IMAGES', more);
  beforeEach(async () => {
    ({ table, arn } = await newTable());
  });
  const put = (pk, more = {}) => ddb.PutItem({ TableName: table, Item: { pk: S(pk), ...more } });
  const create = async (FunctionName, more = {}) => {
    const made = await mappings.create({ FunctionName, EventSourceArn: arn, StartingPosition: 'TRIM_HORIZON', ...more });
    assert.equal(made.status, 202, JSON.stringify(made.body));
    return made.body.UUID;
  };
  const mappingOf = async (uuid) => (await triggersOf(server.endpoint)).mappings.find((one) => one.uuid === uuid);

  test('a mapping is made, shown, listed, changed and removed', async () => {
    host.functions.f = () => ({});
    const made = await mappings.create({ FunctionName: 'f', EventSourceArn: arn, StartingPosition: 'TRIM_HORIZON', BatchSize: 5 });
    assert.equal(made.status, 202);
    const { UUID } = made.body;
    assert.match(UUID, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const { LastModified, ...rest } = made.body;
    assert.ok(Math.abs(LastModified - Date.now() / 1000) < 60);
    assert.deepEqual(rest, {
      UUID, EventSourceMappingArn: `arn:aws:lambda:us-east-1:000000000000:event-source-mapping:${UUID}`, BatchSize: 5,
      BisectBatchOnFunctionError: false, DestinationConfig: { OnFailure: {} }, EventSourceArn: arn,
      FunctionArn: 'arn:aws:lambda:us-east-1:000000000000:function:f', FunctionResponseTypes: [],
      LastProcessingResult: 'No records processed', MaximumBatchingWindowInSeconds: 0, MaximumRecordAgeInSeconds: -1,
      MaximumRetryAttempts: -1, ParallelizationFactor: 1, StartingPosition: 'TRIM_HORIZON', State: 'Creating',
      StateTransitionReason: 'User action', TumblingWindowInSeconds: 0,
    });
    assert.equal((await mappings.get(UUID)).body.State, 'Enabled');
    const again = await mappings.create({ FunctionName: 'arn:aws:lambda:us-east-1:000000000000:function:f', EventSourceArn: arn, StartingPosition: 'LATEST' });
    assert.equal(again.status, 409);
    assert.equal(again.type, 'ResourceConflictException');
    assert.equal(again.body.message, `The event source arn (" ${arn} ") and function (" f ") provided mapping already exists. ` +
      `Please update or delete the existing mapping with UUID ${UUID}`);
    const list = (await mappings.list(`?FunctionName=f&EventSourceArn=${encodeURIComponent(arn)}`)).body.EventSourceMappings;
    assert.deepEqual(list.map((one) => one.UUID), [UUID]);
    const page = (await mappings.list('?MaxItems=1')).body;
    assert.equal(page.EventSourceMappings.length, 1);
    const changed = await mappings.update(UUID, { Enabled: false, BatchSize: 9, FunctionResponseTypes: ['ReportBatchItemFailures'] });
    assert.equal(changed.status, 202);
    assert.equal(changed.body.State, 'Disabling');
    const shown = (await mappings.get(UUID)).body;
    assert.equal(shown.State, 'Disabled');
    assert.equal(shown.BatchSize, 9);
    assert.deepEqual(shown.FunctionResponseTypes, ['ReportBatchItemFailures']);
    assert.equal((await mappings.update(UUID, { Enabled: true })).body.State, 'Enabling');
    const removed = await mappings.remove(UUID);
    assert.equal(removed.status, 202);
    assert.equal(removed.body.State, 'Deleting');
    const gone = await mappings.get(UUID);
    assert.equal(gone.status, 404);
    assert.equal(gone.type, 'ResourceNotFoundException');
    assert.deepEqual(gone.body, { Type: 'User', Message: 'The resource you requested does not exist.' });
    assert.equal((await mappings.remove(UUID)).status, 404);
  });

  test('what cannot be is refused with its reason', async () => {
    const refused = async (more, type, text, status = 400) => {
      const reply = await mappings.create({ FunctionName: 'f', EventSourceArn: arn, StartingPosition: 'LATEST', ...more });
      assert.equal(reply.status, status, JSON.stringify(reply.body));
      assert.equal(reply.type, type);
      assert.ok(reply.body.message.includes(text), reply.body.message);
    };
    const kInvalid = 'InvalidParameterValueException';
    await refused({ EventSourceArn: undefined }, kInvalid, 'Unrecognized event source.');
    await refused({ EventSourceArn: arn.replace(/stream\/2/, 'stream/1') }, kInvalid, 'Stream not found: arn:');
    await refused({ StartingPosition: undefined }, kInvalid, "Value null at 'startingPosition'");
    await refused({ StartingPosition: 'AT_TIMESTAMP' }, kInvalid, 'Unsupported starting position for arn type');
    await refused({ StartingPosition: 'NOW' }, 'ValidationException', '[LATEST, AT_TIMESTAMP, TRIM_HORIZON]');
    await refused({ BatchSize: 10001 }, 'ValidationException', "Value '10001' at 'batchSize'");
    await refused({ MaximumRecordAgeInSeconds: 59 }, 'ValidationException', "'maximumRecordAgeInSeconds'");
    await refused({ FunctionName: 'no name' }, 'ValidationException', "'functionName'");
    await refused({ FilterCriteria: { Filters: [{ Pattern: '{"a":' }] } }, kInvalid, 'Invalid filter pattern definition.');
    await refused({ FilterCriteria: { Filters: [{ Pattern: '{"dynamodb":{"NewImage":{"n":{"N":[{"numeric":[">",1]}]}}}}' }] } },
      kInvalid, 'it can match no record');
    await refused({ DestinationConfig: { OnFailure: { Destination: 'arn:aws:sqs:us-east-1:000000000000:missing' } } }, kInvalid, 'does not exist');
    await refused({ Tags: { a: 'b' } }, kInvalid, 'Tags');
    await refused({ FunctionName: 'dead-letters', ParallelizationFactor: 2 }, kInvalid, 'directory');
    assert.equal((await mappings.get('no-uuid')).status, 404);
  });

  test('a function gets events in the shape of Lambda', async () => {
    const events = [];
    host.functions.shape = (event) => { events.push(event); return {}; };
    await put('a', { n: N(1), b: B('bytes'), f: BOOL(true), l: L(N(1), NULL), m: M({ x: SS('y') }) });
    await ddb.DeleteItem({ TableName: table, Key: { pk: S('a') } });
    await create('shape');
    await until(() => events.flatMap((event) => event.Records).length === 2);
    const [record, removed] = events.flatMap((event) => event.Records);
    assert.deepEqual(Object.keys(events[0]), ['Records']);
    assert.match(record.eventID, /^[0-9a-f]{32}$/);
    assert.equal(typeof record.dynamodb.ApproximateCreationDateTime, 'number');
    assert.match(record.dynamodb.SequenceNumber, /^\d{20,40}$/);
    delete record.eventID;
    delete record.dynamodb.ApproximateCreationDateTime;
    delete record.dynamodb.SequenceNumber;
    assert.deepEqual(record, {
      eventName: 'INSERT', eventVersion: '1.1', eventSource: 'aws:dynamodb', awsRegion: 'us-east-1', eventSourceARN: arn,
      dynamodb: {
        Keys: { pk: { S: 'a' } }, SizeBytes: record.dynamodb.SizeBytes, StreamViewType: 'NEW_AND_OLD_IMAGES',
        NewImage: {
          pk: { S: 'a' }, n: { N: '1' }, b: { B: Buffer.from('bytes').toString('base64') }, f: { BOOL: true },
          l: { L: [{ N: '1' }, { NULL: true }] }, m: { M: { x: { SS: ['y'] } } },
        },
      },
    });
    assert.equal(removed.eventName, 'REMOVE');
    assert.equal(removed.dynamodb.OldImage.n.N, '1');
  });

  test('LATEST begins at the moment of the call', async () => {
    const seen = [];
    host.functions.latest = (event) => { seen.push(...event.Records.map((one) => one.dynamodb.Keys.pk.S)); return {}; };
    for (let i = 0; i < 20; i += 1) await put(`before-${i}`);
    await create('latest', { StartingPosition: 'LATEST' });
    for (let i = 0; i < 20; i += 1) await put(`after-${i}`);
    await until(() => seen.length >= 20);
    await delay(300);
    assert.deepEqual(seen, Array.from({ length: 20 }, (_, i) => `after-${i}`));
  });

  test('filters, batches and windows', async () => {
    const batches = [];
    host.functions.filtered = (event) => { batches.push(event.Records.map((one) => one.dynamodb.Keys.pk.S)); return {}; };
    for (let i = 0; i < 30; i += 1) await put(i % 2 ? `odd-${i}` : `even-${i}`);
    await create('filtered', {
      BatchSize: 4, MaximumBatchingWindowInSeconds: 3,  // a server that stands still for as long would make a smaller batch
      FilterCriteria: { Filters: [{ Pattern: '{"dynamodb":{"Keys":{"pk":{"S":[{"prefix":"odd-"}]}}}}' }] },
    });
    await until(() => batches.flat().length === 15);
    assert.deepEqual(batches.map((batch) => batch.length), [4, 4, 4, 3]);
    assert.deepEqual(batches.flat(), Array.from({ length: 15 }, (_, i) => `odd-${2 * i + 1}`));
  });

  test('what failed is tried again: whole batches, and parts that the function names', async () => {
    const seen = [];
    let failures = 3;
    host.functions.partial = (event) => {
      const records = event.Records.map((one) => one.dynamodb);
      if (failures > 0) {
        failures -= 1;
        if (failures === 2) throw new Error('the first time');
        seen.push(...records.slice(0, 2).map((one) => one.Keys.pk.S));
        return { batchItemFailures: [{ itemIdentifier: records[4].SequenceNumber }, { itemIdentifier: records[2].SequenceNumber }] };
      }
      seen.push(...records.map((one) => one.Keys.pk.S));
      return { batchItemFailures: [] };
    };
    for (let i = 0; i < 10; i += 1) await put(`k${i}`);
    const uuid = await create('partial', { FunctionResponseTypes: ['ReportBatchItemFailures'] });
    await until(() => seen.length >= 10);
    assert.deepEqual(seen, Array.from({ length: 10 }, (_, i) => `k${i}`));
    const figures = await until(async () => { const now = await mappingOf(uuid); return now.delivered === 10 && now; });
    assert.equal(figures.failures, 3);
    assert.equal((await mappings.get(uuid)).body.LastProcessingResult, 'OK');
    const { text } = await request(server.endpoint, { method: 'GET', path: '/metrics' });
    const line = text.split('\n').find((one) => one.startsWith('stator_trigger_records_total{') && one.includes(uuid) && one.includes('delivered'));
    assert.match(line ?? text, / 10$/);
  });

  test('bisection finds the record that poisons a batch; it goes to the destination', async () => {
    const seen = [];
    host.functions.poison = (event) => {
      const keys = event.Records.map((one) => one.dynamodb.Keys.pk.S);
      if (keys.includes('k6')) throw new Error('poison');
      seen.push(...keys);
      return {};
    };
    for (let i = 0; i < 10; i += 1) await put(`k${i}`);
    const Destination = 'arn:aws:sqs:us-east-1:000000000000:dead-letters';
    const uuid = await create('poison', { BisectBatchOnFunctionError: true, MaximumRetryAttempts: 1, DestinationConfig: { OnFailure: { Destination } } });
    await until(() => seen.length === 9);
    assert.deepEqual(seen, ['k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k7', 'k8', 'k9']);
    const dead = path.join(folder, 'dead', table, 'failed');
    const name = await until(() => fs.existsSync(dead) && fs.readdirSync(dead).find((one) => one.endsWith('.json')));
    const document = JSON.parse(fs.readFileSync(path.join(dead, name)));
    assert.equal(document.requestContext.condition, 'RetryAttemptsExhausted');
    assert.equal(document.requestContext.functionArn, 'arn:aws:lambda:us-east-1:000000000000:function:poison');
    assert.equal(document.DDBStreamBatchInfo.batchSize, 1);
    assert.equal(document.DDBStreamBatchInfo.streamArn, arn);
    assert.equal(document.payload.Records[0].dynamodb.Keys.pk.S, 'k6');
    await until(async () => (await mappingOf(uuid)).exhausted === 1);
    assert.equal((await mappings.get(uuid)).body.DestinationConfig.OnFailure.Destination, Destination);
  });

  test('a webhook is signed', async () => {
    const calls = [];
    host.functions.web = (event, message, reply, body) => { calls.push({ event, headers: message.headers, url: message.url, body }); return null; };
    await put('a');
    await create('web');
    const { headers, url, body } = await until(() => calls[0]);
    assert.equal(url, '/hook');
    const signature = crypto.createHmac('sha256', 'a secret of the webhook')
      .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`).digest('base64');
    assert.equal(headers['webhook-signature'], `v1,${signature}`);
    assert.ok(Math.abs(headers['webhook-timestamp'] - Date.now() / 1000) < 60);
  });

  test('targets that hang, talk nonsense, redirect or are not there are bounded and seen', async () => {
    const problem = async (uuid, text) => until(async () => {
      const { last_result: result } = await mappingOf(uuid);
      return result.includes(text);
    }, { what: text });
    let hung = 0;
    host.functions.slow = () => { hung += 1; return new Promise(() => {}); };
    await put('a');
    const slow = await create('slow');
    await problem(slow, 'no answer in time');
    assert.equal((await mappingOf(slow)).delivered, 0);
    const again = hung;
    await until(() => hung > again);
    await mappings.remove(slow);

    let answer;
    host.functions.odd = (event, message, reply) => { answer(reply); };
    answer = (reply) => reply.writeHead(302, { Location: 'http://127.0.0.1:9/' }).end();
    const odd = await create('odd');
    await problem(odd, 'redirects are not followed');
    answer = (reply) => reply.writeHead(429).end('later');
    await problem(odd, 'HTTP 429: later');
    answer = (reply) => reply.writeHead(200).end('Task timed out after 3.00 seconds');
    await problem(odd, 'the answer is no JSON');
    answer = (reply) => reply.writeHead(200).end(JSON.stringify({ errorType: 'E', errorMessage: 'of the emulator' }));
    await problem(odd, 'of the emulator');
    answer = (reply) => reply.socket.end('hello\r\n\r\n');
    await problem(odd, 'the answer is no HTTP');
    answer = (reply) => reply.writeHead(200).end('x'.repeat(8 << 20));
    await problem(odd, 'longer than');
    answer = (reply) => reply.writeHead(200).end('{}');
    await until(async () => (await mappingOf(odd)).delivered === 1);

    const nobody = await create('nobody');
    await problem(nobody, 'Connection refused');
    await mappings.remove(nobody);
  });

  test('events have at most 6 MB', async () => {
    const sizes = [];
    let records = 0;
    host.functions.large = (event, message, reply, body) => { sizes.push(body.length); records += event.Records.length; return {}; };
    for (let i = 0; i < 40; i += 1) await put(`k${i}`, { data: S('x'.repeat(390_000)) });
    await create('large', { BatchSize: 100 });
    await until(() => records === 40);
    assert.ok(sizes.length >= 3 && Math.max(...sizes) <= 6 << 20, String(sizes));
  });

  test('order of each item holds over splits and with parallel lanes', async () => {
    const seen = new Map();
    let running = 0, most = 0;
    host.functions.parallel = async (event) => {
      most = Math.max(most, running += 1);
      // The first one waits for company, which has to come: nothing but another lane brings it.
      if (most === 1) await until(() => most > 1, { what: 'a second lane while the first one is busy' });
      await delay(3);
      for (const { dynamodb } of event.Records) {
        const key = dynamodb.Keys.pk.S;
        seen.set(key, [...(seen.get(key) ?? []), Number(dynamodb.NewImage.n.N)]);
      }
      running -= 1;
      return {};
    };
    const uuid = await create('parallel', { ParallelizationFactor: 4, BatchSize: 10 });
    for (let n = 0; n < 40; n += 1) {
      await Promise.all(Array.from({ length: 12 }, (_, key) => put(`k${key}`, { n: N(n) })));
      if (n === 10 || n === 25) {
        const reply = await request(server.endpoint, { path: `/_stator/tables/${table}/split`, headers: { 'X-Stator-Management': 'true' }, body: '{}' });
        assert.equal(reply.status, 200, reply.text);
      }
    }
    await until(() => [...seen.values()].flat().length >= 480);
    for (const [key, numbers] of seen) assert.deepEqual(numbers, Array.from({ length: 40 }, (_, i) => i), key);
    assert.ok(most > 1, `${most} at a time`);
    const { shards } = await mappingOf(uuid);
    assert.ok(shards.length > 1, JSON.stringify(shards));
  });

  test('what stator.toml declares is there as soon as the table is', async () => {
    const seen = [];
    host.functions.declared = (event) => { seen.push(...event.Records.map((one) => one.dynamodb.Keys.pk.S)); return {}; };
    ({ table, arn } = await newTable('Declared'));
    await put('a');
    await put('a', { changed: BOOL(true) });
    await put('b');
    await until(() => seen.length === 2);
    assert.deepEqual(seen, ['a', 'b']);
    const [mapping] = (await mappings.list(`?EventSourceArn=${encodeURIComponent(arn)}`)).body.EventSourceMappings;
    assert.equal(mapping.BatchSize, 7);
  });
});
