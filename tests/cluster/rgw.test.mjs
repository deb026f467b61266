// S3 of a Ceph cluster (radosgw) as the object store of exports and imports: STATOR_CLUSTER_DIR is the cluster's directory. The
// tests read buckets with a client of their own, written from the documents of S3 alone.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import zlib from 'node:zlib';

import { Server } from '../sdk/harness.mjs';

const sdk = createRequire(new URL('../sdk/package.json', import.meta.url))('@aws-sdk/client-dynamodb');
const cluster = new URL('cluster', import.meta.url).pathname;
let endpoint, keyId, secret, server, client;

// One signed request of S3; the answer's status and bytes.
async function s3(method, target, body = '') {
  const url = new URL(endpoint + target);
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const sha = (text) => crypto.createHash('sha256').update(text).digest('hex');
  const headers = { host: url.host, 'x-amz-content-sha256': sha(body), 'x-amz-date': time };
  const names = Object.keys(headers).sort();
  const query = [...url.searchParams].map((pair) => pair.map(encodeURIComponent).join('=')).sort().join('&');
  const canonical = [method, url.pathname, query, ...names.map((name) => `${name}:${headers[name]}`), '', names.join(';'), headers['x-amz-content-sha256']].join('\n');
  const scope = `${time.slice(0, 8)}/us-east-1/s3/aws4_request`;
  const key = scope.split('/').reduce((so, part) => crypto.createHmac('sha256', so).update(part).digest(), `AWS4${secret}`);
  const signature = crypto.createHmac('sha256', key).update(['AWS4-HMAC-SHA256', time, scope, sha(canonical)].join('\n')).digest('hex');
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${keyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  const answer = await fetch(url, { method, headers, body: body === '' ? undefined : body });
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
}
const encoded = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
const pathOf = (bucket, key) => `/${bucket}/${key.split('/').map(encoded).join('/')}`;
async function keysOf(bucket) {
  const { bytes } = await s3('GET', `/${bucket}?list-type=2&encoding-type=url`);
  return [...bytes.toString().matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key]) => decodeURIComponent(key.replaceAll('+', ' ')));
}
const start = (...args) => Server.startOne({
  args: ['--in-memory', `--object-store=${endpoint}`, '--pitr-lag=1ms', ...args], dataDir: null,
  env: { AWS_ACCESS_KEY_ID: keyId, AWS_SECRET_ACCESS_KEY: secret, AWS_REGION: 'us-east-1' },
});
const connect = (to) => new sdk.DynamoDBClient({ endpoint: to.endpoint, region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' }, maxAttempts: 1 });
const send = (operation, input) => client.send(new sdk[`${operation}Command`](input));
async function ended(describe) {
  for (const end = Date.now() + 120_000; ; await delay(50)) {
    const job = await describe();
    if ((job.ExportStatus ?? job.ImportStatus) !== 'IN_PROGRESS') return job;
    assert.ok(Date.now() < end, 'the job does not end');
  }
}
async function exportTo(S3Bucket, extra = {}) {
  const { Table: { TableArn } } = await send('DescribeTable', { TableName: 'notes' });
  const { ExportDescription: { ExportArn } } = await send('ExportTableToPointInTime', { TableArn, S3Bucket, ...extra });
  return ended(async () => (await send('DescribeExport', { ExportArn })).ExportDescription);
}
const definition = { BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }] };
async function importFrom(bucket, prefix, TableName) {
  const { ImportTableDescription: { ImportArn } } = await send('ImportTable', {
    S3BucketSource: { S3Bucket: bucket, S3KeyPrefix: prefix }, InputFormat: 'DYNAMODB_JSON', InputCompressionType: 'GZIP',
    TableCreationParameters: { TableName, ...definition },
  });
  return ended(async () => (await send('DescribeImport', { ImportArn })).ImportTableDescription);
}
// Bytes that gzip cannot shorten, so that the file has several parts.
const kItems = 120, kBytes = 200_000;
const noise = (i) => crypto.createHash('shake256', { outputLength: kBytes }).update(`item ${i}`).digest();

