// DynamoDB Streams through the SDK: every operation and its errors, and a consumer that follows shards to their children.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as streamsSdk from '@aws-sdk/client-dynamodb-streams';

import { assertFails, assertSame, N, operationsOf, S, SS, suite } from './clients.mjs';
import { isStator, request } from './harness.mjs';

const context = await suite();
const { ddb } = context;
const client = new streamsSdk.DynamoDBStreamsClient({
  endpoint: context.endpoint, region: 'us-east-1', maxAttempts: 1,
  credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' },
});
const streams = operationsOf(client, streamsSdk);
after(() => client.destroy());

const specification = (StreamViewType) => ({ StreamSpecification: { StreamEnabled: true, StreamViewType } });
async function streamed(base, StreamViewType = 'NEW_AND_OLD_IMAGES', more = {}) {
  const TableName = await context.table(base, 'pk:S', 'sk:N', { ...specification(StreamViewType), ...more });
  const { Table } = await ddb.DescribeTable({ TableName });
  return { TableName, StreamArn: Table.LatestStreamArn };
}

async function shardsOf(StreamArn) {
  const shards = [];
  let ExclusiveStartShardId;
  do {
    const { StreamDescription } = await streams.DescribeStream({ StreamArn, ExclusiveStartShardId });
    shards.push(...StreamDescription.Shards);
    ExclusiveStartShardId = StreamDescription.LastEvaluatedShardId;
  } while (ExclusiveStartShardId);
  return shards;
}

async function iteratorAt(StreamArn, ShardId, ShardIteratorType = 'TRIM_HORIZON', SequenceNumber = undefined) {
  return (await streams.GetShardIterator({ StreamArn, ShardId, ShardIteratorType, SequenceNumber })).ShardIterator;
}

/** All records that there are now, shard by shard. */
async function recordsOf(StreamArn) {
  const records = [];
  for (const { ShardId } of await shardsOf(StreamArn)) {
    let ShardIterator = await iteratorAt(StreamArn, ShardId);
    for (;;) {
      const page = await streams.GetRecords({ ShardIterator });
      records.push(...page.Records);
      ShardIterator = page.NextShardIterator;
      if (!ShardIterator || page.Records.length === 0) break;
    }
  }
  return records;
}

const manage = async (path, body = undefined) => {
  const reply = await request(context.endpoint, {
    method: 'POST', path: `/_stator/${path}`, headers: { 'X-Stator-Management': 'true' }, body: body ? JSON.stringify(body) : '',
  });
  return { status: reply.status, body: reply.json() };
};
const split = (table, body) => manage(`tables/${table}/split`, body);

const item = (pk, sk, more = {}) => ({ pk: S(pk), sk: N(sk), ...more });

describe('tables', () => {
  test('show their stream while it is enabled and name it afterwards', async () => {
    const { TableName, StreamArn } = await streamed('shown', 'OLD_IMAGE');
    const { Table } = await ddb.DescribeTable({ TableName });
    assert.deepEqual(Table.StreamSpecification, { StreamEnabled: true, StreamViewType: 'OLD_IMAGE' });
    assert.match(Table.LatestStreamLabel, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/);
    assert.equal(StreamArn, `${Table.TableArn}/stream/${Table.LatestStreamLabel}`);
    await assertFails(ddb.UpdateTable({ TableName, ...specification('KEYS_ONLY') }),
      isStator ? 'ResourceInUseException' : 'ValidationException', 'Table already has an enabled stream');
    await ddb.UpdateTable({ TableName, StreamSpecification: { StreamEnabled: false } });
    const { Table: later } = await ddb.DescribeTable({ TableName });
    assert.equal(later.StreamSpecification, undefined);
    assert.equal(later.LatestStreamArn, StreamArn);
    await assertFails(ddb.UpdateTable({ TableName, StreamSpecification: { StreamEnabled: false } }),
      'ValidationException', 'Table has no stream to disable');
    await ddb.UpdateTable({ TableName, ...specification('KEYS_ONLY') });
    const { Table: again } = await ddb.DescribeTable({ TableName });
    assert.notEqual(again.LatestStreamArn, StreamArn);
    const { Streams } = await streams.ListStreams({ TableName });
    assert.deepEqual(Streams.map((one) => one.StreamArn), [StreamArn, again.LatestStreamArn]);
  });

  test('refuse half a specification', async () => {
    const { TableName } = await streamed('refusing');
    await assertFails(ddb.UpdateTable({ TableName, StreamSpecification: { StreamEnabled: true } }), 'ValidationException');
    await assertFails(ddb.UpdateTable({ TableName, StreamSpecification: { StreamEnabled: false, StreamViewType: 'KEYS_ONLY' } }),
      'ValidationException');
  });
});

