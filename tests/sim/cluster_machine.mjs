// Three servers on one Ceph pool, clients spread over them, and faults from a seed while they work: servers are killed and
// frozen, OSDs are killed, frozen and started again, the monitor is killed, tablets are split. It has the face of Machine, so
// the same workloads and the same proofs run on it.
//
// After a fault whatever was not answered may still take effect until everything has been repaired and had time to settle:
// that is the `death` of its round.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import http from 'node:http';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { Random } from '../diff/generate/random.mjs';
import { Server, call, request } from '../sdk/harness.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const run = promisify(execFile);

const PROBE = 'probe'; // a table that tells whether a server works
const PROCESSES = 3;
const OSDS = 3;
const PATIENCE = 6000; // of a client with one request, in milliseconds
const LEASES = 8000; // a freeze of so many milliseconds outlasts every lease
const SETTLE = 1500; // what was on its way when all was repaired has arrived by then
const MOST_STALL = 10000; // from a repair to the first answers

export class ClusterMachine {
  /** `directory`: of a cluster that tests/cluster/cluster has started; it stays up. */
  constructor({ name, seed, clients, args = [], directory, faults = Object.keys(FAULTS) }) {
    Object.assign(this, { name, seed, clients, args, directory, faults });
    this.random = new Random(`${name}.${seed}`);
    this.ticks = 0;
    this.death = { tick: undefined };
    this.counts = { answered: 0, unanswered: 0, slowest: 0, longestStall: 0 };
    for (const fault of faults) this.counts[fault] = 0;
    this.namespace = `${name}-${seed}-${process.pid}`;
    this.servers = [];
    this.storms = true; // what was not answered may happen later
    this.log = [];
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

  async startServer(i) {
    const server = await Server.start({
      dataDir: null,
      readyWithin: 30000,
      port: this.servers[i]?.port,
      args: [
        '--engine=rados',
        `--ceph-conf=${this.directory}/ceph.conf`,
        '--ceph-user=stator',
        '--pool=stator',
        `--ceph-namespace=${this.namespace}`,
        ...this.args,
      ],
    });
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

  /** As Machine.send. A 500 says as little as no answer. */
  async send(operation, body, headers = {}) {
    const record = { call: this.now(), return: undefined, status: 0, body: undefined, death: this.death };
    const begin = Date.now();
    const first = Math.floor(Math.random() * PROCESSES);
    for (let tries = 0; ; tries++) {
      if (await this.sendTo(this.servers[(first + tries) % PROCESSES], record, operation, body, headers)) break;
      await delay(20); // a dead server takes no connection: nothing happened
    }
    this.counts.slowest = Math.max(this.counts.slowest, Date.now() - begin);
    return record;
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
    return true;
  }

  /** Sends an operation that has to succeed; tries for as long as a stall may last. */
  async must(operation, body, headers = {}) {
    const { status, body: answer, error } = await this.send(operation, body, headers);
    if (status !== 200) {
      throw this.trouble ?? new Error(`${operation} ${JSON.stringify(body)}: ${status} ${JSON.stringify(answer)} ${error}`);
    }
    return answer;
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

  async all(operation, body) {
    const items = [];
    let ExclusiveStartKey;
    do {
      const page = await this.must(operation, { ...body, ExclusiveStartKey });
      items.push(...page.Items);
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey);
    return items;
  }

  fail(error) {
    this.trouble ??= error;
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
      this.leaving = false;
      this.calm = false;
      const load = Array.from({ length: this.clients }, async (_, client) => {
        for (let life = 0; this.going(); life++) {
          // A client is known by its number, modulo the clients.
          const random = this.randomOf(round, client, life);
          await work(client + life * this.clients, random, round).catch((error) => this.fail(error));
        }
      });
      try {
        await this.storm();
      } catch (error) {
        this.fail(error);
      }
      this.leaving = true;
      await Promise.all(load);
      if (this.trouble) break;
      await delay(SETTLE);
      this.death.tick = this.now();
      this.calm = true;
      await between(round);
    }
    if (this.trouble) throw this.trouble;
  }

  /** One or two faults at once, a while, the repair; and a look that everything answers again. */
  async storm() {
    await delay(this.random.between(200, 800));
    const some = this.random.sample(this.faults, this.random.between(1, Math.min(2, this.faults.length)));
    const repairs = [];
    for (const name of some) {
      this.counts[name]++;
      repairs.push(await FAULTS[name](this));
      await delay(this.random.between(0, 300));
    }
    await delay(Math.max(this.random.between(300, 2500), ...repairs.map((repair) => repair.millis ?? 0)));
    // The monitor first: without it no OSD comes back.
    repairs.sort((a, b) => Number(b.first ?? false) - Number(a.first ?? false));
    for (const { repair } of repairs) await repair();
    if (repairs.some(({ ceph }) => ceph)) await this.ceph('wait-clean');
    this.note('repaired');
    const begin = Date.now();
    await Promise.all(this.servers.map((server) => this.answers(server, begin)));
    const stall = Date.now() - begin;
    this.counts.longestStall = Math.max(this.counts.longestStall, stall);
    this.note(`all answer after ${stall} ms`);
  }

  /** Waits until a server reads and writes again. */
  async answers(server, begin) {
    for (;;) {
      try {
        const at = server;
        const ready = await request(at.endpoint, { method: 'GET', path: '/health/ready', timeout: 2000 });
        const Item = { pk: { S: server.endpoint }, at: { N: String(begin) } };
        const put = await call(at.endpoint, 'PutItem', { TableName: PROBE, Item }, { timeout: 2000 });
        const body = { TableName: PROBE, Key: { pk: Item.pk }, ConsistentRead: true };
        const got = await call(at.endpoint, 'GetItem', body, { timeout: 2000 });
        if (ready.status !== 200 || put.status !== 200 || got.status !== 200) throw new Error(put.text);
        assert.equal(got.json().Item.at.N, String(begin), 'what was just written is not there');
        return;
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        // Not yet.
      }
      assert.ok(Date.now() - begin < MOST_STALL, `a server does not answer ${MOST_STALL} ms after the repair:\n${server.output}`);
      await delay(50);
    }
  }

  async close() {
    this.leaving = true;
    for (const server of this.servers) {
      const { code, signal } = await server.stop();
      if (code !== 0) this.fail(new Error(`SIGTERM ended the server with ${signal ?? code}:\n${server.output}`));
    }
    if (this.trouble) throw this.trouble;
  }

  async abandon() {
    this.leaving = true;
    for (const line of this.log) console.log(line);
    for (const server of this.servers) {
      console.log(`---- ${server.endpoint}\n${server.output}`);
      await server.kill().catch(() => {});
    }
    await this.ceph('start-mon').catch(() => {});
    for (let i = 0; i < OSDS; i++) {
      await this.ceph('thaw-osd', String(i)).catch(() => {});
      await this.ceph('start-osd', String(i)).catch(() => {});
    }
  }
}

/** Each does harm and resolves to {repair, millis: how long it should last at least}. */
const FAULTS = {
  async killServer(machine) {
    const i = machine.random.between(0, PROCESSES - 1);
    machine.note(`kill -9 of server ${i}`);
    const server = machine.servers[i];
    await server.kill();
    server.agent.destroy();
    return { repair: () => machine.startServer(i) };
  },
  async freezeServer(machine) {
    const i = machine.random.between(0, PROCESSES - 1);
    machine.note(`server ${i} is frozen`);
    const { child } = machine.servers[i];
    child.kill('SIGSTOP');
    const repair = async () => {
      machine.note(`server ${i} is thawed`);
      child.kill('SIGCONT');
    };
    return { repair, millis: machine.random.chance(0.5) ? LEASES : 0 };
  },
  async killOsd(machine) {
    const i = String(machine.random.between(0, OSDS - 1));
    machine.note(`kill -9 of OSD ${i}`);
    await machine.ceph('kill-osd', i);
    return { repair: () => machine.ceph('start-osd', i), ceph: true };
  },
  async freezeOsd(machine) {
    const i = String(machine.random.between(0, OSDS - 1));
    machine.note(`OSD ${i} is frozen`);
    await machine.ceph('freeze-osd', i);
    const repair = async () => {
      machine.note(`OSD ${i} is thawed`);
      await machine.ceph('thaw-osd', i);
    };
    return { repair, ceph: true, millis: machine.random.chance(0.3) ? 7000 : 0 };
  },
  async killMonitor(machine) {
    machine.note('kill -9 of the monitor');
    await machine.ceph('kill-mon');
    return { repair: () => machine.ceph('start-mon'), first: true, ceph: true };
  },
};
