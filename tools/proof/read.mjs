// Reads what a suite printed. Each reader takes the text of a log and returns the facts in it, as data that `merge` can add
// up; a log without such facts gives {}. `totals` counts tests by the closing lines that all suites share.

const plain = (text) => text.replace(/\x1b\[[0-9;]*m/g, '');
const all = (text, pattern) => [...text.matchAll(pattern)];
const number = (text) => Number(text.replaceAll(',', ''));

/** {passed, failed, closed}: by the closing lines of a log. `closed` is false if the log has none: the suite did not end. */
export function totals(log) {
  let passed = 0;
  let failed = 0;
  let closed = false;
  const add = (good, bad) => {
    passed += good;
    failed += bad;
    closed = true;
  };
  for (const line of plain(log).split('\n')) {
    let match;
    if ((match = line.match(/tests passed, (\d+) tests? failed out of (\d+)/))) add(match[2] - match[1], +match[1]);
    else if ((match = line.match(/^[#ℹ] pass (\d+)$/))) add(+match[1], 0);
    else if ((match = line.match(/^[#ℹ] (?:fail|cancelled) (\d+)$/))) add(0, +match[1]);
    else if ((match = line.match(/^Ran (\d+) tests? in /))) add(+match[1], 0);
    else if (/^(OK|FAILED) \(/.test(line)) {
      for (const [, what, many] of all(line, /(failures|errors|unexpected successes|skipped)=(\d+)/g)) {
        add(-many, what === 'skipped' ? 0 : +many);
      }
    } else if ((match = line.match(/^(\d+) passed, (\d+) failed/))) add(+match[1], +match[2]);
  }
  return { passed, failed, closed };
}

// A JSON object that ends its line.
function object(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a line that was cut off
  }
}

function crash(log) {
  const facts = { kills: 0, durabilities: {}, seeds: [] };
  for (const [line] of all(log, /^\{"durability":.*\}$/gm)) {
    const run = object(line);
    if (!run) continue;
    facts.kills += run.kills;
    const kind = run.encrypted ? `${run.durability}, encrypted` : run.durability;
    facts.seeds.push(`${kind} ${run.seed}`);
    facts.durabilities[kind] = merge(facts.durabilities[kind] ?? {}, {
      kills: run.kills, acknowledged: run.acknowledged, unanswered: run.undecided, 'stream records': run.records, shards: run.shards,
    });
  }
  return facts.kills > 0 ? facts : {};
}

const kWorkloads = ['registers', 'transfers', 'indexes', 'counters', 'tables'];
const kFaults = ['killServer', 'freezeServer', 'cutServer', 'cutServerLong', 'killOsd', 'freezeOsd', 'killMonitor'];

// The histories of tests/sim, on one server and on a cluster. A history counts when its checker has found an explanation.
function histories(log) {
  const facts = { histories: 0, kills: 0, workloads: {}, faults: {}, seeds: [] };
  let seed;
  for (const line of log.split('\n')) {
    const [, named] = line.match(/^seed (\S+)$/) ?? [];
    if (named) seed = named;
    const [, name, seconds, json] = line.match(/^ok    (\w+) ([\d.]+) s (\{.*\})$/) ?? [];
    const counts = name && kWorkloads.includes(name) && object(json);
    if (!counts) continue;
    facts.histories++;
    facts.kills += counts.kills ?? 0;
    facts.seeds.push(`${name} ${seed}`);
    const { answered, unanswered } = counts;
    facts.workloads[name] = merge(facts.workloads[name] ?? {}, {
      histories: 1, seconds: Number(seconds), answered, unanswered, kills: counts.kills ?? 0, partSplits: counts.partSplits ?? 0,
    });
    for (const fault of kFaults) if (counts[fault]) facts.faults[fault] = (facts.faults[fault] ?? 0) + counts[fault];
  }
  return facts.histories > 0 ? facts : {};
}

// Tests of GoogleTest by suite, as the program prints them.
function googletest(log) {
  const suites = {};
  for (const [, outcome, suite] of all(log, /^\[ +(OK|FAILED) +\] ([\w/]+)\.\S+ \(\d+ ms\)/gm)) {
    const [bare] = suite.split('/').slice(-1);
    suites[bare] ??= { passed: 0, failed: 0 };
    suites[bare][outcome === 'OK' ? 'passed' : 'failed']++;
  }
  return Object.keys(suites).length > 0 ? { suites } : {};
}

function cluster(log) {
  return { ...histories(log), ...googletest(log) };
}

// tests/crash of the disk: power cuts of a file system that forgets (PowerCut in src/kv_rocks).
function powerCuts(log) {
  const facts = { cuts: 0, unknown: 0, seeds: [] };
  for (const [, cuts, seed, holes, unknown] of all(log, /power cuts (\d+), seed (\d+), (pages in order|pages out of order), found unacknowledged (\d+)/g)) {
    facts.cuts += Number(cuts);
    facts.unknown += Number(unknown);
    facts.seeds.push(`${holes} ${seed}`);
  }
  return facts.cuts > 0 ? facts : {};
}

// The stores that run in one thread, every event from a seed.
function simulations(log) {
  const facts = { simulated: {} };
  for (const [, name, from, to] of all(log, /(\w+): simulated seeds (\d+) to (\d+)/g)) {
    const one = (facts.simulated[name] ??= { seeds: 0, ranges: [] });
    one.seeds += Number(to) - Number(from) + 1;
    one.ranges.push(`${from} to ${to}`);
  }
  return Object.keys(facts.simulated).length > 0 ? facts : {};
}

function fuzz(log) {
  const targets = {};
  for (const [, name, inputs, seconds, covered, edges, corpus] of
    all(log, /^ok    fuzz_(\w+): (\d+) inputs in (\d+) s, (\d+) of (\d+) edges covered by (\d+) inputs kept/gm)) {
    targets[name] = merge(targets[name] ?? {}, {
      inputs: Number(inputs), seconds: Number(seconds), mostCovered: Number(covered), mostEdges: Number(edges), mostKept: Number(corpus),
    });
  }
  return Object.keys(targets).length > 0 ? { targets } : {};
}

function diff(log) {
  const facts = { requests: 0, equal: 0, explained: 0, unexplained: 0, operations: {}, seeds: [] };
  for (const [, seed, requests, equal, explained, unexplained] of
    all(log, /^seed (\S+): (\d+) requests, (\d+) equal, (\d+) explained, (\d+) unexplained/gm)) {
    facts.requests += Number(requests);
    facts.equal += Number(equal);
    facts.explained += Number(explained);
    facts.unexplained += Number(unexplained);
    facts.seeds.push(seed);
  }
  for (const [, json] of all(log, /^by operation: (\{.*\})$/gm)) facts.operations = merge(facts.operations, object(json) ?? {});
  return facts.requests > 0 ? facts : {};
}

function access(log) {
  const [, pairs, , differences] = log.match(/^(?:# )?(\d+) pairs, (\d+) allowed, \d+ denied explicitly, (\d+) differences/m) ?? [];
  return pairs ? { pairs: Number(pairs), differences: Number(differences) } : {};
}

// The tables that ./dev bench prints, workload by workload, and its machine.
function bench(log) {
  const facts = { workloads: {}, ratios: [] };
  const [, cpu, sync] = log.match(/^(.*, \d+ cores); one fdatasync here: ([\d.]+) ms$/m) ?? [];
  if (!cpu) return {};
  Object.assign(facts, { cpu, mostSyncMs: Number(sync) });
  const [, shape] = log.match(/^(\d+ items of 1 KB, .*)$/m) ?? [];
  facts.shape = shape;
  let workload;
  for (const line of log.split('\n')) {
    const cells = line.split('|').slice(1, -1).map((cell) => cell.trim());
    if (cells[1] === 'ops/s') workload = cells[0];
    else if (cells.length === 4 && ['', 'reached', 'missed'].includes(cells[3]) && /^[\d.,]+$/.test(cells[1])) {
      facts.ratios.push({ what: cells[0], value: cells[1], goal: cells[2], reached: cells[3] });
    }
    else if (cells.length === 0) workload = undefined;
    else if (workload && cells.length === 9 && /^[\d,]+$/.test(cells[1])) {
      (facts.workloads[workload] ??= {})[cells[0]] = { ops: number(cells[1]), p99: number(cells[3]), cpu: number(cells[5]), lost: cells[6] };
    }
  }
  return Object.keys(facts.workloads).length > 0 ? facts : {};
}

const none = () => ({});

/** Reader of the log of a command of ./dev, by the command's name. */
export const readers = {
  crash, sim: histories, 'cluster-test': cluster, unit: (log) => ({ ...powerCuts(log), ...simulations(log) }), fuzz, diff, access, bench,
};
export const read = (command, log) => (readers[command] ?? none)(plain(log));

/** Adds up two sets of facts: numbers are added, of `most...` the larger is kept, lists are joined, texts must agree. */
export function merge(a, b) {
  const sum = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const was = sum[name];
    if (was === undefined) sum[name] = value;
    else if (typeof value === 'number') sum[name] = /^most[A-Z]/.test(name) ? Math.max(was, value) : was + value;
    else if (Array.isArray(value)) sum[name] = [...was, ...value];
    else if (typeof value === 'object') sum[name] = merge(was, value);
    else if (was !== value) sum[name] = `${was}; ${value}`;
  }
  return sum;
}