before(async () => {
  [endpoint, keyId, secret] = execFileSync(cluster, ['--dir', process.env.STATOR_CLUSTER_DIR, 'rgw'], { encoding: 'utf8', timeout: 120_000 }).trim().split(' ');
  assert.equal((await s3('PUT', '/exports')).status, 200);
  assert.equal((await s3('PUT', '/hidden')).status, 200);
  server = await start('--object-store-buckets=exports,never-made,stator-imports');
  client = connect(server);
  await send('CreateTable', { TableName: 'notes', ...definition });
  await send('UpdateContinuousBackups', { TableName: 'notes', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });
  for (let i = 0; i < kItems; i++) await send('PutItem', { TableName: 'notes', Item: { pk: { S: `${i}` }, noise: { B: noise(i) } } });
});
after(() => server?.stop());

test('an export is in the bucket, in parts where it is long, and comes back as a table', async () => {
  const job = await exportTo('exports', { S3Prefix: 'a b/ü+&x' });
  assert.deepEqual([job.ExportStatus, job.ItemCount, job.FailureMessage], ['COMPLETED', kItems, undefined]);
  const keys = await keysOf('exports');
  assert.ok(keys.every((key) => key.startsWith('a b/ü+&x/AWSDynamoDB/')), keys.join());
  const data = keys.filter((key) => key.endsWith('.json.gz'));
  assert.equal(data.length, 1);
  const { status, bytes } = await s3('GET', pathOf('exports', data[0]));
  assert.equal(status, 200);
  assert.ok(bytes.length > 16 << 20, `${bytes.length} bytes are no three parts of 8 MB`);
  const found = new Map(zlib.gunzipSync(bytes).toString().trimEnd().split('\n').map((line) => JSON.parse(line).Item).map((item) => [item.pk.S, item.noise.B]));
  assert.equal(found.size, kItems);
  for (let i = 0; i < kItems; i++) assert.equal(found.get(`${i}`), noise(i).toString('base64'));
  assert.ok(keys.some((key) => key.endsWith('manifest-summary.json')));
  assert.doesNotMatch((await s3('GET', '/exports?uploads=')).bytes.toString(), /<Upload>/, 'no upload is left');

  const imported = await importFrom('exports', job.ExportManifest.replace(/manifest-summary.*/, 'data/'), 'notes-again');
  assert.deepEqual([imported.ImportStatus, imported.ImportedItemCount, imported.FailureMessage], ['COMPLETED', kItems, undefined]);
  for (const i of [0, kItems - 1]) {
    const { Item } = await send('GetItem', { TableName: 'notes-again', Key: { pk: { S: `${i}` } } });
    assert.deepEqual(Buffer.from(Item.noise.B), noise(i));
  }
});

test('items that are wrong are told in the bucket of errors', async () => {
  const lines = ['{"Item":{"pk":{"S":"good"}}}', '{"Item":{"pk":{"N":"1"}}}', '{"Item":{"other":{"S":"x"}}}'];
  assert.equal((await s3('PUT', '/exports/mine/items.json.gz', zlib.gzipSync(`${lines.join('\n')}\n`))).status, 200);
  const job = await importFrom('exports', 'mine/', 'some-wrong');
  assert.deepEqual([job.ImportedItemCount, job.ErrorCount, job.FailureCode], [1, 2, 'ItemValidationError']);
  const [key] = await keysOf('stator-imports');
  const errors = (await s3('GET', pathOf('stator-imports', key))).bytes.toString().trimEnd().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(errors.map(({ itemS3Pointer }) => [itemS3Pointer.itemIndex, itemS3Pointer.key]), [[1, 'mine/items.json.gz'], [2, 'mine/items.json.gz']]);
});

