// Policies of tables and streams with the SDK.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import * as ddbSdk from '@aws-sdk/client-dynamodb';
import * as streamsSdk from '@aws-sdk/client-dynamodb-streams';

import { Server } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'rootsecret' };
const kTable = 'arn:aws:dynamodb:us-east-1:000000000000:table/shared';
const environment = { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey };
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-policies-'));
const dataDir = path.join(directory, 'data');
let server, guest;

const operations = (client, sdk) => new Proxy({}, {
  get: (_, operation) => async (input = {}) => {
    const answer = await client.send(new sdk[`${operation}Command`](input));
    delete answer.$metadata;
    return answer;
  },
});
const options = (credentials) => ({ endpoint: server.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
const ddbAs = (keys) => operations(new ddbSdk.DynamoDBClient(options(keys)), ddbSdk);
const streamsAs = (keys) => operations(new streamsSdk.DynamoDBStreamsClient(options(keys)), streamsSdk);
async function refused(promise, name, text = '') {
  const error = await promise.then(() => assert.fail(`expected ${name}`), (caught) => caught);
  assert.equal(error.name, name, `${error.name}: ${error.message}`);
  assert.ok(error.message.includes(text), error.message);
}
const policy = (...Statement) => JSON.stringify({ Version: '2012-10-17', Statement });
const guestArn = 'arn:aws:iam::000000000000:user/guest';
const mayGet = (extra = {}) => ({ Sid: 'Guests', Effect: 'Allow', Principal: { AWS: guestArn }, Action: 'dynamodb:GetItem', Resource: kTable, ...extra });
const start = () => Server.start({
  args: ['--auth=enforce', '--config', path.join(directory, 'stator.toml')], env: environment, dataDir,
});
const definition = (TableName, extra = {}) => ({
  TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], ...extra,
});
const Key = { pk: { S: 'guest' } };

before(async () => {
  guest = { accessKeyId: 'AKIAGUESTGUESTGUEST1', secretAccessKey: 'guest-secret' };
  fs.writeFileSync(path.join(directory, 'guest.secret'), guest.secretAccessKey, { mode: 0o600 });
  fs.writeFileSync(path.join(directory, 'stator.toml'), `[[users]]\nname = "guest"\naccess-key-id = "${guest.accessKeyId}"\nsecret-access-key-file = "guest.secret"\n`);
  server = await start();
  await ddbAs(kRoot).CreateTable(definition('shared', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' } }));
  await ddbAs(kRoot).PutItem({ TableName: 'shared', Item: { ...Key, secretValue: { S: 'item-data-that-no-log-has' } } });
});
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

test('a policy of a table lets in a user without rights, and its revisions are told apart', async () => {
  const root = ddbAs(kRoot);
  await refused(root.GetResourcePolicy({ ResourceArn: kTable }), 'PolicyNotFoundException', `Resource-based policy not found for the provided ResourceArn: ${kTable}`);
  assert.deepEqual(await root.DeleteResourcePolicy({ ResourceArn: kTable }), {});
  await refused(ddbAs(guest).GetItem({ TableName: 'shared', Key }), 'AccessDeniedException');
  const { RevisionId } = await root.PutResourcePolicy({ ResourceArn: kTable, Policy: policy(mayGet()), ExpectedRevisionId: 'NO_POLICY' });
  assert.equal((await ddbAs(guest).GetItem({ TableName: 'shared', Key })).Item.pk.S, 'guest');
  await refused(ddbAs(guest).Scan({ TableName: 'shared' }), 'AccessDeniedException', 'dynamodb:Scan');
  // White space, a list of one and the account's number make no new revision.
  const same = JSON.stringify({ Statement: mayGet({ Action: ['dynamodb:GetItem'] }), Version: '2012-10-17' }, null, 2);
  assert.equal((await root.PutResourcePolicy({ ResourceArn: kTable, Policy: same })).RevisionId, RevisionId);
  const got = await root.GetResourcePolicy({ ResourceArn: kTable });
  assert.equal(got.RevisionId, RevisionId);
  assert.equal(got.Policy, policy(mayGet()));
  await refused(root.PutResourcePolicy({ ResourceArn: kTable, Policy: policy(mayGet()), ExpectedRevisionId: '1' }), 'PolicyNotFoundException',
    `Requested update for policy with revision id 1, but the policy associated to target table shared has revision id ${RevisionId}.`);
  await refused(root.PutResourcePolicy({ ResourceArn: kTable, Policy: policy(mayGet()), ExpectedRevisionId: 'NO_POLICY' }), 'PolicyNotFoundException',
    `Requested policy update expecting none to be present for table shared, but a policy exists with revision id ${RevisionId}.`);
});

test('a Deny of a table stops the root user, who may still delete the policy', async () => {
  const root = ddbAs(kRoot);
  const deny = { Effect: 'Deny', Principal: '*', Action: ['dynamodb:GetItem', 'dynamodb:DeleteResourcePolicy'], Resource: kTable };
  await root.PutResourcePolicy({ ResourceArn: kTable, Policy: policy(deny) });
  await refused(root.GetItem({ TableName: 'shared', Key }), 'AccessDeniedException', 'with an explicit deny in a resource-based policy');
  const { RevisionId } = await root.DeleteResourcePolicy({ ResourceArn: kTable });
  assert.match(RevisionId, /^\d{13}$/);
  assert.equal((await root.DeleteResourcePolicy({ ResourceArn: kTable })).RevisionId, RevisionId, 'a repeat tells of the deletion');
  await root.GetItem({ TableName: 'shared', Key });
});

test('policies that could not be undone, and those that are none, are refused', async () => {
  const root = ddbAs(kRoot);
  const put = (Policy, extra = {}) => root.PutResourcePolicy({ ResourceArn: kTable, Policy, ...extra });
  const lockout = policy({ Effect: 'Deny', Principal: '*', Action: 'dynamodb:PutResourcePolicy', Resource: kTable });
  await refused(put(lockout), 'AccessDeniedException', 'The new resource policy will not allow you to update the resource policy in the future.');
  await put(lockout, { ConfirmRemoveSelfResourceAccess: true });
  await refused(put(policy(mayGet())), 'AccessDeniedException', 'explicit deny in a resource-based policy');
  await root.DeleteResourcePolicy({ ResourceArn: kTable });
  await refused(put('nonsense'), 'ValidationException', 'This policy contains invalid Json');
  await refused(put(policy({ Effect: 'Allow', Principal: '*', Action: 'dynamodb:GetItem', Resource: kTable })), 'ValidationException', 'grants unbounded access');
  await refused(put(policy(mayGet({ Action: 'dynamodb:Invented' }))), 'ValidationException', 'The following action names are invalid: "dynamodb:Invented"');
  await refused(put(`${policy(mayGet())}${' '.repeat(20480)}`), 'ValidationException', 'Maximum policy size of 20480 bytes exceeded');
  await refused(root.GetResourcePolicy({ ResourceArn: kTable }), 'PolicyNotFoundException');
  const get = (ResourceArn) => root.GetResourcePolicy({ ResourceArn });
  await refused(get(`${kTable}/index/i`), 'ValidationException', 'only table or stream is accepted');
  await refused(get('shared'), 'ValidationException', 'ARNs must start with \'arn:\': shared');
  await refused(get(kTable.replace('shared', 'absent')), 'ResourceNotFoundException', 'Requested resource not found: Table: absent not found');
});

test('a table is made with its policy, which goes with it', async () => {
  const root = ddbAs(kRoot);
  const ResourceArn = kTable.replace('shared', 'born');
  const Policy = policy(mayGet({ Resource: ResourceArn }));
  await root.CreateTable(definition('born', { ResourcePolicy: Policy }));
  assert.equal((await root.GetResourcePolicy({ ResourceArn })).Policy, Policy);
  await ddbAs(guest).GetItem({ TableName: 'born', Key });
  await root.DeleteTable({ TableName: 'born' });
  await root.CreateTable(definition('born'));
  await refused(ddbAs(guest).GetItem({ TableName: 'born', Key }), 'AccessDeniedException');
});

test('a stream has a policy of its own, and policies survive a kill', async () => {
  const { Streams } = await streamsAs(kRoot).ListStreams({ TableName: 'shared' });
  const ResourceArn = Streams[0].StreamArn;
  await refused(streamsAs(guest).DescribeStream({ StreamArn: ResourceArn }), 'AccessDeniedException');
  await ddbAs(kRoot).PutResourcePolicy({ ResourceArn, Policy: policy(mayGet({ Action: 'dynamodb:DescribeStream', Resource: ResourceArn })) });
  await streamsAs(guest).DescribeStream({ StreamArn: ResourceArn });
  await server.kill();
  server = await start();
  await streamsAs(guest).DescribeStream({ StreamArn: ResourceArn });
});
