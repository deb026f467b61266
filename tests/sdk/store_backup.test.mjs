// The runbook of whole-store backups (docs/backup.md), executed: back up a server under load, lose its disk, restore. One server on
// RocksDB; in memory, and on a cluster, backups of the store are refused by name.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { N, S, clientFor, operationsOf } from './clients.mjs';
import { Server, advanceClock, binary, isStator, onCluster, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT && !onCluster;
const kPatienceMillis = 120_000;

async function until(look, what) {
  for (const end = Date.now() + kPatienceMillis; ; await delay(5)) {
    const found = await look();
    if (found) return found;
    assert.ok(Date.now() < end, `not within time: ${what}`);
  }
}

// Runs `stator` with these words; {code, out, err}.
function run(words, env = {}) {
  return new Promise((resolve) => {
    execFile(binary, words, { env: { ...process.env, ...env }, timeout: kPatienceMillis, maxBuffer: 64 << 20 }, (error, out, err) =>
      resolve({ code: error ? error.code ?? error.signal : 0, out, err }));
  });
}
async function good(words, env) {
  const { code, out, err } = await run(words, env);
  assert.equal(code, 0, `${words.join(' ')}: ${out}${err}`);
  return out;
}
const management = (server, method, target, body = '') =>
  request(server.endpoint, { method, path: `/_stator/${target}`, headers: { 'X-Stator-Management': 'true' }, body });
const stateOf = async (server) => (await management(server, 'GET', 'backup')).json();

class World {
  constructor(args = []) {
    this.root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-store-backup-'));
    this.data = path.join(this.root, 'data');
    this.place = path.join(this.root, 'place');
    this.args = args;
  }
  async open(args = [`--store-backup=${this.place}`, ...this.args], env = {}) {
    this.server = await Server.startOne({ dataDir: this.data, args, env });
    this.client = clientFor(this.server.endpoint);
    this.ddb = operationsOf(this.client);
  }
  async kill() {
    this.client.destroy();
    await this.server.kill();
  }
  async stop() {
    this.client.destroy();
    assert.equal((await this.server.stop()).code, 0, this.server.output);
  }
  close() { fs.rmSync(this.root, { recursive: true, force: true }); }
  // A backup by the command line, as JSON.
  async backup() { return JSON.parse(await good(['backup', '--json', '--endpoint-url', this.server.endpoint])); }
  list(where = this.place) { return good(['backup', '--list', '--to', where]); }
  async table(TableName, more = {}) {
    await this.ddb.CreateTable({
      TableName, BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], ...more,
    });
  }
  async item(TableName, pk) { return (await this.ddb.GetItem({ TableName, Key: { pk: S(pk) }, ConsistentRead: true })).Item; }
  // Incompressible items, about 20 KB each.
  async fill(TableName, from, to) {
    for (let i = from; i < to; i += 10) {
      await this.ddb.BatchWriteItem({
        RequestItems: {
          [TableName]: Array.from({ length: Math.min(10, to - i) }, (_, n) => ({
            PutRequest: { Item: { pk: S(`fill-${i + n}`), v: { B: crypto.randomBytes(20_000) } } },
          })),
        },
      });
    }
  }
}

