// The judge of the hostile suite: watches a server from outside while a test attacks it. A probe, a client of its own on a
// connection and a thread of its own, so that the attack's own work does not delay it, reads one item again and again. At the end
// the judge says how long the slowest probe took, how many failed, and what the process held at most. Times leave out what other
// programs took of the machine (Watch), so that a busy machine is not held against the server.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

import { call } from '../sdk/harness.mjs';

const kTable = 'witness';
const kKey = { pk: { S: 'witness' } };
const kItem = { ...kKey, v: { S: 'still here' } };
// A probe that takes longer than this fails the test. The bound is generous because two cores run the whole suite; the
// benchmark `hostile` judges the latency that users should see.
const kProbeMillis = 2000;
const kProbeEveryMillis = 20;

const field = (pid, file, name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(fs.readFileSync(`/proc/${pid}/${file}`, 'utf8'))?.[1]);

// Bytes of physical memory that the process holds.
export const residentBytes = (server) => field(server.child.pid, 'status', 'VmRSS') * 1024;
// File descriptors that the process has open.
export const openDescriptors = (server) => fs.readdirSync(`/proc/${server.child.pid}/fd`).length;
// CPU seconds that the process has used.
export function cpuSeconds(server) {
  const fields = fs.readFileSync(`/proc/${server.child.pid}/stat`, 'latin1').replace(/^.*\) /s, '').split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

// CPU seconds of all processors that something used since the machine started, and how many processors there are.
function busySeconds() {
  const lines = fs.readFileSync('/proc/stat', 'latin1').split('\n').filter((line) => line.startsWith('cpu'));
  const [user, nice, system, , , irq, softirq, steal] = lines[0].trim().split(/ +/).slice(1).map(Number);
  return { seconds: (user + nice + system + irq + softirq + steal) / 100, processors: lines.length - 1 };
}

// How long something takes that a server does: the time that has passed, without the share of the processors that went to other
// programs, such as the attack itself. The server's own computing counts in full, and so do its waits without computing.
export class Watch {
  constructor(pid) {
    this.pid = pid;
    this.started = performance.now();
    this.others = this.#others();
  }
  #others() {
    try {
      this.own = cpuSeconds({ child: { pid: this.pid } });
    } catch {
      // The process has ended: what it used last is known.
    }
    return busySeconds().seconds - (this.own ?? 0);
  }
  get millis() {
    const passed = performance.now() - this.started;
    return Math.max(0, passed - (this.#others() - this.others) * 1000 / busySeconds().processors);
  }
}
export const watchOf = (server) => new Watch(server.child.pid);

export class Judge {
  // Creates the probe's table and item. `server` is a Server of the harness that this process started.
  static async of(server, { probeMillis = kProbeMillis } = {}) {
    const judge = new Judge();
    judge.server = server;
    judge.probeMillis = probeMillis;
    const created = await call(server.endpoint, 'CreateTable', {
      TableName: kTable, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    assert.ok(created.status === 200 || created.text.includes('ResourceInUse'), created.text);
    await call(server.endpoint, 'DescribeTable', { TableName: kTable });
    judge.agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const put = await call(server.endpoint, 'PutItem', { TableName: kTable, Item: kItem }, { agent: judge.agent });
    assert.equal(put.status, 200, put.text);
    judge.prober = new Worker(new URL(import.meta.url), { workerData: { probes: server.endpoint, pid: server.child.pid } });
    await once(judge.prober, 'message');  // its connection is there
    return judge;
  }

  // Runs `attack` while the probe reads. Returns what `attack` returned, and in `verdict` {probes, failed, slowestMillis,
  // peakBytes, peakDescriptors, cpuSeconds}. Asserts that the process lives, that no probe failed, and that none took longer
  // than the bound.
  async watch(attack) {
    const verdict = { probes: 0, failed: [], slowestMillis: 0, peakBytes: residentBytes(this.server), peakDescriptors: 0 };
    this.verdict = verdict;
    const cpuBefore = cpuSeconds(this.server);
    let ended = false;
    this.prober.postMessage('begin');
    const sampling = (async () => {
      while (!ended && this.lives()) {
        verdict.peakBytes = Math.max(verdict.peakBytes, residentBytes(this.server));
        verdict.peakDescriptors = Math.max(verdict.peakDescriptors, openDescriptors(this.server));
        await delay(10);
      }
    })().catch(() => {});  // the process ended between two looks: the assertion below says so
    let result;
    try {
      result = await attack();
    } finally {
      ended = true;
      this.prober.postMessage('end');
      const [[probes]] = await Promise.all([once(this.prober, 'message'), sampling]);
      Object.assign(verdict, probes);
    }
    assert.ok(this.lives(), `the server is gone:\n${this.server.output}`);
    verdict.cpuSeconds = cpuSeconds(this.server) - cpuBefore;
    assert.deepEqual(verdict.failed, [], 'probes of another client failed');
    assert.ok(verdict.slowestMillis <= this.probeMillis,
      `a probe of another client took ${verdict.slowestMillis.toFixed(0)} ms (bound ${this.probeMillis} ms)`);
    return result;
  }

  lives() { return (this.server.child.exitCode ?? this.server.child.signalCode) === null; }
  close() {
    this.agent.destroy();
    this.prober.terminate();
  }
}

// The probe's thread.
async function probe(endpoint, agent, verdict) {
  const watch = new Watch(workerData.pid);
  verdict.probes++;
  try {
    const reply = await call(endpoint, 'GetItem', { TableName: kTable, Key: kKey, ConsistentRead: true }, { agent, timeout: 60000 });
    if (reply.status !== 200) verdict.failed.push(`${reply.status} ${reply.text.slice(0, 200)}`);
    else assert.deepEqual(reply.json().Item, kItem);
  } catch (error) {
    verdict.failed.push(String(error));
  }
  verdict.slowestMillis = Math.max(verdict.slowestMillis, watch.millis);
}

if (!isMainThread && workerData?.probes !== undefined) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  await probe(workerData.probes, agent, { probes: 0, failed: [], slowestMillis: 0 });
  let watching = false;
  parentPort.on('message', async (message) => {
    watching = message === 'begin';
    if (!watching) return;
    const verdict = { probes: 0, failed: [], slowestMillis: 0 };
    while (watching) {
      await probe(workerData.probes, agent, verdict);
      await delay(kProbeEveryMillis);
    }
    parentPort.postMessage(verdict);
  });
  parentPort.postMessage('ready');
}
