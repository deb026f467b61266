import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kMostHeldPages, Rows } from '../src/model/rows.ts';
import type { Item } from '../src/model/value.ts';

const row = (n: number): Item => ({ n: { N: String(n) } });
const isRow = (n: number) => (item: Item) => (item.n as { N: string }).N === String(n);
const numbers = (items: (Item | null)[]) =>
  items.map((item) => (item ? Number((item.n as { N: string }).N) : null));
const page = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => row(from + i));

function filled(pages: number, size: number): Rows {
  const rows = new Rows();
  for (let i = 0; i < pages; ++i)
    rows.add(i === 0 ? undefined : row(i * size - 1), size, page(i * size, size));
  return rows;
}

test('rows are found across pages of different sizes; empty pages are none', () => {
  const rows = new Rows();
  rows.add(undefined, 3, page(0, 3));
  rows.add(row(2), 3, []);
  rows.add(row(2), 3, page(3, 1));
  rows.add(row(3), 3, page(4, 2));
  assert.equal(rows.length, 6);
  assert.deepEqual(numbers(rows.slice(0, 99)), [0, 1, 2, 3, 4, 5]);
  assert.equal(rows.at(6), null);
  assert.equal(rows.at(-1), null);
});

test('no more pages are held than may be, and a dropped one comes back by its start key', () => {
  const rows = filled(1000, 1000);
  assert.equal(rows.length, 1_000_000);
  assert.equal(rows.held().length, kMostHeldPages * 1000);
  assert.deepEqual(numbers(rows.slice(999_998, 1_000_000)), [999_998, 999_999]);
  assert.deepEqual(numbers(rows.slice(5000, 5002)), [null, null]);
  const [missing, ...more] = rows.missing(5000, 5002);
  assert.ok(missing);
  assert.equal(more.length, 0);
  assert.deepEqual(missing.start, row(4999));
  rows.put(missing, page(5000, 1000));
  assert.deepEqual(numbers(rows.slice(5000, 5002)), [5000, 5001]);
  // The rows on the screen are not dropped to make room for others.
  assert.deepEqual(rows.missing(5000, 5002), []);
  assert.equal(rows.held().length, kMostHeldPages * 1000);
});

test('a page that has become shorter moves the rows behind it', () => {
  const rows = filled(kMostHeldPages + 1, 10);
  const [missing] = rows.missing(0, 10);
  assert.ok(missing);
  rows.put(missing, page(0, 7));
  assert.equal(rows.length, (kMostHeldPages + 1) * 10 - 3);
  assert.deepEqual(numbers(rows.slice(6, 8)), [6, 10]);
});

test('rows are changed, removed and put first', () => {
  const rows = filled(3, 2);
  assert.ok(rows.replace(isRow(2), row(20)));
  assert.ok(!rows.replace(isRow(99), row(1)));
  assert.ok(rows.replace(isRow(4), null));
  rows.addFirst(row(-1));
  assert.deepEqual(numbers(rows.slice(0, 99)), [-1, 0, 1, 20, 3, 5]);
  rows.remove((item) => isRow(0)(item) || isRow(5)(item));
  assert.deepEqual(numbers(rows.slice(0, 99)), [-1, 1, 20, 3]);
  const empty = new Rows();
  empty.addFirst(row(7));
  assert.deepEqual(numbers(empty.slice(0, 9)), [7]);
});
