// Accounts: three of them with tables of one name, each with its own items, streams, backups and identities; what crosses them, and
// what does not; restarts and kills.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as ddbSdk from '@aws-sdk/client-dynamodb';
import * as streamsSdk from '@aws-sdk/client-dynamodb-streams';
import * as iamSdk from '@aws-sdk/client-iam';
import * as stsSdk from '@aws-sdk/client-sts';

import { binary, Server } from '../sdk/harness.mjs';

const kRoot = { accessKeyId: 'AKIAROOTROOTROOTROOT', secretAccessKey: 'rootsecret' };
const kDefault = '000000000000', kA = '111111111111', kB = '222222222222';
const environment = { STATOR_ROOT_ACCESS_KEY_ID: kRoot.accessKeyId, STATOR_ROOT_SECRET_ACCESS_KEY: kRoot.secretAccessKey };
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-accounts-'));
const masterKey = path.join(directory, 'master-key');
const dataDir = path.join(directory, 'data');
const cleanEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(AWS|STATOR)_/.test(name)));
let server;
const keys = { [kDefault]: kRoot };

const start = (auth = 'enforce') => Server.startOne({
  args: [`--auth=${auth}`, ...(auth === 'off' ? [] : ['--master-key-file', masterKey]), '--pitr-lag=1ms'],
  env: auth === 'off' ? {} : environment, dataDir,
});
const options = (credentials) => ({ endpoint: server.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
const sender = (Client, sdk) => async (who, operation, input = {}) => {
  const client = new sdk[Client](options(typeof who === 'string' ? keys[who] : who));
  try {
    const answer = await client.send(new sdk[`${operation}Command`](input));
    delete answer.$metadata;
    return answer;
  } finally {
    client.destroy();
  }
};
const ddb = sender('DynamoDBClient', ddbSdk);
const streams = sender('DynamoDBStreamsClient', streamsSdk);
const iam = sender('IAMClient', iamSdk);
const sts = sender('STSClient', stsSdk);
async function refused(promise, name, text = '') {
  const error = await promise.then(() => assert.fail(`expected ${name}`), (caught) => caught);
  assert.equal(error.name, name, `${error.name}: ${error.message}`);
  assert.ok(error.message.includes(text), error.message);
  return error.message;
}
// `stator iam` of the running server, with the default account's key; or offline.
const command = (words, { key = kRoot, offline = false } = {}) => spawnSync(binary, [
  'iam', ...words, ...(offline ? ['--data-dir', dataDir, '--master-key-file', masterKey] : ['--endpoint-url', server.endpoint]),
], {
  encoding: 'utf8', env: { ...cleanEnv, AWS_ACCESS_KEY_ID: key.accessKeyId, AWS_SECRET_ACCESS_KEY: key.secretAccessKey }, cwd: directory, timeout: 120_000,
});
function run(words, extra) {
  const { status, stdout, stderr } = command(words, extra);
  assert.equal(status, 0, stderr);
  return stdout === '' ? undefined : JSON.parse(stdout);
}
const arnOf = (account, table) => `arn:aws:dynamodb:us-east-1:${account}:table/${table}`;
const definition = (TableName, extra = {}) => ({
  TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'g', AttributeType: 'S' }],
  GlobalSecondaryIndexes: [{ IndexName: 'by-g', KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } }],
  StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' }, ...extra,
});
const kAll = [kDefault, kA, kB];
const Key = { pk: { S: 'one' } };
const itemOf = (account) => ({ ...Key, g: { S: 'g' }, owner: { S: account } });
async function until(what, probe) {
  for (const end = Date.now() + 120_000; ; await delay(20)) {
    const found = await probe();
    if (found) return found;
    assert.ok(Date.now() < end, what);
  }
}
async function recordsOf(who, StreamArn) {
  const { StreamDescription: { Shards } } = await streams(who, 'DescribeStream', { StreamArn });
  const all = [];
  for (const { ShardId } of Shards) {
    const { ShardIterator } = await streams(who, 'GetShardIterator', { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' });
    all.push(...(await streams(who, 'GetRecords', { ShardIterator })).Records);
  }
  return all;
}
const checkItems = async () => {
  for (const account of kAll) {
    assert.equal((await ddb(account, 'GetItem', { TableName: 'orders', Key })).Item.owner.S, account);
    assert.deepEqual((await ddb(account, 'ListTables')).TableNames, account === kB ? ['orders'] : ['orders', 'others']);
  }
};

before(async () => {
  assert.equal(spawnSync(binary, ['make-master-key', masterKey]).status, 0);
  server = await start();
});
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

test('accounts are made of a server, and the store notes the feature', async () => {
  assert.ok(!fs.readFileSync(path.join(dataDir, 'FORMAT'), 'utf8').includes('accounts'));
  for (const account of [kA, kB]) {
    const { Account, AccessKey } = run(['account', 'create', '--account-id', account, '--account-name', `team-${account[0]}`]);
    assert.equal(Account.AccountId, account);
    assert.equal(Account.AccountName, `team-${account[0]}`);
    keys[account] = { accessKeyId: AccessKey.AccessKeyId, secretAccessKey: AccessKey.SecretAccessKey };
    const { Account: id, Arn } = await sts(account, 'GetCallerIdentity');
    assert.deepEqual([id, Arn], [account, `arn:aws:iam::${account}:root`]);
  }
  assert.match(fs.readFileSync(path.join(dataDir, 'FORMAT'), 'utf8'), /^features .*\baccounts\b/m);
  assert.deepEqual(run(['account', 'list']).Accounts.map(({ AccountId }) => AccountId), [kA, kB]);
  assert.match(command(['account', 'create', '--account-id', kA]).stderr, /EntityAlreadyExists/);
  assert.match(command(['account', 'create', '--account-id', kDefault]).stderr, /EntityAlreadyExists/);
  assert.match(command(['account', 'create', '--account-id', '12']).stderr, /ValidationError/);
  for (const words of [['account', 'list'], ['account', 'create'], ['account', 'delete', '--account-id', kB]])
    assert.match(command(words, { key: keys[kA] }).stderr, /AccessDenied/, words.join(' '));
});

test('tables of one name are three tables', async () => {
  for (const account of kAll) {
    const { TableDescription } = await ddb(account, 'CreateTable', definition('orders'));
    assert.equal(TableDescription.TableName, 'orders');
    assert.equal(TableDescription.TableArn, arnOf(account, 'orders'));
    assert.equal(TableDescription.GlobalSecondaryIndexes[0].IndexArn, `${arnOf(account, 'orders')}/index/by-g`);
    assert.ok(TableDescription.LatestStreamArn.startsWith(`${arnOf(account, 'orders')}/stream/`));
    await ddb(account, 'PutItem', { TableName: 'orders', Item: itemOf(account) });
    assert.equal(await refused(ddb(account, 'CreateTable', definition('orders')), 'ResourceInUseException', 'orders'), 'Table already exists: orders');
  }
  for (const account of [kDefault, kA]) await ddb(account, 'CreateTable', definition('others'));
  await checkItems();
  for (const account of kAll) {
    const { Items } = await ddb(account, 'Query', {
      TableName: arnOf(account, 'orders'), IndexName: 'by-g', KeyConditionExpression: 'g = :g', ExpressionAttributeValues: { ':g': { S: 'g' } },
    });
    assert.deepEqual(Items, [itemOf(account)]);
    assert.deepEqual((await ddb(account, 'Scan', { TableName: 'orders' })).Items, [itemOf(account)]);
    assert.deepEqual((await ddb(account, 'ExecuteStatement', { Statement: 'SELECT * FROM "orders"' })).Items, [itemOf(account)]);
  }
  const missing = await refused(ddb(kB, 'DescribeTable', { TableName: 'others' }), 'ResourceNotFoundException');
  assert.equal(missing, 'Requested resource not found: Table: others not found');
  await refused(ddb(kB, 'GetItem', { TableName: 'others', Key }), 'ResourceNotFoundException');
  // Pages of a range.
  const first = await ddb(kA, 'ListTables', { Limit: 1 });
  assert.deepEqual(first, { TableNames: ['orders'], LastEvaluatedTableName: 'orders' });
  assert.deepEqual(await ddb(kA, 'ListTables', { Limit: 1, ExclusiveStartTableName: 'orders' }), { TableNames: ['others'] });
});

test('batches, transactions and their tokens are of one account', async () => {
  const ClientRequestToken = 'the-same-token-in-each-account';
  for (const account of kAll) {
    const { Responses, ConsumedCapacity } = await ddb(account, 'BatchGetItem', { RequestItems: { orders: { Keys: [Key] } }, ReturnConsumedCapacity: 'TOTAL' });
    assert.deepEqual(Responses, { orders: [itemOf(account)] });
    assert.equal(ConsumedCapacity[0].TableName, 'orders');
    await ddb(account, 'BatchWriteItem', { RequestItems: { orders: [{ PutRequest: { Item: { pk: { S: 'two' }, owner: { S: account } } } }] } });
    await ddb(account, 'TransactWriteItems', {
      ClientRequestToken,
      TransactItems: [{ Put: { TableName: 'orders', Item: { pk: { S: 'three' }, owner: { S: account } } } }],
    });
    const three = await ddb(account, 'TransactGetItems', { TransactItems: [{ Get: { TableName: 'orders', Key: { pk: { S: 'three' } } } }] });
    assert.equal(three.Responses[0].Item.owner.S, account, 'a token of another account is none of this one');
    const { Responses: [statement] } = await ddb(account, 'BatchExecuteStatement', { Statements: [{ Statement: `SELECT owner FROM orders WHERE pk = 'two'` }] });
    assert.deepEqual(statement.Item, { owner: { S: account } });
    for (const pk of ['two', 'three']) await ddb(account, 'DeleteItem', { TableName: 'orders', Key: { pk: { S: pk } } });
  }
});

test('the form of a name in the store is no name for a client', async () => {
  const name = `${kA}/orders`;
  for (const who of [kDefault, kB]) {
    await refused(ddb(who, 'GetItem', { TableName: name, Key }), 'ValidationException').catch(async () => {
      await refused(ddb(who, 'GetItem', { TableName: name, Key }), who === kB ? 'ResourceNotFoundException' : 'ResourceNotFoundException');
    });
    for (const [operation, input] of [
      ['ExecuteStatement', { Statement: `SELECT * FROM "${name}"` }], ['DescribeTable', { TableName: name }], ['DeleteTable', { TableName: name }],
      ['UpdateTable', { TableName: name, BillingMode: 'PAY_PER_REQUEST' }], ['CreateTable', definition(name)], ['Scan', { TableName: name }],
      ['ListTables', { ExclusiveStartTableName: name }], ['CreateBackup', { TableName: name, BackupName: 'bbb' }],
      ['BatchGetItem', { RequestItems: { [name]: { Keys: [Key] } } }],
      ['TransactGetItems', { TransactItems: [{ Get: { TableName: name, Key } }] }],
      ['RestoreTableToPointInTime', { SourceTableName: name, TargetTableName: 'stolen', UseLatestRestorableTime: true }],
      ['ExecuteTransaction', { TransactStatements: [{ Statement: `SELECT * FROM "${name}" WHERE pk = 'one'` }] }],
    ]) {
      const error = await ddb(who, operation, input).then(() => assert.fail(`${operation} of ${name}`), (caught) => caught);
      assert.ok(['ValidationException', 'ResourceNotFoundException', 'AccessDeniedException', 'TransactionCanceledException', 'TableNotFoundException'].includes(error.name),
        `${operation}: ${error.name}: ${error.message}`);
    }
    const { Responses } = await ddb(who, 'BatchExecuteStatement', { Statements: [{ Statement: `SELECT * FROM "${name}" WHERE pk = 'one'` }] })
      .catch(() => ({ Responses: [{ Error: {} }] }));
    assert.equal(Responses[0].Item, undefined);
  }
  await checkItems();
});

test('another account is refused in words that do not tell whether the table exists', async () => {
  for (const [who, owner] of [[kB, kA], [kB, kDefault], [kDefault, kA]]) {
    const texts = [];
    for (const table of ['others', 'no-such']) {
      const TableName = arnOf(owner, table);
      const text = await refused(ddb(who, 'GetItem', { TableName, Key }), 'AccessDeniedException', TableName);
      texts.push(text.replaceAll(table, 'T'));
      assert.equal(text, `User: arn:aws:iam::${who}:root is not authorized to perform: dynamodb:GetItem on resource: ${TableName} because no resource-based policy allows the dynamodb:GetItem action`);
      for (const [operation, input] of [
        ['PutItem', { TableName, Item: Key }], ['UpdateItem', { TableName, Key }], ['DeleteItem', { TableName, Key }], ['Scan', { TableName }],
        ['Query', { TableName, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': { S: 'one' } } }],
        ['BatchGetItem', { RequestItems: { [TableName]: { Keys: [Key] } } }],
        ['BatchWriteItem', { RequestItems: { [TableName]: [{ PutRequest: { Item: Key } }] } }],
        ['TransactGetItems', { TransactItems: [{ Get: { TableName, Key } }] }],
        ['TransactWriteItems', { TransactItems: [{ Put: { TableName, Item: Key } }] }],
        ['ExecuteStatement', { Statement: `SELECT * FROM "${TableName}"` }],
        ['ExecuteTransaction', { TransactStatements: [{ Statement: `SELECT * FROM "${TableName}" WHERE pk = 'one'` }] }],
        ['CreateTable', definition(TableName)], ['DeleteTable', { TableName }], ['DescribeTable', { TableName }],
        ['UpdateTable', { TableName, DeletionProtectionEnabled: true }],
        ['UpdateTimeToLive', { TableName, TimeToLiveSpecification: { Enabled: true, AttributeName: 't' } }], ['DescribeTimeToLive', { TableName }],
        ['TagResource', { ResourceArn: TableName, Tags: [{ Key: 'a', Value: 'b' }] }], ['UntagResource', { ResourceArn: TableName, TagKeys: ['a'] }],
        ['ListTagsOfResource', { ResourceArn: TableName }], ['CreateBackup', { TableName, BackupName: 'bbb' }],
        ['ListBackups', { TableName }], ['DescribeContinuousBackups', { TableName }],
        ['UpdateContinuousBackups', { TableName, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }],
        ['ExportTableToPointInTime', { TableArn: TableName, S3Bucket: 'bucket' }], ['ListExports', { TableArn: TableName }], ['ListImports', { TableArn: TableName }],
        ['RestoreTableToPointInTime', { SourceTableArn: TableName, TargetTableName: 'stolen', UseLatestRestorableTime: true }],
        ['DescribeContributorInsights', { TableName }], ['UpdateContributorInsights', { TableName, ContributorInsightsAction: 'ENABLE' }],
        ['ListContributorInsights', { TableName }], ['DescribeKinesisStreamingDestination', { TableName }],
        ['DescribeTableReplicaAutoScaling', { TableName }], ['PutResourcePolicy', { ResourceArn: TableName, Policy: '{}' }],
        ['GetResourcePolicy', { ResourceArn: TableName }], ['DeleteResourcePolicy', { ResourceArn: TableName }],
        ['DescribeBackup', { BackupArn: `${TableName}/backup/01489602797149-73d8d5bc` }], ['DeleteBackup', { BackupArn: `${TableName}/backup/01489602797149-73d8d5bc` }],
        ['RestoreTableFromBackup', { BackupArn: `${TableName}/backup/01489602797149-73d8d5bc`, TargetTableName: 'stolen' }],
        ['DescribeExport', { ExportArn: `${TableName}/export/01489602797149-73d8d5bc` }], ['DescribeImport', { ImportArn: `${TableName}/import/01489602797149-73d8d5bc` }],
        ['DescribeBulkOperation', { BulkOperationArn: `${TableName}/bulk-operation/01489602797149-73d8d5bc` }],
        ['CancelBulkOperation', { BulkOperationArn: `${TableName}/bulk-operation/01489602797149-73d8d5bc` }],
      ]) {
        const error = await ddb(who, operation, input).then((answer) => ({ answer }), (caught) => caught);
        if (error.answer) {
          // Lists of a caller without a right to name: they hold nothing.
          assert.ok(operation.startsWith('List') && Object.values(error.answer).every((list) => list.length === 0), `${operation}: ${JSON.stringify(error.answer)}`);
          continue;
        }
        texts.push(`${operation} ${error.name} ${error.message}`.replaceAll(table, 'T'));
      }
    }
    assert.deepEqual(texts.slice(0, texts.length / 2), texts.slice(texts.length / 2), 'a table that is there and one that is not');
    for (const text of texts.slice(1, texts.length / 2)) assert.match(text, /AccessDenied|ValidationException/);
  }
  await checkItems();
});

test('a policy of the table and one of the identity together let another account in', async () => {
  const ResourceArn = arnOf(kA, 'orders');
  const { User } = await iam(kB, 'CreateUser', { UserName: 'guest' });
  assert.equal(User.Arn, `arn:aws:iam::${kB}:user/guest`);
  const { AccessKey } = await iam(kB, 'CreateAccessKey', { UserName: 'guest' });
  const guest = { accessKeyId: AccessKey.AccessKeyId, secretAccessKey: AccessKey.SecretAccessKey };
  const get = () => ddb(guest, 'GetItem', { TableName: ResourceArn, Key });
  await refused(get(), 'AccessDeniedException');
  await ddb(kA, 'PutResourcePolicy', {
    ResourceArn,
    Policy: JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Principal: { AWS: `arn:aws:iam::${kB}:user/guest` }, Action: 'dynamodb:*', Resource: [ResourceArn, `${ResourceArn}/index/*`] }],
    }),
  });
  await refused(get(), 'AccessDeniedException', 'identity-based policy');
  await iam(kB, 'PutUserPolicy', {
    UserName: 'guest', PolicyName: 'p',
    PolicyDocument: JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: ['dynamodb:*', 'sts:AssumeRole'], Resource: '*' }] }),
  });
  assert.equal((await get()).Item.owner.S, kA);
  assert.equal((await ddb(guest, 'DescribeTable', { TableName: ResourceArn })).Table.TableArn, ResourceArn);
  const { Responses } = await ddb(guest, 'BatchGetItem', { RequestItems: { [ResourceArn]: { Keys: [Key] }, orders: { Keys: [Key] } } });
  assert.deepEqual(Object.fromEntries(Object.entries(Responses).map(([name, [item]]) => [name, item.owner.S])), { [ResourceArn]: kA, orders: kB });
  assert.equal((await ddb(guest, 'GetItem', { TableName: 'orders', Key })).Item.owner.S, kB, 'a name alone is the own account');
  await ddb(guest, 'TransactWriteItems', { TransactItems: [{ Put: { TableName: ResourceArn, Item: { pk: { S: 'gift' } } } }, { Put: { TableName: 'orders', Item: { pk: { S: 'kept' } } } }] });
  assert.ok((await ddb(kA, 'GetItem', { TableName: 'orders', Key: { pk: { S: 'gift' } } })).Item);
  assert.equal((await ddb(kB, 'GetItem', { TableName: 'orders', Key: { pk: { S: 'gift' } } })).Item, undefined);
  await ddb(kA, 'DeleteItem', { TableName: 'orders', Key: { pk: { S: 'gift' } } });
  await ddb(kB, 'DeleteItem', { TableName: 'orders', Key: { pk: { S: 'kept' } } });
  // As in the service, statements and most of the rest do not cross.
  await refused(ddb(guest, 'ExecuteStatement', { Statement: `SELECT * FROM "${ResourceArn}"` }), 'AccessDeniedException');
  await refused(ddb(guest, 'CreateBackup', { TableName: ResourceArn, BackupName: 'bbb' }), 'AccessDeniedException');
  await refused(ddb(guest, 'GetItem', { TableName: arnOf(kA, 'others'), Key }), 'AccessDeniedException');
  await refused(ddb(guest, 'GetItem', { TableName: arnOf(kDefault, 'orders'), Key }), 'AccessDeniedException');
  await ddb(kA, 'DeleteResourcePolicy', { ResourceArn });
  await refused(get(), 'AccessDeniedException');
  keys.guest = guest;
});

