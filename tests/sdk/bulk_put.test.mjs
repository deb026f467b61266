// StartBulkPutItems and its neighbours through the SDK, on RocksDB and in memory; on a cluster they are refused by name.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import zlib from 'node:zlib';
import * as sdk from '@aws-sdk/client-dynamodb';

import { N, S, assertFails, assertSame, clientFor, operationsOf } from './clients.mjs';
import { Server, isStator, onCluster } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const skip = !own ? 'needs a server of its own' : onCluster && 'not for a cluster';
const kArn = 'arn:aws:dynamodb:us-east-1:000000000000:table';

async function until(look, wanted, what) {
  const end = Date.now() + 120_000;
  for (;;) {
    const found = await look();
    if (wanted(found)) return found;
    assert.ok(Date.now() < end, `${what}: ${JSON.stringify(found)}`);
    await delay(10);
  }
}

class World {
  static async start(args = []) {
    const world = new World();
    world.root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-bulk-put-'));
    world.objects = path.join(world.root, 'data-objects');
    for (const bucket of ['in', 'out']) fs.mkdirSync(path.join(world.objects, bucket), { recursive: true });
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
  async table(TableName, more = {}) {
    await this.ddb.CreateTable({
      TableName, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: ['pk', 'g'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      GlobalSecondaryIndexes: [{ IndexName: 'by-g', Projection: { ProjectionType: 'KEYS_ONLY' }, KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }] }],
      ...more,
    });
  }
  request(TableName, prefix, { input = {}, output = {}, ...more } = {}) {
    return {
      TableName,
      InputS3Configuration: { S3Bucket: 'in', S3KeyPrefix: prefix, InputFormat: 'DYNAMODB_JSON', ...input },
      OutputS3Configuration: { S3Bucket: 'out', S3KeyPrefix: prefix, OutputType: ['ERROR', 'CONDITION_CHECK_FAILURE'], ...output },
      ...more,
    };
  }
  async start(...args) { return (await this.ddb.StartBulkPutItems(this.request(...args))).BulkOperationDescription; }
  async describe(BulkOperationArn) { return (await this.ddb.DescribeBulkOperation({ BulkOperationArn })).BulkOperationDescription; }
  ended(arn) {
    return until(() => this.describe(arn), ({ BulkOperationStatus: status }) => status !== 'IN_PROGRESS' && status !== 'CANCELLING', 'the bulk put does not end');
  }
  async run(...args) { return this.ended((await this.start(...args)).BulkOperationArn); }
  async items(TableName) {
    const items = [];
    for await (const page of sdk.paginateScan({ client: this.client }, { TableName, ConsistentRead: true })) items.push(...page.Items);
    return items.sort((a, b) => (a.pk.S < b.pk.S ? -1 : 1));
  }
  file(key, bytes) {
    const file = path.join(this.objects, 'in', key);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, bytes);
  }
  // Reads the output as its manifest names it.
  output(prefix, arn) {
    const read = (key) => fs.readFileSync(path.join(this.objects, 'out', key), 'utf8');
    const manifest = JSON.parse(read(`${prefix}/AWSDynamoDB/${arn.split('/').pop()}/manifest.json`));
    const lines = {};
    for (const { outputType, keys, lineCount } of manifest.reports) {
      lines[outputType] = keys.flatMap((key) => read(key).trimEnd().split('\n').map(JSON.parse));
      assert.equal(lines[outputType].length, lineCount);
    }
    return { manifest, lines };
  }
}

const line = (Item, more = {}) => `${JSON.stringify({ Item, ...more })}\n`;
const item = (i, v = 'new') => ({ pk: S(`p${String(i).padStart(6, '0')}`), g: S(`g${i % 3}`), v: S(v) });
const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };

for (const args of [[], ['--in-memory', '--object-store=DIR']]) {
  describe(`bulk puts ${args.join(' ')}`, { skip }, () => {
    let world;
    let ddb;
    before(async () => {
      world = new World();
      world.root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-bulk-put-'));
      world.objects = path.join(world.root, 'data-objects');
      for (const bucket of ['in', 'out']) fs.mkdirSync(path.join(world.objects, bucket), { recursive: true });
      world.args = args.map((arg) => arg.replace('DIR', world.objects));
      await world.open();
      ddb = world.ddb;
      await world.table('Tab');
    });
    after(() => world.close());

    test('items are put, under their conditions', async () => {
      await ddb.PutItem({ TableName: 'Tab', Item: { ...item(1, 'old'), n: N(5) } });
      await ddb.PutItem({ TableName: 'Tab', Item: item(2, 'old') });
      const condition = { ConditionExpression: '#n = :n', ExpressionAttributeNames: { '#n': 'n' }, ExpressionAttributeValues: { ':n': N(5) } };
      const text = line(item(0)) + line(item(1), condition) + line(item(2), condition) + line(item(3), isNew) + line(item(2), isNew);
      world.file('conditions/a', text);
      const begun = await world.start('Tab', 'conditions', { MaxWriteRequestUnits: 100000, ClientToken: 'token' });
      assert.equal(begun.BulkOperationStatus, 'IN_PROGRESS');
      assert.match(begun.BulkOperationArn, new RegExp(`^${kArn}/Tab/bulk-operation/[0-9]{14}-[0-9a-f]{8}$`));
      assert.deepEqual(begun.TableDetails.map(({ TableName }) => TableName), ['Tab']);
      const done = await world.ended(begun.BulkOperationArn);
      assert.equal(done.BulkOperationStatus, 'COMPLETED', done.FailureMessage);
      assert.deepEqual([done.ProcessedItemCount, done.FailedItemCount, done.TotalInputBytes, done.ProcessedInputBytes], [5, 0, text.length, text.length]);
      assert.deepEqual([done.ClientToken, done.MaxWriteRequestUnits, done.PerformanceTier], ['token', 100000, 'STANDARD']);
      assert.equal(done.InputS3Configuration.InputCompressionType, 'NONE');
      assert.ok(done.EndTime >= done.StartTime);
      assertSame(await world.items('Tab'), [item(0), item(1), item(2, 'old'), item(3)]);
      const [usage] = done.BulkOperationUsage;
      // pk, g and v with their names: 2 + 7, 1 + 2, 1 + 3; the entry has no v.
      assert.deepEqual([usage.Table.BulkPutBytes, usage.GlobalSecondaryIndexes['by-g'].BulkPutBytes > 0, usage.LocalSecondaryIndexes], [3 * 16, true, undefined]);
      assert.equal(usage.BulkPutBytes, usage.Table.BulkPutBytes + usage.GlobalSecondaryIndexes['by-g'].BulkPutBytes);
      const { manifest, lines } = world.output('conditions', done.BulkOperationArn);
      assert.deepEqual([manifest.status, manifest.conditionCheckFailureCount], ['COMPLETED', 2]);
      assert.deepEqual(lines, {
        ERROR: [],
        CONDITION_CHECK_FAILURE: [2, 4].map((itemIndex) => ({
          itemS3Pointer: { bucket: 'in', key: 'conditions/a', itemIndex }, bulkOperationArn: done.BulkOperationArn, item: item(2), existingItem: item(2, 'old'),
        })),
      });
    });

    test('errors are counted and reported, and the rest is put', async () => {
      await world.table('Errors');
      world.file('errors/a', [
        line(item(0)), line({ g: S('x') }), line({ ...item(1), g: N(1) }), line(item(2), { Condition: 'x' }),
        line(item(3), { ConditionExpression: 'v = :none' }), line(item(4), { ExpressionAttributeValues: { ':v': N(1) } }), line(item(5)),
      ].join(''));
      world.file('errors/b', `${line(item(6))}no JSON\n${line(item(7))}`);
      world.file('errors/c.gz', zlib.gzipSync(line(item(8))));
      const done = await world.run('Errors', 'errors');
      assert.deepEqual([done.BulkOperationStatus, done.ProcessedItemCount, done.FailedItemCount, done.FailureCode], ['COMPLETED_WITH_ERRORS', 10, 7, undefined]);
      assertSame(await world.items('Errors'), [0, 5, 6].map((i) => item(i)));
      const { lines: { ERROR } } = world.output('errors', done.BulkOperationArn);
      assert.deepEqual(ERROR.map(({ itemS3Pointer: { key, itemIndex } }) => `${key} ${itemIndex}`),
        ['errors/a 1', 'errors/a 2', 'errors/a 3', 'errors/a 4', 'errors/a 5', 'errors/b 1', 'errors/c.gz 0']);
      assert.deepEqual(ERROR.slice(0, 5).map(({ errorMessages: [message] }) => message.slice(0, 60)), [
        'One or more parameter values were invalid: Missing the key p', 'One or more parameter values were invalid: Type mismatch for',
        'The record has an unknown member: Condition', 'Invalid ConditionExpression: An expression attribute value u',
        'ExpressionAttributeValues can only be specified when using e',
      ]);
      assert.deepEqual(done.BulkOperationUsage[0].Table.BulkPutBytes, 3 * 16);
    });

    test('GZIP, ZSTD and Ion', async () => {
      await world.table('Forms');
      world.file('gzip/a', zlib.gzipSync(Array.from({ length: 500 }, (_, i) => line(item(i))).join('')));
      const packed = await world.run('Forms', 'gzip', { input: { InputCompressionType: 'GZIP' } });
      assert.deepEqual([packed.BulkOperationStatus, packed.ProcessedItemCount], ['COMPLETED', 500]);
      assert.equal((await world.items('Forms')).length, 500);
      world.file('ion/a', [
        '$ion_1_0 {Item:{pk:"p000000",v:"ion"},ConditionExpression:"#v = :v",ExpressionAttributeNames:{\'#v\':"v"},ExpressionAttributeValues:{\':v\':"new"}}',
        '{Item:{pk:"p000001",v:"ion"},ConditionExpression:"attribute_not_exists(pk)"}',
        '{Item:{pk:"p000002",v:"ion"},Condition:"attribute_not_exists(pk)"}',
        '{Item:{pk:"q",v:1.}}',
      ].join('\n'));
      const ion = await world.run('Forms', 'ion', { input: { InputFormat: 'ION' } });
      assert.deepEqual([ion.BulkOperationStatus, ion.ProcessedItemCount, ion.FailedItemCount], ['COMPLETED_WITH_ERRORS', 4, 1]);
      const { lines } = world.output('ion', ion.BulkOperationArn);
      assert.deepEqual(lines.ERROR[0].errorMessages, ['The record has an unknown member: Condition']);
      assert.deepEqual(lines.CONDITION_CHECK_FAILURE.map(({ itemS3Pointer }) => itemS3Pointer.itemIndex), [1]);
      const items = await world.items('Forms');
      assertSame([items[0], items[1], items[2], items.at(-1)], [{ pk: S('p000000'), v: S('ion') }, item(1), item(2), { pk: S('q'), v: N(1) }]);
    });

    test('requests are refused in order', async () => {
      const fails = (more, name, text, table = 'Tab') => assertFails(ddb.StartBulkPutItems(world.request(table, 'none', more)), name, text);
      await fails({ MaxWriteRequestUnits: 1023 }, 'ValidationException', 'Member must have value greater than or equal to 1024');
      await fails({ output: { S3Bucket: undefined } }, 'ValidationException', 'OutputS3Configuration must have an S3Bucket', 'Missing');
      await fails({ output: { S3SseKmsKeyId: 'k' } }, 'ValidationException', 'KMS Key Id is not supported for this encryption type');
      await fails({ output: { S3KeyPrefix: '../x' } }, 'ValidationException', 'S3KeyPrefix');
      await fails({}, 'ResourceNotFoundException', 'Requested resource not found: Table: Missing not found', 'Missing');
      const first = await world.start('Tab', 'none', { ClientToken: 'same' });
      assert.equal((await world.start('Tab', 'none', { ClientToken: 'same' })).BulkOperationArn, first.BulkOperationArn);
      await fails({ ClientToken: 'same', MaxWriteRequestUnits: 2000 }, 'IdempotentParameterMismatchException');
      const done = await world.ended(first.BulkOperationArn);
      assert.deepEqual([done.BulkOperationStatus, done.ProcessedItemCount, done.TotalInputBytes], ['COMPLETED', 0, 0]);
      assert.equal((await world.start('Tab', 'none', { ClientToken: 'same' })).BulkOperationArn, first.BulkOperationArn);
      const missing = `${kArn}/Tab/bulk-operation/01760000000000-0a1b2c3d`;
      for (const operation of ['DescribeBulkOperation', 'CancelBulkOperation']) {
        await assertFails(ddb[operation]({ BulkOperationArn: missing }), 'ResourceNotFoundException', `Bulk operation not found: ${missing}`);
        await assertFails(ddb[operation]({ BulkOperationArn: `${kArn}/Tab/import/01760000000000-0a1b2c3d` }), 'ValidationException', 'Invalid Bulk Operation ARN');
      }
    });

    test('buckets, owners and keys fail the job', async () => {
      const code = async (more) => {
        const { BulkOperationStatus, FailureCode } = await world.run('Tab', 'conditions', more);
        assert.equal(BulkOperationStatus, 'FAILED');
        return FailureCode;
      };
      const before = await world.items('Tab');
      assert.equal(await code({ input: { S3Bucket: 'none' } }), 'S3NoSuchBucket');
      assert.equal(await code({ output: { S3Bucket: 'none' } }), 'S3NoSuchBucket');
      assert.equal(await code({ input: { S3BucketOwner: '123456789012' } }), 'S3AccessDenied');
      assert.equal(await code({ output: { S3BucketOwner: '123456789012' } }), 'S3AccessDenied');
      assert.equal(await code({ output: { S3SseAlgorithm: 'KMS' } }), 'KmsNotFoundException');
      assertSame(await world.items('Tab'), before);
    });

    test('a cancelled one stops, and what it has put stays', async () => {
      await world.table('Cancel');
      // 1024 write units a second: 20 seconds and more.
      world.file('cancel/a', Array.from({ length: 20480 }, (_, i) => line(item(i))).join(''));
      const { BulkOperationArn } = await world.start('Cancel', 'cancel', { MaxWriteRequestUnits: 1024 });
      const second = await world.start('Cancel', 'conditions');
      await until(() => world.describe(BulkOperationArn), ({ ProcessedItemCount }) => ProcessedItemCount > 0, 'nothing is put');
      assert.deepEqual(await ddb.CancelBulkOperation({ BulkOperationArn }), { BulkOperationArn, BulkOperationStatus: 'CANCELLING' });
      const done = await world.ended(BulkOperationArn);
      assert.deepEqual([done.BulkOperationStatus, done.FailureCode, done.FailureMessage], ['CANCELLED', 'Cancelled', 'The bulk operation was cancelled.']);
      assert.ok(done.ProcessedItemCount < 20480, `${done.ProcessedItemCount}`);
      assertSame(await world.items('Cancel'), Array.from({ length: done.ProcessedItemCount }, (_, i) => item(i)));
      assert.equal(world.output('cancel', BulkOperationArn).manifest.status, 'CANCELLED');
      // One that has ended stays as it is, and the next one is begun.
      assert.equal((await ddb.CancelBulkOperation({ BulkOperationArn })).BulkOperationStatus, 'CANCELLED');
      await world.ended(second.BulkOperationArn);
    });

    test('a table that is deleted meanwhile fails the job', async () => {
      await world.table('Gone');
      const { BulkOperationArn } = await world.start('Gone', 'cancel', { MaxWriteRequestUnits: 1024 });
      await until(() => world.describe(BulkOperationArn), ({ ProcessedItemCount }) => ProcessedItemCount > 0, 'nothing is put');
      await ddb.DeleteTable({ TableName: 'Gone' });
      await world.table('Gone').catch(() => {});
      const done = await world.ended(BulkOperationArn);
      assert.deepEqual([done.BulkOperationStatus, done.FailureCode], ['FAILED', 'TableNotFound']);
    });

    test('the list has the newest first, and pages', async () => {
      const listed = [];
      for await (const page of sdk.paginateListBulkOperations({ client: world.client, pageSize: 3 }, {})) {
        assert.ok(page.BulkOperationsSummaryList.length <= 3);
        listed.push(...page.BulkOperationsSummaryList);
      }
      const arns = listed.map(({ BulkOperationArn }) => BulkOperationArn.split('/').pop());
      assert.ok(arns.length >= 10, `${arns.length}`);
      assert.deepEqual(arns, [...arns].sort().reverse());
      assert.ok(listed.every(({ StartTime, EndTime, BulkOperationStatus }) => StartTime && EndTime && BulkOperationStatus !== 'IN_PROGRESS'));
      assert.equal((await ddb.ListBulkOperations({})).BulkOperationsSummaryList.length, 10);
      await assertFails(ddb.ListBulkOperations({ NextToken: '0'.repeat(112) }), 'ValidationException', 'nextToken is invalid');
    });
  });
}

