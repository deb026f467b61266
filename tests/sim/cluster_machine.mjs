// Three servers on one Ceph pool with clients spread over them, and faults from a seed while they
// work: servers are killed, frozen and cut off from the cluster; OSDs are killed and frozen; the
// monitor is killed. The parts of all tablets are so small that they are split all the time. It has
// the interface of Machine, so the same workloads and the same proofs run on it.
//
// After a fault, a request without an answer may still take effect until everything has been
// repaired and had time to settle. That moment is the `death` of its round.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Random } from '../diff/generate/random.mjs';
import { Server, binary, call, request } from '../sdk/harness.mjs';
import { WorkloadClient } from './workload_client.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const run = promisify(execFile);
const cutNetwork = path.join(path.dirname(path.resolve(binary)), 'tests/cut_network.so');

const PROBE = 'probe'; // a table that shows whether a server works
const PROCESSES = 3;
const OSDS = 3;
const PATIENCE = 6000; // of a client with one request, in milliseconds
const LEASES = 12000; // milliseconds that outlast every lease, watch and silence between servers
// the most milliseconds until a server answers, whatever it is cut off from
const DEADLINE = 35000;
const SETTLE = 1500; // milliseconds after the repairs until all messages on their way have arrived
// the most milliseconds from a repair until every server answers and every client is answered
const MOST_STALL = 10000;

// Returns how much slower this machine is now than it should be: other processes may use its
// processors.
const slowness = () => Number(process.env.STATOR_SIM_SLOW ?? Math.max(1, os.loadavg()[0] / os.availableParallelism() / 3));
const mostStall = () => MOST_STALL * slowness();

export class ClusterMachine extends WorkloadClient {
  /** `directory`: of a cluster that tests/cluster/cluster has started; it stays up. */
  constructor({ name, seed, clients, args = [], directory, faults = STORM }) {
    super();
    for (const fault of faults) assert.ok(FAULTS[fault], `there is no fault ${fault}: ${Object.keys(FAULTS)}`);
    Object.assign(this, { name, seed, clients, args, directory, faults });
    this.random = new Random(`${name}.${seed}`);
    this.ticks = 0;
    this.death = { tick: undefined };
    this.counts = { answered: 0, unanswered: 0, slowest: 0, longestStall: 0, partSplits: 0, takenOver: 0 };
    for (const fault of faults) this.counts[fault] = 0;
    this.namespace = `${name}-${seed}-${process.pid}`;
    this.servers = [];
    this.storms = true; // a request without an answer may be carried out later
    this.clientOf = new AsyncLocalStorage(); // the client that a request belongs to
    this.log = [];
    this.args = [`--ceph-split-keys=${this.random.pick([10, 40])}`, '--ceph-split-bytes=65536', ...args];
  }

  now() {
    return ++this.ticks;
  }

  randomOf(...parts) {
    return new Random(`${this.name}.${this.seed}.${parts.join('.')}`);
  }

  note(text) {
    if (process.env.STATOR_SIM_LOG) console.log(text);
    this.log.push(`${new Date().toISOString().slice(11, 23)} tick ${this.ticks} ${text}`);
  }

  async ceph(...words) {
    const script = path.join(here, '../cluster/cluster');
    return run(script, ['--dir', this.directory, ...words], { timeout: 90000 });
  }

  outputOf(i) {
    return path.join(this.directory, `log/${this.namespace}.${i}.log`);
  }

