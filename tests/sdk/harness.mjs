// The server under test: the one at STATOR_ENDPOINT, or one that this process starts on a free port with a fresh data
// directory and stops afterwards. Only Node's own modules are used here, so that suites without the SDK share it.
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

const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const binary = process.env.STATOR_BIN ?? path.join(repository, 'build/release/stator');

// STATOR_TARGET=local says that STATOR_ENDPOINT is Amazon's DynamoDB Local, =dynalite that it is dynalite. Cases in which
// those are known to leave the reference are skipped there.
export const target = process.env.STATOR_TARGET ?? 'stator';
export const isStator = target === 'stator';
export const isLocal = target === 'local';

// Options of a test that holds for the reference, but not for the peers.
export const referenceOnly = (reason) => ({ skip: isStator ? false : `${target}: ${reason}` });

async function freePort() {
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
export function request(endpoint, { method = 'POST', path: target = '/', headers = {}, body = '', agent, timeout = 20000 } = {}) {
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

export class Server {
  // Starts the binary and waits until it is ready. Fails with its output if it exits first. `spawned` is called with the
  // process as soon as there is one. `env`: variables for it.
  static async start({ args = [], dataDir, port, readyWithin = 15000, spawned = () => {}, env = {} } = {}) {
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
    server.child = spawn(binary, all, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
    for (const stream of [server.child.stdout, server.child.stderr]) {
      stream.on('data', (chunk) => { server.output = (server.output + chunk).slice(-8000); });
    }
    server.exited = new Promise((resolve) => {
      server.child.once('error', (error) => { server.output += error.message; resolve({ code: null, signal: null, error }); });
      server.child.once('exit', (code, signal) => resolve({ code, signal }));
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
        const reply = await request(server.endpoint, { method: 'GET', path: '/health/ready', timeout: 1000 });
        if (reply.status === 200) return server;
      } catch {
        // Not listening yet.
      }
      await delay(5);
    }
    server.child.ref();
    if (!gone) server.child.kill('SIGKILL');
    await server.exited;
    throw new Error(`${binary} ${all.join(' ')} was not ready within ${readyWithin} ms:\n${server.output}`);
  }

  async kill() {
    this.child.ref();
    this.child.kill('SIGKILL');
    return this.exited;
  }

  // SIGTERM; returns {code, signal}. The data directory goes too if it was ours.
  async stop() {
    this.child.ref();
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 15000);
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
