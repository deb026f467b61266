// Decisions of the server compared with those of iam-simulate, an independent model of AWS's evaluation.
// ACCESS_SEED and ACCESS_PAIRS choose the run; a difference prints the pair.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSimulation } from '@cloud-copilot/iam-simulate';
import { everyKey, everyOperator, full, randomFrom, simulation, single, trusting } from './generate.mjs';
import { evaluate } from './tool.mjs';

const seed = Number(process.env.ACCESS_SEED ?? 20261125);
const pairs = Number(process.env.ACCESS_PAIRS ?? 12000);

async function theirs(request) {
  const result = await runSimulation(simulation(request), {});
  assert.notEqual(result.resultType, 'error', JSON.stringify({ errors: result.errors, request }));
  return result.overallResult;
}

test(`${pairs} decisions are those of iam-simulate (seed ${seed})`, async () => {
  const random = randomFrom(seed);
  const cases = Array.from({ length: pairs }, (_, i) => (i % 2 === 0 ? single(random) : { request: full(random) }));
  const ours = evaluate(cases.map((c) => c.request));
  const seen = { operator: {}, key: {} };
  const note = (kind, name, allowed) => ((seen[kind][name] ??= new Set()).add(allowed));
  let allowed = 0;
  let explicit = 0;
  const differences = [];
  for (const [i, { request, line }] of cases.entries()) {
    const answer = ours[i];
    assert.equal(answer.error, undefined, JSON.stringify(request));
    const expected = await theirs(request);
    if (answer.allowed) allowed += 1;
    if (answer.explicit) explicit += 1;
    if (line) {
      note('operator', line.operator, answer.allowed);
      note('key', line.key, answer.allowed);
    }
    const same = answer.allowed === (expected === 'Allowed') && answer.explicit === (expected === 'ExplicitlyDenied');
    if (!same) differences.push({ answer, expected, request });
  }
  console.log(`${pairs} pairs, ${allowed} allowed, ${explicit} denied explicitly, ${differences.length} differences`);
  for (const difference of differences.slice(0, Number(process.env.ACCESS_SHOW ?? 3))) console.log(JSON.stringify(difference));
  assert.equal(differences.length, 0);
  assert.ok(allowed >= pairs / 3, `${allowed} of ${pairs} were allowed: too few to show that grants work`);
  if (pairs < 10000) return;
  for (const operator of everyOperator) assert.equal(seen.operator[operator]?.size, 2, `${operator} did not come out both ways`);
  for (const key of everyKey) assert.equal(seen.key[key]?.size, 2, `${key} did not come out both ways`);
});

test('decisions of AssumeRole are those of iam-simulate', async () => {
  const random = randomFrom(seed + 1);
  const requests = Array.from({ length: Math.min(pairs, 2000) }, () => trusting(random));
  let allowed = 0;
  for (const [i, answer] of evaluate(requests).entries()) {
    assert.equal(answer.error, undefined, JSON.stringify(requests[i]));
    const expected = await theirs(requests[i]);
    if (answer.allowed) allowed += 1;
    assert.deepEqual([answer.allowed, answer.explicit], [expected === 'Allowed', expected === 'ExplicitlyDenied'], JSON.stringify({ answer, expected, request: requests[i] }));
  }
  assert.ok(allowed >= requests.length / 5, `${allowed} of ${requests.length} were allowed`);
});
