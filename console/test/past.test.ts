import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeFor } from '../src/model/code/index.ts';
import {
  addPage,
  type ChangesPage,
  changesOf,
  countsOf,
  emptySums,
  goThrough,
  History,
  itemsOf,
  kWrongMoment,
  momentField,
  momentText,
  parseMoment,
  type Range,
  type UndoPage,
  type WireChange,
  wrongMoment,
} from '../src/model/past.ts';

const kNow = Date.parse('2026-11-26T14:10:00.500Z');
const at = (text: string) => {
  const moment = parseMoment(text, kNow);
  return moment === null ? null : momentText(moment);
};

test('moments are read as people write them', () => {
  assert.equal(at('now'), '2026-11-26T14:10:00.500Z');
  assert.equal(at('5 min ago'), '2026-11-26T14:05:00.500Z');
  assert.equal(at('90s'), '2026-11-26T14:08:30.500Z');
  assert.equal(at('1 h 30 min ago'), '2026-11-26T12:40:00.500Z');
  assert.equal(at('0.5 hours ago'), '2026-11-26T13:40:00.500Z');
  assert.equal(at('2 days ago'), '2026-11-24T14:10:00.500Z');
  assert.equal(at('14:03'), '2026-11-26T14:03:00.000Z');
  assert.equal(at('14:03:20.123'), '2026-11-26T14:03:20.123Z');
  // Not yet come today: it was yesterday.
  assert.equal(at('23:00'), '2026-11-25T23:00:00.000Z');
  assert.equal(at('2026-11-26'), '2026-11-26T00:00:00.000Z');
  assert.equal(at('2026-11-26 14:03'), '2026-11-26T14:03:00.000Z');
  assert.equal(at('2026-11-26T14:03:20Z'), '2026-11-26T14:03:20.000Z');
  assert.equal(at('2026-11-26 14:03:20.5 UTC'), '2026-11-26T14:03:20.500Z');
  assert.equal(at('1795701800'), '2026-11-26T14:03:20.000Z');
  assert.equal(at('1795701800123'), '2026-11-26T14:03:20.123Z');
  for (const none of [
    '',
    'soon',
    '25:00',
    '14:61',
    '5',
    '5 parsecs ago',
    '2026-13-40',
    'ago',
    '1e9',
  ])
    assert.equal(at(none), null, none);
});

test('what a field shows is read back as the same moment', () => {
  for (const moment of [kNow, kNow - 500, 0, Date.parse('2026-02-28T23:59:59.001Z')])
    assert.equal(parseMoment(momentField(moment), kNow), moment);
});

test('a moment outside of what is kept is refused before the server is asked', () => {
  const kept = { earliest: kNow - 60_000, latest: kNow - 1000 };
  assert.equal(wrongMoment(kNow - 60_000, kept, kNow), null);
  assert.match(wrongMoment(kNow - 60_001, kept, kNow) ?? '', /^Nothing before 2026-11-26 14:09/);
  assert.equal(wrongMoment(kNow - 10, kept, kNow), null);
  assert.match(wrongMoment(kNow + 1, kept, kNow) ?? '', /yet to come/);
  assert.equal(wrongMoment(null, kept, kNow), kWrongMoment);
  assert.equal(wrongMoment(5, { earliest: null, latest: null }, kNow), null);
});

const change = (time: number, before: string | null, after: string | null): WireChange => ({
  time: momentText(time),
  before: before === null ? null : { v: { N: before } },
  after: after === null ? null : { v: { N: after } },
});

test('changes are counted by what became of the item', () => {
  const changes = [change(1, null, '1'), change(2, '1', '2'), change(3, '2', null)];
  assert.deepEqual(countsOf(changes), { created: 1, changed: 1, deleted: 1 });
  assert.deepEqual(changesOf(null, { v: { N: '1' } }), [
    { path: ['v'], before: undefined, after: { N: '1' } },
  ]);
});

// A log of changes as the server tells it: oldest first, after `from` and not after `to`, `limit` of
// them, and at most `most` on a page.
function serverOf(log: readonly WireChange[], earliest: number, latest: number, most: number) {
  const asked: Range[] = [];
  const ask = async (range: Range): Promise<ChangesPage> => {
    asked.push(range);
    const from = range.from === undefined ? earliest : Date.parse(range.from);
    const to = range.to === undefined ? latest : Date.parse(range.to);
    assert.ok(from >= earliest && to <= latest && from <= to);
    const within = log.filter((one) => Date.parse(one.time) > from && Date.parse(one.time) <= to);
    const start = Number(range.start ?? 0);
    const end = start + Math.min(most, range.limit);
    return {
      from: momentText(from),
      to: momentText(to),
      changes: within.slice(start, end),
      next: end < within.length ? String(end) : null,
    };
  };
  return { ask, asked };
}

