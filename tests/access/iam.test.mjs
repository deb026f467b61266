// The APIs of IAM and STS, asked with the SDK and the AWS CLI: an administrator makes a tenant, the tenant is held to its own keys,
// roles are assumed, and all of it is there after a kill.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as ddbSdk from '@aws-sdk/client-dynamodb';
import * as iamSdk from '@aws-sdk/client-iam';
import * as stsSdk from '@aws-sdk/client-sts';

import { binary, request, Server } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'rootsecret' };
const kTable = 'arn:aws:dynamodb:us-east-1:000000000000:table';
const environment = { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey };
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-iam-'));
const masterKey = path.join(directory, 'master-key');
const dataDir = path.join(directory, 'data');
let server;

const operations = (client, sdk) => new Proxy({}, {
  get: (_, operation) => async (input = {}) => {
    const answer = await client.send(new sdk[`${operation}Command`](input));
    delete answer.$metadata;
    return answer;
  },
});
const options = (credentials) => ({ endpoint: server.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
const iamAs = (keys) => operations(new iamSdk.IAMClient(options(keys)), iamSdk);
const stsAs = (keys) => operations(new stsSdk.STSClient(options(keys)), stsSdk);
const ddbAs = (keys) => operations(new ddbSdk.DynamoDBClient(options(keys)), ddbSdk);
const policy = (...statements) => JSON.stringify({ Version: '2012-10-17', Statement: statements });
const keysOf = ({ AccessKey }) => ({ accessKeyId: AccessKey.AccessKeyId, secretAccessKey: AccessKey.SecretAccessKey });
async function refused(promise, name, text = '') {
  const error = await promise.then(() => assert.fail(`expected ${name}`), (caught) => caught);
  assert.equal(error.name, name, `${error.name}: ${error.message}`);
  assert.ok(error.message.includes(text), error.message);
}

const start = (args = []) => Server.start({ args: ['--auth=enforce', '--master-key-file', masterKey, ...args], env: environment, dataDir });

before(async () => {
  const made = spawnSync(binary, ['make-master-key', masterKey], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  assert.equal(fs.statSync(masterKey).mode & 0o777, 0o600);
  assert.equal(spawnSync(binary, ['make-master-key', masterKey]).status, 1, 'a key is never overwritten');
  server = await start();
  await ddbAs(kRoot).CreateTable({
    TableName: 'orders', BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'tenant', KeyType: 'HASH' }, { AttributeName: 'id', KeyType: 'RANGE' }],
    AttributeDefinitions: [{ AttributeName: 'tenant', AttributeType: 'S' }, { AttributeName: 'id', AttributeType: 'S' }],
  });
});
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

const ownOrders = policy({
  Effect: 'Allow', Action: ['dynamodb:PutItem', 'dynamodb:GetItem', 'dynamodb:Query'], Resource: `${kTable}/orders`,
  Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['${aws:PrincipalTag/tenant}'] } },
});

test('a tenant is held to its own keys, and learns why', async () => {
  const iam = iamAs(kRoot);
  const { User } = await iam.CreateUser({ UserName: 'acme', Path: '/tenants/', Tags: [{ Key: 'tenant', Value: 'acme-1' }] });
  assert.equal(User.Arn, 'arn:aws:iam::000000000000:user/tenants/acme');
  const { Policy } = await iam.CreatePolicy({ PolicyName: 'own-orders', PolicyDocument: ownOrders });
  await iam.AttachUserPolicy({ UserName: 'acme', PolicyArn: Policy.Arn });
  const acme = keysOf(await iam.CreateAccessKey({ UserName: 'acme' }));
  const ddb = ddbAs(acme);
  const item = (tenant) => ({ TableName: 'orders', Item: { tenant: { S: tenant }, id: { S: '1' } } });
  await ddb.PutItem(item('acme-1'));
  await refused(ddb.PutItem(item('rival')), 'AccessDeniedException', 'dynamodb:PutItem');
  await refused(iamAs(acme).ListUsers({}), 'AccessDenied', 'iam:ListUsers on resource: *');
  const { Arn } = await stsAs(acme).GetCallerIdentity({});
  assert.equal(Arn, User.Arn);
  const simulate = async (tenant) => (await iam.SimulatePrincipalPolicy({
    PolicySourceArn: User.Arn, ActionNames: ['dynamodb:PutItem'], ResourceArns: [`${kTable}/orders`],
    ContextEntries: [{ ContextKeyName: 'dynamodb:LeadingKeys', ContextKeyType: 'stringList', ContextKeyValues: [tenant] }],
  })).EvaluationResults[0];
  assert.equal((await simulate('acme-1')).EvalDecision, 'allowed');
  assert.equal((await simulate('acme-1')).MatchedStatements[0].SourcePolicyId, Policy.Arn);
  assert.equal((await simulate('rival')).EvalDecision, 'implicitDeny');
});

test('identities survive a kill, and need their master key', async () => {
  const iam = iamAs(kRoot);
  await iam.CreateUser({ UserName: 'lasting' });
  const keys = keysOf(await iam.CreateAccessKey({ UserName: 'lasting' }));
  await server.kill();
  const files = fs.readdirSync(dataDir).map((name) => fs.readFileSync(path.join(dataDir, name), 'latin1'));
  assert.ok(files.every((text) => !text.includes(keys.secretAccessKey)), 'the secret stands in the store');
  const args = ['--auth=enforce'];
  await assert.rejects(Server.start({ args, env: environment, dataDir }), /--master-key-file/);
  const other = path.join(directory, 'other-key');
  spawnSync(binary, ['make-master-key', other]);
  await assert.rejects(Server.start({ args: [...args, '--master-key-file', other], env: environment, dataDir }), /not the one that sealed/);
  server = await start();
  assert.match((await stsAs(keys).GetCallerIdentity({})).Arn, /user\/lasting$/);
});

