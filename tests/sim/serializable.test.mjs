// The checker of serializability can fail: it finds each known anomaly under its name, and agrees
// with trying every order on small random histories.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Random } from '../diff/generate/random.mjs';
import { Anomaly, History } from './serializable.mjs';

// All transactions are concurrent unless times are given.
const transaction = (id, reads, writes, more = {}) => ({
  id,
  call: 1,
  return: 1000,
  outcome: 'ok',
  reads: Object.entries(reads).map(([key, seen]) =>
    typeof seen === 'number' ? { key, length: seen } : { key, list: seen },
  ),
  writes,
  ...more,
});
function verdict(...transactions) {
  const history = new History();
  try {
    for (const one of transactions) history.add(one);
    history.check();
    return 'serializable';
  } catch (error) {
    if (!(error instanceof Anomaly)) throw error;
    return error.kind;
  }
}
const end = (lists) => transaction('end', lists, []);

test('histories that are right', () => {
  assert.equal(
    verdict(
      transaction('a', {}, ['x']),
      transaction('b', { x: ['a'] }, ['x', 'y']),
      end({ x: ['a', 'b'], y: ['b'] }),
    ),
    'serializable',
  );
  assert.equal(
    verdict(
      transaction('a', { y: [] }, ['x']),
      transaction('b', {}, ['y']),
      end({ x: ['a'], y: ['b'] }),
    ),
    'serializable',
  );
  assert.equal(
    verdict(transaction('a', {}, ['x'], { outcome: 'unknown' }), end({ x: [] })),
    'serializable',
  );
  assert.equal(
    verdict(transaction('a', {}, ['x', 'y'], { outcome: 'unknown' }), end({ x: ['a'], y: ['a'] })),
    'serializable',
  );
  assert.equal(
    verdict(transaction('a', { x: 0 }, ['x'], { outcome: 'failed' }), end({ x: [] })),
    'serializable',
  );
});

test('G0: writes in different orders', () => {
  assert.equal(
    verdict(
      transaction('a', {}, ['x', 'y']),
      transaction('b', {}, ['x', 'y']),
      end({ x: ['a', 'b'], y: ['b', 'a'] }),
    ),
    'G0',
  );
});

test('G1a, phantom, lost, torn, twice', () => {
  assert.equal(
    verdict(transaction('a', {}, ['x'], { outcome: 'failed' }), end({ x: ['a'] })),
    'aborted write',
  );
  assert.equal(verdict(end({ x: ['nobody'] })), 'phantom');
  assert.equal(verdict(transaction('a', {}, ['y']), end({ x: ['a'], y: ['a'] })), 'phantom');
  assert.equal(verdict(transaction('a', { x: 2 }, []), end({ x: [] })), 'phantom');
  assert.equal(verdict(transaction('a', {}, ['x']), end({ x: [] })), 'lost write');
  assert.equal(
    verdict(transaction('a', {}, ['x', 'y']), end({ x: ['a'], y: [] })),
    'torn transaction',
  );
  assert.equal(
    verdict(transaction('a', {}, ['x', 'y'], { outcome: 'unknown' }), end({ x: ['a'], y: [] })),
    'torn transaction',
  );
  assert.equal(verdict(transaction('a', {}, ['x']), end({ x: ['a', 'a'] })), 'written twice');
});

test('a list that changes what it was', () => {
  assert.equal(
    verdict(
      transaction('a', {}, ['x']),
      transaction('b', {}, ['x']),
      transaction('r', { x: ['b'] }, []),
      end({ x: ['a', 'b'] }),
    ),
    'incompatible order',
  );
});

test('G1c: each reads what the other wrote', () => {
  assert.equal(
    verdict(
      transaction('a', { y: ['b'] }, ['x']),
      transaction('b', { x: ['a'] }, ['y']),
      end({ x: ['a'], y: ['b'] }),
    ),
    'G1c',
  );
});

test('G-single: a lost update, and a snapshot of two moments', () => {
  assert.equal(
    verdict(
      transaction('a', { x: [] }, ['x']),
      transaction('b', { x: [] }, ['x']),
      end({ x: ['a', 'b'] }),
    ),
    'G-single',
  );
  assert.equal(
    verdict(
      transaction('a', { x: 0 }, ['x']),
      transaction('b', { x: 0 }, ['x']),
      end({ x: ['a', 'b'] }),
    ),
    'G-single',
  );
  assert.equal(
    verdict(
      transaction('a', {}, ['x', 'y']),
      transaction('r', { x: ['a'], y: [] }, []),
      end({ x: ['a'], y: ['a'] }),
    ),
    'G-single',
  );
});

