// Single items are linearizable. Many clients use a few items through every operation that writes
// or reads one, the server is killed in between, and the history of each item must have an
// explanation as a sequence of operations.
import assert from 'node:assert/strict';

import { check, explain, stateOf, withoutUnseen } from './linearizable.mjs';
import { Machine } from './machine.mjs';

const TABLE = 'registers';
const INDEX = 'by-g';
const KEYS = 5;
const MOST = 100000; // the number of orders that are tried

// The item is the first of its collection, so that its part is split again and again as other items
// are put right behind it.
const keyOf = (key) => ({ pk: { S: `k${key}` }, sk: { S: '.' } });
const fromWire = (item) =>
  item && { ...(item.n && { n: item.n.N }), ...(item.v && { v: item.v.S }) };
const stateFromWire = (item) => stateOf(fromWire(item));
const toWire = (key, { n, v }) => ({
  ...keyOf(key),
  g: { S: `k${key}` },
  ...(n !== undefined && { n: { N: n } }),
  ...(v !== undefined && { v: { S: v } }),
});
const describe = ({ client, call, return: end, answered, death: _, via, ...what }) =>
  `${String(call).padStart(7)} .. ${String(end).padEnd(7)} client ${client} ` +
  `${answered ? '' : '(no answer) '}${via}: ${JSON.stringify(what)}`;

class Registers {
  constructor(machine) {
    this.machine = machine;
    this.histories = Array.from({ length: KEYS }, () => []);
    this.values = 0;
    this.others = 0;
  }

