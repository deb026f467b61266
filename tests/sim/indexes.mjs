// Every index holds what the items say, and every count is what a scan finds: after random writes
// of all kinds, kills, and global indexes that are built and removed while the writers run. An
// index that was built online equals one that was there from the start, and one that is built when
// all is over. The table's stream, replayed, gives the table, also when its partitions are split.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

import { sizeOf } from '../sdk/sizes.mjs';
import { Machine } from './machine.mjs';
import { Replay } from './replay.mjs';

const TABLE = 'things';
const PARTITIONS = 16;
const SORTS = 40;
const MOST_SPLITS = 20;

const S = (value) => ({ S: value });
const N = (value) => ({ N: String(value) });
const TYPES = { pk: 'S', sk: 'N', a: 'S', b: 'N', c: 'B' };

// Names of the partition attributes, of the sort attributes, and of the projected attributes.
const LOCAL = {
  'local-a': [['pk'], ['a'], 'KEYS_ONLY'],
  'local-b': [['pk'], ['b'], 'ALL'],
};
const GLOBAL = {
  'by-a': [['a'], [], 'ALL'],
  'by-a-b': [['a'], ['b'], ['x']],
  inverted: [['sk'], ['pk'], 'KEYS_ONLY'],
  many: [['a', 'b'], ['c', 'sk'], 'KEYS_ONLY'],
};

function definitionOf(IndexName, [partition, sort, projected]) {
  const element = (KeyType) => (AttributeName) => ({ AttributeName, KeyType });
  const Projection = Array.isArray(projected)
    ? { ProjectionType: 'INCLUDE', NonKeyAttributes: projected }
    : { ProjectionType: projected };
  const KeySchema = [...partition.map(element('HASH')), ...sort.map(element('RANGE'))];
  return { IndexName, KeySchema, Projection };
}

