// ./dev bench: Stator, its peers, nginx and Redis on one core, the load on another, in one run. See README.md.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, fdatasyncSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { freePort } from '../tests/sdk/harness.mjs';
import { contenders, makeServer, versions } from './contenders.mjs';
import { Client, item, loadTables } from './items.mjs';
import { fillRedis, kConnections, measure } from './load.mjs';
import { durability, median, medians, processTable, ratios, ratioTable, workloadTable } from './report.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
// Workloads that compare Stator with itself run on Stator only.
const kOwnWorkloads = ['putstream', 'putpitr', 'smallget', 'smallquery', 'gsiput', 'gsimove', 'transact', 'filter'];
const kWorkloads = ['get', 'execute', 'put', 'condput', 'update', 'query', 'mixed', ...kOwnWorkloads];
const kLoadCore = '1';

if (process.argv[2] === 'hostile' || process.argv[2] === 'soak') {
  const { main } = await import(`./${process.argv[2]}.mjs`);
  process.exit(await main(process.argv.slice(3)));
}

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false }, only: { type: 'string' }, json: { type: 'string' }, items: { type: 'string' },
    seconds: { type: 'string' }, warm: { type: 'string' }, rounds: { type: 'string' }, load: { type: 'boolean', default: false },
    'load-items': { type: 'string', default: '1000000' }, 'load-args': { type: 'string', default: '' }, 'budget-mb': { type: 'string', default: '256' },
    data: { type: 'string', default: path.join(here, '..', 'build', 'bench-data') }, help: { type: 'boolean', default: false },
  },
});
if (options.help) {
  console.log(`./dev bench [--quick] [--only NAMES] [--rounds N] [--seconds N] [--items N] [--json FILE] [--data DIR]
            [--load [--load-items N] [--load-args 'FLAGS'] [--budget-mb N]]
NAMES, with commas: servers (${contenders.map((c) => c.id).join(', ')}; peers for all but Stator's)
and workloads (${kWorkloads.join(', ')}).`);
  process.exit(0);
}
const items = Number(options.items ?? (options.quick ? 10000 : 100000));
const rounds = Number(options.rounds ?? (options.quick ? 1 : 3));
const seconds = Number(options.seconds ?? (options.quick ? 2 : 4));
const warm = Number(options.warm ?? (options.quick ? 1 : 2));

const only = options.only ? options.only.split(',') : [];
for (const name of only) {
  if (name !== 'peers' && !kWorkloads.includes(name) && !contenders.some((c) => c.id === name)) {
    console.error(`nothing is called '${name}'; see --help`);
    process.exit(2);
  }
}
const workloads = kWorkloads.filter((w) => only.includes(w) || !only.some((name) => kWorkloads.includes(name)));
const chosen = contenders.filter((c) => only.includes(c.id) || (only.includes('peers') && !c.ours) ||
  (!c.byName && only.every((name) => kWorkloads.includes(name))));

// The driver, wrk and redis-benchmark inherit the load's core; servers are moved to theirs when they start.
if (os.cpus().length < 2) console.error('one core only: server and load share it, and the figures say little');
else spawnSync('taskset', ['-cp', '-a', kLoadCore, String(process.pid)]);

mkdirSync(options.data, { recursive: true });
const scratch = mkdtempSync(path.join(options.data, 'run-'));
const staticReply = JSON.stringify({ Item: item(1) });
const running = new Map();
const failures = [];
const fail = (text) => {
  failures.push(text);
  console.error(`FAIL ${text}`);
};

async function start(contender, name = contender.id) {
  const dir = path.join(scratch, name);
  mkdirSync(dir, { recursive: true });
  const server = makeServer(contender, await freePort(), dir, staticReply);
  server.prepare();
  try {
    await server.start();
  } catch (error) {
    throw new Error(`${name} does not start: ${error.message}\n${server.logTail()}`);
  }
  running.set(name, server);
  return server;
}

async function stop(name) {
  const server = running.get(name);
  running.delete(name);
  await server.stop();
  rmSync(server.dir, { recursive: true, force: true });
}