describe('records', () => {
  for (const type of ['NEW_AND_OLD_IMAGES', 'NEW_IMAGE', 'OLD_IMAGE', 'KEYS_ONLY']) {
    test(`of ${type}`, async () => {
      const { TableName, StreamArn } = await streamed(`view.${type}`, type);
      const key = item('a', 1);
      const first = item('a', 1, { tags: SS('x', 'y') });
      const second = item('a', 1, { tags: SS('x'), n: N(5) });
      await ddb.PutItem({ TableName, Item: first });
      await ddb.PutItem({ TableName, Item: item('a', 1, { tags: SS('y', 'x') }) });  // the same set
      await ddb.UpdateItem({ TableName, Key: key, UpdateExpression: 'SET n = :n DELETE tags :y',
        ExpressionAttributeValues: { ':n': N(5), ':y': SS('y') } });
      await ddb.DeleteItem({ TableName, Key: key });
      await ddb.DeleteItem({ TableName, Key: key });  // there is nothing any more
      const records = await recordsOf(StreamArn);
      assert.deepEqual(records.map((record) => record.eventName), ['INSERT', 'MODIFY', 'REMOVE']);
      const news = [first, second, undefined];
      const olds = [undefined, first, second];
      let before = '';
      records.forEach((record, i) => {
        assert.match(record.eventID, isStator ? /^[0-9a-f]{32}$/ : /./);
        assert.equal(record.eventVersion, '1.1');
        assert.equal(record.eventSource, 'aws:dynamodb');
        assert.equal(record.userIdentity, undefined);
        const change = record.dynamodb;
        assert.equal(change.StreamViewType, type);
        assert.ok(change.ApproximateCreationDateTime instanceof Date);
        assertSame(change.Keys, key);
        assertSame(change.NewImage, type.startsWith('NEW') ? news[i] : undefined);
        assertSame(change.OldImage, type.includes('OLD') ? olds[i] : undefined);
        assert.match(change.SequenceNumber, /^\d{21,40}$/);
        assert.ok(change.SequenceNumber > before && change.SequenceNumber.length >= before.length);
        before = change.SequenceNumber;
        assert.ok(change.SizeBytes > 0);
      });
      assert.equal(new Set(records.map((record) => record.eventID)).size, 3);
      assertSame(await recordsOf(StreamArn), records, 'reading is repeatable');
    });
  }

  test('of transactions and batches are all there', async () => {
    const { TableName, StreamArn } = await streamed('together');
    await ddb.TransactWriteItems({ TransactItems: Array.from({ length: 100 }, (_, i) => ({ Put: { TableName, Item: item(`t${i}`, i) } })) });
    await context.load(TableName, Array.from({ length: 50 }, (_, i) => item(`b${i}`, i)));
    const records = await recordsOf(StreamArn);
    assert.equal(records.length, 150);
    assert.equal(new Set(records.map((record) => record.dynamodb.SequenceNumber)).size, 150);
    await assertFails(ddb.TransactWriteItems({ TransactItems: [
      { Put: { TableName, Item: item('never', 1) } },
      { ConditionCheck: { TableName, Key: item('t0', 0), ConditionExpression: 'attribute_not_exists(pk)' } }] }),
    'TransactionCanceledException');
    assert.equal((await recordsOf(StreamArn)).length, 150);
  });

  test('come in pages of at most 1 MB and 1000', async () => {
    const { TableName, StreamArn } = await streamed('pages', 'NEW_IMAGE',
      { ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 } });
    const text = 'x'.repeat(300 * 1024);
    for (let i = 0; i < 5; ++i) await ddb.PutItem({ TableName, Item: item('big', i, { text: S(text) }) });
    const [{ ShardId }] = await shardsOf(StreamArn);
    const first = await streams.GetRecords({ ShardIterator: await iteratorAt(StreamArn, ShardId) });
    assert.equal(first.Records.length, 3);
    const second = await streams.GetRecords({ ShardIterator: first.NextShardIterator });
    assert.deepEqual(second.Records.map((record) => record.dynamodb.Keys.sk.N), ['3', '4']);
    await context.load(TableName, Array.from({ length: 1010 }, (_, i) => item('small', i)));
    const full = await streams.GetRecords({ ShardIterator: second.NextShardIterator });
    assert.equal(full.Records.length, 1000);
    const rest = await streams.GetRecords({ ShardIterator: full.NextShardIterator, Limit: 4 });
    assert.equal(rest.Records.length, 4);
    const last = await streams.GetRecords({ ShardIterator: rest.NextShardIterator });
    assert.equal(last.Records.length, 6);
  });
});

