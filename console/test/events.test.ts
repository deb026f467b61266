import assert from 'node:assert/strict';
import { test } from 'node:test';
import { happened, recent, type ServerEvent } from '../src/model/events.ts';

const event = (seq: number, second: number, more: Partial<ServerEvent> = {}): ServerEvent => ({
  seq,
  at: new Date(Date.UTC(2026, 10, 25, 12, 0, second)).toISOString(),
  kind: 'throttled',
  table: 'votes',
  index: null,
  text: `text ${seq}`,
  reason: 'TableWriteKeyRangeThroughputExceeded',
  requests: 10,
  ...more,
});

test('throttling that goes on is one event, though another limit lies between', () => {
  const other = { reason: 'TableWriteProvisionedThroughputExceeded' };
  const found = happened([
    event(1, 0),
    event(2, 3, other),
    event(3, 10),
    event(4, 12, { kind: 'split', reason: undefined }),
    event(5, 20),
  ]);
  assert.deepEqual(
    found.map((one) => [one.seq, one.requests, one.text]),
    [
      [5, 30, 'text 5'],
      [4, 10, 'text 4'],
      [2, 10, 'text 2'],
    ],
  );
  assert.equal(found[0]?.since, event(1, 0).at);
});

test('a pause, another table or another mode ends it; other kinds stay apart', () => {
  assert.equal(happened([event(1, 0), event(2, 61)]).length, 2);
  assert.equal(happened([event(1, 0), event(2, 1, { table: 'music' })]).length, 2);
  assert.equal(happened([event(1, 0), event(2, 1, { passed: true })]).length, 2);
  assert.equal(
    happened([event(1, 0, { kind: 'altered' }), event(2, 1, { kind: 'altered' })]).length,
    2,
  );
  assert.deepEqual(happened([]), []);
});

test('the server counts what fell off, and says since when', () => {
  const since = event(0, 0).at;
  const [one] = happened([event(7, 50, { since, allRequests: 25_557 })]);
  assert.deepEqual([one?.requests, one?.since], [25_557, since]);
  const [both] = happened([
    event(7, 50, { since, allRequests: 25_557 }),
    event(8, 55, { since, allRequests: 25_600 }),
  ]);
  assert.deepEqual([both?.requests, both?.since], [25_600, since]);
});

test('throttling that goes on does not push out what else happened', () => {
  const split = event(1, 0, { kind: 'split', reason: undefined });
  const storm = Array.from({ length: 200 }, (_, i) =>
    event(i + 2, 0, { since: split.at, allRequests: 10 * i }),
  );
  assert.deepEqual(
    recent([split, ...storm], 100).map((one) => one.seq),
    [1, 201],
  );
});
