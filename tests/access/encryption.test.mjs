// Encryption at rest as a user meets it: flags, refusals, no plain text in any file, a new key, copies, backups.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';

import { binary, call, Server } from '../sdk/harness.mjs';

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-encryption-'));
const dataDir = path.join(directory, 'data');
const keyFile = path.join(directory, 'key');
const cleanEnv = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(AWS|STATOR)_/.test(name)));
let server;
after(async () => {
  await server?.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

const start = (args = ['--encryption-key-file', keyFile], where = dataDir) => Server.startOne({ args, dataDir: where });
const run = (...words) => spawnSync(binary, words, { encoding: 'utf8', env: cleanEnv, cwd: directory, timeout: 60_000 });
const ask = async (operation, body) => {
  const reply = await call(server.endpoint, operation, body);
  assert.equal(reply.status, 200, reply.text);
  return JSON.parse(reply.text);
};
const put = (id) => ask('PutItem', { TableName: 'PlainTableName', Item: { id: { S: `plain-key-${id}` }, text: { S: `plain-value ${'x'.repeat(200)}` } } });
const get = async (id) => (await ask('GetItem', { TableName: 'PlainTableName', Key: { id: { S: `plain-key-${id}` } } })).Item?.text?.S.slice(0, 11);

const words = ['plain-key', 'plain-value', 'xxxxxxxxxxxxxxxx', 'PlainTableName', 'MANIFEST-'];
// The files below a directory that hold one of the words, as "name: word".
function findings(below) {
  const found = [];
  for (const entry of fs.readdirSync(below, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = fs.readFileSync(path.join(entry.parentPath ?? entry.path, entry.name));
    for (const word of words) if (bytes.includes(word)) found.push(`${entry.name}: ${word}`);
  }
  return found;
}
async function refused(args, pattern, where = dataDir) {
  await assert.rejects(start(args, where).then(async (wrong) => { await wrong.stop(); }), pattern);
}

test('items, names and backups stand in no file, not after a kill either', async () => {
  assert.equal(run('make-master-key', keyFile).status, 0);
  server = await start();
  await ask('CreateTable', {
    TableName: 'PlainTableName', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }], StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
  });
  for (let i = 0; i < 200; ++i) await put(i);
  const { BackupDetails } = await ask('CreateBackup', { TableName: 'PlainTableName', BackupName: 'first' });
  for (;;) {
    const { BackupDescription } = await ask('DescribeBackup', { BackupArn: BackupDetails.BackupArn });
    if (BackupDescription.BackupDetails.BackupStatus === 'AVAILABLE') break;
  }
  await server.kill();
  assert.deepEqual(findings(dataDir), []);
  assert.deepEqual(findings(`${dataDir}-backups`), []);
  assert.match(fs.readFileSync(path.join(dataDir, 'FORMAT'), 'utf8'), /^features .*\bencryption\b/m);
  server = await start();
  assert.equal(await get(199), 'plain-value');
  await ask('RestoreTableFromBackup', { TargetTableName: 'PlainTableName2', BackupArn: BackupDetails.BackupArn });
  await server.stop();
  assert.deepEqual(findings(dataDir), []);
});

test('the check can fail: a plain store has the words', async () => {
  const plain = path.join(directory, 'plain');
  server = await start([], plain);
  await ask('CreateTable', {
    TableName: 'PlainTableName', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
  });
  for (let i = 0; i < 20; ++i) await put(i);
  await server.stop();
  assert.ok(findings(plain).length >= 3);
});

test('a wrong key, no key, and a key of a plain store are refused in a sentence', async () => {
  const other = path.join(directory, 'other');
  assert.equal(run('make-master-key', other).status, 0);
  await refused([], /is encrypted\. Give its key with --encryption-key-file/);
  await refused(['--encryption-key-file', other], /is encrypted with the key [0-9a-f]{32}, and the key that was given is [0-9a-f]{32}/);
  await refused(['--encryption-key-file', path.join(directory, 'none')], /cannot read/);
  await refused(['--encryption-key-file', keyFile], /is not encrypted, and a key for encryption was given/, path.join(directory, 'plain'));
  await refused(['--encryption-key-file', keyFile, '--encryption-key-command', 'true'], /exclude each other/);
  await refused(['--in-memory', '--encryption-key-file', keyFile], /are for --engine=rocksdb, not memory/);
  const pool = run('serve', '--engine=rados', '--ceph-conf=none', '--pool=p', '--encryption-key-file', keyFile);
  assert.notEqual(pool.status, 0);
  assert.match(pool.stderr, /not for --engine=rados: Ceph encrypts its disks/);
});

test('a new key takes over at a start, with backups, and the old one opens nothing', async () => {
  const old = fs.readFileSync(keyFile, 'utf8').trim();
  const fresh = randomBytes(32).toString('base64');
  fs.writeFileSync(keyFile, `${fresh}\n${old}\n`);
  server = await start();
  await server.logged(/encryption_key_renewed/);
  await server.logged(/backup_keys_renewed/);
  assert.equal(await get(1), 'plain-value');
  await server.stop();
  fs.writeFileSync(keyFile, `${old}\n`);
  await refused(undefined, /is encrypted with the key/);
  fs.writeFileSync(keyFile, `${fresh}\n`);
  server = await start();
  assert.doesNotMatch(server.output, /renewed/);
  assert.equal(await get(2), 'plain-value');
  assert.equal((await ask('ListBackups', {})).BackupSummaries.length, 1);
  await server.stop();
});

test('the key may come from a command, which is bounded and must end well', async () => {
  server = await start(['--encryption-key-command', `cat '${keyFile}'`]);
  assert.equal(await get(3), 'plain-value');
  await server.stop();
  await refused(['--encryption-key-command', 'exit 3 # in-plain-sight'], /gave no key: it ended with 3"/);
  await refused(['--encryption-key-command', 'echo short'], /is no master key/);
  await refused(['--encryption-key-command', 'yes'], /it printed more than 4096 bytes/);
});

test('stator copy makes a plain store an encrypted one, and the other way', async () => {
  const encrypted = path.join(directory, 'encrypted');
  const plain = path.join(directory, 'plain');
  const there = run('copy', '--from', plain, '--to', encrypted, '--to-encryption-key-file', keyFile);
  assert.equal(there.status, 0, there.stderr);
  assert.deepEqual(findings(encrypted), []);
  const blind = run('copy', '--from', encrypted, '--to', path.join(directory, 'back'));
  assert.equal(blind.status, 1);
  assert.match(blind.stderr, /is encrypted/);
  const back = run('copy', '--from', encrypted, '--from-encryption-key-file', keyFile, '--to', path.join(directory, 'back'));
  assert.equal(back.status, 0, back.stderr);
  assert.match(back.stdout, /copied 20 items/);
});

test('stator iam works on an encrypted store', () => {
  const words = ['iam', 'list-users', '--data-dir', dataDir, '--master-key-file', keyFile];
  assert.match(run(...words).stderr, /is encrypted/);
  const listed = run(...words, '--encryption-key-file', keyFile);
  assert.equal(listed.status, 0, listed.stderr);
});
