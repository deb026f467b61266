// ./dev proof --short: judges the reader and the writer of proofs on the logs that the steps of this `./dev test` left in
// build/logs. Counts are compared with those of ./dev's own tally and with plain patterns; logs are cut off and failures
// put into them, and the page must not say that all is well.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { collect, defects, judge } from './collect.mjs';
import { page } from './page.mjs';
import { kNeverShown, pieces } from './pieces.mjs';
import { machine, version, wrapped } from './proof.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..', '..');
const logs = path.join(root, 'build', 'logs');

// The steps as ./dev noted them: name, exit status, seconds, and the counts of its tally.
const noted = path.join(logs, 'steps.tsv');
const steps = (existsSync(noted) ? readFileSync(noted, 'utf8') : '').split('\n').filter((line) => line !== '').map((line) => {
  const [name, exit, seconds, passed, failed, words] = line.split('\t');
  return { name, exit: Number(exit), seconds: Number(seconds), passed: Number(passed), failed: Number(failed), words: words.split(' '),
    log: readFileSync(path.join(logs, `${name}.log`), 'utf8') };
}).filter((step) => step.name !== 'proof');

const kSections = { crash: 'kills', sim: 'histories', 'cluster-test': 'ceph', fuzz: 'fuzz', diff: 'conformance' };
// One piece for each step; what a full proof has beyond them stays, and has no record.
const ran = new Set(steps.map((step) => step.name));
const shortPieces = [
  ...steps.map(({ name, words }) => ({ id: name, section: kSections[name] ?? 'suites', slices: 1, command: () => words, shows: `what ./dev ${name} shows` })),
  ...pieces.filter((piece) => !ran.has(piece.id) && !ran.has(piece.command(0, 0)[0])),
];

const record = (step, changes = {}) => {
  const { log, exit } = { ...step, ...changes };
  return { piece: step.name, slice: 0, words: step.words, commit: 'c'.repeat(40), product: 'this', dirty: false, begin: '2026-01-01T00:00:00.000Z',
    seconds: step.seconds, exit, stopped: false, load: 1, ...judge({ command: step.name, log, exit }), ...changes.record };
};
const dataOf = (records, of = shortPieces) => collect({
  pieces: of, records, product: 'this', version: version(), machine: machine(), known: defects(path.join(root, 'docs', 'known-defects.md')), never: kNeverShown,
});
const pageOf = (records) => page(dataOf(records));
const part = (text, title) => text.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';
const of = (name) => steps.find((step) => step.name === name);
// After steps that were named, what the others would have shown is left out; a whole `./dev test` leaves nothing out.
const skipped = (name) => ({ skip: of(name) || process.env.STATOR_TEST_WHOLE ? false : `./dev test did not run ${name}` });

test('there are logs of ./dev test', () => assert.ok(steps.length > 0, `${noted} has no steps: run ./dev test first`));

for (const step of steps) {
  test(`${step.name}: the log is counted as ./dev counts it`, () => {
    const { passed, failed, complaint } = record(step);
    assert.equal(complaint, undefined);
    assert.deepEqual({ passed, failed }, { passed: step.passed, failed: step.failed });
  });

  test(`${step.name}: an exit status of an error is never a pass`, () => {
    const rows = dataOf([record(step, { exit: 1 })]).pieces.filter((row) => row.id === step.name);
    assert.deepEqual(rows.map((row) => row.state), ['failed']);
  });

  test(`${step.name}: without its record the page lists it as not run`, () => {
    const text = part(pageOf(steps.filter((other) => other !== step).map((other) => record(other))), 'Not run');
    assert.ok(text.includes(`**${step.name}**`), text);
  });
}

