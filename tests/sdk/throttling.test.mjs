// Throttling by capacity, met by an unmodified SDK. Time stands still unless a test moves it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { DynamoDB } from '@aws-sdk/client-dynamodb';

import { hotDate } from '../../examples/hot-date/hot-date.mjs';
import { N, S, assertFails } from './clients.mjs';
import { Server, isStator, oneServerOnly, request } from './harness.mjs';

const options = { skip: process.env.STATOR_ENDPOINT || !isStator ? 'needs a server of its own' : oneServerOnly('capacity').skip };
let server, ddb;

async function manage(method, path, body) {
  const reply = await request(server.endpoint, { method, path: `/_stator/${path}`, headers: { 'X-Stator-Management': 'true' }, body: body === undefined ? '' : JSON.stringify(body) });
  return { status: reply.status, ...reply.json() };
}
const advance = (seconds) => manage('POST', 'clock', { advance: seconds });
const tableSentence = 'The level of configured provisioned throughput for the table was exceeded. ' +
  'Consider increasing your provisioning level with the UpdateTable API.';

async function create(TableName, read, write, index) {
  await ddb.createTable({
    TableName,
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, ...(index ? [{ AttributeName: 'g', AttributeType: 'S' }] : [])],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    ProvisionedThroughput: { ReadCapacityUnits: read, WriteCapacityUnits: write },
    ...(index && { GlobalSecondaryIndexes: [{
      IndexName: 'by-g', KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' },
      ProvisionedThroughput: { ReadCapacityUnits: index, WriteCapacityUnits: index } }] }),
  });
  return TableName;
}

before(async () => {
  if (options.skip) return;
  server = await Server.start({ args: ['--in-memory', '--clock=manual', '--clock-start=2026-11-22T10:00:00Z', '--throttling=enforce'] });
  ddb = new DynamoDB({ endpoint: server.endpoint, region: 'us-east-1', maxAttempts: 1, credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' } });
});
after(async () => {
  ddb?.destroy();
  await server?.stop();
});

test('a key per date throttles, and 200 suffixes cure it', options, async () => {
  const { hot, spread, report } = await hotDate({ ddb, endpoint: server.endpoint });
  // 1,000 units per second and those of the first moment, in writes of 10; a request in flight may overdraw.
  assert.ok(hot.served >= 500 && hot.served <= 520, `${hot.served} served`);
  assert.equal(hot.throttled, hot.sent - hot.served);
  assert.deepEqual([...hot.reasons], ['TableWriteKeyRangeThroughputExceeded']);
  assert.match(hot.message, /^Hot key "2026-11-22": [1-9],?[0-9]{3} of 1,000 write units\/s, on 1 of 5 partitions\. More units alone do not help: one partition serves at most 1,000 write units\/s\. Spread it over \d+ suffixes, "2026-11-22\.1" to /);
  assert.ok(hot.message.includes(`. DynamoDB says: ${tableSentence} Lesson: hot-date`), hot.message);
  assert.deepEqual([spread.served, spread.throttled], [1500, 0]);
  const [table] = report.resources;
  assert.equal(report.resources.length, 1);
  assert.equal(table.partitions.length, 5);
  const busy = table.partitions.filter((p) => p.consumed.write > 0);
  assert.equal(busy.length, 1);
  assert.equal(busy[0].consumed.write, hot.served * 10);
  assert.equal(busy[0].refused.write, hot.throttled * 10);
  assert.equal(busy[0].hottest[0].partitionKey, '2026-11-22');
  assert.equal(table.refused[0].requests, hot.throttled);
});

test('capacity comes back with time, and unused capacity is kept for 300 seconds', options, async () => {
  const TableName = await create('slow', 10, 2);
  const served = async () => {
    for (let n = 0; ; n++) {
      try {
        await ddb.putItem({ TableName, Item: { pk: S('k') } });
      } catch (error) {
        assert.equal(error.name, 'ProvisionedThroughputExceededException');
        assert.deepEqual(error.ThrottlingReasons, [{
          reason: 'TableWriteProvisionedThroughputExceeded', resource: 'arn:aws:dynamodb:us-east-1:000000000000:table/slow' }]);
        return n;
      }
    }
  };
  assert.equal(await served(), 2);
  await advance(1);
  assert.equal(await served(), 2);
  await advance('1h');
  assert.equal(await served(), 600);
  await ddb.updateTable({ TableName, ProvisionedThroughput: { ReadCapacityUnits: 10, WriteCapacityUnits: 7 } });
  await advance(1);
  assert.equal(await served(), 7);
});

test('constants of the model are settings', options, async () => {
  const config = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'stator-model-')), 'stator.toml');
  fs.writeFileSync(config, '[model]\npartition_write_units = 10\ntable_quota_write_units = 50\naccount_quota_write_units = 60\n' +
    'decreases_per_day = 1\ndecrease_pause = "2h"\non_demand_switches = 1\n');
  const small = await Server.start({ args: ['--in-memory', '--clock=manual', '--throttling=enforce', '--config', config] });
  const client = new DynamoDB({ endpoint: small.endpoint, region: 'us-east-1', maxAttempts: 1, credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' } });
  try {
    const limits = await client.describeLimits({});
    assert.deepEqual([limits.TableMaxWriteCapacityUnits, limits.AccountMaxWriteCapacityUnits], [50, 60]);
    const metrics = (await request(small.endpoint, { method: 'GET', path: '/metrics' })).text;
    assert.match(metrics, /^stator_account_max_table_level_writes 50$/m);
    assert.match(metrics, /^stator_account_max_writes 60$/m);
    assert.match(metrics, /^stator_account_max_reads 80000$/m);
    const create = (TableName, write) => client.createTable({
      TableName, AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: write } });
    const units = (WriteCapacityUnits) => client.updateTable({ TableName: 'hot', ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits } });
    await assertFails(create('hot', 51), 'ValidationException', /more than 50 units per table/);
    await create('hot', 50);
    await assertFails(create('second', 11), 'ValidationException', /more than 60 units per account/);
    const report = await request(small.endpoint, { method: 'GET', path: '/_stator/tables/hot/partitions', headers: { 'X-Stator-Management': 'true' } });
    assert.equal(report.json().resources[0].partitions.length, 6, 'ceil(1/3000 + 50/10)');
    for (let n = 0; n < 10; n++) await client.putItem({ TableName: 'hot', Item: { pk: S('one') } });
    await assert.rejects(client.putItem({ TableName: 'hot', Item: { pk: S('one') } }), (error) => {
      assert.deepEqual(error.ThrottlingReasons.map(({ reason }) => reason), ['TableWriteKeyRangeThroughputExceeded']);
      assert.match(error.message, /^Hot key "one": 11 \(so far\) of 10 write units\/s, on 1 of 6 partitions\. /);
      return true;
    });
    await units(49);
    await assertFails(units(48), 'LimitExceededException', /After the first 1 decreases.*every 7200 seconds/);
    await client.updateTable({ TableName: 'hot', BillingMode: 'PAY_PER_REQUEST' });
    await client.updateTable({ TableName: 'hot', BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 50 } });
    await assertFails(client.updateTable({ TableName: 'hot', BillingMode: 'PAY_PER_REQUEST' }), 'LimitExceededException', /limited to 1 in 1 day/);
  } finally {
    client.destroy();
    await small.stop();
    fs.rmSync(path.dirname(config), { recursive: true });
  }
});

