// `stator iam` on a store without a server, and why something is allowed or not: offline, and asked of a server.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as ddbSdk from '@aws-sdk/client-dynamodb';
import * as iamSdk from '@aws-sdk/client-iam';

import { binary, Server } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'rootsecret' };
const kAccount = '000000000000';
const kTable = `arn:aws:dynamodb:us-east-1:${kAccount}:table/orders`;
const environment = { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey };
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-offline-'));
const masterKey = path.join(directory, 'master-key');
const dataDir = path.join(directory, 'data');
const auditFile = path.join(directory, 'audit');
const cleanEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(AWS|STATOR)_/.test(name)));
let server;
let tenant;

const start = () => Server.startOne({ args: ['--auth=enforce', '--master-key-file', masterKey], env: environment, dataDir });
const options = (credentials) => ({ endpoint: server.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
const send = (Client, sdk) => (keys, operation, input) => new sdk[Client](options(keys)).send(new sdk[`${operation}Command`](input));
const ddb = send('DynamoDBClient', ddbSdk);
const iam = send('IAMClient', iamSdk);
// {status, stdout, stderr} of `stator iam`.
const run = (words, { env = {}, store = ['--data-dir', dataDir, '--master-key-file', masterKey] } = {}) =>
  spawnSync(binary, ['iam', ...words, ...store], { encoding: 'utf8', env: { ...cleanEnv, ...env }, cwd: directory, timeout: 60_000 });
function served(words, extra) {
  const { status, stdout, stderr } = run(words, extra);
  assert.equal(status, 0, stderr);
  return stdout === '' ? undefined : JSON.parse(stdout);
}
const why = (words, extra) => {
  const { status, stdout, stderr } = run(['why', ...words], extra);
  assert.ok(status === 0 || status === 1, stderr);
  const answer = JSON.parse(stdout);
  assert.equal(answer.allowed, status === 0);
  return { ...answer, text: stderr };
};

before(async () => {
  assert.equal(spawnSync(binary, ['make-master-key', masterKey]).status, 0);
  server = await start();
  await ddb(kRoot, 'CreateTable', {
    TableName: 'orders', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'tenant', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'tenant', AttributeType: 'S' }], Tags: [{ Key: 'team', Value: 'red' }],
  });
});
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

test('a store that a server holds is refused in words', () => {
  const { status, stderr } = run(['list-users']);
  assert.equal(status, 1);
  assert.match(stderr, /Another process has the store/);
});

