// One measurement: wrk or redis-benchmark against a server that is already up and filled.
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { coreBusyUs, run } from './process.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
export const kConnections = 32;

// `requests`, `ops` of them a second, latencies in milliseconds, and what else the script counted.
async function wrk(port, script, seconds, args, connections = kConnections) {
  const out = await run('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '20s', '--latency',
    '-s', path.join(here, 'wrk', script), `http://127.0.0.1:${port}/`, '--', ...args.map(String)]);
  const line = out.match(/^RESULT (.*)$/m);
  if (!line) throw new Error(`wrk said no result:\n${out}`);
  const r = JSON.parse(line[1]);
  return {
    requests: r.requests, ops: r.requests / (r.us / 1e6), p50: r.p50 / 1e3, p99: r.p99 / 1e3, p999: r.p999 / 1e3,
    errors: r.refused + r.broken, scanned: r.scanned, seconds: r.us / 1e6,
  };
}

// Likewise with a workload of dynamodb.lua of which nothing may fail.
export async function wrkServed(port, workload, connections, { seconds, items, seed }) {
  const result = await wrk(port, 'dynamodb.lua', seconds, [workload, items, seed], connections);
  if (result.errors) throw new Error(`${workload}: ${result.errors} refused or broken of ${result.requests}`);
  return result;
}

async function redisBenchmark(port, test, requests, extra = []) {
  const out = await run('redis-benchmark', ['-p', String(port), '-c', String(kConnections), '-n', String(requests), '-d', '1024',
    '-r', '100000', '-t', test, ...extra]);
  const rate = out.match(/throughput summary: ([\d.]+)/);
  const summary = out.match(/avg\s+min\s+p50\s+p95\s+p99\s+max\s+([\d.\s]+)/);
  if (!rate || !summary) throw new Error(`redis-benchmark said no summary:\n${out}`);
  const [, , p50, , p99] = summary[1].trim().split(/\s+/).map(Number);
  const high = [...out.matchAll(/([\d.]+)% <= ([\d.]+) milliseconds/g)].find(([, percent]) => Number(percent) >= 99.9);
  return { requests, ops: Number(rate[1]), p50, p99, p999: high ? Number(high[2]) : null, errors: 0 };
}

// Writes all of the 100,000 keys that redis-benchmark draws from (except one in e^10), without
// waiting for the disk meanwhile.
export async function fillRedis(port) {
  const set = (value) => run('redis-cli', ['-p', String(port), 'config', 'set', 'appendfsync', value]);
  await set('no');
  await redisBenchmark(port, 'set', 1000000, ['-P', '64']);
  await set('always');
}

// Loads `server` for about `seconds`, after `warm` seconds of the same load that do not count.
export async function measure(contender, server, workload, { seconds, warm, items, seed }) {
  let once;
  if (contender.speaks === 'redis') {
    const test = workload === 'get' ? 'get' : 'set';
    const probe = await redisBenchmark(server.port, test, 10000);
    once = (duration) => redisBenchmark(server.port, test, Math.max(10000, Math.round(probe.ops * duration)));
  } else if (contender.speaks === 'nginx') {
    once = (duration) => wrk(server.port, 'plain.lua', duration, []);
  } else {
    once = (duration, s) => wrk(server.port, 'dynamodb.lua', duration, [workload, items, s]);
  }
  const warmed = await once(warm, seed + 1000);
  const busyBefore = coreBusyUs();
  const before = server.cpuUs();
  const startedAt = performance.now();
  const result = await once(seconds, seed);
  const used = server.cpuUs() - before;
  result.cpu = used / result.requests;
  // The share of the server's core that other processes used: above a few percent, the rates are
  // too low.
  result.others = Math.max(0, (coreBusyUs() - busyBefore - used) / ((performance.now() - startedAt) * 1000));
  result.errors += warmed.errors;
  return result;
}
