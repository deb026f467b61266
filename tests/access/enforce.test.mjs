// A server with --auth=enforce and users of its settings file, asked by the AWS SDK: signatures, the words of refusals, and the
// examples that made people ask for fine-grained access control.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as ddbSdk from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import * as streamsSdk from '@aws-sdk/client-dynamodb-streams';
import { SignatureV4 } from '@smithy/signature-v4';

import { request, Server } from '../sdk/harness.mjs';

const kAccount = '000000000000';
const kArn = `arn:aws:dynamodb:us-east-1:${kAccount}:table`;
const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'root/secret+1' };
const S = (text) => ({ S: text });

// The user's own items in a table of photos, by leading keys.
const photographer = {
  Version: '2012-10-17',
  Statement: [{
    Effect: 'Allow',
    Action: ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem',
      'dynamodb:BatchWriteItem', 'dynamodb:PartiQLSelect', 'dynamodb:PartiQLInsert', 'dynamodb:ConditionCheckItem'],
    Resource: `${kArn}/photos`,
    Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['${aws:username}'] } },
  }, {
    Effect: 'Deny', Action: 'dynamodb:PartiQLSelect', Resource: '*', Condition: { Bool: { 'dynamodb:FullTableScan': 'true' } },
  }],
};
// Three attributes of one index, and nothing of the table.
const billboard = {
  Version: '2012-10-17',
  Statement: [{
    Effect: 'Allow', Action: ['dynamodb:Query', 'dynamodb:Scan'], Resource: `${kArn}/photos/index/byPlace`,
    Condition: {
      'ForAllValues:StringEquals': { 'dynamodb:Attributes': ['place', 'title', 'taken'] },
      StringEquals: { 'dynamodb:Select': 'SPECIFIC_ATTRIBUTES' },
    },
  }],
};
const archiver = {
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Action: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'], Resource: `${kArn}/photos/stream/*` },
    { Effect: 'Allow', Action: 'dynamodb:ListStreams', Resource: '*' },
  ],
};

const users = {
  alice: { policy: photographer },
  bob: { policy: photographer },
  billboard: { policy: billboard },
  archiver: { policy: archiver },
  analyst: { attached: 'arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess' },
  nothing: {},
};

let server, directory, endpoint, config;
const credentials = {};

function writeSettings() {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-access-'));
  let toml = '';
  for (const [name, { policy, attached }] of Object.entries(users)) {
    credentials[name] = { accessKeyId: `AKIA${name.toUpperCase().padEnd(16, '0')}`, secretAccessKey: crypto.randomBytes(20).toString('hex') };
    fs.writeFileSync(path.join(directory, `${name}.secret`), `${credentials[name].secretAccessKey}\n`, { mode: 0o600 });
    toml += `[[users]]\nname = "${name}"\naccess-key-id = "${credentials[name].accessKeyId}"\nsecret-access-key-file = "${name}.secret"\n`;
    if (policy) {
      fs.writeFileSync(path.join(directory, `${name}.json`), JSON.stringify(policy));
      toml += `policy-files = ["${name}.json"]\n`;
    }
    if (attached) toml += `attached-policies = ["${attached}"]\n`;
  }
  config = path.join(directory, 'stator.toml');
  fs.writeFileSync(config, toml);
}

const environment = { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey };
const startServer = (args = ['--auth=enforce']) => Server.start({ args: ['--in-memory', '--config', config, ...args], env: environment });

const operations = (client, sdk) => new Proxy({}, {
  get: (_, operation) => async (input = {}) => {
    const answer = await client.send(new sdk[`${operation}Command`](input));
    delete answer.$metadata;
    return answer;
  },
});
const options = (keys, extra = {}) => ({ endpoint, region: 'us-east-1', credentials: keys, maxAttempts: 1, ...extra });
const as = (name, extra) => operations(new DynamoDBClient(options(name === 'root' ? kRoot : credentials[name], extra)), ddbSdk);
const streamsAs = (name) => operations(new DynamoDBStreamsClient(options(credentials[name])), streamsSdk);

