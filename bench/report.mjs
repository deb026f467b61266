// Medians, tables, and the ratios that the project is measured by.
export function median(values) {
  const sorted = values.filter((value) => value !== null && value !== undefined).sort((a, b) => a - b);
  if (sorted.length === 0) return null;
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function medians(rounds) {
  const of = (field) => median(rounds.map((round) => round[field]));
  return {
    ops: of('ops'), p50: of('p50'), p99: of('p99'), p999: of('p999'), cpu: of('cpu'), rounds: rounds.length,
    lowest: Math.min(...rounds.map((round) => round.ops)), highest: Math.max(...rounds.map((round) => round.ops)),
    others: of('others'), requests: of('requests'), scanned: of('scanned'), seconds: of('seconds'), errors: rounds.reduce((sum, round) => sum + round.errors, 0),
  };
}

const number = (value, digits = 2) => (value === null || value === undefined || Number.isNaN(value) ? '-' : value.toLocaleString('en-US',
  { minimumFractionDigits: digits, maximumFractionDigits: digits }));

export function table(head, rows) {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(2, ...all.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`;
  return [line(head), `| ${widths.map((w, i) => (i === 0 ? '-'.repeat(w) : `${'-'.repeat(w - 1)}:`)).join(' | ')} |`, ...rows.map(line)].join('\n');
}

export function workloadTable(name, results) {
  const rows = Object.entries(results).map(([id, r]) => [
    id, number(r.ops, 0), number(r.p50), number(r.p99), number(r.p999), number(r.cpu, 1), `${number(r.others * 100, 0)} %`, `${number(r.lowest, 0)}..${number(r.highest, 0)}`,
    String(r.errors)]);
  return table([name, 'ops/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'CPU us/op', 'core lost', 'ops/s over rounds', 'errors'], rows);
}

export function processTable(servers) {
  const rows = Object.entries(servers).map(([id, s]) => [
    id, s.syncs === null ? 'not seen' : Object.entries(s.syncs).map(([call, n]) => `${call} ${number(n)}`).join(', ') || 'none',
    s.shared === null || s.shared === undefined ? '-' : number(s.shared, 3),
    number(s.firstReplyMs, 0), number(s.idleMb, 0), number(s.peakMb, 0), number(s.loadS, 1)]);
  return table(['server', 'syncs per put, alone', 'per put, 32 at once', 'first reply ms', 'idle RSS MB', 'peak RSS MB', 'loaded in s'], rows);
}

// Returns the durability of an acknowledged put, judged by the syncs counted: memory, os (no sync),
// fsync, or unknown.
export function durability(contender, server) {
  if (contender.memory) return 'memory';
  if (!server || server.syncs === null) return 'unknown';
  const syncs = (server.syncs.fsync ?? 0) + (server.syncs.fdatasync ?? 0) + (server.syncs.msync ?? 0);
  return syncs >= 0.9 ? 'fsync' : 'os';
}

// The wanted rate of a workload, as a share of another workload's rate on the same server.
const kOwnGoals = [['query', 'get', 0.5], ['smallquery', 'smallget', null], ['condput', 'put', 0.85], ['gsiput', 'put', 0.5],
  ['gsimove', 'put', null], ['putstream', 'put', 0.6], ['putpitr', 'putstream', 1], ['transact', 'put', 0.3]];

// [{what, value, goal, reached}], as far as both sides were measured.
export function ratios(contenders, workloads, servers) {
  const found = [];
  const add = (what, value, goal, atLeast) => {
    if (value === null || !Number.isFinite(value)) return;
    found.push({ what, value, goal: goal === null ? '' : `${atLeast ? '>=' : '<='} ${goal}`,
      reached: goal === null ? null : (atLeast ? value >= goal : value <= goal) });
  };
  const get = workloads.get ?? {};
  const put = workloads.put ?? {};
  for (const id of ['stator', 'stator-memory']) {
    if (get[id] && get.nginx) add(`get CPU: ${id} / nginx`, get[id].cpu / get.nginx.cpu, 1.67, false);
  }
  for (const id of ['stator', 'stator-memory']) {
    const execute = (workloads.execute ?? {})[id];
    if (get[id] && execute) add(`execute rate: ${id} / its get`, execute.ops / get[id].ops, 0.7, true);
  }
  if (get.stator && get.redis) add('get rate: stator / redis GET', get.stator.ops / get.redis.ops, null, true);
  if (put.stator && put.redis) add('put rate: stator / redis SET (fsync always)', put.stator.ops / put.redis.ops, 0.6, true);
  for (const id of ['stator', 'stator-os', 'stator-memory']) {
    for (const [workload, base, goal] of kOwnGoals) {
      const [one, other] = [workloads[workload]?.[id], workloads[base]?.[id]];
      if (one && other) add(`${id}: ${workload} / ${base}`, one.ops / other.ops, goal, true);
    }
    const filter = workloads.filter?.[id];
    if (filter) {
      const megabytes = filter.scanned * 1024 / 1e6; // items are of 1,024 bytes
      add(`${id}: filter, MB/s read`, megabytes / filter.seconds, null, true);
      add(`${id}: filter, MB read per second of CPU`, megabytes / (filter.requests * filter.cpu / 1e6), 300, true);
    }
  }
  const pairs = [['stator-memory', (kind) => kind === 'memory', 'in memory'], ['stator-os', (kind) => kind === 'os', 'on disk, unsynced'],
    ['stator', (kind) => kind === 'fsync', 'synced'], ['stator', (kind) => kind === 'os' || kind === 'fsync', 'on disk, synced or not']];
  for (const [workload, results] of Object.entries(workloads)) {
    for (const [ours, alike, words] of pairs) {
      const peers = contenders.filter((c) => !c.ours && c.speaks === 'dynamodb' && results[c.id] && alike(durability(c, servers[c.id])));
      if (!results[ours] || peers.length === 0) continue;
      const best = peers.reduce((a, b) => (results[a.id].ops >= results[b.id].ops ? a : b));
      const strict = words !== 'on disk, synced or not';
      add(`${workload}: ${ours} / ${best.id} (best peer ${words})`, results[ours].ops / results[best.id].ops, strict ? 4 : null, true);
    }
  }
  if (servers.stator) {
    add('first reply on an empty store, ms', servers.stator.firstReplyMs, 50, false);
    add('idle RSS, MB', servers.stator.idleMb, 40, false);
  }
  return found;
}

export function ratioTable(found) {
  if (found.length === 0) return 'no ratios: Stator was not among the servers';
  return table(['ratio', 'value', 'goal', ''], found.map((r) => [r.what, number(r.value), r.goal, r.reached === null ? '' : r.reached ? 'reached' : 'missed']));
}