  createTable() {
    return this.machine.must('CreateTable', {
      TableName: TABLE,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
        { AttributeName: 'g', AttributeType: 'S' },
      ],
      GlobalSecondaryIndexes: [
        {
          IndexName: INDEX,
          KeySchema: [
            { AttributeName: 'g', KeyType: 'HASH' },
            { AttributeName: 'sk', KeyType: 'RANGE' },
          ],
          Projection: { ProjectionType: 'ALL' },
        },
      ],
    });
  }

  // Sends a request that does `operations`, one for each key of `keys`, and adds them to the
  // histories. `answer(reply)` fills in their answers and returns the operations that did not
  // happen, if any.
  async perform(client, operation, body, operations, answer) {
    const record = await this.machine.send(operation, body);
    const via = body.IndexName ? `${operation} of ${body.IndexName}` : operation;
    const answered = record.status !== 0;
    const dropped = (answered && answer(record)) || [];
    for (const operation of operations) {
      if (dropped.includes(operation)) continue;
      const { key, ...rest } = operation;
      const entry = { client, call: record.call, return: record.return, answered, via, ...rest };
      if (!answered) entry.death = record.death;
      this.histories[key].push(entry);
    }
    return answered;
  }

  // Returns a condition that holds about half of the time, for the last state that a client saw.
  condition(random, key) {
    const seen = this.histories[key].findLast(
      (entry) => entry.answered && (entry.seen ?? entry.after),
    )?.seen;
    const item =
      seen === undefined || seen === '-'
        ? undefined
        : { n: seen.split('/')[0], v: seen.split('/')[1] };
    return random.weighted([
      [4, undefined],
      [1, { exists: true }],
      [1, { exists: false }],
      [item?.v ? 2 : 0, { v: item?.v }],
      [item?.n ? 2 : 0, { n: item?.n }],
    ]);
  }

  conditionOf(condition) {
    if (condition === undefined) return {};
    if (condition.exists !== undefined)
      return { ConditionExpression: `attribute_${condition.exists ? '' : 'not_'}exists(pk)` };
    const [[name, value]] = Object.entries(condition);
    return {
      ConditionExpression: `#c = :c`,
      ExpressionAttributeNames: { '#c': name },
      ExpressionAttributeValues: { ':c': { [name === 'n' ? 'N' : 'S']: value } },
    };
  }

  write(random, key, kinds) {
    const condition = this.condition(random, key);
    const kind = random.weighted(kinds);
    const operation = { key, kind, condition };
    if (kind === 'put')
      operation.item = {
        v: `v${++this.values}`,
        ...(random.chance(0.3) && { n: String(random.between(1, 9)) }),
      };
    if (kind === 'update') {
      if (random.chance(0.7)) operation.add = random.between(1, 3);
      if (operation.add === undefined || random.chance(0.2)) operation.set = `v${++this.values}`;
    }
    return operation;
  }

  // Returns a write as the request of PutItem, UpdateItem or DeleteItem, and as an action of a
  // transaction.
  request({ key, kind, item, set, add, condition }) {
    const request = { TableName: TABLE, ...this.conditionOf(condition) };
    if (kind === 'put') return { ...request, Item: toWire(key, item) };
    request.Key = keyOf(key);
    if (kind === 'delete') return request;
    const values = { ...request.ExpressionAttributeValues, ':g': { S: `k${key}` } };
    const sets = ['g = :g'];
    if (set !== undefined) {
      sets.push('v = :v');
      values[':v'] = { S: set };
    }
    if (add !== undefined) values[':n'] = { N: String(add) };
    return {
      ...request,
      UpdateExpression: `SET ${sets.join(', ')}${add === undefined ? '' : ' ADD n :n'}`,
      ExpressionAttributeValues: values,
    };
  }

  single(client, random, key) {
    const operation = this.write(random, key, [
      [3, 'put'],
      [5, 'update'],
      [1, 'delete'],
    ]);
    const via = { put: 'PutItem', update: 'UpdateItem', delete: 'DeleteItem' }[operation.kind];
    const ReturnValues = random.pick(
      operation.kind === 'update'
        ? ['NONE', 'ALL_OLD', 'UPDATED_NEW', 'ALL_NEW']
        : ['NONE', 'ALL_OLD'],
    );
    const ReturnValuesOnConditionCheckFailure = random.pick(['NONE', 'ALL_OLD']);
    const body = {
      ...this.request(operation),
      ReturnValues,
      ...(operation.condition && { ReturnValuesOnConditionCheckFailure }),
    };
    return this.perform(client, via, body, [operation], ({ status, body: answer }) => {
      if (status === 200) {
        if (ReturnValues === 'ALL_OLD') operation.before = stateFromWire(answer.Attributes);
        if (ReturnValues === 'ALL_NEW') operation.after = stateFromWire(answer.Attributes);
        if (ReturnValues === 'UPDATED_NEW' && operation.add !== undefined)
          operation.n = answer.Attributes.n.N;
        return;
      }
      assert.match(answer.__type, /#ConditionalCheckFailedException$/, JSON.stringify(answer));
      operation.failed = true;
      if (ReturnValuesOnConditionCheckFailure === 'ALL_OLD')
        operation.before = stateFromWire(answer.Item);
    });
  }

  batchWrite(client, random, keys) {
    const operations = keys.map((key) =>
      this.write(random, key, [
        [3, 'put'],
        [1, 'delete'],
      ]),
    );
    for (const operation of operations) delete operation.condition;
    const requests = operations.map(({ key, kind, item }) =>
      kind === 'put'
        ? { PutRequest: { Item: toWire(key, item) } }
        : { DeleteRequest: { Key: keyOf(key) } },
    );
    return this.perform(
      client,
      'BatchWriteItem',
      { RequestItems: { [TABLE]: requests } },
      operations,
      ({ status, body }) => {
        assert.equal(status, 200, JSON.stringify(body));
        assert.deepEqual(body.UnprocessedItems, {});
      },
    );
  }

  transactWrite(client, random, keys) {
    const operations = keys.map((key) =>
      this.write(random, key, [
        [3, 'put'],
        [5, 'update'],
        [1, 'delete'],
      ]),
    );
    const TransactItems = operations.map((operation) => ({
      [{ put: 'Put', update: 'Update', delete: 'Delete' }[operation.kind]]: {
        ...this.request(operation),
        ...(operation.condition && { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }),
      },
    }));
    return this.perform(
      client,
      'TransactWriteItems',
      { TransactItems },
      operations,
      ({ status, body }) => {
        if (status === 200) return [];
        assert.match(body.__type, /#TransactionCanceledException$/, JSON.stringify(body));
        // The operations whose condition held say nothing: they did not happen.
        return operations.filter((operation, i) => {
          const reason = body.CancellationReasons[i];
          if (reason.Code === 'None') return true;
          if (reason.Code === 'TransactionConflict' && this.machine.storms) return true;
          assert.equal(reason.Code, 'ConditionalCheckFailed', JSON.stringify(body));
          operation.failed = true;
          operation.before = stateFromWire(reason.Item);
          return false;
        });
      },
    );
  }

  // Items that are never read; each sorts before all items of its collection except the one under
  // test.
  async grow(random, key) {
    const { pk } = keyOf(key);
    const requests = Array.from({ length: random.between(2, 6) }, () => {
      const sk = { S: `/${String(1e6 - ++this.others)}` };
      return { PutRequest: { Item: { pk, sk, g: pk, x: { S: 'x'.repeat(random.between(1, 200)) } } } };
    });
    const record = await this.machine.send('BatchWriteItem', { RequestItems: { [TABLE]: requests } });
    if (record.status !== 0) assert.equal(record.status, 200, JSON.stringify(record.body));
    return record.status !== 0;
  }

  read(client, random, keys) {
    const operations = keys.map((key) => ({ key, kind: 'read' }));
    const [one] = operations;
    const ok =
      (answer) =>
      ({ status, body }) => {
        assert.equal(status, 200, JSON.stringify(body));
        answer(body);
      };
    const ofList = (items) => {
      for (const operation of operations)
        operation.seen = stateFromWire(items.find((item) => item.pk.S === `k${operation.key}`));
    };
    switch (
      random.weighted([
        [4, 'get'],
        [1, 'query'],
        [1, 'index'],
        [1, 'batch'],
        [1, 'transaction'],
      ])
    ) {
      case 'get':
        return this.perform(
          client,
          'GetItem',
          { TableName: TABLE, Key: keyOf(one.key), ConsistentRead: true },
          [one],
          ok(({ Item }) => {
            one.seen = stateFromWire(Item);
          }),
        );
      case 'query':
        return this.perform(
          client,
          'Query',
          {
            TableName: TABLE,
            ConsistentRead: true,
            KeyConditionExpression: 'pk = :pk AND sk < :slash',
            ExpressionAttributeValues: { ':pk': { S: `k${one.key}` }, ':slash': { S: '/' } },
          },
          [one],
          ok(({ Items }) => {
            one.seen = stateFromWire(Items[0]);
          }),
        );
      case 'index': // never behind its table
        return this.perform(
          client,
          'Query',
          {
            TableName: TABLE,
            IndexName: INDEX,
            KeyConditionExpression: 'g = :g AND sk < :slash',
            ExpressionAttributeValues: { ':g': { S: `k${one.key}` }, ':slash': { S: '/' } },
          },
          [one],
          ok(({ Items }) => {
            assert.ok(Items.length <= 1, JSON.stringify(Items));
            one.seen = stateFromWire(Items[0]);
          }),
        );
      case 'batch':
        return this.perform(
          client,
          'BatchGetItem',
          { RequestItems: { [TABLE]: { ConsistentRead: true, Keys: keys.map(keyOf) } } },
          operations,
          ok(({ Responses, UnprocessedKeys }) => {
            assert.deepEqual(UnprocessedKeys, {});
            ofList(Responses[TABLE]);
          }),
        );
      default:
        return this.perform(
          client,
          'TransactGetItems',
          { TransactItems: keys.map((key) => ({ Get: { TableName: TABLE, Key: keyOf(key) } })) },
          operations,
          ok(({ Responses }) =>
            operations.forEach((operation, i) => {
              operation.seen = stateFromWire(Responses[i].Item);
            }),
          ),
        );
    }
  }

  async work(client, random) {
    const keys = Array.from({ length: KEYS }, (_, key) => key);
    for (let answered = true; answered && this.machine.going();) {
      const some = random.sample(keys, random.between(1, 3));
      answered = await random.weighted([
        [5, () => this.single(client, random, some[0])],
        [1, () => this.batchWrite(client, random, some)],
        [1, () => this.transactWrite(client, random, some)],
        [4, () => this.read(client, random, some)],
        [this.machine.storms ? 1 : 0, () => this.grow(random, some[0])],
      ]);
    }
  }

  // Throws if an item's history has no explanation. Returns statistics of the check.
  verify() {
    let operations = 0;
    let undecided = 0; // after a stall of many clients there may be more orders than can be tried
    let configurations = 0;
    this.histories.forEach((history, key) => {
      let result = check(withoutUnseen(history), { most: MOST });
      if (!result.ok) result = check(history, { most: MOST });
      if (result.ok === undefined) {
        undecided++;
        return;
      }
      assert.ok(
        result.ok,
        result.ok ||
          `the history of item k${key} is not linearizable: ${explain(result, describe)}`,
      );
      operations += history.length;
      configurations = Math.max(configurations, result.configurations);
    });
    if (!this.machine.storms) assert.equal(undecided, 0);
    return { operations, undecided, unexplained: 0, configurations };
  }
}

/**
 * Runs for `seconds`; resolves to what was done and checked, or rejects with a history that cannot
 * be.
 */
export async function registers({ seed, seconds, clients = 12, makeMachine = (options) => new Machine(options) }) {
  const machine = makeMachine({ name: 'registers', seed, clients });
  const run = new Registers(machine);
  try {
    await machine.start();
    await run.createTable();
    await machine.rounds(seconds, {
      work: (client, random) => run.work(client, random),
      // The surviving state is read without time pressure.
      between: async () => {
        for (let key = 0; key < KEYS; key++)
          await run.read('after the restart', machine.randomOf('after', key), [key]);
      },
    });
    const checked = run.verify();
    await machine.close();
    return { ...machine.counts, ...checked };
  } catch (error) {
    await machine.abandon();
    throw error;
  }
}