async function refused(promise, name, text) {
  try {
    await promise;
  } catch (error) {
    assert.equal(error.name, name, `${error.name}: ${error.message}`);
    if (text) assert.ok(error.message.includes(text), error.message);
    return error;
  }
  return assert.fail(`expected ${name} (${text})`);
}
const denied = (promise, action, text = '') => refused(promise, 'AccessDeniedException', action && ` is not authorized to perform: dynamodb:${action} on resource: ${text}`);

before(async () => {
  writeSettings();
  server = await startServer();
  endpoint = server.endpoint;
  const root = as('root');
  await root.CreateTable({
    TableName: 'photos', BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'user', KeyType: 'HASH' }, { AttributeName: 'photo', KeyType: 'RANGE' }],
    AttributeDefinitions: ['user', 'photo', 'place', 'taken'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    GlobalSecondaryIndexes: [{
      IndexName: 'byPlace', KeySchema: [{ AttributeName: 'place', KeyType: 'HASH' }, { AttributeName: 'taken', KeyType: 'RANGE' }],
      Projection: { ProjectionType: 'ALL' },
    }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
  });
  for (const user of ['alice', 'bob']) {
    for (const photo of ['1', '2']) {
      await root.PutItem({
        TableName: 'photos',
        Item: { user: S(user), photo: S(photo), place: S('harbour'), taken: S(`2026-0${photo}`), title: S(`${user} ${photo}`), secret: S('face') },
      });
    }
  }
});
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

const key = (user, photo = '1') => ({ user: S(user), photo: S(photo) });

test('a user sees the own photos, and no others, by every operation', async () => {
  const alice = as('alice');
  const TableName = 'photos';
  assert.equal((await alice.GetItem({ TableName, Key: key('alice') })).Item.title.S, 'alice 1');
  await denied(alice.GetItem({ TableName, Key: key('bob') }), 'GetItem', `${kArn}/photos because no identity-based policy allows the dynamodb:GetItem action`);
  const mine = { TableName, KeyConditionExpression: '#u = :u', ExpressionAttributeNames: { '#u': 'user' } };
  assert.equal((await alice.Query({ ...mine, ExpressionAttributeValues: { ':u': S('alice') } })).Count, 2);
  await denied(alice.Query({ ...mine, ExpressionAttributeValues: { ':u': S('bob') } }), 'Query');
  await denied(alice.Scan({ TableName }), 'Scan');
  await denied(alice.Query({ TableName, IndexName: 'byPlace', KeyConditionExpression: 'place = :p', ExpressionAttributeValues: { ':p': S('harbour') } }),
    'Query', `${kArn}/photos/index/byPlace`);
  const batch = await alice.BatchGetItem({ RequestItems: { photos: { Keys: [key('alice'), key('alice', '2')] } } });
  assert.equal(batch.Responses.photos.length, 2);
  await denied(alice.BatchGetItem({ RequestItems: { photos: { Keys: [key('alice'), key('bob')] } } }), 'BatchGetItem');
  await denied(alice.BatchWriteItem({ RequestItems: { photos: [{ DeleteRequest: { Key: key('alice', '9') } }, { DeleteRequest: { Key: key('bob') } }] } }), 'BatchWriteItem');
  await denied(alice.PutItem({ TableName, Item: { ...key('bob', '9') } }), 'PutItem');
  await denied(alice.DeleteItem({ TableName, Key: key('bob') }), 'DeleteItem');
  await denied(alice.TransactGetItems({ TransactItems: [{ Get: { TableName, Key: key('alice') } }, { Get: { TableName, Key: key('bob') } }] }), 'GetItem');
  await denied(alice.TransactWriteItems({ TransactItems: [
    { Put: { TableName, Item: key('alice', '8') } },
    { ConditionCheck: { TableName, Key: key('bob'), ConditionExpression: 'attribute_exists(photo)' } },
  ] }), 'ConditionCheckItem');
  assert.equal((await alice.GetItem({ TableName, Key: key('alice', '8') })).Item, undefined, 'nothing of a refused transaction is done');
  assert.equal((await alice.ExecuteStatement({ Statement: 'SELECT title FROM photos WHERE "user" = \'alice\'' })).Items.length, 2);
  await denied(alice.ExecuteStatement({ Statement: 'SELECT title FROM photos WHERE "user" = \'bob\'' }), 'PartiQLSelect');
  await refused(alice.ExecuteStatement({ Statement: 'SELECT title FROM photos' }), 'AccessDeniedException', 'with an explicit deny in an identity-based policy');
  await denied(alice.BatchExecuteStatement({ Statements: [
    { Statement: 'INSERT INTO photos VALUE {\'user\': \'alice\', \'photo\': \'7\'}' },
    { Statement: 'INSERT INTO photos VALUE {\'user\': \'bob\', \'photo\': \'7\'}' },
  ] }), 'PartiQLInsert');
  assert.equal((await alice.GetItem({ TableName, Key: key('alice', '7') })).Item, undefined);
  await denied(alice.DescribeTable({ TableName }), 'DescribeTable');
  await denied(alice.ListTables({}), 'ListTables', '*');
});

