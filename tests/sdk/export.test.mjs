// Exports to an object store and imports from it through the SDK, on RocksDB and in memory; on a cluster they are refused by name.
// The reader of exports below is written from the documented layout alone.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import zlib from 'node:zlib';
import * as sdk from '@aws-sdk/client-dynamodb';

import { B, BOOL, BS, L, M, N, NS, NULL, S, SS, assertFails, assertSame, clientFor, operationsOf } from './clients.mjs';
import { Server, advanceClock, isStator, onCluster } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const skip = !own ? 'needs a server of its own' : onCluster && 'not for a cluster';
const arnOf = (table, { region = 'us-east-1', account = '000000000000' } = {}) => `arn:aws:dynamodb:${region}:${account}:table/${table}`;
const md5 = (bytes) => crypto.createHash('md5').update(bytes).digest('base64');

async function until(look, wanted, what) {
  const end = Date.now() + 60000;
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
    world.root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-export-'));
    world.objects = path.join(world.root, 'data-objects');
    fs.mkdirSync(path.join(world.objects, 'bucket'), { recursive: true });
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
  async table(TableName, { recovery = true } = {}) {
    await this.ddb.CreateTable({
      TableName, BillingMode: 'PAY_PER_REQUEST', ...keys,
      GlobalSecondaryIndexes: [{ IndexName: 'by-g', Projection: { ProjectionType: 'ALL' }, KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }] }],
    });
    if (recovery) {
      await this.ddb.UpdateContinuousBackups({ TableName, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });
    }
  }
  async put(TableName, items) {
    for (let i = 0; i < items.length; i += 25) {
      await this.ddb.BatchWriteItem({ RequestItems: { [TableName]: items.slice(i, i + 25).map((Item) => ({ PutRequest: { Item } })) } });
    }
  }
  async begin(table, more = {}) {
    return (await this.ddb.ExportTableToPointInTime({ TableArn: arnOf(table), S3Bucket: 'bucket', ...more })).ExportDescription;
  }
  async exported({ ExportArn }) {
    const look = async () => (await this.ddb.DescribeExport({ ExportArn })).ExportDescription;
    return until(look, ({ ExportStatus }) => ExportStatus !== 'IN_PROGRESS', 'the export does not end');
  }
  async beginImport(TableName, source, more = {}) {
    return (await this.ddb.ImportTable({
      S3BucketSource: { S3Bucket: 'bucket', S3KeyPrefix: source }, InputFormat: 'DYNAMODB_JSON', InputCompressionType: 'GZIP',
      TableCreationParameters: {
        TableName, BillingMode: 'PAY_PER_REQUEST', ...keys,
        GlobalSecondaryIndexes: [{ IndexName: 'by-g', Projection: { ProjectionType: 'ALL' }, KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }] }],
      },
      ...more,
    })).ImportTableDescription;
  }
  async imported({ ImportArn }) {
    const look = async () => (await this.ddb.DescribeImport({ ImportArn })).ImportTableDescription;
    return until(look, ({ ImportStatus }) => ImportStatus !== 'IN_PROGRESS', 'the import does not end');
  }
  async items(TableName, IndexName) {
    const items = [];
    for await (const page of sdk.paginateScan({ client: this.client }, { TableName, IndexName, ConsistentRead: IndexName === undefined })) items.push(...page.Items);
    return sorted(items);
  }
  file(key, bytes) {
    const file = path.join(this.objects, 'bucket', key);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, bytes);
  }
  read(key) { return fs.readFileSync(path.join(this.objects, 'bucket', key)); }
}

const keys = {
  AttributeDefinitions: ['pk', 'g'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })).concat({ AttributeName: 'sk', AttributeType: 'N' }),
  KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
};
const sorted = (items) => items.sort((a, b) => a.pk.S.localeCompare(b.pk.S) || a.sk.N - b.sk.N);
const item = (i, v = 'first') => ({ pk: S(`p${i % 7}`), sk: N(i), g: S(`g${i % 3}`), v: S(v) });
const every = {
  pk: S('every'), sk: N(`-0.${'0'.repeat(129)}15`), g: S('index'), s: S('a "quoted" \\ line\nand \u{1f600} \u0001'), n: N('12345678901234567890123456789012345678'),
  b: B(new Uint8Array([0, 1, 254, 255])), t: BOOL(true), f: BOOL(false), nil: NULL, list: L(S(''), N(1), L(), M({})), map: M({ 'a b': S('x'), deep: M({ l: L(B('y')) }) }),
  ss: SS('a', 'b'), ns: NS('1', '2.5'), bs: BS('x', 'y'),
};

// Values of the text form as the SDK has them.
function fromJson(value) {
  const [[type, member]] = Object.entries(value);
  if (type === 'B') return { B: new Uint8Array(Buffer.from(member, 'base64')) };
  if (type === 'BS') return { BS: member.map((one) => new Uint8Array(Buffer.from(one, 'base64'))) };
  if (type === 'L') return { L: member.map(fromJson) };
  if (type === 'M') return { M: Object.fromEntries(Object.entries(member).map(([name, one]) => [name, fromJson(one)])) };
  return { [type]: member };
}

