// ./dev proof: runs the pieces of pieces.mjs slice by slice and writes docs/proof.md. The records of slices are kept in
// build/proof, so that a run may be stopped at any moment and continued by the same command: a slice that was stopped runs again.
//
//   node proof.mjs [--only PIECE,...] [--minutes N] [--again] [--list] [--page] [--publish] [--of COMMIT]
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash, randomInt } from 'node:crypto';
import { appendFileSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { collect, defects, judge } from './collect.mjs';
import { page } from './page.mjs';
import { kNeverShown, pieces } from './pieces.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const home = process.env.STATOR_PROOF_DIR ?? path.join(root, 'build', 'proof');
const kRecords = path.join(home, 'records.jsonl');
const kState = path.join(home, 'state.json');
const kTidyUpMillis = 60000; // a suite that is stopped may take a cluster down

const git = (...words) => execFileSync('git', words, { cwd: root, encoding: 'utf8' }).trim();

/** Names the code that is under test: the same for two commits that differ in documents only. */
function product(commit) {
  const trees = ['src', 'cmake', 'CMakeLists.txt'].map((name) => git('rev-parse', `${commit}:${name}`));
  return createHash('sha256').update(trees.join('\n')).digest('hex');
}

export function machine() {
  let system = 'unknown system';
  try {
    [, system] = readFileSync('/etc/os-release', 'utf8').match(/^PRETTY_NAME="(.*)"$/m);
  } catch { /* not a Linux that says so */ }
  return { cpu: os.cpus()[0].model.trim(), cores: os.cpus().length, memoryGb: Math.round(os.totalmem() / 2 ** 30), kernel: os.release(), system };
}

export const version = () => readFileSync(path.join(root, 'CMakeLists.txt'), 'utf8').match(/^project\(stator VERSION ([\d.]+)/m)[1];

const logOf = ({ piece, slice }) => path.join(home, 'logs', `${piece}-${slice}.log`);

// The verdict on a log, and the line that says what went wrong.
function reading(log, words, exit) {
  const verdict = judge({ command: words[0], log, exit });
  const tail = verdict.failed > 0 ? log.split('\n').find((line) => /FAIL|UNEXPLAINED|not ok|✖|^Error|error:/.test(line))
    ?.replaceAll(`${path.resolve(home, '..', '..')}/`, '').trim().slice(0, 300) : undefined;
  return { complaint: undefined, ...verdict, tail };
}

// Lines of the records' file; one that a kill cut off is left out. The log of a slice's last run is read again, so that a
// better reader tells more of what ran already.
function records() {
  if (!existsSync(kRecords)) return [];
  const found = readFileSync(kRecords, 'utf8').split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  const last = new Map(found.map((record) => [`${record.piece} ${record.slice}`, record]));
  for (const record of last.values()) {
    if (!record.stopped && existsSync(logOf(record))) Object.assign(record, reading(readFileSync(logOf(record), 'utf8'), record.words, record.exit));
  }
  return found;
}

// The first seed is chosen once, so that a run that goes on has the seeds that it would have had.
function firstSeed() {
  if (!existsSync(kState)) writeFileSync(kState, `${JSON.stringify({ seed: randomInt(1_000_000, 1_000_000_000) })}\n`);
  return JSON.parse(readFileSync(kState, 'utf8')).seed;
}

let stopping = false;
let child;
function stop() {
  stopping = true;
  if (child) process.kill(-child.pid, 'SIGTERM');
}

// Runs one slice and appends its record.
async function runSlice(piece, slice, about) {
  const seed = firstSeed() + slice * 1000;
  const words = piece.command(slice, seed);
  const env = piece.env?.(slice, seed) ?? {};
  const seeded = [...words, ...Object.values(env)].some((word) => word.includes(String(seed)));
  const log = logOf({ piece: piece.id, slice });
  const begin = new Date();
  console.log(`== ${piece.id} ${slice + 1} of ${piece.slices}: ./dev ${words.join(' ')}`);
  const out = openSync(log, 'w');
  child = spawn('bash', [path.join(root, 'dev'), ...words], {
    cwd: root, env: { ...process.env, ...env }, stdio: ['ignore', out, out], detached: true,
  });
  const { pid } = child;
  const [code] = await new Promise((resolve) => child.on('close', (...outcome) => resolve(outcome)));
  child = undefined;
  closeSync(out);
  if (stopping) {
    const deadline = Date.now() + kTidyUpMillis;
    const alive = () => {
      try {
        process.kill(-pid, 0);
        return true;
      } catch {
        return false;
      }
    };
    while (alive() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 200));
    if (alive()) process.kill(-pid, 'SIGKILL');
  }
  const text = readFileSync(log, 'utf8');
  const verdict = reading(text, words, code);
  const record = {
    piece: piece.id, slice, seed: seeded ? seed : undefined, words, env, ...about, begin: begin.toISOString(), seconds: Math.round((Date.now() - begin) / 100) / 10, exit: code,
    stopped: stopping, load: Math.round(os.loadavg()[0] * 10) / 10, nice: os.getPriority(), binary: binary(), ...verdict,
  };
  appendFileSync(kRecords, `${JSON.stringify(record)}\n`);
  console.log(`   ${stopping ? 'stopped' : `${record.passed} passed, ${record.failed} failed`} after ${record.seconds} s`);
  return record;
}

// The server that suites start, as it names itself: a build that is older than the commit shows.
function binary() {
  const { stdout } = spawnSync(process.env.STATOR_BIN ?? path.join(root, 'build', 'release', 'stator'), ['--version'], { encoding: 'utf8' });
  return stdout?.trim() || undefined;
}

const dataOf = (code) => collect({
  pieces, records: records(), product: code, version: version(), machine: machine(),
  known: defects(path.join(root, 'docs', 'known-defects.md')), never: kNeverShown,
});

/** Markdown as `./dev fmt` leaves it. */
export async function wrapped(text) {
  const format = path.join(root, 'tools', 'format');
  const { default: prettier } = await import(path.join(format, 'node_modules', 'prettier', 'index.mjs'));
  return prettier.format(text, { ...JSON.parse(readFileSync(path.join(format, 'prettier.json'), 'utf8')), parser: 'markdown' });
}

export async function write(data, folder) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'proof.json'), `${JSON.stringify(data, null, 1)}\n`);
  writeFileSync(path.join(folder, 'proof.md'), await wrapped(page(data)));
}

