// CPU time of PutItem and GetItem of 1 KB on an encrypted store beside a plain one: two servers, loaded by wrk by turns. The
// table is larger than the memory budget for `coldget`, so that blocks are read from files and decrypted.
//
//   node bench/encryption.mjs [--rounds 5] [--seconds 4] [--durability fsync|os] [--only put,get,coldget]
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { binary, Server } from '../tests/sdk/harness.mjs';
import { Client, item } from './items.mjs';
import { cpuSeconds, run } from './process.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '4' }, durability: { type: 'string', default: 'fsync' },
    only: { type: 'string', default: 'put,get,coldget' }, items: { type: 'string', default: '60000' },
  },
});
const kItems = Number(values.items);
const kHot = 2000;
const kConnections = 32;
const kinds = ['plain', 'encrypted'];

const median = (numbers) => {
  const sorted = [...numbers].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.floor(sorted.length / 2)]) / 2;
};

const directory = fs.mkdtempSync(path.join(process.env.BENCH_DIR ?? os.tmpdir(), 'stator-encryption-'));
const keyFile = path.join(directory, 'key');
execFileSync(binary, ['make-master-key', keyFile]);
const servers = {};
for (const kind of kinds) {
  servers[kind] = await Server.startOne({
    dataDir: path.join(directory, kind),
    args: ['--io-threads=1', '--throttling=off', '--memory-budget-mb=16', `--durability=${values.durability}`,
      ...(kind === 'encrypted' ? ['--encryption-key-file', keyFile] : [])],
  });
  const client = new Client(servers[kind].port);
  await client.call('CreateTable', {
    TableName: 'bench', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  });
  for (let i = 0; i < kItems; i += 500) {
    await Promise.all(Array.from({ length: 20 }, (_, k) => client.call('BatchWriteItem', {
      RequestItems: { bench: Array.from({ length: 25 }, (_, n) => ({ PutRequest: { Item: item(i + 25 * k + n) } })) },
    })));
  }
}

// {micros of CPU for a request, requests a second}
async function measure(kind, what, seconds) {
  const server = servers[kind];
  const before = cpuSeconds(server.child.pid);
  const out = await run('wrk', ['-t1', `-c${kConnections}`, `-d${seconds}s`, '--timeout', '20s', '-s',
    path.join(import.meta.dirname, 'wrk', 'dynamodb.lua'), `http://127.0.0.1:${server.port}/`, '--', what === 'coldget' ? 'get' : what,
    String(what === 'get' ? kHot : kItems), '7']);
  const used = cpuSeconds(server.child.pid) - before;
  const { requests, refused, broken } = JSON.parse(/^RESULT (.*)$/m.exec(out)[1]);
  if (refused + broken > 0) throw new Error(out);
  return { micros: used / requests * 1e6, rate: requests / seconds };
}

for (const what of values.only.split(',')) {
  const results = { plain: [], encrypted: [] };
  for (const kind of kinds) await measure(kind, what, 1);
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const kind of round % 2 === 0 ? kinds : [...kinds].reverse()) results[kind].push(await measure(kind, what, Number(values.seconds)));
  }
  for (const kind of kinds) {
    const micros = results[kind].map((each) => each.micros);
    console.log(`${what.padEnd(8)} ${kind.padEnd(10)} ${median(micros).toFixed(2)} us (${Math.min(...micros).toFixed(2)} to ${Math.max(...micros).toFixed(2)}), ` +
      `${median(results[kind].map((each) => each.rate)).toFixed(0)} requests/s`);
  }
  const ratios = (member) => median(results.plain.map((plain, i) => results.encrypted[i][member] / plain[member]));
  console.log(`${what.padEnd(8)} ratio      ${ratios('micros').toFixed(2)} of CPU, ${ratios('rate').toFixed(2)} of rate`);
}
for (const kind of kinds) await servers[kind].stop();
fs.rmSync(directory, { recursive: true });
