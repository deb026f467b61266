// Mappings to streams of Kinesis: the records in the shards of kinesalite and their order, and the fate of changes that cannot be there.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { B, N, S, clientFor, operationsOf } from './clients.mjs';
import { assertAllInOrder, awaitLastNumbers, countingWriters, numbersByKey, pairOf, splitCounted } from './counted.mjs';
import { mappingsOf, streamedTable, triggersOf, until } from './functions.mjs';
import { Server, isStator, onCluster, request } from './harness.mjs';
import { KinesisEndpoint, arnOf, kKey } from './kinesis.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT && !onCluster;
const kKills = Number(process.env.STATOR_TRIGGER_KILLS ?? 4);

describe('mappings to streams of Kinesis', { skip: own ? false : 'needs a server of its own' }, () => {
  let endpoint, server, client, ddb, mappings, folder;
  let hook = () => undefined;
  const dataDir = () => path.join(folder, 'data');

  before(async () => {
    endpoint = await KinesisEndpoint.start({ hook: (...call) => hook(...call) });
    await endpoint.create('orders', 3);
    await endpoint.create('letters');
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-streams-'));
    fs.writeFileSync(path.join(folder, 'stator.toml'), `
      [[functions]]
      name = "to-orders"
      kinesis = "${endpoint.url}"
      stream = "${arnOf('orders')}"
      [[functions]]
      name = "letters"
      kinesis = "${endpoint.url}"
      stream = "${arnOf('letters')}"
      [[functions]]
      name = "nowhere"
      kinesis = "${endpoint.url}"
      stream = "${arnOf('no-such-stream')}"
      [[triggers]]
      table = "Declared"
      function = "letters"
      filters = ['{"eventName":["REMOVE"]}']
    `);
    server = await Server.start({ args: [`--config=${folder}/stator.toml`, `--kinesis-endpoint=${endpoint.url}`], dataDir: dataDir(), env: kKey });
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
    mappings = mappingsOf(server.endpoint);
  });
  after(async () => {
    client?.destroy();
    await server?.stop();
    await endpoint?.stop();
    fs.rmSync(folder, { recursive: true, force: true });
    assert.deepEqual(endpoint.problems, []);
  });
  const create = async (FunctionName, EventSourceArn, more = {}) => {
    const made = await mappings.create({ FunctionName, EventSourceArn, StartingPosition: 'TRIM_HORIZON', ...more });
    assert.equal(made.status, 202, JSON.stringify(made.body));
    return made.body.UUID;
  };
  const mappingOf = async (uuid) => (await triggersOf(server.endpoint)).mappings.find((one) => one.uuid === uuid);
  const inStream = async (name, table) =>
    (await endpoint.read(name)).filter(({ record }) => (record.eventSourceARN ?? record.DDBStreamBatchInfo?.streamArn)?.includes(`table/${table}/`));
  const arrived = async (name, table, count) => {
    let records;
    await until(async () => (records = await inStream(name, table)).length >= count, { what: `${count} records of ${table} in ${name}` });
    return records;
  };

  test('a change is a record as it is in an event, with the partition key of Kinesis destinations', async () => {
    const { table: TableName, arn } = await streamedTable(ddb, 'Plain', 'NEW_AND_OLD_IMAGES');
    const StreamArn = await endpoint.create('beside');
    await ddb.EnableKinesisStreamingDestination({ TableName, StreamArn });
    const uuid = await create('to-orders', arn);
    await ddb.PutItem({ TableName, Item: { pk: S('a"1'), n: N('1.50'), b: B('bytes') } });
    await ddb.DeleteItem({ TableName, Key: { pk: S('a"1') } });
    await ddb.PutItem({ TableName, Item: { pk: S('b') } });
    const records = await arrived('orders', TableName, 3);
    const of = (key) => records.filter(({ record }) => record.dynamodb.Keys.pk.S === key);
    assert.deepEqual(of('a"1').map(({ record }) => record.eventName), ['INSERT', 'REMOVE']);
    const [{ PartitionKey, record }] = of('a"1');
    const { eventID, dynamodb: { ApproximateCreationDateTime, SequenceNumber, ...dynamodb }, ...rest } = record;
    assert.match(eventID, /^[0-9a-f]{32}$/);
    assert.ok(Math.abs(ApproximateCreationDateTime - Date.now() / 1000) < 600);
    assert.match(SequenceNumber, /^\d+$/);
    assert.deepEqual(rest, { eventName: 'INSERT', eventVersion: '1.1', eventSource: 'aws:dynamodb', awsRegion: 'us-east-1', eventSourceARN: arn });
    assert.deepEqual(dynamodb, {
      Keys: { pk: { S: 'a"1' } }, NewImage: { pk: { S: 'a"1' }, n: { N: '1.5' }, b: { B: Buffer.from('bytes').toString('base64') } },
      SizeBytes: dynamodb.SizeBytes, StreamViewType: 'NEW_AND_OLD_IMAGES',
    });
    let others;
    await until(async () => (others = await endpoint.read('beside')).length >= 3, { what: 'the destination has them, too' });
    const keysOf = (all) => new Set(all.map((one) => `${one.record.dynamodb.Keys.pk.S} ${one.PartitionKey}`));
    assert.match(PartitionKey, /^[0-9A-F]{32}$/);
    assert.deepEqual(keysOf(records), keysOf(others));
    await ddb.DisableKinesisStreamingDestination({ TableName, StreamArn });

    const report = await triggersOf(server.endpoint);
    assert.deepEqual(report.functions.find((one) => one.name === 'to-orders'),
      { name: 'to-orders', kinesis: endpoint.url, stream: arnOf('orders'), signed: false, timeout_seconds: 60 });
    await until(async () => (await mappingOf(uuid)).delivered === 3, { what: 'three are delivered' });
    assert.equal((await mappings.get(uuid)).body.LastProcessingResult, 'OK');
    assert.match(fs.readFileSync(path.join(dataDir(), 'FORMAT'), 'latin1'), /trigger-kinesis/, 'older servers refuse the store by this name');
    await mappings.remove(uuid);
  });

  test('no change of an item comes before an earlier one that was refused', async () => {
    const { table: TableName, arn } = await streamedTable(ddb, 'Ordered', 'NEW_IMAGE');
    for (let n = 1; n <= 12; n += 1) {
      await ddb.BatchWriteItem({ RequestItems: { [TableName]: ['a', 'b', 'c'].map((pk) => ({ PutRequest: { Item: { pk: S(pk), n: N(n) } } })) } });
    }
    let calls = 0;
    hook = (action, { Records }) => {
      if (action !== 'PutRecords') return undefined;
      calls += 1;
      assert.equal(new Set(Records.map((one) => one.PartitionKey)).size, Records.length, 'one record of each item');
      return calls % 2 === 0 ? { refuse: [calls % Records.length] } : undefined;
    };
    const uuid = await create('to-orders', arn, { ParallelizationFactor: 2 });
    await until(async () => (await mappingOf(uuid)).delivered === 36, { what: 'all are delivered' });
    hook = () => undefined;
    const seen = new Map();
    for (const { record: { dynamodb: { Keys, NewImage } } } of await inStream('orders', TableName)) {
      const next = (seen.get(Keys.pk.S) ?? 0) + 1;
      assert.ok(Number(NewImage.n.N) <= next, `${Keys.pk.S}: ${NewImage.n.N} came before ${next}`);
      if (Number(NewImage.n.N) === next) seen.set(Keys.pk.S, next);
    }
    assert.deepEqual(seen, new Map([['a', 12], ['b', 12], ['c', 12]]));
    const { refused } = await mappingOf(uuid);
    assert.ok(refused > 0);
    const { text } = await request(server.endpoint, { method: 'GET', path: '/metrics' });
    assert.match(text, new RegExp(`stator_trigger_refused_records_total\\{[^}]*mapping="${uuid}"[^}]*\\} ${refused}\n`));
    await mappings.remove(uuid);
  });

  test('what the endpoint calls wrong is split, tried again and reported; what is too large is reported at once', async () => {
    const { table: TableName, arn } = await streamedTable(ddb, 'Poisoned', 'NEW_AND_OLD_IMAGES');
    hook = (action, { StreamName, Records }) => {
      const poison = StreamName === 'orders' && Records?.some(({ Data }) => Buffer.from(Data, 'base64').includes('poison'));
      return poison ? { status: 400, body: JSON.stringify({ __type: 'ValidationException', message: 'wrong' }) } : undefined;
    };
    const bytes = Buffer.alloc(398_000, 7);
    for (const pk of ['1', '2', 'poison', '3']) await ddb.PutItem({ TableName, Item: { pk: S(pk) } });
    await ddb.PutItem({ TableName, Item: { pk: S('large'), bytes: B(bytes) } });
    await ddb.PutItem({ TableName, Item: { pk: S('large'), bytes: B(bytes), more: N(1) } });
    await ddb.PutItem({ TableName, Item: { pk: S('4') } });
    const uuid = await create('to-orders', arn, {
      MaximumRetryAttempts: 1, BisectBatchOnFunctionError: true, DestinationConfig: { OnFailure: { Destination: arnOf('letters') } },
    });
    const letters = await arrived('letters', TableName, 2);
    const texts = new Map(letters.map(({ record }) => [record.payload === undefined, record]));
    const poison = texts.get(false), large = texts.get(true);
    assert.deepEqual(poison.payload.Records.map((one) => one.dynamodb.Keys.pk.S), ['poison']);
    assert.equal(poison.requestContext.condition, 'RetryAttemptsExhausted');
    assert.equal(poison.requestContext.functionArn, 'arn:aws:lambda:us-east-1:000000000000:function:to-orders');
    assert.equal(large.DDBStreamBatchInfo.batchSize, 1);
    assert.equal(large.requestContext.condition, 'RetryAttemptsExhausted');
    const records = await arrived('orders', TableName, 5);
    assert.deepEqual(records.map(({ record }) => record.dynamodb.Keys.pk.S).sort(), ['1', '2', '3', '4', 'large']);
    await until(async () => {
      const { delivered, exhausted } = await mappingOf(uuid);
      return delivered === 5 && exhausted === 2;
    }, { what: 'five are delivered, two are exhausted' });
    hook = () => undefined;
    await mappings.remove(uuid);
  });

  test('a stream that is not there, and an endpoint that is away, are waited for', async () => {
    const { table: TableName, arn } = await streamedTable(ddb, 'Waiting', 'KEYS_ONLY');
    const uuid = await create('nowhere', arn, { MaximumRetryAttempts: 0 });
    await ddb.PutItem({ TableName, Item: { pk: S('1') } });
    await until(async () => (await mappings.get(uuid)).body.LastProcessingResult.includes('ResourceNotFoundException'), { what: 'it says what is wrong' });
    assert.match((await mappings.get(uuid)).body.LastProcessingResult, /^PROBLEM: the endpoint has not taken all records: PutRecords: 400 /);
    hook = (action) => (action === 'PutRecords' ? { status: 503, body: 'away' } : undefined);
    await endpoint.create('no-such-stream');
    await until(async () => (await mappings.get(uuid)).body.LastProcessingResult.includes('503'), { what: 'it was away' });
    hook = () => undefined;
    await arrived('no-such-stream', TableName, 1);
    await until(async () => (await mappingOf(uuid)).delivered === 1, { what: 'it is delivered' });
    await mappings.remove(uuid);
  });

  test('a filter, a trigger of stator.toml, and what cannot be', async () => {
    const { table: TableName, arn } = await streamedTable(ddb, 'Declared', 'NEW_IMAGE');
    const windows = await mappings.create({ FunctionName: 'to-orders', EventSourceArn: arn, StartingPosition: 'LATEST', TumblingWindowInSeconds: 10 });
    assert.equal(windows.status, 400);
    assert.equal(windows.body.message, 'TumblingWindowInSeconds is for a function with lambda or url: a stream answers with no state.');
    await ddb.PutItem({ TableName, Item: { pk: S('1') } });
    await ddb.DeleteItem({ TableName, Key: { pk: S('1') } });
    const [{ record }] = await arrived('letters', TableName, 1);
    assert.equal(record.eventName, 'REMOVE');
  });
});

