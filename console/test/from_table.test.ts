import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PartitionReport } from '../src/api/partitions.ts';
import { designOf } from '../src/model/from_table.ts';
import type { HeatReply } from '../src/model/heat.ts';
import { scenarioOf } from '../src/model/scenario.ts';
import { kMusic } from './tables.ts';

const kMiddle = '8000000000000000';
const range = (from: string, to: string | null, consumed: number[], refused: number[]) => ({
  from: { hash: from },
  to: to === null ? null : { hash: to },
  consumed: { read: consumed.map(() => 0), write: consumed },
  refused: { read: consumed.map(() => 0), write: refused },
  heat: consumed.map(() => 1),
});
// Four seconds, of which one was idle: 300 and 100 units a second were asked for.
const kHeat = {
  table: 'music',
  now: '2026-11-25T12:00:04Z',
  resources: [
    {
      type: 'table',
      name: 'music',
      from: '2026-11-25T12:00:00Z',
      columnSeconds: 1,
      columns: 4,
      consumed: { read: [0, 0, 0, 0], write: [0, 0, 0, 0] },
      refused: { read: [0, 0, 0, 0], write: [0, 0, 0, 0] },
      ranges: [
        range('0000000000000000', kMiddle, [100, 100, 0, 100], [200, 200, 0, 200]),
        range(kMiddle, null, [100, 100, 0, 100], [0, 0, 0, 0]),
      ],
    },
  ],
} as HeatReply;
const kReport = {
  resources: [
    {
      type: 'table',
      name: 'music',
      warm: { read: 12000, write: 4000 },
      hottest: [],
      partitions: [
        {
          from: { hash: '0000000000000000' },
          to: { hash: kMiddle },
          hottest: [{ partitionKey: 'Nina Simone', share: 0.9 }],
        },
        {
          from: { hash: kMiddle },
          to: null,
          hottest: [{ partitionKey: 'Max Roach', share: 0.01 }],
        },
      ],
    },
  ],
} as unknown as PartitionReport;

test('what was asked for, served or not, becomes traffic; a hot key is traffic of its own', () => {
  const table = {
    ...kMusic,
    ItemCount: 1000,
    TableSizeBytes: 1_500_000,
    ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 300 },
  };
  const design = designOf(table, kHeat, kReport);
  assert.equal(design.billing, 'provisioned');
  assert.equal(design.write, '300');
  assert.deepEqual(
    design.traffic.map((one) => [one.name, one.rate, one.keys.kind, one.itemBytes]),
    [
      // An item of 1.5 KB takes two units: 270 of the 400 units a second are of the hot key.
      ['writes of Nina Simone', '135', 'single', '1.5KB'],
      ['other writes', '65', 'uniform', '1.5KB'],
    ],
  );
  assert.deepEqual(
    design.indexes.map((one) => one.name),
    ['by-year'],
  );
  assert.deepEqual([...scenarioOf(design).errors], []);
});

test('a table without load is a design that can be played', () => {
  const design = designOf(kMusic, { ...kHeat, resources: [] }, { ...kReport, resources: [] });
  assert.deepEqual([...scenarioOf(design).errors], []);
});
