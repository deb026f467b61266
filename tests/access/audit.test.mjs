// The audit log: calls with their callers and the statements that decided, never with data; across a kill, on a full disk, on several servers.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as ddbSdk from '@aws-sdk/client-dynamodb';
import * as iamSdk from '@aws-sdk/client-iam';
import * as stsSdk from '@aws-sdk/client-sts';
import { SignatureV4 } from '@smithy/signature-v4';
import { createHash, createHmac } from 'node:crypto';

import { binary, request, Server } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'PLANTEDrootsecret' };
const kGuest = { accessKeyId: 'AKIAGUESTGUESTGUEST1', secretAccessKey: 'PLANTEDguestsecret' };
const kAccount = '000000000000';
const kTable = `arn:aws:dynamodb:us-east-1:${kAccount}:table/notes`;
const environment = { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey };
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-audit-'));
const servers = [];

const operations = (client, sdk) => new Proxy({}, {
  get: (_, operation) => async (input = {}) => {
    const answer = await client.send(new sdk[`${operation}Command`](input));
    delete answer.$metadata;
    return answer;
  },
});
const options = (server, credentials) => ({ endpoint: server.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
const ddbOf = (server, keys = kRoot) => operations(new ddbSdk.DynamoDBClient(options(server, keys)), ddbSdk);
const iamOf = (server, keys = kRoot) => operations(new iamSdk.IAMClient(options(server, keys)), iamSdk);
const stsOf = (server, keys = kRoot) => operations(new stsSdk.STSClient(options(server, keys)), stsSdk);
const caught = (promise) => promise.then(() => assert.fail('it was served'), (error) => error);
const definition = (TableName) => ({
  TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
});

async function start({ name, auth = 'enforce', args = [], ...rest }) {
  const server = await Server.startOne({
    args: ['--in-memory', `--auth=${auth}`, '--config', path.join(directory, 'stator.toml'), '--audit-log', path.join(directory, name), ...args], env: environment, ...rest,
  });
  server.auditFile = path.join(directory, name);
  servers.push(server);
  return server;
}
// The last line may be on its way.
const recordsOf = (server) => fs.readFileSync(server.auditFile, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));
// Waits for a record that `fits`, and returns the last one.
async function record(server, fits) {
  const wanted = typeof fits === 'string' ? ({ eventName }) => eventName === fits : fits;
  for (let waited = 0; waited < 3000; waited++) {
    const found = recordsOf(server).findLast(wanted);
    if (found) return found;
    await delay(20);
  }
  return assert.fail(`no such record: ${fits}`);
}

class Sha256 {
  constructor(key) { this.hash = key === undefined ? createHash('sha256') : createHmac('sha256', key); }
  update(data) { this.hash.update(data); }
  async digest() { return this.hash.digest(); }
}
async function manage(server, keys, method, target, body = '') {
  const url = new URL(server.endpoint);
  const signer = new SignatureV4({ service: 'stator', region: 'us-east-1', credentials: keys, sha256: Sha256 });
  const signed = await signer.sign({
    method, protocol: 'http:', hostname: url.hostname, port: Number(url.port), path: target, query: {}, body,
    headers: { host: url.host, 'x-stator-management': 'true', 'user-agent': 'audit-test' },
  });
  return request(server.endpoint, { method, path: target, headers: signed.headers, body });
}

before(() => {
  fs.writeFileSync(path.join(directory, 'guest.secret'), kGuest.secretAccessKey, { mode: 0o600 });
  fs.writeFileSync(path.join(directory, 'guest.json'), JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      { Sid: 'Read', Effect: 'Allow', Action: ['dynamodb:GetItem', 'dynamodb:DescribeTable'], Resource: kTable },
      { Sid: 'NeverDrop', Effect: 'Deny', Action: 'dynamodb:DeleteTable', Resource: '*' },
    ],
  }));
  fs.writeFileSync(path.join(directory, 'stator.toml'),
    `[[users]]\nname = "guest"\naccess-key-id = "${kGuest.accessKeyId}"\nsecret-access-key-file = "guest.secret"\npolicy-files = ["guest.json"]\n`);
});
after(async () => {
  for (const server of servers) if ((server.child.exitCode ?? server.child.signalCode) === null) await server.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

test('definitions, with caller, parameters and the statement that decided; items only where they are denied', async () => {
  const server = await start({ name: 'control' });
  await ddbOf(server).CreateTable(definition('notes'));
  // On the disk before the answer.
  const created = recordsOf(server).at(-1);
  assert.equal(created.eventName, 'CreateTable');
  assert.deepEqual(created.userIdentity, {
    type: 'Root', principalId: kAccount, arn: `arn:aws:iam::${kAccount}:root`, accountId: kAccount, accessKeyId: kRoot.accessKeyId,
  });
  assert.deepEqual(created.requestParameters, {
    attributeDefinitions: [{ attributeName: 'pk', attributeType: 'S' }], tableName: 'notes', keySchema: [{ attributeName: 'pk', keyType: 'HASH' }], billingMode: 'PAY_PER_REQUEST',
  });
  assert.deepEqual(created.resources, [{ accountId: kAccount, type: 'AWS::DynamoDB::Table', ARN: kTable }]);
  assert.equal(created.sourceIPAddress, '127.0.0.1');
  assert.match(created.userAgent, /aws-sdk-js/);
  assert.equal(created.readOnly, false);
  assert.equal(created.eventSource, 'dynamodb.amazonaws.com');
  assert.equal(created.requestID.length, 52);
  assert.ok(Math.abs(Date.now() - Date.parse(created.eventTime)) < 60_000);

  const guest = ddbOf(server, kGuest);
  await guest.DescribeTable({ TableName: 'notes' });
  const described = await record(server, 'DescribeTable');
  assert.equal(described.userIdentity.userName, 'guest');
  assert.equal(described.readOnly, true);
  assert.deepEqual(described.additionalEventData.authorization, [{
    action: 'dynamodb:DescribeTable', resource: kTable, effect: 'Allow', policyType: 'identity-based policy', policy: `guest of arn:aws:iam::${kAccount}:user/guest`, statement: 1, sid: 'Read',
  }]);
  const error = await caught(guest.DeleteTable({ TableName: 'notes' }));
  const refused = recordsOf(server).findLast(({ eventName }) => eventName === 'DeleteTable');
  assert.equal(refused.errorCode, 'AccessDeniedException');
  assert.equal(refused.errorMessage, error.message);
  assert.deepEqual(refused.additionalEventData.authorization, [{
    action: 'dynamodb:DeleteTable', resource: kTable, effect: 'Deny', policyType: 'identity-based policy', policy: `guest of arn:aws:iam::${kAccount}:user/guest`, statement: 2, sid: 'NeverDrop',
  }]);
  // Items: a served operation leaves no record, a denied one does.
  await guest.GetItem({ TableName: 'notes', Key: { pk: { S: 'x' } } });
  await caught(guest.PutItem({ TableName: 'notes', Item: { pk: { S: 'x' } } }));
  const put = await record(server, 'PutItem');
  assert.equal(put.eventCategory, 'Data');
  assert.equal(put.managementEvent, false);
  assert.equal(put.additionalEventData.authorization[0].effect, 'Deny');
  assert.equal(put.additionalEventData.authorization[0].statement, undefined);
  assert.ok(!recordsOf(server).some(({ eventName }) => eventName === 'GetItem'));
  // A signature that does not verify.
  await caught(ddbOf(server, { ...kGuest, secretAccessKey: 'wrong' }).CreateTable(definition('other')));
  const forged = await record(server, ({ errorCode }) => errorCode === 'InvalidSignatureException');
  assert.deepEqual(forged.userIdentity, { type: 'Unknown', accessKeyId: kGuest.accessKeyId });
  assert.equal(forged.requestParameters, null, 'a stranger writes nothing into the log');
  await caught(ddbOf(server, { accessKeyId: 'PLANTEDa/secret/in/the/wrong/place/00000', secretAccessKey: 'x' }).ListTables());
  const misplaced = await record(server, ({ eventName, errorCode }) => eventName === 'ListTables' && errorCode);
  assert.equal(misplaced.userIdentity.accessKeyId, 'HIDDEN_DUE_TO_SECURITY_REASONS');
  // Management calls that change something, or that are refused.
  assert.equal((await manage(server, kRoot, 'PUT', '/_stator/throttling', '{"mode":"off"}')).status, 200);
  const throttling = recordsOf(server).at(-1);
  assert.deepEqual([throttling.eventSource, throttling.eventName, throttling.readOnly], ['stator', 'PutThrottling', false]);
  assert.equal((await manage(server, kRoot, 'GET', '/_stator/status')).status, 200);
  assert.equal((await manage(server, kGuest, 'GET', '/_stator/clock')).status, 403);
  assert.equal((await record(server, 'GetClock')).errorCode, 'AccessDeniedException');
  assert.ok(!recordsOf(server).some(({ eventName }) => eventName === 'GetStatus'));
  assert.ok(!fs.readFileSync(server.auditFile, 'utf8').includes('PLANTED'));
});

test('identities and credentials: ids are there, secrets are not', async () => {
  const server = await start({ name: 'iam' });
  const iam = iamOf(server);
  await iam.CreateUser({ UserName: 'made' });
  const { AccessKey } = await iam.CreateAccessKey({ UserName: 'made' });
  const key = recordsOf(server).at(-1);
  assert.deepEqual([key.eventSource, key.eventName], ['iam.amazonaws.com', 'CreateAccessKey']);
  assert.deepEqual(key.requestParameters, { userName: 'made' });
  assert.deepEqual(key.responseElements, { accessKeyId: AccessKey.AccessKeyId });
  assert.equal(key.additionalEventData.authorization[0].action, 'iam:CreateAccessKey');
  const trust = JSON.stringify({ Version: '2012-10-17', Statement: { Effect: 'Allow', Principal: { AWS: kAccount }, Action: 'sts:AssumeRole' } });
  await iam.CreateRole({ RoleName: 'app', AssumeRolePolicyDocument: trust });
  const { Credentials } = await stsOf(server, kGuest).AssumeRole({ RoleArn: `arn:aws:iam::${kAccount}:role/app`, RoleSessionName: 's1', ExternalId: 'PLANTEDexternal' }).catch((error) => {
    assert.equal(error.name, 'AccessDenied');
    return stsOf(server).AssumeRole({ RoleArn: `arn:aws:iam::${kAccount}:role/app`, RoleSessionName: 's1', ExternalId: 'PLANTEDexternal' });
  });
  assert.equal(recordsOf(server).at(-1).responseElements.accessKeyId, Credentials.AccessKeyId);
  const session = { accessKeyId: Credentials.AccessKeyId, secretAccessKey: Credentials.SecretAccessKey, sessionToken: Credentials.SessionToken };
  await caught(ddbOf(server, session).CreateTable(definition('x')));
  const asRole = recordsOf(server).at(-1).userIdentity;
  assert.equal(asRole.type, 'AssumedRole');
  assert.equal(asRole.sessionContext.sessionIssuer.userName, 'app');
  await caught(iamOf(server, { ...kRoot, secretAccessKey: 'wrong' }).CreateUser({ UserName: 'forged' }));
  assert.equal((await record(server, ({ errorCode }) => errorCode === 'SignatureDoesNotMatch')).eventName, 'CreateUser');
  await iam.SimulatePrincipalPolicy({
    PolicySourceArn: `arn:aws:iam::${kAccount}:user/made`, ActionNames: ['dynamodb:GetItem'],
    ContextEntries: [{ ContextKeyName: 'dynamodb:LeadingKeys', ContextKeyType: 'stringList', ContextKeyValues: ['PLANTEDkey'] }],
  });
  await record(server, 'SimulatePrincipalPolicy');
  const text = fs.readFileSync(server.auditFile, 'utf8');
  for (const secret of ['PLANTED', AccessKey.SecretAccessKey, Credentials.SecretAccessKey, Credentials.SessionToken]) assert.ok(!text.includes(secret), secret);
});

// Each value, key and literal begins with PLANTED, and each number has 777333 in it.
test('every operation on items leaves a record without its data', async () => {
  const server = await start({ name: 'data', args: ['--audit-data-plane'] });
  const root = ddbOf(server);
  const S = (text) => ({ S: `PLANTED${text}` });
  const N = { N: '777333' };
  await root.CreateTable(definition('notes'));
  await root.PutItem({ TableName: 'notes', Item: { pk: S('a'), secret: S('v'), n: N, b: { B: Buffer.from('PLANTED') }, m: { M: { inner: S('x') } } } });
  const put = await record(server, 'PutItem');
  assert.deepEqual(put.requestParameters, { tableName: 'notes', item: ['pk', 'secret', 'n', 'b', 'm'] });
  await root.UpdateItem({
    TableName: 'notes', Key: { pk: S('a') }, UpdateExpression: 'SET #s = :v', ConditionExpression: 'n = :n', ExpressionAttributeNames: { '#s': 'secret' }, ExpressionAttributeValues: { ':v': S('w'), ':n': N },
  });
  assert.deepEqual((await record(server, 'UpdateItem')).requestParameters, {
    tableName: 'notes', key: ['pk'], updateExpression: 'SET #s = :v', conditionExpression: 'n = :n', expressionAttributeNames: { '#s': 'secret' }, expressionAttributeValues: [':v', ':n'],
  });
  await root.Query({ TableName: 'notes', KeyConditions: { pk: { ComparisonOperator: 'EQ', AttributeValueList: [S('a')] } }, QueryFilter: { n: { ComparisonOperator: 'EQ', AttributeValueList: [N] } } });
  assert.deepEqual((await record(server, 'Query')).requestParameters.keyConditions, { pk: { attributeValueList: 1, comparisonOperator: 'EQ' } });
  await root.UpdateItem({ TableName: 'notes', Key: { pk: S('a') }, AttributeUpdates: { secret: { Action: 'PUT', Value: S('z') } }, Expected: { n: { Value: N } } });
  await root.BatchWriteItem({ RequestItems: { notes: [{ PutRequest: { Item: { pk: S('b') } } }, { DeleteRequest: { Key: { pk: S('c') } } }] } });
  assert.deepEqual((await record(server, 'BatchWriteItem')).resources.map(({ ARN }) => ARN), [kTable]);
  await root.BatchGetItem({ RequestItems: { notes: { Keys: [{ pk: S('b') }] } } });
  await root.TransactWriteItems({ ClientRequestToken: 'PLANTEDtoken', TransactItems: [{ Put: { TableName: 'notes', Item: { pk: S('d') } } }, { ConditionCheck: { TableName: 'notes', Key: { pk: S('e') }, ConditionExpression: 'attribute_not_exists(pk)' } }] });
  await root.TransactGetItems({ TransactItems: [{ Get: { TableName: 'notes', Key: { pk: S('d') } } }] });
  await root.ExecuteStatement({ Statement: `SELECT * FROM "notes" WHERE pk = 'PLANTEDa' AND n = 777333` });
  assert.equal((await record(server, 'ExecuteStatement')).requestParameters.statement, 'SELECT * FROM "notes" WHERE pk = *** AND n = ***');
  await root.ExecuteStatement({ Statement: 'SELECT * FROM notes WHERE pk = ?', Parameters: [S('a')] });
  await root.BatchExecuteStatement({ Statements: [{ Statement: `INSERT INTO "notes" VALUE {'pk': 'PLANTEDf', 'n': 777333}` }] });
  await root.ExecuteTransaction({ TransactStatements: [{ Statement: `UPDATE "notes" SET secret = 'PLANTEDg' WHERE pk = 'PLANTEDf'` }], ClientRequestToken: 'PLANTEDtoken2' });
  const page = await root.Scan({ TableName: 'notes', Limit: 1 });
  await root.Scan({ TableName: 'notes', ExclusiveStartKey: page.LastEvaluatedKey });
  await root.DeleteItem({ TableName: 'notes', Key: { pk: S('a') }, ReturnValues: 'ALL_OLD' });
  // Errors whose messages show what was sent.
  await caught(root.PutItem({ TableName: 'notes', Item: { pk: S('a'), n: { N: 'PLANTEDnumber' } } }));
  await caught(root.PutItem({ TableName: 'notes', Item: { pk: N } }));
  await caught(root.Query({ TableName: 'notes', KeyConditionExpression: `pk = 'PLANTED literal'` }));
  await caught(root.GetItem({ TableName: 'notes', Key: { pk: S('a') }, ProjectionExpression: 'PLANTED 777333 "PLANTED' }));
  await caught(root.ExecuteStatement({ Statement: `SELECT * FROM "notes" WHERE pk = "PLANTED` }));
  await caught(root.ExecuteStatement({ Statement: `garbage 'PLANTED` }));
  const unknown = JSON.stringify({ TableName: 'notes', Key: { pk: S('a') }, NotAMember: 'PLANTED', Item: S('x') });
  const url = new URL(server.endpoint);
  const signer = new SignatureV4({ service: 'dynamodb', region: 'us-east-1', credentials: kRoot, sha256: Sha256 });
  const signed = await signer.sign({
    method: 'POST', protocol: 'http:', hostname: url.hostname, port: Number(url.port), path: '/', query: {}, body: unknown,
    headers: { host: url.host, 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'DynamoDB_20120810.GetItem', 'user-agent': 'x"\\y' },
  });
  assert.equal((await request(server.endpoint, { headers: signed.headers, body: unknown })).status, 200);
  assert.equal((await record(server, ({ userAgent }) => userAgent === 'x"\\y')).eventName, 'GetItem');
  await server.stop();
  const names = new Set(recordsOf(server).map(({ eventName }) => eventName));
  for (const name of ['PutItem', 'GetItem', 'UpdateItem', 'DeleteItem', 'Query', 'Scan', 'BatchGetItem', 'BatchWriteItem', 'TransactGetItems', 'TransactWriteItems',
    'ExecuteStatement', 'BatchExecuteStatement', 'ExecuteTransaction']) assert.ok(names.has(name), name);
  // The names of a projection stay; this one was planted unquoted.
  const text = fs.readFileSync(server.auditFile, 'utf8').replaceAll('"projectionExpression":"PLANTED *** ***"', '');
  for (const planted of ['PLANTED', '777333', Buffer.from('PLANTED').toString('base64')]) {
    const at = text.indexOf(planted);
    assert.ok(at < 0, text.slice(Math.max(0, at - 300), at + 50));
  }
});

test('with --auth=warn a record says what was served although it is not allowed', async () => {
  const server = await start({ name: 'warn', auth: 'warn', args: ['--audit-data-plane'] });
  await ddbOf(server).CreateTable(definition('notes'));
  await ddbOf(server, kGuest).PutItem({ TableName: 'notes', Item: { pk: { S: 'x' } } });
  const put = await record(server, 'PutItem');
  assert.equal(put.errorCode, undefined);
  assert.equal(put.additionalEventData.enforced, false);
  assert.equal(put.additionalEventData.authorization[0].effect, 'Deny');
  await ddbOf(server, { accessKeyId: 'AKIASTRANGERSTRANGER', secretAccessKey: 'x' }).GetItem({ TableName: 'notes', Key: { pk: { S: 'x' } } });
  assert.deepEqual((await record(server, 'GetItem')).userIdentity, { type: 'Unknown', accessKeyId: 'AKIASTRANGERSTRANGER' });
});

test('after a kill every change that was answered is there, and the file goes on', async () => {
  const first = await start({ name: 'killed' });
  const root = ddbOf(first);
  for (let i = 0; i < 20; i++) await root.CreateTable(definition(`table-${i}`));
  await first.kill();
  const names = recordsOf(first).map(({ requestParameters }) => requestParameters?.tableName);
  assert.deepEqual(names, Array.from({ length: 20 }, (_, i) => `table-${i}`));
  fs.appendFileSync(first.auditFile, '{"eventVersion":"1.');  // a line that was cut off
  const second = await start({ name: 'killed' });
  await ddbOf(second).CreateTable(definition('next'));
  const lines = fs.readFileSync(second.auditFile, 'utf8').trimEnd().split('\n');
  assert.equal(lines.length, 22);
  assert.equal(lines[20], '{"eventVersion":"1.');
  assert.equal(JSON.parse(lines[21]).requestParameters.tableName, 'next');
});

test('files are rotated, and opened anew where a tool moved them away', async () => {
  const server = await start({ name: 'rotated', args: ['--audit-max-mb=1', '--audit-files=3'] });
  const root = ddbOf(server);
  await root.CreateTable(definition('notes'));
  const tags = Array.from({ length: 18 }, (_, i) => ({ Key: `k${i}`, Value: 'v'.repeat(250) }));
  for (let i = 0; i < 800; i++) await root.TagResource({ ResourceArn: kTable, Tags: tags });
  assert.ok(fs.existsSync(`${server.auditFile}.2`));
  assert.ok(!fs.existsSync(`${server.auditFile}.3`));
  for (const file of ['', '.1', '.2']) assert.ok(fs.statSync(server.auditFile + file).size <= 1 << 20);
  fs.renameSync(server.auditFile, `${server.auditFile}.moved`);
  server.child.kill('SIGHUP');
  await root.UntagResource({ ResourceArn: kTable, TagKeys: ['k1'] });
  assert.equal(recordsOf(server).at(-1).eventName, 'UntagResource');
});

test('a full disk: reads and items are counted, changes go on while space is kept, then they are refused', async (context) => {
  const disk = path.join(directory, 'disk');
  fs.mkdirSync(disk);
  if (process.getuid() !== 0 || spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk]).status !== 0)
    return context.skip('this machine lets nobody mount a tmpfs');
  let server;
  try {
    server = await start({ name: 'disk/audit', args: ['--audit-data-plane'] });
    const root = ddbOf(server);
    await root.CreateTable(definition('notes'));
    const filler = path.join(disk, 'filler');
    const file = fs.openSync(filler, 'w');
    try {
      for (;;) fs.writeSync(file, Buffer.alloc(16 << 10));
    } catch (error) {
      assert.equal(error.code, 'ENOSPC');
    }
    fs.closeSync(file);
    const metric = async (name) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec((await manage(server, kRoot, 'GET', '/metrics')).text)?.[1]);
    // Items are served, and counted where they have no record.
    let served = 0;
    while (await metric('stator_audit_records_dropped') === 0 || await metric('stator_audit_failing') === 0) {
      for (let i = 0; i < 200; i++, served++) await root.GetItem({ TableName: 'notes', Key: { pk: { S: 'x' } } });
      assert.ok(served < 20_000);
    }
    // Changes go on in what is kept, until that is used up.
    const tags = Array.from({ length: 18 }, (_, i) => ({ Key: `k${i}`, Value: 'v'.repeat(250) }));
    let changes = 0;
    let error;
    while (!error) error = await root.TagResource({ ResourceArn: kTable, Tags: tags }).then(() => { changes++; }, (thrown) => thrown);
    assert.ok(changes >= 300, `${changes} changes went on`);
    assert.equal(error.name, 'InternalServerError');
    assert.match(error.message, /could not be recorded in the audit log/);
    assert.equal((await caught(iamOf(server).CreateUser({ UserName: 'x' }))).name, 'ServiceUnavailable');
    assert.equal((await manage(server, kRoot, 'PUT', '/_stator/throttling', '{"mode":"off"}')).status, 503);
    await caught(iamOf(server).GetUser({ UserName: 'x' }));
    await root.GetItem({ TableName: 'notes', Key: { pk: { S: 'x' } } });
    const stamps = recordsOf(server).filter(({ eventName }) => eventName === 'TagResource').length;
    assert.equal(stamps, changes, 'each change that was answered has its record');
    // A server that starts on the full disk refuses its first change.
    const late = await start({ name: 'disk/late' });
    assert.match((await caught(ddbOf(late).CreateTable(definition('notes')))).message, /could not be recorded in the audit log/);
    await late.stop();
    fs.rmSync(path.join(disk, 'late'));
    // Room again: the log says what is missing, and changes are taken.
    fs.rmSync(filler);
    const gap = await record(server, 'AuditRecordsDropped');
    assert.ok(gap.serviceEventDetails.dropped.GetItem > 0);
    assert.equal(gap.serviceEventDetails.reason, 'the file could not be written');
    for (let waited = 0; await metric('stator_audit_failing') !== 0; waited++) {
      assert.ok(waited < 1200, 'it goes on by itself');
      await delay(50);
    }
    await root.TagResource({ ResourceArn: kTable, Tags: tags });
  } finally {
    if (server) await server.kill();
    spawnSync('umount', ['-l', disk]);
  }
});

test('settings that end the start', async () => {
  const failing = async (args) => {
    const result = spawnSync(binary, ['serve', '--in-memory', '--port=0', ...args], { encoding: 'utf8', env: { ...process.env, ...environment }, timeout: 60_000 });
    assert.ok(result.status === 1 || result.status > 100, `${result.status} ${result.stderr}`);
    return result.stderr;
  };
  assert.match(await failing(['--audit-log', path.join(directory, 'x')]), /--audit-log needs --auth=warn or --auth=enforce/);
  assert.match(await failing(['--auth=enforce', '--audit-log', path.join(directory, 'missing', 'x')]), /cannot be opened/);
  const server = await start({ name: 'taken' });
  assert.match(await failing(['--auth=enforce', '--audit-log', server.auditFile]), /is being written by another process/);
});