describe('a backup of the whole store', { skip: own ? false : 'one server on RocksDB only' }, () => {
  test('the runbook: write under load, back up, lose the disk, restore', async () => {
    const world = new World();
    await world.open();
    const accounts = 10, each = 1000;
    await world.table('Bank', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' } });
    await world.table('Log');
    await world.ddb.UpdateContinuousBackups({ TableName: 'Log', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });
    await world.fill('Log', 0, 200);
    for (let i = 0; i < accounts; ++i) await world.ddb.PutItem({ TableName: 'Bank', Item: { pk: S(`a${i}`), n: N(each) } });

    // Transfers, and a log of what was answered and when that was known.
    let going = true, written = 0;
    const answered = [];
    const transfer = async (who) => {
      for (let i = who; going; i += 7) {
        const [from, to] = [`a${i % accounts}`, `a${(i * 3 + 1) % accounts}`];
        if (from === to) continue;
        await world.ddb.TransactWriteItems({
          TransactItems: [[from, -1], [to, 1]].map(([pk, by]) => ({
            Update: { TableName: 'Bank', Key: { pk: S(pk) }, UpdateExpression: 'ADD n :by', ExpressionAttributeValues: { ':by': N(by) } },
          })),
        }).catch((error) => { if (error.name !== 'TransactionCanceledException' && error.name !== 'TransactionConflictException') throw error; });
      }
    };
    const note = async (who) => {
      for (let i = 0; going; ++i) {
        const pk = `w${who}-${i}`;
        await world.ddb.PutItem({ TableName: 'Log', Item: { pk: S(pk), at: N(Date.now()) } });
        answered.push({ pk, at: Date.now() });
        ++written;
      }
    };
    const load = Promise.all([transfer(0), transfer(1), transfer(2), note(0), note(1)]);
    const backups = [];
    for (let i = 0; i < 3; ++i) {
      const wanted = written + 50;
      await until(() => written >= wanted, 'writes go on');
      const known = answered.length;
      backups.push({ ...await world.backup(), known });
    }
    going = false;
    await load;
    const [first, second, last] = backups;
    assert.ok(first.new_bytes === first.bytes && first.bytes > 4_000_000, JSON.stringify(first));
    assert.ok(second.new_bytes < second.bytes / 2, JSON.stringify(second));
    assert.equal((await world.list()).trim().split('\n').length, 3);

    // The disk is lost.
    await world.kill();
    fs.rmSync(world.data, { recursive: true });
    const said = await good(['restore', '--from', world.place, '--data-dir', world.data]);
    assert.ok(said.includes(`as of ${last.as_of}; writes after it are not there.`), said);
    await world.open();
    const seen = async () => {
      let sum = 0;
      for (let i = 0; i < accounts; ++i) sum += Number((await world.item('Bank', `a${i}`)).n.N);
      return sum;
    };
    assert.equal(await seen(), accounts * each);
    const moment = Date.parse(last.as_of), end = Date.parse(last.until);
    for (const [i, { pk, at }] of answered.entries()) {
      const there = await world.item('Log', pk);
      if (i < last.known || at < moment) assert.ok(there, `${pk} was answered before the backup`);
      if (there) assert.ok(Number(there.at.N) <= end + 1, `${pk} was sent after the moment`);
    }
    // Everything of it goes on: stream, history, the next backup.
    assert.equal((await world.ddb.DescribeTable({ TableName: 'Bank' })).Table.StreamSpecification.StreamEnabled, true);
    assert.equal((await world.ddb.DescribeContinuousBackups({ TableName: 'Log' })).ContinuousBackupsDescription
      .PointInTimeRecoveryDescription.PointInTimeRecoveryStatus, 'ENABLED');
    await world.ddb.PutItem({ TableName: 'Log', Item: { pk: S('later') } });
    const next = await world.backup();
    assert.ok(next.new_bytes < next.bytes / 2, JSON.stringify(next));
    await world.stop();
    // An older one is restored by its id, or by a moment, and is of its own moment.
    for (const [at, dir] of [[first.id, 'one'], [new Date(Date.parse(second.as_of) - 1).toISOString(), 'two']]) {
      const words = await good(['restore', '--from', world.place, '--at', at, '--data-dir', path.join(world.root, dir)]);
      assert.ok(words.includes(`as of ${first.as_of};`), words);
    }
    world.data = path.join(world.root, 'one');
    await world.open();
    assert.equal(await seen(), accounts * each);
    assert.equal(await world.item('Log', 'later'), undefined);
    await world.stop();
    world.close();
  });

  test('a damaged, missing or swapped object is refused by name, and nothing half is left to start', async () => {
    const world = new World();
    await world.open();
    await world.table('Tab');
    await world.fill('Tab', 0, 50);
    await world.backup();
    await world.stop();
    const objects = path.join(world.place, 'objects');
    const names = fs.readdirSync(objects).sort((a, b) => Number(b.split('-')[1]) - Number(a.split('-')[1]));
    const target = path.join(world.root, 'new');
    const refused = async (name, why) => {
      const { code, err } = await run(['restore', '--from', world.place, '--data-dir', target]);
      assert.equal(code, 1);
      assert.ok(err.includes(name) && why.test(err), err);
      await assert.rejects(Server.startOne({ dataDir: target }), /holds other files/);
      const verified = await run(['backup', '--verify', '--to', world.place]);
      assert.ok(verified.code === 1 && verified.err.includes(name), verified.err);
    };
    const [largest, other] = names.map((name) => path.join(objects, name));
    const whole = fs.readFileSync(largest);
    const damaged = Buffer.from(whole);
    damaged[damaged.length >> 1] ^= 1;
    fs.writeFileSync(largest, damaged);
    await refused(names[0], /checksum/);
    fs.writeFileSync(largest, fs.readFileSync(other));
    await refused(names[0], /bytes in place of/);
    fs.unlinkSync(largest);
    await refused(names[0], /is missing/);
    fs.writeFileSync(largest, whole);
    await good(['restore', '--from', world.place, '--data-dir', target]);
    const again = await run(['restore', '--from', world.place, '--data-dir', target]);
    assert.ok(again.code === 1 && again.err.includes('is not empty'), again.err);
    world.data = target;
    await world.open();
    assert.equal((await world.ddb.Scan({ TableName: 'Tab', Select: 'COUNT' })).Count, 50);
    await world.stop();
    world.close();
  });

  test('kill -9 in the middle leaves no backup, and the next one cleans up', async () => {
    // 8 MB at 1 MB a second: the kill comes in between, unless this process stood still for as long; then once more.
    const world = new World(['--store-backup-rate-mb=1']);
    await world.open();
    await world.table('Tab');
    await world.fill('Tab', 0, 20);
    await world.backup();
    const count = async () => (await world.list()).trim().split('\n').length;
    const left = () => fs.readdirSync(path.join(world.place, 'objects'));
    for (let before = 1, round = 1, refused = false; ; ++round) {
      await world.fill('Tab', round * 400, round * 400 + 400);
      assert.equal((await management(world.server, 'POST', 'backup')).status, 202);
      refused ||= (await management(world.server, 'POST', 'backup')).status === 409;
      const { running } = await until(async () => {
        const state = await stateOf(world.server);
        return (!state.running || state.done_bytes > state.total_bytes / 2) && state;
      }, 'the backup is in the middle');
      const links = fs.existsSync(path.join(world.data, 'store-backup.links'));
      await world.kill();
      const after = await count();
      assert.ok(after === before || after === before + 1, `${after} backups`);
      if (running && links && refused && after === before && left().some((name) => name.endsWith('.partial'))) break;
      assert.ok(round < 20, 'no kill came in the middle');
      before = after;
      await world.open();
    }
    world.args = ['--store-backup-keep=1'];
    await world.open();
    assert.ok(!fs.existsSync(path.join(world.data, 'store-backup.links')));
    const { files } = await world.backup();
    assert.equal(left().length, files);
    assert.equal(await count(), 1);
    assert.match(await good(['backup', '--verify', '--to', world.place]), /is whole/);
    await world.stop();
    world.close();
  });

  test('a schedule follows the clock, keeps the newest, and tells of failures', async () => {
    const world = new World(['--clock=manual', '--clock-start=2026-11-27T11:00:00Z', '--store-backup-every=1h', '--store-backup-keep=2']);
    await world.open();
    await world.table('Tab');
    const ids = async () => [...(await world.list()).matchAll(/^(\S+) {2}as of (\S+)/gm)].map(([, id, at]) => [id.slice(0, 8), at]);
    await advanceClock(world.server, 1);
    const start = (await ids())[0][1];
    for (const by of ['30m', '31m', '1h', '10h']) await advanceClock(world.server, by);
    assert.ok(start.startsWith('2026-11-27T11:00:0'), start);
    const kept = await ids();
    assert.deepEqual(kept.map(([id]) => id), ['00000003', '00000004']);
    assert.ok(kept[1][1].startsWith('2026-11-27T23:01'), JSON.stringify(kept));
    // The place is gone: a file stands in its way.
    fs.rmSync(world.place, { recursive: true });
    fs.writeFileSync(world.place, '');
    await advanceClock(world.server, '1h');
    const state = await stateOf(world.server);
    assert.ok(state.failed >= 1 && state.failure.message.includes(world.place), JSON.stringify(state));
    assert.equal((await management(world.server, 'GET', 'status')).json().store_backup.failure.message, state.failure.message);
    const events = (await management(world.server, 'GET', 'events')).json().events;
    assert.ok(events.some(({ kind, text }) => kind === 'store_backup_failed' && text.includes(world.place)));
    assert.equal(events.filter(({ kind }) => kind === 'store_backup').length, 4);
    const { text } = await request(world.server.endpoint, { method: 'GET', path: '/metrics' });
    assert.match(text, /^stator_store_backup_failing 1$/m);
    assert.match(text, /^stator_store_backups_made 4$/m);
    await world.ddb.PutItem({ TableName: 'Tab', Item: { pk: S('a') } });
    fs.unlinkSync(world.place);
    await advanceClock(world.server, '1h');
    assert.equal((await stateOf(world.server)).failure, null);
    assert.equal((await ids()).length, 1);
    await world.stop();
    world.close();
  });

  test('a stopped directory is backed up by the command line, an encrypted one with its key', async () => {
    const world = new World();
    const key = path.join(world.root, 'key');
    await good(['make-master-key', key]);
    await world.open([`--encryption-key-file=${key}`]);
    await world.table('Tab');
    await world.ddb.PutItem({ TableName: 'Tab', Item: { pk: S('a'), v: S('very-secret-text') } });
    const none = await run(['backup', '--endpoint-url', world.server.endpoint]);
    assert.ok(none.code === 1 && none.err.includes('--store-backup=PLACE'), none.err);
    const busy = await run(['backup', '--data-dir', world.data, '--to', world.place, '--encryption-key-file', key]);
    assert.ok(busy.code === 1 && busy.err.includes('Another process has the store'), busy.err);
    await world.stop();
    const plain = await run(['backup', '--data-dir', world.data, '--to', world.place]);
    assert.ok(plain.code === 1 && plain.err.includes('is encrypted'), plain.err);
    for (let i = 0; i < 3; ++i)
      await good(['backup', '--data-dir', world.data, '--to', world.place, '--keep', '2', '--encryption-key-file', key]);
    assert.equal((await world.list()).trim().split('\n').length, 2);
    for (const name of fs.readdirSync(path.join(world.place, 'objects')))
      assert.ok(!fs.readFileSync(path.join(world.place, 'objects', name)).includes('very-secret-text'), name);
    world.data = path.join(world.root, 'new');
    const said = await good(['restore', '--from', world.place, '--data-dir', world.data]);
    assert.match(said, /needs --encryption-key-file with the key whose id is [0-9a-f]{32}/);
    await assert.rejects(Server.startOne({ dataDir: world.data }), /is encrypted/);
    await world.open([`--encryption-key-file=${key}`]);
    assert.deepEqual((await world.item('Tab', 'a')).v, S('very-secret-text'));
    await world.stop();
    const nowhere = await run(['backup', '--data-dir', path.join(world.root, 'none'), '--to', world.place]);
    assert.ok(nowhere.code === 1 && nowhere.err.includes('There is no store'), nowhere.err);
    world.close();
  });

  test('in a bucket', async () => {
    const bucket = new Bucket('safe');
    await bucket.listen();
    const env = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'secret', AWS_REGION: 'us-east-1' };
    const world = new World();
    world.place = `${bucket.url}/safe/some/where`;
    await world.open([`--store-backup=${world.place}`, '--store-backup-keep=2'], env);
    await world.table('Tab');
    await world.fill('Tab', 0, 500);  // more than one part of an upload
    const first = await world.backup();
    await world.ddb.PutItem({ TableName: 'Tab', Item: { pk: S('second') } });
    const second = await world.backup();
    assert.ok(first.new_bytes > 8 << 20 && second.new_bytes < second.bytes / 4, JSON.stringify([first, second]));
    assert.ok(bucket.uploads > 0);
    await world.backup();
    const list = await good(['backup', '--list', '--to', world.place], env);
    assert.deepEqual([...list.matchAll(/^0000000(\d)/gm)].map(([, n]) => n), ['2', '3']);
    assert.equal(await good(['backup', '--list', '--endpoint-url', world.server.endpoint]), list);
    assert.ok([...bucket.objects.keys()].every((key) => key.startsWith('some/where/')));
    // The bucket takes no more.
    bucket.full = true;
    await world.ddb.PutItem({ TableName: 'Tab', Item: { pk: S('third') } });
    const full = await run(['backup', '--endpoint-url', world.server.endpoint]);
    assert.ok(full.code === 1 && full.err.includes('QuotaExceeded'), full.err);
    await world.ddb.PutItem({ TableName: 'Tab', Item: { pk: S('fourth') } });
    bucket.full = false;
    const last = await world.backup();
    await world.kill();
    fs.rmSync(world.data, { recursive: true });
    const key = [...bucket.objects.keys()].filter((name) => name.includes('/objects/'))
      .sort((a, b) => bucket.objects.get(b).body.length - bucket.objects.get(a).body.length)[0];
    const { body } = bucket.objects.get(key);
    body[body.length >> 1] ^= 1;
    const damaged = await run(['restore', '--from', world.place, '--data-dir', world.data], env);
    assert.ok(damaged.code === 1 && damaged.err.includes(path.basename(key)), damaged.err);
    body[body.length >> 1] ^= 1;
    const said = await good(['restore', '--from', world.place, '--data-dir', world.data], env);
    assert.ok(said.includes(last.as_of), said);
    await world.open([]);
    assert.ok(await world.item('Tab', 'fourth'));
    assert.equal((await world.ddb.Scan({ TableName: 'Tab', Select: 'COUNT', ConsistentRead: true, Limit: 40 })).Count, 40);
    await world.stop();
    bucket.close();
    world.close();
  });

  test('refused by name: in memory, on a pool, inside the data directory, settings without a place', async () => {
    const refused = async (words, why) => {
      const { code, err } = await run(['serve', '--port=0', ...words]);
      assert.ok(code !== 0 && why.test(err), `${words.join(' ')}: ${code} ${err}`);
    };
    const world = new World();
    await refused(['--in-memory', '--store-backup=/tmp/x'], /not for --in-memory: A store in memory has no files/);
    await refused(['--engine=rados', '--ceph-conf=x', '--pool=y', '--store-backup=/tmp/x'], /not for --engine=rados: A pool of a Ceph cluster has no state of one moment/);
    await refused(['--data-dir', world.data, '--store-backup', path.join(world.data, 'backups')], /is in the data directory/);
    await refused(['--data-dir', world.data, '--store-backup-every=1h'], /--store-backup-every needs --store-backup/);
    await refused(['--data-dir', world.data, '--store-backup=https://host/'], /names no bucket/);
    const server = await Server.startOne({ args: ['--in-memory'], dataDir: null });
    const reply = await management(server, 'POST', 'backup');
    assert.equal(reply.status, 409);
    assert.match(reply.json().message, /has no files/);
    await server.stop();
    world.close();
  });
});

