// Writes the page of a proof from its data. Every figure of the page stands in the data; nothing is computed but sums.
import { merge } from './read.mjs';

const kSections = [
  ['suites', 'Suites'], ['kills', 'Kills and power cuts'], ['histories', 'Histories'], ['ceph', 'A Ceph cluster and its storms'],
  ['sanitizers', 'Sanitizers'], ['fuzz', 'Fuzzing'], ['conformance', 'Conformance with DynamoDB Local'], ['benchmark', 'Benchmark'],
];

const count = (value) => (value ?? 0).toLocaleString('en-US');
const plural = (many, one, more = `${one}s`) => `${count(many)} ${many === 1 ? one : more}`;
const minutes = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`);
const at = (date) => (date ? `${date.slice(0, 16).replace('T', ' ')} UTC` : '-');
const cell = (text) => String(text).replaceAll('|', '\\|');
// Columns but the first are numbers, and stand to the right; those named in `texts` do not.
const table = (head, rows, texts = []) => [head, head.map((name, i) => (i === 0 || texts.includes(name) ? '---' : '---:')), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
const words = (list) => list.map((word) => (/[^\w=.,:/-]/.test(word) ? `'${word}'` : word)).join(' ');
const command = ({ words: list, env }) => `\`${Object.entries(env ?? {}).map(([name, value]) => `${name}=${/^[\w-]+$/.test(value) ? value : `'${value}'`} `).join('')}./dev ${words(list)}\``;
const kNeeds = { root: 'needs root', ceph: 'starts a Ceph cluster', quiet: 'needs a machine without other work' };

const factsOf = (rows) => rows.filter((row) => row.done > 0).reduce((sum, row) => merge(sum, row.facts), {});
const seeds = (list) => {
  const shown = list.slice(0, 40).map((seed) => `\`${seed}\``).join(', ');
  return `Seeds: ${shown}${list.length > 40 ? `, and ${list.length - 40} more in the data` : ''}.`;
};

function state(row) {
  if (row.state === 'passed') return 'passed';
  if (row.state === 'failed') return '**failed**';
  if (row.state === 'partly') return 'passed as far as it ran';
  return '**not run**';
}

function overview(rows) {
  return table(['Piece', 'Slices', 'Passed', 'Failed', 'Time', 'State'], rows.map((row) => [
    row.id, `${row.done} of ${row.planned}${row.unit ? ` (${row.unit} each)` : ''}`,
    row.done ? count(row.passed) : '-', row.done ? count(row.failed) : '-', row.done ? minutes(row.seconds) : '-', state(row),
  ]), ['State']);
}

const sections = {
  suites(facts) {
    return facts.pairs ? [`\`access\` compared ${count(facts.pairs)} decisions with another implementation: ${plural(facts.differences, 'difference')}.`] : [];
  },
  kills(facts) {
    const lines = [];
    if (facts.kills) {
      lines.push(`${plural(facts.kills, 'kill')} of a loaded server:`);
      lines.push(table(['Durability', 'Kills', 'Acknowledged writes', 'Writes without an answer', 'Stream records'],
        Object.entries(facts.durabilities).map(([name, one]) => [name, count(one.kills), count(one.acknowledged), count(one.unanswered), count(one['stream records'])])));
    }
    if (facts.cuts) lines.push(`${plural(facts.cuts, 'simulated power cut')}; after ${count(facts.unknown)} of them a write that no one was told of was there, whole.`);
    if (facts.seeds) lines.push(seeds(facts.seeds));
    return lines;
  },
  histories(facts) {
    const lines = [];
    if (facts.histories) {
      lines.push(`${facts.histories === 1 ? '1 history' : `${count(facts.histories)} histories`} of concurrent clients with ${plural(facts.kills, 'kill')}, each explained by its checker:`);
      lines.push(table(['Workload', 'Histories', 'Seconds', 'Answered requests', 'Without an answer', 'Kills'],
        Object.entries(facts.workloads).map(([name, one]) => [name, count(one.histories), count(Math.round(one.seconds)), count(one.answered), count(one.unanswered), count(one.kills)])));
    }
    for (const [name, one] of Object.entries(facts.simulated ?? {})) lines.push(`${name} in one thread: ${plural(one.seeds, 'seed')} (${one.ranges.join(', ')}).`);
    if (facts.seeds) lines.push(seeds(facts.seeds));
    return lines;
  },
  ceph(facts) {
    const lines = [];
    if (facts.suites) {
      lines.push(table(['Tests on a cluster', 'Passed', 'Failed'], Object.entries(facts.suites).map(([name, one]) => [name, count(one.passed), count(one.failed)])));
    }
    if (facts.histories) {
      const faults = Object.entries(facts.faults);
      lines.push(`Workloads on three servers, ${faults.length > 0 ? 'through faults' : '**without a fault**'}:`);
      lines.push(table(['Workload', 'Histories', 'Seconds', 'Answered requests', 'Without an answer', 'Splits of parts'],
        Object.entries(facts.workloads).map(([name, one]) => [name, count(one.histories), count(Math.round(one.seconds)), count(one.answered), count(one.unanswered), count(one.partSplits)])));
      if (faults.length > 0) lines.push(table(['Fault', 'Times'], faults.map(([name, times]) => [name, count(times)])));
    }
    if (facts.seeds) lines.push(seeds(facts.seeds));
    return lines;
  },
  sanitizers: () => [],
  fuzz(facts) {
    if (!facts.targets) return [];
    return [table(['Target', 'Time', 'Inputs tried', 'Edges covered', 'of', 'Inputs kept'], Object.entries(facts.targets).map(([name, one]) =>
      [name, minutes(one.seconds), count(one.inputs), count(one.mostCovered), count(one.mostEdges), count(one.mostKept)])),
    'The edges are those of the whole binary of a target, libraries of the project included, so that no target can reach all.'];
  },
  conformance(facts) {
    if (!facts.requests) return [];
    return [`${count(facts.requests)} requests: ${count(facts.equal)} answered alike, ${count(facts.explained)} differ as a rule in \`tests/diff/known\` ` +
      `says, ${count(facts.unexplained)} differ otherwise.`,
    table(['Operation', 'Requests', 'Refused', 'Alike', 'Known difference', 'Unknown difference'], Object.entries(facts.operations).sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, one]) => [name, count(one.requests), count(one.refused), count(one.equal), count(one.explained), count(one.unexplained)])),
    seeds(facts.seeds)];
  },
  benchmark(facts) {
    if (!facts.workloads) return [];
    const lines = [`${facts.cpu}, one fdatasync of 4 KB takes ${facts.mostSyncMs} ms; ${facts.shape}. "Lost": the share of the server's core that other processes took.`];
    for (const [workload, servers] of Object.entries(facts.workloads)) {
      lines.push(table([workload, 'requests/s', 'p99 ms', 'CPU us', 'Lost'], Object.entries(servers).map(([name, one]) => [name, count(one.ops), one.p99, one.cpu, one.lost])));
    }
    if (facts.ratios.length > 0) {
      lines.push(table(['Ratio', 'Value', 'Goal', 'Goal is'], facts.ratios.map((one) => [one.what, one.value, one.goal || '-', one.reached || '-'])));
    }
    return lines;
  },
};

