// node bench/ttl.mjs [--expired N] [--seconds N]: what sweeping expired items does to GetItem, in one run.
//
// GetItem over one table, before, while and after another table's expired items are swept. The figure is the ratio of the
// p99 while a sweep is under way to the median of those before and after; it should stay below 2.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import net from 'node:net';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { contenders, makeServer } from './contenders.mjs';
import { Client, item } from './items.mjs';
import { measure } from './load.mjs';
import { median } from './report.mjs';

const kItems = 10000;
const { values: options } = parseArgs({
  options: {
    expired: { type: 'string', default: '100000' }, seconds: { type: 'string', default: '5' },
    data: { type: 'string', default: path.join(path.dirname(fileURLToPath(import.meta.url)), '..', 'build', 'bench-data') },
  },
});
const expired = Number(options.expired);
const seconds = Number(options.seconds);
spawnSync('taskset', ['-cp', '-a', '1', String(process.pid)]);

const probe = net.createServer().listen(0, '127.0.0.1');
await new Promise((resolve) => probe.on('listening', resolve));
const { port } = probe.address();
await new Promise((resolve) => probe.close(resolve));

mkdirSync(options.data, { recursive: true });
const dir = mkdtempSync(path.join(options.data, 'ttl-'));
const base = contenders.find((one) => one.id === 'stator');
const contender = { ...base, command: (...where) => [...base.command(...where), '--ttl-interval=1s'] };
const server = makeServer(contender, port, dir);
server.prepare();
await server.start();
const client = new Client(port);

async function deleted() {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith('stator_time_to_live_deleted_item_count_total{table="expiring"}'));
  return line === undefined ? 0 : Number(line.split(' ')[1]);
}
let seed = 1;
const load = (warm) => measure(contender, server, 'get', { seconds, warm, items: kItems, seed: seed++ });
const show = (name, r) => console.log(`${name.padEnd(9)} ${Math.round(r.ops)} requests/s, p50 ${r.p50} ms, p99 ${r.p99} ms, `
  + `CPU ${r.cpu.toFixed(1)} us/request, other processes ${(r.others * 100).toFixed(0)} % of the core, errors ${r.errors}`);

try {
  await client.createTable('bench', [['pk', 'S']]);
  await client.fill('bench', item, kItems);
  await client.createTable('expiring', [['pk', 'S']]);
  await client.call('UpdateTimeToLive', { TableName: 'expiring', TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true } });
  // Far enough ahead that all of them are there and the load before has run.
  const over = Math.ceil(Date.now() / 1000) + 30 + Math.ceil(expired / 4000) + 2 * seconds;
  await client.fill('expiring', (i) => ({ pk: { S: `e${i}` }, expires: { N: String(over) }, data: { S: 'x'.repeat(100) } }), expired);
  const before = await load(2);
  show('before', before);
  if (Date.now() / 1000 > over) throw new Error('the items expired before they were to: loading took too long');
  while (await deleted() === 0) await after(50);
  const started = performance.now();
  const first = await deleted();
  const during = await load(0.5);
  const left = expired - await deleted();
  const rate = (await deleted() - first) / ((performance.now() - started) / 1000);
  show('sweeping', during);
  if (left <= 0) console.log('the sweep was over before the load was: take more items or fewer seconds');
  while (await deleted() < expired) await after(50);
  console.log(`${expired} items deleted, ${Math.round(rate)} a second beside the load`);
  const rested = await load(2);
  show('after', rested);
  console.log(`p99 while sweeping / p99 without: ${(during.p99 / median([before.p99, rested.p99])).toFixed(2)}`);
} finally {
  client.close();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
}
