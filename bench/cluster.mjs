// Stator on a Ceph cluster of its own beside raw librados on the same cluster, in one run; everything shares the machine's
// cores.
//
//   node bench/cluster.mjs [--store memstore|bluestore] [--processes N] [--items N] [--rounds N] [--seconds N] [--only WORKLOAD]
//
// Prints the figures of Stator, those of the raw operation that each is compared with (rados_bench, right before and after), and the ratios:
// of requests per second, or of p50 to the mean time of a raw operation.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { Server } from '../tests/sdk/harness.mjs';
import { Client, item } from './items.mjs';
import { wrkServed } from './load.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..');
const { values: options } = parseArgs({
  options: {
    store: { type: 'string', default: 'memstore' }, processes: { type: 'string', default: '1' }, items: { type: 'string', default: '16000' },
    rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '3' }, port: { type: 'string', default: '13900' }, only: { type: 'string', default: '' },
  },
});
const items = Number(options.items);
const seconds = Number(options.seconds);
const dir = path.join(root, 'build', 'cluster-bench');
const rados = process.env.STATOR_RADOS_BENCH ?? path.join(root, 'build/release/bench/rados_bench');

function cluster(...words) {
  const done = spawnSync(path.join(root, 'tests/cluster/cluster'), ['--dir', dir, ...words], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`cluster ${words.join(' ')}: ${done.stderr}`);
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

// Requests per second and p50 in milliseconds.
async function load(port, workload, connections, seed) {
  const { ops, p50 } = await wrkServed(port, workload, connections, { seconds, items, seed });
  return { rate: ops, p50 };
}

// Operations per second, and the mean milliseconds of one.
function raw(name) {
  const done = spawnSync(rados, [`--benchmark_filter=^${name}/process_time`, '--benchmark_format=json', '--benchmark_min_time=0.5'], {
    encoding: 'utf8', env: { ...process.env, STATOR_CEPH_CONF: `${dir}/ceph.conf` }, maxBuffer: 1 << 26,
  });
  if (done.status !== 0) throw new Error(`rados_bench: ${done.stderr}`);
  const [one] = JSON.parse(done.stdout.slice(done.stdout.indexOf('{'))).benchmarks;
  const ms = one.real_time * { ns: 1e-6, us: 1e-3, ms: 1 }[one.time_unit];
  return { rate: one.items_per_second ?? 1e3 / ms, ms };
}

// Workload, connections, the raw operation that it is compared with, and the figure compared.
const kWorkloads = [
  ['get16', 1], ['get16', 64, 'RawGet/64/16', 'rate'], ['put16', 1, 'RawGuardedPut/1/1', 'time'],
  ['put16', 64, 'RawGuardedPut/64/16', 'rate'], ['transact2', 1, 'RawGuardedPut/1/1', 'time'], ['query100new', 1, 'RawRange', 'time'], ['query100', 1, 'RawRange', 'time'],
].filter(([workload]) => !options.only || workload === options.only);

cluster('destroy');
cluster('up', '--store', options.store, '--port', options.port);
const servers = [];
let failed = false;
try {
  for (let i = 0; i < Number(options.processes); i++) {
    servers.push(await Server.start({
      dataDir: null, readyWithin: 30000,
      args: ['--engine=rados', `--ceph-conf=${dir}/ceph.conf`, '--ceph-user=stator', '--pool=stator'],
    }));
  }
  const client = new Client(servers[0].port);
  const names = Array.from({ length: 16 }, (_, i) => `bench_${String(i).padStart(2, '0')}`);
  for (const name of names) await client.createTable(name, [['pk', 'S']]);
  await client.createTable('bench_collections', [['pk', 'S'], ['sk', 'N']]);
  for (const [at, name] of names.entries()) await client.fill(name, (i) => item(i * 16 + at), items / 16);
  await client.fill('bench_collections', (i) => ({
    pk: { S: `coll#${String(Math.floor(i / 100)).padStart(8, '0')}` }, sk: { N: String(i % 100 + 10) }, data: { S: item(i).data.S },
  }), items);
  client.close();

  const rows = new Map(kWorkloads.map(([workload, connections]) => [`${workload}/${connections}`, []]));
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const [workload, connections, name, by] of kWorkloads) {
      await load(servers[0].port, workload, connections, 1000 + round); // warm
      // The machine's speed changes within a minute, so the raw operation is measured before and
      // after.
      const compared = name !== undefined && existsSync(rados);
      const before = compared ? raw(name) : undefined;
      const figures = await load(servers[round % servers.length].port, workload, connections, round);
      if (compared) {
        const after = raw(name);
        figures.rawRate = (before.rate + after.rate) / 2;
        figures.rawMs = (before.ms + after.ms) / 2;
        figures.ratio = by === 'rate' ? figures.rate / figures.rawRate : figures.p50 / figures.rawMs;
      }
      rows.get(`${workload}/${connections}`).push(figures);
    }
  }
  console.log(`${options.store}, ${options.processes} process(es), ${items} items of 1 KB in 16 tables, medians of ${options.rounds} rounds\n`);
  console.log('workload/connections      1/s   p50 ms   raw                    1/s       ms    ratio  (of each round)');
  for (const [workload, connections, name] of kWorkloads) {
    const row = rows.get(`${workload}/${connections}`);
    const middle = (of, digits, width) => median(row.map((one) => one[of])).toFixed(digits).padStart(width);
    let line = `${workload}/${connections}`.padEnd(20) + middle('rate', 0, 9) + middle('p50', 3, 9);
    if (row[0].ratio !== undefined) {
      line += `   ${name.padEnd(19)}${middle('rawRate', 0, 8)}${middle('rawMs', 3, 9)}${middle('ratio', 2, 9)}  (${row.map((one) => one.ratio.toFixed(2)).join(' ')})`;
    }
    console.log(line);
  }
} catch (error) {
  failed = true;
  console.error(error);
  for (const server of servers) console.error(server.output);
} finally {
  for (const server of servers) await server.stop();
  cluster('destroy');
}
process.exit(failed ? 1 : 0);
