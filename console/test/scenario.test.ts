import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cures,
  emptyDesign,
  indexDesign,
  kExamples,
  keysDesign,
  monthOf,
  type Outcome,
  scenarioOf,
  served,
  trafficDesign,
} from '../src/model/scenario.ts';

test('every example can be played', () => {
  for (const { name, design } of kExamples)
    assert.deepEqual([...scenarioOf(design).errors], [], name);
});

test('a design becomes a scenario', () => {
  const { toml, errors } = scenarioOf(
    emptyDesign({
      table: 'a "b"',
      indexes: [indexDesign({ percent: '2' })],
      traffic: [
        trafficDesign({
          operation: 'read',
          index: 'by-status',
          strong: true,
          keys: keysDesign({ kind: 'zipf', suffixes: '20', suffix: 'computed' }),
        }),
      ],
    }),
  );
  assert.equal(errors.size, 0);
  for (const line of [
    'duration = "1800s"',
    'name = "a \\"b\\""',
    'fraction = 0.02',
    'weights = { "SHIPPED" = 80, "PENDING" = 15, "FAILED" = 5 }',
    // Indexes have no strong reads.
    'consistency = "eventual"',
    'keys = { type = "zipf", count = 1000000, exponent = 1, suffixes = 20, suffix = "computed" }',
  ])
    assert.ok(toml.includes(line), line);
});

test('wrong fields are told by name', () => {
  const { errors } = scenarioOf(
    emptyDesign({
      table: '',
      minutes: '2000',
      write: '0',
      size: 'large',
      traffic: [
        trafficDesign({ rate: 'x', index: 'none', operation: 'read' }),
        trafficDesign({ itemBytes: '5', keys: keysDesign({ kind: 'weighted', weights: 'a' }) }),
      ],
    }),
  );
  assert.deepEqual(
    [...errors.keys()].sort(),
    [
      'minutes',
      'size',
      'table',
      'traffic.0.index',
      'traffic.0.rate',
      'traffic.1.itemBytes',
      'traffic.1.keys.weights',
      'write',
    ].sort(),
  );
});

const outcome = (
  reason: string,
  demand: number,
  limit: number,
  kind: 'table' | 'index' = 'table',
) =>
  ({
    traffic: [{ name: 'w', operation: 'write', requests: 100, served: 40, throttled: {} }],
    resources: [
      {
        name: kind === 'index' ? 'orders/by-status' : 'orders',
        kind,
        month: { capacity: 10, reserved: 5, storage: 1 },
        throttled: [{ reason, demand, limit, advice: [] }],
      },
    ],
  }) as unknown as Outcome;

test('what throttled names its cures', () => {
  const of = (o: Outcome, design = emptyDesign({ indexes: [indexDesign()] })) =>
    cures(design, o).map((one) => one.label);
  assert.deepEqual(of(outcome('TableWriteProvisionedThroughputExceeded', 2000, 1000)), [
    '2,200 write units',
    'On demand',
  ]);
  assert.deepEqual(of(outcome('TableWriteKeyRangeThroughputExceeded', 3000, 1000)), [
    'Spread each key over 10 suffixes',
  ]);
  assert.deepEqual(of(outcome('IndexWriteKeyRangeThroughputExceeded', 20_000, 1000, 'index')), [
    'Spread each key of by-status over 50 suffixes',
  ]);
  const told = outcome('TableWriteKeyRangeThroughputExceeded', 3000, 1000);
  told.resources[0]?.throttled[0]?.advice.push(
    'spread it over at least 3 values, better 90, which',
  );
  assert.deepEqual(of(told), ['Spread each key over 90 suffixes']);
  const spread = cures(emptyDesign(), outcome('TableWriteKeyRangeThroughputExceeded', 3000, 1000));
  assert.equal(spread[0]?.design.traffic[0]?.keys.suffixes, '10');
});

test('sums of an outcome', () => {
  const one = outcome('x', 1, 1);
  assert.equal(served(one), 0.4);
  assert.equal(monthOf(one), 11);
});
