#!/usr/bin/env node
// Sends the same random requests to Stator and to DynamoDB Local and compares the answers. See README.md.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client } from './client.mjs';
import { canonical, compare, outcome, signature, succeeded } from './compare.mjs';
import { Random } from './generate/random.mjs';
import { World } from './generate/world.mjs';
import { RULES } from './known.mjs';
import { Minimiser } from './minimise.mjs';
import { clear, level, perform } from './run.mjs';
import { startDynamoDbLocal, startStator } from './servers.mjs';

const USAGE = `usage: diff.mjs [--seed S] [--count N] [--target URL] [--local URL] [--only OPERATION] [--repro FILE] [--verbose]
  --seed S     the run is a function of the seed (default: always the same)
  --count N    requests to send, at least (default 6000)
  --target URL a running server instead of build/release/stator (or $STATOR_BINARY); its tables are deleted
  --local URL  a running DynamoDB Local instead of one started for the run; its tables are deleted
  --only OP    requests of this operation only, besides those that build the starting state
  --repro FILE replay one reproduction, printing every answer
  --verbose    print every difference, the explained ones too`;
const BATCH = 150;
const MINIMISED_LIMIT = 25;
const OUTPUT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'build', 'diff-results');

const fired = new Map(RULES.map((rule) => [rule.id, 0]));

/** Splits differences into those a rule explains and the rest. */
function explain(step, differences, [stator, local]) {
  const context = { step, stator: outcome(stator), local: outcome(local), reasons: stator.body?.CancellationReasons ?? [] };
  const rules = new Set();
  const unexplained = [];
  for (const difference of differences) {
    const rule = RULES.find((candidate) => candidate.explains(difference, context));
    if (rule) rules.add(rule.id);
    else unexplained.push(difference);
  }
  return { rules, unexplained };
}

const short = (node, limit = 600) => {
  const text = typeof node === 'string' ? node : JSON.stringify(node) ?? 'undefined';
  return text.length > limit ? `${text.slice(0, limit)}… (${text.length} characters)` : text;
};

/** Writes steps for --repro and returns the file's name. */
function saveSteps(name, { seed, kind, steps }) {
  mkdirSync(OUTPUT, { recursive: true });
  const file = join(OUTPUT, `${name}.json`);
  const bare = steps.map(({ op, request, walk, index }) => ({ op, request, walk, index }));
  writeFileSync(file, `${JSON.stringify({ seed, kind, steps: bare }, null, 1)}\n`);
  return file;
}

function printDifferences(differences) {
  for (const { path, stator, local } of differences) {
    console.log(`    ${path}\n      stator: ${short(stator)}\n      local:  ${short(local)}`);
  }
}

class Comparison {
  sent = 0;
  equal = 0;
  explained = 0;
  stuck = 0;
  kinds = new Map();
  outcomes = new Map();
  operations = {};

  constructor(stator, local, options) {
    Object.assign(this, { stator, local, options });
  }

  record(step, differences, answers, history) {
    const { rules, unexplained } = explain(step, differences, answers);
    for (const id of rules) fired.set(id, fired.get(id) + 1);
    const counts = (this.operations[step.op] ??= { requests: 0, refused: 0, equal: 0, explained: 0, unexplained: 0 });
    counts.requests++;
    if (!succeeded(answers[1])) counts.refused++;
    counts[differences.length === 0 ? 'equal' : unexplained.length === 0 ? 'explained' : 'unexplained']++;
    if (differences.length === 0) this.equal++;
    else if (unexplained.length === 0) this.explained++;
    else {
      const kind = signature(step, unexplained);
      const known = this.kinds.get(kind);
      if (known) known.count++;
      else this.kinds.set(kind, { kind, count: 1, step, differences: unexplained, history: [...history, step] });
    }
    if (this.options.verbose && differences.length > 0) {
      console.log(`${unexplained.length > 0 ? 'UNEXPLAINED' : [...rules].join(', ')}  ${step.op} ${short(step.request, 1500)}`);
      printDifferences(unexplained.length > 0 ? unexplained : differences);
    }
  }