test('a billboard reads three attributes of one index and nothing of the table', async () => {
  const reader = as('billboard');
  const query = {
    TableName: 'photos', IndexName: 'byPlace', KeyConditionExpression: 'place = :p', ExpressionAttributeValues: { ':p': S('harbour') },
    ProjectionExpression: 'title, taken',
  };
  const { Items } = await reader.Query(query);
  assert.equal(Items.length, 4);
  for (const item of Items) assert.deepEqual(Object.keys(item).sort(), ['taken', 'title']);
  await denied(reader.Query({ ...query, ProjectionExpression: 'title, secret' }), 'Query', `${kArn}/photos/index/byPlace`);
  await denied(reader.Query({ ...query, ProjectionExpression: undefined }), 'Query');
  await denied(reader.Query({ ...query, FilterExpression: 'secret = :p' }), 'Query');
  await denied(reader.Query({ ...query, ProjectionExpression: 'title, #s', ExpressionAttributeNames: { '#s': 'secret' } }), 'Query');
  await denied(reader.GetItem({ TableName: 'photos', Key: key('alice'), ProjectionExpression: 'title' }), 'GetItem', `${kArn}/photos`);
  await denied(reader.Scan({ TableName: 'photos', ProjectionExpression: 'title' }), 'Scan');
});

test('an analyst reads everything and changes nothing', async () => {
  const analyst = as('analyst');
  assert.equal((await analyst.Scan({ TableName: 'photos' })).Count, 4);
  assert.deepEqual((await analyst.ListTables({})).TableNames, ['photos']);
  await analyst.DescribeTable({ TableName: 'photos' });
  await denied(analyst.PutItem({ TableName: 'photos', Item: key('x') }), 'PutItem');
  await denied(analyst.DeleteTable({ TableName: 'photos' }), 'DeleteTable');
  await denied(analyst.UpdateItem({ TableName: 'photos', Key: key('x') }), 'UpdateItem');
});

