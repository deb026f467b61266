import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWasteful, matches, shapes, type Told } from '../src/model/requests.ts';

const told = (more: Partial<Told>): Told => ({
  seq: 1,
  at: '2026-11-25T12:00:00.000Z',
  operation: 'GetItem',
  table: 'music',
  index: null,
  keys: [{ partition: 'S:Nina Simone', sort: 'S:Sinnerman' }],
  keyCount: 1,
  read: 0.5,
  write: 0,
  scanned: null,
  returned: null,
  bytes: 100,
  consistency: 'eventual',
  outcome: 'served',
  milliseconds: 2,
  ...more,
});

test('requests alike are counted together, the dearest first', () => {
  const query = told({ operation: 'Query', index: 'by-year', read: 8, scanned: 500, returned: 2 });
  const found = shapes([
    told({}),
    told({ milliseconds: 6, outcome: 'throttled' }),
    query,
    told({ operation: 'Query', read: 1, scanned: 3, returned: 3, milliseconds: null }),
  ]);
  assert.deepEqual(
    found.map((one) => [one.requests, one.operation, one.index, one.read, one.failed, one.mean]),
    [
      [1, 'Query', 'by-year', 8, 0, 2],
      [2, 'GetItem', null, 1, 1, 4],
      [1, 'Query', null, 1, 0, null],
    ],
  );
  assert.ok(isWasteful(query));
  assert.ok(!isWasteful(told({})));
});

test('the filter looks at names, keys and the outcome', () => {
  const words = (text: string) => text.toLowerCase().split(' ');
  assert.ok(matches(told({}), words('nina getitem')));
  assert.ok(matches(told({ outcome: 'throttled' }), words('throttled music')));
  assert.ok(!matches(told({}), words('nina query')));
  assert.ok(!matches(told({}), words('s:nina')));
});