const ATTRIBUTES = Object.entries(TYPES).map(([AttributeName, AttributeType]) => ({
  AttributeName,
  AttributeType,
}));
const keyOf = ({ pk, sk }) => ({ pk, sk });
const textOf = (item) => JSON.stringify(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
const texts = (items) => items.map(textOf).sort();

/** The entries that an index of that definition has to have. */
function entriesOf(items, [partition, sort, projected]) {
  const keys = [...partition, ...sort];
  const wanted = new Set(['pk', 'sk', ...keys, ...(Array.isArray(projected) ? projected : [])]);
  return items
    .filter((item) => keys.every((name) => item[name]?.[TYPES[name]] !== undefined))
    .map((item) =>
      Object.fromEntries(
        Object.entries(item).filter(([name]) => projected === 'ALL' || wanted.has(name)),
      ),
    );
}

class Indexes {
  constructor(machine) {
    this.machine = machine;
    this.extra = new Map(); // global indexes that come and go: name -> definition
    this.late = 0;
    this.counts = { checks: 0, builds: 0, removals: 0, splits: 0, refused: 0, items: 0 };
  }

  async createTable() {
    const { TableDescription } = await this.machine.must('CreateTable', {
      TableName: TABLE,
      BillingMode: 'PAY_PER_REQUEST',
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: ATTRIBUTES,
      LocalSecondaryIndexes: Object.entries(LOCAL).map(([name, one]) => definitionOf(name, one)),
      GlobalSecondaryIndexes: Object.entries(GLOBAL).map(([name, one]) => definitionOf(name, one)),
    });
    this.replay = new Replay(this.machine, TableDescription.LatestStreamArn);
  }

  // Keys are few, so that writes meet; index keys repeat, are missing, and now and then have
  // another type.
  key(random) {
    return { pk: S(`p${random.between(1, PARTITIONS)}`), sk: N(random.between(1, SORTS) - 9) };
  }

  attributes(random) {
    const some = {};
    if (random.chance(0.7)) some.a = random.chance(0.02) ? N(1) : S(`a${random.between(1, 3)}`);
    if (random.chance(0.7)) some.b = N(random.between(-1, 2));
    if (random.chance(0.6)) some.c = { B: random.pick(['qg==', 'AA==', 'AAE=']) };
    if (random.chance(0.5)) some.x = S('x'.repeat(random.between(1, 40)));
    if (random.chance(0.5)) some.y = N(random.between(1, 1000));
    return some;
  }

  condition(random) {
    return random.weighted([
      [5, {}],
      [1, { ConditionExpression: 'attribute_exists(pk)' }],
      [1, { ConditionExpression: 'attribute_not_exists(a)' }],
      [1, { ConditionExpression: 'b > :b', values: { ':b': N(0) } }],
    ]);
  }

  put(random) {
    const { values, ...condition } = this.condition(random);
    const Item = { ...this.key(random), ...this.attributes(random) };
    const request = { TableName: TABLE, Item, ...condition };
    return values ? { ...request, ExpressionAttributeValues: values } : request;
  }

  remove(random) {
    const { values, ...condition } = this.condition(random);
    const request = { TableName: TABLE, Key: this.key(random), ...condition };
    return values ? { ...request, ExpressionAttributeValues: values } : request;
  }

  update(random) {
    const { values = {}, ...condition } = this.condition(random);
    const used = { ...values };
    const sets = [];
    for (const [name, value] of Object.entries(this.attributes(random))) {
      if (random.chance(0.5)) continue;
      sets.push(`${name} = :${name}_`);
      used[`:${name}_`] = value;
    }
    const removes = random.sample(['a', 'b', 'c', 'x', 'y'], random.between(0, 2));
    const gone = removes.filter((name) => !sets.some((set) => set.startsWith(`${name} `)));
    const parts = [];
    if (sets.length) parts.push(`SET ${sets.join(', ')}`);
    if (gone.length) parts.push(`REMOVE ${gone.join(', ')}`);
    if (!sets.some((set) => set.startsWith('b ')) && !gone.includes('b')) {
      parts.push('ADD b :d');
      used[':d'] = N(random.between(-1, 1));
    }
    const UpdateExpression = parts.join(' ');
    const request = { TableName: TABLE, Key: this.key(random), UpdateExpression, ...condition };
    return Object.keys(used).length ? { ...request, ExpressionAttributeValues: used } : request;
  }

  batch(random) {
    const requests = new Map();
    for (let i = 0; i < random.between(2, 12); i++) {
      const item = { ...this.key(random), ...this.attributes(random) };
      const request = random.chance(0.3)
        ? { DeleteRequest: { Key: keyOf(item) } }
        : { PutRequest: { Item: item } };
      requests.set(textOf(keyOf(item)), request);
    }
    return { RequestItems: { [TABLE]: [...requests.values()] } };
  }

  transaction(random) {
    const actions = new Map();
    for (let i = 0; i < random.between(2, 8); i++) {
      const action = random.weighted([
        [4, () => ({ Put: this.put(random) })],
        [4, () => ({ Update: this.update(random) })],
        [2, () => ({ Delete: this.remove(random) })],
        [1, () => ({ ConditionCheck: this.check(random) })],
      ]);
      const [request] = Object.values(action);
      actions.set(textOf(keyOf(request.Item ?? request.Key)), action);
    }
    return { TransactItems: [...actions.values()] };
  }

  check(random) {
    return { TableName: TABLE, Key: this.key(random), ConditionExpression: 'attribute_exists(pk)' };
  }

  async write(random) {
    const [operation, body] = random.weighted([
      [4, () => ['PutItem', this.put(random)]],
      [4, () => ['UpdateItem', this.update(random)]],
      [2, () => ['DeleteItem', this.remove(random)]],
      [1, () => ['BatchWriteItem', this.batch(random)]],
      [2, () => ['TransactWriteItems', this.transaction(random)]],
    ]);
    const { status, body: answer } = await this.machine.send(operation, body);
    if (status === 400) {
      const expected = /ConditionalCheckFailed|TransactionCanceled|(Index Key|index key) /;
      assert.match(`${answer.__type} ${answer.message}`, expected);
      this.counts.refused++;
    }
    return status !== 0;
  }

  // Splits the widest partition, or makes a twin of an index, or removes such a twin.
  async changeTable(random) {
    if (this.counts.splits < MOST_SPLITS && random.chance(0.02)) {
      const split = await this.machine.manage(`tables/${TABLE}/split`);
      if (split !== 0 && !this.machine.storms) assert.equal(split, 200, 'a split');
      this.counts.splits++;
      return split !== 0;
    }
    const { status, body } = await this.machine.send('DescribeTable', { TableName: TABLE });
    if (status === 0) return false;
    const there = body.Table.GlobalSecondaryIndexes;
    if (there.some(({ IndexStatus }) => IndexStatus !== 'ACTIVE')) {
      await delay(1);
      return true;
    }
    const extra = there.filter(({ IndexName }) => this.extra.has(IndexName));
    if (extra.length > 0 && random.chance(0.5)) {
      this.counts.removals++;
      return this.updateTable({ Delete: { IndexName: random.pick(extra).IndexName } });
    }
    if (extra.length > 3) return true;
    return this.build(random.pick(Object.keys(GLOBAL)), `late-${++this.late}`);
  }

  build(twin, name) {
    this.counts.builds++;
    this.extra.set(name, GLOBAL[twin]);
    return this.updateTable({ Create: definitionOf(name, GLOBAL[twin]) });
  }

  async updateTable(update) {
    const { status, body } = await this.machine.send('UpdateTable', {
      TableName: TABLE,
      AttributeDefinitions: ATTRIBUTES,
      GlobalSecondaryIndexUpdates: [update],
    });
    // In a storm a request without an answer may still be on its way.
    if (status === 400 && this.machine.storms)
      assert.match(body.__type, /ResourceInUse|LimitExceeded|ResourceNotFound|Validation/);
    else if (status !== 0) assert.equal(status, 200, JSON.stringify(body));
    return status !== 0;
  }

  async work(client, random) {
    for (let answered = true; answered && this.machine.going();) {
      answered = await (client % this.machine.clients === 0 ? this.changeTable(random) : this.write(random));
    }
  }

  // Waits until all indexes are active or gone. Fails if that takes long.
  async settled() {
    const end = Date.now() + 60000;
    while (Date.now() < end) {
      const { Table } = await this.machine.must('DescribeTable', { TableName: TABLE });
      if (Table.GlobalSecondaryIndexes.every((index) => index.IndexStatus === 'ACTIVE')) return;
      await delay(5);
    }
    assert.fail('an index is not built within 60 s');
  }

  // Runs while no client writes.
  async verify() {
    const { Table } = await this.machine.must('DescribeTable', { TableName: TABLE });
    const items = await this.machine.all('Scan', { TableName: TABLE, ConsistentRead: true });
    assert.equal(Table.ItemCount, items.length, 'ItemCount is not what a scan finds');
    assert.equal(Table.TableSizeBytes, sum(items), 'TableSizeBytes is not what a scan finds');
    for (const index of Table.LocalSecondaryIndexes) {
      await this.verifyIndex(items, index, LOCAL[index.IndexName]);
    }
    for (const index of Table.GlobalSecondaryIndexes) {
      const definition = GLOBAL[index.IndexName] ?? this.extra.get(index.IndexName);
      if (index.IndexStatus === 'ACTIVE') await this.verifyIndex(items, index, definition);
    }
    await this.replay.catchUp();
    // A record whose transaction a dead server left undecided stops the reader until another server
    // has decided it.
    const end = Date.now() + (this.machine.storms ? 60000 : 0);
    while (Date.now() < end && texts(this.replay.items()).join() !== texts(items).join()) {
      await delay(100);
      await this.replay.catchUp();
    }
    assert.deepEqual(texts(this.replay.items()), texts(items), 'the stream says something else');
    this.counts.records = this.replay.records;
    this.counts.checks++;
    this.counts.items = items.length;
  }

  async verifyIndex(items, { IndexName, ItemCount, IndexSizeBytes }, definition) {
    const expected = entriesOf(items, definition);
    const scanned = await this.machine.all('Scan', { TableName: TABLE, IndexName, Limit: 37 });
    const what = `${IndexName}, ${JSON.stringify(definition)}`;
    // Counts that a dead server left behind are updated when a server meets its transaction: the
    // scan now, or, if only its note is left, the next sweep (every 20 s, for transactions older
    // than a minute).
    const begin = Date.now();
    const end = begin + (this.machine.storms ? 100000 : 0);
    while (Date.now() < end && ItemCount !== expected.length) {
      await delay(100);
      const { Table } = await this.machine.must('DescribeTable', { TableName: TABLE });
      const now = Table.GlobalSecondaryIndexes.find((index) => index.IndexName === IndexName);
      if (!now) break;
      ({ ItemCount, IndexSizeBytes } = now);
      this.counts.countedLate = Math.max(this.counts.countedLate ?? 0, Date.now() - begin);
    }
    assert.deepEqual(texts(scanned), texts(expected), `${what} is not what the items say`);
    assert.equal(ItemCount, expected.length, `ItemCount of ${what} is not what a scan finds`);
    assert.equal(
      IndexSizeBytes,
      sum(expected),
      `IndexSizeBytes of ${what} is not what a scan finds`,
    );

    // One partition of the index, in order.
    if (expected.length === 0) return;
    const [partition, sort] = definition;
    const sample = this.machine.random.pick(expected);
    const inPartition = (item) =>
      partition.every((name) => textOf(item[name]) === textOf(sample[name]));
    const found = await this.machine.all('Query', {
      TableName: TABLE,
      IndexName,
      KeyConditionExpression: partition.map((name) => `${name} = :${name}`).join(' AND '),
      ExpressionAttributeValues: Object.fromEntries(
        partition.map((name) => [`:${name}`, sample[name]]),
      ),
    });
    assert.deepEqual(texts(found), texts(expected.filter(inPartition)), `a Query of ${what}`);
    for (let i = 1; i < found.length && sort.length > 0; i++) {
      const [before, after] = [found[i - 1][sort[0]], found[i][sort[0]]].map(orderOf);
      assert.ok(before <= after, `a Query of ${what} is out of order: ${before} before ${after}`);
    }
  }

  // At the end: every index once more, built now.
  async verifyTwins() {
    for (const twin of Object.keys(GLOBAL)) {
      await this.build(twin, `after-${twin}`);
      await this.settled();
    }
    await this.verify();
  }
}

const sum = (items) => items.reduce((bytes, item) => bytes + sizeOf(item), 0);
// Returns a form that is comparable with < among values of one type.
const orderOf = ({ S: text, N: number, B: bytes }) =>
  text ?? (number !== undefined ? Number(number) : Buffer.from(bytes, 'base64').toString('latin1'));

/** Runs for `seconds`; resolves to what was done and checked. */
export async function indexes({ seed, seconds, clients = 10, makeMachine = (options) => new Machine(options) }) {
  const machine = makeMachine({ name: 'indexes', seed, clients });
  const run = new Indexes(machine);
  try {
    await machine.start();
    await run.createTable();
    await machine.rounds(seconds, {
      work: (client, random) => run.work(client, random),
      // Sometimes the next kill hits the builds that the last one interrupted.
      between: async () => {
        if (machine.random.chance(0.5)) await run.settled();
        await run.verify();
      },
    });
    await run.settled();
    await run.verifyTwins();
    await machine.close();
    return { ...machine.counts, ...run.counts };
  } catch (error) {
    await machine.abandon();
    throw error;
  }
}