test('streams, backups, time to live, tags and insights are of one account', async () => {
  for (const account of kAll) {
    const { Streams } = await streams(account, 'ListStreams', {});
    assert.deepEqual(Streams.map(({ TableName }) => TableName), account === kB ? ['orders'] : ['orders', 'others']);
    const [{ StreamArn }] = Streams;
    assert.ok(StreamArn.startsWith(arnOf(account, 'orders')), StreamArn);
    assert.equal((await streams(account, 'DescribeStream', { StreamArn })).StreamDescription.TableName, 'orders');
    const records = await recordsOf(account, StreamArn);
    assert.ok(records.length > 0);
    for (const { dynamodb: { NewImage } } of records) assert.ok(NewImage?.owner === undefined || NewImage.owner.S === account);
    for (const other of kAll) {
      if (other === account) continue;
      await refused(streams(other, 'DescribeStream', { StreamArn }), 'AccessDeniedException');
      const { StreamDescription: { Shards: [{ ShardId }] } } = await streams(account, 'DescribeStream', { StreamArn });
      const { ShardIterator } = await streams(account, 'GetShardIterator', { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' });
      await refused(streams(other, 'GetRecords', { ShardIterator }), 'AccessDeniedException');
      await refused(streams(other, 'GetRecords', { ShardIterator: ShardIterator.replace(account, other) }), 'ResourceNotFoundException')
        .catch(() => refused(streams(other, 'GetRecords', { ShardIterator: ShardIterator.replace(account, other) }), 'ValidationException'));
    }
    await ddb(account, 'TagResource', { ResourceArn: arnOf(account, 'orders'), Tags: [{ Key: 'account', Value: account }] });
    await ddb(account, 'UpdateContributorInsights', { TableName: 'orders', ContributorInsightsAction: 'ENABLE' });
    await ddb(account, 'CreateBackup', { TableName: 'orders', BackupName: `backup-${account}` });
    await ddb(account, 'UpdateContinuousBackups', { TableName: 'orders', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });
  }
  await ddb(kA, 'UpdateTimeToLive', { TableName: 'orders', TimeToLiveSpecification: { Enabled: true, AttributeName: 'dies' } });
  assert.equal((await ddb(kB, 'DescribeTimeToLive', { TableName: 'orders' })).TimeToLiveDescription.TimeToLiveStatus, 'DISABLED');
  const Item = { pk: { S: 'mortal' }, dies: { N: '1700000000' } };
  for (const account of kAll) await ddb(account, 'PutItem', { TableName: 'orders', Item });
  for (const account of kAll) {
    assert.deepEqual((await ddb(account, 'ListTagsOfResource', { ResourceArn: arnOf(account, 'orders') })).Tags, [{ Key: 'account', Value: account }]);
    assert.deepEqual((await ddb(account, 'ListContributorInsights')).ContributorInsightsSummaries.map(({ TableName }) => TableName), ['orders']);
    const { BackupSummaries } = await until('backups', async () => {
      const list = await ddb(account, 'ListBackups');
      return list.BackupSummaries.every(({ BackupStatus }) => BackupStatus === 'AVAILABLE') && list;
    });
    assert.deepEqual(BackupSummaries.map(({ BackupName, TableName, TableArn }) => [BackupName, TableName, TableArn]), [[`backup-${account}`, 'orders', arnOf(account, 'orders')]]);
    const [{ BackupArn }] = BackupSummaries;
    for (const other of kAll) {
      if (other === account) continue;
      await refused(ddb(other, 'DescribeBackup', { BackupArn }), 'AccessDeniedException');
      const own = BackupArn.replace(account, other);
      await refused(ddb(other, 'DescribeBackup', { BackupArn: own }), 'BackupNotFoundException');
      await refused(ddb(other, 'RestoreTableFromBackup', { BackupArn: own, TargetTableName: 'stolen' }), 'BackupNotFoundException');
      await refused(ddb(other, 'DeleteBackup', { BackupArn: own }), 'BackupNotFoundException');
    }
    const { TableDescription } = await ddb(account, 'RestoreTableFromBackup', { BackupArn, TargetTableName: 'restored' });
    assert.deepEqual([TableDescription.TableName, TableDescription.TableArn, TableDescription.RestoreSummary.SourceTableArn], ['restored', arnOf(account, 'restored'), arnOf(account, 'orders')]);
    await until('restored', async () => (await ddb(account, 'DescribeTable', { TableName: 'restored' })).Table.TableStatus === 'ACTIVE');
    assert.equal((await ddb(account, 'GetItem', { TableName: 'restored', Key })).Item.owner.S, account);
    await until('restorable', async () => {
      const made = await ddb(account, 'RestoreTableToPointInTime', { SourceTableName: 'orders', TargetTableName: 'past', UseLatestRestorableTime: true });
      return made.TableDescription.TableArn === arnOf(account, 'past');
    });
    await until('restored', async () => (await ddb(account, 'DescribeTable', { TableName: 'past' })).Table.TableStatus === 'ACTIVE');
    assert.equal((await ddb(account, 'GetItem', { TableName: 'past', Key })).Item.owner.S, account);
    for (const TableName of ['restored', 'past']) await ddb(account, 'DeleteTable', { TableName });
    await ddb(account, 'DeleteBackup', { BackupArn });
  }
  await until('the item of one account expires', async () => (await ddb(kA, 'GetItem', { TableName: 'orders', Key: { pk: { S: 'mortal' } } })).Item === undefined);
  for (const account of [kDefault, kB]) assert.ok((await ddb(account, 'GetItem', { TableName: 'orders', Key: { pk: { S: 'mortal' } } })).Item, account);
  for (const account of kAll) await ddb(account, 'UpdateContinuousBackups', { TableName: 'orders', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: false } });
});

test('identities are of one account, and a trust policy lets another one assume a role', async () => {
  const everyone = JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }] });
  for (const account of kAll) await iam(account, 'CreateUser', { UserName: 'alice' });
  for (const account of kAll) {
    assert.deepEqual((await iam(account, 'ListUsers')).Users.map(({ Arn }) => Arn).sort(),
      [`arn:aws:iam::${account}:user/alice`, ...(account === kB ? [`arn:aws:iam::${kB}:user/guest`] : [])]);
    assert.equal((await iam(account, 'GetUser', { UserName: 'alice' })).User.Arn, `arn:aws:iam::${account}:user/alice`);
    const { Policy } = await iam(account, 'CreatePolicy', { PolicyName: 'all', PolicyDocument: everyone });
    assert.equal(Policy.Arn, `arn:aws:iam::${account}:policy/all`);
    assert.deepEqual((await iam(account, 'ListPolicies', { Scope: 'Local' })).Policies.map(({ Arn }) => Arn), [Policy.Arn]);
  }
  const PolicyArn = `arn:aws:iam::${kA}:policy/all`;
  await refused(iam(kB, 'AttachUserPolicy', { UserName: 'alice', PolicyArn }), 'NoSuchEntityException');
  await refused(iam(kB, 'GetPolicy', { PolicyArn }), 'AccessDenied');
  await refused(iam(kB, 'DeletePolicy', { PolicyArn }), 'AccessDenied');
  await refused(iam(kDefault, 'GetPolicyVersion', { PolicyArn, VersionId: 'v1' }), 'AccessDenied');
  const keyOfA = keys[kA].accessKeyId;
  await refused(iam(kB, 'DeleteAccessKey', { AccessKeyId: keyOfA }), 'NoSuchEntityException');
  await refused(iam(kB, 'UpdateAccessKey', { AccessKeyId: keyOfA, Status: 'Inactive' }), 'NoSuchEntityException');
  await iam(kB, 'DeleteUser', { UserName: 'alice' });
  await iam(kA, 'GetUser', { UserName: 'alice' });

  const trust = (account) => JSON.stringify({ Version: '2012-10-17', Statement: [{ Effect: 'Allow', Principal: { AWS: `arn:aws:iam::${account}:root` }, Action: 'sts:AssumeRole' }] });
  const RoleArn = `arn:aws:iam::${kA}:role/visitor`;
  const assume = (who) => sts(who, 'AssumeRole', { RoleArn, RoleSessionName: 'visit' });
  const missing = await refused(assume('guest'), 'AccessDenied', RoleArn);
  await iam(kA, 'CreateRole', { RoleName: 'visitor', AssumeRolePolicyDocument: trust(kA) });
  await iam(kA, 'PutRolePolicy', { RoleName: 'visitor', PolicyName: 'p', PolicyDocument: everyone });
  assert.equal(await refused(assume('guest'), 'AccessDenied', RoleArn), missing);
  await iam(kA, 'UpdateAssumeRolePolicy', { RoleName: 'visitor', PolicyDocument: trust(kB) });
  const { Credentials, AssumedRoleUser } = await assume('guest');
  assert.equal(AssumedRoleUser.Arn, `arn:aws:sts::${kA}:assumed-role/visitor/visit`);
  const session = { accessKeyId: Credentials.AccessKeyId, secretAccessKey: Credentials.SecretAccessKey, sessionToken: Credentials.SessionToken };
  assert.equal((await sts(session, 'GetCallerIdentity')).Account, kA);
  assert.equal((await ddb(session, 'GetItem', { TableName: 'orders', Key })).Item.owner.S, kA, 'in the account of the role');
  await refused(ddb(session, 'GetItem', { TableName: arnOf(kB, 'orders'), Key }), 'AccessDeniedException');
});