function failures(rows) {
  const lines = [];
  for (const row of rows) {
    for (const failure of row.failures) {
      lines.push(`- ${command(failure)}, ${at(failure.begin)}${failure.seed ? `, seed ${failure.seed}` : ''}` +
        `${failure.complaint ? `: ${failure.complaint}` : ''}${failure.tail ? `: \`${failure.tail.replaceAll('`', "'")}\`` : ''}`);
    }
  }
  return lines;
}

/** The page, in Markdown that prettier still has to wrap. */
export function page(data) {
  const run = data.pieces.filter((row) => row.done > 0);
  const missing = data.pieces.filter((row) => row.done === 0);
  const partly = data.pieces.filter((row) => row.done > 0 && row.done < row.planned);
  const bad = run.filter((row) => row.failed > 0);
  const sum = (field) => run.reduce((total, row) => total + row[field], 0);
  const { machine } = data;
  const out = [
    '# Proof',
    'The runs of `./dev proof` on this code, and the pieces that were not run. The page is written from the logs of the runs; its data is [proof.json](proof.json). It covers the commits that it names and no others. ' +
      '[testing.md](testing.md) says what each suite does.',
    table(['', 'In this proof'], [
      ['version', data.version], ['commits', data.commits.map((commit) => commit.slice(0, 7)).join(', ') || '-'],
      ['servers, as they name themselves', data.binaries.join(', ') || '-'],
      ['code (hash of `src` and its build files)', data.product.slice(0, 12)],
      ['run', `${at(data.first)} to ${at(data.last)}`],
      ['time of all pieces together', minutes(data.seconds)],
      ['pieces', `${run.length} run${partly.length > 0 ? ` (${partly.length} of them not in full)` : ''}, ${missing.length} not run`],
      ['tests and cases', `${count(sum('passed'))} passed, ${count(sum('failed'))} failed`],
      ['machine', `${machine.cpu}, ${plural(machine.cores, 'core')}, ${machine.memoryGb} GB, ${machine.system}, Linux ${machine.kernel}`],
      ['load of the machine during the runs', data.load ? `${data.load.least} to ${data.load.most} (average of a minute, own work included)` : '-'],
    ], ['In this proof']),
  ];
  if (data.uncommitted) out.push('**Some runs were of a tree with changes that were not committed.**');
  if (data.otherCode > 0) out.push(`${plural(data.otherCode, 'run')} of other code ${data.otherCode === 1 ? 'is' : 'are'} not counted.`);
  out.push(bad.length > 0 ? `**Failed: ${bad.map((row) => row.id).join(', ')}.**` : run.length > 0 ? 'Nothing that ran failed.' : 'Nothing was run.');
  if (bad.length > 0) out.push(failures(bad).join('\n'));
  for (const [section, title] of kSections) {
    const rows = data.pieces.filter((row) => row.section === section);
    if (rows.length === 0) continue;
    out.push(`## ${title}`, overview(rows));
    const done = rows.filter((row) => row.done > 0);
    if (section === 'suites') out.push(...sections.suites(factsOf(done)));
    else if (done.length === 0) out.push('Nothing of this was run.');
    else {
      out.push(done.map((row) => (row.failed > 0 ? `- ${row.id} **failed**, so this is not shown: ${row.shows}.` : `- ${row.id}: ${row.shows}.`)).join('\n'));
      out.push(...sections[section](factsOf(done)));
    }
  }
  out.push('## Known defects');
  out.push(data.defects.length > 0 ? data.defects.map(({ title, text }) => `- **${title}.** ${text}`).join('\n') : 'None is listed.');
  out.push('## Not run', missing.length === 0 ? 'Every piece was run.' :
    missing.map((row) => `- **${row.id}**, ${command(row)}${row.needs ? ` (${kNeeds[row.needs]})` : ''}: not shown here: ${row.shows}.`).join('\n'));
  if (partly.length > 0) out.push('Not in full:', partly.map((row) => `- **${row.id}**: ${row.done} of ${row.planned} slices.`).join('\n'));
  out.push('## What this does not show', [...run.filter((row) => row.not).map((row) => row.not), ...data.never].map((line) => `- ${line}`).join('\n'));
  return `${out.join('\n\n')}\n`;
}