test('versions are read newest first, each once, until there are enough', async () => {
  const earliest = kNow - 3 * 86_400_000;
  const log: WireChange[] = [];
  for (let i = 0; i < 400; ++i)
    log.push(
      change(earliest + 1 + Math.floor((i * (kNow - earliest)) / 401), String(i), String(i + 1)),
    );
  const { ask, asked } = serverOf(log, earliest, kNow, 7);
  const history = new History(ask, { earliest, latest: kNow });
  await history.more();
  assert.equal(asked[0]?.from, momentText(kNow - 3_600_000));
  assert.equal(history.complete, false);
  const first = history.changes.length;
  assert.ok(first >= 20 && first < 400, String(first));
  assert.equal(history.changes[0], log.at(-1));
  while (!history.complete) await history.more();
  assert.deepEqual(history.changes, [...log].reverse());
  assert.equal(history.cut, false);
  assert.equal(history.to, momentText(kNow));
});

test('an item that hardly ever changes costs three questions, and one kept for a minute one', async () => {
  const few = serverOf([change(kNow - 5, '1', '2')], kNow - 3 * 86_400_000, kNow, 100);
  const history = new History(few.ask, { earliest: kNow - 3 * 86_400_000, latest: kNow });
  await history.more();
  assert.equal(history.complete, true);
  assert.equal(history.changes.length, 1);
  assert.equal(few.asked.length, 3);
  const brief = serverOf([], kNow - 60_000, kNow, 100);
  const none = new History(brief.ask, { earliest: kNow - 60_000, latest: kNow });
  await none.more();
  assert.equal(none.complete, true);
  assert.equal(brief.asked.length, 1);
});

const undoPage = (items: UndoPage['items'], next: string | null): UndoPage => ({
  from: '',
  to: '',
  applied: true,
  items,
  next,
});

test('an undo goes through all pages, and what has to be looked at is apart', async () => {
  const key = (n: number) => ({ id: { N: String(n) } });
  const pages = [
    undoPage(
      [
        { key: key(1), outcome: 'put' },
        { key: key(2), outcome: 'conflict' },
      ],
      'a',
    ),
    undoPage([], 'b'),
    undoPage(
      [
        { key: key(3), outcome: 'failed', error: 'full' },
        { key: key(4), outcome: 'already' },
      ],
      null,
    ),
  ];
  const starts: (string | undefined)[] = [];
  const told: number[] = [];
  const sums = await goThrough(
    async (start) => {
      starts.push(start);
      return pages[starts.length - 1] as UndoPage;
    },
    (known) => told.push(itemsOf(known)),
  );
  assert.deepEqual(starts, [undefined, 'a', 'b']);
  assert.deepEqual(told, [2, 2, 4]);
  assert.deepEqual(sums.counts, { put: 1, delete: 0, already: 1, conflict: 1, failed: 1 });
  assert.deepEqual(
    sums.look.map((one) => one.outcome),
    ['conflict', 'failed'],
  );
  assert.ok(sums.complete);
  assert.equal(addPage(emptySums(), undoPage([], 'x')).complete, false);
});

test('the request of a moment as code', () => {
  const where = { endpoint: 'http://localhost:8000', region: 'us-east-1' };
  const asOf = '2026-11-26T14:03:00.000Z';
  const get = {
    service: 'DynamoDB' as const,
    operation: 'GetItem',
    input: { TableName: 'music', Key: { artist: { S: "O'Neil" } } },
    asOf,
  };
  for (const language of ['js', 'js-document', 'boto3', 'boto3-resource', 'curl'] as const)
    assert.match(
      codeFor(language, get, where) ?? '',
      /X-Stator-As-Of'?\]? ?[=:] ?'?2026-11-26T14:03/,
    );
  assert.equal(codeFor('partiql', get, where), null);
  assert.match(
    codeFor('cli', get, where) ?? '',
    /^stator at music 2026-11-26T14:03:00\.000Z '\{"artist":\{"S":"O'\\''Neil"\}\}'/m,
  );
  const query = { ...get, operation: 'Query', input: { TableName: 'music', Limit: 3 } };
  assert.match(codeFor('cli', query, where) ?? '', /^curl /m);
  assert.doesNotMatch(codeFor('js', { ...get, asOf: undefined }, where) ?? '', /As-Of|middleware/);
});