describe('iterators', () => {
  let stream;
  let ShardId;
  let numbers;
  before(async () => {
    stream = await streamed('iterators', 'KEYS_ONLY', { ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 } });
    for (let i = 0; i < 4; ++i) await ddb.PutItem({ TableName: stream.TableName, Item: item('a', i) });
    [{ ShardId }] = await shardsOf(stream.StreamArn);
    numbers = (await recordsOf(stream.StreamArn)).map((record) => record.dynamodb.SequenceNumber);
  });
  const read = async (type, number = undefined) =>
    (await streams.GetRecords({ ShardIterator: await iteratorAt(stream.StreamArn, ShardId, type, number) }))
      .Records.map((record) => record.dynamodb.SequenceNumber);

  test('of all types begin where they say', async () => {
    assert.deepEqual(await read('TRIM_HORIZON'), numbers);
    assert.deepEqual(await read('AT_SEQUENCE_NUMBER', numbers[1]), numbers.slice(1));
    assert.deepEqual(await read('AFTER_SEQUENCE_NUMBER', numbers[1]), numbers.slice(2));
    assert.deepEqual(await read('AFTER_SEQUENCE_NUMBER', numbers[3]), []);
    const ShardIterator = await iteratorAt(stream.StreamArn, ShardId, 'LATEST');
    assert.deepEqual((await streams.GetRecords({ ShardIterator })).Records, []);
    await ddb.PutItem({ TableName: stream.TableName, Item: item('b', 1) });
    const { Records } = await streams.GetRecords({ ShardIterator });
    assert.deepEqual(Records.map((record) => record.dynamodb.Keys), [item('b', 1)]);
  });

  test('and what is wrong with them', async () => {
    const { StreamArn } = stream;
    const at = (type, number, id = ShardId, arn = StreamArn) => iteratorAt(arn, id, type, number);
    await assertFails(at('LATEST', numbers[0]), 'ValidationException', 'SequenceNumber');
    await assertFails(at('AT_SEQUENCE_NUMBER'), 'ValidationException', 'SequenceNumber');
    await assertFails(at('AT_SEQUENCE_NUMBER', '0'.repeat(21)), 'ValidationException', 'SequenceNumber');
    await assertFails(at('LATEST', undefined, 'shardId-00000000000000000000-00000000'), 'ResourceNotFoundException', 'Shard');
    await assertFails(at('LATEST', undefined, ShardId, StreamArn.replace(/\d{4}-/, '1999-')), 'ResourceNotFoundException', 'Stream');
    await assertFails(streams.GetRecords({ ShardIterator: 'garbage' }), 'ValidationException', 'Invalid ShardIterator');
    const good = await at('TRIM_HORIZON');
    const other = await streamed('other');
    await assertFails(streams.GetRecords({ ShardIterator: good.replace(StreamArn, other.StreamArn) }), 'ValidationException', 'Invalid ShardIterator');
    const last = good.at(-1) === '0' ? '1' : '0';
    await assertFails(streams.GetRecords({ ShardIterator: good.slice(0, -1) + last }), 'ValidationException', 'Invalid ShardIterator');
    await assertFails(streams.GetRecords({ ShardIterator: good, Limit: 1001 }), 'ValidationException', 'Limit');
    await assertFails(streams.DescribeStream({ StreamArn: 'arn:aws:dynamodb:us-east-1:000000000000:table/none/stream/x' }), 'ResourceNotFoundException');
    if (!isStator) return;
    for (const none of ['arn:aws:dynamodb:us-east-1:0:table/none/stream/x', StreamArn.replace(/\/stream.*/, ''), 'x'.repeat(40)]) {
      await assertFails(streams.DescribeStream({ StreamArn: none }), 'ValidationException', `Invalid StreamArn: Invalid ResourceArn provided as input ${none}`);
      await assertFails(at('LATEST', undefined, ShardId, none), 'ValidationException', 'Invalid StreamArn');
    }
  });
});

