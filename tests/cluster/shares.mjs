// Three servers divide the capacity of a table (docs/adr/0014-shares.md): a skewed load beyond it,
// while one server is killed and one is frozen for 30 seconds and thawed. Together they never let
// more pass than one server would, and nearly all of it.
//
//   node tests/cluster/shares.mjs --cluster DIR    of a cluster that tests/cluster/cluster has started
//
// Two tables at once: one whose keys are spread, and one in which a single partition is hot. Every
// write creates an item of its own; at the end the items are counted, including those whose answers
// were lost.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { Server, call, request } from '../sdk/harness.mjs';

const { values } = parseArgs({ options: { cluster: { type: 'string' } } });
const directory = path.resolve(values.cluster);

const UNITS = 150; // write units per second of each table
const PARTITION = 60; // of each partition
const TICK = 20; // milliseconds
// requests that a server has not answered; further ones go to the other servers
const MOST_WAITING = 40;
const SETTLE = 12; // seconds after which the capacity is fully used
const LOST = 15; // seconds after which a dead server's capacity is used
const FROZEN = 30;
// requests that were under way when a server ran out of units, and that overdraw
const OVERDRAFT = 10;
const PHASE = 15; // seconds of measuring

const TABLES = [
  { name: 'spread', limit: UNITS, asked: 1.6 * UNITS, pk: (n) => `p${n % 997}` },
  { name: 'hot', limit: PARTITION, asked: 1.6 * PARTITION, pk: () => 'hot' },
];
const SKEW = [0.7, 0.2, 0.1];

const settings = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'stator-shares-')), 'stator.toml');
fs.writeFileSync(settings, `[model]\npartition_write_units = ${PARTITION}\npartition_read_units = ${3 * PARTITION}\nburst = "5s"\n`);
const args = [
  `--config=${settings}`, '--engine=rados', `--ceph-conf=${directory}/ceph.conf`, '--ceph-user=stator', '--pool=stator',
  `--ceph-namespace=shares-${process.pid}`, '--throttling=enforce',
];

const servers = [];
async function start(i) {
  const begin = Date.now();
  const server = await Server.start({ dataDir: null, readyWithin: 60000, port: servers[i]?.port, args });
  server.agent = new http.Agent({ keepAlive: true, maxSockets: MOST_WAITING });
  server.waiting = 0;
  server.asleep = false;
  servers[i] = server;
  return (Date.now() - begin) / 1000;
}

async function manage(server, method, target, body) {
  const reply = await request(server.endpoint, {
    method, path: `/_stator/${target}`, headers: { 'X-Stator-Management': 'true' }, body: body ? JSON.stringify(body) : '',
  });
  assert.equal(reply.status, 200, reply.text);
  return reply.json();
}

// ---- load

let problem;
let numbers = 0;
async function write(table, server) {
  const n = numbers++;
  server.waiting++;
  try {
    const Item = { pk: { S: table.pk(n) }, sk: { N: String(n) } };
    const reply = await call(server.endpoint, 'PutItem', { TableName: table.name, Item }, { agent: server.agent, timeout: 120000 });
    const at = Math.floor((Date.now() - table.begin) / 1000);
    if (reply.status === 200) {
      table.served++;
      table.bySecond[at] = (table.bySecond[at] ?? 0) + 1;
      table.byServer.set(server, (table.byServer.get(server) ?? 0) + 1);
      // An answer arrives after its request passed, never before.
      const most = table.limit * ((Date.now() - table.begin) / 1000 + 1) + OVERDRAFT;
      if (table.served > most) problem ??= new Error(`${table.name}: ${table.served} have passed, ${most.toFixed(0)} could`);
    } else if (reply.status === 400 && reply.json().__type.endsWith('ProvisionedThroughputExceededException')) {
      table.refused++;
    } else if (reply.status === 500 && server.asleep) {
      // the cluster's answer came while the server was frozen, or after its deadline
      table.unanswered++;
    } else {
      problem ??= new Error(`${table.name}: ${reply.status} ${reply.text}`);
    }
  } catch (error) {
    if (!server.killed) problem ??= error;
    table.unanswered++;
  } finally {
    server.waiting--;
  }
}

// Sends as many requests as are due at any moment: a client that is late catches up.
let loading = true;
async function load(table) {
  const sent = SKEW.map(() => 0);
  const due = SKEW.map(() => 0);
  let last = Date.now();
  while (loading && !problem) {
    await delay(TICK);
    const now = Date.now();
    for (let i = 0; i < SKEW.length; i++) {
      due[i] += (Math.min(now - last, 500) / 1000) * table.asked * SKEW[i];
      for (; sent[i] < due[i]; sent[i]++) {
        // A client without an answer goes to the next server.
        const server = [0, 1, 2].map((k) => servers[(i + k) % 3]).find((it) => !it.killed && it.waiting < MOST_WAITING);
        if (server) void write(table, server);
      }
    }
    last = now;
  }
}

