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

const recordsOf = (server) => fs.readFileSync(server.auditFile, 'utf8').trimEnd().split('\n').filter(Boolean).map((line) => JSON.parse(line));

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

test('stator iam works on the pool while the servers run, and they go by it within two seconds', { skip }, async () => {
  iam('create-user', '--user-name', 'acme');
  fs.writeFileSync(path.join(directory, 'own.json'), JSON.stringify({ Version: '2012-10-17', Statement: [{ Sid: 'Look', Effect: 'Allow', Action: 'dynamodb:DescribeTable', Resource: '*' }] }));
  iam('put-user-policy', '--user-name', 'acme', '--policy-name', 'own', '--policy-document', 'file://own.json');
  const { AccessKey } = iam('create-access-key', '--user-name', 'acme');
  const keys = { accessKeyId: AccessKey.AccessKeyId, secretAccessKey: AccessKey.SecretAccessKey };
  await delay(2000);
  for (const server of servers) {
    assert.equal((await ddb(server, keys, 'DescribeTable', { TableName: 'table1' })).Table.TableName, 'table1');
    const refused = await ddb(server, keys, 'ListTables', {}).then(() => assert.fail('it was served'), (error) => error);
    assert.equal(refused.name, 'AccessDeniedException');
    await delay(300);
    const described = recordsOf(server).findLast(({ eventName }) => eventName === 'DescribeTable');
    assert.equal(described.userIdentity.userName, 'acme');
    assert.equal(described.additionalEventData.authorization[0].sid, 'Look');
  }
  assert.equal(iam('why', '--principal', 'acme', '--action', 'dynamodb:DescribeTable', '--resource', 'table1').sid, 'Look');
  assert.equal(iam('why', '--principal', 'acme', '--action', 'dynamodb:Scan', '--resource', 'table1').decision, 'implicitDeny');
  iam('delete-access-key', '--user-name', 'acme', '--access-key-id', keys.accessKeyId);
  await delay(2000);
  for (const server of servers) {
    const refused = await ddb(server, keys, 'DescribeTable', { TableName: 'table1' }).then(() => assert.fail('it was served'), (error) => error);
    assert.equal(refused.name, 'UnrecognizedClientException');
  }
});