describe('shards', { skip: !isStator && 'a management call splits partitions' }, () => {
  test('split with their partitions and end', async () => {
    const { TableName, StreamArn } = await streamed('split', 'KEYS_ONLY', { ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 } });
    await context.load(TableName, Array.from({ length: 40 }, (_, i) => item(`a${i}`, i)));
    const [parent] = await shardsOf(StreamArn);
    const open = await iteratorAt(StreamArn, parent.ShardId);
    assert.equal((await split(TableName)).status, 200);
    await context.load(TableName, Array.from({ length: 40 }, (_, i) => item(`b${i}`, i)));
    const shards = await shardsOf(StreamArn);
    assert.equal(shards.length, 3);
    assert.equal(shards[0].ShardId, parent.ShardId);
    assert.ok(shards[0].SequenceNumberRange.EndingSequenceNumber);
    for (const child of shards.slice(1)) {
      assert.equal(child.ParentShardId, parent.ShardId);
      assert.equal(child.SequenceNumberRange.EndingSequenceNumber, undefined);
      assert.ok(child.SequenceNumberRange.StartingSequenceNumber > shards[0].SequenceNumberRange.EndingSequenceNumber);
    }
    const { Records, NextShardIterator } = await streams.GetRecords({ ShardIterator: open });
    assert.equal(Records.length, 40);
    assert.equal(NextShardIterator, undefined);
    const filter = { Type: 'CHILD_SHARDS', ShardId: parent.ShardId };
    const { StreamDescription } = await streams.DescribeStream({ StreamArn, ShardFilter: filter });
    assert.deepEqual(StreamDescription.Shards, shards.slice(1));
    const page = await streams.DescribeStream({ StreamArn, Limit: 2 });
    assert.deepEqual(page.StreamDescription.Shards, shards.slice(0, 2));
    assert.equal(page.StreamDescription.LastEvaluatedShardId, shards[1].ShardId);
    assert.equal((await recordsOf(StreamArn)).length, 80);
    assert.equal((await split(TableName, { partition: 700 })).status, 400);
    assert.equal((await split(TableName, { wrong: 7 })).status, 400);
    assert.equal((await split('no-such-table')).status, 404);
    assert.equal((await split(TableName, { hash: '5' })).status, 400);
    assert.equal((await split(TableName, { hash: '0000000000000005' })).body.partitions[1], '0000000000000005');
  });

  test('lead a consumer to every change once, while writers write and partitions split', async () => {
    const { TableName, StreamArn } = await streamed('consumer');
    let writing = true;
    const writer = async (seed) => {
      for (let i = 0; writing; ++i) {
        const key = item(`p${(i * 7 + seed) % 13}`, i % 3);
        if (i % 5 === 4) await ddb.DeleteItem({ TableName, Key: key });
        else await ddb.PutItem({ TableName, Item: { ...key, by: N(seed), i: N(i) } });
      }
    };
    // The last image of each item. If the next old image differs, a record was lost, repeated or out of order.
    const items = new Map();
    const ended = new Set();
    const iterators = new Map();
    const poll = async () => {
      let any = false;
      for (const { ShardId, ParentShardId } of await shardsOf(StreamArn)) {
        if (ended.has(ShardId) || (ParentShardId && !ended.has(ParentShardId))) continue;
        if (!iterators.has(ShardId)) iterators.set(ShardId, await iteratorAt(StreamArn, ShardId));
        const { Records, NextShardIterator } = await streams.GetRecords({ ShardIterator: iterators.get(ShardId), Limit: 50 });
        for (const { dynamodb: change } of Records) {
          const key = `${change.Keys.pk.S}/${change.Keys.sk.N}`;
          assertSame(change.OldImage, items.get(key), `${key} at ${change.SequenceNumber}`);
          if (change.NewImage) items.set(key, change.NewImage);
          else items.delete(key);
        }
        iterators.set(ShardId, NextShardIterator);
        if (!NextShardIterator) ended.add(ShardId);
        any ||= Records.length > 0 || !NextShardIterator;
      }
      return any;
    };
    const writers = [1, 2, 3, 4].map(writer);
    const splitter = (async () => {
      for (let i = 0; i < 12; ++i) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        assert.equal((await split(TableName)).status, 200);
      }
      writing = false;
    })();
    while (writing) await poll();
    await Promise.all([...writers, splitter]);
    while (await poll());
    const { Items } = await ddb.Scan({ TableName });
    assertSame(Object.fromEntries(items), Object.fromEntries(Items.map((one) => [`${one.pk.S}/${one.sk.N}`, one])));
    assert.ok(ended.size >= 12);
  });
});

describe('streams without a table', { skip: !isStator && 'a management call resets' }, () => {
  test('can be read until the server is reset', async () => {
    const { TableName, StreamArn } = await streamed('gone');
    await ddb.PutItem({ TableName, Item: item('a', 1) });
    await ddb.DeleteTable({ TableName });
    assert.equal((await streams.DescribeStream({ StreamArn })).StreamDescription.StreamStatus, 'DISABLED');
    assert.equal((await recordsOf(StreamArn)).length, 1);
    const arns = [];
    let ExclusiveStartStreamArn;
    do {
      const page = await streams.ListStreams({ Limit: 3, ExclusiveStartStreamArn });
      arns.push(...page.Streams.map((one) => one.StreamArn));
      ExclusiveStartStreamArn = page.LastEvaluatedStreamArn;
    } while (ExclusiveStartStreamArn);
    assert.ok(arns.includes(StreamArn));
    assert.equal(new Set(arns).size, arns.length);
    if (context.server) {
      const { store } = (await request(context.endpoint, { method: 'GET', path: '/_stator/status', headers: { 'X-Stator-Management': 'true' } })).json();
      assert.equal((await manage('reset', { store })).status, 200);
      assert.deepEqual((await streams.ListStreams({})).Streams, []);
    }
  });
});