test('management, metrics, mappings and scaling are the default account\'s', async () => {
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const crypto = await import('node:crypto');
  class Sha256 {
    constructor(secret) { this.hash = secret ? crypto.createHmac('sha256', secret) : crypto.createHash('sha256'); }
    update(data) { this.hash.update(data); }
    async digest() { return new Uint8Array(this.hash.digest()); }
  }
  const ask = async (who, service, method, target, extra = {}, body = '') => {
    const url = new URL(server.endpoint);
    const signer = new SignatureV4({ service, region: 'us-east-1', credentials: keys[who], sha256: Sha256 });
    const signed = await signer.sign({
      method, protocol: 'http:', hostname: url.hostname, port: Number(url.port), path: target, query: {}, body,
      headers: { host: url.host, 'x-stator-management': 'true', ...extra },
    });
    const reply = await fetch(server.endpoint + target, { method, headers: signed.headers, body: method === 'GET' ? undefined : body });
    return { status: reply.status, text: await reply.text() };
  };
  for (const [method, target] of [['GET', '/_stator/status'], ['GET', '/metrics'], ['POST', '/_stator/reset'], ['GET', '/_stator/tables/orders/heat'], ['POST', '/_stator/tables/orders/past/at'], ['GET', '/_stator/events']]) {
    const { status, text } = await ask(kA, 'stator', method, target);
    assert.equal(status, 403, `${target}: ${text}`);
  }
  const { status, text } = await ask(kDefault, 'stator', 'GET', '/metrics');
  assert.equal(status, 200, text);
  assert.ok(text.includes(`table="${kA}/orders"`) && text.includes('table="orders"'), 'told apart');
  const mapping = await ask(kA, 'lambda', 'GET', '/2015-03-31/event-source-mappings');
  assert.ok(mapping.status === 403 && mapping.text.includes('default account'), mapping.text);
  const scaling = await ask(kA, 'application-autoscaling', 'POST', '/', { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'AnyScaleFrontendService.DescribeScalableTargets' }, '{"ServiceNamespace":"dynamodb"}');
  assert.ok(scaling.status >= 400 && scaling.text.includes('default account'), scaling.text);
});

