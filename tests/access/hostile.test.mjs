// Attempts to get around leading keys and attributes: by every operation on items and its legacy parameters, by what an error or a
// returned value shows, by statements, by names of tables and streams, and by what a signature does not cover.
import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as ddbSdk from '@aws-sdk/client-dynamodb';
import * as streamsSdk from '@aws-sdk/client-dynamodb-streams';
import { SignatureV4 } from '@smithy/signature-v4';

import { request, Server } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'rootsecret' };
const kAccount = '000000000000';
const kArn = `arn:aws:dynamodb:us-east-1:${kAccount}:table/notes`;
const kSecret = 'THE-OTHERS-SECRET';
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-hostile-access-'));
const S = (text) => ({ S: text });
const credentials = {};
let server;

// mallory: own items, all operations; reader: two attributes of all items; sneak: own items, and nothing that returns more.
const kItems = ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'ConditionCheckItem',
  'PartiQLSelect', 'PartiQLInsert', 'PartiQLUpdate', 'PartiQLDelete'].map((name) => `dynamodb:${name}`);
const own = { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['${aws:username}'] } };
const users = {
  mallory: [
    { Effect: 'Allow', Action: kItems, Resource: [kArn, `${kArn}/index/*`], Condition: own },
    { Effect: 'Deny', Action: 'dynamodb:PartiQLSelect', Resource: '*', Condition: { Bool: { 'dynamodb:FullTableScan': 'true' } } },
  ],
  reader: [{
    Effect: 'Allow', Action: ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query', 'dynamodb:Scan', 'dynamodb:PartiQLSelect', 'dynamodb:UpdateItem', 'dynamodb:ConditionCheckItem', 'dynamodb:PartiQLUpdate'],
    Resource: [kArn, `${kArn}/index/*`],
    Condition: {
      'ForAllValues:StringEquals': { 'dynamodb:Attributes': ['owner', 'id', 'title'] },
      StringEqualsIfExists: { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES', 'dynamodb:ReturnValues': ['NONE', 'UPDATED_OLD', 'UPDATED_NEW'] },
    },
  }],
  tagger: [
    { Effect: 'Allow', Action: ['dynamodb:CreateTable', 'dynamodb:TagResource'], Resource: '*', Condition: { StringEquals: { 'aws:RequestTag/team': 'blue' } } },
    { Effect: 'Allow', Action: 'dynamodb:DescribeTable', Resource: '*', Condition: { StringEquals: { 'aws:ResourceTag/team': 'red' } } },
  ],
  streamer: [{ Effect: 'Allow', Action: ['dynamodb:GetShardIterator', 'dynamodb:DescribeStream'], Resource: `${kArn}/stream/*` }],
};

const options = (keys) => ({ endpoint: server.endpoint, region: 'us-east-1', credentials: keys, maxAttempts: 1 });
const as = (name) => new Proxy({}, {
  get: (_, operation) => (input = {}) => new ddbSdk.DynamoDBClient(options(name === 'root' ? kRoot : credentials[name])).send(new ddbSdk[`${operation}Command`](input)),
});
// The answer, or the error, as text: the others' secret must be in neither.
async function refused(promise, why = 'AccessDeniedException') {
  const outcome = await promise.then((answer) => ({ answer }), (error) => ({ error }));
  const text = JSON.stringify([outcome.answer ?? null, outcome.error?.message, outcome.error?.Item, outcome.error?.CancellationReasons]);
  assert.ok(!text.includes(kSecret), text);
  assert.ok(outcome.error, `it was served: ${text}`);
  assert.equal(outcome.error.name, why, outcome.error.message);
  return outcome.error;
}

before(async () => {
  let toml = '';
  for (const [name, Statement] of Object.entries(users)) {
    credentials[name] = { accessKeyId: `AKIA${name.toUpperCase().padEnd(16, '0')}`, secretAccessKey: `${name}secret` };
    fs.writeFileSync(path.join(directory, `${name}.secret`), credentials[name].secretAccessKey, { mode: 0o600 });
    fs.writeFileSync(path.join(directory, `${name}.json`), JSON.stringify({ Version: '2012-10-17', Statement }));
    toml += `[[users]]\nname = "${name}"\naccess-key-id = "${credentials[name].accessKeyId}"\nsecret-access-key-file = "${name}.secret"\npolicy-files = ["${name}.json"]\n`;
  }
  fs.writeFileSync(path.join(directory, 'stator.toml'), toml);
  server = await Server.start({
    args: ['--in-memory', '--auth=enforce', '--config', path.join(directory, 'stator.toml')],
    env: { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey },
  });
  const root = as('root');
  await root.CreateTable({
    TableName: 'notes', BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'owner', KeyType: 'HASH' }, { AttributeName: 'id', KeyType: 'RANGE' }],
    AttributeDefinitions: ['owner', 'id', 'title', 'kind'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    GlobalSecondaryIndexes: [{ IndexName: 'byKind', KeySchema: [{ AttributeName: 'kind', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } }],
    LocalSecondaryIndexes: [{ IndexName: 'byTitle', KeySchema: [{ AttributeName: 'owner', KeyType: 'HASH' }, { AttributeName: 'title', KeyType: 'RANGE' }], Projection: { ProjectionType: 'KEYS_ONLY' } }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
  });
  for (const owner of ['mallory', 'victim']) {
    await root.PutItem({ TableName: 'notes', Item: { owner: S(owner), id: S('1'), title: S('a title'), kind: S('x'), secret: S(owner === 'victim' ? kSecret : 'own') } });
  }
});
after(async () => {
  const { Item } = await as('root').GetItem({ TableName: 'notes', Key: { owner: S('victim'), id: S('1') } });
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
  assert.equal(Item.secret.S, kSecret, 'the others\' item is as it was');
});

const mine = { owner: S('mallory'), id: S('1') };
const theirs = { owner: S('victim'), id: S('1') };
const T = 'notes';

test('leading keys hold for every operation, alone and hidden among own items', async () => {
  const mallory = as('mallory');
  assert.equal((await mallory.GetItem({ TableName: T, Key: mine })).Item.secret.S, 'own');
  const names = { '#o': 'owner' };
  const values = { ':v': S('victim') };
  const attempts = [
    () => mallory.GetItem({ TableName: T, Key: theirs }),
    () => mallory.GetItem({ TableName: kArn, Key: theirs }),
    () => mallory.GetItem({ TableName: kArn.replace(kAccount, '111122223333').replace('us-east-1', 'eu-west-1'), Key: theirs }),
    () => mallory.PutItem({ TableName: T, Item: theirs }),
    () => mallory.PutItem({ TableName: T, Item: theirs, ConditionExpression: 'attribute_not_exists(id)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
    () => mallory.PutItem({ TableName: T, Item: theirs, Expected: { id: { Exists: false } }, ReturnValues: 'ALL_OLD' }),
    () => mallory.UpdateItem({ TableName: T, Key: theirs, UpdateExpression: 'SET a = secret' }),
    () => mallory.UpdateItem({ TableName: T, Key: theirs, AttributeUpdates: { a: { Action: 'PUT', Value: S('x') } }, ReturnValues: 'ALL_OLD' }),
    () => mallory.UpdateItem({ TableName: T, Key: theirs }),
    () => mallory.DeleteItem({ TableName: T, Key: theirs, ReturnValues: 'ALL_OLD' }),
    () => mallory.DeleteItem({ TableName: T, Key: theirs, ConditionExpression: 'secret = :v', ExpressionAttributeValues: values, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
    () => mallory.Query({ TableName: T, KeyConditionExpression: '#o = :v', ExpressionAttributeNames: names, ExpressionAttributeValues: values }),
    () => mallory.Query({ TableName: T, KeyConditions: { owner: { ComparisonOperator: 'EQ', AttributeValueList: [S('victim')] } } }),
    () => mallory.Query({ TableName: T, IndexName: 'byTitle', KeyConditionExpression: '#o = :v', ExpressionAttributeNames: names, ExpressionAttributeValues: values, Select: 'ALL_ATTRIBUTES' }),
    // The index has another partition key: its values are no user's name.
    () => mallory.Query({ TableName: T, IndexName: 'byKind', KeyConditionExpression: 'kind = :v', ExpressionAttributeValues: { ':v': S('x') } }),
    () => mallory.Scan({ TableName: T }),
    () => mallory.Scan({ TableName: T, IndexName: 'byKind' }),
    () => mallory.BatchGetItem({ RequestItems: { [T]: { Keys: [mine, theirs] } } }),
    () => mallory.BatchGetItem({ RequestItems: { [T]: { Keys: [mine] }, [kArn]: { Keys: [theirs] } } }),
    () => mallory.BatchWriteItem({ RequestItems: { [T]: [{ PutRequest: { Item: mine } }, { DeleteRequest: { Key: theirs } }] } }),
    () => mallory.BatchWriteItem({ RequestItems: { [T]: [{ PutRequest: { Item: mine } }], [kArn]: [{ PutRequest: { Item: theirs } }] } }),
    () => mallory.TransactGetItems({ TransactItems: [{ Get: { TableName: T, Key: mine } }, { Get: { TableName: T, Key: theirs } }] }),
    () => mallory.TransactWriteItems({ TransactItems: [{ Put: { TableName: T, Item: { ...mine, id: S('9') } } }, { Delete: { TableName: T, Key: theirs } }] }),
    () => mallory.TransactWriteItems({ TransactItems: [{ ConditionCheck: { TableName: T, Key: theirs, ConditionExpression: 'attribute_not_exists(id)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } }] }),
    () => mallory.TransactWriteItems({ TransactItems: [{ Update: { TableName: kArn, Key: theirs, UpdateExpression: 'REMOVE secret' } }] }),
  ];
  for (const attempt of attempts) await refused(attempt());
});

test('statements: keys by every form of the condition', async () => {
  const mallory = as('mallory');
  const run = (Statement, Parameters) => mallory.ExecuteStatement({ Statement, Parameters });
  assert.equal((await run('SELECT secret FROM notes WHERE owner = ?', [S('mallory')])).Items[0].secret.S, 'own');
  const attempts = [
    () => run(`SELECT * FROM notes WHERE owner = 'victim'`),
    () => run('SELECT * FROM notes WHERE owner = ?', [S('victim')]),
    () => run(`SELECT * FROM notes WHERE owner IN ['mallory', 'victim']`),
    () => run(`SELECT * FROM notes WHERE owner = 'mallory' OR owner = 'victim'`),
    () => run(`SELECT * FROM notes WHERE owner >= 'mallory'`),
    () => run(`SELECT * FROM notes WHERE NOT owner = 'mallory'`),
    () => run(`SELECT * FROM notes WHERE id = '1'`),
    () => run('SELECT * FROM notes'),
    () => run(`SELECT * FROM "notes"."byKind" WHERE kind = 'x'`),
    () => run('SELECT * FROM "notes"."byKind"'),
    () => run(`SELECT * FROM "${kArn}" WHERE owner = 'victim'`),
    () => run(`UPDATE notes SET a = secret WHERE owner = 'victim' AND id = '1' RETURNING ALL NEW *`),
    () => run(`DELETE FROM notes WHERE owner = 'victim' AND id = '1' RETURNING ALL OLD *`),
    () => run(`INSERT INTO notes VALUE {'owner': 'victim', 'id': '2'}`),
    () => mallory.BatchExecuteStatement({ Statements: [{ Statement: `SELECT * FROM notes WHERE owner = 'mallory' AND id = '1'` }, { Statement: `SELECT * FROM notes WHERE owner = 'victim' AND id = '1'` }] }),
    () => mallory.ExecuteTransaction({ TransactStatements: [{ Statement: `EXISTS(SELECT * FROM notes WHERE owner = 'victim' AND id = '1' AND secret = 'x')` }, { Statement: `INSERT INTO notes VALUE {'owner': 'mallory', 'id': '5'}` }] }),
    () => mallory.ExecuteTransaction({ TransactStatements: [{ Statement: `SELECT * FROM notes WHERE owner = 'victim' AND id = '1'` }] }),
  ];
  for (const [i, attempt] of attempts.entries()) {
    const error = await attempt().then(() => undefined, (thrown) => thrown);
    assert.ok(error, `attempt ${i} was served`);
    assert.ok(['AccessDeniedException', 'ValidationException', 'ResourceNotFoundException'].includes(error.name), `attempt ${i}: ${error.name} ${error.message}`);
    assert.ok(!JSON.stringify([error.message, error.CancellationReasons]).includes(kSecret));
  }
  // A type that no key has, and a condition that fixes the key to two values, find nothing.
  for (const condition of ['owner = 1', 'owner = true', 'owner = MISSING', `owner = 'mallory' AND owner = 'victim'`]) {
    const answer = await run(`SELECT * FROM notes WHERE ${condition}`).catch(() => ({ Items: [] }));
    assert.ok(!JSON.stringify(answer).includes(kSecret), condition);
  }
  // A page of the own items does not lead to others'.
  await mallory.PutItem({ TableName: T, Item: { owner: S('mallory'), id: S('2') } });
  const { NextToken } = await mallory.ExecuteStatement({ Statement: `SELECT * FROM notes WHERE owner = 'mallory'`, Limit: 1 });
  assert.ok(NextToken);
  await refused(mallory.ExecuteStatement({ Statement: `SELECT * FROM notes WHERE owner = 'victim'`, NextToken }));
  const { LastEvaluatedKey } = await mallory.Query({ TableName: T, KeyConditionExpression: '#o = :v', ExpressionAttributeNames: { '#o': 'owner' }, ExpressionAttributeValues: { ':v': S('mallory') }, Limit: 1 });
  await refused(mallory.Query({
    TableName: T, KeyConditionExpression: '#o = :v', ExpressionAttributeNames: { '#o': 'owner' }, ExpressionAttributeValues: { ':v': S('mallory') }, ExclusiveStartKey: { ...LastEvaluatedKey, owner: S('victim') },
  }), 'ValidationException');
});

test('attributes: nothing shows, filters by, or copies one that is not allowed', async () => {
  const reader = as('reader');
  const good = { TableName: T, Key: theirs, ProjectionExpression: 'title' };
  assert.equal((await reader.GetItem(good)).Item.title.S, 'a title');
  await reader.UpdateItem({ TableName: T, Key: theirs, UpdateExpression: 'SET title = :t', ExpressionAttributeValues: { ':t': S('a title') }, ReturnValues: 'UPDATED_NEW' });
  const names = { '#o': 'owner' };
  const query = { TableName: T, KeyConditionExpression: '#o = :v', ExpressionAttributeNames: names, ExpressionAttributeValues: { ':v': S('victim') } };
  const probe = { ':p': S('THE') };
  const attempts = [
    () => reader.GetItem({ TableName: T, Key: theirs }),
    () => reader.GetItem({ ...good, ProjectionExpression: 'title, secret' }),
    () => reader.GetItem({ ...good, ProjectionExpression: 'title, #s', ExpressionAttributeNames: { '#s': 'secret' } }),
    () => reader.GetItem({ TableName: T, Key: theirs, AttributesToGet: ['secret'] }),
    () => reader.GetItem({ ...good, ProjectionExpression: 'secret.x1[0]' }),
    () => reader.BatchGetItem({ RequestItems: { [T]: { Keys: [theirs], ProjectionExpression: 'secret' } } }),
    () => reader.BatchGetItem({ RequestItems: { [T]: { Keys: [theirs] } } }),
    () => reader.BatchGetItem({ RequestItems: { [T]: { Keys: [theirs], ProjectionExpression: 'title' }, [kArn]: { Keys: [mine] } } }),
    () => reader.TransactGetItems({ TransactItems: [{ Get: { TableName: T, Key: theirs } }] }),
    () => reader.Query(query),
    () => reader.Query({ ...query, Select: 'ALL_ATTRIBUTES' }),
    () => reader.Query({ ...query, Select: 'COUNT' }),
    () => reader.Query({ ...query, ProjectionExpression: 'title', FilterExpression: 'begins_with(secret, :p)', ExpressionAttributeValues: { ':v': S('victim'), ...probe } }),
    () => reader.Query({ TableName: T, KeyConditions: { owner: { ComparisonOperator: 'EQ', AttributeValueList: [S('victim')] } }, AttributesToGet: ['title'], QueryFilter: { secret: { ComparisonOperator: 'BEGINS_WITH', AttributeValueList: [S('THE')] } } }),
    () => reader.Query({ ...query, IndexName: 'byTitle' }),
    () => reader.Scan({ TableName: T, ProjectionExpression: 'title', FilterExpression: 'contains(secret, :p)', ExpressionAttributeValues: probe }),
    () => reader.Scan({ TableName: T, AttributesToGet: ['title'], ScanFilter: { secret: { ComparisonOperator: 'NOT_NULL' } } }),
    () => reader.Scan({ TableName: T }),
    () => reader.UpdateItem({ TableName: T, Key: theirs, UpdateExpression: 'SET title = secret' }),
    () => reader.UpdateItem({ TableName: T, Key: theirs, UpdateExpression: 'SET title = if_not_exists(secret, title)' }),
    () => reader.UpdateItem({ TableName: T, Key: theirs, UpdateExpression: 'REMOVE secret' }),
    () => reader.UpdateItem({ TableName: T, Key: theirs, AttributeUpdates: { secret: { Action: 'DELETE' } } }),
    () => reader.UpdateItem({ TableName: T, Key: theirs, UpdateExpression: 'SET title = :t', ConditionExpression: 'begins_with(secret, :p)', ExpressionAttributeValues: { ':t': S('x'), ...probe } }),
    () => reader.UpdateItem({ TableName: T, Key: theirs, AttributeUpdates: { title: { Action: 'PUT', Value: S('x') } }, Expected: { secret: { ComparisonOperator: 'BEGINS_WITH', AttributeValueList: [S('THE')] } } }),
    () => reader.UpdateItem({ TableName: T, Key: theirs, UpdateExpression: 'SET title = :t', ExpressionAttributeValues: { ':t': S('a title') }, ReturnValues: 'ALL_NEW' }),
    () => reader.UpdateItem({ TableName: T, Key: theirs, UpdateExpression: 'SET title = :t', ExpressionAttributeValues: { ':t': S('x') }, ConditionExpression: 'title = :t', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
    () => reader.TransactWriteItems({ TransactItems: [{ ConditionCheck: { TableName: T, Key: theirs, ConditionExpression: 'attribute_not_exists(title)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } }] }),
    () => reader.TransactWriteItems({ TransactItems: [{ ConditionCheck: { TableName: T, Key: theirs, ConditionExpression: 'size(secret) > :n', ExpressionAttributeValues: { ':n': { N: '3' } } } }] }),
    () => reader.ExecuteStatement({ Statement: `SELECT secret FROM notes WHERE owner = 'victim'` }),
    () => reader.ExecuteStatement({ Statement: `SELECT * FROM notes WHERE owner = 'victim'` }),
    () => reader.ExecuteStatement({ Statement: `SELECT title FROM notes WHERE owner = 'victim' AND begins_with(secret, 'THE')` }),
    () => reader.ExecuteStatement({ Statement: `SELECT title FROM notes WHERE owner = 'victim' AND NOT contains(secret, 'THE')` }),
    () => reader.ExecuteStatement({ Statement: `UPDATE notes SET title = secret WHERE owner = 'victim' AND id = '1'` }),
    () => reader.ExecuteStatement({ Statement: `UPDATE notes SET title = 'x' WHERE owner = 'victim' AND id = '1' RETURNING ALL OLD *` }),
  ];
  for (const [i, attempt] of attempts.entries()) await refused(attempt()).catch((error) => { throw new Error(`attempt ${i}: ${error.message}`); });
  // Refused by the operation itself: a Select that the parameters do not bear out.
  await refused(reader.Scan({ TableName: T, Select: 'SPECIFIC_ATTRIBUTES' }), 'ValidationException');
  await refused(reader.Query({ ...query, Select: 'SPECIFIC_ATTRIBUTES' }), 'ValidationException');
});

test('streams: an iterator is no right', async () => {
  const streams = (name) => new Proxy({}, {
    get: (_, operation) => (input) => new streamsSdk.DynamoDBStreamsClient(options(name === 'root' ? kRoot : credentials[name])).send(new streamsSdk[`${operation}Command`](input)),
  });
  const { Table } = await as('root').DescribeTable({ TableName: T });
  const StreamArn = Table.LatestStreamArn;
  const { StreamDescription } = await streams('streamer').DescribeStream({ StreamArn });
  for (const { ShardId } of StreamDescription.Shards) {
    const { ShardIterator } = await streams('streamer').GetShardIterator({ StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' });
    await refused(streams('streamer').GetRecords({ ShardIterator }));
    await refused(streams('mallory').GetRecords({ ShardIterator }));
    // Another stream's name in front of it.
    await refused(streams('streamer').GetRecords({ ShardIterator: ShardIterator.replace(':table/notes/', ':table/other/') }));
  }
  await refused(streams('mallory').GetShardIterator({ StreamArn, ShardId: StreamDescription.Shards[0].ShardId, ShardIteratorType: 'TRIM_HORIZON' }));
});

class Sha256 {
  constructor(key) { this.hash = key === undefined ? createHash('sha256') : createHmac('sha256', key); }
  update(data) { this.hash.update(data); }
  async digest() { return new Uint8Array(this.hash.digest()); }
}
const post = (headers, body, target = '/') => request(server.endpoint, { headers, body, path: target });
const json = { 'content-type': 'application/x-amz-json-1.0' };

test('signatures: what they do not cover opens nothing', async () => {
  const url = new URL(server.endpoint);
  const signerOf = (keys, service = 'dynamodb') => new SignatureV4({ service, region: 'us-east-1', credentials: keys, sha256: Sha256 });
  const plain = { method: 'POST', protocol: 'http:', hostname: url.hostname, port: Number(url.port), path: '/', query: {} };
  const body = JSON.stringify({ TableName: T });
  const target = (name) => ({ 'x-amz-target': `DynamoDB_20120810.${name}` });
  const nameOf = (reply) => (reply.text.startsWith('{') ? reply.json().__type?.split('#')[1] : reply.text);
  const stillThere = async () => assert.equal((await as('root').DescribeTable({ TableName: T })).Table.TableStatus, 'ACTIVE');

  // Signed without the operation: by header, and presigned.
  const bare = await signerOf(kRoot).sign({ ...plain, headers: { host: url.host, ...json }, body });
  const unsigned = await post({ ...bare.headers, ...target('DeleteTable') }, body);
  assert.equal(nameOf(unsigned), 'InvalidSignatureException', unsigned.text);
  assert.match(unsigned.text, /'X-Amz-Target' must be a 'SignedHeader'/);
  const presigned = await signerOf(kRoot).presign({ ...plain, headers: { host: url.host }, body });
  const query = new URLSearchParams(presigned.query).toString().replaceAll('+', '%20');
  assert.equal(nameOf(await post({ host: url.host, ...json, ...target('DeleteTable') }, body, `/?${query}`)), 'InvalidSignatureException');
  // A second operation beside the signed one; the same header in another case.
  const good = await signerOf(kRoot).sign({ ...plain, headers: { host: url.host, ...json, ...target('DescribeTable') }, body });
  assert.equal((await post(good.headers, body)).status, 200);
  for (const extra of [['DynamoDB_20120810.DescribeTable', 'DynamoDB_20120810.DeleteTable'], ['DynamoDB_20120810.DeleteTable', 'DynamoDB_20120810.DescribeTable']])
    // A proxy joins the two lines to one operation that does not exist.
    assert.ok(['InvalidSignatureException', 'UnknownOperationException'].includes(nameOf(await post({ ...good.headers, 'x-amz-target': extra }, body))));
  // Unsigned, of another service, as a form, with both forms of a signature, with another user's key id in front.
  const stripped = { host: url.host, ...json, ...target('DeleteTable') };
  assert.equal(nameOf(await post(stripped, body)), 'MissingAuthenticationTokenException');
  for (const service of ['iam', 'sts', 'stator', 's3']) {
    const other = await signerOf(kRoot, service).sign({ ...plain, headers: { host: url.host, ...json, ...target('DeleteTable') }, body });
    assert.equal(nameOf(await post(other.headers, body)), 'InvalidSignatureException');
  }
  assert.equal(nameOf(await post(good.headers, body, `/?${query}`)), 'InvalidSignatureException');
  const low = await signerOf(credentials.mallory).sign({ ...plain, headers: { host: url.host, ...json, ...target('DeleteTable') }, body });
  assert.equal(nameOf(await post(low.headers, body)), 'AccessDeniedException');
  const raised = low.headers.authorization.replace(credentials.mallory.accessKeyId, kRoot.accessKeyId);
  assert.equal(nameOf(await post({ ...low.headers, authorization: raised }, body)), 'InvalidSignatureException');
  const twice = await post({ ...low.headers, authorization: [good.headers.authorization, low.headers.authorization] }, body);
  assert.notEqual(twice.status, 200);
  // A body that the signature does not cover.
  for (const sha of ['UNSIGNED-PAYLOAD', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD', createHash('sha256').update('').digest('hex')]) {
    const lax = await signerOf(kRoot).sign({ ...plain, headers: { host: url.host, ...json, ...target('DeleteTable'), 'x-amz-content-sha256': sha }, body: '' });
    assert.equal(nameOf(await post({ ...lax.headers, 'x-amz-content-sha256': sha }, body)), 'InvalidSignatureException');
  }
  await stillThere();
});

// A caller who may only make blue tables makes none that counts as red.
test('tags: those that occur twice, or differ by case, count as the table has them', async () => {
  const tagger = as('tagger');
  const create = (TableName, ...tags) => tagger.CreateTable({
    TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], Tags: tags.map(([Key, Value]) => ({ Key, Value })),
  });
  await refused(create('blue-red', ['team', 'blue'], ['team', 'red']));
  await refused(create('Blue-red', ['Team', 'blue'], ['TEAM', 'red']));
  const made = { 'red-blue': [['team', 'red'], ['team', 'blue']], 'two-cases': [['team', 'blue'], ['Team', 'red']], 'two-others': [['Team', 'red'], ['TEAM', 'blue']] };
  for (const [TableName, tags] of Object.entries(made)) {
    await create(TableName, ...tags);
    await refused(tagger.DescribeTable({ TableName }));
  }
  const ResourceArn = `arn:aws:dynamodb:us-east-1:${kAccount}:table/red-blue`;
  await refused(tagger.TagResource({ ResourceArn, Tags: [{ Key: 'team', Value: 'blue' }, { Key: 'team', Value: 'red' }] }));
  await refused(tagger.TagResource({ ResourceArn, Tags: [{ Key: 'TEAM', Value: 'red' }] }));
  await tagger.TagResource({ ResourceArn, Tags: [{ Key: 'team', Value: 'blue' }, { Key: 'TEAM', Value: 'red' }] });
  await refused(tagger.DescribeTable({ TableName: 'red-blue' }));
});

test('bodies: a member that occurs twice is judged as it is executed', async () => {
  const url = new URL(server.endpoint);
  const signer = new SignatureV4({ service: 'dynamodb', region: 'us-east-1', credentials: credentials.mallory, sha256: Sha256 });
  const own = JSON.stringify(mine), foreign = JSON.stringify(theirs);
  const bodies = [
    ['GetItem', (a, b) => `{"TableName":"notes","Key":${a},"Key":${b}}`],
    ['BatchGetItem', (a, b) => `{"RequestItems":{"notes":{"Keys":[${a}]}},"RequestItems":{"notes":{"Keys":[${b}]}}}`],
    ['BatchGetItem', (a, b) => `{"RequestItems":{"notes":{"Keys":[${a}]},"notes":{"Keys":[${b}]}}}`],
    ['GetItem', (a, b) => `{"TableName":"notes","Key":{"owner":${JSON.stringify(JSON.parse(a).owner)},"owner":${JSON.stringify(JSON.parse(b).owner)},"id":{"S":"1"}}}`],
    ['GetItem', (a, b) => `{"TableName":"notes","Key":{"owner":{"S":"${JSON.parse(a).owner.S}","S":"${JSON.parse(b).owner.S}"},"id":{"S":"1"}}}`],
    ['GetItem', (a, b) => `{"TableName":"notes","Key":${a},"\\u004bey":${b}}`],
    ['Query', (a, b) => `{"TableName":"notes","KeyConditionExpression":"#o = :o","ExpressionAttributeNames":{"#o":"owner"},"ExpressionAttributeValues":{":o":${JSON.stringify(JSON.parse(a).owner)},":o":${JSON.stringify(JSON.parse(b).owner)}}}`],
  ];
  for (const [operation, make] of bodies) {
    for (const body of [make(own, foreign), make(foreign, own)]) {
      const { headers } = await signer.sign({
        method: 'POST', protocol: 'http:', hostname: url.hostname, port: Number(url.port), path: '/', query: {},
        headers: { host: url.host, ...json, 'x-amz-target': `DynamoDB_20120810.${operation}` }, body,
      });
      const reply = await post(headers, body);
      assert.ok(!reply.text.includes(kSecret), `${body}: ${reply.text}`);
    }
  }
});
