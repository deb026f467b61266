// Servers on a cluster from an operator's point of view: error messages, readiness, requests while
// the cluster does not answer, `stator cluster status`. STATOR_CLUSTER_DIR is the cluster's
// directory; tests/cluster/run has made its users and pools.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Server, binary, call, request } from '../sdk/harness.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const directory = process.env.STATOR_CLUSTER_DIR;
const conf = path.join(directory, 'ceph.conf');
const run = promisify(execFile);
const cluster = async (...args) => (await run(path.join(here, 'cluster'), ['--dir', directory, ...args], { maxBuffer: 1 << 26 })).stdout;
const ofAllOsds = (command) => Promise.all([0, 1, 2].map((osd) => cluster(command, String(osd))));
const rados = (store, ...args) => cluster('rados', '-p', 'stator', '-N', store, ...args);

// A namespace that no other test uses.
let stores = 0;
const newStore = () => `operator-${process.pid}-${++stores}`;
const optionsOf = (store, more = {}) => Object.entries({ 'ceph-conf': conf, 'ceph-user': 'stator', pool: 'stator', 'ceph-namespace': store, ...more })
  .map(([name, value]) => `--${name}=${value}`);
const start = (store, ...args) => Server.startOne({ args: ['--engine=rados', ...optionsOf(store), ...args], dataDir: null });

// Runs a command. Returns its output and exit code.
function outcomeOf(args, within = 120000) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const printed = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => { printed[name] += chunk; });
    const timer = setTimeout(() => child.kill('SIGKILL'), within);
    child.on('error', reject);
    child.on('close', (code) => { clearTimeout(timer); resolve({ code, ...printed }); });
  });
}
const statusOf = (store, more, ...args) => outcomeOf(['cluster', 'status', ...optionsOf(store, more), ...args]);

