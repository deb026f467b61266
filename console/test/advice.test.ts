import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AdviceReply,
  advised,
  type FoundThing,
  knownOf,
  sentencesOf,
} from '../src/model/advice.ts';
import { type ClusterReport, inOrder, sumsOf, workOf } from '../src/model/cluster.ts';
import { wrongIamName } from '../src/model/iam.ts';
import { allTogether, rowsOf, type SeriesReply } from '../src/model/series.ts';

const found = (id: string, level: FoundThing['level'], saves?: number): FoundThing => ({
  id,
  level,
  text: 'Seen. Cure.',
  evidence: {},
  ...(saves === undefined ? {} : { saves_month: saves }),
});

test('findings: problems first, then what saves most, an unused index last', () => {
  const reply = {
    report: {
      tables: [
        {
          name: 'a',
          findings: [found('capacity', 'saving', 3), found('unused-index', 'saving', 9)],
        },
        { name: 'b', findings: [found('hot-key', 'problem'), found('billing-mode', 'saving', 5)] },
      ],
    },
  } as unknown as AdviceReply;
  assert.deepEqual(
    advised(reply).map((one) => `${one.table} ${one.id}`),
    ['b hot-key', 'b billing-mode', 'a capacity', 'a unused-index'],
  );
  assert.deepEqual(
    advised(reply, 'a').map((one) => one.id),
    ['capacity', 'unused-index'],
  );
  assert.equal(knownOf('hot-key').tab, 'heat');
  assert.equal(knownOf('a-new-one').title, 'a new one');
});

test('what was seen and what helps are told apart', () => {
  assert.deepEqual(sentencesOf('Key x takes 1.5 units; one serves 1,000. Cache it. Or not.'), [
    'Key x takes 1.5 units; one serves 1,000.',
    'Cache it. Or not.',
  ]);
  assert.deepEqual(sentencesOf('One sentence.'), ['One sentence.', '']);
});

const series: SeriesReply = {
  now: '2026-11-26T12:00:05Z',
  begun: '2026-11-26T11:59:40Z',
  from: '2026-11-26T11:59:30Z',
  columnSeconds: 10,
  columns: 4,
  series: [
    {
      name: 'GetItem',
      served: [0, 2, 4, 6],
      errors: [0, 0, 1, 0],
      throttled: [0, 0, 0, 0],
      p50: [null, 1, 2, 3],
      p99: [null, 5, 9, 4],
    },
    {
      name: 'Query',
      served: [0, 1, 0, 0],
      errors: [0, 0, 0, 0],
      throttled: [0, 0, 0, 2],
      p50: [null, 7, null, null],
      p99: [null, 8, null, null],
    },
  ],
};

test('a row of the history: sums with a last column that is not over, means since the server began', () => {
  const [get, query] = rowsOf(series);
  assert.equal(get?.served, 20 + 40 + 30);
  assert.equal(get?.errors, 10);
  assert.equal(get?.mean, 90 / 25);
  assert.equal(get?.p50, 2);
  assert.equal(get?.p99, 9);
  assert.equal(query?.throttled, 10);
  assert.deepEqual(allTogether(series).served, [0, 3, 4, 6]);
  assert.deepEqual(allTogether(series).p99, [null, 8, 9, 4]);
});

test('a cluster: sums, what is broken first, work by server', () => {
  const report = {
    processes: [
      { id: 'a', state: 'alive', version: '2' },
      { id: 'b', state: 'dead', version: '1' },
    ],
    leases: { x: 'a', y: 'a', z: 'b' },
    tablets: [
      { tablet: '1', parts: 1, bytes: 10 },
      { tablet: '2', error: 'gone' },
      { tablet: '3', parts: 2, bytes: 30 },
    ],
  } as unknown as ClusterReport;
  const sums = sumsOf(report);
  assert.deepEqual(
    [sums.alive, sums.servers, sums.parts, sums.bytes, sums.broken],
    [1, 2, 3, 40, 1],
  );
  assert.deepEqual(sums.versions, ['2']);
  const two = ['0.10.0', '0.9.0'].map((version) => ({ state: 'alive', version }));
  assert.deepEqual(sumsOf({ ...report, processes: two } as never).versions, ['0.9.0', '0.10.0']);
  assert.deepEqual(
    inOrder(report.tablets).map((one) => one.tablet),
    ['2', '3', '1'],
  );
  assert.deepEqual(
    workOf(report).map((one) => one.owner),
    ['a', 'b'],
  );
});

test('names of users, groups and roles', () => {
  assert.equal(wrongIamName('a+b=c,d.e@f-g_h'), null);
  assert.notEqual(wrongIamName('a b'), null);
  assert.notEqual(wrongIamName('x'.repeat(65)), null);
  assert.equal(wrongIamName('x'.repeat(128), 128), null);
});
