// Counters are exact although clients get no answer, a 500 or a conflict and retry through other
// servers. Some increments are writes conditional on a version, repeated unchanged and resolved by
// reading the item; others are transactions, repeated under their token until they are answered. At
// the end every counter equals the acknowledged increments, an index and a stream agree, and every
// increment is in the stream once. Other increments are not repeated: of these at least the
// answered ones have happened, at most all.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

import { Machine } from './machine.mjs';
import { Replay } from './replay.mjs';

const PLAIN = 'counters.plain'; // each item is in one tablet
const WIDE = 'counters.wide'; // items are also in an index and a stream
const COUNTERS = [0, 1, 2, 3, 4].flatMap((i) => [PLAIN, WIDE].map((table) => ({ table, key: `c${i}` })));
const LOOSE = [PLAIN, WIDE].map((table) => ({ table, key: 'loose' }));
const BY_GROUP = 'by-g';
const MOST_WAIT = 60000; // milliseconds to wait for the leftovers of a dead server

const N = (value) => ({ N: String(value) });
const S = (value) => ({ S: value });
const numberOf = (value) => Number(value?.N ?? 0);
const textOf = ({ table, key }) => `${table}/${key}`;
const addressOf = ({ table, key }) => ({ TableName: table, Key: { pk: S(key) } });

class Records extends Replay {
  counts = new Map(); // number of records by key

  apply(record, shard) {
    super.apply(record, shard);
    const key = record.dynamodb.Keys.pk.S;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }
}

class Counters {
  constructor(machine) {
    this.machine = machine;
    this.ids = 0;
    this.unresolved = []; // functions that try to resolve an outcome and return whether they did
    // For each counter: increments that happened, increments that may have happened, and the values
    // that were answered.
    this.done = new Map();
    this.begun = new Map();
    this.values = new Map();
    for (const counter of [...COUNTERS, ...LOOSE]) {
      this.done.set(textOf(counter), 0);
      this.begun.set(textOf(counter), 0);
      this.values.set(textOf(counter), new Set());
    }
    this.counts = { increments: 0, conditional: 0, transactions: 0, refused: 0, resolved: 0, conflicts: 0, loose: 0, checks: 0 };
  }