test('an archiver reads the stream only', async () => {
  const streams = streamsAs('archiver');
  const { Streams } = await streams.ListStreams({ TableName: 'photos' });
  const { StreamDescription } = await streams.DescribeStream({ StreamArn: Streams[0].StreamArn });
  const iteratorOf = async ({ ShardId }) =>
    (await streams.GetShardIterator({ StreamArn: Streams[0].StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' })).ShardIterator;
  let records = 0;
  let ShardIterator;
  for (const shard of StreamDescription.Shards) {
    ShardIterator = await iteratorOf(shard);
    records += (await streams.GetRecords({ ShardIterator })).Records.length;
  }
  assert.equal(records, 4);
  await denied(as('archiver').GetItem({ TableName: 'photos', Key: key('alice') }), 'GetItem');
  // Its iterator does not serve another caller.
  await denied(streamsAs('alice').GetRecords({ ShardIterator }), 'GetRecords', Streams[0].StreamArn);
});

test('a caller without rights learns nothing of which tables exist', async () => {
  const nobody = as('nothing');
  const there = await denied(nobody.DescribeTable({ TableName: 'photos' }));
  const missing = await denied(nobody.DescribeTable({ TableName: 'absent' }));
  assert.equal(there.message.replaceAll('photos', 'absent'), missing.message);
  await denied(nobody.GetItem({ TableName: 'absent', Key: { a: S('b') } }));
});

test('keys that are wrong are refused in the service\'s words', async () => {
  const list = (keys, extra) => operations(new DynamoDBClient(options(keys, extra)), ddbSdk).ListTables({});
  await refused(list({ accessKeyId: 'AKIAUNKNOWNUNKNOWN00', secretAccessKey: 'x' }), 'UnrecognizedClientException',
    'The security token included in the request is invalid.');
  await refused(list({ ...kRoot, secretAccessKey: 'wrong' }), 'InvalidSignatureException',
    'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method.');
  await refused(list({ ...kRoot, sessionToken: 'made-up' }), 'UnrecognizedClientException', 'The security token included in the request is invalid');
  await refused(list(kRoot, { region: 'eu-west-1' }), 'InvalidSignatureException', 'Credential should be scoped to a valid region.');
  await refused(list(kRoot, { systemClockOffset: -3600_000 }), 'InvalidSignatureException', 'Signature expired: ');
  await refused(list(kRoot, { systemClockOffset: 3600_000 }), 'InvalidSignatureException', 'Signature not yet current: ');
  await list(kRoot);
});

class Sha256 {
  constructor(secret) { this.hash = secret ? crypto.createHmac('sha256', secret) : crypto.createHash('sha256'); }
  update(data) { this.hash.update(data); }
  async digest() { return new Uint8Array(this.hash.digest()); }
}
async function sign(keys, service, { method = 'POST', path: target = '/', headers = {}, body = '' } = {}) {
  const url = new URL(endpoint);
  const signer = new SignatureV4({ service, region: 'us-east-1', credentials: keys, sha256: Sha256 });
  const signed = await signer.sign({ method, protocol: 'http:', hostname: url.hostname, port: url.port, path: target, query: {}, headers: { host: url.host, ...headers }, body });
  return { method, path: target, headers: signed.headers, body };
}

test('a signed request that was changed is refused, whatever was changed', async () => {
  const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'DynamoDB_20120810.ListTables' };
  const good = await sign(kRoot, 'dynamodb', { headers, body: '{"Limit":10}' });
  assert.equal((await request(endpoint, good)).status, 200);
  const refusal = async (change, type = 'InvalidSignatureException') => {
    const changed = { ...good, headers: { ...good.headers }, ...change };
    const reply = await request(endpoint, changed);
    assert.equal(reply.status, 400, reply.text);
    assert.ok(reply.json().__type.endsWith(type), reply.text);
  };
  await refusal({ body: '{"Limit":11}' });
  await refusal({ path: '/?a=b' });
  await refusal({ headers: { ...good.headers, 'x-amz-target': 'DynamoDB_20120810.DescribeLimits' } });
  await refusal({ headers: { ...good.headers, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' } });
  const stripped = Object.fromEntries(Object.entries(good.headers).filter(([name]) => name !== 'authorization'));
  await refusal({ headers: stripped }, 'MissingAuthenticationTokenException');
  // Signed for another service.
  const other = await sign(kRoot, 'iam', { headers, body: '{"Limit":10}' });
  await refusal(other);
});

test('management calls are actions, and health is open', async () => {
  const call = async (name, keys, method = 'GET', target = '/_stator/status') =>
    request(endpoint, await sign(keys, name, { method, path: target, headers: { 'x-stator-management': 'true' } }));
  assert.equal((await request(endpoint, { method: 'GET', path: '/health/ready' })).status, 200);
  assert.equal((await request(endpoint, { method: 'GET', path: '/_stator/status', headers: { 'x-stator-management': 'true' } })).status, 403);
  assert.equal((await request(endpoint, { path: '/_stator/reset', headers: { 'x-stator-management': 'true' } })).status, 403);
  assert.equal((await request(endpoint, { method: 'GET', path: '/metrics' })).status, 403);
  assert.equal((await call('stator', kRoot)).status, 200);
  assert.equal((await call('dynamodb', kRoot)).status, 403, 'a signature for the API does not serve for management');
  const alices = await call('stator', credentials.alice, 'POST', '/_stator/reset');
  assert.equal(alices.status, 403);
  assert.match(alices.json().message, /is not authorized to perform: stator:Reset on resource: \*/);
  for (const [method, target, action] of [['POST', 'backup', 'BackupStore'], ['GET', 'backup', 'GetStoreBackup'], ['GET', 'backup/list', 'GetStoreBackup']]) {
    const refused = await call('stator', credentials.alice, method, `/_stator/${target}`);
    assert.equal(refused.status, 403);
    assert.ok(refused.json().message.includes(`is not authorized to perform: stator:${action} on resource: *`), refused.text);
    assert.equal((await call('stator', kRoot, method, `/_stator/${target}`)).status, 409);
  }
  const metrics = await call('stator', kRoot, 'GET', '/metrics');
  assert.match(metrics.text, /^stator_denied_requests [1-9]/m);
  assert.match(metrics.text, /^stator_unverified_signatures [1-9]/m);
});

test('secrets stand in no log', async () => {
  for (const secret of [kRoot.secretAccessKey, ...Object.values(credentials).map((keys) => keys.secretAccessKey)])
    assert.ok(!server.output.includes(secret));
});

test('warn serves what enforce refuses, and counts it', async () => {
  const strict = endpoint;
  const warning = await startServer(['--auth=warn']);
  try {
    endpoint = warning.endpoint;
    await as('nothing').ListTables({});
    await operations(new DynamoDBClient(options({ accessKeyId: 'AKIAUNKNOWNUNKNOWN00', secretAccessKey: 'x' })), ddbSdk).ListTables({});
    const metrics = await request(endpoint, { method: 'GET', path: '/metrics' });
    assert.match(metrics.text, /^stator_denied_requests 1$/m);
    assert.match(metrics.text, /^stator_unverified_signatures [1-9]/m);
    await warning.logged(/access_not_allowed/);
  } finally {
    endpoint = strict;
    await warning.stop();
  }
});

test('beyond loopback access control is a choice, and bad settings end the start', async () => {
  const start = (args, env = environment) => Server.start({ args: ['--in-memory', ...args], env });
  await assert.rejects(start(['--host', '0.0.0.0'], {}), /access_control_not_chosen/);
  for (const args of [['--host', '0.0.0.0', '--auth=off'], ['--host', '0.0.0.0', '--insecure'], ['--host', '0.0.0.0', '--auth=enforce']]) {
    const open = await start(args);
    await open.stop();
  }
  await assert.rejects(start(['--auth=enforce'], { STATOR_ROOT_ACCESS_KEY_ID: 'AKIAROOTROOTROOTROOT' }), /belong together/);
  await assert.rejects(start(['--auth=enforce', '--insecure']), /contradicts/);
  const bad = path.join(directory, 'bad.toml');
  fs.writeFileSync(path.join(directory, 'bad.json'), '{"Version":"2012-10-17","Statement":[{"Effect":"Allow"}]}');
  fs.writeFileSync(bad, '[[users]]\nname = "eve"\npolicy-files = ["bad.json"]\n');
  await assert.rejects(start(['--auth=enforce', '--config', bad]), /bad\.toml:1: \[\[users\]\]: user "eve": policy bad: /);
});

test('the root key is made once, for its owner only', async () => {
  const file = path.join(directory, 'root-key');
  const env = { STATOR_ROOT_ACCESS_KEY_ID: '', STATOR_ROOT_SECRET_ACCESS_KEY: '' };
  const strict = endpoint;
  for (let round = 0; round < 2; round++) {
    const fresh = await Server.start({ args: ['--in-memory', '--auth=enforce', '--root-key-file', file], env });
    try {
      assert.equal(fs.statSync(file).mode & 0o777, 0o600);
      const [, accessKeyId, secretAccessKey] = /aws_access_key_id = (\w+)\naws_secret_access_key = (\S+)\n/.exec(fs.readFileSync(file, 'utf8'));
      endpoint = fresh.endpoint;
      await operations(new DynamoDBClient(options({ accessKeyId, secretAccessKey })), ddbSdk).ListTables({});
      assert.ok(!fresh.output.includes(secretAccessKey));
    } finally {
      endpoint = strict;
      await fresh.stop();
    }
  }
});
