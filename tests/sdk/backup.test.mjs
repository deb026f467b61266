// On-demand backups and restores through the SDK, on RocksDB and in memory; on a cluster they are refused by name.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as sdk from '@aws-sdk/client-dynamodb';

import { N, S, assertFails, assertSame, clientFor, operationsOf } from './clients.mjs';
import { Server, isStator, onCluster } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const kItems = 500;
const itemOf = (i, v = 'first') => ({ pk: S(`p${i % 11}`), sk: N(i), g: S(`g${i % 3}`), v: S(v) });
const arnOf = (table, id, { region = 'us-east-1', account = '000000000000' } = {}) =>
  `arn:aws:dynamodb:${region}:${account}:table/${table}/backup/${id}`;

async function until(look, wanted, what) {
  const end = Date.now() + 60000;
  for (;;) {
    const found = await look();
    if (wanted(found)) return found;
    assert.ok(Date.now() < end, `${what}: ${JSON.stringify(found)}`);
    await delay(5);
  }
}

class World {
  static async start(args) {
    const world = new World();
    world.root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-backup-'));
    world.args = args;
    await world.open();
    return world;
  }
  get backupDir() { return path.join(this.root, 'data-backups'); }
  async open() {
    this.server = await Server.startOne({ dataDir: path.join(this.root, 'data'), args: this.args });
    this.client = clientFor(this.server.endpoint);
    this.ddb = operationsOf(this.client);
  }
  async restart() {
    this.client.destroy();
    await this.server.kill();
    await this.open();
  }
  async close() {
    this.client.destroy();
    assert.equal((await this.server.stop()).code, 0, this.server.output);
    fs.rmSync(this.root, { recursive: true });
  }
  async table(TableName, more = {}) {
    await this.ddb.CreateTable({
      TableName, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: ['pk', 'g', 'v'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' }))
        .concat({ AttributeName: 'sk', AttributeType: 'N' }),
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
      LocalSecondaryIndexes: [{
        IndexName: 'by-v', Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['g'] },
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'v', KeyType: 'RANGE' }],
      }],
      GlobalSecondaryIndexes: [{
        IndexName: 'by-g', Projection: { ProjectionType: 'ALL' }, KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }],
      }],
      ...more,
    });
    for (let i = 0; i < kItems; i += 25) {
      await this.ddb.BatchWriteItem({
        RequestItems: { [TableName]: Array.from({ length: 25 }, (_, n) => ({ PutRequest: { Item: itemOf(i + n) } })) },
      });
    }
  }
  async backup(TableName, BackupName = 'mine') {
    const { BackupDetails } = await this.ddb.CreateBackup({ TableName, BackupName });
    const whole = await until(() => this.ddb.DescribeBackup({ BackupArn: BackupDetails.BackupArn }),
      ({ BackupDescription }) => BackupDescription.BackupDetails.BackupStatus === 'AVAILABLE', 'not AVAILABLE');
    return whole.BackupDescription;
  }
  async restored(input) {
    const { TableDescription } = await this.ddb.RestoreTableFromBackup(input);
    await until(() => this.ddb.DescribeTable({ TableName: input.TargetTableName }), ({ Table }) => Table.TableStatus === 'ACTIVE', 'not ACTIVE');
    return TableDescription;
  }
  async items(TableName, IndexName) {
    const items = [];
    for await (const page of sdk.paginateScan({ client: this.client }, { TableName, IndexName })) items.push(...page.Items);
    return items.sort((a, b) => (a.sk?.N ?? 0) - (b.sk?.N ?? 0));
  }
}