  async createTables() {
    const definition = {
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    };
    await this.machine.must('CreateTable', { ...definition, TableName: PLAIN });
    const { TableDescription } = await this.machine.must('CreateTable', {
      ...definition,
      TableName: WIDE,
      AttributeDefinitions: [...definition.AttributeDefinitions, { AttributeName: 'g', AttributeType: 'S' }],
      GlobalSecondaryIndexes: [
        {
          IndexName: BY_GROUP,
          KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }, { AttributeName: 'pk', KeyType: 'RANGE' }],
          Projection: { ProjectionType: 'ALL' },
        },
      ],
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
    });
    this.records = new Records(this.machine, TableDescription.LatestStreamArn);
    for (const { table, key } of [...COUNTERS, ...LOOSE]) {
      await this.machine.must('PutItem', { TableName: table, Item: { pk: S(key), g: S('group'), n: N(0), v: N(0) } });
    }
    for (const table of [PLAIN, WIDE])
      await this.machine.fill?.(table, Array.from({ length: 60 }, (_, i) => ({ pk: S(`other ${i}`), g: S('g0') })));
  }

  begin(counters) {
    for (const counter of counters) this.begun.set(textOf(counter), this.begun.get(textOf(counter)) + 1);
  }
  happened(counters) {
    this.counts.increments += counters.length;
    for (const counter of counters) this.done.set(textOf(counter), this.done.get(textOf(counter)) + 1);
  }
  never(counters) {
    for (const counter of counters) this.begun.set(textOf(counter), this.begun.get(textOf(counter)) - 1);
  }
  told(counter, value) {
    const values = this.values.get(textOf(counter));
    assert.ok(!values.has(value), `two increments of ${textOf(counter)} were told that they made it ${value}`);
    values.add(value);
  }

  // Tries until an outcome is known. An outcome still unknown at the end of the round is tried
  // again in the calm.
  async resolve(find) {
    while (this.machine.going()) {
      if (await find()) return true;
      await delay(5);
    }
    this.unresolved.push(find);
    return false;
  }

  // Returns undefined without an answer. A read is not older than earlier answers.
  async read(counter) {
    const low = this.done.get(textOf(counter));
    const { status, body } = await this.machine.send('GetItem', { ...addressOf(counter), ConsistentRead: true });
    if (status === 0) return undefined;
    assert.equal(status, 200, JSON.stringify(body));
    const value = numberOf(body.Item.n);
    assert.ok(value >= low, `${textOf(counter)} is ${value} after ${low} increments were acknowledged`);
    const most = this.begun.get(textOf(counter));
    assert.ok(value <= most, `${textOf(counter)} is ${value} after ${most} increments were sent`);
    return body.Item;
  }

  async conditional(client, counter) {
    const item = await this.read(counter);
    if (item === undefined) return false;
    const mine = `x${client % this.machine.clients}`;
    const id = `u${++this.ids}`;
    const body = {
      ...addressOf(counter),
      UpdateExpression: 'SET v = v + :one, #mine = :id ADD n :one',
      ConditionExpression: 'v = :seen',
      ExpressionAttributeNames: { '#mine': mine },
      ExpressionAttributeValues: { ':one': N(1), ':id': S(id), ':seen': item.v },
      ReturnValues: 'ALL_NEW',
    };
    this.begin([counter]);
    let { status, body: answer, server } = await this.machine.send('UpdateItem', body);
    const unknown = status === 0;
    const settle = async () => {
      if (status === 200) {
        this.counts.conditional++;
        this.told(counter, numberOf(answer.Attributes.n));
        this.happened([counter]);
        return true;
      }
      assert.match(answer.__type, /#ConditionalCheckFailedException$/, JSON.stringify(answer));
      if (!unknown) {
        this.counts.refused++;
        this.never([counter]);
        return true;
      }
      // The version has changed, so by now this write has happened or never will.
      const now = await this.machine.send('GetItem', { ...addressOf(counter), ConsistentRead: true });
      if (now.status === 0) return false;
      assert.notEqual(now.body.Item.v.N, item.v.N, `the condition failed on a version that ${textOf(counter)} still has`);
      this.counts.resolved++;
      if (now.body.Item[mine]?.S === id) this.happened([counter]);
      else this.never([counter]);
      return true;
    };
    if (!unknown) return settle();
    return this.resolve(async () => {
      if (status === 0) ({ status, body: answer, server } = await this.machine.send('UpdateItem', body, {}, { not: server }));
      return status !== 0 && settle();
    });
  }

  async transaction(random) {
    const counters = random.sample(COUNTERS, random.between(1, 3));
    const body = {
      ClientRequestToken: `${this.machine.seed} ${++this.ids}`.slice(-36),
      TransactItems: counters.map((counter) => ({
        Update: {
          ...addressOf(counter),
          UpdateExpression: 'SET v = v + :one ADD n :one',
          ExpressionAttributeValues: { ':one': N(1) },
        },
      })),
    };
    this.begin(counters);
    let not;
    const find = async () => {
      const { status, body: answer, server } = await this.machine.send('TransactWriteItems', body, {}, { not });
      not = server;
      if (status === 0) return false;
      if (status === 200) {
        this.counts.transactions++;
        this.happened(counters);
        return true;
      }
      // Another write was in the way; an earlier attempt may still succeed.
      assert.match(answer.__type, /TransactionCanceled|TransactionInProgress/, JSON.stringify(answer));
      if (/TransactionCanceled/.test(answer.__type)) assert.match(answer.message, /TransactionConflict/);
      this.counts.conflicts++;
      return false;
    };
    return (await find()) || this.resolve(find);
  }

  async loose(counter) {
    this.begin([counter]);
    const { status, body } = await this.machine.send('UpdateItem', {
      ...addressOf(counter),
      UpdateExpression: 'ADD n :one',
      ExpressionAttributeValues: { ':one': N(1) },
      ReturnValues: 'UPDATED_NEW',
    });
    if (status === 0) return false;
    assert.equal(status, 200, JSON.stringify(body));
    this.told(counter, numberOf(body.Attributes.n));
    this.happened([counter]);
    this.counts.loose++;
    return true;
  }

  async grow(random) {
    const id = ++this.ids;
    const requests = Array.from({ length: random.between(2, 6) }, (_, i) => ({
      PutRequest: { Item: { pk: S(`other ${id}.${i}`), g: S(`g${random.between(1, 9)}`), x: S('x'.repeat(random.between(1, 100))) } },
    }));
    const { status, body } = await this.machine.send('BatchWriteItem', { RequestItems: { [random.pick([PLAIN, WIDE])]: requests } });
    if (status !== 0) assert.equal(status, 200, JSON.stringify(body));
    return status !== 0;
  }

  async work(client, random) {
    while (this.machine.going()) {
      await random.weighted([
        [4, () => this.conditional(client, random.pick(COUNTERS))],
        [3, () => this.transaction(random)],
        [2, () => this.loose(random.pick(LOOSE))],
        [1, () => this.read(random.pick(COUNTERS))],
        [this.machine.storms ? 1 : 0, () => this.grow(random)],
      ]);
    }
  }

  // In the calm: every outcome is known, and all sources agree.
  async verify() {
    const end = Date.now() + MOST_WAIT;
    for (let left = this.unresolved.splice(0); left.length > 0; left = left.filter((find) => find !== undefined)) {
      assert.ok(Date.now() < end, `what became of ${left.length} increments cannot be found out`);
      for (let i = 0; i < left.length; i++) if (await left[i]()) left[i] = undefined;
    }
    const items = new Map();
    for (const counter of [...COUNTERS, ...LOOSE]) {
      const item = await this.read(counter);
      if (item === undefined) continue; // the machine has recorded the failure
      items.set(textOf(counter), item);
      if (!LOOSE.includes(counter))
        assert.equal(numberOf(item.n), this.done.get(textOf(counter)), `${textOf(counter)} is not the number of increments`);
    }
    const indexed = await this.machine.all('Query', {
      TableName: WIDE,
      IndexName: BY_GROUP,
      KeyConditionExpression: 'g = :g',
      ExpressionAttributeValues: { ':g': S('group') },
    });
    for (const entry of indexed) assert.deepEqual(entry, items.get(`${WIDE}/${entry.pk.S}`), 'an index says something else');
    assert.equal(indexed.length, [...items.keys()].filter((text) => text.startsWith(WIDE)).length, 'the index');

    const differing = () =>
      [...COUNTERS, ...LOOSE]
        .filter(({ table }) => table === WIDE)
        .map(({ key }) => ({ key, records: this.records.counts.get(key), wanted: numberOf(items.get(`${WIDE}/${key}`)?.n) + 1 }))
        .filter(({ records, wanted }) => records !== wanted);
    await this.records.catchUp();
    while (differing().length > 0 && Date.now() < end) {
      await delay(100);
      await this.records.catchUp();
    }
    assert.deepEqual(differing(), [], 'the stream does not have each increment once');
    this.counts.checks++;
  }
}

/** Runs for `seconds`; resolves to what was done and checked. */
export async function counters({ seed, seconds, clients = 12, makeMachine = (options) => new Machine(options) }) {
  const machine = makeMachine({ name: 'counters', seed, clients });
  const run = new Counters(machine);
  try {
    await machine.start();
    await run.createTables();
    await machine.rounds(seconds, {
      work: (client, random) => run.work(client, random),
      between: () => run.verify(),
    });
    await machine.close();
    return { ...machine.counts, ...run.counts };
  } catch (error) {
    await machine.abandon();
    throw error;
  }
}
