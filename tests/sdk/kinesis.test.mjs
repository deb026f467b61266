// Kinesis destinations: the four operations with their states, and what reaches the shards of kinesalite, byte by byte.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as streams from '@aws-sdk/client-dynamodb-streams';

import { B, N, S, assertFails, clientFor, operationsOf } from './clients.mjs';
import { triggersOf, until } from './functions.mjs';
import { Server, isStator, onCluster, request } from './harness.mjs';
import { KinesisEndpoint, arnOf, kKey } from './kinesis.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const skip = own ? false : 'needs a server of its own';
const kNotReady = 'Table is not in a valid state to enable Kinesis Streaming Destination: ';
const kUuid4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let endpoint, server, client, ddb;
let hook = () => undefined;

before(async () => {
  if (!own) return;
  endpoint = await KinesisEndpoint.start({ hook: (...call) => hook(...call) });
  server = await Server.start({ args: [`--kinesis-endpoint=${endpoint.url}`], env: kKey });
  client = clientFor(server.endpoint);
  ddb = operationsOf(client);
});
after(async () => {
  if (!own) return;
  client?.destroy();
  await server?.stop();
  await endpoint?.stop();
  assert.deepEqual(endpoint.problems, []);
});

async function table(TableName, more = {}) {
  await ddb.CreateTable({
    TableName, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], ...more,
  });
  return TableName;
}
const destinations = async (TableName) => (await ddb.DescribeKinesisStreamingDestination({ TableName })).KinesisDataStreamDestinations;
async function status(TableName, StreamArn, wanted) {
  let seen;
  await until(async () => {
    seen = (await destinations(TableName)).find((each) => each.StreamArn === StreamArn);
    return seen?.DestinationStatus === wanted;
  }, { what: `${StreamArn} is ${wanted}` });
  return seen;
}
async function enable(TableName, StreamArn, more = {}) {
  const answer = await ddb.EnableKinesisStreamingDestination({ TableName, StreamArn, ...more });
  assert.equal(answer.DestinationStatus, 'ENABLING');
  await status(TableName, StreamArn, 'ACTIVE');
  return answer;
}
async function arrived(name, count) {
  let records;
  await until(async () => (records = await endpoint.read(name)).length >= count, { what: `${count} records in ${name}` });
  return records;
}
async function metric(name, labels) {
  const { text } = await request(server.endpoint, { method: 'GET', path: '/metrics' });
  const line = text.split('\n').find((each) => each.startsWith(`${name}{`) && labels.every((label) => each.includes(label)));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

test('a destination from enabling to the shards, without a stream that clients see', { skip }, async () => {
  const TableName = await table('Plain');
  assert.deepEqual(await destinations(TableName), []);
  const StreamArn = await endpoint.create('plain', 3);
  await ddb.PutItem({ TableName, Item: { pk: S('before') } });
  assert.deepEqual(await ddb.EnableKinesisStreamingDestination({ TableName, StreamArn }),
    { TableName, StreamArn, DestinationStatus: 'ENABLING', EnableKinesisStreamingConfiguration: {} });
  // Writes from here on arrive, also while the stream is being checked.
  const began = Date.now();
  await ddb.PutItem({ TableName, Item: { pk: S('a"1'), n: N('1.50'), b: B('bytes') } });
  await ddb.UpdateItem({ TableName, Key: { pk: S('a"1') }, UpdateExpression: 'SET n = :n', ExpressionAttributeValues: { ':n': N(2) } });
  await ddb.PutItem({ TableName, Item: { pk: S('a"1'), n: N(2), b: B('bytes') } });  // no change
  await ddb.DeleteItem({ TableName, Key: { pk: S('a"1') } });
  assert.deepEqual(await status(TableName, StreamArn, 'ACTIVE'), { StreamArn, DestinationStatus: 'ACTIVE' });

  const all = await arrived('plain', 3);
  assert.equal(all.length, 3);
  const [first] = all;
  for (const { PartitionKey, ShardId } of all) {
    assert.match(PartitionKey, /^[0-9A-F]{32}$/);
    assert.deepEqual([PartitionKey, ShardId], [first.PartitionKey, first.ShardId]);
  }
  const insert = all[0].record;
  assert.match(insert.eventID, kUuid4);
  assert.equal(new Set(all.map(({ record }) => record.eventID)).size, 3);
  const time = insert.dynamodb.ApproximateCreationDateTime;
  assert.ok(Number.isInteger(time) && time >= began - 1000 && time <= Date.now() + 1000, `${time}`);
  const old = '{"b":{"B":"Ynl0ZXM="},"n":{"N":"1.5"},"pk":{"S":"a\\"1"}}';
  const expected = (record, eventName, images, size) =>
    `{"awsRegion":"us-east-1","eventID":"${record.eventID}","eventName":"${eventName}","userIdentity":null,` +
    `"recordFormat":"application/json","tableName":"Plain","dynamodb":{"ApproximateCreationDateTime":${record.dynamodb.ApproximateCreationDateTime},` +
    `"Keys":{"pk":{"S":"a\\"1"}},${images},"SizeBytes":${size}},"eventSource":"aws:dynamodb"}`;
  assert.equal(all[0].text, expected(all[0].record, 'INSERT', `"NewImage":${old}`, insert.dynamodb.SizeBytes));
  const now = old.replace('1.5', '2');
  assert.equal(all[1].text, expected(all[1].record, 'MODIFY', `"NewImage":${now},"OldImage":${old}`, all[1].record.dynamodb.SizeBytes));
  assert.equal(all[2].text, expected(all[2].record, 'REMOVE', `"OldImage":${now}`, all[2].record.dynamodb.SizeBytes));
  assert.equal(insert.dynamodb.SizeBytes, 5 + 5 + 4 + 6);  // keys; pk, n and b

  const { Table } = await ddb.DescribeTable({ TableName });
  for (const name of ['LatestStreamArn', 'LatestStreamLabel', 'StreamSpecification']) assert.equal(Table[name], undefined);
  const clientOfStreams = new streams.DynamoDBStreamsClient({ endpoint: server.endpoint, region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
  assert.deepEqual((await clientOfStreams.send(new streams.ListStreamsCommand({ TableName }))).Streams, []);
  clientOfStreams.destroy();
  await until(async () => await metric('stator_kinesis_records_total', ['table="Plain"', 'delivered']) === 3, { what: 'the metric counts 3 records' });
});

test('beside a stream with another view type, in each batch and transaction', { skip }, async () => {
  const TableName = await table('Both', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' } });
  const StreamArn = await endpoint.create('both');
  await enable(TableName, StreamArn);
  await ddb.BatchWriteItem({ RequestItems: { [TableName]: ['a', 'b', 'c'].map((pk) => ({ PutRequest: { Item: { pk: S(pk), n: N(1) } } })) } });
  await ddb.TransactWriteItems({ TransactItems: ['a', 'd'].map((pk) => ({ Put: { TableName, Item: { pk: S(pk), n: N(2) } } })) });
  const all = await arrived('both', 5);
  assert.deepEqual(all.map(({ record: { dynamodb } }) => `${dynamodb.Keys.pk.S}${dynamodb.NewImage.n.N}`).sort(), ['a1', 'a2', 'b1', 'c1', 'd2']);
  // Clients' own stream goes on, goes off and comes back without a trace in the destination.
  await ddb.UpdateTable({ TableName, StreamSpecification: { StreamEnabled: false } });
  await ddb.PutItem({ TableName, Item: { pk: S('e'), n: N(3) } });
  await ddb.UpdateTable({ TableName, StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' } });
  await ddb.PutItem({ TableName, Item: { pk: S('f'), n: N(3) } });
  assert.equal((await arrived('both', 7)).length, 7);
});

test('precision: chosen, changed, refused when it is the same', { skip }, async () => {
  const TableName = await table('Precise');
  const StreamArn = await endpoint.create('precise');
  const micros = { ApproximateCreationDateTimePrecision: 'MICROSECOND' };
  const millis = { ApproximateCreationDateTimePrecision: 'MILLISECOND' };
  const enabled = await enable(TableName, StreamArn, { EnableKinesisStreamingConfiguration: micros });
  assert.deepEqual(enabled.EnableKinesisStreamingConfiguration, micros);
  assert.deepEqual(await destinations(TableName), [{ StreamArn, DestinationStatus: 'ACTIVE', ...micros }]);
  await ddb.PutItem({ TableName, Item: { pk: S('a') } });
  const [{ record }] = await arrived('precise', 1);
  assert.match(String(record.dynamodb.ApproximateCreationDateTime), /^\d{16}$/);
  assert.equal(record.dynamodb.ApproximateCreationDateTimePrecision, 'MICROSECOND');
  const update = (configuration) => ddb.UpdateKinesisStreamingDestination({ TableName, StreamArn, UpdateKinesisStreamingConfiguration: configuration });
  await assertFails(update(micros), 'ValidationException', 'Precision is already set');
  assert.deepEqual(await update(millis), { TableName, StreamArn, DestinationStatus: 'UPDATING', UpdateKinesisStreamingConfiguration: millis });
  await assertFails(ddb.DisableKinesisStreamingDestination({ TableName, StreamArn }), 'ValidationException',
    `${kNotReady}KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.`);
  await status(TableName, StreamArn, 'ACTIVE');
  await ddb.PutItem({ TableName, Item: { pk: S('b') } });
  const later = (await arrived('precise', 2)).find((each) => each.record.dynamodb.Keys.pk.S === 'b').record.dynamodb;
  assert.match(String(later.ApproximateCreationDateTime), /^\d{13}$/);
  assert.equal(later.ApproximateCreationDateTimePrecision, undefined);
});

test('disable, enable again, another one; a stream that is not there', { skip }, async () => {
  const TableName = await table('Switched');
  const StreamArn = await endpoint.create('switched');
  const other = await endpoint.create('other');
  const missing = arnOf('missing');
  await assertFails(ddb.DisableKinesisStreamingDestination({ TableName, StreamArn }), 'ValidationException', `${kNotReady}KinesisStreamingDestination must be ACTIVE`);
  await ddb.EnableKinesisStreamingDestination({ TableName, StreamArn: missing });
  const failed = await status(TableName, missing, 'ENABLE_FAILED');
  assert.equal(failed.DestinationStatusDescription, 'User does not have a permission to use kinesis stream');
  await enable(TableName, StreamArn);
  for (const arn of [StreamArn, other]) {
    await assertFails(ddb.EnableKinesisStreamingDestination({ TableName, StreamArn: arn }), 'ValidationException',
      `${kNotReady}EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE operation.`);
  }
  await assertFails(ddb.UpdateKinesisStreamingDestination({ TableName, StreamArn: other, UpdateKinesisStreamingConfiguration: { ApproximateCreationDateTimePrecision: 'MICROSECOND' } }),
    'ValidationException', `Updates are only allowed in ACTIVE state. TableName: ${TableName}`);
  for (let i = 0; i < 50; i += 1) await ddb.PutItem({ TableName, Item: { pk: S(`on${i}`) } });
  assert.equal((await ddb.DisableKinesisStreamingDestination({ TableName, StreamArn })).DestinationStatus, 'DISABLING');
  await ddb.PutItem({ TableName, Item: { pk: S('off') } });
  await status(TableName, StreamArn, 'DISABLED');
  // All earlier writes are there, though no one call waited for them.
  assert.deepEqual((await endpoint.read('switched')).map(({ record }) => record.dynamodb.Keys.pk.S).sort(), Array.from({ length: 50 }, (_, i) => `on${i}`).sort());
  await enable(TableName, other);
  await ddb.PutItem({ TableName, Item: { pk: S('two') } });
  await arrived('other', 1);
  await ddb.DisableKinesisStreamingDestination({ TableName, StreamArn: other });
  await status(TableName, other, 'DISABLED');
  await enable(TableName, StreamArn);
  await ddb.PutItem({ TableName, Item: { pk: S('three') } });
  const again = await arrived('switched', 51);
  assert.ok(again.some(({ record }) => record.dynamodb.Keys.pk.S === 'three'));
  assert.ok(!again.some(({ record }) => ['off', 'two'].includes(record.dynamodb.Keys.pk.S)));
  assert.deepEqual((await destinations(TableName)).map((each) => [each.StreamArn, each.DestinationStatus]).sort(),
    [[missing, 'ENABLE_FAILED'], [other, 'DISABLED'], [StreamArn, 'ACTIVE']].sort());
  await assertFails(ddb.EnableKinesisStreamingDestination({ TableName: 'none', StreamArn }), 'ResourceNotFoundException');
});

test('records that are refused one by one are sent again, the last of an item last', { skip }, async () => {
  const TableName = await table('Refused');
  const StreamArn = await endpoint.create('refused', 2);
  await enable(TableName, StreamArn);
  let calls = 0;
  // Every third record of the first calls, and then all of one call.
  hook = (action, { StreamName, Records }) => {
    if (action !== 'PutRecords' || StreamName !== 'refused' || calls > 6) return undefined;
    calls += 1;
    return { refuse: Records.map((_, i) => i).filter((i) => calls === 5 || (i + calls) % 3 === 0) };
  };
  try {
    for (let n = 1; n <= 40; n += 1) {
      await Promise.all(['a', 'b', 'c'].map((pk) => ddb.PutItem({ TableName, Item: { pk: S(pk), n: N(n) } })));
    }
    await until(async () => {
      const last = new Map((await endpoint.read('refused')).map(({ record: { dynamodb } }) => [dynamodb.Keys.pk.S, dynamodb.NewImage.n.N]));
      return ['a', 'b', 'c'].every((pk) => last.get(pk) === '40');
    }, { what: 'the last change of each item is the last in the stream' });
  } finally {
    hook = () => undefined;
  }
  const numbers = { a: new Set(), b: new Set(), c: new Set() };
  for (const { record: { dynamodb } } of await endpoint.read('refused')) numbers[dynamodb.Keys.pk.S].add(dynamodb.NewImage.n.N);
  for (const pk of ['a', 'b', 'c']) assert.equal(numbers[pk].size, 40, pk);
  await until(async () => await metric('stator_kinesis_refused_records_total', ['table="Refused"']) > 0, { what: 'refused records are counted' });
});

test('an endpoint that fails, breaks off, or answers nonsense', { skip }, async () => {
  const TableName = await table('Failing');
  const StreamArn = await endpoint.create('failing');
  await enable(TableName, StreamArn);
  const answers = [
    { status: 500, body: 'oops' }, 'break', { status: 200, body: 'nonsense' }, { status: 200, body: '{"Records":[]}' },
    { status: 200, body: '{"FailedRecordCount":0,"Records":[{}]}' }, { status: 302, body: '' },
    { status: 400, body: '{"__type":"ProvisionedThroughputExceededException","message":"slow down"}' },
  ];
  const seen = [];
  hook = (action, { StreamName }) => (action === 'PutRecords' && StreamName === 'failing' && answers.length > 0 ? (seen.push(1), answers.shift()) : undefined);
  try {
    await ddb.PutItem({ TableName, Item: { pk: S('a') } });
    await until(async () => await metric('stator_kinesis_lag_seconds', ['table="Failing"']) > 0, { what: 'the lag is seen' });
    const [{ record }] = await arrived('failing', 1);
    assert.equal(record.dynamodb.Keys.pk.S, 'a');
  } finally {
    hook = () => undefined;
  }
  assert.equal(seen.length, 7);
  // On a cluster one of the servers sends, and knows.
  await until(async () => await metric('stator_kinesis_calls_total', ['table="Failing"', 'failed']) >= 5, { what: 'five failed calls are counted' });
  await until(async () => {
    const report = await triggersOf(server.endpoint);
    assert.deepEqual(report.mappings, []);
    return report.kinesis.mappings.some((each) => each.table === 'Failing' && each.function === StreamArn);
  }, { what: 'the report has the destination' });
});

test('an endpoint that hangs', { skip }, async () => {
  const TableName = await table('Hanging');
  const StreamArn = await endpoint.create('hanging');
  await enable(TableName, StreamArn);
  let hung = 0;
  hook = (action, { StreamName }) => (action === 'PutRecords' && StreamName === 'hanging' && hung++ === 0 ? 'hang' : undefined);
  try {
    const began = Date.now();
    await ddb.PutItem({ TableName, Item: { pk: S('a') } });
    assert.ok(Date.now() - began < 10_000, 'the writer waits');
    await arrived('hanging', 1);
  } finally {
    hook = () => undefined;
  }
  assert.ok(hung >= 2);
});

test('large items: batches within the limits, and a record above 1 MB is dropped', { skip }, async () => {
  const TableName = await table('Large');
  const StreamArn = await endpoint.create('large');
  await enable(TableName, StreamArn);
  const from = endpoint.calls.length;
  for (let i = 0; i < 12; i += 1) await ddb.PutItem({ TableName, Item: { pk: S(`text${i}`), s: S('x'.repeat(390_000)) } });
  // Two images of it in base64 are more than 1 MB.
  await ddb.PutItem({ TableName, Item: { pk: S('bytes'), b: B(Buffer.alloc(395_000, 1)) } });
  await ddb.PutItem({ TableName, Item: { pk: S('bytes'), b: B(Buffer.alloc(395_000, 2)) } });
  await ddb.PutItem({ TableName, Item: { pk: S('last') } });
  const all = await arrived('large', 14);
  assert.deepEqual(all.map(({ record }) => record.dynamodb.Keys.pk.S).sort(), [...Array.from({ length: 12 }, (_, i) => `text${i}`), 'bytes', 'last'].sort());
  for (const call of endpoint.calls.slice(from).filter((each) => each.action === 'PutRecords')) {
    assert.ok(call.Records.length <= 500);
    const bytes = call.Records.reduce((sum, { Data, PartitionKey }) => sum + Buffer.byteLength(Data, 'base64') + PartitionKey.length, 0);
    assert.ok(bytes <= 5 << 20, `${bytes} bytes in one call`);
  }
  await until(async () => await metric('stator_kinesis_records_total', ['table="Large"', 'too_large']) === 1, { what: 'the record above 1 MB is counted' });
});

test('a table is deleted: what was written arrives, and a new table of the name begins anew', { skip }, async () => {
  const TableName = await table('Deleted');
  const StreamArn = await endpoint.create('deleted');
  await enable(TableName, StreamArn);
  for (let i = 0; i < 20; i += 1) await ddb.PutItem({ TableName, Item: { pk: S(`k${i}`) } });
  await ddb.DeleteTable({ TableName });
  await until(async () => { try { await ddb.DescribeTable({ TableName }); return false; } catch { return true; } }, { what: 'the table is gone' });
  await table('Deleted');
  assert.deepEqual(await destinations(TableName), []);
  await ddb.PutItem({ TableName, Item: { pk: S('new') } });
  const all = await arrived('deleted', 20);
  assert.ok(!all.some(({ record }) => record.dynamodb.Keys.pk.S === 'new'));
});

test("Terraform's aws_dynamodb_kinesis_streaming_destination: create, plan again, replace, destroy", { skip }, async () => {
  const TableName = await table('Terraformed');
  const StreamArn = await endpoint.create('terraformed');
  // The provider finds a destination by its ARN; one that is DISABLED, and a table that is gone, count as gone.
  const find = async () => (await destinations(TableName)).find((each) => each.StreamArn === StreamArn && each.DestinationStatus !== 'DISABLED');
  const wait = (pending, target) => until(async () => {
    const seen = (await destinations(TableName)).find((each) => each.StreamArn === StreamArn)?.DestinationStatus;
    assert.ok([...pending, ...target].includes(seen), `unexpected state '${seen}', wanted target '${target}'`);
    return target.includes(seen);
  });
  const create = async (configuration) => {
    await ddb.EnableKinesisStreamingDestination({ TableName, StreamArn, ...configuration });
    await wait(['DISABLED', 'ENABLING'], ['ACTIVE']);
  };
  const destroy = async () => {
    await ddb.DisableKinesisStreamingDestination({ TableName, StreamArn });
    await wait(['ACTIVE', 'DISABLING'], ['DISABLED']);
    assert.equal(await find(), undefined);
  };
  await create();
  assert.equal((await find()).ApproximateCreationDateTimePrecision, undefined);
  await destroy();
  await create({ EnableKinesisStreamingConfiguration: { ApproximateCreationDateTimePrecision: 'MICROSECOND' } });
  assert.equal((await find()).ApproximateCreationDateTimePrecision, 'MICROSECOND');
  await destroy();
});

test('without a key there is no server; without an endpoint the operation is refused', { skip: skip || (onCluster ? 'one server tells it' : false) }, async () => {
  const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SHARED_CREDENTIALS_FILE: '/nonexistent', AWS_CONFIG_FILE: '/nonexistent', AWS_PROFILE: '' };
  await assert.rejects(Server.start({ args: [`--kinesis-endpoint=${endpoint.url}`, '--in-memory'], env: none }), /needs an access key/);
  await assert.rejects(Server.start({ args: ['--kinesis-ca-file=/nonexistent', '--in-memory'] }), /--kinesis-ca-file is for/);
  const plain = await Server.start({ args: ['--in-memory'], env: none });
  const it = operationsOf(clientFor(plain.endpoint));
  await it.CreateTable({
    TableName: 'Refused', BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  });
  await assertFails(it.EnableKinesisStreamingDestination({ TableName: 'Refused', StreamArn: arnOf('x') }), 'ValidationException', 'set --kinesis-endpoint');
  await plain.stop();
});