for (const [engine, args] of [['RocksDB', []], ['memory', ['--in-memory']]]) {
  describe(`backups on ${engine}`, { skip: !own ? 'needs a server of its own' : onCluster && 'not for a cluster' }, () => {
    let world;
    let ddb;
    before(async () => {
      world = await World.start(args);
      ddb = world.ddb;
      await world.table('Orders');
    });
    after(() => world.close());

    test('a backup is CREATING, then AVAILABLE, and describes its table', async () => {
      const { BackupDetails } = await ddb.CreateBackup({ TableName: 'Orders', BackupName: 'same-name' });
      assert.match(BackupDetails.BackupArn, /^arn:aws:dynamodb:us-east-1:000000000000:table\/Orders\/backup\/\d{14}-[0-9a-f]{8}$/);
      assert.deepEqual([BackupDetails.BackupStatus, BackupDetails.BackupType, BackupDetails.BackupName], ['CREATING', 'USER', 'same-name']);
      assert.equal(Number(/(\d{14})-/.exec(BackupDetails.BackupArn)[1]), BackupDetails.BackupCreationDateTime.getTime());
      const { Table } = await ddb.DescribeTable({ TableName: 'Orders' });
      const { BackupDetails: details, SourceTableDetails: source, SourceTableFeatureDetails: features } = await world.backup('Orders', 'same-name');
      assert.notEqual(details.BackupArn, BackupDetails.BackupArn, 'names are not unique');
      assert.ok(details.BackupSizeBytes > kItems * 20, `${details.BackupSizeBytes}`);
      assert.deepEqual(source, {
        TableName: 'Orders', TableId: Table.TableId, TableArn: Table.TableArn, TableSizeBytes: Table.TableSizeBytes, KeySchema: Table.KeySchema,
        TableCreationDateTime: Table.CreationDateTime, ProvisionedThroughput: { ReadCapacityUnits: 0, WriteCapacityUnits: 0 },
        ItemCount: kItems, BillingMode: 'PAY_PER_REQUEST',
      });
      assert.deepEqual(Object.keys(features).sort(), ['GlobalSecondaryIndexes', 'LocalSecondaryIndexes']);
      assert.deepEqual(features.LocalSecondaryIndexes, [{
        IndexName: 'by-v', KeySchema: Table.LocalSecondaryIndexes[0].KeySchema, Projection: Table.LocalSecondaryIndexes[0].Projection,
      }]);
      assert.deepEqual(features.GlobalSecondaryIndexes[0].ProvisionedThroughput, { ReadCapacityUnits: 0, WriteCapacityUnits: 0 });
    });

    test('what is on shows among the features', async () => {
      await world.table('Featured', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'OLD_IMAGE' } });
      await ddb.UpdateTimeToLive({ TableName: 'Featured', TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true } });
      const { SourceTableFeatureDetails } = await world.backup('Featured');
      assert.deepEqual(SourceTableFeatureDetails.StreamDescription, { StreamEnabled: true, StreamViewType: 'OLD_IMAGE' });
      assert.deepEqual(SourceTableFeatureDetails.TimeToLiveDescription, { TimeToLiveStatus: 'ENABLED', AttributeName: 'expires' });
    });

    test('ListBackups filters by table, time and type, and pages', async () => {
      await world.table('Listed');
      const arns = [];
      for (let i = 0; i < 5; i++) {
        arns.push((await world.backup('Listed')).BackupDetails.BackupArn);
        await delay(2);
      }
      const list = async (input) => (await ddb.ListBackups({ TableName: 'Listed', ...input })).BackupSummaries.map((one) => one.BackupArn);
      assert.deepEqual(await list({}), arns);
      assert.deepEqual(await list({ BackupType: 'ALL' }), arns);
      assert.deepEqual(await list({ BackupType: 'SYSTEM' }), []);
      assert.deepEqual(await list({ BackupType: 'AWS_BACKUP' }), []);
      assert.deepEqual(await list({ TableName: 'Never' }), []);
      assert.ok((await ddb.ListBackups({})).BackupSummaries.length > 5, 'those of all tables');
      const time = (i) => new Date(Number(/(\d{14})-/.exec(arns[i])[1]));
      assert.deepEqual(await list({ TimeRangeLowerBound: time(1), TimeRangeUpperBound: time(3) }), arns.slice(1, 3));
      await assertFails(ddb.ListBackups({ TimeRangeLowerBound: time(3), TimeRangeUpperBound: time(1) }), 'ValidationException',
        'Time range lower bound must be less than or equal to upper bound');
      const pages = [];
      const input = { TableName: 'Listed', Limit: 2 };
      for (;;) {
        const page = await ddb.ListBackups(input);
        pages.push(page.BackupSummaries.map((one) => one.BackupArn));
        if (page.LastEvaluatedBackupArn === undefined) break;
        input.ExclusiveStartBackupArn = page.LastEvaluatedBackupArn;
      }
      assert.deepEqual(pages, [arns.slice(0, 2), arns.slice(2, 4), arns.slice(4)]);
      assert.equal((await ddb.ListBackups({ TableName: 'Listed', Limit: 5 })).LastEvaluatedBackupArn, undefined, 'a page that ends with the last');
      const [summary] = (await ddb.ListBackups({ TableName: 'Listed', Limit: 1 })).BackupSummaries;
      assert.deepEqual(Object.keys(summary).sort(), ['BackupArn', 'BackupCreationDateTime', 'BackupName', 'BackupSizeBytes', 'BackupStatus',
        'BackupType', 'TableArn', 'TableId', 'TableName']);
      await assertFails(ddb.ListBackups({ ExclusiveStartBackupArn: arnOf('Listed', '01795613126583-0a1b2c3d', { region: 'eu-west-1' }) }),
        'ValidationException', 'does not match the region');
      await assertFails(ddb.ListBackups({ Limit: 101 }), 'ValidationException', 'less than or equal to 100');
    });

    test('wrong tables and ARNs are refused in the words of the service', async () => {
      const missing = '01795613126583-0a1b2c3d';
      await assertFails(ddb.CreateBackup({ TableName: 'Never', BackupName: 'abc' }), 'TableNotFoundException', 'Table not found: Never');
      await assertFails(ddb.CreateBackup({ TableName: 'Never', BackupName: 'a b' }), 'ValidationException', 'regular expression pattern');
      await assertFails(ddb.CreateBackup({ TableName: 'Never', BackupName: 'ab' }), 'ValidationException', 'greater than or equal to 3');
      for (const call of [(BackupArn) => ddb.DescribeBackup({ BackupArn }), (BackupArn) => ddb.DeleteBackup({ BackupArn }),
        (BackupArn) => ddb.RestoreTableFromBackup({ BackupArn, TargetTableName: 'Target' })]) {
        await assertFails(call(arnOf('Orders', missing)), 'BackupNotFoundException', `Backup not found: ${arnOf('Orders', missing)}`);
        await assertFails(call('arn:aws:dynamodb:us-east-1:000000000000:table/Orders'), 'ValidationException', 'Invalid Backup ARN');
        await assertFails(call('no ARN at all, but long enough for one of them'), 'ValidationException', 'Invalid Backup ARN');
        await assertFails(call(arnOf('Orders', missing).replace(':dynamodb:', ':s3:')), 'ValidationException', 'BackupArn is not valid');
        await assertFails(call(arnOf('Orders', missing, { region: 'nowhere' })), 'ValidationException', 'BackupArn is not valid');
        await assertFails(call(arnOf('Orders', missing, { account: '123456789012' })), 'AccessDeniedException', 'Access is denied');
        await assertFails(call('short'), 'ValidationException', 'greater than or equal to 37');
      }
    });

    test('DeleteBackup takes effect at once, and ignores the Region of the ARN', async () => {
      const { BackupDetails } = await world.backup('Orders', 'to-delete');
      const elsewhere = BackupDetails.BackupArn.replace('us-east-1', 'eu-west-1');
      const described = await ddb.DescribeBackup({ BackupArn: elsewhere });
      assert.equal(described.BackupDescription.BackupDetails.BackupArn, elsewhere);
      await assertFails(ddb.RestoreTableFromBackup({ BackupArn: elsewhere, TargetTableName: 'Elsewhere' }), 'BackupNotFoundException');
      const { BackupDescription } = await ddb.DeleteBackup({ BackupArn: elsewhere });
      assert.deepEqual([BackupDescription.BackupDetails.BackupStatus, BackupDescription.SourceTableDetails.TableName], ['DELETED', 'Orders']);
      await assertFails(ddb.DescribeBackup({ BackupArn: BackupDetails.BackupArn }), 'BackupNotFoundException');
      await assertFails(ddb.DeleteBackup({ BackupArn: BackupDetails.BackupArn }), 'BackupNotFoundException');
      const { BackupSummaries } = await ddb.ListBackups({});
      assert.ok(!BackupSummaries.some((one) => one.BackupArn === BackupDetails.BackupArn));
    });

    test('a restored table has the items and indexes of the moment of the backup', async () => {
      await world.table('Source');
      const before = await world.items('Source');
      assert.equal(before.length, kItems);
      const { BackupDetails } = await world.backup('Source');
      for (let i = 0; i < kItems; i += 5) await ddb.PutItem({ TableName: 'Source', Item: itemOf(i, 'second') });
      await ddb.DeleteTable({ TableName: 'Source' });
      const answer = await world.restored({ TargetTableName: 'Again', BackupArn: BackupDetails.BackupArn });
      assert.equal(answer.TableStatus, 'CREATING');
      assert.deepEqual(answer.RestoreSummary, {
        SourceBackupArn: BackupDetails.BackupArn, SourceTableArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/Source',
        RestoreDateTime: BackupDetails.BackupCreationDateTime, RestoreInProgress: true,
      });
      const { Table } = await ddb.DescribeTable({ TableName: 'Again' });
      assert.deepEqual([Table.RestoreSummary, Table.ItemCount, Table.BillingModeSummary.BillingMode], [undefined, kItems, 'PAY_PER_REQUEST']);
      assertSame(await world.items('Again'), before);
      assertSame(await world.items('Again', 'by-g'), before);
      assert.equal((await world.items('Again', 'by-v')).length, kItems);
      const { Count } = await ddb.Query({
        TableName: 'Again', IndexName: 'by-g', KeyConditionExpression: 'g = :g', ExpressionAttributeValues: { ':g': S('g1') }, Select: 'COUNT',
      });
      assert.equal(Count, before.filter((item) => item.g.S === 'g1').length);
      await ddb.PutItem({ TableName: 'Again', Item: itemOf(kItems) });
      // The name of the source is free again.
      await world.restored({ TargetTableName: 'Source', BackupArn: BackupDetails.BackupArn });
      assertSame(await world.items('Source'), before);
    });

    test('what does not come along does not', async () => {
      await world.table('Dressed', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'OLD_IMAGE' }, DeletionProtectionEnabled: true,
        TableClass: 'STANDARD_INFREQUENT_ACCESS', Tags: [{ Key: 'a', Value: 'b' }] });
      await ddb.UpdateTimeToLive({ TableName: 'Dressed', TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true } });
      const { BackupDetails } = await world.backup('Dressed');
      const { TableArn } = await world.restored({ TargetTableName: 'Bare', BackupArn: BackupDetails.BackupArn });
      const { Table } = await ddb.DescribeTable({ TableName: 'Bare' });
      assert.deepEqual([Table.StreamSpecification, Table.DeletionProtectionEnabled, Table.TableClassSummary], [undefined, false, undefined]);
      assert.equal((await ddb.DescribeTimeToLive({ TableName: 'Bare' })).TimeToLiveDescription.TimeToLiveStatus, 'DISABLED');
      assert.deepEqual((await ddb.ListTagsOfResource({ ResourceArn: TableArn })).Tags, []);
    });

    test('overrides', async () => {
      const { BackupDetails: { BackupArn } } = await world.backup('Orders');
      const { Table: { GlobalSecondaryIndexes: [global], LocalSecondaryIndexes: [local] } } = await ddb.DescribeTable({ TableName: 'Orders' });
      const units = (units) => ({ ReadCapacityUnits: units, WriteCapacityUnits: units });
      const restore = (TargetTableName, input) => ddb.RestoreTableFromBackup({ TargetTableName, BackupArn, ...input });
      await assertFails(restore('Refused', { BillingModeOverride: 'PROVISIONED' }), 'ValidationException',
        'Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED');
      await assertFails(restore('Refused', { ProvisionedThroughputOverride: units(5) }), 'ValidationException',
        'Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED');
      const index = { IndexName: 'renamed', KeySchema: global.KeySchema, Projection: global.Projection };
      await assertFails(restore('Refused', { GlobalSecondaryIndexOverride: [{ ...index, Projection: { ProjectionType: 'KEYS_ONLY' } }] }),
        'ValidationException', 'Index renamed does not match a secondary index that existed in the source table and cannot be created during the restore operation');
      await assertFails(restore('Refused', { LocalSecondaryIndexOverride: [{ IndexName: 'local', KeySchema: local.KeySchema, Projection: { ProjectionType: 'ALL' } }] }),
        'ValidationException', 'Index local does not match');
      await assertFails(restore('Refused', { SSESpecificationOverride: { Enabled: true, SSEType: 'KMS', KMSMasterKeyId: 'alias/mine' } }),
        'ValidationException', 'KMSMasterKeyId is not supported');
      await assertFails(restore('Orders'), 'TableAlreadyExistsException', 'Table already exists: Orders');
      await assertFails(ddb.DescribeTable({ TableName: 'Refused' }), 'ResourceNotFoundException');
      await world.restored({
        TargetTableName: 'Provisioned', BackupArn, BillingModeOverride: 'PROVISIONED', ProvisionedThroughputOverride: units(5),
        GlobalSecondaryIndexOverride: [{ ...index, ProvisionedThroughput: units(7) }], LocalSecondaryIndexOverride: [],
        SSESpecificationOverride: { Enabled: false },
      });
      const { Table: provisioned } = await ddb.DescribeTable({ TableName: 'Provisioned' });
      assert.equal(provisioned.ProvisionedThroughput.ReadCapacityUnits, 5);
      assert.equal(provisioned.LocalSecondaryIndexes, undefined);
      assert.deepEqual(provisioned.GlobalSecondaryIndexes.map((one) => [one.IndexName, one.ProvisionedThroughput.WriteCapacityUnits]), [['renamed', 7]]);
      assert.deepEqual(provisioned.AttributeDefinitions.map((one) => one.AttributeName).sort(), ['g', 'pk', 'sk']);
      assert.equal((await world.items('Provisioned', 'renamed')).length, kItems);
      const { BackupDetails: second } = await world.backup('Provisioned');
      await world.restored({ TargetTableName: 'Back', BackupArn: second.BackupArn, BillingModeOverride: 'PAY_PER_REQUEST', GlobalSecondaryIndexOverride: [], SSESpecificationOverride: { Enabled: true } });
      const { Table: back } = await ddb.DescribeTable({ TableName: 'Back' });
      assert.deepEqual([back.ProvisionedThroughput.ReadCapacityUnits, back.GlobalSecondaryIndexes], [0, undefined]);
      assert.deepEqual([provisioned.SSEDescription, back.SSEDescription.Status], [undefined, 'ENABLED']);
      await world.restored({ TargetTableName: 'Kept', BackupArn: second.BackupArn });
      const { Table: kept } = await ddb.DescribeTable({ TableName: 'Kept' });
      assert.deepEqual([kept.ProvisionedThroughput.ReadCapacityUnits, kept.GlobalSecondaryIndexes[0].ProvisionedThroughput.ReadCapacityUnits], [5, 7]);
    });

    test('while a table is being restored, its name and its backup are in use', async () => {
      await ddb.CreateTable({ TableName: 'Large', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }] });
      for (let i = 0; i < 400; i += 10) {
        await Promise.all(Array.from({ length: 10 }, (_, n) => ddb.PutItem({ TableName: 'Large', Item: { pk: S(`${i + n}`), v: S('v'.repeat(200_000)) } })));
      }
      // The restore takes some tenths of a second. Calls that it ended before show nothing: then there is another round.
      for (let round = 1; ; ++round) {
        const { BackupDetails: { BackupArn } } = await world.backup('Large');
        const TableName = `Larger${round}`;
        await ddb.RestoreTableFromBackup({ TargetTableName: TableName, BackupArn });
        const refused = [
          [ddb.RestoreTableFromBackup({ TargetTableName: `Other${round}`, BackupArn }), 'BackupInUseException', `Backup is being used to restore another table: ${BackupArn}`],
          [ddb.RestoreTableFromBackup({ TargetTableName: TableName, BackupArn }), 'TableInUseException', `Table: ${TableName} is already being restored from backup: ${BackupArn}`],
          [ddb.DeleteBackup({ BackupArn }), 'BackupInUseException', `Backup is being used to restore table: ${BackupArn}`],
          [ddb.GetItem({ TableName, Key: { pk: S('1') } }), 'ResourceNotFoundException'],
          [ddb.PutItem({ TableName, Item: { pk: S('1') } }), 'ResourceNotFoundException'],
          [ddb.CreateBackup({ TableName, BackupName: 'abc' }), 'TableNotFoundException', `Table not found: ${TableName}`],
          [ddb.DeleteTable({ TableName }), 'ResourceInUseException'],
          [ddb.CreateTable({ TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
            AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }] }), 'ResourceInUseException'],
        ];
        await Promise.allSettled(refused.map(([promise]) => promise));
        const Table = await ddb.DescribeTable({ TableName }).then((answer) => answer.Table, () => undefined);
        if (Table?.RestoreSummary?.RestoreInProgress !== true) {
          assert.ok(round < 20, 'the restore ends before eight calls are answered');
          await ddb.DeleteTable({ TableName }).catch(() => {});
          continue;
        }
        assert.equal(Table.TableStatus, 'CREATING');
        for (const [promise, name, text] of refused) await assertFails(promise, name, text);
        await until(() => ddb.DescribeTable({ TableName }), ({ Table }) => Table.TableStatus === 'ACTIVE', 'not ACTIVE');
        assert.equal((await world.items('Large')).length, 400);
        assert.equal((await ddb.DescribeTable({ TableName })).Table.ItemCount, 400);
        await ddb.DeleteBackup({ BackupArn });
        break;
      }
    });

    test('backups and restored tables survive a kill, if the engine does', { skip: engine === 'memory' && 'it forgets everything' }, async () => {
      const { BackupSummaries } = await ddb.ListBackups({});
      const before = await world.items('Orders');
      const { BackupDetails: { BackupArn } } = await world.backup('Orders', 'last');
      await world.restart();
      ddb = world.ddb;
      assert.equal((await ddb.ListBackups({})).BackupSummaries.length, BackupSummaries.length + 1);
      // The data directory is lost; the backups are not.
      world.client.destroy();
      await world.server.kill();
      fs.rmSync(path.join(world.root, 'data'), { recursive: true });
      await world.open();
      ddb = world.ddb;
      assert.deepEqual((await ddb.ListTables()).TableNames, []);
      await world.restored({ TargetTableName: 'Orders', BackupArn });
      assertSame(await world.items('Orders'), before);
    });
  });
}

test('on a cluster backups are refused by name', { skip: !onCluster && 'not on a cluster' }, async () => {
  const server = await Server.start();
  const client = clientFor(server.endpoint);
  const ddb = operationsOf(client);
  try {
    const arn = arnOf('Orders', '01795613126583-0a1b2c3d');
    for (const [operation, input] of [['CreateBackup', { TableName: 'Orders', BackupName: 'abc' }], ['DescribeBackup', { BackupArn: arn }],
      ['DeleteBackup', { BackupArn: arn }], ['ListBackups', {}], ['RestoreTableFromBackup', { BackupArn: arn, TargetTableName: 'Target' }]]) {
      await assertFails(ddb[operation](input), 'ValidationException', `${operation} is not supported with --engine=rados`);
    }
  } finally {
    client.destroy();
    await server.stop();
  }
});