// The time of one fdatasync of 4 KB appended to a file beside the stores: what a synced write costs at least.
function syncMs() {
  const file = path.join(scratch, 'probe');
  const fd = openSync(file, 'w');
  const block = Buffer.alloc(4096, 7);
  const times = [];
  for (let i = 0; i < 300; i++) {
    writeSync(fd, block);
    const before = performance.now();
    fdatasyncSync(fd);
    times.push(performance.now() - before);
  }
  closeSync(fd);
  rmSync(file);
  return median(times);
}

// Start-up on an empty store and memory at rest, over a few fresh starts.
async function startUp(contender) {
  const times = [];
  let idleMb = 0;
  for (let i = 0; i < (contender.ours ? 7 : 3); i++) {
    spawnSync('sync'); // otherwise the first fsync would wait for the writes of other processes
    const server = await start(contender, `${contender.id}-start`);
    times.push(server.firstReplyMs);
    if (i === 0) {
      await after(500); // at rest, not only started
      idleMb = server.rssMb();
    }
    await stop(`${contender.id}-start`);
  }
  return { firstReplyMs: median(times), idleMb };
}

// Counts the server's syncs for 50 puts one after the other, and for 640 puts that come 32 at a
// time.
async function countSyncs(contender, server) {
  if (contender.speaks === 'nginx') return { syncs: {}, shared: null };
  const client = contender.speaks === 'dynamodb' ? new Client(server.port, kConnections) : null;
  const kAlone = 50;
  const kTogether = 640;
  const put = (i) => client.call('PutItem', { TableName: 'bench', Item: item(i % items) });
  const redis = (connections, requests) => spawnSync('redis-benchmark',
    ['-p', String(server.port), '-c', String(connections), '-n', String(requests), '-d', '1024', '-r', '100000', '-t', 'set', '-q']);
  const alone = await server.syncsDuring(async () => {
    if (!client) return redis(1, kAlone);
    for (let i = 0; i < kAlone; i++) await put(i);
  });
  const together = await server.syncsDuring(async () => {
    if (!client) return redis(kConnections, kTogether);
    let next = 0;
    const worker = async () => { while (next < kTogether) await put(next++); };
    await Promise.all(Array.from({ length: kConnections }, worker));
  });
  client?.close();
  const total = (calls) => (calls.fsync ?? 0) + (calls.fdatasync ?? 0) + (calls.msync ?? 0);
  return {
    syncs: alone && Object.fromEntries(Object.entries(alone).map(([call, n]) => [call, n / kAlone])),
    shared: together && total(together) / kTogether,
  };
}

