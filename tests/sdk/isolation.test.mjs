// --isolate=access-key: each access key has an account of its own. Two hundred suites on one server at once, which see nothing of one
// another; what an account has, and what no key reaches; the calls that list and drop accounts; restarts; and what is refused.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as sdk from '@aws-sdk/client-dynamodb';
import * as streamsSdk from '@aws-sdk/client-dynamodb-streams';

import { N, S, assertFails, operationsOf } from './clients.mjs';
import { Server, binary, call, isStator, onCluster, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT && !onCluster;
const kSuites = 200, kAtOnce = 50;
const management = { 'X-Stator-Management': 'true' };
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-isolation-'));
const clients = [];

const clientOf = (server, key, Client = sdk.DynamoDBClient) => {
  const client = new Client({ endpoint: server.endpoint, region: 'us-east-1', credentials: { accessKeyId: key, secretAccessKey: 'any' }, maxAttempts: 5 });
  clients.push(client);
  return client;
};
const as = (server, key) => operationsOf(clientOf(server, key));
const manage = async (server, method, target, body = '') => {
  const reply = await request(server.endpoint, { method, path: `/_stator/${target}`, headers: management, body });
  return { status: reply.status, ...reply.json() };
};
const kMusic = {
  TableName: 'music', BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
};
// Until `ask` answers something.
async function until(ask) {
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    await delay(20);
  }
}
async function withServer(args, work, options = {}) {
  const server = await Server.startOne({ args: ['--isolate=access-key', ...args], ...options });
  try {
    await work(server);
  } finally {
    assert.equal((await server.stop()).code, 0, server.output);
  }
}