test('exports and imports are the default account\'s', async () => {
  const text = 'is for the default account in this version of Stator: the object store has no accounts.';
  await refused(ddb(kA, 'ExportTableToPointInTime', { TableArn: arnOf(kA, 'orders'), S3Bucket: 'bucket' }), 'AccessDeniedException', text);
  await refused(ddb(kA, 'ImportTable', {
    S3BucketSource: { S3Bucket: 'bucket' }, InputFormat: 'DYNAMODB_JSON',
    TableCreationParameters: {
      TableName: 'imported', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    },
  }), 'AccessDeniedException', text);
  await refused(ddb(kA, 'StartBulkPutItems', {
    TableName: 'orders', InputS3Configuration: { S3Bucket: 'bucket', InputFormat: 'DYNAMODB_JSON' }, OutputS3Configuration: { S3Bucket: 'bucket', OutputType: ['ERROR'] },
  }), 'AccessDeniedException', text);
  assert.deepEqual((await ddb(kA, 'ListBulkOperations')).BulkOperationsSummaryList, []);
  assert.deepEqual((await ddb(kA, 'ListExports')).ExportSummaries, []);
  assert.deepEqual((await ddb(kA, 'ListImports')).ImportSummaryList, []);
});

test('all of it is there after a restart and a kill', async () => {
  await server.stop();
  // Offline, of the store.
  assert.deepEqual(run(['account', 'list'], { offline: true }).Accounts.map(({ AccountId }) => AccountId), [kA, kB]);
  server = await start();
  await checkItems();
  await server.kill();
  server = await start();
  await checkItems();
});

