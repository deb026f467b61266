// Three servers of one store on a Ceph cluster (STATOR_CLUSTER_CONF): each has an audit log of its own, and `stator iam` works on
// the pool beside them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as ddbSdk from '@aws-sdk/client-dynamodb';

import { binary, Server } from '../sdk/harness.mjs';

const conf = process.env.STATOR_CLUSTER_CONF;
const skip = conf ? false : 'needs a cluster';
const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'rootsecret' };
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-access-cluster-'));
const masterKey = path.join(directory, 'master-key');
const store = ['--ceph-conf', conf, '--ceph-user=stator', '--pool=stator', `--ceph-namespace=${path.basename(directory)}`];
const servers = [];
const ddb = (server, keys, operation, input) =>
  new ddbSdk.DynamoDBClient({ endpoint: server.endpoint, region: 'us-east-1', credentials: keys, maxAttempts: 1 }).send(new ddbSdk[`${operation}Command`](input));
const iam = (...words) => {
  const { status, stdout, stderr } = spawnSync(binary, ['iam', ...words, ...store, '--master-key-file', masterKey], { encoding: 'utf8', timeout: 60_000, cwd: directory });
  assert.ok(status === 0 || status === 1, stderr);
  return stdout === '' ? undefined : JSON.parse(stdout);
};