test('a bucket that callers may not name is denied, and one that is not there is missing', async () => {
  const denied = ['FAILED', 'S3AccessDenied', 'Access Denied (Service: Amazon S3; Status Code: 403; Error Code: AccessDenied)'];
  for (const bucket of ['hidden', 'nowhere']) {
    const job = await exportTo(bucket);
    assert.deepEqual([job.ExportStatus, job.FailureCode, job.FailureMessage], denied, bucket);
  }
  assert.deepEqual(await keysOf('hidden'), []);
  const missing = await exportTo('never-made');
  assert.deepEqual([missing.ExportStatus, missing.FailureCode], ['FAILED', 'S3NoSuchBucket']);
});

test('a wrong key fails the job with S3\'s words, and a server that is away fails it with its address', async () => {
  const [rightServer, rightClient] = [server, client];
  const run = async (args, env) => {
    server = await Server.startOne({
      args: ['--in-memory', '--pitr-lag=1ms', '--object-store-buckets=*', ...args], dataDir: null, env: { AWS_REGION: 'us-east-1', ...env },
    });
    client = connect(server);
    try {
      await send('CreateTable', { TableName: 'notes', ...definition });
      await send('UpdateContinuousBackups', { TableName: 'notes', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });
      return await exportTo('exports');
    } finally {
      await server.stop();
      [server, client] = [rightServer, rightClient];
    }
  };
  const wrong = await run([`--object-store=${endpoint}`], { AWS_ACCESS_KEY_ID: keyId, AWS_SECRET_ACCESS_KEY: 'wrong' });
  assert.deepEqual([wrong.ExportStatus, wrong.FailureCode], ['FAILED', 'S3AccessDenied']);
  const nobody = http.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => nobody.once('listening', resolve));
  const { port } = nobody.address();
  await new Promise((resolve) => nobody.close(resolve));
  const away = await run([`--object-store=http://127.0.0.1:${port}`], { AWS_ACCESS_KEY_ID: keyId, AWS_SECRET_ACCESS_KEY: secret });
  assert.equal(away.ExportStatus, 'FAILED');
  assert.match(away.FailureMessage, new RegExp(`HEAD http://127.0.0.1:${port}/exports: `));
});

test('backups in a bucket outlive the server and its data, and a half one is none', async () => {
  const [rightServer, rightClient] = [server, client];
  assert.equal((await s3('PUT', '/backups')).status, 200);
  // As a crash leaves it: it is no backup, and stays for a day in case another server is at it.
  assert.equal((await s3('PUT', '/backups/of/one/01489602797149-73d8d5bc/manifest.json', '{}')).status, 200);
  const begin = async () => {
    server = await Server.startOne({
      args: ['--in-memory', `--backup-dir=${endpoint}/backups/of/one`], dataDir: null,
      env: { AWS_ACCESS_KEY_ID: keyId, AWS_SECRET_ACCESS_KEY: secret, AWS_REGION: 'us-east-1' },
    });
    client = connect(server);
  };
  const available = async (BackupArn) => {
    for (const end = Date.now() + 120_000; ; await delay(50)) {
      const { BackupDescription: { BackupDetails } } = await send('DescribeBackup', { BackupArn });
      if (BackupDetails.BackupStatus === 'AVAILABLE') return BackupDetails;
      assert.ok(Date.now() < end, BackupDetails.BackupStatus);
    }
  };
  try {
    await begin();
    await send('CreateTable', { TableName: 'notes', ...definition });
    for (let i = 0; i < kItems; i++) await send('PutItem', { TableName: 'notes', Item: { pk: { S: `${i}` }, noise: { B: noise(i) } } });
    const { BackupDetails: { BackupArn } } = await send('CreateBackup', { TableName: 'notes', BackupName: 'first' });
    await available(BackupArn);
    const keys = await keysOf('backups');
    assert.ok(keys.includes(`of/one/${BackupArn.split('/').at(-1)}/PUBLISHED`), keys.join());
    await server.kill();

    await begin();
    const { BackupSummaries } = await send('ListBackups', {});
    assert.deepEqual(BackupSummaries.map((backup) => backup.BackupArn), [BackupArn]);
    await send('RestoreTableFromBackup', { TargetTableName: 'restored', BackupArn });
    for (const end = Date.now() + 120_000; ; await delay(50)) {
      const { Table } = await send('DescribeTable', { TableName: 'restored' });
      if (Table.TableStatus === 'ACTIVE') break;
      assert.ok(Date.now() < end, Table.TableStatus);
    }
    for (let i = 0; i < kItems; i++) {
      const { Item } = await send('GetItem', { TableName: 'restored', Key: { pk: { S: `${i}` } } });
      assert.deepEqual(Buffer.from(Item.noise.B), noise(i));
    }
    await send('DeleteBackup', { BackupArn });
    assert.deepEqual(await keysOf('backups'), ['of/one/01489602797149-73d8d5bc/manifest.json']);
    assert.deepEqual((await send('ListBackups', {})).BackupSummaries, []);
  } finally {
    await server.stop();
    [server, client] = [rightServer, rightClient];
  }
});

