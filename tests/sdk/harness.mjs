// The server under test: the one at STATOR_ENDPOINT, or one that this process starts on a free port with a fresh data
// directory and stops afterwards. With STATOR_CLUSTER_CONF, the ceph.conf of a cluster that tests/cluster/cluster has started, it is
// three servers of one store in a fresh namespace of its pool, and each request goes to the next one of them. Only Node's own modules
// are used here, so that suites without the SDK share it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

// How long a test waits for a server that starts or stops, for an answer, or for a line of a log. A busy machine is late with them;
// each wait ends as soon as its state is there.
const kPatienceMillis = 120_000;

const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const binary = process.env.STATOR_BIN ?? path.join(repository, 'build/release/stator');

// STATOR_TARGET=local says that STATOR_ENDPOINT is Amazon's DynamoDB Local, =dynalite that it is dynalite. Cases in which
// those are known to leave the reference are skipped there.
export const target = process.env.STATOR_TARGET ?? 'stator';
export const isStator = target === 'stator';
export const isLocal = target === 'local';

// Options of a test that holds for the reference, but not for the peers.
export const referenceOnly = (reason) => ({ skip: isStator ? false : `${target}: ${reason}` });

export async function freePort() {
  const probe = net.createServer();
  probe.listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

// One request over a connection of its own unless an agent is given.
// Returns {status, headers, body: Buffer, text, json()}.
export function request(endpoint, { method = 'POST', path: target = '/', headers = {}, body = '', agent, timeout = kPatienceMillis } = {}) {
  return new Promise((resolve, reject) => {
    const url = new URL(endpoint);
    const message = http.request(
      { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port, method, path: target, headers, agent: agent ?? false, timeout },
      (reply) => {
        const chunks = [];
        reply.on('data', (chunk) => chunks.push(chunk));
        reply.on('error', reject);
        reply.on('end', () => {
          const whole = Buffer.concat(chunks);
          resolve({ status: reply.statusCode, headers: reply.headers, body: whole, text: whole.toString(), json: () => JSON.parse(whole.toString()) });
        });
      });
    message.on('timeout', () => message.destroy(new Error(`no answer within ${timeout} ms`)));
    message.on('error', reject);
    message.end(body);
  });
}

// Shaped like a signature, which is all that is checked so far.
export function signedHeaders(operation, extra = {}, { key = 'AKIDEXAMPLE', region = 'us-east-1' } = {}) {
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  return {
    'Content-Type': 'application/x-amz-json-1.0',
    'X-Amz-Target': `DynamoDB_20120810.${operation}`,
    'X-Amz-Date': stamp,
    Authorization: `AWS4-HMAC-SHA256 Credential=${key}/${stamp.slice(0, 8)}/${region}/dynamodb/aws4_request, ` +
      `SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature=${'0'.repeat(64)}`,
    ...extra,
  };
}

// An operation with a body as text, bytes or object.
export const call = (endpoint, operation, body = {}, { headers = {}, ...rest } = {}) =>
  request(endpoint, {
    headers: signedHeaders(operation, headers),
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    ...rest,
  });

export const onCluster = Boolean(process.env.STATOR_CLUSTER_CONF);
// Why a test is for one server only. Tests of state that each server keeps for itself (the faults that it counts, older images of
// items, recordings) send all requests to one of the three: `one` of Server.start.
const kOneServerOnly = {
  capacity: 'servers divide the capacity of a table, new ones included, a second behind its use: it is exact to the unit on one server only',
};
// Options of a test whose expectations hold for one server only.
export const oneServerOnly = (why) => ({ skip: onCluster ? `three servers: ${kOneServerOnly[why]}` : false });

// Waits until the output of a server matches, and returns the first group. A line reaches this process a moment after an answer that
// the server sent later.
async function logged(server, pattern, within = kPatienceMillis) {
  const end = Date.now() + within;
  for (let found; ; await delay(5)) {
    if ((found = pattern.exec(server.output)) !== null) return found[1];
    assert.ok(Date.now() < end, `no ${pattern} in\n${server.output}`);
  }
}

const kServersOfCluster = 3;

// Hands each request to the next one of several servers, as a load balancer would.
class Spreader {
  static async listen(port, targets) {
    const spreader = new Spreader();
    spreader.agent = new http.Agent({ keepAlive: true });
    let next = 0;
    const serve = (request, reply) => {
      const target = targets[next++ % targets.length];
      const onward = http.request({
        host: '127.0.0.1', port: target, method: request.method, path: request.url, headers: request.headers, agent: spreader.agent,
      }, (answer) => {
        reply.writeHead(answer.statusCode, answer.statusMessage, answer.rawHeaders);
        answer.pipe(reply);
        answer.on('error', () => reply.destroy());
      });
      onward.on('error', () => reply.destroy());
      reply.on('close', () => { if (!reply.writableFinished) onward.destroy(); });
      request.pipe(onward);
    };
    spreader.servers = [];
    for (const host of ['127.0.0.1', '::1']) {
      const server = http.createServer(serve);
      server.keepAliveTimeout = 60000;
      server.listen(port, host);
      await once(server, 'listening');
      server.unref();
      spreader.servers.push(server);
    }
    return spreader;
  }
  close() {
    for (const server of this.servers) {
      server.close();
      server.closeAllConnections();
    }
    this.agent.destroy();
  }
}

// Three servers of one store behind the interface of one. `dataDir` only names the store. With `one` the endpoint is that of the
// first server, and only that server records requests; the others get no requests but do their share of the background work.
class ServersOfCluster {
  static async start({ args = [], dataDir, port, one = false, ...rest } = {}) {
    const servers = new ServersOfCluster();
    servers.ownsDirectory = dataDir === undefined;
    servers.dataDir = dataDir ?? fs.mkdtempSync(path.join(os.tmpdir(), 'stator-test-'));
    const store = [
      '--engine=rados', `--ceph-conf=${process.env.STATOR_CLUSTER_CONF}`, '--ceph-user=stator', '--pool=stator',
      // The tests read what they have written, from one server or the other.
      `--ceph-namespace=${path.basename(servers.dataDir)}`, '--eventual-staleness=0s',
    ];
    const own = args.filter((arg) => arg !== '--in-memory');
    const ports = [];
    servers.servers = [];
    try {
      // One after the other: the first one makes the store.
      for (let i = 0; i < kServersOfCluster; ++i) {
        const mine = i === 0 ? own : own.filter((arg) => !arg.startsWith('--record'));
        const server = await Server.startOne({ args: [...store, ...mine], dataDir: null, port: one && i === 0 ? port : undefined, ...rest });
        servers.servers.push(server);
        ports.push(server.port);
      }
      servers.port = one ? ports[0] : port ?? await freePort();
      servers.endpoint = `http://127.0.0.1:${servers.port}`;
      if (!one) servers.spreader = await Spreader.listen(servers.port, ports);
    } catch (error) {
      await servers.kill();
      throw error;
    }
    return servers;
  }
  get output() { return this.servers.map((server) => server.output).join('----\n'); }
  get child() { return this.servers[0].child; }
  logged(pattern, within) { return logged(this, pattern, within); }
  get endpoints() { return this.servers.map((server) => server.endpoint); }

  async kill() {
    this.spreader?.close();
    const results = await Promise.all(this.servers.map((server) => server.kill()));
    return results[0];
  }
  async stop() {
    this.spreader?.close();
    const results = await Promise.all(this.servers.map((server) => server.stop()));
    if (this.ownsDirectory) fs.rmSync(this.dataDir, { recursive: true, force: true });
    return results.find(({ code }) => code !== 0) ?? results[0];
  }
}

export class Server {
  // Those of all servers of the store; `endpoint` is what clients use.
  get endpoints() { return [this.endpoint]; }
  // `one`: on a cluster, clients talk to one of the servers only, for what is that server's own.
  static start(options) { return onCluster ? ServersOfCluster.start(options) : Server.startOne(options); }

  // Starts the binary and waits until it is ready. Fails with its output if it exits first. `spawned` is called with the
  // process as soon as there is one. `dataDir`: null: no directory is named. `env`: variables for it. `readyPath`: the page that
  // says so, for servers that take no writes. `under`: a command that becomes the server, such as prlimit with its arguments.
  static async startOne({ args = [], dataDir, port, readyWithin = kPatienceMillis, readyPath = '/health/ready', spawned = () => {}, env = {}, under = [], tries = 5 } = {}) {
    const server = new Server();
    server.ownsDirectory = dataDir === undefined;
    // null: the server keeps its data elsewhere.
    server.dataDir = dataDir === undefined ? fs.mkdtempSync(path.join(os.tmpdir(), 'stator-test-')) : dataDir;
    server.port = port ?? await freePort();
    server.endpoint = `http://127.0.0.1:${server.port}`;
    server.output = '';
    const extra = (process.env.STATOR_ARGS ?? '').split(' ').filter(Boolean);
    const directory = dataDir === null ? [] : ['--data-dir', server.dataDir];
    const all = ['serve', '--port', String(server.port), ...directory, ...extra, ...args];
    const [program, ...words] = [...under, binary, ...all];
    server.child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    for (const stream of [server.child.stdout, server.child.stderr]) {
      stream.on('data', (chunk) => { server.output = (server.output + chunk).slice(-8000); });
    }
    server.exited = new Promise((resolve) => {
      server.child.once('error', (error) => { server.output += error.message; resolve({ code: null, signal: null, error }); });
      server.child.once('exit', (code, signal) => {
        // Its last words may still be in the pipes: 'close' comes when they have been read.
        for (const stream of [server.child.stdout, server.child.stderr]) stream.ref();
        const timer = setTimeout(() => resolve({ code, signal }), kPatienceMillis);
        server.child.once('close', () => { clearTimeout(timer); resolve({ code, signal }); });
      });
    });
    // Neither the child nor its pipes keep this process alive (the test runner's last hooks run when nothing else does),
    // and it never outlives this process.
    server.child.unref();
    server.child.stdout.unref();
    server.child.stderr.unref();
    server.onExit = () => server.child.kill('SIGKILL');
    process.once('exit', server.onExit);
    server.exited.then(() => process.removeListener('exit', server.onExit));
    spawned(server.child);
    let gone = false;
    server.exited.then(() => { gone = true; });
    const end = Date.now() + readyWithin;
    while (!gone && Date.now() < end) {
      try {
        const reply = await request(server.endpoint, { method: 'GET', path: readyPath, timeout: 1000 });
        if (reply.status === 200) return server;
      } catch {
        // Not listening yet.
      }
      await delay(5);
    }
    server.child.ref();
    if (!gone) server.child.kill('SIGKILL');
    await server.exited;
    // Another program took the port that was free a moment ago: the next one.
    if (port === undefined && tries > 1 && /cannot_listen .*port \d+: Address already in use/.test(server.output)) {
      if (server.ownsDirectory) fs.rmSync(server.dataDir, { recursive: true, force: true });
      return Server.startOne({ args, dataDir, readyWithin, readyPath, spawned, env, under, tries: tries - 1 });
    }
    throw new Error(`${binary} ${all.join(' ')} was not ready within ${readyWithin} ms:\n${server.output}`);
  }

  logged(pattern, within) { return logged(this, pattern, within); }

  async kill() {
    this.child.ref();
    this.child.kill('SIGKILL');
    return this.exited;
  }

  // SIGTERM; returns {code, signal}. The data directory goes too if it was ours.
  async stop() {
    this.child.ref();
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), kPatienceMillis);
    const result = await this.exited;
    clearTimeout(timer);
    if (this.ownsDirectory) fs.rmSync(this.dataDir, { recursive: true, force: true });
    return result;
  }
}

// Moves a manual clock: `by` is seconds or a duration such as '90m'.
export async function advanceClock(server, by) {
  const reply = await request(server.endpoint, {
    path: '/_stator/clock', headers: { 'X-Stator-Management': 'true' }, body: JSON.stringify({ advance: by }),
  });
  assert.equal(reply.status, 200, reply.text);
}

// Endpoint for a test file: {endpoint, stop()}.
export async function serverForTests(options) {
  if (process.env.STATOR_ENDPOINT) return { endpoint: process.env.STATOR_ENDPOINT, server: undefined, stop: async () => {} };
  const server = await Server.start(options);
  return {
    endpoint: server.endpoint,
    server,
    stop: async () => {
      const { code, signal } = await server.stop();
      if (code !== 0) throw new Error(`the server ended with ${signal ?? code} on SIGTERM:\n${server.output}`);
    },
  };
}