test('the SDK gets past a throttle by itself', options, async () => {
  const TableName = await create('patient', 10, 1);
  const patient = new DynamoDB({ endpoint: server.endpoint, region: 'us-east-1', maxAttempts: 10, credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' } });
  await patient.putItem({ TableName, Item: { pk: S('a') } });
  const second = patient.putItem({ TableName, Item: { pk: S('b') } });
  await advance(1);
  assert.ok((await second).$metadata.attempts >= 1);
  patient.destroy();
});

test('an index without capacity throttles its table; batches and transactions say so in their own ways', options, async () => {
  const TableName = await create('indexed', 100, 100, 1);
  await ddb.putItem({ TableName, Item: { pk: S('a'), g: S('x') } });
  await assertFails(ddb.putItem({ TableName, Item: { pk: S('b'), g: S('x') } }), 'ProvisionedThroughputExceededException', /one or more global secondary indexes/);
  const batch = await ddb.batchWriteItem({ RequestItems: { [TableName]: [
    { PutRequest: { Item: { pk: S('c') } } }, { PutRequest: { Item: { pk: S('d'), g: S('x') } } }] } });
  assert.deepEqual(batch.UnprocessedItems, { [TableName]: [{ PutRequest: { Item: { pk: S('d'), g: S('x') } } }] });
  await assert.rejects(ddb.transactWriteItems({ TransactItems: [
    { Put: { TableName, Item: { pk: S('e') } } }, { Put: { TableName, Item: { pk: S('f'), g: S('x') } } }] }), (error) => {
    assert.equal(error.name, 'TransactionCanceledException');
    assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ['None', 'ProvisionedThroughputExceeded']);
    return true;
  });
  assert.equal((await ddb.getItem({ TableName, Key: { pk: S('e') } })).Item, undefined);
});

test('items are counted by partition', options, async () => {
  const TableName = await create('counted', 6000, 2000, 2000);
  const reports = async () => (await manage('GET', `tables/${TableName}/partitions`)).resources
    .map(({ partitions }) => partitions.map(({ items }) => items));
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const same = async () => {
    const { Table } = await ddb.describeTable({ TableName });
    const [table, index] = await reports();
    assert.deepEqual([sum(table), sum(index)], [Table.ItemCount, Table.GlobalSecondaryIndexes[0].ItemCount]);
    return [Table.ItemCount, Table.GlobalSecondaryIndexes[0].ItemCount];
  };
  const put = (i, g) => ddb.putItem({ TableName, Item: { pk: S(`k${i}`), n: N(i), ...(g && { g: S(g) }) } });
  for (let i = 0; i < 40; i++) await put(i, i % 2 ? `g${i}` : undefined);
  assert.deepEqual(await same(), [40, 20]);
  const [table] = await reports();
  assert.equal(table.length, 4);
  assert.ok(table.every((items) => items > 0), `${table}`);
  for (let i = 0; i < 10; i++) await put(i, 'moved');
  await ddb.updateItem({ TableName, Key: { pk: S('k39') }, UpdateExpression: 'SET n = :n REMOVE g', ExpressionAttributeValues: { ':n': N(0) } });
  await ddb.updateItem({ TableName, Key: { pk: S('new') }, UpdateExpression: 'SET n = :n', ExpressionAttributeValues: { ':n': N(0) } });
  assert.deepEqual(await same(), [41, 24]);
  for (let i = 0; i < 15; i++) await ddb.deleteItem({ TableName, Key: { pk: S(`k${i}`) } });
  await ddb.deleteItem({ TableName, Key: { pk: S('never') } });
  assert.deepEqual(await same(), [26, 12]);
  assert.equal((await manage('POST', `tables/${TableName}/split`, { hash: '0010624dd2f1a9fb' })).status, 200);
  assert.deepEqual(await same(), [26, 12]);
  assert.equal((await reports())[0].length, 5);
});

test('contributors of throttles have sort keys', options, async () => {
  const TableName = 'contributors';
  await ddb.createTable({
    TableName,
    AttributeDefinitions: ['pk', 'sk'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
    ProvisionedThroughput: { ReadCapacityUnits: 50, WriteCapacityUnits: 1 },
  });
  await ddb.updateContributorInsights({ TableName, ContributorInsightsAction: 'ENABLE' });
  const refused = {};
  for (let i = 0; i < 90; i++) {
    const sk = i % 3 === 2 ? 'quiet' : 'loud';
    try {
      await ddb.putItem({ TableName, Item: { pk: S('room'), sk: S(sk), large: S('x'.repeat(9000)) } });
    } catch (error) {
      assert.equal(error.name, 'ProvisionedThroughputExceededException');
      refused[sk] = (refused[sk] ?? 0) + 1;
    }
  }
  assert.ok(refused.loud > 50 && refused.quiet > 25, JSON.stringify(refused));
  const { rules } = await manage('GET', `tables/${TableName}/contributor-insights`);
  const of = (kind) => rules.find(({ name }) => name.includes(`-${kind}-`)).contributors;
  const [loud, quiet, ...others] = of('SKT');
  assert.deepEqual(others, []);
  assert.deepEqual([loud.partitionKey, loud.sortKey, quiet.partitionKey, quiet.sortKey], ['room', 'loud', 'room', 'quiet']);
  assert.ok(loud.weight > quiet.weight);
  const [room] = of('PKT');
  assert.equal(room.sortKey, undefined);
  assert.ok(Math.abs(room.weight - loud.weight - quiet.weight) < 1e-6 * room.weight);
});

test('modes are set per table, and wrong ones are refused', options, async () => {
  const TableName = await create('modes', 1, 1);
  const put = () => ddb.putItem({ TableName, Item: { pk: S('a'), n: N(1) } });
  assert.deepEqual(await manage('PUT', 'tables/modes/throttling', { mode: 'observe' }), { status: 200, mode: 'observe' });
  for (let i = 0; i < 5; i++) await put();
  const [table] = (await manage('GET', 'tables/modes/partitions')).resources;
  assert.deepEqual([table.consumed.write, table.letPass.write, table.refused[0].requests], [1, 4, 4]);
  assert.deepEqual(await manage('GET', 'throttling'), { status: 200, mode: 'enforce', tables: { modes: 'observe' } });
  assert.deepEqual(await manage('DELETE', 'tables/modes/throttling'), { status: 200, mode: 'enforce' });
  await assert.rejects(put(), { name: 'ProvisionedThroughputExceededException' });
  for (const body of [{ mode: 'on' }, { mode: 1 }, {}, { mode: 'off', more: 1 }]) {
    const answer = await manage('PUT', 'tables/modes/throttling', body);
    assert.equal(answer.status, 400);
    assert.match(answer.message, /off.*observe.*enforce/);
  }
  assert.equal((await manage('GET', 'tables/absent/partitions')).status, 404);
});
