// The content of the stores in this folder, and the view of a store that a server gives. The stores were written by releases of
// Stator (make.mjs); upgrade.test.mjs opens them with the binary under test.
import assert from 'node:assert/strict';

import { call, request, signedHeaders } from '../sdk/harness.mjs';

// The clock of the stores: it stands still while they are written, so that streams, tokens and time to live do not age
// between the release and the test.
export const kClockStart = '2026-11-25T00:00:00Z';
export const kClock = ['--clock=manual', `--clock-start=${kClockStart}`];
// Namespace of a release's store in a Ceph pool.
export const storeName = (release) => `made-${release}`;
const kNow = Date.parse(kClockStart) / 1000;

const definition = (name, type) => ({ AttributeName: name, AttributeType: type });
const keys = (partition, sort) => [
  { AttributeName: partition, KeyType: 'HASH' }, ...(sort ? [{ AttributeName: sort, KeyType: 'RANGE' }] : []),
];

export const kTables = [
  {
    TableName: 'plain', BillingMode: 'PAY_PER_REQUEST', KeySchema: keys('pk'), AttributeDefinitions: [definition('pk', 'S')],
    Tags: [{ Key: 'team', Value: 'store' }], DeletionProtectionEnabled: true,
  },
  {
    TableName: 'numbers', BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 20, WriteCapacityUnits: 10 },
    KeySchema: keys('n', 'b'), AttributeDefinitions: [definition('n', 'N'), definition('b', 'B')],
  },
  {
    TableName: 'indexed', BillingMode: 'PAY_PER_REQUEST', KeySchema: keys('pk', 'sk'),
    AttributeDefinitions: [definition('pk', 'S'), definition('sk', 'N'), definition('g', 'S'), definition('l', 'N'), definition('h', 'S')],
    LocalSecondaryIndexes: [{ IndexName: 'by-l', KeySchema: keys('pk', 'l'), Projection: { ProjectionType: 'ALL' } }],
    GlobalSecondaryIndexes: [
      { IndexName: 'by-g', KeySchema: keys('g', 'sk'), Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['v'] } },
      { IndexName: 'by-h', KeySchema: keys('h'), Projection: { ProjectionType: 'KEYS_ONLY' } },
    ],
  },
  {
    TableName: 'streamed', BillingMode: 'PAY_PER_REQUEST', KeySchema: keys('pk'), AttributeDefinitions: [definition('pk', 'S')],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
  },
  { TableName: 'expiring', BillingMode: 'PAY_PER_REQUEST', KeySchema: keys('pk'), AttributeDefinitions: [definition('pk', 'S')] },
];

const every = {
  s: { S: 'text "quoted" é\u0001' }, n: { N: '-12.5' }, b: { B: 'AP8=' }, t: { BOOL: true }, nul: { NULL: true },
  l: { L: [{ S: 'a' }, { N: '1' }, { L: [] }] }, m: { M: { x: { M: {} }, y: { S: '' } } },
  ss: { SS: ['b', 'a'] }, ns: { NS: ['3', '20'] }, bs: { BS: ['AQ==', 'Ag=='] },
};

export const kToken = 'upgrade-token-1';
export const transactionOf = () => ({
  ClientRequestToken: kToken,
  TransactItems: [
    { Update: { TableName: 'plain', Key: { pk: { S: 'counter' } }, UpdateExpression: 'ADD c :one', ExpressionAttributeValues: { ':one': { N: '1' } } } },
    { Put: { TableName: 'indexed', Item: { pk: { S: 't' }, sk: { N: '1' }, g: { S: 'g0' }, l: { N: '1' } } } },
  ],
});

async function ok(server, operation, body) {
  const reply = await call(server.endpoint, operation, body);
  assert.equal(reply.status, 200, `${operation}: ${reply.text}`);
  return reply.json();
}