  async startServer(i) {
    const socket = path.join(this.directory, `run/network.${i}.sock`);
    const cutting = this.faults.some((fault) => FAULTS[fault].cuts);
    const server = await Server.start({
      dataDir: null,
      port: this.servers[i]?.port,
      env: cutting ? { LD_PRELOAD: cutNetwork, STATOR_NETWORK_SOCKET: socket } : {},
      spawned: (child) => {
        for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => fs.appendFileSync(this.outputOf(i), chunk));
      },
      args: [
        '--engine=rados',
        `--ceph-conf=${this.directory}/ceph.conf`,
        '--ceph-user=stator',
        '--pool=stator',
        `--ceph-namespace=${this.namespace}`,
        ...this.args,
      ],
    });
    server.network = socket;
    server.counted = { partSplits: 0, takenOver: 0 };
    this.servers[i] = server;
    server.agent = new http.Agent({ keepAlive: true, maxSockets: this.clients });
  }

  async start() {
    await Promise.all(Array.from({ length: PROCESSES }, (_, i) => this.startServer(i)));
    this.leaving = false;
    await this.must('CreateTable', {
      TableName: PROBE,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
  }

  /** For those who need one server: any. */
  get server() {
    return this.servers[0];
  }

  /** As Machine.send. A 500 says as little as no answer. `not`: the number of a server that is not asked first. */
  async send(operation, body, headers = {}, { not } = {}) {
    const record = { call: this.now(), return: undefined, status: 0, body: undefined, death: this.death };
    const begin = Date.now();
    const first = not === undefined ? Math.floor(Math.random() * PROCESSES) : (not + 1 + Math.floor(Math.random() * (PROCESSES - 1))) % PROCESSES;
    for (let tries = 0; ; tries++) {
      record.server = (first + tries) % PROCESSES;
      if (await this.sendTo(this.servers[record.server], record, operation, body, headers)) break;
      await delay(20); // a dead server accepts no connection: the request was not carried out
    }
    this.counts.slowest = Math.max(this.counts.slowest, Date.now() - begin);
    this.observe(record, operation, begin);
    return record;
  }

  /** Whoever is not answered long after the repair, and who is the last to be answered again. */
  observe(record, operation, begin) {
    const { repaired } = this;
    if (repaired === undefined) return;
    const since = Date.now() - repaired.at;
    if (record.status === 0) {
      if (since > mostStall()) this.fail(new Error(`${operation} is not answered ${since} ms after the repair: ${record.error}`));
      return;
    }
    const client = this.clientOf.getStore();
    if (client && record.call > repaired.tick) client.answered = true;
    this.counts.longestStall = Math.max(this.counts.longestStall, Date.now() - Math.max(repaired.at, begin));
  }

  /** False if the request did not reach the server. */
  async sendTo(server, record, operation, body, headers) {
    try {
      const reply = await call(server.endpoint, operation, body, { agent: server.agent, timeout: PATIENCE, headers });
      if (reply.status < 500) {
        record.status = reply.status;
        record.body = reply.json();
        record.return = this.now();
        this.counts.answered++;
        return true;
      }
      if (this.calm) this.fail(new Error(`${operation} without a fault: ${reply.status} ${reply.text}`));
      record.error = reply.text;
    } catch (error) {
      if (error.code === 'ECONNREFUSED' && !this.calm) return false;
      if (this.calm) this.fail(new Error(`${operation} without a fault: ${error.message}`));
      record.error = error.message;
    }
    this.counts.unanswered++;
    this.note(`no answer to ${operation} by server ${record.server}: ${record.error}`);
    return true;
  }

  async manage(target, body = {}) {
    const server = this.servers[Math.floor(Math.random() * PROCESSES)];
    try {
      const headers = { 'X-Stator-Management': 'true' };
      const sent = { path: `/_stator/${target}`, headers, body: JSON.stringify(body) };
      return (await request(server.endpoint, { ...sent, agent: server.agent, timeout: PATIENCE })).status;
    } catch {
      return 0;
    }
  }

  /** Writes items, in batches, so that there is something to split from the beginning. */
  async fill(TableName, items) {
    for (let at = 0; at < items.length; at += 25) {
      const requests = items.slice(at, at + 25).map((Item) => ({ PutRequest: { Item } }));
      await this.must('BatchWriteItem', { RequestItems: { [TableName]: requests } });
    }
  }

  going() {
    return !this.leaving && !this.trouble;
  }

  /**
   * As Machine.rounds, but the servers of a round come and go while clients work on. A client that was not answered goes on
   * as another one.
   */
  async rounds(seconds, { work, between = async () => {} }) {
    const end = Date.now() + seconds * 1000;
    for (let round = 1; Date.now() < end && !this.trouble; round++) {
      this.round = round;
      this.death = { tick: undefined };
      this.repaired = undefined;
      this.leaving = false;
      this.calm = false;
      const clients = Array.from({ length: this.clients }, (_, number) => ({ number, answered: false }));
      const load = clients.map((client) =>
        this.clientOf.run(client, async () => {
          for (let life = 0; this.going(); life++) {
            // The client is its number modulo the number of clients.
            const random = this.randomOf(round, client.number, life);
            await work(client.number + life * this.clients, random, round).catch((error) => this.fail(error));
          }
        }),
      );
      try {
        await this.storm(clients);
      } catch (error) {
        this.fail(error);
      }
      this.leaving = true;
      await Promise.all(load);
      if (this.trouble) break;
      await delay(SETTLE * slowness());
      this.death.tick = this.now();
      this.calm = true;
      await Promise.all(this.servers.map((server) => this.countSplits(server)));
      await between(round);
    }
    if (this.trouble) throw this.trouble;
  }

  /** One or two faults at once, a while, the repair; and a look that everything answers again. */
  async storm(clients) {
    await delay(this.random.between(200, 800));
    let some = this.random.sample(this.faults, this.random.between(1, Math.min(2, this.faults.length)));
    if (some.some((name) => FAULTS[name].alone)) some = some.filter((name) => FAULTS[name].alone);
    const harms = [];
    for (const name of some) {
      this.counts[name]++;
      harms.push(await FAULTS[name].harm(this));
      await delay(this.random.between(0, 300));
    }
    await Promise.all([
      delay(Math.max(this.random.between(300, 2500), ...harms.map(({ millis }) => millis ?? 0))),
      ...harms.map(({ until }) => until),
    ]);
    harms.sort((a, b) => (a.order ?? 9) - (b.order ?? 9));
    for (const { repair } of harms) await repair();
    if (harms.some(({ ceph }) => ceph)) await this.ceph('wait-clean');
    this.note('repaired');
    this.repaired = { at: Date.now(), tick: this.now() };
    await Promise.all([...this.servers.map((server) => this.answers(server)), ...clients.map((client) => this.isAnswered(client))]);
    this.note(`all answer after ${Date.now() - this.repaired.at} ms`);
    await delay(this.random.between(0, 500));
  }

  /** Waits until a server reads and writes again. */
  async answers(server) {
    const { at: begin } = this.repaired;
    for (let why = 'it was not asked'; ; await delay(50)) {
      assert.ok(Date.now() - begin < mostStall(), `${server.endpoint} does not work ${Date.now() - begin} ms after the repair: ${why}`);
      try {
        const ready = await request(server.endpoint, { method: 'GET', path: '/health/ready', timeout: 2000 });
        const Item = { pk: { S: server.endpoint }, at: { N: String(begin) } };
        const put = await call(server.endpoint, 'PutItem', { TableName: PROBE, Item }, { timeout: 2000 });
        const body = { TableName: PROBE, Key: { pk: Item.pk }, ConsistentRead: true };
        const got = await call(server.endpoint, 'GetItem', body, { timeout: 2000 });
        why = [ready, put, got].map(({ status, text }) => `${status} ${text}`).join('; ');
        if (ready.status !== 200 || put.status !== 200 || got.status !== 200) continue;
        assert.equal(got.json().Item.at.N, String(begin), 'what was just written is not there');
        this.counts.longestStall = Math.max(this.counts.longestStall, Date.now() - begin);
        return;
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        why = error.message;
      }
    }
  }

  /** Waits until a client has got an answer to something that it sent after the repair. */
  async isAnswered(client) {
    const { at: begin } = this.repaired;
    while (!client.answered && this.going()) {
      assert.ok(Date.now() - begin < mostStall(), `client ${client.number} is not answered ${Date.now() - begin} ms after the repair`);
      await delay(20);
    }
  }

  /** Adds what a server has split since it was looked at last. */
  async countSplits(server) {
    try {
      const { text } = await request(server.endpoint, { method: 'GET', path: '/metrics', timeout: 2000 });
      for (const [count, metric] of [
        ['partSplits', 'rados_splits'],
        ['takenOver', 'rados_splits_taken_over'],
      ]) {
        const value = Number(new RegExp(`^stator_(?:kv_)+${metric} (\\d+)`, 'm').exec(text)[1]);
        this.counts[count] += value - server.counted[count];
        server.counted[count] = value;
      }
    } catch (error) {
      if (this.calm) this.fail(error);
    }
  }

  /** What passes between a server and its cluster: whole, no-answers, held or cut. Resolves once it is so. */
  setNetwork(server, mode) {
    return new Promise((resolve, reject) => {
      const connection = net.connect(server.network, () => connection.write(`${mode}\n`));
      let answer = '';
      connection.on('data', (chunk) => (answer += chunk));
      connection.on('error', reject);
      connection.on('end', () => {
        connection.destroy();
        if (answer === 'ok\n') resolve();
        else reject(new Error(`the network of ${server.endpoint} is not ${mode}: ${answer}`));
      });
    });
  }

  async close() {
    this.leaving = true;
    for (const server of this.servers) await this.countSplits(server);
    if (this.counts.partSplits === 0) this.fail(new Error('nothing was split'));
    for (const server of this.servers) {
      const { code, signal } = await server.stop();
      if (code !== 0) this.fail(new Error(`SIGTERM ended the server with ${signal ?? code}:\n${server.output}`));
    }
    if (this.trouble) throw this.trouble;
    for (let i = 0; i < PROCESSES; i++) fs.rmSync(this.outputOf(i), { force: true });
  }

  async abandon() {
    this.leaving = true;
    for (const line of this.log) console.log(line);
    console.log(JSON.stringify(this.counts));
    for (const server of this.servers) {
      server.child.kill('SIGCONT');
      await server.kill().catch(() => {});
    }
    for (let i = 0; i < this.servers.length; i++) {
      const output = fs.readFileSync(this.outputOf(i), 'utf8').split('\n');
      const lines = output.filter((line) => !line.includes('would be throttled')).slice(-40);
      console.log(`---- server ${i}, the last of ${this.outputOf(i)}\n${lines.join('\n')}`);
    }
    await this.ceph('start-mon').catch(() => {});
    for (let i = 0; i < OSDS; i++) {
      await this.ceph('thaw-osd', String(i)).catch(() => {});
      await this.ceph('start-osd', String(i)).catch(() => {});
    }
  }
}

const anyServer = (machine) => machine.random.between(0, PROCESSES - 1);
// Returns an OSD that no other fault affects until the repair.
function anyOsd(machine) {
  machine.harmedOsds ??= new Set();
  let i = machine.random.between(0, OSDS - 1);
  while (machine.harmedOsds.has(i)) i = (i + 1) % OSDS;
  machine.harmedOsds.add(i);
  return i;
}
async function repairOsd(machine, i, command) {
  await machine.ceph(command, String(i));
  machine.harmedOsds.delete(i);
}

/**
 * Cuts a server off. One that is frozen hears of it when it is thawed. `order`: after those that thaw and start servers, which
 * are whole then.
 */
async function cut(machine, i, mode) {
  machine.note(`server ${i} is cut off from the cluster: ${mode}`);
  const server = machine.servers[i];
  const told = machine.setNetwork(server, mode).catch(() => {}); // the server may have been killed
  await Promise.race([told, delay(500)]);
  const repair = async () => {
    machine.note(`server ${i} reaches the cluster again`);
    await machine.setNetwork(machine.servers[i], 'whole');
  };
  return { repair, order: 3 };
}

/**
 * What a server that is cut off answers to everybody: in time, and no success, since it cannot know what the others write. Resolves
 * when all is answered.
 */
async function refused(machine, server) {
  const Key = { pk: { S: 'cut off' } };
  const Item = { ...Key, at: { N: '1' } };
  const TableName = PROBE;
  const asked = [
    ['GetItem', { TableName, Key, ConsistentRead: true }],
    ['PutItem', { TableName, Item }],
    ['UpdateItem', { TableName, Key, UpdateExpression: 'ADD at :one', ExpressionAttributeValues: { ':one': { N: '1' } } }],
    ['DeleteItem', { TableName, Key: { pk: { S: 'cut off too' } }, ConditionExpression: 'attribute_exists(pk)' }],
    ['Query', { TableName, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': Key.pk }, ConsistentRead: true }],
    ['Scan', { TableName, ConsistentRead: true }],
    ['BatchGetItem', { RequestItems: { [TableName]: { Keys: [Key], ConsistentRead: true } } }],
    ['BatchWriteItem', { RequestItems: { [TableName]: [{ PutRequest: { Item: { pk: { S: 'cut off 3' } } } }] } }],
    ['TransactGetItems', { TransactItems: [{ Get: { TableName, Key } }, { Get: { TableName, Key: { pk: { S: 'other' } } } }] }],
    ['TransactWriteItems', { ClientRequestToken: `cut ${machine.ticks}`, TransactItems: [{ Put: { TableName, Item } }] }],
    ['DescribeTable', { TableName }],
    ['ListTables', {}],
    ['CreateTable', {
      TableName: 'cut-off',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    }],
    ['UpdateTable', { TableName, DeletionProtectionEnabled: true }],
  ];
  const begin = Date.now();
  await Promise.all(
    asked.map(async ([operation, body]) => {
      const asOf = Date.now();
      try {
        const reply = await call(server.endpoint, operation, body, { timeout: DEADLINE * slowness() });
        const millis = Date.now() - asOf;
        machine.note(`cut off, ${operation} is answered ${reply.status} after ${millis} ms`);
        machine.counts.slowestRefusal = Math.max(machine.counts.slowestRefusal ?? 0, millis);
        if (reply.status >= 500) return;
        // A batch reports for each of its parts that it was not done.
        const { UnprocessedItems, UnprocessedKeys } = reply.json();
        if (Object.keys(UnprocessedItems ?? UnprocessedKeys ?? {}).length > 0) return;
        machine.fail(new Error(`${operation} through a server that is cut off is answered: ${reply.status} ${reply.text}`));
      } catch (error) {
        machine.fail(new Error(`${operation} through a server that is cut off: ${error.message} (after ${Date.now() - asOf} ms)`));
      }
    }),
  );
  const ready = await request(server.endpoint, { method: 'GET', path: '/health/ready', timeout: 5000 });
  if (ready.status === 200) machine.fail(new Error('a server that is cut off says that it is ready'));
  machine.note(`cut off, all is refused after ${Date.now() - begin} ms`);
}

/**
 * Each does harm, `alone` or beside another one, and resolves to {repair, millis: how long it should last at least, until: a promise that it should wait for,
 * order: of repairs, ceph: whether the cluster has to recover}.
 */
const FAULTS = {
  killServer: {
    async harm(machine) {
      const i = anyServer(machine);
      const server = machine.servers[i];
      await Promise.race([machine.countSplits(server), delay(300)]);
      machine.note(`kill -9 of server ${i}`);
      await server.kill();
      server.agent.destroy();
      return { repair: () => machine.startServer(i), order: 2 };
    },
  },
  freezeServer: {
    async harm(machine) {
      const i = anyServer(machine);
      machine.note(`server ${i} is frozen`);
      const { child } = machine.servers[i];
      child.kill('SIGSTOP');
      const repair = async () => {
        machine.note(`server ${i} is thawed`);
        child.kill('SIGCONT');
      };
      return { repair, order: 1, millis: machine.random.chance(0.5) ? LEASES : 0 };
    },
  },
  // For a moment, or longer than every lease. Connections stay open, or every message is lost in
  // the end.
  cutServer: {
    cuts: true,
    async harm(machine) {
      const i = anyServer(machine);
      const { repair, order } = await cut(machine, i, machine.random.pick(['no-answers', 'held', 'cut']));
      const lost = machine.random.chance(0.5);
      const millis = machine.random.chance(0.4) ? LEASES : 0;
      return {
        order,
        millis,
        async repair() {
          if (lost) await machine.setNetwork(machine.servers[i], 'cut');
          await repair();
        },
      };
    },
  },
  // Longer than every deadline.
  cutServerLong: {
    cuts: true,
    alone: true,
    async harm(machine) {
      const i = anyServer(machine);
      const { repair, order } = await cut(machine, i, machine.random.pick(['no-answers', 'held', 'cut']));
      return { repair, order, until: refused(machine, machine.servers[i]) };
    },
  },
  killOsd: {
    async harm(machine) {
      const i = anyOsd(machine);
      machine.note(`kill -9 of OSD ${i}`);
      await machine.ceph('kill-osd', String(i));
      return { repair: () => repairOsd(machine, i, 'start-osd'), ceph: true };
    },
  },
  freezeOsd: {
    async harm(machine) {
      const i = anyOsd(machine);
      machine.note(`OSD ${i} is frozen`);
      await machine.ceph('freeze-osd', String(i));
      const repair = async () => {
        machine.note(`OSD ${i} is thawed`);
        await repairOsd(machine, i, 'thaw-osd');
      };
      return { repair, ceph: true, order: 1, millis: machine.random.chance(0.3) ? 7000 : 0 };
    },
  },
  // Repaired first: without the monitor no OSD comes back.
  killMonitor: {
    async harm(machine) {
      machine.note('kill -9 of the monitor');
      await machine.ceph('kill-mon');
      return { repair: () => machine.ceph('start-mon'), order: 0, ceph: true };
    },
  },
};
/** All but those that take most of a minute. */
const STORM = Object.keys(FAULTS).filter((name) => name !== 'cutServerLong');
