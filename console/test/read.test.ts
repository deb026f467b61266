import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bar, barFromQuery, barToQuery, emptyBar, planOf } from '../src/model/bar.ts';
import { hottest, kindOf, placeOf, rowHeights, scaleOf, summarize } from '../src/model/heat.ts';
import {
  factsOf,
  isScan,
  parametersIn,
  placeInError,
  statementsOf,
} from '../src/model/statement.ts';
import { kMusic } from './tables.ts';

const bar = (changes: Partial<Bar>): Bar => ({ ...emptyBar(), ...changes });

test('what is filled in decides the operation', () => {
  assert.equal(planOf(bar({}), kMusic).operation, 'Scan');
  const query = planOf(bar({ partition: ['Nina'] }), kMusic);
  assert.equal(query.operation, 'Query');
  assert.equal(query.input.KeyConditionExpression, '#artist = :artist');
  const get = planOf(
    bar({ partition: ['Nina'], sort: [{ operator: '=', values: ['Sinnerman'] }] }),
    kMusic,
  );
  assert.equal(get.operation, 'GetItem');
  assert.deepEqual({ ...get.input.Key }, { artist: { S: 'Nina' }, song: { S: 'Sinnerman' } });
  const begins = planOf(
    bar({
      partition: ['Nina'],
      sort: [{ operator: 'begins_with', values: ['S'] }],
      descending: true,
    }),
    kMusic,
  );
  assert.equal(
    begins.input.KeyConditionExpression,
    '#artist = :artist AND begins_with(#song, :song)',
  );
  assert.equal(begins.input.ScanIndexForward, false);
});

test('a key of the wrong type is told at its field', () => {
  const plan = planOf(bar({ index: 'by-year', partition: ['soon'] }), kMusic);
  assert.match(plan.errors.get('partition.0') ?? '', /not a number/);
});

test('filters go by type, and any of them may be enough', () => {
  const plan = planOf(
    bar({
      filters: [
        { path: 'year', operator: '>', type: 'N', values: ['1960'] },
        { path: 'tags', operator: 'contains', type: 'S', values: ['live'] },
      ],
      any: true,
    }),
    kMusic,
  );
  assert.equal(plan.input.FilterExpression, '#year > :year OR contains(#tags, :tags)');
  assert.deepEqual(
    { ...plan.input.ExpressionAttributeValues },
    {
      ':year': { N: '1960' },
      ':tags': { S: 'live' },
    },
  );
});

test('the bar stands in the address and comes back', () => {
  const wanted = bar({
    index: 'by-year',
    partition: ['1965'],
    sort: [{ operator: 'between', values: ['a', 'b & c'] }],
    filters: [{ path: 'a.b[0]', operator: 'in', type: 'S', values: ['x', 'y"z'] }],
    descending: true,
    consistent: true,
  });
  assert.deepEqual(barFromQuery(new URLSearchParams(barToQuery(wanted))), wanted);
  assert.deepEqual(barFromQuery(new URLSearchParams('sk=nonsense&f=%5B1%5D')), {
    ...emptyBar(),
    index: undefined,
  });
});

test('statements end at semicolons that stand outside of texts and comments', () => {
  assert.deepEqual(statementsOf(`SELECT 1; -- a; comment\n UPDATE "t;x" SET a = 'b;c''' ;`), [
    'SELECT 1',
    `-- a; comment\n UPDATE "t;x" SET a = 'b;c'''`,
  ]);
  assert.equal(parametersIn(`SELECT * FROM t WHERE a = ? AND b = '?' AND "c?" = ?`), 2);
});

test('a SELECT without its partition key is a Scan', () => {
  const scan = (text: string) => isScan(factsOf(text), kMusic);
  assert.equal(scan('SELECT * FROM music'), true);
  assert.equal(scan(`SELECT * FROM "music" WHERE artist = 'x'`), false);
  assert.equal(scan(`SELECT * FROM music WHERE artist IN ['x', 'y']`), false);
  assert.equal(scan(`SELECT * FROM music WHERE artist = 'x' OR song = 'y'`), true);
  assert.equal(scan(`SELECT * FROM music WHERE song = 'artist = x'`), true);
  assert.equal(scan(`SELECT * FROM "music"."by-year" WHERE "year" = ?`), false);
  assert.deepEqual(factsOf(`DELETE FROM "a.b" WHERE x = 1`), {
    kind: 'delete',
    table: 'a.b',
    index: null,
    fixed: ['x'],
  });
});

test('the place in an error is found in the statement', () => {
  const statement = 'SELECT *\nFRM music';
  assert.deepEqual(placeInError('Unexpected token FRM at 2:1:3', statement), { from: 9, to: 12 });
  assert.equal(placeInError('Something else', statement), null);
});

const series = (...values: number[]) => ({ read: values, write: values.map(() => 0) });
const kHeat = {
  type: 'table' as const,
  name: 'votes',
  from: '2026-11-25T07:00:00.000Z',
  columnSeconds: 10,
  columns: 3,
  consumed: series(3000, 100, 0),
  refused: series(500, 0, 0),
  ranges: [
    {
      from: { hash: '0000000000000000' },
      to: { hash: '4000000000000000' },
      consumed: series(2900, 50, 0),
      refused: series(500, 0, 0),
      heat: [0.97, 0.02, 0],
    },
    {
      from: { hash: '4000000000000000' },
      to: null,
      consumed: series(100, 50, 0),
      refused: series(0, 0, 0),
      heat: [0.03, 0.02, 0],
    },
  ],
};
const kAll = { fromColumn: 0, toColumn: 2, fromRange: 0, toRange: 1 };

test('heat: places, rows, sums, spots', () => {
  assert.equal(placeOf({ hash: '8000000000000000' }), 0.5);
  assert.equal(placeOf(null), 1);
  assert.deepEqual(rowHeights(kHeat.ranges, 100, 0, false), [25, 75]);
  assert.deepEqual(rowHeights(kHeat.ranges, 100, 4, true), [50, 50]);
  assert.equal(scaleOf(kHeat, 'heat'), 1);
  assert.equal(scaleOf(kHeat, 'read'), 2900);
  const sum = summarize(kHeat, kAll);
  assert.deepEqual(sum, {
    seconds: 30,
    consumed: { read: 31_000, write: 0 },
    refused: { read: 5000, write: 0 },
    most: 0.97,
    hotColumns: 1,
  });
  assert.deepEqual(hottest(kHeat, 1), [{ range: 0, column: 0, heat: 0.97, refused: 500 }]);
  assert.match(kindOf(kHeat, kAll), /One range has 95%/);
  assert.match(kindOf(kHeat, { ...kAll, fromColumn: 2 }), /Nothing/);
});
