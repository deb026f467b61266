import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bulk, type BulkOptions, type Write } from '../src/model/bulk.ts';
import { equalItems } from '../src/model/equal.ts';
import { type Column, Exporter, exportItems, Importer } from '../src/model/transfer.ts';
import { type Item, itemOf, typeOf } from '../src/model/value.ts';
import { Random, randomItem } from './random.ts';
import { kMusic } from './tables.ts';

class Throttled extends Error {}
class Refused extends Error {}
class Failed extends Error {}
class Condition extends Error {}

const put = (id: number): Write => ({
  kind: 'put',
  key: itemOf([['id', { N: String(id) }]]),
  item: itemOf([['id', { N: String(id) }]]),
});

const options = (changes: Partial<BulkOptions>): BulkOptions => ({
  table: 't',
  keyText: (key) => JSON.stringify(key),
  batch: async () => ({ unprocessed: [], units: 1 }),
  single: async () => 1,
  report: () => {},
  isRetryable: (error) => error instanceof Throttled,
  isSkip: (error) => error instanceof Condition,
  isRefusal: (error) => error instanceof Refused,
  describe: (error) => ({ type: (error as Error).constructor.name, message: String(error) }),
  wait: async () => {},
  ...changes,
});

test('writes go in batches of 25, and what is left over is sent again', async () => {
  const stored = new Set<string>();
  let calls = 0;
  const bulk = new Bulk(
    options({
      batch: async (writes) => {
        assert.ok(writes.length <= 25);
        if (++calls % 3 === 0) throw new Throttled();
        const half = Math.ceil(writes.length / 2);
        for (const one of writes.slice(0, half)) stored.add(JSON.stringify(one.key));
        return { unprocessed: writes.slice(half), units: half };
      },
    }),
  );
  const outcome = await bulk.run(Array.from({ length: 260 }, (_, i) => put(i)));
  assert.equal(outcome.state, 'done');
  assert.equal(outcome.done, 260);
  assert.equal(stored.size, 260);
  assert.equal(outcome.failed, 0);
  assert.equal(outcome.units, 260);
});

test('a refused batch is sent one by one, so that only the bad write fails', async () => {
  const bulk = new Bulk(
    options({
      batch: async () => {
        throw new Refused();
      },
      single: async (write) => {
        if (JSON.stringify(write.key).includes('"7"')) throw new Refused();
        return 1;
      },
    }),
  );
  const outcome = await bulk.run(Array.from({ length: 20 }, (_, i) => put(i)));
  assert.equal(outcome.done, 19);
  assert.deepEqual(
    outcome.failures.map((one) => JSON.stringify(one.write.key)),
    ['{"id":{"N":"7"}}'],
  );
});

test('conditional writes that do not hold are skipped, an error of another kind ends it', async () => {
  const key = (i: number) => itemOf([['id', { N: String(i) }]]);
  const writes = (n: number): Write[] =>
    Array.from({ length: n }, (_, i) => ({ kind: 'delete', key: key(i), seen: key(i) }));
  const skipping = await new Bulk(
    options({
      single: async (write) => {
        if (JSON.stringify(write.key).includes('"3"')) throw new Condition();
        return 1;
      },
    }),
  ).run(writes(10));
  assert.equal(skipping.done, 9);
  assert.equal(skipping.skipped, 1);
  const failing = await new Bulk(
    options({
      single: async () => {
        throw new Failed('gone');
      },
    }),
  ).run(writes(100));
  assert.equal(failing.state, 'failed');
  assert.ok(failing.failed < 100);
});

test('two writes of one item keep their order', async () => {
  const order: string[] = [];
  const bulk = new Bulk(
    options({
      batch: async (writes) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        for (const one of writes) order.push(JSON.stringify(one));
        return { unprocessed: [], units: 0 };
      },
    }),
  );
  const second = { ...put(1), kind: 'put' as const, item: itemOf([['v', { N: '2' }]]) };
  const outcome = await bulk.run([put(1), second]);
  assert.equal(outcome.done, 2);
  assert.deepEqual(order, [JSON.stringify(put(1)), JSON.stringify(second)]);
});

test('stopping ends what is under way and sends nothing more', async () => {
  let sent = 0;
  const bulk: Bulk = new Bulk(
    options({
      batch: async (writes) => {
        sent += writes.length;
        bulk.cancel();
        return { unprocessed: [], units: 0 };
      },
    }),
  );
  const outcome = await bulk.run(Array.from({ length: 1000 }, (_, i) => put(i)));
  assert.equal(outcome.state, 'stopped');
  assert.ok(sent < 1000);
  assert.equal(outcome.done, sent);
});

// Items with the keys of the music table.
function items(seed: number): Item[] {
  const random = new Random(seed);
  return Array.from({ length: 200 }, (_, i) =>
    itemOf([
      ['artist', { S: `a${i}` }],
      ['song', { S: 's, "t"' }],
      ...Object.entries(randomItem(random)),
    ]),
  );
}

for (const format of ['jsonl', 'csv'] as const) {
  test(`${format} reads back as the same items`, async () => {
    const all = items(6);
    const columns = new Map<string, Column>();
    for (const item of all)
      for (const [name, value] of Object.entries(item))
        if (!columns.has(name)) columns.set(name, { name, type: typeOf(value) });
    let text = '';
    const source = exportItems(format, all, { table: 'music', columns: [...columns.values()] });
    for await (const piece of source) text += piece.text;
    const back: Item[] = [];
    for await (const line of new Importer(format, kMusic).items(text.split('\n'))) {
      assert.ok('item' in line, JSON.stringify(line));
      back.push(line.item);
    }
    assert.equal(back.length, all.length);
    for (const [i, item] of all.entries())
      assert.ok(equalItems(item, back[i] as Item), JSON.stringify([item, back[i]]));
  });
}

test('an export that stopped says so, and an import notices', async () => {
  const exporter = new Exporter('jsonl', { table: 'music' });
  const text =
    exporter.head() +
    exporter.item(items(7)[0] as Item) +
    exporter.tail({ reason: 'the connection failed' });
  const importer = new Importer('jsonl', kMusic);
  let read = 0;
  for await (const _ of importer.items(text.split('\n'))) ++read;
  assert.equal(read, 1);
  assert.match(importer.stopped ?? '', /connection failed/);
});