test('nothing is lost over kill -9 on the way to a stream', { skip: own ? false : 'needs a server of its own' }, async (context) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-streams-'));
  const dataDir = path.join(folder, 'data');
  let away = false, calls = 0;
  const endpoint = await KinesisEndpoint.start({
    hook: (action, { Records }) => {
      if (away) return { status: 503, body: 'away' };
      calls += 1;
      return calls % 4 === 0 ? { refuse: [Math.floor(Records.length / 2)] } : undefined;
    },
  });
  const stream = await endpoint.create('killed', 3);
  fs.writeFileSync(path.join(folder, 'stator.toml'), `
    [[functions]]
    name = "killed"
    kinesis = "${endpoint.url}"
    stream = "${stream}"
    [[triggers]]
    table = "Counted"
    function = "killed"
    batch-size = 20
    parallelization = 2
  `);
  const args = [`--config=${folder}/stator.toml`];
  let server = await Server.start({ args, dataDir, env: kKey });
  const { port } = server;
  const client = clientFor(server.endpoint, { maxAttempts: 1 });
  const ddb = operationsOf(client);
  try {
    await streamedTable(ddb, 'Counted', 'NEW_IMAGE');
    const { acknowledged, stop, wrote } = countingWriters(ddb, 5);
    for (let kill = 0; kill < kKills; kill += 1) {
      await wrote(30 + 20 * kill);
      if (kill === 1) await splitCounted(server.endpoint);
      away = kill % 3 === 2;
      await server.kill();
      server = await Server.start({ args, dataDir, port, env: kKey });
    }
    await wrote(20);
    away = false;
    await stop();
    const received = await awaitLastNumbers(acknowledged, async () =>
      numbersByKey((await endpoint.read('killed')).map(({ record }) => pairOf(record.dynamodb))));
    assertAllInOrder(acknowledged, received);
    assert.deepEqual(endpoint.problems, []);
    context.diagnostic(`${[...acknowledged.values()].reduce((a, b) => a + b, 0)} changes, ${calls} calls, ${kKills} kills`);
  } finally {
    client.destroy();
    await server.stop();
    await endpoint.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