async function main() {
  const servers = {};
  const results = {};
  const machine = {
    date: new Date().toISOString(), cpu: os.cpus()[0].model, cores: os.cpus().length, memoryGb: Math.round(os.totalmem() / 2 ** 30),
    kernel: os.release(), fdatasyncMs: syncMs(), versions: versions(),
  };
  console.log(`${machine.cpu}, ${machine.cores} cores; one fdatasync here: ${machine.fdatasyncMs.toFixed(3)} ms`);
  console.log(`${items} items of 1 KB, ${kConnections} connections, ${rounds} round(s) of ${seconds} s after ${warm} s of warming\n`);

  const ready = [];
  for (const contender of chosen) {
    try {
      const entry = contender.speaks === 'dynamodb' ? await startUp(contender) : {};
      const server = await start(contender);
      const before = performance.now();
      if (contender.speaks === 'dynamodb') await loadTables(server.port, items, workloads.filter((w) => contender.ours || !kOwnWorkloads.includes(w)));
      if (contender.speaks === 'redis') await fillRedis(server.port);
      entry.loadS = (performance.now() - before) / 1000;
      Object.assign(entry, await countSyncs(contender, server));
      servers[contender.id] = entry;
      entry.durability = durability(contender, entry);
      server.pause();
      ready.push(contender);
      console.error(`${contender.id}: up and loaded in ${entry.loadS.toFixed(1)} s, durability as counted: ${entry.durability}`);
    } catch (error) {
      fail(error.message);
    }
  }

  const raw = {};
  for (let round = 0; round < rounds; round++) {
    for (const workload of workloads) {
      for (const contender of ready) {
        const fits = contender.speaks === 'dynamodb' || (workload === 'get') || (workload === 'put' && contender.speaks === 'redis');
        if (!fits || (kOwnWorkloads.includes(workload) && !contender.ours)) continue;
        const server = running.get(contender.id);
        server.resume();
        try {
          const result = await measure(contender, server, workload, { seconds, warm, items, seed: round + 1 });
          if (result.errors > 0) fail(`${contender.id} ${workload}: ${result.errors} error replies or broken connections\n${server.logTail()}`);
          ((raw[workload] ??= {})[contender.id] ??= []).push(result);
          console.error(`round ${round + 1} ${workload} ${contender.id}: ${Math.round(result.ops)} ops/s, ${result.cpu.toFixed(1)} us CPU`);
        } catch (error) {
          fail(`${contender.id} ${workload}: ${error.message}`);
        }
        if (server.alive()) server.pause();
      }
    }
  }
  for (const contender of ready) {
    const server = running.get(contender.id);
    if (server.alive()) servers[contender.id].peakMb = server.peakRssMb();
    else fail(`${contender.id} ended by itself\n${server.logTail()}`);
    await stop(contender.id);
  }
  for (const [workload, byServer] of Object.entries(raw)) {
    results[workload] = Object.fromEntries(Object.entries(byServer).map(([id, list]) => [id, medians(list)]));
    console.log(`${workloadTable(workload, results[workload])}\n`);
  }
  console.log(`${processTable(servers)}\n`);

  const report = { machine, items, rounds, seconds, connections: kConnections, servers, results, raw };
  report.ratios = ratios(contenders, results, servers);
  if (options.load) report.load = await bigLoad(report.ratios);
  console.log(`${ratioTable(report.ratios)}\n`);
  const file = options.json ?? path.join(here, 'results', `${machine.date.replace(/[:.]/g, '-')}.json`);
  mkdirSync(path.dirname(path.resolve(file)), { recursive: true });
  report.failures = failures;
  writeFileSync(file, `${JSON.stringify(report, null, 1)}\n`);
  console.log(`written to ${file}`);
}

// Loads many items through BatchWriteItem into a synced store of its own and watches its memory.
async function bigLoad(found) {
  const count = Number(options['load-items']);
  const flags = options['load-args'].split(' ').filter((flag) => flag !== '');
  const ours = contenders.find((c) => c.id === 'stator');
  const server = await start({ ...ours, command: (port, dir) => [...ours.command(port, dir), '--memory-budget-mb', options['budget-mb'], ...flags] }, 'stator-load');
  const client = new Client(server.port, kConnections);
  await client.createTable('bench', [['pk', 'S']]);
  const before = performance.now();
  await client.fill('bench', item, count, kConnections);
  const loadS = (performance.now() - before) / 1000;
  client.close();
  const result = { items: count, seconds: loadS, rssMb: server.rssMb(), peakMb: server.peakRssMb(), cpuUsPerItem: server.cpuUs() / count };
  await stop('stator-load');
  console.log(`${count} items of 1 KB loaded in ${loadS.toFixed(1)} s: RSS ${result.rssMb.toFixed(0)} MB, peak ${result.peakMb.toFixed(0)} MB\n`);
  const limit = Number(options['budget-mb']) + 200;
  found.push({ what: `peak RSS loading ${count} items, MB`, value: result.peakMb, goal: `<= ${limit}`, reached: result.peakMb <= limit });
  return result;
}

let code = 0;
const finish = async () => {
  for (const name of [...running.keys()]) await stop(name);
  if (existsSync(scratch)) rmSync(scratch, { recursive: true, force: true });
};
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => finish().then(() => process.exit(130)));
try {
  await main();
} catch (error) {
  fail(error.stack);
} finally {
  await finish();
}
if (failures.length > 0) {
  console.error(`${failures.length} failure(s):\n${failures.join('\n')}`);
  code = 1;
}
process.exit(code);