test('the archive of expired messages (examples/archive) in a bucket has each once, also after a kill', async () => {
  assert.equal((await s3('PUT', '/archive')).status, 200);
  const example = new URL('../../examples/archive/', import.meta.url).pathname;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-archive-'));
  const settings = fs.readFileSync(path.join(example, 'stator.toml'), 'utf8');
  assert.ok(settings.includes('directory = "/tmp/stator-archive"'));
  fs.writeFileSync(path.join(folder, 'stator.toml'), settings.replace('directory = "/tmp/stator-archive"', `bucket = "${endpoint}/archive/of/messages"`).replace('in-memory = true', ''));
  const begin = () => Server.startOne({
    args: [`--config=${folder}/stator.toml`], dataDir: path.join(folder, 'data'), env: { AWS_ACCESS_KEY_ID: keyId, AWS_SECRET_ACCESS_KEY: secret, AWS_REGION: 'us-east-1' },
  });
  const run = async (script, ...args) => (await promisify(execFile)('python3', [path.join(example, script), ...args])).stdout;
  const kExpected = 'general: 240\nhelp: 240\nmusic: 300\nrandom: 300\n1080 messages expired on 30 days, from 2026-02-01 to 2026-03-02\n';
  // analyse.py reads a directory and fails if a message is there twice.
  const analysed = async (copy) => {
    for (const key of await keysOf('archive')) {
      const file = path.join(folder, copy, key.slice('of/messages/'.length));
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, (await s3('GET', pathOf('archive', key))).bytes);
    }
    return run('analyse.py', path.join(folder, copy));
  };
  let archiving = await begin();
  try {
    await run('messages.py', '--endpoint', archiving.endpoint);
    assert.equal(await analysed('before'), kExpected);
    // A mapping that begins again delivers all of it again: the names say what is there.
    await archiving.kill();
    archiving = await begin();
    assert.equal(await analysed('after'), kExpected);
  } finally {
    await archiving.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});

test('a server that hangs does not hold a stop', async () => {
  const hangs = http.createServer(() => {}).listen(0, '127.0.0.1');
  await new Promise((resolve) => hangs.once('listening', resolve));
  const own = await Server.startOne({
    args: ['--in-memory', '--pitr-lag=1ms', `--object-store=http://127.0.0.1:${hangs.address().port}`, '--object-store-buckets=exports'],
    dataDir: null, env: { AWS_ACCESS_KEY_ID: keyId, AWS_SECRET_ACCESS_KEY: secret },
  });
  const called = new Promise((resolve) => hangs.once('request', resolve));
  const to = connect(own);
  const ask = (operation, input) => to.send(new sdk[`${operation}Command`](input));
  await ask('CreateTable', { TableName: 'notes', ...definition });
  await ask('UpdateContinuousBackups', { TableName: 'notes', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });
  const { Table: { TableArn } } = await ask('DescribeTable', { TableName: 'notes' });
  await ask('ExportTableToPointInTime', { TableArn, S3Bucket: 'exports' });
  await called;
  const from = performance.now();
  assert.deepEqual((await own.stop()).code, 0);
  // A call may take 60 s, and is tried five times.
  assert.ok(performance.now() - from < 50_000, 'the stop waited for the call');
  hangs.closeAllConnections();
  hangs.close();
});