test('where a key is not told, and without access control, a name is the default account\'s', async () => {
  await server.stop();
  server = await start('warn');
  const stranger = { accessKeyId: 'AKIASTRANGERSTRANGER', secretAccessKey: 'nobody-knows-it' };
  assert.equal((await ddb(stranger, 'GetItem', { TableName: 'orders', Key })).Item.owner.S, kDefault);
  assert.equal((await ddb(stranger, 'GetItem', { TableName: arnOf(kA, 'orders'), Key })).Item.owner.S, kDefault, 'as with --auth=off');
  assert.equal((await ddb(kA, 'GetItem', { TableName: 'orders', Key })).Item.owner.S, kA);
  await refused(ddb(kB, 'GetItem', { TableName: arnOf(kA, 'orders'), Key }), 'AccessDeniedException');
  await refused(ddb(kDefault, 'GetItem', { TableName: arnOf(kA, 'orders'), Key }), 'AccessDeniedException');
  await server.stop();
  server = await start('off');
  for (const who of kAll) {
    assert.equal((await ddb(who, 'GetItem', { TableName: 'orders', Key })).Item.owner.S, kDefault);
    assert.equal((await ddb(who, 'GetItem', { TableName: arnOf(kA, 'orders'), Key })).Item.owner.S, kDefault);
    assert.deepEqual((await ddb(who, 'ListTables')).TableNames, ['orders', 'others']);
  }
  await server.stop();
  server = await start();
});

