import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bytesOf,
  costsOf,
  cures,
  emptyDesign,
  helpful,
  indexDesign,
  kExamples,
  keysDesign,
  monthOf,
  type Outcome,
  partsOf,
  scenarioOf,
  served,
  trafficDesign,
  withAdvice,
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
    '2,000 write units',
    'On demand',
  ]);
  assert.deepEqual(of(outcome('TableWriteKeyRangeThroughputExceeded', 3000, 1000)), [
    'Spread each key over 10 suffixes, for 3,000 write units/s',
  ]);
  assert.deepEqual(of(outcome('IndexWriteKeyRangeThroughputExceeded', 20_000, 1000, 'index')), [
    'Spread each key of by-status over 50 suffixes, for 20,000 write units/s',
  ]);
  const told = outcome('TableWriteKeyRangeThroughputExceeded', 3000, 1000);
  // The number is told with the demand that it is for: not that of the whole partition.
  told.resources[0]?.throttled[0]?.advice.push(
    'Spread it over 90 suffixes, "a.1" to "a.90". 90 for its 2,900 write units/s, because each',
  );
  assert.deepEqual(of(told), ['Spread each key over 90 suffixes, for 2,900 write units/s']);
  const spread = cures(emptyDesign(), outcome('TableWriteKeyRangeThroughputExceeded', 3000, 1000));
  assert.equal(spread[0]?.design.traffic[0]?.keys.suffixes, '10');
});

test('sums of an outcome', () => {
  const one = outcome('x', 1, 1);
  assert.equal(served(one), 0.4);
  assert.equal(monthOf(one), 11);
});

test('a hot key is spread where it is asked for, and unrelated traffic is left alone', () => {
  const shop = emptyDesign({
    traffic: [
      trafficDesign({
        name: 'customer page',
        operation: 'read',
        keys: keysDesign({ kind: 'zipf', count: '20000' }),
      }),
      trafficDesign({ name: 'place order', newItems: true, keys: keysDesign({ kind: 'date' }) }),
    ],
  });
  const told = outcome('TableWriteKeyRangeThroughputExceeded', 1200, 1000);
  const trouble = told.resources[0]?.throttled[0];
  assert.ok(trouble);
  trouble.hottest = ['2026-11-27'];
  const [cure] = cures(shop, told);
  assert.equal(
    cure?.label,
    'Spread each key of place order over 10 suffixes, for 1,200 write units/s',
  );
  assert.deepEqual(cure?.design.traffic[0], shop.traffic[0]);
  assert.equal(cure?.design.traffic[1]?.keys.suffixes, '10');
  assert.equal(cure?.design.traffic[1]?.keys.suffix, 'random');
  // Traffic that reads the same items has to know the suffix.
  const read = { ...shop.traffic[1], name: 'orders of today', operation: 'read' as const };
  const [both] = cures(
    { ...shop, traffic: [...shop.traffic, { ...trafficDesign(), ...read }] },
    told,
  );
  assert.deepEqual(
    both?.design.traffic.map((one) => [one.keys.suffixes, one.keys.suffix]),
    [
      ['1', 'random'],
      ['10', 'computed'],
      ['10', 'computed'],
    ],
  );
  // One key among evenly used ones.
  trouble.hottest = ['alice'];
  const votes = emptyDesign({
    traffic: [
      trafficDesign({
        name: 'writes of alice',
        keys: keysDesign({ kind: 'single', key: 'alice' }),
      }),
      trafficDesign({ name: 'other writes' }),
    ],
  });
  assert.equal(
    cures(votes, told)[0]?.label,
    'Spread alice over 10 suffixes, for 1,200 write units/s',
  );
  assert.equal(cures(votes, told)[0]?.design.traffic[1]?.keys.suffixes, '1');
  // The key is among those that are spread already.
  const once = cures(votes, told)[0]?.design ?? votes;
  trouble.hottest = ['alice.3'];
  assert.equal(
    cures(once, told)[0]?.label,
    'Spread alice over 20 suffixes, for 1,200 write units/s',
  );
});