// Writes everything that the release can keep.
export async function fill(server) {
  for (const table of kTables) {
    await ok(server, 'CreateTable', table);
    await ok(server, 'DescribeTable', { TableName: table.TableName });
  }
  await ok(server, 'UpdateTimeToLive', { TableName: 'expiring', TimeToLiveSpecification: { AttributeName: 'until', Enabled: true } });
  await ok(server, 'UpdateContributorInsights', { TableName: 'plain', ContributorInsightsAction: 'ENABLE' });
  for (let i = 0; i < 40; i++) await ok(server, 'PutItem', { TableName: 'plain', Item: { pk: { S: `p${i}` }, ...every, i: { N: `${i}` } } });
  await ok(server, 'PutItem', { TableName: 'plain', Item: { pk: { S: 'large' }, data: { S: 'x'.repeat(50_000) } } });
  for (const n of ['0', '-1', '1', '12.5', '-12.5', '1E+100', '1E-100', '-3.25E-7']) {
    for (const b of ['AA==', 'AP8=', '/w==']) await ok(server, 'PutItem', { TableName: 'numbers', Item: { n: { N: n }, b: { B: b }, v: { S: `${n}/${b}` } } });
  }
  for (let i = 0; i < 60; i++) {
    await ok(server, 'PutItem', {
      TableName: 'indexed',
      Item: { pk: { S: `c${i % 4}` }, sk: { N: `${i}` }, v: { S: `v${i}` }, l: { N: `${100 - i}` }, ...(i % 2 ? { g: { S: `g${i % 3}` } } : {}), ...(i % 5 ? {} : { h: { S: 'h' } }) },
    });
  }
  for (let i = 0; i < 10; i++) await ok(server, 'DeleteItem', { TableName: 'indexed', Key: { pk: { S: `c${i % 4}` }, sk: { N: `${i}` } } });
  for (let i = 0; i < 12; i++) await ok(server, 'PutItem', { TableName: 'streamed', Item: { pk: { S: `s${i}` }, i: { N: `${i}` } } });
  const split = await request(server.endpoint, { path: '/_stator/tables/streamed/split', headers: { 'X-Stator-Management': 'true' } });
  assert.equal(split.status, 200, split.text);
  for (let i = 0; i < 12; i++) {
    await ok(server, 'UpdateItem', { TableName: 'streamed', Key: { pk: { S: `s${i}` } }, UpdateExpression: 'SET u = :u', ExpressionAttributeValues: { ':u': { N: `${i}` } } });
  }
  await ok(server, 'DeleteItem', { TableName: 'streamed', Key: { pk: { S: 's0' } } });
  for (let i = 0; i < 10; i++) await ok(server, 'PutItem', { TableName: 'expiring', Item: { pk: { S: `e${i}` }, until: { N: `${kNow + 3600 * (i + 1)}` } } });
  await ok(server, 'TransactWriteItems', transactionOf());
  // A table that is gone, and one whose index is gone.
  await ok(server, 'CreateTable', { ...kTables[4], TableName: 'gone' });
  await ok(server, 'PutItem', { TableName: 'gone', Item: { pk: { S: 'x' } } });
  await ok(server, 'DeleteTable', { TableName: 'gone' });
}

async function scanAll(server, request) {
  const items = [];
  let ExclusiveStartKey;
  do {
    const page = await ok(server, 'Scan', { ...request, ...(ExclusiveStartKey ? { ExclusiveStartKey } : {}) });
    items.push(...page.Items);
    ({ LastEvaluatedKey: ExclusiveStartKey } = page);
  } while (ExclusiveStartKey);
  const text = (value) => JSON.stringify(value, (_, v) => (v && typeof v === 'object' && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1))) : v));
  return items.map(text).sort();
}

async function streams(server, operation, body) {
  const reply = await request(server.endpoint, {
    headers: signedHeaders(operation, { 'X-Amz-Target': `DynamoDBStreams_20120810.${operation}` }), body: JSON.stringify(body),
  });
  assert.equal(reply.status, 200, `${operation}: ${reply.text}`);
  return reply.json();
}

// The parts of the store that a client can see: definitions, items of tables and indexes, streams with their records.
export async function view(server) {
  const seen = { tables: {} };
  const { TableNames } = await ok(server, 'ListTables', {});
  for (const TableName of TableNames) {
    const { Table } = await ok(server, 'DescribeTable', { TableName });
    const one = seen.tables[TableName] = {
      definition: Table,
      tags: (await ok(server, 'ListTagsOfResource', { ResourceArn: Table.TableArn })).Tags ?? [],
      timeToLive: (await ok(server, 'DescribeTimeToLive', { TableName })).TimeToLiveDescription,
      insights: (await ok(server, 'DescribeContributorInsights', { TableName })).ContributorInsightsStatus,
      items: await scanAll(server, { TableName, ConsistentRead: true }),
      indexes: {},
    };
    for (const { IndexName } of [...(Table.LocalSecondaryIndexes ?? []), ...(Table.GlobalSecondaryIndexes ?? [])]) {
      one.indexes[IndexName] = await scanAll(server, { TableName, IndexName });
    }
    if (Table.LatestStreamArn) {
      const { StreamDescription } = await streams(server, 'DescribeStream', { StreamArn: Table.LatestStreamArn });
      one.shards = [];
      for (const shard of StreamDescription.Shards) {
        const { ShardIterator } = await streams(server, 'GetShardIterator', { StreamArn: Table.LatestStreamArn, ShardId: shard.ShardId, ShardIteratorType: 'TRIM_HORIZON' });
        const { Records } = await streams(server, 'GetRecords', { ShardIterator });
        one.shards.push({ shard, records: Records });
      }
    }
  }
  return seen;
}

// Members that a later release may add to a reply are no difference; those that the release showed must be as they were.
export function assertShows(now, before, where) {
  if (Array.isArray(before)) {
    assert.ok(Array.isArray(now), where);
    assert.equal(now.length, before.length, `${where}: length`);
    before.forEach((value, i) => assertShows(now[i], value, `${where}[${i}]`));
  } else if (before !== null && typeof before === 'object') {
    for (const [name, value] of Object.entries(before)) assertShows(now?.[name], value, `${where}.${name}`);
  } else {
    assert.deepEqual(now, before, where);
  }
}