describe('isolation by access key', { skip: own ? false : 'needs a server of its own' }, () => {
  after(() => {
    for (const client of clients) client.destroy();
    fs.rmSync(directory, { recursive: true, force: true });
  });

  test(`${kSuites} suites at once see nothing of one another`, { timeout: 600_000 }, async () => {
    await withServer(['--in-memory'], async (server) => {
      // A suite makes its table, writes, reads all of it, and leaves.
      const suite = async (number) => {
        const client = clientOf(server, `suite-${number}`);
        const ddb = operationsOf(client);
        assert.deepEqual((await ddb.ListTables()).TableNames, []);
        const { TableDescription } = await ddb.CreateTable({ ...kMusic, Tags: [{ Key: 'suite', Value: String(number) }] });
        const arn = TableDescription.TableArn;
        for (let i = 0; i < 3; ++i) await ddb.PutItem({ TableName: 'music', Item: { pk: S(`${i}`), suite: N(number) } });
        await ddb.TransactWriteItems({ ClientRequestToken: 'one-for-all', TransactItems: [{ Put: { TableName: 'music', Item: { pk: S('t'), suite: N(number) } } }] });
        const { Items } = await ddb.Scan({ TableName: 'music' });
        assert.equal(Items.length, 4);
        assert.ok(Items.every((item) => item.suite.N === String(number)), JSON.stringify(Items));
        assert.deepEqual((await ddb.ListTagsOfResource({ ResourceArn: arn })).Tags, [{ Key: 'suite', Value: String(number) }]);
        assert.deepEqual((await ddb.ExecuteStatement({ Statement: 'SELECT suite FROM music WHERE pk = \'t\'' })).Items, [{ suite: N(number) }]);
        assert.deepEqual((await ddb.ListTables()).TableNames, ['music']);
        client.destroy();
        return arn;
      };
      const arns = new Set();
      let next = 0;
      await Promise.all(Array.from({ length: kAtOnce }, async () => {
        while (next < kSuites) arns.add(await suite(next++));
      }));
      assert.equal(arns.size, kSuites);
      const list = await manage(server, 'GET', 'accounts');
      assert.equal(list.count, kSuites);
      assert.equal(list.accounts.length, kSuites);
      assert.ok(list.accounts.every(({ tables, running }) => tables === 1 && running === 0));
      assert.equal(new Set(list.accounts.map(({ key }) => key)).size, kSuites);
      // All of them go at once as well.
      await Promise.all(list.accounts.map(async ({ key }) => assert.equal((await manage(server, 'DELETE', `accounts/${key}`)).tables, 1)));
      assert.equal((await manage(server, 'GET', 'accounts')).count, 0);
      assert.deepEqual((await manage(server, 'GET', 'status')).tables, []);
    });
  });

  test('everything that an account has is its own, and an ARN of another key is refused', async () => {
    await withServer(['--in-memory'], async (server) => {
      const blue = as(server, 'blue'), red = as(server, 'red');
      const made = {};
      for (const [name, ddb] of Object.entries({ blue, red })) {
        const { TableDescription } = await ddb.CreateTable({ ...kMusic, StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' } });
        await ddb.PutItem({ TableName: 'music', Item: { pk: S(name) } });
        const { BackupDetails } = await ddb.CreateBackup({ TableName: 'music', BackupName: name });
        made[name] = { arn: TableDescription.TableArn, stream: TableDescription.LatestStreamArn, backup: BackupDetails.BackupArn };
        await until(async () => (await ddb.DescribeBackup({ BackupArn: BackupDetails.BackupArn })).BackupDescription.BackupDetails.BackupStatus === 'AVAILABLE');
      }
      const account = (arn) => arn.split(':')[4];
      assert.notEqual(account(made.blue.arn), account(made.red.arn));
      for (const arn of Object.values(made.blue)) assert.equal(account(arn), account(made.blue.arn));
      assert.deepEqual((await red.ListBackups()).BackupSummaries.map(({ BackupName }) => BackupName), ['red']);
      const streams = operationsOf(clientOf(server, 'red', streamsSdk.DynamoDBStreamsClient), streamsSdk);
      const listed = await streams.ListStreams();
      assert.deepEqual(listed.Streams.map(({ StreamArn }) => StreamArn), [made.red.stream]);
      const { Shards } = (await streams.DescribeStream({ StreamArn: made.red.stream })).StreamDescription;
      const seen = [];
      for (const { ShardId } of Shards) {
        const { ShardIterator } = await streams.GetShardIterator({ StreamArn: made.red.stream, ShardId, ShardIteratorType: 'TRIM_HORIZON' });
        seen.push(...(await streams.GetRecords({ ShardIterator })).Records.map(({ dynamodb }) => dynamodb.Keys));
      }
      assert.deepEqual(seen, [{ pk: S('red') }]);
      // An own ARN is a name.
      assert.deepEqual((await red.GetItem({ TableName: made.red.arn, Key: { pk: S('red') } })).Item, { pk: S('red') });
      const theirs = made.blue.arn;
      for (const refused of [
        () => red.GetItem({ TableName: theirs, Key: { pk: S('blue') } }), () => red.PutItem({ TableName: theirs, Item: { pk: S('x') } }),
        () => red.Query({ TableName: theirs, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': S('blue') } }),
        () => red.Scan({ TableName: theirs }), () => red.DescribeTable({ TableName: theirs }), () => red.DeleteTable({ TableName: theirs }),
        () => red.BatchGetItem({ RequestItems: { [theirs]: { Keys: [{ pk: S('blue') }] } } }),
        () => red.BatchWriteItem({ RequestItems: { [theirs]: [{ DeleteRequest: { Key: { pk: S('blue') } } }] } }),
        () => red.TransactWriteItems({ TransactItems: [{ Put: { TableName: theirs, Item: { pk: S('x') } } }] }),
        () => red.TransactGetItems({ TransactItems: [{ Get: { TableName: theirs, Key: { pk: S('blue') } } }] }),
        () => red.UpdateTimeToLive({ TableName: theirs, TimeToLiveSpecification: { Enabled: true, AttributeName: 'at' } }),
        () => red.TagResource({ ResourceArn: theirs, Tags: [{ Key: 'a', Value: 'b' }] }), () => red.ListTagsOfResource({ ResourceArn: theirs }),
        () => red.DescribeBackup({ BackupArn: made.blue.backup }), () => red.DeleteBackup({ BackupArn: made.blue.backup }),
        () => red.RestoreTableFromBackup({ BackupArn: made.blue.backup, TargetTableName: 'stolen' }),
        () => streams.DescribeStream({ StreamArn: made.blue.stream }),
        () => streams.GetShardIterator({ StreamArn: made.blue.stream, ShardId: Shards[0].ShardId, ShardIteratorType: 'LATEST' }),
      ]) await assertFails(refused(), 'AccessDeniedException');
      await assertFails(red.RestoreTableToPointInTime({ SourceTableArn: theirs, TargetTableName: 'stolen', UseLatestRestorableTime: true }), 'ValidationException');
      assert.deepEqual((await blue.GetItem({ TableName: 'music', Key: { pk: S('blue') } })).Item, { pk: S('blue') });
      // A drop takes all of it, of one account alone; a restore and a backup may be under way.
      await red.RestoreTableFromBackup({ BackupArn: made.red.backup, TargetTableName: 'again' });
      await red.CreateBackup({ TableName: 'music', BackupName: 'late' });
      assert.equal((await manage(server, 'DELETE', 'accounts/red')).status, 200);
      assert.deepEqual((await red.ListTables()).TableNames, []);
      assert.deepEqual((await red.ListBackups()).BackupSummaries, []);
      assert.deepEqual((await streams.ListStreams()).Streams, []);
      assert.equal((await blue.ListBackups()).BackupSummaries.length, 1);
      assert.deepEqual((await blue.ListTables()).TableNames, ['music']);
    });
  });

  test('a key has the same account on every server and after a restart', async () => {
    const dataDir = path.join(directory, 'restart');
    const arns = [];
    const args = ['--require-auth=false'];
    await withServer(args, async (server) => {
      const { TableDescription } = await as(server, 'blue').CreateTable(kMusic);
      await as(server, 'blue').PutItem({ TableName: 'music', Item: { pk: S('a') } });
      arns.push(TableDescription.TableArn);
    }, { dataDir });
    await withServer(args, async (server) => {
      const blue = as(server, 'blue');
      arns.push((await blue.DescribeTable({ TableName: 'music' })).Table.TableArn);
      assert.deepEqual((await blue.GetItem({ TableName: 'music', Key: { pk: S('a') } })).Item, { pk: S('a') });
      const [account] = (await manage(server, 'GET', 'accounts')).accounts;
      assert.deepEqual([account.key, account.tables], ['blue', 1]);
      // A key id of twelve digits is its account's number; the default account is that of its own, and of requests without a key.
      const number = (await as(server, '111122223333').CreateTable(kMusic)).TableDescription.TableArn;
      assert.equal(number.split(':')[4], '111122223333');
      await as(server, '000000000000').CreateTable({ ...kMusic, TableName: 'shared' });
      const unsigned = await call(server.endpoint, 'ListTables', {}, { headers: { Authorization: '' } });
      assert.deepEqual(unsigned.json().TableNames, ['shared']);
      assert.equal((await manage(server, 'DELETE', 'accounts/000000000000')).status, 400);
    }, { dataDir });
    await withServer(['--in-memory'], async (server) => {
      arns.push((await as(server, 'blue').CreateTable(kMusic)).TableDescription.TableArn);
    });
    assert.equal(new Set(arns).size, 1, arns.join(' '));
    // Without --isolate there is the default account alone, and a store that has other accounts' tables keeps them.
    const plain = await Server.startOne({ dataDir });
    assert.deepEqual((await as(plain, 'blue').ListTables()).TableNames, ['shared']);
    assert.equal((await plain.stop()).code, 0);
  });

  test('after kill -9 an account has what was answered, and a drop is done', async () => {
    const dataDir = path.join(directory, 'kill');
    let server = await Server.startOne({ args: ['--isolate=access-key'], dataDir });
    for (const key of ['blue', 'red']) {
      await as(server, key).CreateTable(kMusic);
      await as(server, key).PutItem({ TableName: 'music', Item: { pk: S(key) } });
    }
    assert.equal((await manage(server, 'DELETE', 'accounts/red')).status, 200);
    await server.kill();
    server = await Server.startOne({ args: ['--isolate=access-key'], dataDir });
    assert.deepEqual((await as(server, 'blue').Scan({ TableName: 'music' })).Items, [{ pk: S('blue') }]);
    assert.deepEqual((await as(server, 'red').ListTables()).TableNames, []);
    assert.equal((await server.stop()).code, 0);
  });

  test('an idle hour of the clock ends an account', async () => {
    await withServer(['--in-memory', '--clock=manual', '--isolate-idle=1h'], async (server) => {
      const blue = as(server, 'blue'), red = as(server, 'red');
      await blue.CreateTable(kMusic);
      await red.CreateTable(kMusic);
      assert.equal((await manage(server, 'POST', 'clock', '{"advance":"40m"}')).status, 200);
      assert.deepEqual((await blue.ListTables()).TableNames, ['music']);
      await manage(server, 'POST', 'clock', '{"advance":"40m"}');
      const list = await manage(server, 'GET', 'accounts');
      assert.deepEqual(list.accounts.map(({ key }) => key), ['blue']);
      assert.equal(list.dropped, 1);
      assert.deepEqual((await red.ListTables()).TableNames, []);
      assert.deepEqual((await blue.ListTables()).TableNames, ['music']);
    });
    // Without the setting a manual clock ends none: tests move it by days.
    await withServer(['--in-memory', '--clock=manual'], async (server) => {
      await as(server, 'blue').CreateTable(kMusic);
      await manage(server, 'POST', 'clock', '{"advance":"48h"}');
      const list = await manage(server, 'GET', 'accounts');
      assert.deepEqual([list.count, list.idle_seconds], [1, 0]);
    });
  });

  test('a key beyond the limit is refused by name, and so is what knows no accounts', async () => {
    await withServer(['--in-memory', '--isolate-accounts=2'], async (server) => {
      await as(server, 'one').ListTables();
      await as(server, 'two').ListTables();
      const third = operationsOf(new sdk.DynamoDBClient({ endpoint: server.endpoint, region: 'us-east-1', credentials: { accessKeyId: 'three', secretAccessKey: 'any' }, maxAttempts: 1 }));
      await assertFails(third.ListTables(), 'LimitExceededException', '--isolate-accounts');
      assert.match((await request(server.endpoint, { method: 'GET', path: '/metrics' })).text, /stator_isolated_accounts_refused 1\n/);
      assert.deepEqual([...(await manage(server, 'GET', 'accounts?limit=1')).accounts].length, 1);
      assert.equal((await manage(server, 'GET', 'accounts?limit=0')).status, 400);
      assert.equal((await manage(server, 'DELETE', 'accounts/three')).status, 404);
      assert.equal((await manage(server, 'DELETE', 'accounts/one')).status, 200);
      assert.deepEqual((await third.ListTables()).TableNames, []);
      const arn = (await as(server, 'two').CreateTable(kMusic)).TableDescription.TableArn;
      await assertFails(as(server, 'two').ExportTableToPointInTime({ TableArn: arn, S3Bucket: 'bucket' }), 'AccessDeniedException', 'default account');
      const scaling = await call(server.endpoint, '', '{"ServiceNamespace":"dynamodb"}', {
        headers: { 'X-Amz-Target': 'AnyScaleFrontendService.DescribeScalableTargets', 'Content-Type': 'application/x-amz-json-1.1' },
      });
      assert.equal(scaling.status, 400);
      assert.match(scaling.text, /AccessDeniedException.*default account/s);
      const headers = { Authorization: 'AWS4-HMAC-SHA256 Credential=blue/20261101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0' };
      const mappings = await request(server.endpoint, { method: 'GET', path: '/2015-03-31/event-source-mappings/', headers });
      assert.equal(mappings.status, 403, mappings.text);
      const who = await request(server.endpoint, {
        body: 'Action=GetCallerIdentity&Version=2011-06-15',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded', Authorization: 'AWS4-HMAC-SHA256 Credential=444455556666/20261101/us-east-1/sts/aws4_request, SignedHeaders=host, Signature=0' },
      });
      assert.match(who.text, /<Account>444455556666<\/Account>/);
    });
  });

  test('without --isolate the calls say so, and settings that contradict it end the start', async () => {
    const plain = await Server.startOne({ args: ['--in-memory'] });
    assert.equal((await manage(plain, 'GET', 'accounts')).status, 409);
    assert.equal((await manage(plain, 'DELETE', 'accounts/blue')).status, 409);
    assert.equal((await plain.stop()).code, 0);
    const start = (...args) => spawnSync(binary, ['serve', '--port=0', ...args], { encoding: 'utf8', cwd: directory, timeout: 60_000 });
    for (const [args, text] of [
      [['--isolate=access-key', '--auth=enforce'], /--isolate=access-key is for --auth=off/],
      [['--isolate=access-key', '--auth=warn'], /--isolate=access-key is for --auth=off/],
      [['--isolate=access-key', '--engine=rados', '--ceph-conf=x', '--pool=y'], /--isolate=access-key is not for --engine=rados/],
      [['--isolate-idle=1m', '--in-memory'], /--isolate-idle needs --isolate=access-key/],
      [['--isolate=access-key', '--isolate-accounts=0'], /isolate-accounts/],
      [['--isolate=user'], /isolate/],
    ]) {
      const { status, stderr } = start(...args);
      assert.notEqual(status, 0, args.join(' '));
      assert.match(stderr, text);
    }
  });
});