test('a role gives what it has, to whom it trusts, for its time', async () => {
  const iam = iamAs(kRoot);
  await iam.CreateUser({ UserName: 'carol' });
  const carol = keysOf(await iam.CreateAccessKey({ UserName: 'carol' }));
  const trust = policy({ Effect: 'Allow', Principal: { AWS: 'arn:aws:iam::000000000000:user/carol' }, Action: 'sts:AssumeRole' });
  const { Role } = await iam.CreateRole({ RoleName: 'reader', AssumeRolePolicyDocument: trust });
  assert.deepEqual(JSON.parse(decodeURIComponent(Role.AssumeRolePolicyDocument)), JSON.parse(trust));
  await iam.PutRolePolicy({ RoleName: 'reader', PolicyName: 'scan', PolicyDocument: policy({ Effect: 'Allow', Action: 'dynamodb:Scan', Resource: '*' }) });
  const assume = { RoleArn: Role.Arn, RoleSessionName: 'nightly' };
  await refused(stsAs(keysOf(await iam.CreateAccessKey({ UserName: 'lasting' }))).AssumeRole(assume), 'AccessDenied', 'sts:AssumeRole');
  const { Credentials, AssumedRoleUser } = await stsAs(carol).AssumeRole(assume);
  assert.equal(AssumedRoleUser.Arn, 'arn:aws:sts::000000000000:assumed-role/reader/nightly');
  const session = { accessKeyId: Credentials.AccessKeyId, secretAccessKey: Credentials.SecretAccessKey, sessionToken: Credentials.SessionToken };
  await ddbAs(session).Scan({ TableName: 'orders' });
  await refused(ddbAs(session).ListTables({}), 'AccessDeniedException', AssumedRoleUser.Arn);
  await refused(ddbAs({ ...session, sessionToken: Credentials.SessionToken.slice(0, -4) }).ListTables({}), 'UnrecognizedClientException');
  await iam.DeleteRolePolicy({ RoleName: 'reader', PolicyName: 'scan' });
  await refused(ddbAs(session).Scan({ TableName: 'orders' }), 'AccessDeniedException', 'dynamodb:Scan');
});

test('the AWS CLI manages users', { skip: spawnSync('aws', ['--version']).status !== 0 ? 'there is no aws' : false }, () => {
  const aws = (...args) => {
    const done = spawnSync('aws', [...args, '--output', 'json'], {
      encoding: 'utf8',
      env: {
        ...process.env, AWS_ACCESS_KEY_ID: kRoot.accessKeyId, AWS_SECRET_ACCESS_KEY: kRoot.secretAccessKey, AWS_DEFAULT_REGION: 'us-east-1',
        AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
      },
    });
    return { ...done, json: () => JSON.parse(done.stdout) };
  };
  const iam = (...args) => aws('iam', ...args, '--endpoint-url', server.endpoint);
  assert.equal(iam('create-user', '--user-name', 'cli').json().User.UserName, 'cli');
  assert.equal(iam('create-group', '--group-name', 'team').json().Group.GroupName, 'team');
  assert.equal(iam('add-user-to-group', '--group-name', 'team', '--user-name', 'cli').status, 0);
  assert.deepEqual(iam('list-groups-for-user', '--user-name', 'cli').json().Groups.map((group) => group.GroupName), ['team']);
  const policies = iam('list-policies', '--scope', 'AWS').json().Policies.map((one) => one.PolicyName);
  assert.ok(policies.includes('AdministratorAccess'), policies.join());
  assert.equal(iam('attach-group-policy', '--group-name', 'team', '--policy-arn', 'arn:aws:iam::aws:policy/AmazonDynamoDBReadOnlyAccess').status, 0);
  assert.match(iam('create-user', '--user-name', 'cli').stderr, /EntityAlreadyExists.*User with name cli already exists/);
  assert.match(iam('get-user', '--user-name', 'absent').stderr, /NoSuchEntity/);
  assert.equal(aws('sts', 'get-caller-identity', '--endpoint-url', server.endpoint).json().Arn, 'arn:aws:iam::000000000000:root');
});

test('calls of IAM are refused unsigned, from foreign pages, and with --auth=warn too', async () => {
  const form = { headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: 'Action=ListUsers&Version=2010-05-08' };
  const unsigned = await request(server.endpoint, form);
  assert.equal(unsigned.status, 403);
  assert.match(unsigned.text, /<Code>MissingAuthenticationToken<\/Code>/);
  const foreign = await request(server.endpoint, { ...form, headers: { ...form.headers, Origin: 'https://evil.example' } });
  assert.match(foreign.text, /not for web pages/);
  const strict = server;
  server = await Server.start({ args: ['--in-memory', '--auth=warn'], env: environment });
  try {
    assert.equal((await request(server.endpoint, form)).status, 403);
    await refused(iamAs({ ...kRoot, secretAccessKey: 'wrong' }).CreateUser({ UserName: 'eve' }), 'SignatureDoesNotMatch');
  } finally {
    await server.stop();
    server = strict;
  }
});

test('without a master key a durable store keeps no users', async () => {
  const strict = server;
  server = await Server.start({ args: ['--auth=enforce'], env: environment });
  try {
    await refused(iamAs(kRoot).CreateUser({ UserName: 'eve' }), 'ValidationError', '--master-key-file');
    assert.deepEqual((await iamAs(kRoot).ListUsers({})).Users, []);
  } finally {
    await server.stop();
    server = strict;
  }
});
