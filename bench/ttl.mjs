// node bench/ttl.mjs [--expired N] [--pairs N]: the effect of sweeping expired items on GetItem.
//
// Two servers with the same items; one of them also has expired items to sweep, in another table.
// They are measured in turns, each stopped during the other's turn, so that other load on the
// machine affects both. The figure is the ratio of the medians of their p99; it should stay below
// 2.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '../tests/sdk/harness.mjs';
import { contenders, makeServer } from './contenders.mjs';
import { Client, item } from './items.mjs';
import { measure } from './load.mjs';
import { median } from './report.mjs';

const kItems = 10000;
const { values: options } = parseArgs({
  options: {
    expired: { type: 'string', default: '100000' }, pairs: { type: 'string', default: '10' },
    data: { type: 'string', default: path.join(path.dirname(fileURLToPath(import.meta.url)), '..', 'build', 'bench-data') },
  },
});
const expired = Number(options.expired);
const pairs = Number(options.pairs);
spawnSync('taskset', ['-cp', '-a', '1', String(process.pid)]);

mkdirSync(options.data, { recursive: true });
const scratch = mkdtempSync(path.join(options.data, 'ttl-'));
const base = contenders.find((one) => one.id === 'stator');
const contender = { ...base, command: (...where) => [...base.command(...where), '--ttl-interval=1s'] };
const servers = [];
async function start(name) {
  const server = makeServer(contender, await freePort(), path.join(scratch, name));
  server.prepare();
  await server.start();
  servers.push(server);
  const client = new Client(server.port);
  await client.createTable('bench', [['pk', 'S']]);
  await client.fill('bench', item, kItems);
  return { server, client, results: [] };
}
async function deleted({ server }) {
  const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text();
  const line = text.split('\n').find((one) => one.startsWith('stator_time_to_live_deleted_item_count_total{table="expiring"}'));
  return line === undefined ? 0 : Number(line.split(' ')[1]);
}

try {
  const quiet = await start('quiet');
  const sweeping = await start('sweeping');
  await sweeping.client.createTable('expiring', [['pk', 'S']]);
  const over = String(Math.floor(Date.now() / 1000));
  await sweeping.client.fill('expiring', (i) => ({ pk: { S: `e${i}` }, expires: { N: over }, data: { S: 'x'.repeat(100) } }), expired);
  await sweeping.client.call('UpdateTimeToLive', { TableName: 'expiring', TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true } });
  // The index is filled by the time that the sweep is well under way.
  while (await deleted(sweeping) === 0) await after(50);
  await after(3000);
  const first = await deleted(sweeping);
  for (let pair = 0; pair < pairs; pair++) {
    for (const [mine, other] of [[quiet, sweeping], [sweeping, quiet]]) {
      other.server.pause();
      mine.server.resume();
      mine.results.push(await measure(contender, mine.server, 'get', { seconds: 2, warm: 1, items: kItems, seed: pair + 1 }));
    }
  }
  quiet.server.resume();
  const last = await deleted(sweeping);
  console.log(`${last - first} of ${expired} items deleted meanwhile${last === expired ? ': all, take more or fewer pairs' : ''}`);
  for (const [name, { results }] of Object.entries({ quiet, sweeping })) {
    const of = (member) => median(results.map((one) => one[member]));
    console.log(`${name.padEnd(9)} ${Math.round(of('ops'))} requests/s, p50 ${of('p50')} ms, p99 ${of('p99')} ms, `
      + `CPU ${of('cpu').toFixed(1)} us/request, other processes ${(of('others') * 100).toFixed(0)} % of the core`);
  }
  const p99 = ({ results }) => median(results.map((one) => one.p99));
  console.log(`p99 while sweeping / p99 without: ${(p99(sweeping) / p99(quiet)).toFixed(2)}`);
  const started = performance.now();
  while (await deleted(sweeping) < expired) await after(100);
  console.log(`without load ${Math.round((expired - last) / ((performance.now() - started) / 1000))} items a second`);
  quiet.client.close();
  sweeping.client.close();
} finally {
  for (const server of servers) await server.stop();
  rmSync(scratch, { recursive: true, force: true });
}