test('what makes it worse is no cure, and what serves most is the first', () => {
  const play = (served: number, capacity = 10) => {
    const one = outcome('x', 1, 1);
    (one.traffic[0] as { served: number }).served = served;
    (one.resources[0]?.month as { capacity: number }).capacity = capacity;
    return one;
  };
  const cure = (label: string, of: Outcome | null) => ({
    label,
    design: emptyDesign(),
    outcome: of,
  });
  assert.deepEqual(
    helpful(play(88), [
      cure('worse', play(13)),
      cure('not played', null),
      cure('dear', play(100, 50)),
      cure('cheap', play(100, 20)),
      cure('some', play(95)),
    ]).map((one) => one.label),
    ['cheap', 'dear', 'some', 'not played'],
  );
});

test('what is served and what is refused are all of it', () => {
  const of = (requests: number, served: number) =>
    partsOf({ traffic: [{ requests, served }] } as unknown as Outcome);
  assert.deepEqual(of(1000, 875), { served: '88%', refused: '12%' });
  assert.deepEqual(of(1000, 931), { served: '93.1%', refused: '6.9%' });
  assert.deepEqual(of(100_000, 99_999), { served: '99.9%', refused: '0.1%' });
  assert.deepEqual(of(100_000, 1), { served: '0.1%', refused: '99.9%' });
  assert.deepEqual(of(10, 10), { served: '100%', refused: '0%' });
});

test('a month of requests, of storage, and of what it grows by', () => {
  const prices = {
    readUnit: 0.09,
    writeUnit: 0.47,
    gigabyte: 0.25,
    reservedDiscount: 0.5,
    millionReads: null,
    millionWrites: 1.25,
  };
  const design = emptyDesign({
    billing: 'on-demand',
    size: '1GB',
    traffic: [trafficDesign({ newItems: true })],
  });
  const one = outcome('x', 1, 1);
  one.duration_seconds = 1800;
  Object.assign(one.resources[0] as object, {
    bytes: 2 * 2 ** 30,
    consumed_units: { read: 0, write: 1_800_000 },
  });
  const costs = costsOf(design, one, prices);
  assert.equal(costs.capacity, (1000 * 730 * 3600 * 1.25) / 1e6);
  assert.equal(costs.storage, 0.5);
  assert.equal(costs.growthBytes, 2 ** 30 * 2 * 730);
  assert.equal(costs.growth, 365);
  assert.equal(costsOf(design, one, { ...prices, millionWrites: null }).capacity, null);
  assert.equal(costsOf({ ...design, billing: 'provisioned' }, one, prices).capacity, 10);
  assert.equal(bytesOf('1.5KB'), 1536);
  assert.equal(bytesOf(''), 0);
});

test('a table that lacks units for one hot key is cured by both, with the numbers of the server', () => {
  const orders = emptyDesign({
    traffic: [
      trafficDesign({
        name: 'of acme',
        rate: '1500',
        keys: keysDesign({ kind: 'single', key: 'acme' }),
      }),
    ],
  });
  const played = outcome('TableWriteProvisionedThroughputExceeded', 1440, 1000);
  const table = played.resources[0];
  table?.throttled.push({
    ...(table.throttled[0] as (typeof table.throttled)[0]),
    reason: 'TableWriteKeyRangeThroughputExceeded',
    hottest: ['acme'],
    advice: ['Spread it over 226 suffixes, on 2 partitions: first provision 1,800 write units.'],
  });
  const told = withAdvice(played, [
    {
      reason: 'TableWriteProvisionedThroughputExceeded',
      demand: 1594,
      advice: ['Raise the write capacity of the table to 1,594 units or more, or switch.'],
    },
    {
      reason: 'TableWriteKeyRangeThroughputExceeded',
      demand: 1576,
      advice: ['Spread it over 22 suffixes, on 4 partitions: first provision 1,975 write units.'],
    },
  ]);
  const [both, units, onDemand, alone] = cures(orders, told);
  assert.equal(
    both?.label,
    '1,975 write units, and spread acme over 22 suffixes, for 1,576 write units/s',
  );
  assert.deepEqual([both?.design.write, both?.design.traffic[0]?.keys.suffixes], ['1975', '22']);
  assert.equal(units?.label, '1,594 write units');
  assert.equal(onDemand?.label, 'On demand');
  assert.equal(alone?.label, 'Spread acme over 22 suffixes, for 1,576 write units/s');
});
