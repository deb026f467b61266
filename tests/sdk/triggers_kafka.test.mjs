// Mappings to topics of Kafka: the messages in a topic and their order, also while brokers fail.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { B, N, S, clientFor, operationsOf } from './clients.mjs';
import { assertAllInOrder, awaitLastNumbers, countingWriters, numbersByKey, splitCounted } from './counted.mjs';
import { mappingsOf, streamedTable, triggersOf, until } from './functions.mjs';
import { Server, isStator, onCluster } from './harness.mjs';
import { Brokers, hasBrokers } from './kafka.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT && !onCluster;
const skip = !own ? 'needs a server of its own' : !hasBrokers ? 'needs build/*/kafka_brokers, so librdkafka' : false;
const kKills = Number(process.env.STATOR_TRIGGER_KILLS ?? 4);
const kSecret = 'a-secret-that-nothing-shows';

describe('mappings to topics of Kafka', { skip }, () => {
  let brokers, server, client, ddb, mappings, folder;
  const dataDir = () => path.join(folder, 'data');

  before(async () => {
    brokers = await Brokers.start();
    for (const topic of ['orders', 'rest', 'hung']) await brokers.create(topic, 3);
    await brokers.create('letters');
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-topics-'));
    fs.writeFileSync(path.join(folder, 'kafka.properties'), `
      # what librdkafka calls them
      message.max.bytes = 1000000
      sasl.password=${kSecret}
    `);
    const functionOf = (name, topic, more = '') => `
      [[functions]]
      name = "${name}"
      kafka = "${brokers.address}"
      topic = "${topic}"
      properties-file = "kafka.properties"
      ${more}`;
    fs.writeFileSync(path.join(folder, 'stator.toml'), `
      ${functionOf('orders', 'orders')}
      ${functionOf('rest', 'rest')}
      ${functionOf('hung', 'hung', 'timeout = "1s"')}
      ${functionOf('letters', 'letters')}
      [[functions]]
      name = "nobody"
      kafka = "127.0.0.1:1"
      topic = "nothing"
      timeout = "500ms"
    `);
    server = await Server.start({ args: [`--config=${folder}/stator.toml`], dataDir: dataDir() });
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
    mappings = mappingsOf(server.endpoint);
  });
  after(async () => {
    client?.destroy();
    await server?.stop();
    await brokers?.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const create = async (FunctionName, EventSourceArn, more = {}) => {
    const made = await mappings.create({ FunctionName, EventSourceArn, StartingPosition: 'TRIM_HORIZON', ...more });
    assert.equal(made.status, 202, JSON.stringify(made.body));
    return made.body.UUID;
  };
  const mappingOf = async (uuid) => (await triggersOf(server.endpoint)).mappings.find((one) => one.uuid === uuid);

  test('a change is a message with the key of its item', async () => {
    const { table: TableName, arn } = await streamedTable(ddb, 'Plain', 'NEW_AND_OLD_IMAGES');
    const uuid = await create('orders', arn);
    await ddb.PutItem({ TableName, Item: { pk: S('a"1'), n: N('1.50'), b: B('bytes') } });
    await ddb.DeleteItem({ TableName, Key: { pk: S('a"1') } });
    await ddb.PutItem({ TableName, Item: { pk: S('b') } });
    await until(async () => (await mappingOf(uuid)).delivered === 3, { what: 'three are delivered' });
    const messages = await brokers.read('orders', 3);
    const of = (pk) => messages.filter(({ key }) => key.pk.S === pk);
    assert.deepEqual(of('a"1').map(({ value }) => value.eventName), ['INSERT', 'REMOVE']);
    assert.equal(new Set(of('a"1').map(({ partition }) => partition)).size, 1);
    assert.equal(of('b').length, 1);
    const [{ key, value: { eventID, dynamodb, ...rest } }] = of('a"1');
    assert.deepEqual(key, { pk: { S: 'a"1' } });
    assert.match(eventID, /^[0-9a-f]{32}$/);
    assert.deepEqual(rest, { eventName: 'INSERT', eventVersion: '1.1', eventSource: 'aws:dynamodb', awsRegion: 'us-east-1', eventSourceARN: arn });
    assert.deepEqual(dynamodb.NewImage, { pk: { S: 'a"1' }, n: { N: '1.5' }, b: { B: Buffer.from('bytes').toString('base64') } });

    const report = await triggersOf(server.endpoint);
    assert.deepEqual(report.functions.find((one) => one.name === 'orders'),
      { name: 'orders', kafka: brokers.address, topic: 'orders', signed: false, timeout_seconds: 60 });
    assert.ok(!JSON.stringify(report).includes(kSecret));
    assert.match(fs.readFileSync(path.join(dataDir(), 'FORMAT'), 'latin1'), /trigger-kafka/, 'older servers refuse the store by this name');
    const windows = await mappings.update(uuid, { TumblingWindowInSeconds: 10 });
    assert.equal(windows.body.message, 'TumblingWindowInSeconds is for a function with lambda or url: a topic answers with no state.');
    await mappings.remove(uuid);
  });

  test('messages that brokers fail for a while come, those of an item in their order', async () => {
    const { table: TableName, arn } = await streamedTable(ddb, 'Failing', 'NEW_IMAGE');
    const kNotEnoughReplicas = 19, kRequestTimedOut = 7;
    await brokers.command(`fail 2 ${kNotEnoughReplicas}`);
    const uuid = await create('rest', arn, { ParallelizationFactor: 2 });
    for (let n = 1; n <= 20; n += 1) {
      if (n % 8 === 0) await brokers.command(`fail 1 ${kRequestTimedOut}`);
      await ddb.BatchWriteItem({ RequestItems: { [TableName]: ['a', 'b', 'c', 'd'].map((pk) => ({ PutRequest: { Item: { pk: S(pk), n: N(n) } } })) } });
    }
    await until(async () => (await mappingOf(uuid)).delivered === 80, { what: 'all are delivered' });
    const seen = new Map();
    for (const { key, value } of await brokers.read('rest', 3)) {
      const next = (seen.get(key.pk.S) ?? 0) + 1, n = Number(value.dynamodb.NewImage.n.N);
      assert.ok(n <= next, `${key.pk.S}: ${n} came before ${next}`);
      if (n === next) seen.set(key.pk.S, n);
    }
    assert.deepEqual([...seen].sort(), [['a', 20], ['b', 20], ['c', 20], ['d', 20]]);
    await mappings.remove(uuid);
  });

  test('brokers that hang hold a call no longer than its timeout', async () => {
    const { table: TableName, arn } = await streamedTable(ddb, 'Hung', 'NEW_IMAGE');
    for (const broker of [1, 2, 3]) await brokers.command(`slow ${broker} 4000`);
    const uuid = await create('hung', arn, { MaximumRetryAttempts: 0 });
    await ddb.PutItem({ TableName, Item: { pk: S('1') } });
    await until(async () => (await mappingOf(uuid)).not_run >= 2, { what: 'it is tried again' });
    assert.match((await mappings.get(uuid)).body.LastProcessingResult, /^PROBLEM: the brokers have not taken all messages: not acknowledged in time/);
    for (const broker of [1, 2, 3]) await brokers.command(`slow ${broker} 0`);
    await until(async () => (await mappingOf(uuid)).delivered === 1, { what: 'it is delivered' });
    const { exhausted } = await mappingOf(uuid);
    assert.equal(exhausted, 0, 'it was no attempt');
    await mappings.remove(uuid);
  });

  test('a cluster that is not there is waited for, and a server with it stops', async () => {
    const { table: TableName, arn } = await streamedTable(ddb, 'Nobody', 'NEW_IMAGE');
    const uuid = await create('nobody', arn);
    await ddb.PutItem({ TableName, Item: { pk: S('1') } });
    await until(async () => (await mappingOf(uuid)).not_run >= 1, { what: 'it was tried' });
    assert.match((await mappings.get(uuid)).body.LastProcessingResult, /not acknowledged in time: .*127\.0\.0\.1:1/);
    await mappings.remove(uuid);
  });

  test('a message that is too large is reported at once, without its payload where that is too large', async () => {
    const { table: TableName, arn } = await streamedTable(ddb, 'Large', 'NEW_AND_OLD_IMAGES');
    const bytes = Buffer.alloc(390_000, 7);
    await ddb.PutItem({ TableName, Item: { pk: S('before') } });
    await ddb.PutItem({ TableName, Item: { pk: S('large'), bytes: B(bytes) } });
    await ddb.PutItem({ TableName, Item: { pk: S('large'), bytes: B(bytes), more: N(1) } });
    await ddb.PutItem({ TableName, Item: { pk: S('behind') } });
    const uuid = await create('orders', arn, { DestinationConfig: { OnFailure: { Destination: 'letters' } } });
    await until(async () => {
      const { delivered, exhausted } = await mappingOf(uuid);
      return delivered === 3 && exhausted === 1;
    }, { what: 'three are delivered, one is exhausted' });
    const [{ key, value }] = await brokers.read('letters');
    assert.equal(key, `${uuid}/${value.DDBStreamBatchInfo.shardId}`);
    assert.equal(value.DDBStreamBatchInfo.batchSize, 1);
    assert.equal(value.requestContext.condition, 'RetryAttemptsExhausted');
    assert.equal(value.payload, undefined);
    const keys = (await brokers.read('orders', 3)).filter(({ value: { eventSourceARN } }) => eventSourceARN === arn).map((one) => one.key.pk.S);
    assert.deepEqual(keys.sort(), ['before', 'behind', 'large']);
    await mappings.remove(uuid);
  });

  test('a file that is wrong is refused, without what it has', async () => {
    const refused = async (toml, properties, text) => {
      fs.writeFileSync(path.join(folder, 'wrong.toml'), `[[functions]]\nname = "a"\n${toml}\n`);
      fs.writeFileSync(path.join(folder, 'wrong.properties'), properties);
      await assert.rejects(Server.start({ args: [`--config=${folder}/wrong.toml`] }), (error) => {
        assert.ok(error.message.includes(text), error.message);
        assert.ok(!error.message.includes(kSecret), error.message);
        return true;
      });
    };
    const kafka = 'kafka = "127.0.0.1:1"\ntopic = "t"\nproperties-file = "wrong.properties"';
    await refused('kafka = "127.0.0.1:1"', '', 'kafka and topic go together');
    await refused(kafka, `no.such.property=${kSecret}`, 'the property no.such.property of Kafka is refused');
    await refused(kafka, 'acks=1', 'acks is not to be set there');
    await refused(kafka, kSecret, 'is no NAME=VALUE');
  });
});

test('nothing is lost over kill -9 on the way to a topic', { skip }, async (context) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-topics-'));
  const dataDir = path.join(folder, 'data');
  const brokers = await Brokers.start();
  await brokers.create('killed', 3);
  fs.writeFileSync(path.join(folder, 'stator.toml'), `
    [[functions]]
    name = "killed"
    kafka = "${brokers.address}"
    topic = "killed"
    [[triggers]]
    table = "Counted"
    function = "killed"
    batch-size = 20
    parallelization = 2
  `);
  const args = [`--config=${folder}/stator.toml`];
  let server = await Server.start({ args, dataDir });
  const { port } = server;
  const client = clientFor(server.endpoint, { maxAttempts: 1 });
  const ddb = operationsOf(client);
  try {
    await streamedTable(ddb, 'Counted', 'NEW_IMAGE');
    const { acknowledged, stop, wrote } = countingWriters(ddb, 5);
    for (let kill = 0; kill < kKills; kill += 1) {
      await wrote(30 + 20 * kill);
      if (kill === 1) await splitCounted(server.endpoint);
      await brokers.command(`${kill % 2 === 0 ? 'down' : 'up'} ${1 + (kill >> 1) % 3}`);
      await server.kill();
      server = await Server.start({ args, dataDir, port });
    }
    await wrote(20);
    for (const broker of [1, 2, 3]) await brokers.command(`up ${broker}`);
    await stop();
    const received = await awaitLastNumbers(acknowledged, async () =>
      numbersByKey((await brokers.read('killed', 3)).map(({ key, value }) => [key.pk.S, Number(value.dynamodb.NewImage.n.N)])));
    assertAllInOrder(acknowledged, received);
    context.diagnostic(`${[...acknowledged.values()].reduce((a, b) => a + b, 0)} changes, ${kKills} kills`);
  } finally {
    client.destroy();
    await server.stop();
    await brokers.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