// Reads a full export as a program would that knows the bucket and the key of its summary.
function readExport(world, manifest) {
  const whole = (key) => {
    const bytes = world.read(key);
    assert.equal(world.read(key.replace(/\.json$/, '.md5')).toString(), md5(bytes), key);
    return bytes.toString();
  };
  const text = whole(manifest);
  assert.equal(text.trimEnd().split('\n').length, 1, 'the summary is one line');
  const summary = JSON.parse(text);
  const files = whole(summary.manifestFilesS3Key).trimEnd().split('\n').map(JSON.parse);
  const items = [];
  for (const file of files) {
    const bytes = world.read(file.dataFileS3Key);
    assert.equal(md5(bytes), file.md5Checksum);
    assert.equal(Buffer.from(file.md5Checksum, 'base64').toString('hex'), file.etag);
    assert.match(path.basename(file.dataFileS3Key), /^[a-z2-7]{26}\.json\.gz$/);
    const lines = zlib.gunzipSync(bytes).toString().split('\n').filter((line) => line !== '');
    assert.equal(lines.length, file.itemCount);
    for (const line of lines) {
      const record = JSON.parse(line);
      assert.deepEqual(Object.keys(record), ['Item']);
      items.push(Object.fromEntries(Object.entries(record.Item).map(([name, value]) => [name, fromJson(value)])));
    }
  }
  assert.equal(items.length, summary.itemCount);
  return { summary, files, items: sorted(items) };
}

