// Point-in-time recovery through the SDK, on RocksDB and in memory; on a cluster it is refused by name.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as sdk from '@aws-sdk/client-dynamodb';

import { N, S, assertFails, assertSame, clientFor, operationsOf } from './clients.mjs';
import { Server, advanceClock, isStator, onCluster } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const skip = !own ? 'needs a server of its own' : onCluster && 'not for a cluster';
const arnOf = (table, { region = 'us-east-1', account = '000000000000' } = {}) => `arn:aws:dynamodb:${region}:${account}:table/${table}`;
const kDay = 86_400_000;

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
    world.root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-pitr-'));
    world.args = args;
    await world.open();
    return world;
  }
  async open() {
    this.server = await Server.startOne({ dataDir: path.join(this.root, 'data'), args: this.args });
    this.client = clientFor(this.server.endpoint);
    this.ddb = operationsOf(this.client);
  }
  async kill() {
    this.client.destroy();
    await this.server.kill();
  }
  async close() {
    this.client.destroy();
    assert.equal((await this.server.stop()).code, 0, this.server.output);
    fs.rmSync(this.root, { recursive: true });
  }
  table(TableName, more = {}) {
    return this.ddb.CreateTable({
      TableName, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: ['pk', 'g'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })).concat({ AttributeName: 'sk', AttributeType: 'N' }),
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
      GlobalSecondaryIndexes: [{
        IndexName: 'by-g', Projection: { ProjectionType: 'ALL' }, KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }],
      }],
      LocalSecondaryIndexes: [{
        IndexName: 'local', Projection: { ProjectionType: 'KEYS_ONLY' },
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'g', KeyType: 'RANGE' }],
      }],
      ...more,
    });
  }
  async turn(TableName, PointInTimeRecoveryEnabled, RecoveryPeriodInDays) {
    const { ContinuousBackupsDescription } = await this.ddb.UpdateContinuousBackups({
      TableName, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled, RecoveryPeriodInDays },
    });
    return ContinuousBackupsDescription.PointInTimeRecoveryDescription;
  }
  async window(TableName) {
    return (await this.ddb.DescribeContinuousBackups({ TableName })).ContinuousBackupsDescription.PointInTimeRecoveryDescription;
  }
  active(TableName) {
    return until(() => this.ddb.DescribeTable({ TableName }), ({ Table }) => Table.TableStatus === 'ACTIVE', 'not ACTIVE');
  }
  async restored(SourceTableName, TargetTableName, when, more = {}) {
    const time = when === undefined ? { UseLatestRestorableTime: true } : { RestoreDateTime: when };
    const { TableDescription } = await this.ddb.RestoreTableToPointInTime({ SourceTableName, TargetTableName, ...time, ...more });
    await this.active(TargetTableName);
    return TableDescription;
  }
  async items(TableName, IndexName) {
    const items = [];
    for await (const page of sdk.paginateScan({ client: this.client }, { TableName, IndexName })) items.push(...page.Items);
    return items.sort((a, b) => a.pk.S.localeCompare(b.pk.S) || a.sk.N - b.sk.N);
  }
}

const item = (i, v = 'first') => ({ pk: S(`p${i % 7}`), sk: N(i), g: S(`g${i % 3}`), v: S(v) });
const key = (i) => ({ pk: S(`p${i % 7}`), sk: N(i) });