test('DeleteTable takes one account\'s table, and an account without tables can go', async () => {
  await ddb(kA, 'DeleteTable', { TableName: 'orders' });
  await until('gone', async () => !(await ddb(kA, 'ListTables')).TableNames.includes('orders'));
  for (const account of [kDefault, kB]) assert.equal((await ddb(account, 'GetItem', { TableName: 'orders', Key })).Item.owner.S, account);
  assert.match(command(['account', 'delete', '--account-id', kB]).stderr, /DeleteConflict/);
  await ddb(kB, 'DeleteTable', { TableName: 'orders' });
  await until('gone', async () => (await ddb(kB, 'ListTables')).TableNames.length === 0);
  assert.equal(run(['account', 'delete', '--account-id', kB]), undefined);
  await refused(ddb(kB, 'ListTables'), 'UnrecognizedClientException');
  await refused(ddb('guest', 'ListTables'), 'UnrecognizedClientException');
  assert.deepEqual(run(['account', 'list']).Accounts.map(({ AccountId }) => AccountId), [kA]);
  assert.match(command(['account', 'create', '--account-id', kB]).stderr, /EntityAlreadyExists/);
  assert.equal((await ddb(kDefault, 'GetItem', { TableName: 'orders', Key })).Item.owner.S, kDefault);
});