describe('bulk puts and restarts', { skip }, () => {
  test('kill -9 neither loses a record nor judges one twice', async () => {
    const kItems = 30_000;
    const world = await World.start();
    try {
      await world.table('Tab');
      // Every tenth record fails its condition, once; every hundredth is no item.
      const failing = (i) => i % 10 === 1;
      await world.ddb.PutItem({ TableName: 'Tab', Item: item('taken', 'old') });
      const lines = Array.from({ length: kItems }, (_, i) => (i % 100 === 2 ? line({ g: S(`${i}`) }) : line(failing(i) ? item('taken', `${i}`) : item(i), isNew)));
      for (let part = 0; part < 3; ++part) {
        world.file(`kill/${part}`, lines.slice(part * kItems / 3, (part + 1) * kItems / 3).join(''));
      }
      // At this rate it takes three seconds, so that kills come before its end.
      const { BulkOperationArn } = await world.start('Tab', 'kill', { MaxWriteRequestUnits: 10_000 });
      let kills = 0;
      for (let seen = -kItems; ;) {
        const found = await world.describe(BulkOperationArn);
        if (found.BulkOperationStatus !== 'IN_PROGRESS') break;
        if (found.ProcessedItemCount > seen + kItems / 10) {
          seen = found.ProcessedItemCount;
          await world.kill();
          ++kills;
          await world.open();
        }
      }
      assert.ok(kills > 0);
      const done = await world.ended(BulkOperationArn);
      assert.deepEqual([done.BulkOperationStatus, done.ProcessedItemCount, done.FailedItemCount], ['COMPLETED_WITH_ERRORS', kItems, kItems / 100]);
      assert.equal(done.ProcessedInputBytes, done.TotalInputBytes);
      const { manifest, lines: { ERROR, CONDITION_CHECK_FAILURE } } = world.output('kill', BulkOperationArn);
      assert.equal(manifest.conditionCheckFailureCount, kItems / 10);
      assert.deepEqual(CONDITION_CHECK_FAILURE.map((one) => Number(one.item.v.S)), Array.from({ length: kItems }, (_, i) => i).filter(failing));
      assert.equal(ERROR.length, kItems / 100);
      const items = await world.items('Tab');
      assert.equal(items.length, 1 + kItems - kItems / 10 - kItems / 100);
      assert.ok(items.every(({ pk, v }) => v.S === (pk.S === 'p0taken' ? 'old' : 'new')));
    } finally {
      await world.close();
    }
  });

  test('a cancellation that was answered holds over a restart', async () => {
    const world = await World.start();
    try {
      await world.table('Tab');
      world.file('cancel/a', Array.from({ length: 20480 }, (_, i) => line(item(i))).join(''));
      const { BulkOperationArn } = await world.start('Tab', 'cancel', { MaxWriteRequestUnits: 1024 });
      await world.ddb.CancelBulkOperation({ BulkOperationArn });
      await world.kill();
      await world.open();
      assert.equal((await world.ended(BulkOperationArn)).BulkOperationStatus, 'CANCELLED');
    } finally {
      await world.close();
    }
  });

  test('an object that has changed meanwhile fails the job', async () => {
    const world = await World.start();
    try {
      await world.table('Tab');
      world.file('change/a', Array.from({ length: 20480 }, (_, i) => line(item(i))).join(''));
      const { BulkOperationArn } = await world.start('Tab', 'change', { MaxWriteRequestUnits: 1024 });
      await until(() => world.describe(BulkOperationArn), ({ ProcessedItemCount }) => ProcessedItemCount > 0, 'nothing is put');
      await world.kill();
      world.file('change/a', line(item(0)));
      await world.open();
      const done = await world.ended(BulkOperationArn);
      assert.deepEqual([done.BulkOperationStatus, done.FailureCode], ['FAILED', 'InputChanged']);
    } finally {
      await world.close();
    }
  });
});
