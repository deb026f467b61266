// Starts a Stator server for tests: `const server = await start(); ... await server.stop();`, and accounts of their own for tests on it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import path from 'node:path';

const kReadyMillis = 15000;
const kStopMillis = 15000;

// Returns the path of the binary for this machine. STATOR_BIN names another one. Throws a sentence
// where there is none.
export function binaryPath() {
  if (process.env.STATOR_BIN) return process.env.STATOR_BIN;
  const name = `stator-local-${process.platform}-${process.arch}`;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`);
    return path.join(path.dirname(manifest), 'bin', 'stator');
  } catch {
    const why = process.platform === 'linux'
      ? `the package ${name} is not installed (npm skips optional packages with --omit=optional), or there is none for this processor`
      : 'there is no binary for this system; run the container image of Stator instead';
    throw new Error(`stator-local: ${why}. STATOR_BIN names a binary of your own.`);
  }
}

// Starts a server and returns {endpoint, port, pid, stop} once it accepts requests. `port` 0 takes a
// free one. Without `dataDir` the data are in memory. `args`: further flags of `stator serve`. The
// server ends with this process.
export async function start({ port = 0, dataDir, args = [], env = {}, readyMillis = kReadyMillis } = {}) {
  const store = dataDir === undefined ? ['--in-memory'] : ['--data-dir', dataDir];
  const child = spawn(binaryPath(), ['serve', '--port', String(port), ...store, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const exited = new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(`exited with ${signal ?? code}`));
  });
  const killWithThisProcess = () => child.kill('SIGKILL');
  process.once('exit', killWithThisProcess);
  exited.then(() => process.removeListener('exit', killWithThisProcess));

  let output = '';
  const serving = new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        output = (output + text).slice(-8000);
        const found = / serving port=(\d+)/.exec(output);
        if (found) resolve(Number(found[1]));
      });
    }
  });
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, readyMillis, `was not ready within ${readyMillis} ms`); });
  const first = await Promise.race([serving, exited, late]);
  clearTimeout(timer);
  if (typeof first !== 'number') {
    child.kill('SIGKILL');
    throw new Error(`stator ${first}:\n${output}`);
  }
  child.unref();
  child.stdout.unref();
  child.stderr.unref();
  return {
    port: first,
    endpoint: `http://127.0.0.1:${first}`,
    pid: child.pid,
    // Ends the server: requests that have begun are answered first. May be called twice.
    async stop() {
      child.ref();
      child.kill('SIGTERM');
      const kill = setTimeout(() => child.kill('SIGKILL'), kStopMillis);
      await exited;
      clearTimeout(kill);
    },
  };
}

// An account of its own, with tables of its own, on the server at `endpoint`, which was started with --isolate=access-key. Returns
// {key, client, snapshot, restore, drop}: `client` is the configuration of an AWS SDK client; `snapshot` and `restore` remember the
// account's state under a name and return to it; `drop` takes the account away. `name` is what its access key begins with.
export function account(endpoint, name = 'test') {
  const key = `${name.slice(0, 80)}-${randomUUID()}`;
  return { key, client: clientOf(endpoint, key), ...callsOf(endpoint, `accounts/${encodeURIComponent(key)}/`), drop: () => manage(endpoint, 'DELETE', `accounts/${encodeURIComponent(key)}`) };
}

// Likewise for the default account, for a server that one suite has to itself; there is no `drop`.
export function defaultAccount(endpoint) {
  return { key: 'any', client: clientOf(endpoint, 'any'), ...callsOf(endpoint, '') };
}

function clientOf(endpoint, key) {
  return { endpoint, region: 'us-east-1', credentials: { accessKeyId: key, secretAccessKey: 'any' } };
}

function callsOf(endpoint, path) {
  const call = (what, name) => manage(endpoint, 'POST', `${path}${what}?name=${encodeURIComponent(name)}`);
  return { snapshot: (name = 'default') => call('snapshot', name), restore: (name = 'default') => call('restore', name) };
}

async function manage(endpoint, method, call) {
  const reply = await fetch(`${endpoint}/_stator/${call}`, { method, headers: { 'X-Stator-Management': 'true' } });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(`stator-local: ${method} /_stator/${call}: ${reply.status} ${answer.message}`);
  return answer;
}

// For Jest, Vitest and node:test, whose hooks are given: an account for the tests of this file, dropped behind the last one.
// `prepare(account)` makes tables and items once; each test begins with what it has made. Returns the account's properties,
// which are there from the first test on.
//
//   const db = withStator({ beforeAll, beforeEach, afterAll }, { prepare: async ({ client }) => { ... } });
export function withStator({ beforeAll, beforeEach, afterAll }, { endpoint = process.env.STATOR_ENDPOINT, name, prepare } = {}) {
  const shared = {};
  let server;
  beforeAll(async () => {
    server = endpoint ? undefined : await start({ args: ['--isolate=access-key'] });
    const at = endpoint || server.endpoint; // an empty STATOR_ENDPOINT names none
    Object.assign(shared, account(at, name), { endpoint: at });
    await prepare?.(shared);
    await shared.snapshot('withStator');
  });
  beforeEach(() => shared.restore('withStator'));
  afterAll(async () => {
    if (shared.key) await shared.drop();
    await server?.stop();
  });
  return shared;
}
