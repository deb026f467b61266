import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  coveredSeconds,
  type Load,
  type Prices,
  peakUnits,
  scaledUnits,
  storageMonth,
  ways,
} from '../src/model/cost.ts';

const prices: Prices = {
  readUnit: 0.09,
  writeUnit: 0.47,
  gigabyte: 0.25,
  reservedDiscount: 0.53,
  millionReads: null,
  millionWrites: null,
};
const load = (more: Partial<Load> = {}): Load => ({
  columnSeconds: 3600,
  read: [0, 0, 10, 20, 30],
  write: [0, 0, 0, 0, 0],
  bytes: 0,
  provisioned: { read: 100, write: 10 },
  ...more,
});
const way = (l: Load, id: string, p = prices) => {
  const found = ways(l, p).find((one) => one.id === id);
  assert.ok(found);
  return found;
};

test('provisioned capacity costs what is provisioned, used or not', () => {
  const now = way(load(), 'provisioned');
  assert.equal(now.capacity, 100 * 0.09 + 10 * 0.47);
  assert.equal(now.isNow, true);
  const reserved = way(load(), 'reserved').capacity as number;
  assert.ok(Math.abs(reserved - (now.capacity as number) * 0.47) < 1e-9);
});

test('on demand is paid by request, and needs its prices', () => {
  assert.equal(way(load(), 'on-demand').capacity, null);
  const priced = { ...prices, millionReads: 0.125 };
  // 20 a second on average since the first use; nothing was written, so no price of writes is needed.
  const cost = way(load(), 'on-demand', priced).capacity as number;
  assert.ok(Math.abs(cost - ((20 * 730 * 3600) / 1e6) * 0.125) < 1e-9);
  assert.equal(way(load({ write: [1] }), 'on-demand', priced).capacity, null);
});

test('a table that began late in its first hour is not paid as if it had filled it', () => {
  const from = '2026-11-27T04:00:00Z';
  const born = Date.parse('2026-11-27T05:59:40Z') / 1000;
  const now = Date.parse('2026-11-27T07:30:00Z') / 1000;
  const seconds = coveredSeconds({ from, columnSeconds: 3600, columns: 4 }, born, now);
  assert.deepEqual(seconds, [1, 20, 3600, 1800]);
  const cost = way(load({ read: [0, 1750, 0, 0], write: [], seconds }), 'on-demand', {
    ...prices,
    millionReads: 0.125,
  }).capacity as number;
  assert.ok(Math.abs(cost - ((((1750 * 20) / 5420) * 730 * 3600) / 1e6) * 0.125) < 1e-9);
});

test('a table on demand is compared with capacity for its busiest column', () => {
  const other = load({ provisioned: null });
  assert.equal(way(other, 'provisioned').capacity, 30 * 0.09 + 1 * 0.47);
  assert.equal(way(other, 'provisioned').isNow, false);
  assert.equal(way(other, 'on-demand').isNow, true);
  assert.equal(peakUnits([]), 1);
  // The busiest second is more than its hour, and less would have been throttled.
  const burst = load({ provisioned: null, peak: { read: 300, write: 0 } });
  assert.equal(way(burst, 'provisioned').capacity, 300 * 0.09 + 1 * 0.47);
  assert.equal(way(burst, 'provisioned').throttles, false);
  assert.equal(way(burst, 'scaled').throttles, true);
  assert.equal(way(burst, 'on-demand').throttles, false);
  assert.equal(way(load({ peak: { read: 101, write: 0 } }), 'provisioned').throttles, true);
  assert.equal(way(load({ peak: { read: 101, write: 0 } }), 'reserved').throttles, true);
  assert.equal(way(load(), 'provisioned').throttles, false);
});

test('scaled capacity follows the load with a delay, above its target', () => {
  assert.equal(scaledUnits([0, 7, 7, 7, 7], 0.7), 10);
  assert.equal(scaledUnits([], 0.7), 0);
  // One peak is kept for three more columns.
  assert.equal(scaledUnits([70, 7, 7, 7, 7], 0.7), (100 * 4 + 10) / 5);
});

test('storage by the gigabyte', () => {
  assert.equal(storageMonth(2 ** 31, prices), 0.5);
});