// As much of S3 as backups use, in memory; signatures are not looked at.
class Bucket {
  constructor(name) {
    Object.assign(this, { name, objects: new Map(), parts: new Map(), uploads: 0, full: false });
  }
  async listen() {
    this.server = http.createServer(async (request, reply) => {
      const chunks = [];
      try {
        for await (const chunk of request) chunks.push(chunk);
      } catch {
        return;  // the client has gone
      }
      const { status = 200, headers = {}, body = '' } = this.answer(request, Buffer.concat(chunks));
      reply.writeHead(status, { 'Content-Length': headers['Content-Length'] ?? Buffer.byteLength(body), ...headers });
      reply.end(request.method === 'HEAD' ? undefined : body);
    });
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${this.server.address().port}`;
  }
  close() {
    this.server.close();
    this.server.closeAllConnections();
  }
  put(key, body) {
    this.objects.set(key, { body: Buffer.from(body), etag: `"${crypto.createHash('md5').update(body).digest('hex')}"`, modified: new Date().toISOString() });
  }
  answer(request, body) {
    const error = (status, code) => ({ status, body: `<Error><Code>${code}</Code><Message>so</Message></Error>` });
    const url = new URL(request.url, this.url);
    const [, bucket, ...rest] = url.pathname.split('/').map(decodeURIComponent);
    const key = rest.join('/');
    const query = url.searchParams;
    if (bucket !== this.name) return error(404, 'NoSuchBucket');
    const sent = request.headers['x-amz-content-sha256'];
    if (sent !== crypto.createHash('sha256').update(body).digest('hex')) return error(400, 'XAmzContentSHA256Mismatch');
    if (key === '' && request.method === 'HEAD') return {};
    if (key === '') return this.list(query);
    const found = this.objects.get(key);
    if (request.method === 'DELETE') {
      this.objects.delete(key);
      return { status: 204 };
    }
    if (request.method === 'HEAD' || request.method === 'GET') {
      if (!found) return error(404, 'NoSuchKey');
      const headers = { ETag: found.etag };
      if (request.method === 'HEAD') return { headers: { ...headers, 'Content-Length': found.body.length } };
      const [, from, to] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [0, 0, found.body.length];
      return { status: 206, headers, body: found.body.subarray(Number(from), Number(to) + 1) };
    }
    if (this.full) return error(403, 'QuotaExceeded');
    if (request.method === 'POST' && query.has('uploads')) {
      const id = `upload-${++this.uploads}`;
      this.parts.set(id, []);
      return { body: `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>` };
    }
    if (request.method === 'PUT' && query.has('partNumber')) {
      this.parts.get(query.get('uploadId'))[Number(query.get('partNumber')) - 1] = body;
      return { headers: { ETag: `"part-${query.get('partNumber')}"` } };
    }
    if (request.method === 'POST') {
      this.put(key, Buffer.concat(this.parts.get(query.get('uploadId'))));
      return { body: '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>' };
    }
    this.put(key, body);
    return { headers: { ETag: this.objects.get(key).etag } };
  }
  // Pages of three, so that there are several.
  list(query) {
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(query.get('prefix')) && key > (query.get('continuation-token') ?? '')).sort();
    const page = keys.slice(0, 3);
    const more = keys.length > page.length ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    const contents = page.map((key) => `<Contents><Key>${encodeURIComponent(key)}</Key><Size>${this.objects.get(key).body.length}</Size>` +
      `<LastModified>${this.objects.get(key).modified}</LastModified></Contents>`).join('');
    return { body: `<ListBucketResult><IsTruncated>${keys.length > page.length}</IsTruncated>${contents}${more}</ListBucketResult>` };
  }
}