function list(code) {
  for (const row of dataOf(code).pieces) {
    console.log(`${row.id.padEnd(20)} ${String(row.done).padStart(3)} of ${String(row.planned).padEnd(3)} ${row.state.padEnd(8)} ${Math.round(row.seconds)} s  ${row.shows}`);
  }
}

async function main() {
  const { values: options } = parseArgs({ options: {
    only: { type: 'string' }, minutes: { type: 'string' }, again: { type: 'boolean' }, list: { type: 'boolean' },
    page: { type: 'boolean' }, publish: { type: 'boolean' }, of: { type: 'string', default: 'HEAD' },
  } });
  mkdirSync(path.join(home, 'logs'), { recursive: true });
  const code = product(options.of);
  if (options.of !== 'HEAD' && !options.page && !options.publish && !options.list) throw new Error('--of COMMIT is for --page, --publish and --list');
  const only = options.only?.split(',');
  for (const name of only ?? []) {
    if (!pieces.some((piece) => piece.id === name)) throw new Error(`no piece '${name}'; ./dev proof --list names them`);
  }
  if (options.list) return list(code);
  if (!options.page && !options.publish) {
    process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', stop);
    const end = Date.now() + Number(options.minutes ?? Infinity) * 60000;
    const ended = new Set(options.again ? [] : records().filter((one) => one.product === code && !one.stopped).map((one) => `${one.piece} ${one.slice}`));
    // The first slice of every piece comes before the second of any, so that a proof that is cut short has seen much.
    const most = Math.max(...pieces.map((piece) => piece.slices));
    for (let slice = 0; slice < most && !stopping; slice++) {
      for (const piece of pieces) {
        if (stopping || Date.now() > end) break;
        if (slice >= piece.slices || (only && !only.includes(piece.id)) || ended.has(`${piece.id} ${slice}`)) continue;
        const dirty = git('status', '--porcelain', '--untracked-files=no') !== '';
        const record = await runSlice(piece, slice, { commit: git('rev-parse', 'HEAD'), product: code, dirty });
        if (record.failed > 0 && !record.stopped) process.exitCode = 1;
      }
    }
  }
  const data = dataOf(code);
  if (options.publish && !data.pieces.some((row) => row.done > 0)) throw new Error(`build/proof has no runs of the code of ${options.of}: nothing to publish`);
  const folder = options.publish ? path.join(root, 'docs') : home;
  await write(data, folder);
  console.log(`${path.relative(root, path.join(folder, 'proof.md'))}: ${data.pieces.filter((row) => row.done > 0).length} of ${data.pieces.length} pieces, ` +
    `${(data.seconds / 3600).toFixed(2)} hours`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
