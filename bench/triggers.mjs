// Measures how many changes triggers deliver, how late, and how much CPU a write costs with them.
//
//   node bench/triggers.mjs [--only rate,put] [--rate 20000] [--seconds 20] [--pairs 9] [--under 'nice -n -10'] [--data-dir DIR]
//
// rate: changes are made at `rate` a second by BatchWriteItem and delivered to a web server in batches of 100. The server is on core 0
//       alone; the load and the web server are on core 1. Lag: from the call that made the change to the call of the function.
// put:  CPU time of a PutItem on a table with a stream, and with a trigger of it: one that is off, one whose filter no change passes,
//       and one that delivers. A server for each, loaded by turns, each stopped during the others' turns.
//
// In memory without --data-dir.
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { setTimeout as after } from 'node:timers/promises';

import { mappingsOf } from '../tests/sdk/functions.mjs';
import { Server } from '../tests/sdk/harness.mjs';
import { Client, item } from './items.mjs';
import { wrkServed } from './load.mjs';
import { cpuSeconds, load } from './process.mjs';
import { median } from './report.mjs';

const { values: options } = parseArgs({ options: {
  only: { type: 'string', default: 'rate,put' }, rate: { type: 'string', default: '20000' }, seconds: { type: 'string', default: '20' },
  pairs: { type: 'string', default: '9' }, under: { type: 'string', default: '' }, 'data-dir': { type: 'string' },
} });
const kRate = Number(options.rate);
const kSeconds = Number(options.seconds);
const kPairs = Number(options.pairs);
const kBatch = 25; // items of a BatchWriteItem
const kItems = 20_000;
const kPutSeconds = 3;
const kConnections = 32;
const under = options.under.split(' ').filter(Boolean);
const folder = fs.mkdtempSync(path.join(options['data-dir'] ?? os.tmpdir(), 'stator-triggers-'));
spawnSync('taskset', ['-cp', '1', String(process.pid)]);

// The functions: `seen` has the lag of each change.
const seen = [];
const functions = http.createServer((call, reply) => {
  const parts = [];
  call.on('data', (part) => parts.push(part)).on('end', () => {
    const at = Date.now();
    const event = JSON.parse(Buffer.concat(parts).toString());
    for (const record of event.Records) seen.push(at - Number(record.dynamodb.NewImage.at?.N ?? at));
    reply.end('{}');
  });
});
await new Promise((resolve) => { functions.listen(0, '127.0.0.1', resolve); });

async function start(name, trigger = '') {
  fs.writeFileSync(path.join(folder, `${name}.toml`), `
    [[functions]]
    name = "web"
    url = "http://127.0.0.1:${functions.address().port}/"
    ${trigger}
  `);
  const server = await Server.startOne({
    args: ['--throttling=off', '--durability=fsync', `--config=${path.join(folder, `${name}.toml`)}`], under: [...under, 'taskset', '-c', '0'],
    ...(options['data-dir'] && { dataDir: path.join(folder, name) }),
  });
  server.client = new Client(server.port, 16);
  await server.client.createTable('bench_stream', [['pk', 'S']], { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } });
  return server;
}
const triggerOf = (more = '') => `[[triggers]]
    table = "bench_stream"
    function = "web"
    batch-size = 100
    ${more}`;
const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

async function measureRate() {
  const server = await start('rate', triggerOf());
  const cpu = cpuSeconds(server.child.pid);
  const begin = Date.now();
  const calls = [];
  let made = 0;
  while (Date.now() - begin < kSeconds * 1000) {
    while (made < kRate * (Date.now() - begin) / 1000) {
      const at = String(Date.now());
      const puts = Array.from({ length: kBatch }, (_, i) => ({ PutRequest: { Item: {
        pk: { S: `item#${(made + i) % 100_000}` }, at: { N: at }, text: { S: 'x'.repeat(100) } } } }));
      calls.push(server.client.call('BatchWriteItem', { RequestItems: { bench_stream: puts } }));
      made += kBatch;
    }
    await after(1);
  }
  await Promise.all(calls);
  const written = (Date.now() - begin) / 1000;
  while (seen.length < made && Date.now() - begin < kSeconds * 1000 + 60_000) await after(10);
  const delivered = (Date.now() - begin) / 1000;
  const used = cpuSeconds(server.child.pid) - cpu;
  const lags = seen.splice(0).sort((a, b) => a - b);
  console.log(`rate: ${made} changes in ${written.toFixed(1)} s, ${lags.length} delivered in ${delivered.toFixed(1)} s (${Math.round(lags.length / delivered)} a second); `
    + `lag p50 ${percentile(lags, 0.5)} ms, p99 ${percentile(lags, 0.99)} ms, longest ${lags.at(-1)} ms; `
    + `${(used / delivered * 100).toFixed(0)} % of a core, ${(used / made * 1e6).toFixed(1)} us a change  [load ${load()}]`);
  await server.stop();
}

async function measurePut() {
  const servers = {
    stream: await start('stream'),
    off: await start('off', triggerOf()),
    filtered: await start('filtered', triggerOf('filters = [\'{"eventName":["REMOVE"]}\']')),
    delivers: await start('delivers', triggerOf()),
  };
  const mappings = mappingsOf(servers.off.endpoint);
  let mapping;
  while (mapping === undefined) [mapping] = (await mappings.list()).body.EventSourceMappings; // it is made when the table is seen
  await mappings.update(mapping.UUID, { Enabled: false });
  for (const server of Object.values(servers)) await server.client.fill('bench_stream', item, kItems);
  const costs = Object.fromEntries(Object.keys(servers).map((name) => [name, []]));
  for (let pair = 0; pair < kPairs + 1; pair++) {
    for (const [name, server] of Object.entries(servers)) {
      for (const other of Object.values(servers)) other.child.kill(other === server ? 'SIGCONT' : 'SIGSTOP');
      const before = cpuSeconds(server.child.pid);
      const { requests } = await wrkServed(server.port, 'putstream', kConnections, { seconds: kPutSeconds, items: kItems, seed: pair });
      if (pair > 0) costs[name].push((cpuSeconds(server.child.pid) - before) / requests * 1e6);
    }
    seen.length = 0;
  }
  for (const [name, all] of Object.entries(costs)) {
    const ratios = all.map((cost, i) => cost / costs.stream[i]);
    console.log(`put, ${name}: ${median(all).toFixed(1)} us of CPU, ${median(ratios).toFixed(3)} of a stream's (${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)})  [load ${load()}]`);
  }
  for (const server of Object.values(servers)) server.child.kill('SIGCONT');
  await Promise.all(Object.values(servers).map((server) => server.stop()));
}

const measures = { rate: measureRate, put: measurePut };
try {
  for (const name of options.only.split(',')) await measures[name]();
} finally {
  functions.close();
  functions.closeAllConnections();
  fs.rmSync(folder, { recursive: true, force: true });
}
process.exit();
