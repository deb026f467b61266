// The checker of linearizability can fail: it finds known-bad histories, and agrees with trying
// every order on small random ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Random } from '../diff/generate/random.mjs';
import { check, explain, registerStep, stateOf, withoutUnseen } from './linearizable.mjs';

let at = 0;
const put = (call, end, v, more = {}) => ({
  call,
  return: end,
  kind: 'put',
  item: { v },
  answered: end !== undefined,
  ...more,
});
const read = (call, end, seen) => ({ call, return: end, kind: 'read', seen, answered: true });
const add = (call, end, n, more = {}) => ({
  call,
  return: end,
  kind: 'update',
  add: 1,
  n,
  answered: true,
  ...more,
});
const lost = (operation, death) => ({ ...operation, return: death, answered: false });
const accepts = (...history) => assert.ok(check(history).ok, explainOf(history));
const rejects = (...history) => assert.ok(!check(history).ok);
const explainOf = (history) => {
  const result = check(history);
  return result.ok ? 'linearizable' : explain(result);
};

test('sequential and concurrent histories that are right', () => {
  accepts(put(1, 2, 'a'), read(3, 4, '/a'), put(5, 8, 'b'), read(6, 7, '/a'), read(9, 10, '/b'));
  accepts(put(1, 10, 'a'), put(2, 9, 'b'), read(3, 4, '/b'), read(5, 6, '/a'), read(11, 12, '/a'));
  accepts(add(1, 5, '2'), add(2, 4, '1'), read(6, 7, '2/'));
});

test('a stale read', () => {
  rejects(put(1, 2, 'a'), put(3, 4, 'b'), read(5, 6, '/a'));
  rejects(put(1, 2, 'a'), put(3, 10, 'b'), read(4, 5, '/b'), read(6, 7, '/a'));
  rejects(put(1, 2, 'a'), read(3, 4, '-'));
});

test('a lost update', () => {
  rejects(add(1, 3, '1'), add(2, 4, '1'));
  rejects(add(1, 2, '1'), add(3, 4, undefined), read(5, 6, '1/'));
  const once = { condition: { v: 'a' } };
  rejects(put(1, 2, 'a'), put(3, 6, 'b', once), put(4, 5, 'c', once));
});

test('a write that is applied twice', () => {
  rejects(add(1, 2, undefined), read(3, 4, '2/'));
  rejects(put(1, 2, 'a'), put(3, 4, 'b'), read(5, 6, '/b'), read(7, 8, '/a'));
  rejects(lost(add(1, 0), 10), read(11, 12, '1/'), read(13, 14, '2/'));
});

test('a value from nowhere, an answer about another state, a condition not looked at', () => {
  rejects(read(1, 2, '/x'));
  rejects(put(1, 2, 'a'), put(3, 4, 'b', { before: '-' }));
  rejects(put(1, 2, 'a'), put(3, 4, 'b', { condition: { exists: false } }));
  rejects(put(1, 2, 'a', { condition: { exists: false }, failed: true }));
});

test('an operation without an answer took effect once, before its server died, or never', () => {
  accepts(put(1, 2, 'a'), lost(put(3, 0, 'b'), 20), read(30, 31, '/a'));
  accepts(put(1, 2, 'a'), lost(put(3, 0, 'b'), 20), read(30, 31, '/b'));
  accepts(put(1, 2, 'a'), lost(put(3, 0, 'b'), 20), read(4, 5, '/a'), read(6, 7, '/b'));
  rejects(put(1, 2, 'a'), lost(put(3, 0, 'b'), 20), read(4, 5, '/b'), read(30, 31, '/a'));
  rejects(put(1, 2, 'a'), lost(put(3, 0, 'b'), 20), read(30, 31, '/a'), read(32, 33, '/b'));
  accepts(put(1, 2, 'a'), lost(put(3, 0, 'b'), Infinity), read(30, 31, '/a'), read(32, 33, '/b'));
});