for (const name of Object.keys(kSections)) {
  test(`${name}: a log that is cut off is a failure on the page`, skipped(name), () => {
    const step = of(name);
    const log = step.log.slice(0, step.log.search(/^(\{"durability"|ok    |\[ +RUN|seed \S+: \d)/m));
    const text = pageOf([record(step, { log, exit: 0 })]);
    assert.match(text, new RegExp(`\\*\\*Failed: ${name}\\.\\*\\*`));
    assert.match(text, /tells nothing of what it did/);
  });
}

test('a failure that the logs tell is on the page', () => {
  for (const step of steps) {
    // The last closing line, of whichever form, tells of one failure.
    const log = step.log.replace(/^(\d+) passed, 0 failed(?![\s\S]*^\d+ passed, \d+ failed)/m, '$1 passed, 1 failed')
      .replace(/^([#ℹ] fail) 0$/m, '$1 1').replace(/tests passed, 0 tests failed/, 'tests passed, 1 tests failed');
    if (log === step.log) continue;
    assert.match(pageOf([record(step, { log, exit: 0 })]), new RegExp(`\\*\\*Failed: ${step.name}\\.\\*\\*`), step.name);
  }
});

test('the sums on the page are those of ./dev', () => {
  const sum = (field) => steps.reduce((total, step) => total + step[field], 0);
  const [, passed, failed] = pageOf(steps.map((step) => record(step))).match(/\| tests and cases \| ([\d,]+) passed, ([\d,]+) failed \|/);
  assert.deepEqual([passed, failed].map((text) => Number(text.replaceAll(',', ''))), [sum('passed'), sum('failed')]);
});

const count = (value) => value.toLocaleString('en-US');
const sumOf = (log, pattern) => [...log.matchAll(pattern)].reduce((total, match) => total + Number(match[1]), 0);

test('crash: kills and acknowledged writes are on the page', skipped('crash'), () => {
  const { log } = of('crash');
  const text = part(pageOf([record(of('crash'))]), 'Kills and power cuts');
  const kills = sumOf(log, /"kills":(\d+)/g);
  assert.ok(kills > 0);
  assert.ok(text.includes(`${count(kills)} kills of a loaded server`), text);
  for (const [, durability, encrypted, seed] of log.matchAll(/"durability":"(\w+)"(,"encrypted":true)?,"seed":(\d+)/g)) {
    assert.ok(text.includes(`\`${durability}${encrypted ? ', encrypted' : ''} ${seed}\``), text);
  }
  for (const [, acknowledged] of log.matchAll(/"acknowledged":(\d+)/g)) assert.ok(text.includes(` ${count(Number(acknowledged))} `), text);
});

test('sim: every history that was checked is on the page', skipped('sim'), () => {
  const { log } = of('sim');
  const lines = [...log.matchAll(/^ok    (registers|transfers|indexes|counters|tables) .*"answered":(\d+)/gm)];
  const text = part(pageOf([record(of('sim'))]), 'Histories');
  assert.ok(lines.length > 0);
  const kills = sumOf(log, /"kills":(\d+)/g);
  assert.ok(text.includes(`${lines.length === 1 ? "1 history" : `${lines.length} histories`} of concurrent clients with ${count(kills)} kill`), text);
  for (const [, name, answered] of lines) assert.match(text, new RegExp(`\\| ${name} \\|.* ${count(Number(answered))} \\|`));
});

test('cluster-test: tests, histories and faults are on the page', skipped('cluster-test'), () => {
  const step = of('cluster-test');
  const [row] = dataOf([record(step)]).pieces.filter((one) => one.id === 'cluster-test');
  const passed = Object.values(row.facts.suites).reduce((sum, suite) => sum + suite.passed, 0);
  assert.equal(passed, [...step.log.matchAll(/^\[ {7}OK \]/gm)].length);
  const text = part(pageOf([record(step)]), 'A Ceph cluster and its storms');
  if (row.facts.histories && Object.keys(row.facts.faults).length === 0) assert.match(text, /\*\*without a fault\*\*/);
});

test('fuzz: every target has its inputs and its coverage', skipped('fuzz'), () => {
  const { facts } = record(of('fuzz'));
  const targets = [...of('fuzz').log.matchAll(/^ok    fuzz_(\w+): (\d+)/gm)];
  assert.ok(targets.length > 0);
  const text = part(pageOf([record(of('fuzz'))]), 'Fuzzing');
  for (const [, name, inputs] of targets) {
    assert.ok(facts.targets[name]?.mostCovered > 0 && facts.targets[name].mostEdges > facts.targets[name].mostCovered, `no coverage of ${name}`);
    assert.match(text, new RegExp(`\\| ${name} \\|.* ${count(Number(inputs))} \\|`));
  }
});

test('diff: the operations add up to the requests', skipped('diff'), () => {
  const step = of('diff');
  const { facts } = record(step);
  const sum = (field) => Object.values(facts.operations).reduce((total, one) => total + one[field], 0);
  assert.equal(sum('requests'), facts.requests);
  assert.deepEqual([sum('equal') + sum('explained'), sum('unexplained')], [step.passed, step.failed]);
  const text = part(pageOf([record(step)]), 'Conformance with DynamoDB Local');
  for (const [name, one] of Object.entries(facts.operations)) assert.match(text, new RegExp(`\\| ${name} \\| ${count(one.requests)} \\|`));
});

test('records of other code are named and not counted', () => {
  const data = dataOf(steps.map((step) => record(step, { record: { product: 'other' } })));
  assert.equal(data.otherCode, steps.length);
  assert.ok(data.pieces.every((row) => row.state === 'not run'));
});

test('slices add up, and one that was stopped does not count', skipped('crash'), () => {
  const slices = [0, 1, 2].map((slice) => record(of('crash'), { record: { slice, stopped: slice === 2 } }));
  const piece = { ...shortPieces.find((one) => one.id === 'crash'), slices: 3 };
  const [row] = dataOf(slices, [piece]).pieces;
  assert.equal(row.facts.kills, 2 * sumOf(of('crash').log, /"kills":(\d+)/g));
  assert.deepEqual([row.done, row.stopped, row.state], [2, 1, of('crash').failed > 0 ? 'failed' : 'partly']);
});

test('pieces name what there is: commands of ./dev, fuzz targets, faults', () => {
  const dev = readFileSync(path.join(root, 'dev'), 'utf8');
  for (const piece of pieces) assert.match(dev, new RegExp(`^cmd_${piece.command(0, 0)[0]}\\(\\)`, 'm'), piece.id);
  const targets = readdirSync(path.join(root, 'tests', 'fuzz')).flatMap((file) => file.match(/^fuzz_(\w+)\.cc$/)?.[1] ?? []);
  assert.deepEqual(pieces.flatMap((piece) => piece.target ?? []).sort(), targets.sort());
  const storms = readFileSync(path.join(root, 'tests', 'sim', 'cluster_machine.mjs'), 'utf8');
  const faults = [...storms.split('const FAULTS = {')[1].split('\n};')[0].matchAll(/^ {2}(\w+): \{/gm)].map((match) => match[1]);
  assert.deepEqual([...pieces.flatMap((piece) => piece.fault ?? []), 'cutServerLong'].sort(), faults.sort());
});

test('the committed page is what its data says', async () => {
  const data = JSON.parse(readFileSync(path.join(root, 'docs', 'proof.json'), 'utf8'));
  assert.equal(await wrapped(page(data)), readFileSync(path.join(root, 'docs', 'proof.md'), 'utf8'));
});

test('a proof is stopped, goes on, and does nothing twice', async () => {
  const home = mkdtempSync(path.join(os.tmpdir(), 'stator-proof-'));
  const words = [path.join(here, 'proof.mjs'), '--only', 'docs,rooms'];
  const env = { ...process.env, STATOR_PROOF_DIR: home };
  const recorded = () => readFileSync(path.join(home, 'records.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  try {
    const first = spawn('node', words, { env });
    let killed = false;
    first.stdout.on('data', (text) => {
      if (!killed && String(text).includes('== docs')) killed = first.kill('SIGTERM');
    });
    await new Promise((resolve) => first.on('close', resolve));
    assert.deepEqual(recorded().map((one) => [one.piece, one.stopped]), [['docs', true]]);
    assert.match(part(readFileSync(path.join(home, 'proof.md'), 'utf8'), 'Not run'), /\*\*docs\*\*/);

    execFileSync('node', words, { env });
    assert.deepEqual(recorded().map((one) => [one.piece, one.stopped]), [['docs', true], ['docs', false], ['rooms', false]]);
    const data = JSON.parse(readFileSync(path.join(home, 'proof.json'), 'utf8'));
    assert.deepEqual(data.pieces.filter((row) => row.done > 0).map((row) => row.id), ['docs', 'rooms']);

    execFileSync('node', words, { env });
    assert.equal(recorded().length, 3);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