  /** One batch on fresh tables; returns when its steps are done or the servers' tables have come apart. */
  async batch(number) {
    const random = new Random(`${this.options.seed}/${number}`);
    const world = new World(random, number);
    const history = [];
    const one = async (step) => {
      let stator;
      let local;
      try {
        [stator, local] = await Promise.all([perform(this.stator, step), perform(this.local, step)]);
      } catch (error) {
        throw new Error(`${error.message}, after ${step.op} ${short(step.request)}\n  replay: node tests/diff/diff.mjs --repro ` +
          saveSteps('broken', { seed: this.options.seed, steps: [...history, step] }));
      }
      this.sent++;
      const sort = `${step.op} ${succeeded(local) ? 'accepted' : 'refused'}`;
      this.outcomes.set(sort, (this.outcomes.get(sort) ?? 0) + 1);
      const differences = compare(step, stator, local);
      this.record(step, differences, [stator, local], history);
      history.push(step);
      // Local has done a part of a batch of statements before it finds two of them on one item.
      const apart = differences.some(({ path }) => path === 'outcome' || /^(body|after)/.test(path)) ||
        (step.op === 'BatchExecuteStatement' && !succeeded(local));
      if (step.changesTables && differences.some(({ path }) => path === 'outcome')) return false;
      if (local.settled === false) {
        await this.renewLocal(step);
        return false;
      }
      if (apart && /Put|Update|Delete|Write|Execute/.test(step.op)) {
        for (const table of world.tables) history.push(...await level(this.stator, this.local, table));
      }
      return true;
    };
    const steps = world.setUp();
    let together = true;
    for (let i = 0; together && i < steps.length; i++) together = await one(steps[i]);
    for (let i = 0; together && i < BATCH; i++) together = await one(world.step(this.options.only));
    if (together) {
      for (const table of world.tables) await this.compareContents(table, history);
    }
    await Promise.all([clear(this.stator), clear(this.local)]);
  }

  async compareContents(table, history) {
    const step = { op: 'Scan', request: { TableName: table.name, ConsistentRead: true }, table, walk: 'pages' };
    const [stator, local] = await Promise.all([perform(this.stator, step), perform(this.local, step)]);
    this.sent++;
    this.record(step, compare(step, stator, local), [stator, local], history);
  }

  /** DynamoDB Local sometimes never finishes an index, and then keeps the table for ever. */
  async renewLocal(step) {
    if (!this.options.renew) throw new Error(`DynamoDB Local does not finish ${short(step.request)}; start it anew`);
    this.stuck++;
    this.local = await this.options.renew();
  }