describe('exports to a directory', { skip }, () => {
  let world;
  let ddb;
  before(async () => {
    world = await World.start(['--pitr-lag=1ms']);
    ddb = world.ddb;
  });
  after(() => world.close());

  test('a full export is read back by its documented layout, and imported', async () => {
    await world.table('All');
    const items = [every, ...Array.from({ length: 300 }, (_, i) => item(i))];
    await world.put('All', items);
    const begun = await world.begin('All', { S3Prefix: 'some/where/', ClientToken: 'first' });
    const id = begun.ExportArn.split('/').pop();
    assert.match(id, /^\d{14}-[0-9a-f]{8}$/);
    assert.equal(begun.ExportArn, `${arnOf('All')}/export/${id}`);
    assert.equal(Number(id.slice(0, 14)), begun.StartTime.getTime());
    assert.deepEqual({ ...begun, ExportArn: 0, TableId: 0, StartTime: 0, ExportTime: 0 }, {
      ExportArn: 0, ExportStatus: 'IN_PROGRESS', StartTime: 0, TableArn: arnOf('All'), TableId: 0, ExportTime: 0, ClientToken: 'first',
      S3Bucket: 'bucket', S3Prefix: 'some/where/', S3SseAlgorithm: 'AES256', ExportFormat: 'DYNAMODB_JSON',
    });
    // Later writes are not exported.
    await world.put('All', [item(1, 'later'), item(1000)]);
    await ddb.DeleteItem({ TableName: 'All', Key: { pk: S('p2'), sk: N(2) } });
    const done = await world.exported(begun);
    assert.equal(done.ExportStatus, 'COMPLETED');
    assert.equal(done.ItemCount, 301);
    assert.ok(done.BilledSizeBytes > 300 * 10 && done.EndTime >= done.StartTime);
    const root = `some/where/AWSDynamoDB/${id}`;
    assert.equal(done.ExportManifest, `${root}/manifest-summary.json`);
    assert.equal(world.read(`${root}/_started`).length, 0);
    const read = readExport(world, done.ExportManifest);
    assertSame(read.items, sorted([...items]));
    assert.equal(read.summary.exportArn, begun.ExportArn);
    assert.equal(read.summary.exportTime, done.ExportTime.toISOString());
    assert.equal(read.summary.billedSizeBytes, done.BilledSizeBytes);
    assert.equal(read.summary.exportType, 'FULL_EXPORT');

    const importing = await world.beginImport('Imported', `${root}/data/`, { ClientToken: 'first' });
    assert.equal(importing.ImportStatus, 'IN_PROGRESS');
    assert.equal(importing.TableArn, arnOf('Imported'));
    assert.deepEqual(importing.S3BucketSource, { S3BucketOwner: '000000000000', S3Bucket: 'bucket', S3KeyPrefix: `${root}/data/` });
    const ended = await world.imported(importing);
    assert.deepEqual([ended.ImportStatus, ended.ProcessedItemCount, ended.ImportedItemCount, ended.ErrorCount], ['COMPLETED', 301, 301, 0], JSON.stringify(ended));
    const { Table } = await ddb.DescribeTable({ TableName: 'Imported' });
    assert.deepEqual([Table.TableStatus, Table.TableId, Table.ItemCount, Table.RestoreSummary], ['ACTIVE', importing.TableId, 301, undefined]);
    assertSame(await world.items('Imported'), sorted([...items]));
    assertSame(await world.items('Imported', 'by-g'), sorted([...items]));
    assert.deepEqual((await ddb.ListImports({ TableArn: arnOf('Imported') })).ImportSummaryList.map((one) => [one.ImportArn, one.ImportStatus]), [[importing.ImportArn, 'COMPLETED']]);
  });

  test('a table is exported as it was at ExportTime', async () => {
    await world.table('Then');
    await world.put('Then', [item(1), item(2)]);
    await delay(20);
    const then = new Date();
    await delay(20);
    await world.put('Then', [item(1, 'later'), item(3)]);
    await ddb.DeleteItem({ TableName: 'Then', Key: { pk: S('p2'), sk: N(2) } });
    await delay(20);
    const done = await world.exported(await world.begin('Then', { ExportTime: then }));
    assert.equal(done.ExportStatus, 'COMPLETED', done.FailureMessage);
    assert.deepEqual(done.ExportTime.getTime(), then.getTime());
    assertSame(readExport(world, done.ExportManifest).items, [item(1), item(2)]);
  });

  test('a filter chooses items and attributes', async () => {
    await world.table('Chosen');
    const items = Array.from({ length: 300 }, (_, i) => item(i, i % 2 === 0 ? 'even' : 'odd'));
    await world.put('Chosen', items);
    const exported = async (FilterSpecification, more = {}) => {
      const done = await world.exported(await world.begin('Chosen', { FilterSpecification, ...more }));
      assert.equal(done.ExportStatus, 'COMPLETED', done.FailureMessage);
      assert.deepEqual(done.FilterSpecification, FilterSpecification, 'as sent');
      const read = readExport(world, done.ExportManifest);
      assert.equal(done.ItemCount, read.items.length);
      return read.items;
    };
    const values = (more) => ({ ExpressionAttributeValues: { ':v': S('even'), ...more } });
    assertSame(await exported({ FilterExpression: 'v = :v AND sk < :n', ...values({ ':n': N(100) }) }), sorted(items.filter(({ v, sk }) => v.S === 'even' && sk.N < 100)));
    const condition = { KeyConditionExpression: '#p = :p AND sk BETWEEN :a AND :b', ExpressionAttributeNames: { '#p': 'pk' } };
    const between = { ':p': S('p3'), ':a': N(50), ':b': N(200) };
    const chosen = items.filter(({ pk, sk }) => pk.S === 'p3' && sk.N >= 50 && sk.N <= 200);
    assertSame(await exported({ ...condition, ExpressionAttributeValues: between }), sorted([...chosen]));
    assertSame(await exported({ ...condition, FilterExpression: 'v = :v', ...values(between) }), sorted(chosen.filter(({ v }) => v.S === 'even')));
    assertSame(await exported({ ProjectionExpression: 'pk, sk, g, absent' }), sorted(items.map(({ v, ...rest }) => rest)));
    assert.deepEqual(await exported({ FilterExpression: 'attribute_not_exists(pk)' }), []);

    const fails = (FilterSpecification, words) => assertFails(world.begin('Chosen', { FilterSpecification }), 'ValidationException', words);
    await fails({ FilterExpression: 'v = ' }, 'Invalid FilterExpression: Syntax error; token: "<EOF>"');
    await fails({ FilterExpression: 'v = :v' }, 'An expression attribute value used in expression is not defined; attribute value: :v');
    await fails({ FilterExpression: 'size(g) > :n', ...values({ ':n': N(1) }) }, 'Value provided in ExpressionAttributeValues unused in expressions: keys: {:v}');
    await fails({ ExpressionAttributeNames: { '#p': 'pk' } }, 'ExpressionAttributeNames can only be specified when using expressions');
    await fails({ ProjectionExpression: 'pk, pk' }, 'Invalid ProjectionExpression: Two document paths overlap');
    await fails({ KeyConditionExpression: 'g = :v', ...values() }, 'Query condition missed key schema element: pk');
    await fails({ ...condition, FilterExpression: 'sk > :a', ExpressionAttributeValues: between }, 'Filter Expression can only contain non-primary key attributes: Primary key attribute: sk');
    // A token stands for the filter too.
    const ClientToken = 'filtered';
    const first = { FilterExpression: 'v = :v', ...values() };
    const begun = await world.begin('Chosen', { ClientToken, FilterSpecification: first });
    assert.equal((await world.begin('Chosen', { ClientToken, FilterSpecification: first })).ExportArn, begun.ExportArn);
    for (const FilterSpecification of [undefined, { FilterExpression: 'v = :v', ExpressionAttributeValues: { ':v': S('odd') } }])
      await assertFails(world.begin('Chosen', { ClientToken, FilterSpecification }), 'ExportConflictException');
    await world.exported(begun);
  });

  test('an empty table has a file of no items', async () => {
    await world.table('Empty');
    const done = await world.exported(await world.begin('Empty'));
    const read = readExport(world, done.ExportManifest);
    assert.deepEqual([read.items, read.files.length, done.ItemCount, read.summary.s3Prefix], [[], 1, 0, null]);
    assert.ok(done.ExportManifest.startsWith('AWSDynamoDB/'));
  });

  test('tokens and lists', async () => {
    await world.table('Listed');
    const begun = await world.begin('Listed', { ClientToken: 'again' });
    assert.equal((await world.begin('Listed', { ClientToken: 'again' })).ExportArn, begun.ExportArn);
    await world.exported(begun);
    assert.equal((await world.begin('Listed', { ClientToken: 'again' })).ExportArn, begun.ExportArn, 'after the end too');
    await assertFails(world.begin('Listed', { ClientToken: 'again', S3Prefix: 'other' }), 'ExportConflictException',
      'Export conflict: Duplicate request detected with conflicting parameters');
    const arns = [begun.ExportArn];
    for (let i = 0; i < 4; ++i) {
      const more = await world.begin('Listed');
      await world.exported(more);
      arns.unshift(more.ExportArn);
    }
    const listed = [];
    for await (const page of sdk.paginateListExports({ client: world.client, pageSize: 2 }, { TableArn: arnOf('Listed') })) listed.push(...page.ExportSummaries);
    assert.deepEqual(listed, arns.map((ExportArn) => ({ ExportArn, ExportStatus: 'COMPLETED', ExportType: 'FULL_EXPORT' })));
    await assertFails(ddb.ListExports({ NextToken: 'x' }), 'ValidationException', 'Invalid Request: Provided nextToken is invalid: ');
    await ddb.DeleteTable({ TableName: 'Listed' });
    await until(() => ddb.DescribeTable({ TableName: 'Listed' }).then(() => false, () => true), Boolean, 'not deleted');
    assert.deepEqual((await ddb.ListExports({ TableArn: arnOf('Listed') })).ExportSummaries, []);
    assert.equal((await ddb.DescribeExport({ ExportArn: begun.ExportArn })).ExportDescription.ExportStatus, 'COMPLETED');
  });

  test('requests that are refused at once', async () => {
    await world.table('Not-on', { recovery: false });
    await world.table('Turned');
    await assertFails(world.begin('Not-on', { S3Bucket: 'none' }), 'PointInTimeRecoveryUnavailableException');
    await assertFails(world.begin('Nowhere'), 'TableNotFoundException', `Table not found: ${arnOf('Nowhere')}`);
    const tables = { Turned: 'One or more parameter values were invalid: tableArn is not a valid ARN', [`${arnOf('Turned')}/index/by-g`]: 'Invalid Request: Table ARN is invalid.' };
    for (const [TableArn, text] of Object.entries(tables)) await assertFails(world.begin('Turned', { TableArn }), 'ValidationException', text);
    await assertFails(world.begin('Turned', { TableArn: arnOf('Turned', { account: '123456789012' }) }), 'AccessDeniedException');
    await assertFails(world.begin('Turned', { ExportTime: new Date(Date.now() + 60000) }), 'InvalidExportTimeException', 'Export Time is invalid');
    await assertFails(world.begin('Turned', { ExportTime: new Date(Date.now() - 86400000) }), 'InvalidExportTimeException', 'Export Time is invalid');
    await assertFails(world.begin('Turned', { S3SseKmsKeyId: 'key' }), 'ValidationException', 'Invalid Request: KMS Key Id is not supported for this encryption type');
    for (const S3Prefix of ['../x', 'a/../../b', '/x', 'a//b', 'a/.']) {
      await assertFails(world.begin('Turned', { S3Prefix }), 'ValidationException', 'S3Prefix');
    }
    for (const S3Bucket of ['..', '.x', 'a/b']) await assertFails(world.begin('Turned', { S3Bucket }), 'ValidationException', 's3Bucket');
    await assertFails(world.begin('Turned', { FilterSpecification: {} }), 'ValidationException', 'Invalid FilterSpecification: The specification can not be empty');
    const spec = { ExportFromTime: new Date(Date.now() - 3600000) };
    await assertFails(world.begin('Turned', { IncrementalExportSpecification: spec }), 'ValidationException', 'Export Type expected to be Incremental Export when');
    await assertFails(world.begin('Turned', { ExportType: 'FULL_EXPORT', IncrementalExportSpecification: spec }), 'ValidationException',
      'When Export Type is Full Export , Incremental Export Specification should not be provided');
    await assertFails(world.begin('Turned', { ExportType: 'INCREMENTAL_EXPORT' }), 'ValidationException', 'Incremental Export Specification expected when');
    const unknown = `${arnOf('Turned')}/export/01760000000000-0a1b2c3d`;
    await assertFails(ddb.DescribeExport({ ExportArn: unknown }), 'ExportNotFoundException', `Export not found: Export not found: ${unknown}`);
    await assertFails(ddb.DescribeExport({ ExportArn: unknown.replace('us-east-1', 'eu-west-1') }), 'ExportNotFoundException', 'Export not found: Invalid export arn');
    await assertFails(ddb.DescribeExport({ ExportArn: arnOf('Turned') }), 'ValidationException', 'Invalid Export ARN');
  });

  test('exports that fail later say why', async () => {
    await world.table('Fails');
    const failed = async (more) => {
      const ended = await world.exported(await world.begin('Fails', more));
      assert.equal(ended.ExportStatus, 'FAILED');
      assert.equal(ended.ItemCount, undefined);
      return ended;
    };
    const missing = await failed({ S3Bucket: 'none' });
    assert.equal(missing.FailureCode, 'S3NoSuchBucket');
    assert.match(missing.FailureMessage, /^The specified bucket does not exist \(Service: Amazon S3;/);
    assert.equal((await failed({ S3BucketOwner: '123456789012' })).FailureCode, 'S3AccessDenied');
    assert.equal((await failed({ S3SseAlgorithm: 'KMS' })).FailureCode, 'KmsNotFoundException');
    // A folder that is a link is none, and leads nowhere.
    const outside = path.join(world.root, 'outside');
    fs.mkdirSync(outside);
    fs.symlinkSync(outside, path.join(world.objects, 'link'));
    assert.equal((await failed({ S3Bucket: 'link' })).FailureCode, 'S3NoSuchBucket');
    fs.symlinkSync(outside, path.join(world.objects, 'bucket', 'link'));
    assert.equal((await failed({ S3Prefix: 'link' })).FailureCode, 'InternalError');
    assert.deepEqual(fs.readdirSync(outside), []);
  });

  test('imports count and log what they refuse', async () => {
    const line = (Item) => `${JSON.stringify({ Item })}\n`;
    const good = Array.from({ length: 9 }, (_, i) => ({ pk: S('a'), sk: N(i) }));
    const begin = (TableName, source, more) => world.beginImport(TableName, source, { InputCompressionType: undefined, ...more });
    world.file('ten/lines', good.map(line).join('') + line({ sk: N(1) }));
    const ten = await world.imported(await begin('Ten', 'ten/'));
    assert.deepEqual([ten.ImportStatus, ten.ProcessedItemCount, ten.ImportedItemCount, ten.ErrorCount, ten.FailureCode], ['FAILED', 10, 9, 1, 'ItemValidationError']);
    assert.match(ten.FailureMessage, /^Some of the items failed validation checks and were not imported\. Please check CloudWatch error logs/);
    assertSame(await world.items('Ten'), good);
    const log = path.join(world.objects, 'stator-imports', ten.ImportArn.split('/').pop(), 'error');
    assert.deepEqual(fs.readFileSync(log, 'utf8').trimEnd().split('\n').map(JSON.parse), [{
      itemS3Pointer: { bucket: 'bucket', key: 'ten/lines', itemIndex: 9 }, importArn: ten.ImportArn,
      errorMessages: ['One or more parameter values were invalid: Missing the key pk in the item'],
    }]);

    world.file('cut/lines', `${good.slice(0, 5).map(line).join('')}no JSON\n${line(good[6])}`);
    world.file('cut/more', line(good[7]));
    const cut = await world.imported(await begin('Cut', 'cut/'));
    assert.deepEqual([cut.ImportStatus, cut.ProcessedItemCount, cut.ImportedItemCount, cut.ErrorCount], ['FAILED', 7, 6, 1]);
    // Declared compression is what counts.
    const wrong = await world.imported(await begin('Wrong', 'ten/', { InputCompressionType: 'GZIP' }));
    assert.deepEqual([wrong.ImportStatus, wrong.ErrorCount, wrong.FailureCode], ['FAILED', 1, 'ItemValidationError']);
    assert.deepEqual(await world.items('Wrong'), []);
    const nothing = await world.imported(await begin('Nothing', 'no-such-prefix'));
    assert.deepEqual([nothing.ImportStatus, nothing.ProcessedItemCount, nothing.ProcessedSizeBytes], ['COMPLETED', 0, 0]);
    const none = await world.imported(await begin('None', 'x', { S3BucketSource: { S3Bucket: 'none' } }));
    assert.deepEqual([none.ImportStatus, none.FailureCode], ['FAILED', 'S3NoSuchBucket']);
    await assertFails(ddb.DescribeTable({ TableName: 'None' }), 'ResourceNotFoundException');
    // One item stays of those with one key.
    world.file('twice/lines', [good[0], { ...good[0], v: S('second') }, good[0]].map(line).join(''));
    const twice = await world.imported(await begin('Twice', 'twice/'));
    assert.deepEqual([twice.ImportStatus, twice.ImportedItemCount], ['COMPLETED', 3]);
    assert.equal((await world.items('Twice')).length, 1);
  });

  test('a damaged file of an export is refused by name', async () => {
    await world.table('Damaged');
    await world.put('Damaged', Array.from({ length: 50 }, (_, i) => item(i)));
    const done = await world.exported(await world.begin('Damaged', { S3Prefix: 'damaged' }));
    const [{ dataFileS3Key }] = readExport(world, done.ExportManifest).files;
    const whole = world.read(dataFileS3Key);
    const broken = Buffer.from(whole);
    broken[broken.length - 6] ^= 1;
    for (const [name, bytes] of Object.entries({ Broken: broken, Short: whole.subarray(0, whole.length - 9) })) {
      world.file(dataFileS3Key, bytes);
      const ended = await world.imported(await world.beginImport(name, path.dirname(dataFileS3Key)));
      assert.deepEqual([ended.ImportStatus, ended.FailureCode, ended.ErrorCount], ['FAILED', 'ItemValidationError', 1]);
      const log = fs.readFileSync(path.join(world.objects, 'stator-imports', ended.ImportArn.split('/').pop(), 'error'), 'utf8');
      assert.equal(JSON.parse(log).itemS3Pointer.key, dataFileS3Key);
    }
    world.file(dataFileS3Key, whole);
    assert.equal((await world.imported(await world.beginImport('Whole', path.dirname(dataFileS3Key)))).ImportStatus, 'COMPLETED');
  });

  test('CSV', async () => {
    world.file('csv/one.csv', 'pk,sk,text\na,1,"x, ""y"""\nb,2,\nc,x,z\n');
    const csv = { InputFormat: 'CSV', InputCompressionType: 'NONE' };
    const one = await world.imported(await world.beginImport('Csv', 'csv/one', csv));
    assert.deepEqual([one.ProcessedItemCount, one.ImportedItemCount, one.ErrorCount], [3, 2, 1]);
    assertSame(await world.items('Csv'), [{ pk: S('a'), sk: N(1), text: S('x, "y"') }, { pk: S('b'), sk: N(2), text: S('') }]);
    world.file('csv/two.csv.gz', zlib.gzipSync('a|1|t\nb|2|u\n'));
    const InputFormatOptions = { Csv: { Delimiter: '|', HeaderList: ['pk', 'sk', 'v'] } };
    const two = await world.imported(await world.beginImport('Csv2', 'csv/two', { InputFormat: 'CSV', InputFormatOptions }));
    assert.deepEqual(two.InputFormatOptions, InputFormatOptions);
    assertSame(await world.items('Csv2'), [{ pk: S('a'), sk: N(1), v: S('t') }, { pk: S('b'), sk: N(2), v: S('u') }]);
    await assertFails(world.beginImport('Csv3', 'csv', { InputFormatOptions }), 'ValidationException',
      'Invalid Request: Unsupported InputFormatOptions for the given input format: DYNAMODB_JSON.');
  });

  test('tokens and names of imports', async () => {
    world.file('token/x', '');
    const none = { InputCompressionType: 'NONE' };
    const begun = await world.beginImport('Token', 'token/', { ...none, ClientToken: 'import' });
    const other = { ...none, ClientToken: 'import' };
    await assertFails(world.beginImport('Other', 'token/', other), 'ImportConflictException', 'Import conflict: Duplicate request detected');
    await world.imported(begun);
    await assertFails(world.beginImport('Token', 'token/', other), 'ResourceInUseException', 'Table already exists: Token');
    await ddb.DeleteTable({ TableName: 'Token' });
    await until(() => ddb.DescribeTable({ TableName: 'Token' }).then(() => false, () => true), Boolean, 'not deleted');
    assert.equal((await world.beginImport('Token', 'token/', other)).ImportArn, begun.ImportArn);
    // Several imports may begin with one name: the first that makes the table wins.
    const all = await Promise.allSettled(Array.from({ length: 5 }, () => world.beginImport('Race', 'token/', none)));
    const started = all.filter(({ status }) => status === 'fulfilled');
    for (const { reason } of all.filter(({ status }) => status === 'rejected')) assert.equal(reason.name, 'ResourceInUseException');
    const states = await Promise.all(started.map(async ({ value }) => (await world.imported(value)).FailureCode ?? 'made'));
    assert.deepEqual(states.sort(), [...Array(started.length - 1).fill('TableAlreadyExists'), 'made']);
    await assertFails(ddb.DescribeImport({ ImportArn: arnOf('Race') }), 'ValidationException', 'Invalid Import ARN');
    await assertFails(ddb.DescribeImport({ ImportArn: `${arnOf('Race')}/import/01760000000000-0a1b2c3d` }), 'ImportNotFoundException');
    const listed = [];
    for await (const page of sdk.paginateListImports({ client: world.client, pageSize: 2 }, { TableArn: arnOf('Race') })) listed.push(...page.ImportSummaryList);
    assert.equal(listed.length, started.length);
  });
});

// Values of Ion text, as far as exports have them; written from the documented examples. The text is a struct with one member of this name.
function fromIon(text, name = 'Item') {
  let at = 0;
  const take = (pattern) => {
    const found = new RegExp(pattern, 'sy');
    found.lastIndex = at;
    const match = found.exec(text);
    if (match !== null) at = found.lastIndex;
    return match?.[0];
  };
  const unquote = (quoted) => quoted.slice(1, -1).replace(/\\(x[0-9a-f]{2}|.)/gs, (_, name) => (name.length > 1 ? String.fromCharCode(parseInt(name.slice(1), 16))
    : { n: '\n', r: '\r', t: '\t' }[name] ?? name));
  const list = (member) => {
    assert.ok(take('\\['));
    const members = [];
    while (!take('\\]')) {
      members.push(member());
      take(',');
    }
    return members;
  };
  const number = (token) => {
    const [digits, exponent = '0'] = token.split('d');
    const [whole, fraction = ''] = digits.split('.');
    return { N: BigInt(exponent) === 0n ? `${whole}${fraction && `.${fraction}`}` : exponent.startsWith('-') ? `${digits}e${exponent}` : whole + '0'.repeat(Number(exponent)) };
  };
  const struct = () => {
    assert.ok(take('\\{'));
    const members = {};
    while (!take('\\}')) {
      const name = take("'(?:[^'\\\\]|\\\\.)*'");
      members[name === undefined ? take('[A-Za-z_][A-Za-z0-9_]*') : unquote(name)] = (take(':'), value());
      take(',');
    }
    return members;
  };
  const value = () => {
    const set = take('\\$dynamodb_[SNB]S::');
    if (set !== undefined) return { [set.slice(10, 12)]: list(() => Object.values(value())[0]) };
    if (text[at] === '[') return { L: list(value) };
    const blob = take('\\{\\{[^}]*\\}\\}');
    if (blob !== undefined) return { B: new Uint8Array(Buffer.from(blob.slice(2, -2), 'base64')) };
    if (text[at] === '{') return { M: struct() };
    const quoted = take('"(?:[^"\\\\]|\\\\.)*"');
    if (quoted !== undefined) return { S: unquote(quoted) };
    const word = take('true|false|null');
    if (word !== undefined) return word === 'null' ? { NULL: true } : { BOOL: word === 'true' };
    return number(take('-?[0-9][0-9.]*(?:d-?[0-9]+)?'));
  };
  assert.ok(take(`\\$ion_1_0 \\{${name}:`), text);
  const item = struct();
  assert.ok(take('\\}$'), text.slice(at));
  return item;
}

// Reads an incremental export as a program would that knows the bucket and the key of its summary.
function readRecords(world, done) {
  const summary = JSON.parse(world.read(done.ExportManifest));
  const files = world.read(summary.manifestFilesS3Key).toString().trimEnd().split('\n').map(JSON.parse);
  const suffix = { DYNAMODB_JSON: 'json', ION: 'ion' }[summary.outputFormat];
  const found = files.flatMap(({ dataFileS3Key, itemCount, md5Checksum }) => {
    assert.match(dataFileS3Key, new RegExp(`^inc/AWSDynamoDB/data/[a-z2-7]{26}\\.${suffix}\\.gz$`));
    const bytes = world.read(dataFileS3Key);
    assert.equal(md5(bytes), md5Checksum);
    const lines = zlib.gunzipSync(bytes).toString().split('\n').filter(Boolean);
    assert.equal(lines.length, itemCount);
    if (suffix === 'json') return lines.map(JSON.parse);
    // The members of a record are structs, whose values have types; those of JSON say theirs.
    return lines.map((line) => Object.fromEntries(Object.entries(fromIon(line, 'Record')).map(([name, { M: members }]) => [name, members])));
  });
  assert.equal(found.length, summary.itemCount);
  return [summary, found.sort((a, b) => a.Keys.sk.N - b.Keys.sk.N)];
}

describe('exports of changes, and in Ion', { skip }, () => {
  let world;
  let ddb;
  const kStart = Date.parse('2026-11-21T12:00:00Z');
  before(async () => {
    world = await World.start(['--clock=manual', '--clock-start=2026-11-21T12:00:00Z', '--pitr-lag=1ms']);
    ddb = world.ddb;
  });
  after(() => world.close());

  test('Ion text holds all types, and is imported', async () => {
    await world.table('Ion');
    const items = [every, item(600), item(-3), { ...item(1), "it's": N('0.00000000012'), true: N('8.5') }];
    await world.put('Ion', items);
    const done = await world.exported(await world.begin('Ion', { ExportFormat: 'ION', S3Prefix: 'ion' }));
    assert.equal(done.ExportStatus, 'COMPLETED', done.FailureMessage);
    const summary = JSON.parse(world.read(done.ExportManifest));
    assert.equal(summary.outputFormat, 'ION');
    const file = JSON.parse(world.read(summary.manifestFilesS3Key));
    assert.match(file.dataFileS3Key, /[a-z2-7]{26}\.ion\.gz$/);
    const lines = zlib.gunzipSync(world.read(file.dataFileS3Key)).toString().trimEnd().split('\n');
    assert.ok(lines.some((line) => line.includes('sk:6d2')), lines.join('\n'));
    const same = (value) => JSON.parse(JSON.stringify(value, (key, one) => (key === 'N' ? String(Number(one)) : one instanceof Uint8Array ? [...one] : key === 'NS' ? one.map(Number) : one)));
    assertSame(same(sorted(lines.map((line) => fromIon(line)))), same(sorted([...items])));
    const ended = await world.imported(await world.beginImport('FromIon', path.dirname(file.dataFileS3Key), { InputFormat: 'ION' }));
    assert.deepEqual([ended.ImportStatus, ended.ImportedItemCount], ['COMPLETED', 4], JSON.stringify(ended));
    assertSame(await world.items('FromIon'), sorted([...items]));
  });

  test('an incremental export has one record for each item that changed', async () => {
    await world.table('Changes');
    await world.put('Changes', [item(1), item(2), item(3), item(4)]);
    await advanceClock(world.server, 3600);
    const from = new Date(kStart + 3600_000);
    await world.put('Changes', [item(1, 'between'), item(5), item(6)]);
    await advanceClock(world.server, 600);
    await world.put('Changes', [item(1, 'second')]);
    await ddb.DeleteItem({ TableName: 'Changes', Key: { pk: S('p2'), sk: N(2) } });
    await ddb.DeleteItem({ TableName: 'Changes', Key: { pk: S('p6'), sk: N(6) } });
    await advanceClock(world.server, 600);
    const to = new Date(kStart + 4800_000);
    // At the end of the window: no part of it.
    await world.put('Changes', [item(1, 'third'), item(3, 'third')]);
    await advanceClock(world.server, 3600);
    const spec = { ExportFromTime: from, ExportToTime: to };
    const begin = (more = {}, window = {}) => world.begin('Changes', { ExportType: 'INCREMENTAL_EXPORT', S3Prefix: 'inc', IncrementalExportSpecification: { ...spec, ...window }, ...more });
    const records = (done) => readRecords(world, done);
    const done = await world.exported(await begin());
    assert.equal(done.ExportStatus, 'COMPLETED', done.FailureMessage);
    assert.deepEqual([done.ExportType, done.ExportTime, done.ItemCount, done.BilledSizeBytes], ['INCREMENTAL_EXPORT', undefined, 3, 10_000_000]);
    assert.deepEqual(done.IncrementalExportSpecification, { ...spec, ExportViewType: 'NEW_AND_OLD_IMAGES' });
    const [summary, found] = records(done);
    assert.deepEqual([summary.version, summary.exportFromTime, summary.exportToTime, summary.outputView, summary.exportType],
      ['2023-08-01', from.toISOString(), to.toISOString(), 'NEW_AND_OLD_IMAGES', 'INCREMENTAL_EXPORT']);
    const at = (millis) => ({ WriteTimestampMicros: N(millis * 1000) });
    const keyOf = (i) => ({ pk: S(`p${i % 7}`), sk: N(i) });
    const wanted = [
      { Metadata: at(kStart + 4200_000), Keys: keyOf(1), NewImage: item(1, 'second'), OldImage: item(1) },
      { Metadata: at(kStart + 4200_000), Keys: keyOf(2), OldImage: item(2) },
      { Metadata: at(kStart + 3600_000), Keys: keyOf(5), NewImage: item(5) },
    ];
    assert.deepEqual(found, wanted);
    const news = await world.exported(await begin({}, { ExportViewType: 'NEW_IMAGE' }));
    assert.deepEqual(records(news)[1], wanted.map(({ OldImage, ...rest }) => rest));
    const ion = await world.exported(await begin({ ExportFormat: 'ION' }));
    assert.deepEqual([ion.ExportStatus, ion.ExportFormat, ion.ItemCount], ['COMPLETED', 'ION', 3], ion.FailureMessage);
    const [ionSummary, ionFound] = records(ion);
    assert.deepEqual([ionSummary.version, ionSummary.outputFormat, ionSummary.exportType], ['2023-08-01', 'ION', 'INCREMENTAL_EXPORT']);
    assert.deepEqual(ionFound, wanted);
    const ionNews = await world.exported(await begin({ ExportFormat: 'ION' }, { ExportViewType: 'NEW_IMAGE' }));
    assert.deepEqual(records(ionNews)[1], wanted.map(({ OldImage, ...rest }) => rest));

    // A filter sees the new image, and the old one of an item that was deleted.
    const FilterSpecification = { FilterExpression: 'v = :v', ProjectionExpression: 'v, #s', ExpressionAttributeNames: { '#s': 'sk' }, ExpressionAttributeValues: { ':v': S('first') } };
    for (const ExportFormat of ['DYNAMODB_JSON', 'ION']) {
      const filtered = await world.exported(await begin({ FilterSpecification, ExportFormat }));
      assert.deepEqual([filtered.ExportStatus, filtered.ItemCount, filtered.FilterSpecification], ['COMPLETED', 2, FilterSpecification], filtered.FailureMessage);
      const shown = ({ v, sk }) => ({ v, sk });
      assert.deepEqual(records(filtered)[1], [{ ...wanted[1], OldImage: shown(item(2)) }, { ...wanted[2], NewImage: shown(item(5)) }], ExportFormat);
    }
    await assertFails(begin({}, { ExportFromTime: new Date(kStart - 1000) }), 'InvalidExportTimeException',
      'Incremental export period from time cannot be less than the table creation time : ');
    await assertFails(begin({}, { ExportToTime: new Date(from.getTime() + 899_000) }), 'InvalidExportTimeException', 'is less than 15 minutes');
    await assertFails(begin({}, { ExportToTime: new Date(kStart + 9000_000) }), 'InvalidExportTimeException',
      'Incremental export period to time cannot be greater than the current time : ');
    await assertFails(world.begin('Changes', { ExportType: 'INCREMENTAL_EXPORT', IncrementalExportSpecification: { ExportToTime: to } }), 'ValidationException',
      'ExportFromTime must be provided in IncrementalExportSpecification');
  });
});

describe('exports in memory', { skip }, () => {
  test('an export is imported by the same server', async () => {
    const world = await World.start(['--in-memory']);
    try {
      await world.table('Memory');
      await world.put('Memory', [every, item(1)]);
      const done = await world.exported(await world.begin('Memory', { S3Bucket: 'any-bucket' }));
      assert.equal(done.ExportStatus, 'COMPLETED', done.FailureMessage);
      const id = done.ExportArn.split('/').pop();
      const ended = await world.imported(await world.beginImport('Copy', '', { S3BucketSource: { S3Bucket: 'any-bucket', S3KeyPrefix: `AWSDynamoDB/${id}/data/` } }));
      assert.equal(ended.ImportStatus, 'COMPLETED', ended.FailureMessage);
      assertSame(await world.items('Copy'), sorted([every, item(1)]));
      assert.deepEqual(fs.readdirSync(path.join(world.objects, 'bucket')), []);
    } finally {
      await world.close();
    }
  });
});

test('kill -9 leaves a whole export, or one that goes on; an import goes on too', { skip, timeout: 300000 }, async () => {
  const world = await World.start();
  try {
    const kItems = 2000;
    await world.table('Killed');
    const items = Array.from({ length: kItems }, (_, i) => ({ ...item(i), v: S(`${crypto.randomBytes(300).toString('base64')}`) }));
    await world.put('Killed', items);
    for (let round = 0; round < 4; ++round) {
      // The job keeps its filter.
      const filtered = round % 2 === 1;
      const expected = filtered ? kItems / 2 : kItems + round;
      const FilterSpecification = filtered ? { FilterExpression: 'sk < :n', ExpressionAttributeValues: { ':n': N(kItems / 2) } } : undefined;
      const begun = await world.begin('Killed', { S3Prefix: `round${round}`, FilterSpecification });
      await delay(round * 12);
      await world.kill();
      const summary = path.join(world.objects, 'bucket', `round${round}`, 'AWSDynamoDB', begun.ExportArn.split('/').pop(), 'manifest-summary.json');
      // Whatever has a summary is whole.
      if (fs.existsSync(summary)) assert.equal(readExport(world, path.relative(path.join(world.objects, 'bucket'), summary)).items.length, expected);
      await world.open();
      await world.ddb.PutItem({ TableName: 'Killed', Item: item(5000 + round) });
      const done = await world.exported(begun);
      assert.equal(done.ExportStatus, 'COMPLETED', done.FailureMessage);
      assert.equal(readExport(world, done.ExportManifest).items.length, expected, 'the moment is that of the request');
      const data = path.dirname(readExport(world, done.ExportManifest).files[0].dataFileS3Key);
      const importing = await world.beginImport(`Import${round}`, `${data}/`);
      await delay(round * 40);
      await world.kill();
      await world.open();
      const ended = await world.imported(importing);
      assert.deepEqual([ended.ImportStatus, ended.ImportedItemCount, ended.ErrorCount], ['COMPLETED', expected, 0], ended.FailureMessage);
      assert.equal((await world.items(`Import${round}`)).length, expected);
    }
    // Nothing half written is left.
    const left = fs.readdirSync(world.objects, { recursive: true }).filter((name) => path.basename(name).startsWith('.stator-'));
    assert.deepEqual(left, []);
  } finally {
    await world.close();
  }
});

test('what is wrong with the settings of an object store is said at the start', { skip: !own && 'needs a server of its own' }, async () => {
  const refuses = (args, words, env = {}) => assert.rejects(Server.startOne({ dataDir: path.join(os.tmpdir(), 'stator-none'), args, env }), words);
  await refuses(['--object-store=https://s3.example'], /needs --object-store-buckets/);
  await refuses(['--object-store=https://s3.example/bucket', '--object-store-buckets=bucket'], /has a path/);
  await refuses(['--object-store=s3://bucket', '--object-store-buckets=bucket'], /http/);
  await refuses(['--object-store=http://s3.example', '--object-store-buckets=a/b'], /--object-store-buckets/);
  await refuses(['--object-store-buckets=bucket'], /that is a URL/);
  await refuses(['--backup-dir=https://s3.example'], /names no bucket/);
  await refuses(['--s3-ca-file=/dev/null'], /of https/);
  const nobody = { AWS_SHARED_CREDENTIALS_FILE: '/nowhere', AWS_CONFIG_FILE: '/nowhere' };
  await refuses(['--object-store=http://127.0.0.1:9', '--object-store-buckets=bucket'], /needs an access key/, nobody);
});