for (const [engine, args] of [['RocksDB', []], ['memory', ['--in-memory']]]) {
  describe(`point-in-time recovery on ${engine}, on a manual clock`, { skip }, () => {
    let world;
    let ddb;
    const pass = (by) => advanceClock(world.server, by);
    const kStart = Date.parse('2026-11-21T12:00:00Z');
    let now = kStart;
    const tick = async (seconds) => {
      now += seconds * 1000;
      await pass(seconds);
    };
    before(async () => {
      world = await World.start([...args, '--clock=manual', '--clock-start=2026-11-21T12:00:00Z', '--pitr-lag=300s']);
      ddb = world.ddb;
    });
    after(() => world.close());

    test('continuous backups are ENABLED, recovery is off until it is turned on', async () => {
      await world.table('Window');
      assert.deepEqual(await ddb.DescribeContinuousBackups({ TableName: 'Window' }), {
        ContinuousBackupsDescription: { ContinuousBackupsStatus: 'ENABLED', PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'DISABLED' } },
      });
      const on = {
        PointInTimeRecoveryStatus: 'ENABLED', RecoveryPeriodInDays: 35,
        EarliestRestorableDateTime: new Date(now), LatestRestorableDateTime: new Date(now),
      };
      assert.deepEqual(await world.turn('Window', true), on);
      assert.deepEqual(await world.window(arnOf('Window')), on);
      // Latest stays for five minutes, then follows.
      await tick(299);
      assert.deepEqual(await world.turn('Window', true), on, 'again, and the window stays');
      await tick(2);
      assert.deepEqual(await world.window('Window'), { ...on, LatestRestorableDateTime: new Date(kStart + 1000) });
    });

    test('the period moves the earliest moment, and never back', async () => {
      await tick(20 * kDay / 1000);
      const begun = new Date(kStart);
      assert.deepEqual((await world.window('Window')).EarliestRestorableDateTime, begun);
      assert.deepEqual((await world.turn('Window', true, 30)).EarliestRestorableDateTime, begun);
      const shrunk = await world.turn('Window', true, 3);
      assert.deepEqual([shrunk.RecoveryPeriodInDays, shrunk.EarliestRestorableDateTime], [3, new Date(now - 3 * kDay)]);
      const grown = await world.turn('Window', true, 35);
      assert.deepEqual([grown.RecoveryPeriodInDays, grown.EarliestRestorableDateTime], [35, new Date(now - 3 * kDay)]);
      await tick(2 * kDay / 1000);
      assert.deepEqual((await world.window('Window')).EarliestRestorableDateTime, new Date(now - 5 * kDay), 'it ages');
      assert.equal((await world.turn('Window', true)).RecoveryPeriodInDays, 35);
      assert.deepEqual(await world.turn('Window', false), { PointInTimeRecoveryStatus: 'DISABLED' });
      assert.deepEqual(await world.turn('Window', false), { PointInTimeRecoveryStatus: 'DISABLED' });
      const again = await world.turn('Window', true);
      assert.deepEqual([again.RecoveryPeriodInDays, again.EarliestRestorableDateTime], [35, new Date(now)], 'the old window is lost');
    });

    test('what is wrong with a request is said in the service\'s words and order', async () => {
      await world.table('Off');
      await assertFails(world.turn('Never', true), 'TableNotFoundException', 'Table not found: Never');
      await assertFails(ddb.DescribeContinuousBackups({ TableName: 'Never' }), 'TableNotFoundException', 'Table not found: Never');
      await assertFails(world.turn('Off', false, 3), 'ValidationException',
        'Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time recovery.');
      for (const days of [0, 36]) {
        await assertFails(world.turn('Off', true, days), 'ValidationException',
          `Value '${days}' at 'pointInTimeRecoverySpecification.recoveryPeriodInDays' failed to satisfy constraint`);
      }
      const restore = (input) => ddb.RestoreTableToPointInTime({ TargetTableName: 'Refused', ...input });
      const latest = { UseLatestRestorableTime: true };
      const { EarliestRestorableDateTime: from } = await world.window('Window');
      for (const [input, name, text] of [
        [{ SourceTableName: 'Never', ...latest, RestoreDateTime: new Date() }, 'ValidationException', 'Invalid Request: Both RestoreDateTime and UseLatestRestorableTime cannot be set'],
        [{ SourceTableName: 'Never' }, 'ValidationException', 'Invalid Request: Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both'],
        [{ SourceTableName: 'Never', UseLatestRestorableTime: false }, 'ValidationException', 'Invalid Request: Either one of'],
        [{ ...latest }, 'ValidationException', "The parameter 'TableName' is required"],
        [{ SourceTableName: 'Off', SourceTableArn: arnOf('Off'), ...latest }, 'ValidationException', 'Must provide exactly one of: sourceTableArn, sourceTableName'],
        [{ SourceTableArn: 'Off', ...latest }, 'ValidationException', 'sourceTableArn is not a valid ARN'],
        [{ SourceTableArn: 'arn:aws:s3:::bucket', ...latest }, 'ValidationException', 'sourceTableArn is not a valid ARN'],
        [{ SourceTableArn: arnOf('Off', { account: '111122223333' }), ...latest }, 'ValidationException', "This action is only supported by accounts that match the resource owner's account"],
        [{ SourceTableArn: arnOf('Off', { region: 'eu-west-1' }), ...latest }, 'ValidationException', 'sseSpecificationOverride must be provided for cross-region restores'],
        [{ SourceTableArn: arnOf('Off', { region: 'eu-west-1' }), SSESpecificationOverride: { Enabled: false }, ...latest }, 'TableNotFoundException', 'Table not found: Off'],
        [{ SourceTableName: 'Never', ...latest }, 'TableNotFoundException', 'Table not found: Never'],
        [{ SourceTableName: 'Off', RestoreDateTime: new Date(0), TargetTableName: 'Off' }, 'PointInTimeRecoveryUnavailableException', "Point in time recovery is not enabled for table 'Off'"],
        [{ SourceTableName: 'Window', RestoreDateTime: new Date(from.getTime() - 1), TargetTableName: 'Off' }, 'InvalidRestoreTimeException', `must be within EarliestRestorableDateTime '${from.toISOString()}'`],
        [{ SourceTableName: 'Window', RestoreDateTime: new Date(from.getTime() + 1) }, 'InvalidRestoreTimeException', `and LatestRestorableDateTime '${from.toISOString()}'`],
        [{ SourceTableName: 'Window', ...latest, TargetTableName: 'Off' }, 'TableAlreadyExistsException', 'Table already exists: Off'],
        [{ SourceTableName: 'Window', ...latest, TargetTableName: 'Window' }, 'TableAlreadyExistsException', 'Table already exists: Window'],
        [{ SourceTableName: 'Window', ...latest, TargetTableName: 'a' }, 'ValidationException', "at 'targetTableName' failed to satisfy constraint"],
      ]) await assertFails(restore(input), name, text);
      await assertFails(ddb.DescribeTable({ TableName: 'Refused' }), 'ResourceNotFoundException');
    });

    test('a restored table has the items of any moment of the window, and its indexes', async () => {
      await world.table('Source', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'OLD_IMAGE' }, DeletionProtectionEnabled: true });
      for (let i = 0; i < 20; i++) await ddb.PutItem({ TableName: 'Source', Item: item(i) });
      await world.turn('Source', true);
      const moments = [[new Date(now), await world.items('Source')]];
      const step = async (change) => {
        await tick(10);
        await change();
        moments.push([new Date(now), await world.items('Source')]);
      };
      await step(() => ddb.PutItem({ TableName: 'Source', Item: item(3, 'put') }));
      await step(() => ddb.DeleteItem({ TableName: 'Source', Key: key(4) }));
      await step(() => ddb.UpdateItem({ TableName: 'Source', Key: key(5), UpdateExpression: 'SET v = :v REMOVE g', ExpressionAttributeValues: { ':v': S('updated') } }));
      await step(() => ddb.BatchWriteItem({ RequestItems: { Source: [{ PutRequest: { Item: item(30) } }, { DeleteRequest: { Key: key(6) } }] } }));
      await step(() => ddb.TransactWriteItems({ TransactItems: [
        { Put: { TableName: 'Source', Item: item(31) } }, { Delete: { TableName: 'Source', Key: key(7) } },
        { Update: { TableName: 'Source', Key: key(3), UpdateExpression: 'SET v = :v', ExpressionAttributeValues: { ':v': S('transacted') } } }] }));
      await step(() => ddb.ExecuteStatement({ Statement: "UPDATE \"Source\" SET v = 'partiql' WHERE pk = 'p1' AND sk = 8" }));
      await step(() => ddb.ExecuteTransaction({ TransactStatements: [
        { Statement: "INSERT INTO \"Source\" VALUE {'pk': 'p2', 'sk': 100}" }, { Statement: "DELETE FROM \"Source\" WHERE pk = 'p2' AND sk = 9" }] }));
      await step(() => ddb.BatchExecuteStatement({ Statements: [{ Statement: "DELETE FROM \"Source\" WHERE pk = 'p3' AND sk = 10" }] }));
      await step(async () => {
        await ddb.UpdateTimeToLive({ TableName: 'Source', TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true } });
        await ddb.PutItem({ TableName: 'Source', Item: { ...item(11), expires: N(now / 1000 + 5) } });
      });
      await step(async () => {
        assert.equal((await ddb.GetItem({ TableName: 'Source', Key: key(11) })).Item, undefined, 'it has expired');
      });
      await step(() => ddb.UpdateTable({ TableName: 'Source', AttributeDefinitions: [{ AttributeName: 'v', AttributeType: 'S' }], GlobalSecondaryIndexUpdates: [
        { Create: { IndexName: 'by-v', KeySchema: [{ AttributeName: 'v', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } } }] }));
      await world.active('Source');
      await step(() => ddb.PutItem({ TableName: 'Source', Item: item(0, 'after the index') }));
      await tick(301);
      const answer = await world.restored('Source', 'To-latest', undefined);
      assert.equal(answer.TableStatus, 'CREATING');
      assert.deepEqual(answer.RestoreSummary, { SourceTableArn: arnOf('Source'), RestoreDateTime: new Date(now - 300_000), RestoreInProgress: true });
      assertSame(await world.items('To-latest'), moments.at(-1)[1]);
      assertSame(await world.items('To-latest', 'by-v'), moments.at(-1)[1].filter((one) => one.v));
      for (const [i, [when, expected]] of moments.entries()) {
        const name = `To-${i}`;
        await ddb.RestoreTableToPointInTime({ SourceTableArn: arnOf('Source'), TargetTableName: name, RestoreDateTime: when });
        await world.active(name);
        assertSame(await world.items(name), expected, `moment ${i}`);
        assertSame(await world.items(name, 'by-g'), expected.filter((one) => one.g), `index at moment ${i}`);
        if (i === 0) continue;
        await world.restored('Source', `${name}-before`, new Date(when.getTime() - 1));
        assertSame(await world.items(`${name}-before`), moments[i - 1][1], `before moment ${i}`);
      }
      const { Table } = await ddb.DescribeTable({ TableName: 'To-1' });
      assert.deepEqual([Table.RestoreSummary, Table.StreamSpecification, Table.DeletionProtectionEnabled, Table.ItemCount], [undefined, undefined, false, 20]);
      assert.equal((await world.window('To-1')).PointInTimeRecoveryStatus, 'DISABLED');
    });

    test('overrides', async () => {
      await world.table('Plain');
      await ddb.PutItem({ TableName: 'Plain', Item: item(1) });
      await world.turn('Plain', true);
      const { Table: { GlobalSecondaryIndexes: [global] } } = await ddb.DescribeTable({ TableName: 'Plain' });
      const units = (units) => ({ ReadCapacityUnits: units, WriteCapacityUnits: units });
      const restore = (input) => ddb.RestoreTableToPointInTime({ SourceTableName: 'Plain', TargetTableName: 'Refused', UseLatestRestorableTime: true, ...input });
      await assertFails(restore({ BillingModeOverride: 'PROVISIONED' }), 'ValidationException',
        'Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED');
      await assertFails(restore({ ProvisionedThroughputOverride: units(5) }), 'ValidationException',
        'Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED');
      const index = { IndexName: 'renamed', KeySchema: global.KeySchema, Projection: global.Projection };
      await assertFails(restore({ GlobalSecondaryIndexOverride: [{ ...index, Projection: { ProjectionType: 'KEYS_ONLY' } }] }), 'ValidationException',
        'Index renamed does not match a secondary index that existed in the source table and cannot be created during the restore operation');
      await world.restored('Plain', 'Other', undefined, {
        BillingModeOverride: 'PROVISIONED', ProvisionedThroughputOverride: units(5), LocalSecondaryIndexOverride: [],
        GlobalSecondaryIndexOverride: [{ ...index, ProvisionedThroughput: units(7) }], SSESpecificationOverride: { Enabled: true },
      });
      const { Table } = await ddb.DescribeTable({ TableName: 'Other' });
      assert.deepEqual([Table.ProvisionedThroughput.ReadCapacityUnits, Table.LocalSecondaryIndexes, Table.SSEDescription.Status], [5, undefined, 'ENABLED']);
      assert.deepEqual(Table.GlobalSecondaryIndexes.map((one) => [one.IndexName, one.ProvisionedThroughput.WriteCapacityUnits]), [['renamed', 7]]);
    });

    test('what is older than the period is gone for good', async () => {
      await world.table('Aged');
      await world.turn('Aged', true, 1);
      for (let day = 0; day < 4; day++) {
        await ddb.PutItem({ TableName: 'Aged', Item: item(1, `day ${day}`) });
        await tick(kDay / 1000);
      }
      const { EarliestRestorableDateTime: from } = await world.window('Aged');
      assert.deepEqual(from, new Date(now - kDay));
      await world.restored('Aged', 'Aged-restored', from);
      assertSame(await world.items('Aged-restored'), [item(1, 'day 3')]);
    });

    test('a kill during a restore, and between changes, loses nothing', { skip: engine === 'memory' && 'it forgets everything' }, async () => {
      await world.table('Killed');
      await world.turn('Killed', true);
      const put = (v) => Promise.all(Array.from({ length: 300 }, (_, i) => ddb.PutItem({ TableName: 'Killed', Item: { ...item(i, v), fat: S('x'.repeat(20_000)) } })));
      await tick(10);
      await put('first');
      const when = new Date(now);
      await tick(10);
      await put('second');
      for (let i = 0; i < 300; i += 3) await ddb.DeleteItem({ TableName: 'Killed', Key: key(i) });
      await tick(400);
      world.args = world.args.map((arg) => arg.startsWith('--clock-start') ? `--clock-start=${new Date(now).toISOString()}` : arg);
      await ddb.RestoreTableToPointInTime({ SourceTableName: 'Killed', TargetTableName: 'Whole', RestoreDateTime: when });
      await world.kill();
      await world.open();
      ddb = world.ddb;
      await world.active('Whole');
      const items = await world.items('Whole');
      assert.equal(items.length, 300);
      assert.ok(items.every((one) => one.v.S === 'first'));
      assert.deepEqual((await world.window('Killed')).PointInTimeRecoveryStatus, 'ENABLED');
    });

    test('a source that goes during a restore does not harm it, unless the server is killed too', async () => {
      await world.table('Gone');
      await world.turn('Gone', true);
      await tick(10);
      const fat = (i) => ({ ...item(i), fat: S('x'.repeat(50_000)) });
      await Promise.all(Array.from({ length: 100 }, (_, i) => ddb.PutItem({ TableName: 'Gone', Item: fat(i) })));
      await tick(400);
      await ddb.RestoreTableToPointInTime({ SourceTableName: 'Gone', TargetTableName: 'Kept', UseLatestRestorableTime: true });
      await ddb.DeleteTable({ TableName: 'Gone' });
      await world.active('Kept');
      assert.equal((await world.items('Kept')).length, 100);
      await until(() => world.window('Gone').catch((error) => error), (found) => found.name === 'TableNotFoundException', 'not gone');
    });

    test('a protected table that is deleted leaves a backup of the system', async () => {
      await world.table('Dropped', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'OLD_IMAGE' } });
      for (let i = 0; i < 10; i++) await ddb.PutItem({ TableName: 'Dropped', Item: item(i) });
      const items = await world.items('Dropped');
      await world.turn('Dropped', true);
      const { TableDescription } = await ddb.DeleteTable({ TableName: 'Dropped' });
      assert.equal(TableDescription.TableStatus, 'DELETING');
      await until(() => ddb.DescribeTable({ TableName: 'Dropped' }).catch((error) => error), (found) => found.name === 'ResourceNotFoundException', 'not gone');
      const list = async (BackupType) => (await ddb.ListBackups({ TableName: 'Dropped', BackupType })).BackupSummaries;
      const [backup, ...more] = await list('SYSTEM');
      assert.deepEqual([more, await list('USER'), await list(), await list('ALL')], [[], [], [], [backup]]);
      assert.match(backup.BackupArn, /table\/Dropped\/backup\/\d{14}-00000000$/);
      assert.deepEqual([backup.BackupName, backup.BackupType, backup.BackupStatus], ['Dropped$DeletedTableBackup', 'SYSTEM', 'AVAILABLE']);
      assert.equal(backup.BackupExpiryDateTime - backup.BackupCreationDateTime, 35 * kDay);
      const { BackupDescription } = await ddb.DescribeBackup({ BackupArn: backup.BackupArn });
      assert.deepEqual([BackupDescription.SourceTableFeatureDetails, BackupDescription.SourceTableDetails.ItemCount], [{}, 10]);
      await assertFails(ddb.DeleteBackup({ BackupArn: backup.BackupArn }), 'ValidationException',
        `User is not allowed to delete the system backup with arn ${backup.BackupArn}. It will automatically expire on `);
      await ddb.RestoreTableFromBackup({ TargetTableName: 'Dropped', BackupArn: backup.BackupArn });
      await world.active('Dropped');
      assertSame(await world.items('Dropped'), items);
      assertSame(await world.items('Dropped', 'by-g'), items);
      // The restored table has no recovery, so it goes without a backup.
      await ddb.DeleteTable({ TableName: 'Dropped' });
      await assertFails(ddb.DescribeTable({ TableName: 'Dropped' }), 'ResourceNotFoundException');
      assert.equal((await list('SYSTEM')).length, 1);
      await tick(36 * kDay / 1000);
      assert.deepEqual(await list('ALL'), []);
    });
  });
}