// ---- events and measurements

const report = TABLES.map((table) => ({ table: table.name, limit: table.limit }));
async function measure(name, seconds = PHASE) {
  const before = TABLES.map((table) => [table.served, Date.now()]);
  await delay(seconds * 1000);
  if (problem) throw problem;
  TABLES.forEach((table, i) => {
    const rate = (table.served - before[i][0]) / ((Date.now() - before[i][1]) / 1000);
    report[i][name] = Number((rate / table.limit).toFixed(3));
    assert.ok(rate >= 0.9 * table.limit, `${table.name}, ${name}: ${rate.toFixed(1)} of ${table.limit} units per second are used`);
  });
}
async function pass(seconds) {
  await delay(seconds * 1000);
  if (problem) throw problem;
}

async function run() {
  await Promise.all([0, 1, 2].map(start));
  for (const table of TABLES) {
    Object.assign(table, { served: 0, refused: 0, unanswered: 0, bySecond: [], byServer: new Map(), begin: Date.now() });
    const reply = await call(servers[0].endpoint, 'CreateTable', {
      TableName: table.name,
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'N' }],
      ProvisionedThroughput: { ReadCapacityUnits: 10, WriteCapacityUnits: UNITS },
    });
    assert.equal(reply.status, 200, reply.text);
  }
  const loads = TABLES.map(load);
  const all = (async () => {
    await pass(SETTLE);
    await measure('steady');
    for (const [i, table] of TABLES.entries())
      report[i].byServer = servers.map((server) => Number(((table.byServer.get(server) ?? 0) / table.served).toFixed(2)));

    servers[1].killed = true;
    await servers[1].kill();
    await pass(LOST);
    await measure('killed');
    report[0].startSeconds = Number((await start(1)).toFixed(1));
    await pass(SETTLE);
    await measure('again');

    const [frozen] = servers;
    frozen.asleep = true;
    frozen.child.kill('SIGSTOP');
    await pass(LOST);
    await measure('frozen', FROZEN - LOST);
    const waited = frozen.waiting;
    const served = TABLES.map((table) => table.byServer.get(frozen) ?? 0);
    frozen.child.kill('SIGCONT');
    await pass(2);
    frozen.asleep = false;
    const late = TABLES.reduce((sum, table, i) => sum + (table.byServer.get(frozen) ?? 0) - served[i], 0);
    report[0].woken = { waited, late };
    await pass(SETTLE);
    await measure('awake');
  })();
  try {
    await all;
  } finally {
    loading = false;
    await Promise.all(loads);
  }
  const patience = Date.now() + 30000;
  while (servers.some((server) => server.waiting > 0) && Date.now() < patience) await delay(50);

  // The stored items are the writes that passed, answered or not.
  const [server] = servers;
  await manage(server, 'PUT', 'throttling', { mode: 'observe' });
  for (const [i, table] of TABLES.entries()) {
    const seconds = (Date.now() - table.begin) / 1000;
    let stored = 0;
    let ExclusiveStartKey;
    do {
      const body = { TableName: table.name, Select: 'COUNT', ConsistentRead: true, ExclusiveStartKey };
      const reply = await call(server.endpoint, 'Scan', body);
      assert.equal(reply.status, 200, reply.text);
      stored += reply.json().Count;
      ExclusiveStartKey = reply.json().LastEvaluatedKey;
    } while (ExclusiveStartKey);
    assert.ok(stored >= table.served && stored <= table.served + table.unanswered, `${stored} items, ${table.served} served`);
    assert.ok(stored <= table.limit * (seconds + 1) + OVERDRAFT, `${stored} items in ${seconds} s`);
    Object.assign(report[i], { served: table.served, refused: table.refused, unanswered: table.unanswered, stored });
    const most = Math.max(...table.bySecond.map((n) => n ?? 0));
    report[i].busiestSecond = most;
  }
}

process.exitCode = 1; // until the outcome is known
try {
  await run();
  for (const line of report) console.log(`ok    shares ${JSON.stringify(line)}`);
  process.exitCode = 0;
} catch (error) {
  console.log(`FAIL  shares\n${error.stack}`);
  for (const line of report) console.log(JSON.stringify(line));
  for (const table of TABLES) console.log(`${table.name} by second: ${table.bySecond?.join(' ')}`);
  for (const server of servers) console.log(`---- ${server?.endpoint}\n${server?.output.slice(-2000)}`);
} finally {
  for (const server of servers) {
    server?.child.kill('SIGCONT');
    await server?.stop();
  }
  fs.rmSync(path.dirname(settings), { recursive: true, force: true });
  console.log(`# tests 1\n# pass ${process.exitCode ? 0 : 1}\n# fail ${process.exitCode}`);
}
process.exit();
