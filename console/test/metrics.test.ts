import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  errorsOf,
  gaugeOf,
  parseMetrics,
  quantile,
  rateBetween,
  totalsBy,
} from '../src/model/metrics.ts';

const kText = `# HELP stator_x y
# TYPE stator_x gauge
stator_uptime_seconds 1.5
stator_successful_request_latency_seconds_count{operation="GetItem",table="a"} 10
stator_successful_request_latency_seconds_bucket{operation="GetItem",table="a",le="0.001"} 5
stator_successful_request_latency_seconds_bucket{operation="GetItem",table="a",le="0.01"} 9
stator_successful_request_latency_seconds_bucket{operation="GetItem",table="a",le="+Inf"} 10
stator_successful_request_latency_seconds_count{operation="GetItem",table="b"} 2
stator_user_errors_total{error="ValidationException",operation="GetItem",table="a"} 3
stator_user_errors_total{error="ConditionalCheckFailedException",operation="PutItem",table="a"} 4
stator_throttled_requests_total{operation="GetItem",table="a"} 6
stator_odd{text="a \\"quoted\\" \\\\ line\\n, {x}"} 7
this is no sample
`;

test('samples are read with their labels', () => {
  const samples = parseMetrics(kText);
  assert.equal(samples.length, 10);
  assert.equal(gaugeOf(samples, 'stator_uptime_seconds'), 1.5);
  assert.equal(gaugeOf(samples, 'stator_none'), null);
  assert.deepEqual(samples.at(-1)?.labels, { text: 'a "quoted" \\ line\n, {x}' });
});

test('counts are summed by operation or table; failed conditions are no errors of users', () => {
  const samples = parseMetrics(kText);
  const get = totalsBy(samples, 'operation').get('GetItem');
  assert.equal(get?.served, 12);
  assert.equal(get?.userErrors, 3);
  assert.equal(get?.throttled, 6);
  assert.equal(totalsBy(samples, 'table').get('b')?.served, 2);
  assert.deepEqual(
    errorsOf(samples).map((one) => [one.error, one.count]),
    [
      ['ConditionalCheckFailedException', 4],
      ['ValidationException', 3],
    ],
  );
});

test('rates are of the time between two looks, and survive a restart of the server', () => {
  const now = totalsBy(parseMetrics(kText), 'operation').get('GetItem');
  assert.ok(now);
  const rate = rateBetween({ ...now, served: 2, buckets: new Map() }, now, 2);
  assert.equal(rate.served, 5);
  assert.equal(rate.errors, 0);
  assert.equal(rateBetween({ ...now, served: 1000 }, now, 2).served, 6);
  assert.equal(rateBetween(undefined, now, 1).throttled, 6);
});

test('quantiles lie within their bucket, in proportion', () => {
  const buckets = [
    [0.001, 5],
    [0.01, 9],
    [Number.POSITIVE_INFINITY, 10],
  ] as const;
  assert.equal(quantile(buckets, 0.25), 0.0005);
  assert.ok(Math.abs((quantile(buckets, 0.7) ?? 0) - 0.0055) < 1e-9);
  assert.equal(quantile(buckets, 0.99), 0.01);
  assert.equal(quantile([[1, 0]], 0.5), null);
});