// Random changes through all kinds of writes on a real clock, with kills in between, and a model of the table after each of them.
describe('point-in-time recovery after kills', { skip }, () => {
  for (const seed of process.env.STATOR_SIM_SEED ? [Number(process.env.STATOR_SIM_SEED)] : [1, 2]) {
    test(`seed ${seed}: each moment is as it was`, async () => {
      let state = seed;
      const below = (bound) => {
        state = (Math.imul(state, 1103515245) + 12345) >>> 0;
        return (state >>> 8) % bound;
      };
      const world = await World.start(['--pitr-lag=1ms', '--ttl-interval=100ms']);
      try {
        await world.table('Model');
        await world.ddb.UpdateTimeToLive({ TableName: 'Model', TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true } });
        await world.turn('Model', true);
        const model = new Map();
        const moments = [];
        const put = (i) => {
          const one = item(i, `v${below(5)}`);
          model.set(i, one);
          return one;
        };
        const remove = (i) => {
          model.delete(i);
          return key(i);
        };
        const writes = [
          () => world.ddb.PutItem({ TableName: 'Model', Item: put(below(20)) }),
          () => world.ddb.DeleteItem({ TableName: 'Model', Key: remove(below(20)) }),
          () => world.ddb.BatchWriteItem({ RequestItems: { Model: [{ PutRequest: { Item: put(below(10)) } }, { DeleteRequest: { Key: remove(10 + below(10)) } }] } }),
          () => world.ddb.TransactWriteItems({ TransactItems: [
            { Put: { TableName: 'Model', Item: put(below(10)) } }, { Delete: { TableName: 'Model', Key: remove(10 + below(5)) } },
            { Put: { TableName: 'Model', Item: put(15 + below(5)) } }] }),
          () => {
            const i = below(20);
            const statement = model.has(i) ? `DELETE FROM "Model" WHERE pk = 'p${i % 7}' AND sk = ${i}` : `INSERT INTO "Model" VALUE {'pk': 'p${i % 7}', 'sk': ${i}}`;
            if (model.has(i)) model.delete(i);
            else model.set(i, key(i));
            return world.ddb.ExecuteStatement({ Statement: statement });
          },
          async () => {
            // It expires at once, and the change is over when the item is gone.
            const i = below(20);
            model.delete(i);
            await world.ddb.PutItem({ TableName: 'Model', Item: { ...item(i), expires: N(Math.floor(Date.now() / 1000) - 1) } });
            await until(() => world.ddb.GetItem({ TableName: 'Model', Key: key(i) }), ({ Item }) => Item === undefined, 'not expired');
          },
        ];
        for (let event = 0; event < 120; event++) {
          await writes[below(20) === 0 ? 5 : below(5)]();
          await delay(2);
          moments.push([new Date(), [...model.values()]]);
          await delay(2);
          if (below(30) === 0) {
            await world.kill();
            await world.open();
          }
        }
        await delay(5);
        for (let check = 0; check < 12; check++) {
          const [when, expected] = moments[below(moments.length)];
          await world.restored('Model', `At-${check}`, when);
          const order = (items) => items.sort((a, b) => a.pk.S.localeCompare(b.pk.S) || a.sk.N - b.sk.N);
          assertSame(await world.items(`At-${check}`), order([...expected]), `seed ${seed}, ${when.toISOString()}`);
        }
      } finally {
        await world.close();
      }
    });
  }
});

test('on a cluster point-in-time recovery is refused by name', { skip: !onCluster && 'not on a cluster' }, async () => {
  const server = await Server.start();
  const client = clientFor(server.endpoint);
  const ddb = operationsOf(client);
  try {
    await assertFails(ddb.UpdateContinuousBackups({ TableName: 'Orders', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } }),
      'ValidationException', 'UpdateContinuousBackups is not supported with --engine=rados');
    await assertFails(ddb.RestoreTableToPointInTime({ SourceTableName: 'Orders', TargetTableName: 'Target', UseLatestRestorableTime: true }),
      'ValidationException', 'RestoreTableToPointInTime is not supported with --engine=rados');
  } finally {
    client.destroy();
    await server.stop();
  }
});