test('G2: write skew', () => {
  assert.equal(
    verdict(
      transaction('a', { x: [], y: [] }, ['x']),
      transaction('b', { x: [], y: [] }, ['y']),
      end({ x: ['a'], y: ['b'] }),
    ),
    'G2',
  );
});

test('real time', () => {
  const early = { call: 1, return: 2 };
  const late = { call: 3, return: 4 };
  const last = transaction('end', { x: ['b', 'a'] }, [], { call: 9, return: 10 });
  assert.equal(
    verdict(transaction('a', {}, ['x'], early), transaction('b', {}, ['x'], late), last),
    'G0-realtime',
  );
  assert.equal(
    verdict(transaction('a', {}, ['x'], early), transaction('r', { x: [] }, [], late), {
      ...last,
      reads: [{ key: 'x', list: ['a'] }],
    }),
    'G-single-realtime',
  );
  assert.equal(
    verdict(transaction('a', {}, ['x'], late), transaction('r', { x: ['a'] }, [], early), {
      ...last,
      reads: [{ key: 'x', list: ['a'] }],
    }),
    'G1c-realtime',
  );
});

test('an anomaly names the transactions of a shortest cycle', () => {
  const history = new History();
  for (const one of [
    transaction('a', { x: [] }, ['x']),
    transaction('b', { x: ['a'] }, ['x']),
    transaction('c', { x: ['a'] }, ['x']),
    end({ x: ['a', 'b', 'c'] }),
  ])
    history.add(one);
  assert.throws(
    () => history.check(),
    (error) => {
      assert.equal(error.kind, 'G-single');
      assert.deepEqual(error.transactions.map(({ id }) => id).sort(), ['b', 'c']);
      return true;
    },
  );
});

// Returns whether there is an order of the transactions, consistent with real time, in which every
// read returns the writes before it.
function bruteForce(transactions) {
  const search = (lists, left) =>
    left.length === 0 ||
    left.some((one) => {
      if (left.some((other) => other !== one && other.return < one.call)) return false;
      if (!one.reads.every(({ key, list }) => list.join() === (lists[key] ?? []).join()))
        return false;
      const next = { ...lists };
      if (one.outcome === 'ok')
        for (const key of one.writes) next[key] = [...(next[key] ?? []), one.id];
      return search(
        next,
        left.filter((other) => other !== one),
      );
    });
  return search({}, transactions);
}

// Transactions run in their own order on real lists, but sometimes read old lists, or write late or
// in another order.
function randomHistory(random) {
  const keys = ['x', 'y'];
  const lists = { x: [], y: [] };
  const old = [structuredClone(lists)];
  const transactions = [];
  let at = 0;
  for (let i = 0; i < random.between(2, 5); i++) {
    const seen = random.chance(0.2) ? random.pick(old) : lists;
    const reads = random
      .sample(keys, random.between(0, 2))
      .map((key) => ({ key, list: [...seen[key]] }));
    const writes = random.sample(keys, random.between(0, 2));
    for (const key of writes) {
      if (random.chance(0.85)) lists[key].push(`t${i}`);
      else lists[key].splice(random.between(0, lists[key].length), 0, `t${i}`);
    }
    old.push(structuredClone(lists));
    const call = Math.max(0, at - random.between(0, 4)) + i / 10;
    transactions.push({
      id: `t${i}`,
      call,
      return: (at += 2) + random.between(0, 3) + 0.5 + i / 10,
      outcome: 'ok',
      reads,
      writes,
    });
  }
  transactions.push({
    id: 'end',
    call: 100,
    return: 101,
    outcome: 'ok',
    reads: keys.map((key) => ({ key, list: [...lists[key]] })),
    writes: [],
  });
  return transactions;
}

test('agrees with trying every order', () => {
  const verdicts = { true: 0, false: 0 };
  for (let seed = 1; seed <= 20000; seed++) {
    const history = randomHistory(new Random(seed));
    const ok = verdict(...history) === 'serializable';
    verdicts[ok]++;
    assert.equal(ok, bruteForce(history), `seed ${seed}: ${JSON.stringify(history)}`);
  }
  assert.ok(verdicts.true > 2000 && verdicts.false > 2000, JSON.stringify(verdicts));
});