test('users, keys and policies are made without a server, and serve when it runs', async () => {
  await server.stop();
  const { User } = served(['create-user', '--user-name', 'acme', '--tags', 'Key=team,Value=red']);
  assert.equal(User.Arn, `arn:aws:iam::${kAccount}:user/acme`);
  fs.writeFileSync(path.join(directory, 'own.json'), JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      { Sid: 'Own', Effect: 'Allow', Action: ['dynamodb:GetItem', 'dynamodb:PutItem'], Resource: kTable, Condition: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['${aws:username}'] } } },
      { Effect: 'Deny', Action: 'dynamodb:PutItem', Resource: '*', Condition: { StringNotEquals: { 'aws:ResourceTag/team': '${aws:PrincipalTag/team}' } } },
      { Sid: 'NoDrop', Effect: 'Deny', Action: 'dynamodb:DeleteTable', Resource: '*' },
    ],
  }));
  assert.equal(served(['put-user-policy', '--user-name', 'acme', '--policy-name', 'own', '--policy-document', 'file://own.json']), undefined);
  const { AccessKey } = served(['create-access-key', '--user-name', 'acme', '--audit-log', auditFile]);
  tenant = { accessKeyId: AccessKey.AccessKeyId, secretAccessKey: AccessKey.SecretAccessKey };
  const record = JSON.parse(fs.readFileSync(auditFile, 'utf8'));
  assert.equal(record.eventName, 'CreateAccessKey');
  assert.equal(record.responseElements.accessKeyId, tenant.accessKeyId);
  assert.equal(record.additionalEventData.server, 'stator iam');
  assert.deepEqual(served(['list-users']).Users.map(({ UserName }) => UserName), ['acme']);
  assert.deepEqual(served(['list-user-policies', '--user-name', 'acme']).PolicyNames, ['own']);
  assert.equal(JSON.parse(served(['get-user-policy', '--user-name', 'acme', '--policy-name', 'own']).PolicyDocument).Statement.length, 3);
  assert.deepEqual(served(['list-groups-for-user', '--user-name', 'acme']).Groups, []);
  assert.ok(!fs.readFileSync(auditFile, 'utf8').includes(tenant.secretAccessKey));

  // Refusals in the words of the AWS CLI, and words that are none.
  const twice = run(['create-user', '--user-name', 'acme']);
  assert.equal(twice.status, 254);
  assert.equal(twice.stderr, 'An error occurred (EntityAlreadyExists) when calling the CreateUser operation: User with name acme already exists.\n');
  const malformed = run(['put-user-policy', '--user-name', 'acme', '--policy-name', 'x', '--policy-document', '{}']);
  assert.equal(malformed.status, 254);
  assert.match(malformed.stderr, /MalformedPolicyDocument/);
  for (const [words, text] of [[['make-coffee'], /there is no call MakeCoffee of IAM here/], [['create-user', 'acme'], /"acme" is no option/], [['get-caller-identity'], /there is no call GetCallerIdentity/]]) {
    const { status, stderr } = run(words);
    assert.equal(status, 252, stderr);
    assert.match(stderr, text);
  }
  const nowhere = run(['list-users'], { store: ['--data-dir', path.join(directory, 'missing')] });
  assert.equal(nowhere.status, 1);
  assert.match(nowhere.stderr, /There is no store in/);
  assert.ok(!fs.existsSync(path.join(directory, 'missing')));
  assert.match(run(['list-users'], { store: ['--data-dir', dataDir] }).stderr, /master key/);
  const other = path.join(directory, 'other-key');
  spawnSync(binary, ['make-master-key', other]);
  const wrong = run(['create-user', '--user-name', 'x'], { store: ['--data-dir', dataDir, '--master-key-file', other] });
  assert.equal(wrong.status, 1);
  assert.match(wrong.stderr, /the master key is not the one/);

  server = await start();
  await ddb(tenant, 'PutItem', { TableName: 'orders', Item: { tenant: { S: 'acme' } } });
  await assert.rejects(ddb(tenant, 'PutItem', { TableName: 'orders', Item: { tenant: { S: 'other' } } }), { name: 'AccessDeniedException' });
  assert.equal((await iam(kRoot, 'ListAccessKeys', { UserName: 'acme' })).AccessKeyMetadata[0].AccessKeyId, tenant.accessKeyId);
});

const policyName = `own of arn:aws:iam::${kAccount}:user/acme`;
// The answers to questions, offline and of a server.
function ask(extra) {
  const own = why(['--principal', 'acme', '--action', 'dynamodb:GetItem', '--resource', 'orders', '--context', 'dynamodb:LeadingKeys=acme'], extra);
  const { text, keysRead, keysMissing, ...rest } = own;
  assert.deepEqual(rest, {
    allowed: true, decision: 'allowed', principal: `arn:aws:iam::${kAccount}:user/acme`, action: 'dynamodb:GetItem', resource: kTable,
    policyType: 'identity-based policy', policy: policyName, statement: 1, effect: 'Allow', sid: 'Own',
    reason: `allowed by statement "Own" (number 1) of the identity-based policy ${policyName}`,
  });
  assert.ok(keysRead.includes('dynamodb:LeadingKeys'));
  assert.deepEqual(keysMissing, []);
  const others = why(['--principal', `arn:aws:iam::${kAccount}:user/acme`, '--action', 'dynamodb:getitem', '--resource', kTable, '--context', 'dynamodb:LeadingKeys=other'], extra);
  assert.equal(others.decision, 'implicitDeny');
  assert.equal(others.statement, undefined);
  assert.equal(others.reason, 'denied: no statement of an identity-based policy allows it');
  assert.deepEqual(why(['--principal', 'acme', '--action', 'dynamodb:GetItem', '--resource', kTable], extra).keysMissing, ['dynamodb:LeadingKeys']);
  const drop = why(['--principal', 'acme', '--action', 'dynamodb:DeleteTable', '--resource', 'orders'], extra);
  assert.deepEqual([drop.decision, drop.statement, drop.effect, drop.sid], ['explicitDeny', 3, 'Deny', 'NoDrop']);
  // The tags of the table are known.
  assert.equal(why(['--principal', 'acme', '--action', 'dynamodb:PutItem', '--resource', 'orders', '--context', 'dynamodb:LeadingKeys=acme'], extra).allowed, true);
  assert.equal(why(['--principal', 'root', '--action', 'stator:Reset'], extra).reason, 'allowed: the root user needs no statement');
  const unknown = run(['why', '--principal', 'nobody', '--action', 'dynamodb:GetItem'], extra);
  assert.equal(unknown.status, 254);
  assert.match(unknown.stderr, /There is no user, role or session nobody/);
  assert.match(run(['why', '--principal', 'acme', '--action', 'dynamodb:Dance'], extra).stderr, /is no action of this server/);
  assert.equal(run(['why', '--principal', 'acme'], extra).status, 252);
}

