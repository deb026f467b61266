// CPU time of a GetItem of 1 KB over TLS beside plain HTTP: one server with both ports, loaded by wrk by turns. The client agrees on
// TLS 1.3. Also the CPU time of a handshake.
//
//   node bench/tls.mjs [--rounds 5] [--seconds 4]
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import tls from 'node:tls';

import { binary, Server } from '../tests/sdk/harness.mjs';
import { Client, item } from './items.mjs';
import { cpuSeconds, run } from './process.mjs';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '4' } } });
const kItems = 2000;
const kConnections = 32;
const kHandshakes = 1500;

const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2;
};

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-tls-'));
execFileSync(binary, ['cert', '--out', directory]);
const ca = fs.readFileSync(path.join(directory, 'ca.pem'));
const server = await Server.startOne({
  args: ['--in-memory', '--io-threads=1', '--throttling=off', '--tls-port=0', `--tls-cert=${path.join(directory, 'server.pem')}`,
    `--tls-key=${path.join(directory, 'server.key')}`],
});
const { pid } = server.child;
const ports = { plain: server.port, tls: Number(await server.logged(/tls_port=(\d+)/)) };
const client = new Client(server.port);
await client.call('CreateTable', {
  TableName: 'bench', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
});
for (let i = 0; i < kItems; i += 16)
  await Promise.all(Array.from({ length: 16 }, (_, k) => client.call('PutItem', { TableName: 'bench', Item: item(i + k) })));

// Microseconds of CPU for a request.
async function measure(kind, seconds) {
  const before = cpuSeconds(pid);
  const out = await run('wrk', ['-t1', `-c${kConnections}`, `-d${seconds}s`, '--timeout', '20s', '-s',
    path.join(import.meta.dirname, 'wrk', 'dynamodb.lua'), `${kind === 'tls' ? 'https' : 'http'}://127.0.0.1:${ports[kind]}/`, '--', 'get', String(kItems), '7']);
  const used = cpuSeconds(pid) - before;
  const { requests, refused, broken } = JSON.parse(/^RESULT (.*)$/m.exec(out)[1]);
  if (refused + broken > 0) throw new Error(out);
  return used / requests * 1e6;
}
async function handshakes() {
  const before = cpuSeconds(pid);
  for (let i = 0; i < kHandshakes; i++) {
    const socket = tls.connect({ host: 'localhost', port: ports.tls, ca });
    await once(socket, 'secureConnect');
    socket.destroy();
  }
  return (cpuSeconds(pid) - before) / kHandshakes * 1e6;
}

const results = { plain: [], tls: [] };
for (const kind of ['plain', 'tls']) await measure(kind, 1);
for (let round = 0; round < Number(values.rounds); round++) {
  for (const kind of round % 2 === 0 ? ['plain', 'tls'] : ['tls', 'plain']) results[kind].push(await measure(kind, Number(values.seconds)));
}
for (const [kind, all] of Object.entries(results))
  console.log(`${kind.padEnd(10)} ${median(all).toFixed(2)} us (${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)})`);
console.log(`ratio      ${(median(results.tls) / median(results.plain)).toFixed(2)}`);
console.log(`handshake  ${(await handshakes()).toFixed(0)} us`);
await server.stop();
fs.rmSync(directory, { recursive: true });
