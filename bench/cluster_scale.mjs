// Compares several servers of one Ceph pool with one of them: the same clients, once all at one server and once spread over all, by
// turns, with writes handed over (--forward-writes=on) and without. Everything shares the machine's cores.
//
//   node bench/cluster_scale.mjs [--servers N] [--clients N] [--items N] [--rounds N] [--seconds N] [--workloads put,condput,update] [--modes on,off]
//
// Prints requests per second, p50 and p99 in milliseconds, and the CPU of servers and OSDs per request in microseconds: of one server, of
// all, and their ratio; medians of the rounds.
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
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
    servers: { type: 'string', default: '3' }, clients: { type: 'string', default: '33' }, items: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '5' }, port: { type: 'string', default: '13950' },
    workloads: { type: 'string', default: 'put' }, modes: { type: 'string', default: 'on,off' },
  },
});
const [count, clients, items, rounds, seconds] = ['servers', 'clients', 'items', 'rounds', 'seconds'].map((name) => Number(options[name]));
const dir = path.join(root, 'build', 'cluster-scale');
const kTicksPerSecond = Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout) || 100;

function cluster(...words) {
  const done = spawnSync(path.join(root, 'tests/cluster/cluster'), ['--dir', dir, ...words], { encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`cluster ${words.join(' ')}: ${done.stderr}`);
}
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

// Microseconds of the processor that these processes have used.
function cpuOf(pids) {
  let ticks = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    ticks += Number(fields[11]) + Number(fields[12]);
  }
  return (ticks * 1e6) / kTicksPerSecond;
}
const osds = () => readdirSync(path.join(dir, 'run')).filter((name) => /^osd\.\d+\.pid$/.test(name)).map((name) => Number(readFileSync(path.join(dir, 'run', name), 'utf8')));

// `ports`: of the servers among which the clients are divided.
async function load(servers, ports, workload, seed) {
  const pids = [...servers.map((server) => server.child.pid), ...osds()];
  const before = cpuOf(pids);
  const all = await Promise.all(ports.map((port, i) => wrkServed(port, workload, Math.floor(clients / ports.length) + (i < clients % ports.length ? 1 : 0), { seconds, items, seed: seed + i })));
  const cpu = cpuOf(pids) - before;
  const sum = (of) => all.reduce((total, each) => total + each[of], 0);
  return { rate: sum('ops'), p50: median(all.map((each) => each.p50)), p99: Math.max(...all.map((each) => each.p99)), cpu: cpu / sum('requests') };
}

async function counters(servers) {
  const totals = {};
  for (const server of servers) {
    const text = await (await fetch(`${server.endpoint}/metrics`)).text();
    for (const [, name, value] of text.matchAll(/^stator_(links\w*|kv_rados_races|kv_rados_groups) (\S+)$/gm)) totals[name] = (totals[name] ?? 0) + Number(value);
  }
  return totals;
}

let failed = false;
cluster('destroy');
cluster('up', '--store', 'memstore', '--port', options.port);
try {
  for (const mode of options.modes.split(',')) {
    const servers = [];
    try {
      for (let i = 0; i < count; i++) {
        servers.push(await Server.startOne({
          dataDir: null, readyWithin: 60000,
          args: ['--engine=rados', `--ceph-conf=${dir}/ceph.conf`, '--ceph-user=stator', '--pool=stator', `--ceph-namespace=scale-${mode}`, `--forward-writes=${mode}`],
        }));
      }
      const client = new Client(servers[0].port);
      await client.createTable('bench', [['pk', 'S']]);
      await client.fill('bench', item, items);
      client.close();
      for (const workload of options.workloads.split(',')) {
        const one = [], many = [];
        await load(servers, servers.map((server) => server.port), workload, 1000);
        for (let round = 0; round < rounds; round++) {
          one.push(await load(servers, [servers[round % count].port], workload, round * 10));
          many.push(await load(servers, servers.map((server) => server.port), workload, round * 10 + 5));
        }
        const of = (list, name) => median(list.map((each) => each[name]));
        const line = (list) => `${of(list, 'rate').toFixed(0).padStart(7)}/s  p50 ${of(list, 'p50').toFixed(1)}  p99 ${of(list, 'p99').toFixed(1)}  CPU ${of(list, 'cpu').toFixed(0)} us`;
        console.log(`forward-writes=${mode} ${workload}`);
        console.log(`  one server    ${line(one)}`);
        console.log(`  ${count} servers     ${line(many)}`);
        console.log(`  ratio ${(of(many, 'rate') / of(one, 'rate')).toFixed(2)}  CPU ${(of(many, 'cpu') / of(one, 'cpu')).toFixed(2)}   (rounds: ${many.map((each, i) => (each.rate / one[i].rate).toFixed(2)).join(' ')})`);
      }
      console.log(`  ${JSON.stringify(await counters(servers))}`);
    } finally {
      for (const server of servers) if (failed) console.error(server.output);
      await Promise.all(servers.map((server) => server.kill()));
    }
  }
} catch (error) {
  failed = true;
  console.error(error);
} finally {
  cluster('destroy');
}
process.exit(failed ? 1 : 0);