  async report() {
    const { seed } = this.options;
    const unexplained = [...this.kinds.values()].sort((a, b) => b.count - a.count);
    const total = unexplained.reduce((sum, { count }) => sum + count, 0);
    rmSync(OUTPUT, { recursive: true, force: true });
    const minimiser = new Minimiser(this.stator, this.local, explain);
    for (const [at, { kind, count, step, differences, history }] of unexplained.entries()) {
      console.log(`\nUNEXPLAINED ${at + 1}: ${count} x ${kind}`);
      const small = at < MINIMISED_LIMIT ? await minimiser.minimise(history) : undefined;
      if (small) {
        const file = saveSteps(String(at + 1).padStart(2, '0'), { seed, kind, steps: small.steps });
        for (const each of small.steps) console.log(`  ${each.op}${each.walk ? ` (${each.walk})` : ''} ${short(each.request, 1500)}`);
        console.log(`    stator: ${small.answers[0].status} ${short(small.answers[0].raw ?? small.answers[0].body)}`);
        console.log(`    local:  ${small.answers[1].status} ${short(small.answers[1].raw ?? small.answers[1].body)}`);
        console.log(`    replay: node tests/diff/diff.mjs --repro ${file}`);
      } else {
        if (at < MINIMISED_LIMIT) console.log('  (did not come again when its batch was replayed alone)');
        console.log(`  ${step.op} ${short(step.request, 1500)}`);
        printDifferences(differences);
      }
    }
    console.log(`\nseed ${seed}: ${this.sent} requests, ${this.equal} equal, ${this.explained} explained, ${total} unexplained` +
      `${this.stuck > 0 ? `; ${this.stuck} batches cut short because DynamoDB Local did not finish an index` : ''}`);
    console.log([...this.outcomes].sort().map(([sort, count]) => `${sort} ${count}`).join(', '));
    console.log(`by operation: ${JSON.stringify(this.operations)}`);
    for (const rule of RULES) {
      if (fired.get(rule.id) > 0) console.log(`  ${String(fired.get(rule.id)).padStart(6)} x ${rule.id}: ${rule.reason}`);
    }
    const idle = RULES.filter((rule) => fired.get(rule.id) === 0).map((rule) => rule.id);
    if (idle.length > 0) console.log(`  rules that did not fire: ${idle.join(', ')}`);
    console.log(`${this.equal + this.explained} passed, ${total} failed`);
    return total;
  }
}

async function replayFile(stator, local, file) {
  const { steps } = JSON.parse(readFileSync(file, 'utf8'));
  await Promise.all([clear(stator), clear(local)]);
  let total = 0;
  for (const step of steps) {
    const answers = await Promise.all([perform(stator, step), perform(local, step)]);
    const differences = compare(step, ...answers);
    const { rules, unexplained } = explain(step, differences, answers);
    total += unexplained.length;
    console.log(`${step.op} ${short(step.request, 4000)}`);
    console.log(`  stator: ${answers[0].status} ${answers[0].raw ?? canonical(answers[0].body)}`);
    console.log(`  local:  ${answers[1].status} ${answers[1].raw ?? canonical(answers[1].body)}`);
    console.log(differences.length === 0 ? '  equal' : unexplained.length === 0 ? `  explained by ${[...rules]}` : '  UNEXPLAINED');
  }
  return total;
}

async function main() {
  const { values: options } = parseArgs({ options: {
    seed: { type: 'string', default: 'stator' }, count: { type: 'string', default: '6000' },
    target: { type: 'string' }, local: { type: 'string' }, only: { type: 'string' }, repro: { type: 'string' },
    verbose: { type: 'boolean' }, help: { type: 'boolean' },
  } });
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const count = Number(options.count);
  if (!Number.isInteger(count) || count < 1) throw new Error(`--count wants a positive integer, not ${options.count}`);
  const started = [];
  const clients = [];
  try {
    const connect = async (url, launch) => {
      if (!url) started.push(await launch());
      const client = new Client(url ?? started[started.length - 1].url);
      clients.push(client);
      return client;
    };
    const stator = await connect(options.target, startStator);
    const local = await connect(options.local, startDynamoDbLocal);
    if (options.repro) return await replayFile(stator, local, options.repro);
    const renew = options.local ? undefined : async () => {
      await started.pop().stop();
      return connect(undefined, startDynamoDbLocal);
    };
    const comparison = new Comparison(stator, local, { ...options, renew });
    await Promise.all([clear(stator), clear(local)]);
    for (let number = 0; comparison.sent < count; number++) await comparison.batch(number);
    return await comparison.report();
  } catch (error) {
    for (const server of started.filter((each) => each.ended())) console.error(`a server ended: ${server.ended()}\n${server.output()}`);
    throw error;
  } finally {
    for (const client of clients) client.close();
    await Promise.all(started.map((server) => server.stop()));
  }
}

try {
  process.exitCode = await main() === 0 ? 0 : 1;
} catch (error) {
  console.error(`diff: ${error.message}\n${USAGE.split('\n')[0]}`);
  process.exitCode = 2;
}