const create = (endpoint, TableName) => call(endpoint, 'CreateTable', {
  TableName, BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
});
const put = (endpoint, TableName, pk, more = {}) => call(endpoint, 'PutItem', { TableName, Item: { pk: { S: pk } } }, more);
const get = (endpoint, TableName, pk, more = {}) => call(endpoint, 'GetItem', { TableName, Key: { pk: { S: pk } }, ConsistentRead: true }, more);
const ready = (server) => request(server.endpoint, { method: 'GET', path: '/health/ready' });
const manage = (server, target) => request(server.endpoint, { method: 'GET', path: target, headers: { 'X-Stator-Management': 'true' } });
// Repeats a request until the answer is as wanted.
async function until(wanted, ask, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (wanted(answer)) return answer;
    assert.ok(Date.now() < end, `not within ${seconds} s: ${answer.status} ${answer.text ?? JSON.stringify(answer)}`);
    await delay(200);
  }
}
// Errors that SDKs retry.
function assertRetriable(reply, what) {
  assert.equal(reply.status, 500, `${what}: ${reply.status} ${reply.text}`);
  assert.match(reply.json().__type, /#InternalServerError$/, what);
}

describe('what is wrong is said in a sentence', { concurrency: 2 }, () => {
  const nowhere = path.join(os.tmpdir(), `stator-nowhere-${process.pid}.conf`);
  const newer = newStore();
  before(async () => {
    fs.writeFileSync(nowhere, '[global]\nmon_host = [v2:127.0.0.1:1/0]\nauth_client_required = none\n');
    const server = await start(newer);
    await server.stop();
    await rados(newer, 'setxattr', 'stator', 'format', 'stator-rados 9');
  });
  after(() => fs.rmSync(nowhere));

  for (const [name, more, says, store = newStore()] of [
    ['no ceph.conf', { 'ceph-conf': '/no/such/ceph.conf' }, 'The Ceph configuration /no/such/ceph.conf cannot be read: No such file or directory.'],
    ['no monitor', { 'ceph-conf': nowhere }, `No monitor of the Ceph cluster of ${nowhere} answered within 10 s.`],
    ['no such pool', { pool: 'nothing' }, 'has no pool "nothing". Check the name, or create the pool with: ceph osd pool create nothing'],
    ['no such user', { 'ceph-user': 'nobody' }, 'The Ceph cluster refuses the user client.nobody: the keyring that '],
    ['wrong key', { 'ceph-user': 'forged' }, 'The Ceph cluster refuses the user client.forged: the keyring that '],
    ['no caps for the pool', { 'ceph-user': 'stranger' }, 'The Ceph user client.stranger may not read from the pool "stator". It needs the caps mon \'allow r\' and osd \'allow r'],
    ['caps to read only', { 'ceph-user': 'reader' }, 'The Ceph user client.reader may not write to the pool "stator". It needs the caps mon \'allow r\' and osd \'allow r'],
    ['an erasure-coded pool', { pool: 'erasure', 'ceph-user': 'admin' }, 'The pool "erasure" is erasure-coded'],
    ['a store of a newer format', {}, 'The store in this pool has format 9, and this Stator knows formats up to 2. Start the newer Stator that wrote it.', newer],
  ]) {
    test(name, async () => {
      const served = await outcomeOf(['serve', '--port=0', '--engine=rados', ...optionsOf(store, more)]);
      assert.equal(served.code, 1, JSON.stringify(served));
      const printed = (served.stdout + served.stderr).replaceAll('\\"', '"');
      assert.ok(printed.includes('cannot_open_store') && printed.includes(says), printed);
      if (name === 'caps to read only') return; // these caps are enough for the next case
      if (name === 'no monitor') return; // it took ten seconds
      const looked = await statusOf(store, more);
      assert.equal(looked.code, 1, JSON.stringify(looked));
      assert.equal(looked.stdout, '');
      assert.ok(looked.stderr.includes(says), looked.stderr);
    });
  }
});

describe('stator cluster status', () => {
  test('says who serves a store and what is in it, with caps to read only, and changes nothing', async () => {
    const store = newStore();
    const servers = [await start(store), await start(store)];
    try {
      for (const table of ['music', 'votes']) assert.equal((await create(servers[0].endpoint, table)).status, 200);
      for (let i = 0; i < 20; ++i) assert.equal((await put(servers[i % 2].endpoint, 'music', `k${i}`)).status, 200);
      const status = async () => JSON.parse((await statusOf(store, { 'ceph-user': 'reader' }, '--json')).stdout);
      // A process is told dead that does not beat for five seconds, which one that lives may not on a busy machine.
      const both = await until((now) => Object.keys(now.leases).length > 0 && now.processes.every(({ state, leases }) => state === 'alive' && leases > 0), status);
      assert.deepEqual(both.processes.map(({ state }) => state), ['alive', 'alive']);
      assert.deepEqual(both.processes.map(({ endpoint }) => endpoint).sort(), servers.map(({ port }) => `localhost:${port}`).sort());
      const music = both.tablets.find(({ purpose }) => purpose === 'items of music');
      assert.equal(music.parts, 1);
      assert.ok(music.keys >= 20 && music.bytes > 100, JSON.stringify(music));
      const told = JSON.parse((await manage(servers[0], '/_stator/cluster')).text);
      assert.deepEqual(told.tablets.map(({ purpose }) => purpose), both.tablets.map(({ purpose }) => purpose));
      assert.equal(told.processes.length, 2);

      await servers[0].kill();
      const stateOf = ({ processes }, { port }) => processes.find(({ endpoint }) => endpoint === `localhost:${port}`)?.state;
      const left = await status();
      assert.deepEqual([left.processes.length, stateOf(left, servers[0])], [2, 'dead']);
      await until((now) => stateOf(now, servers[1]) === 'alive', status);
      await until((now) => Object.values(now.leases).every((owner) => owner === now.processes.find(({ state }) => state === 'alive').id), status);

      await servers[1].stop();
      const all = async () => [(await rados(store, 'ls')).split('\n').sort().join(), await rados(store, 'listomapvals', 'stator')];
      const before = await all();
      const text = await statusOf(store, { 'ceph-user': 'reader' });
      assert.equal(text.code, 0, text.stderr);
      assert.match(text.stdout, /^items\/\d+ +items of music +1 +~?\d+ +~?\d+ +0$/m);
      assert.match(text.stdout, /^0 unfinished shares of transactions$/m);
      assert.deepEqual(await all(), before);
    } finally {
      for (const server of servers) await server.kill();
    }
  });

  test('makes no store where there is none', async () => {
    const store = newStore();
    const looked = await statusOf(store);
    assert.equal(looked.code, 1);
    assert.equal(looked.stderr, `There is no store in the pool "stator", namespace "${store}".\n`);
    assert.equal(await rados(store, 'ls'), '');
  });
});

describe('a server whose cluster has trouble', () => {
  let server;
  before(async () => {
    server = await start(newStore());
    for (const table of ['music', 'votes', 'gone']) {
      assert.equal((await create(server.endpoint, table)).status, 200);
      assert.equal((await put(server.endpoint, table, 'a')).status, 200);
    }
  });
  after(() => server.stop());
  const works = async () => {
    await until(({ status }) => status === 200, () => ready(server));
    await until(({ status }) => status === 200, () => put(server.endpoint, 'music', 'after'));
    assert.equal((await get(server.endpoint, 'music', 'a')).json().Item.pk.S, 'a');
  };

  test('an object that was removed by hand', async () => {
    const { tablets } = JSON.parse((await manage(server, '/_stator/cluster')).text);
    const [, number] = tablets.find(({ purpose }) => purpose === 'items of gone').tablet.split('/');
    const object = `items.${Number(number).toString(16).padStart(8, '0')}.0`;
    const store = server.child.spawnargs.find((arg) => arg.startsWith('--ceph-namespace=')).split('=')[1];
    await rados(store, 'rm', object);
    for (const reply of [await get(server.endpoint, 'gone', 'a'), await put(server.endpoint, 'gone', 'b')]) assertRetriable(reply, 'a table whose object is gone');
    assert.equal((await put(server.endpoint, 'votes', 'b')).status, 200, 'other tables work');
    assert.equal((await ready(server)).status, 200);
    const says = new RegExp(`The object ${object} of the pool .{1,2}stator.{1,2} is missing. It was not removed by Stator; bring it back from a backup.`);
    await server.logged(says);
    assert.match((await statusOf(store)).stdout, says);
  });

  test('a monitor that dies is not missed', async () => {
    await cluster('kill-mon');
    try {
      for (let i = 0; i < 20; ++i) {
        assert.equal((await put(server.endpoint, 'music', `mon${i}`)).status, 200);
        await delay(100);
      }
      assert.equal((await ready(server)).status, 200);
    } finally {
      await cluster('start-mon');
    }
    await works();
  });

  test('OSDs that do not answer: every request has an end, a 500; it is not ready, and recovers', async () => {
    await ofAllOsds('freeze-osd');
    try {
      const began = Date.now();
      const took = {};
      const asked = {
        put: put(server.endpoint, 'music', 'b', { timeout: 60000 }),
        get: get(server.endpoint, 'music', 'a', { timeout: 60000 }),
        ...Object.fromEntries(Object.entries({
          Query: { TableName: 'music', KeyConditionExpression: 'pk = :k', ExpressionAttributeValues: { ':k': { S: 'a' } } },
          Scan: { TableName: 'music' },
          UpdateItem: { TableName: 'votes', Key: { pk: { S: 'a' } }, UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': { N: '1' } } },
          BatchGetItem: { RequestItems: { music: { Keys: [{ pk: { S: 'a' } }] }, votes: { Keys: [{ pk: { S: 'a' } }] } } },
          TransactWriteItems: { TransactItems: ['music', 'votes'].map((TableName) => ({ Put: { TableName, Item: { pk: { S: 't' } } } })) },
          TransactGetItems: { TransactItems: ['music', 'votes'].map((TableName) => ({ Get: { TableName, Key: { pk: { S: 'a' } } } })) },
          CreateTable: { TableName: 'late', BillingMode: 'PAY_PER_REQUEST',
            AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }] },
        }).map(([operation, body]) => [operation, call(server.endpoint, operation, body, { timeout: 60000 })])),
      };
      const late = outcomeOf(['serve', '--port=0', '--engine=rados', ...optionsOf(newStore())]);
      for (const [what, answer] of Object.entries(asked)) {
        asked[what] = answer.then((reply) => { took[what] = Date.now() - began; return reply; });
      }
      const silent = await until(({ status }) => status === 503, () => ready(server));
      assert.match(silent.text, /^The cluster has not answered for \d+ seconds\.|^The Ceph cluster did not answer in time/);
      assert.equal((await request(server.endpoint, { method: 'GET', path: '/health/live' })).status, 200);
      for (const [what, answer] of Object.entries(asked)) assertRetriable(await answer, what);
      const ended = await late;
      assert.equal(ended.code, 1, JSON.stringify(ended));
      assert.match(ended.stdout + ended.stderr, /cannot_open_store.*(The OSDs of the pool .{1,2}stator.{1,2} do not answer|The Ceph cluster did not answer in time)/);
      // The deadline of 20 s and the time limit of one operation, 5 s; twice for an operation that
      // reads and then writes.
      for (const [what, milliseconds] of Object.entries(took)) assert.ok(milliseconds < 55000, `${what} took ${milliseconds} ms`);
      console.log('milliseconds without OSDs:', JSON.stringify(took));
    } finally {
      await ofAllOsds('thaw-osd');
    }
    await works();
  });

  test('a full cluster: writes get a 500 that says so, reads go on; it is not ready, and recovers', async () => {
    const ballast = path.join(os.tmpdir(), `stator-ballast-${process.pid}`);
    fs.writeFileSync(ballast, Buffer.alloc(20 << 20, 'b'));
    const ratios = async (ratio) => {
      for (const which of ['nearfull', 'backfillfull', 'full']) await cluster('ceph', 'osd', `set-${which}-ratio`, ratio);
    };
    await rados('ballast', 'put', 'ballast', ballast);
    await ratios('0.001');
    try {
      const refused = await until(({ status }) => status !== 200, () => put(server.endpoint, 'music', 'c', { timeout: 60000 }));
      assertRetriable(refused, 'a write');
      await server.logged(/The pool .{1,2}stator.{1,2} is full: the cluster has no space left for it; add OSDs or delete data/);
      const unready = await until(({ status }) => status === 503, () => ready(server));
      assert.match(unready.text, /^The pool "stator" is full: the cluster has no space left for it/);
      assert.equal((await get(server.endpoint, 'music', 'a')).status, 200, 'reads go on');
    } finally {
      await ratios('0.95');
      await rados('ballast', 'rm', 'ballast');
      fs.rmSync(ballast);
    }
    await works();
  });
});
