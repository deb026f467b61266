// Secondary indexes through the SDK: paging over equal index keys, and an index that is built while writes go on.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { paginateQuery, paginateScan } from '@aws-sdk/client-dynamodb';

import { assertFails, N, S, suite } from './clients.mjs';

const context = await suite();
const attribute = (text) => ({ AttributeName: text.split(':')[0], AttributeType: text.split(':')[1] });
const keySchema = (...names) => names.map((AttributeName, i) => ({ AttributeName, KeyType: i ? 'RANGE' : 'HASH' }));
const index = (IndexName, names, ProjectionType = 'ALL', NonKeyAttributes = undefined) =>
  ({ IndexName, KeySchema: keySchema(...names), Projection: { ProjectionType, NonKeyAttributes } });

async function create(base, more, attributes) {
  const TableName = context.name(base);
  await context.ddb.CreateTable({
    TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: keySchema('pk', 'sk'), AttributeDefinitions: attributes.map(attribute), ...more,
  });
  context.tables.push(TableName);
  await settled(TableName);
  return TableName;
}

// Waits until the table and its indexes are ACTIVE.
async function settled(TableName) {
  for (;;) {
    const { Table } = await context.ddb.DescribeTable({ TableName });
    const statuses = [Table.TableStatus, ...(Table.GlobalSecondaryIndexes ?? []).map((one) => one.IndexStatus)];
    if (statuses.every((status) => status === 'ACTIVE')) return Table;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function all(pages) {
  const items = [];
  for await (const page of pages) items.push(...(page.Items ?? []));
  return items;
}
const names = (items) => items.map((item) => `${item.pk.S}/${item.sk.N}`);

describe('paging', async () => {
  const TableName = await create('paging', {
    GlobalSecondaryIndexes: [index('by-group', ['group', 'rank'], 'KEYS_ONLY')],
    LocalSecondaryIndexes: [index('by-rank', ['pk', 'rank'], 'KEYS_ONLY')],
  }, ['pk:S', 'sk:N', 'group:S', 'rank:N']);
  const items = Array.from({ length: 60 }, (_, i) => ({
    pk: S(`p${i % 3}`), sk: N(i), group: S('g'), rank: N(i % 2), text: S(`text ${i}`),
  }));
  await context.load(TableName, items);

  for (const ScanIndexForward of [true, false]) {
    test(`equal index keys lose and repeat nothing, ${ScanIndexForward ? 'forward' : 'backward'}`, async () => {
      const found = await all(paginateQuery({ client: context.client, pageSize: 7 }, {
        TableName, IndexName: 'by-group', ScanIndexForward, KeyConditionExpression: '#g = :g', ExpressionAttributeNames: { '#g': 'group' },
        ExpressionAttributeValues: { ':g': S('g') },
      }));
      assert.deepEqual(names(found).sort(), names(items).sort());
      const ranks = found.map((item) => Number(item.rank.N));
      assert.deepEqual(ranks, [...ranks].sort((a, b) => (ScanIndexForward ? a - b : b - a)));
    });
  }

  test('a scan of an index in segments', async () => {
    const parts = await Promise.all([0, 1, 2].map((Segment) =>
      all(paginateScan({ client: context.client, pageSize: 5 }, { TableName, IndexName: 'by-rank', Segment, TotalSegments: 3 }))));
    assert.deepEqual(names(parts.flat()).sort(), names(items).sort());
  });

  test('a local index fetches what it does not hold', async () => {
    const found = await all(paginateQuery({ client: context.client, pageSize: 4 }, {
      TableName, IndexName: 'by-rank', Select: 'ALL_ATTRIBUTES', ConsistentRead: true, KeyConditionExpression: 'pk = :p AND #r = :r',
      ExpressionAttributeNames: { '#r': 'rank' }, ExpressionAttributeValues: { ':p': S('p1'), ':r': N(1) },
    }));
    const expected = items.filter((item) => item.pk.S === 'p1' && item.rank.N === '1');
    assert.deepEqual(found.map((item) => item.text.S).sort(), expected.map((item) => item.text.S).sort());
  });
});

describe('UpdateTable', () => {
  test('an index built while writes go on equals one that was there before', async () => {
    const TableName = await create('online', { GlobalSecondaryIndexes: [index('early', ['a'])] }, ['pk:S', 'sk:N', 'a:S']);
    const item = (i, round) => ({ pk: S(`p${i % 20}`), sk: N(i), round: N(round), ...(i % 5 === round % 5 ? {} : { a: S(`a${(i + round) % 4}`) }) });
    await context.load(TableName, Array.from({ length: 300 }, (_, i) => item(i, 0)));
    let writing = true;
    const writer = (async () => {
      for (let round = 1; writing; round++) {
        await Promise.all(Array.from({ length: 20 }, (_, i) => context.ddb.PutItem({ TableName, Item: item((i * 37 + round * 11) % 300, round) })));
      }
    })();
    const { TableDescription } = await context.ddb.UpdateTable({
      TableName, AttributeDefinitions: [attribute('a:S')], GlobalSecondaryIndexUpdates: [{ Create: index('late', ['a']) }],
    });
    assert.equal(TableDescription.GlobalSecondaryIndexes.find((one) => one.IndexName === 'late').IndexStatus, 'CREATING');
    await settled(TableName);
    writing = false;
    await writer;
    const scan = async (IndexName) => (await all(paginateScan({ client: context.client }, { TableName, IndexName })))
      .map((one) => JSON.stringify(one)).sort();
    assert.deepEqual(await scan('late'), await scan('early'));
    const counts = async () => {
      const { GlobalSecondaryIndexes } = await settled(TableName);
      return ['early', 'late'].map((name) => GlobalSecondaryIndexes.find((one) => one.IndexName === name))
        .map((one) => ({ items: one.ItemCount, bytes: one.IndexSizeBytes }));
    };
    let [early, late] = await counts();
    // On several processes the counters of an index follow a little later.
    for (let tries = 0; tries < 600 && (early.items !== late.items || early.bytes !== late.bytes); tries++) {
      await new Promise((done) => setTimeout(done, 100));
      [early, late] = await counts();
    }
    assert.deepEqual(late, early);

    await context.ddb.UpdateTable({ TableName, GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: 'late' } }] });
    while (((await context.ddb.DescribeTable({ TableName })).Table.GlobalSecondaryIndexes ?? []).length > 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await assertFails(context.ddb.Scan({ TableName, IndexName: 'late' }), 'ValidationException', 'does not have the specified index');
  });
});