test('the smallest failing prefix ends where the contradiction shows', () => {
  const result = check([
    put(1, 2, 'a'),
    put(3, 4, 'b'),
    read(5, 8, '/a'),
    read(6, 7, '/b'),
    put(9, 10, 'c'),
  ]);
  assert.equal(result.failing.call, 5);
  assert.equal(result.prefix.length, 4);
  assert.deepEqual(result.states, ['/b']);
  assert.match(explain(result), /may have been \/b/);
});

// Tries every order of every set of operations that contains all answered ones.
function bruteForce(operations) {
  const search = (state, left) => {
    if (left.every((operation) => !operation.answered)) return true;
    return left.some((operation) => {
      if (
        left.some((other) => other !== operation && other.answered && other.return < operation.call)
      )
        return false;
      const rest = left.filter(
        (other) => other !== operation && (other.answered || other.return > operation.call),
      );
      const next = registerStep(state, operation);
      return next !== undefined && search(next, rest);
    });
  };
  return search('-', operations);
}

// Some answers come from a real order, the others are random, so that both verdicts are common.
function randomHistory(random) {
  at = 0;
  const count = random.between(2, 7);
  const open = [];
  const operations = [];
  let state = '-';
  const values = ['a', 'b'];
  while (operations.length < count || open.length > 0) {
    if (operations.length < count && (open.length === 0 || random.chance(0.55))) {
      const operation = {
        call: ++at,
        return: Infinity,
        kind: random.pick(['read', 'put', 'update', 'update', 'delete']),
        answered: false,
      };
      if (operation.kind === 'put') operation.item = { v: random.pick(values) };
      if (operation.kind === 'update')
        Object.assign(operation, random.chance(0.5) ? { add: 1 } : { set: random.pick(values) });
      if (operation.kind !== 'read' && random.chance(0.3))
        operation.condition = random.pick([
          { exists: true },
          { exists: false },
          { v: 'a' },
          { n: '1' },
        ]);
      operations.push(operation);
      open.push(operation);
      continue;
    }
    const [operation] = open.splice(random.between(0, open.length - 1), 1);
    const before = state;
    const after = registerStep(state, { ...operation, answered: false });
    if (random.chance(0.9)) state = after;
    operation.return = random.chance(0.1) ? Infinity : ++at;
    if (operation.return === Infinity || random.chance(0.2)) continue;
    operation.answered = true;
    const odd = random.chance(0.25) ? stateOf({ v: random.pick(values) }) : undefined;
    if (operation.kind === 'read') operation.seen = odd ?? before;
    else {
      operation.failed =
        operation.condition !== undefined &&
        registerStep(before, { ...operation, failed: true }) !== undefined;
      if (random.chance(0.4)) operation.before = odd ?? before;
      if (!operation.failed && random.chance(0.3)) operation.after = after;
    }
  }
  return operations;
}

test('agrees with trying every order', () => {
  const verdicts = { true: 0, false: 0 };
  for (let seed = 1; seed <= 20000; seed++) {
    const history = randomHistory(new Random(seed));
    const { ok } = check(history);
    verdicts[ok]++;
    assert.equal(ok, bruteForce(history), `seed ${seed}: ${JSON.stringify(history)}`);
  }
  assert.ok(verdicts.true > 3000 && verdicts.false > 3000, JSON.stringify(verdicts));
});

test('an explanation without unseen writes is one with them', () => {
  let shorter = 0;
  for (let seed = 1; seed <= 20000; seed++) {
    const history = randomHistory(new Random(seed));
    const rest = withoutUnseen(history);
    if (!check(rest).ok) continue;
    assert.ok(check(history).ok, `seed ${seed}: ${JSON.stringify(history)}`);
    if (rest.length < history.length) shorter++;
  }
  assert.ok(shorter > 1000, shorter);
  const lostPuts = Array.from({ length: 40 }, (_, i) => lost(put(i, undefined, `lost ${i}`), 100));
  accepts(...withoutUnseen([...lostPuts, read(50, 51, '-'), read(101, 102, '-')]));
  assert.equal(check([...lostPuts, read(101, 102, '/x')], { most: 1000 }).ok, undefined);
});