test('why, asked of a server: boundaries, sessions and policies of tables decide too', async () => {
  const extra = { store: ['--endpoint-url', server.endpoint], env: { AWS_ACCESS_KEY_ID: kRoot.accessKeyId, AWS_SECRET_ACCESS_KEY: kRoot.secretAccessKey } };
  ask(extra);
  await iam(kRoot, 'CreatePolicy', { PolicyName: 'edge', PolicyDocument: JSON.stringify({ Version: '2012-10-17', Statement: { Effect: 'Allow', Action: 'dynamodb:Query', Resource: '*' } }) });
  await iam(kRoot, 'PutUserPermissionsBoundary', { UserName: 'acme', PermissionsBoundary: `arn:aws:iam::${kAccount}:policy/edge` });
  const bounded = why(['--principal', 'acme', '--action', 'dynamodb:GetItem', '--resource', 'orders', '--context', 'dynamodb:LeadingKeys=acme'], extra);
  assert.equal(bounded.policyType, 'permissions boundary');
  assert.equal(bounded.reason, 'denied: no statement of a permissions boundary allows it');
  await iam(kRoot, 'DeleteUserPermissionsBoundary', { UserName: 'acme' });
  await ddb(kRoot, 'PutResourcePolicy', { ResourceArn: kTable, Policy: JSON.stringify({ Version: '2012-10-17', Statement: [{ Sid: 'Guests', Effect: 'Allow', Principal: { AWS: `arn:aws:iam::${kAccount}:user/acme` }, Action: 'dynamodb:Query', Resource: kTable }, { Effect: 'Deny', Principal: '*', Action: 'dynamodb:GetItem', Resource: kTable, Condition: { IpAddress: { 'aws:SourceIp': '192.0.2.0/24' } } }] }) });
  const guest = why(['--principal', 'acme', '--action', 'dynamodb:Query', '--resource', kTable], extra);
  assert.deepEqual([guest.policyType, guest.sid, guest.allowed], ['resource-based policy', 'Guests', true]);
  const fromThere = why(['--principal', 'acme', '--action', 'dynamodb:GetItem', '--resource', 'orders', '--context', 'dynamodb:LeadingKeys=acme', '--context', 'aws:SourceIp=192.0.2.7'], extra);
  assert.deepEqual([fromThere.policyType, fromThere.statement, fromThere.decision], ['resource-based policy', 2, 'explicitDeny']);
  await iam(kRoot, 'CreateRole', { RoleName: 'app', AssumeRolePolicyDocument: JSON.stringify({ Version: '2012-10-17', Statement: { Effect: 'Allow', Principal: { AWS: kAccount }, Action: 'sts:AssumeRole' } }) });
  const session = why(['--principal', `arn:aws:sts::${kAccount}:assumed-role/app/s1`, '--action', 'dynamodb:Scan', '--resource', 'orders'], extra);
  assert.deepEqual([session.principal, session.decision], [`arn:aws:sts::${kAccount}:assumed-role/app/s1`, 'implicitDeny']);
  // It is an action itself, and needs a signature.
  const refused = run(['why', '--principal', 'acme', '--action', 'dynamodb:GetItem'], { ...extra, env: { AWS_ACCESS_KEY_ID: tenant.accessKeyId, AWS_SECRET_ACCESS_KEY: tenant.secretAccessKey } });
  assert.equal(refused.status, 254);
  assert.match(refused.stderr, /not authorized to perform: stator:WhyAccess/);
  assert.match(run(['create-user', '--user-name', 'x'], { store: ['--endpoint-url', server.endpoint] }).stderr, /use `aws iam`/);
});

test('why, asked of a store without a server', async () => {
  await ddb(kRoot, 'DeleteResourcePolicy', { ResourceArn: kTable });
  await server.stop();
  ask({});
  server = await start();
});