before(async () => {
  if (skip) return;
  spawnSync(binary, ['make-master-key', masterKey]);
  for (let i = 0; i < 3; i++) {
    const auditFile = path.join(directory, `audit${i}`);
    servers.push(await Server.startOne({
      args: ['--engine=rados', ...store, '--auth=enforce', '--master-key-file', masterKey, '--audit-log', auditFile], dataDir: null,
      env: { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey },
    }));
    servers[i].auditFile = auditFile;
  }
});
after(async () => {
  for (const server of servers) await server.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

// The last line may be on its way.
const recordsOf = (server) => fs.readFileSync(server.auditFile, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line));

test('each request is in the file of the server that served it, before its answer', { skip }, async () => {
  for (const [i, server] of servers.entries()) {
    await ddb(server, kRoot, 'CreateTable', {
      TableName: `table${i}`, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    for (const [j, other] of servers.entries())
      assert.equal(recordsOf(other).filter(({ requestParameters }) => requestParameters?.tableName === `table${i}`).length, i === j ? 1 : 0);
    assert.match(recordsOf(server).at(-1).additionalEventData.server, new RegExp(`:${server.port}$`));
  }
});

// A server reads a change within two seconds, on a busy machine a little later.
async function eventually(what, probe) {
  for (const end = Date.now() + 60_000; ; await delay(100)) {
    const found = await probe();
    if (found) return found;
    assert.ok(Date.now() < end, what);
  }
}

test('stator iam works on the pool while the servers run, and they go by it', { skip }, async () => {
  iam('create-user', '--user-name', 'acme');
  fs.writeFileSync(path.join(directory, 'own.json'), JSON.stringify({ Version: '2012-10-17', Statement: [{ Sid: 'Look', Effect: 'Allow', Action: 'dynamodb:DescribeTable', Resource: '*' }] }));
  iam('put-user-policy', '--user-name', 'acme', '--policy-name', 'own', '--policy-document', 'file://own.json');
  const { AccessKey } = iam('create-access-key', '--user-name', 'acme');
  const keys = { accessKeyId: AccessKey.AccessKeyId, secretAccessKey: AccessKey.SecretAccessKey };
  for (const server of servers) {
    const { Table } = await eventually('the key is known', () => ddb(server, keys, 'DescribeTable', { TableName: 'table1' }).catch((error) => {
      assert.ok(['UnrecognizedClientException', 'AccessDeniedException'].includes(error.name), `${error.name}: ${error.message}`);
    }));
    assert.equal(Table.TableName, 'table1');
    const refused = await ddb(server, keys, 'ListTables', {}).then(() => assert.fail('it was served'), (error) => error);
    assert.equal(refused.name, 'AccessDeniedException');
    const described = await eventually('the call is recorded', () => recordsOf(server).findLast(({ eventName, errorCode }) => eventName === 'DescribeTable' && !errorCode));
    assert.equal(described.userIdentity.userName, 'acme');
    assert.equal(described.additionalEventData.authorization[0].sid, 'Look');
  }
  assert.equal(iam('why', '--principal', 'acme', '--action', 'dynamodb:DescribeTable', '--resource', 'table1').sid, 'Look');
  assert.equal(iam('why', '--principal', 'acme', '--action', 'dynamodb:Scan', '--resource', 'table1').decision, 'implicitDeny');
  iam('delete-access-key', '--user-name', 'acme', '--access-key-id', keys.accessKeyId);
  for (const server of servers) {
    const refused = await eventually('the key is gone', () => ddb(server, keys, 'DescribeTable', { TableName: 'table1' }).then(() => undefined, (error) => error));
    assert.equal(refused.name, 'UnrecognizedClientException');
  }
});

test('accounts: a key and a table of one server are those of all, and both outlive a server that is killed', { skip }, async () => {
  const Key = { pk: { S: 'one' } };
  const keys = {};
  for (const account of ['111111111111', '222222222222']) {
    const { AccessKey } = iam('account', 'create', '--account-id', account);
    keys[account] = { accessKeyId: AccessKey.AccessKeyId, secretAccessKey: AccessKey.SecretAccessKey };
  }
  // Until a server has read the change, it does not know the key.
  const known = (server, account) => eventually(`the key of ${account} is known`, async () => {
    const error = await ddb(server, keys[account], 'ListTables', {}).then(() => null, (caught) => caught);
    assert.ok(!error || error.name === 'UnrecognizedClientException', `${error?.name}: ${error?.message}`);
    return !error;
  });
  const accounts = Object.keys(keys);
  for (const server of servers) for (const account of accounts) await known(server, account);
  for (const [i, account] of accounts.entries()) {
    const { TableDescription } = await ddb(servers[i], keys[account], 'CreateTable', {
      TableName: 'table0', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    assert.equal(TableDescription.TableArn, `arn:aws:dynamodb:us-east-1:${account}:table/table0`);
    await ddb(servers[i], keys[account], 'PutItem', { TableName: 'table0', Item: { ...Key, owner: { S: account } } });
  }
  const check = async (server) => {
    for (const account of accounts) {
      assert.deepEqual((await ddb(server, keys[account], 'ListTables', {})).TableNames, ['table0']);
      const read = await ddb(server, keys[account], 'GetItem', { TableName: 'table0', Key, ConsistentRead: true });
      assert.equal(read.Item.owner.S, account);
      const other = accounts.find((each) => each !== account);
      const refused = await ddb(server, keys[account], 'GetItem', { TableName: `arn:aws:dynamodb:us-east-1:${other}:table/table0`, Key }).then(() => assert.fail('it was served'), (error) => error);
      assert.equal(refused.name, 'AccessDeniedException');
    }
    assert.equal((await ddb(server, kRoot, 'GetItem', { TableName: 'table0', Key, ConsistentRead: true })).Item, undefined);
  };
  for (const server of servers) await check(server);
  await servers[0].kill();
  for (const server of servers.slice(1)) await check(server);
  // Written through one server, seen through the other.
  for (const account of accounts) {
    await ddb(servers[1], keys[account], 'UpdateItem', {
      TableName: 'table0', Key, UpdateExpression: 'SET again = :a', ExpressionAttributeValues: { ':a': { S: account } },
    });
    assert.equal((await ddb(servers[2], keys[account], 'GetItem', { TableName: 'table0', Key, ConsistentRead: true })).Item.again.S, account);
    await ddb(servers[2], keys[account], 'DeleteTable', { TableName: 'table0' });
  }
  assert.equal((await ddb(servers[2], kRoot, 'DescribeTable', { TableName: 'table0' })).Table.TableName, 'table0', 'the default account keeps its own');
});
