// Transactions are strictly serializable together with single writes and reads, are applied whole
// or not at all, and once under their tokens: money moves between accounts of two tables while the
// server is killed. Every write of an account appends its transaction's id to a list in the item,
// from which History derives the dependencies. It also checks the sum of money in every snapshot,
// the sum of two accounts that may never be overdrawn together (write skew), and each balance
// against the list beside it.
import assert from 'node:assert/strict';

import { Machine } from './machine.mjs';
import { Anomaly, History } from './serializable.mjs';

const TABLES = ['accounts.a', 'accounts.b'];
const ACCOUNTS = 6;
const BEGIN = 100;
const PAIR = [0, 1]; // of the pair accounts: x + y >= 0
const ROUNDS_OF_AN_EPOCH = 2; // then other accounts are used, because the lists would grow long

const numberOf = (value) => Number(value?.N ?? 0);
const brief = (items) => items.map(({ pk, n, money }) => `${pk.S} ${n.N}: ${money.N}`).join(', ');

// Formats a sent request for a failure message.
const describeSend = ({ server, call, return: end, status, error, body }) => ({
  server, call, return: end, status,
  why: error ?? body?.CancellationReasons?.map(({ Code }) => Code).join() ?? body?.__type,
});

class Transfers {
  constructor(machine) {
    this.machine = machine;
    this.history = new History();
    this.effects = new Map(); // id -> key -> amount
    this.balances = []; // [key, length, balance, reader]
    this.unresolved = []; // attempts with a token that got no answer
    this.epoch = 0;
    this.ids = 0;
    this.counts = { ok: 0, failed: 0, unknown: 0, retried: 0, repeated: 0 };
  }

  // Keys are `account 3.c0` and, for the pair, `3.p0`.
  accounts() {
    return Array.from({ length: ACCOUNTS }, (_, i) => `${this.epoch}.c${i}`);
  }
  pair() {
    return PAIR.map((i) => `${this.epoch}.p${i}`);
  }
  address(key) {
    return { TableName: TABLES[Number(key.at(-1)) % 2], Key: { pk: { S: key } } };
  }
  id() {
    return `t${++this.ids}`;
  }

  async createTables() {
    for (const TableName of TABLES) {
      await this.machine.must('CreateTable', {
        TableName,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      });
      await this.machine.fill?.(TableName, Array.from({ length: 60 }, (_, i) => ({ pk: { S: `other ${i}` } })));
    }
  }

  async open() {
    this.epoch++;
    for (const key of [...this.accounts(), ...this.pair()]) {
      const { TableName, Key } = this.address(key);
      await this.machine.must('PutItem', {
        TableName,
        Item: {
          ...Key,
          n: { N: '0' },
          l: { L: [] },
          money: { N: key.includes('c') ? String(BEGIN) : '0' },
        },
      });
    }
  }

  // Items that are never read, so that there is something to split.
  async grow(random) {
    const id = this.id();
    const requests = Array.from({ length: random.between(2, 6) }, (_, i) => ({
      PutRequest: { Item: { pk: { S: `other ${id}.${i}` }, x: { S: 'x'.repeat(random.between(1, 200)) } } },
    }));
    const record = await this.machine.send('BatchWriteItem', { RequestItems: { [random.pick(TABLES)]: requests } });
    if (record.status !== 0) assert.equal(record.status, 200, JSON.stringify(record.body));
    return record.status !== 0;
  }

  // Returns the content of an account as {key, list}; its other attributes are checked against the
  // list at the end.
  seen(key, item, reader) {
    const list = item.l.L.map(({ S }) => S);
    assert.equal(numberOf(item.n), list.length, `${reader} saw a torn item ${key}`);
    this.balances.push([key, list.length, numberOf(item.money), reader]);
    return { key, list };
  }

  // Returns the action that appends `id` to an account and moves `amount`. `from`: the image that
  // it must find, or only its `n`.
  action(random, key, id, amount, from) {
    const { TableName, Key } = this.address(key);
    if (from?.l && random.chance(0.3)) {
      const Item = {
        ...Key,
        n: { N: String(numberOf(from.n) + 1) },
        l: { L: [...from.l.L, { S: id }] },
        money: { N: String(numberOf(from.money) + amount) },
      };
      return {
        Put: {
          TableName,
          Item,
          ConditionExpression: 'n = :was',
          ExpressionAttributeValues: { ':was': from.n },
        },
      };
    }
    const conditions = [];
    const ExpressionAttributeValues = {
      ':l': { L: [{ S: id }] },
      ':one': { N: '1' },
      ':d': { N: String(amount) },
    };
    if (from) {
      conditions.push('n = :was');
      ExpressionAttributeValues[':was'] = from.n;
    } else if (amount < 0) {
      conditions.push('money >= :need');
      ExpressionAttributeValues[':need'] = { N: String(-amount) };
    }
    return {
      Update: {
        TableName,
        Key,
        UpdateExpression: 'SET l = list_append(l, :l) ADD n :one, money :d',
        ExpressionAttributeValues,
        ...(conditions.length && {
          ConditionExpression: conditions.join(' AND '),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      },
    };
  }

  // Reads accounts in one transaction; returns undefined without an answer, else their items.
  async snapshot(client, keys) {
    const id = this.id();
    const record = await this.machine.send('TransactGetItems', {
      TransactItems: keys.map((key) => ({ Get: this.address(key) })),
    });
    if (record.status === 0) return undefined;
    if (this.machine.storms && /TransactionConflict/.test(JSON.stringify(record.body)))
      return undefined;
    assert.equal(record.status, 200, JSON.stringify(record.body));
    const items = record.body.Responses.map(({ Item }) => Item);
    this.history.add({
      id,
      client,
      call: record.call,
      return: record.return,
      outcome: 'ok',
      reads: keys.map((key, i) => this.seen(key, items[i], id)),
      writes: [],
    });
    if (ACCOUNTS === keys.filter((key) => key.includes('c')).length) {
      assert.equal(
        items.reduce((sum, { pk, money }) => sum + (pk.S.includes('c') ? numberOf(money) : 0), 0),
        ACCOUNTS * BEGIN,
        `the money that ${id} saw: ${brief(items)}`,
      );
    }
    if (keys.filter((key) => key.includes('p')).length === 2) {
      assert.ok(
        items.reduce((sum, { pk, money }) => sum + (pk.S.includes('p') ? numberOf(money) : 0), 0) >=
          0,
        `${id} saw both accounts of a pair used up: ${brief(items)}`,
      );
    }
    return items;
  }

  // Moves money between two to four accounts; sometimes on the condition that they and others are
  // unchanged since they were read.
  async transfer(client, random) {
    const keys = random.sample(this.accounts(), random.between(2, 4));
    const amounts = keys.map(() => 0);
    for (let i = 1; i < keys.length; i++) {
      const amount = random.between(0, 30);
      amounts[0] -= amount;
      amounts[i] += amount;
    }
    const id = this.id();
    const reads = [];
    let actions;
    if (random.chance(0.4)) {
      const others = random.chance(0.5)
        ? random.sample(
            this.accounts().filter((key) => !keys.includes(key)),
            2,
          )
        : [];
      const items = await this.snapshot(client, [...keys, ...others]);
      if (items === undefined) return false;
      if (numberOf(items[0].money) + amounts[0] < 0) return true;
      actions = keys.map((key, i) =>
        this.action(
          random,
          key,
          id,
          amounts[i],
          random.chance(0.7) || i === 0 ? items[i] : undefined,
        ),
      );
      keys.forEach((key, i) => {
        if ((actions[i].Put ?? actions[i].Update).ExpressionAttributeValues[':was'])
          reads.push({ key, length: numberOf(items[i].n) });
      });
      others.forEach((key, i) => {
        const { n } = items[keys.length + i];
        reads.push({ key, length: numberOf(n) });
        actions.push(this.check(key, n));
      });
    } else {
      actions = keys.map((key, i) => this.action(random, key, id, amounts[i]));
    }
    return this.perform(client, random, id, keys, amounts, reads, actions);
  }

  check(key, n) {
    return {
      ConditionCheck: {
        ...this.address(key),
        ConditionExpression: 'n = :was',
        ExpressionAttributeValues: { ':was': n },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      },
    };
  }

  // Takes the joint balance of the pair from one of its accounts. Two of these at once must not
  // both succeed.
  async withdraw(client, random) {
    const pair = random.sample(this.pair(), 2);
    const items = await this.snapshot(client, pair);
    if (items === undefined) return false;
    const have = items.reduce((sum, { money }) => sum + numberOf(money), 0);
    const id = this.id();
    if (have <= 0)
      return this.perform(
        client,
        random,
        id,
        [pair[0]],
        [50],
        [],
        [this.action(random, pair[0], id, 50)],
      );
    const reads = pair.map((key, i) => ({ key, length: numberOf(items[i].n) }));
    return this.perform(client, random, id, [pair[0]], [-have], reads, [
      this.action(random, pair[0], id, -have, items[0]),
      this.check(pair[1], items[1].n),
    ]);
  }

  // Sends a write transaction, with and without a token, once or twice at once.
  async perform(client, random, id, keys, amounts, reads, actions) {
    const attempt = {
      id,
      client,
      keys,
      amounts,
      reads,
      body: { TransactItems: random.sample(actions, actions.length) },
    };
    if (random.chance(0.6)) attempt.body.ClientRequestToken = `token ${this.machine.seed} ${id}`;
    const twice = attempt.body.ClientRequestToken && random.chance(0.15);
    const records = await Promise.all(
      Array.from({ length: twice ? 2 : 1 }, () =>
        this.machine.send('TransactWriteItems', attempt.body),
      ),
    );
    if (!this.resolve(attempt, records)) return false;
    if (attempt.outcome === 'ok' && attempt.body.ClientRequestToken && random.chance(0.1))
      return this.repeat(random, attempt);
    return true;
  }

  // Records the answers to an attempt. Returns false if there was none; an attempt with a token is
  // then repeated later.
  resolve(attempt, records) {
    const { id, client, keys, amounts, body } = attempt;
    attempt.sends = [...(attempt.sends ?? []), ...records.map(describeSend)];
    attempt.call = Math.min(attempt.call ?? Infinity, ...records.map(({ call }) => call));
    this.effects.set(id, new Map(keys.map((key, i) => [key, amounts[i]])));
    attempt.death ??= records.find(({ status }) => status === 0)?.death;
    const answered = records.filter(({ status }) => status !== 0);
    const ok = answered.filter(({ status }) => status === 200);
    const done = (outcome, end, reads = attempt.reads) => {
      attempt.outcome = outcome;
      this.counts[outcome]++;
      this.history.add({
        id,
        client,
        call: attempt.call,
        return: end,
        outcome,
        reads,
        writes: keys,
        sends: attempt.sends,
      });
    };
    if (ok.length > 0) {
      done('ok', Math.min(...ok.map((record) => record.return)));
    } else if (answered.length < records.length) {
      if (body.ClientRequestToken) this.unresolved.push(attempt);
      else this.lose(attempt, records[0].death);
    } else {
      // The item of a failed condition was returned; it was read while nothing else changed.
      for (const record of answered) {
        assert.match(
          record.body.__type,
          /#TransactionCanceledException$/,
          JSON.stringify(record.body),
        );
        const seen = record.body.CancellationReasons.filter(({ Item }) => Item).map(
          ({ Item }) => Item,
        );
        // On one machine all items are of one moment; on a cluster each is of its own.
        const groups = this.machine.storms ? seen.map((item) => [item]) : seen.length ? [seen] : [];
        for (const group of groups) {
          const reader = this.id();
          this.history.add({
            id: reader,
            client,
            call: attempt.call,
            return: record.return,
            outcome: 'ok',
            reads: group.map((item) => this.seen(item.pk.S, item, reader)),
            writes: [],
          });
        }
      }
      // A request to a frozen server may be carried out when the server thaws. But it had not been
      // when another server found that a condition does not hold: that server had looked for the
      // token.
      const looked = answered.every(({ body }) => body.CancellationReasons.some(({ Code }) => Code === 'ConditionalCheckFailed'));
      if (this.machine.storms && attempt.death)
        this.lose({ ...attempt, call: looked ? Math.min(...answered.map((record) => record.call)) : attempt.call }, attempt.death);
      else done('failed', Math.max(...answered.map((record) => record.return)), []);
    }
    return answered.length === records.length;
  }

  lose({ id, client, keys, call, reads, sends }, death) {
    this.counts.unknown++;
    this.history.add({ id, client, call, death, outcome: 'unknown', reads, writes: keys, sends });
  }

  // Repeats a token: the same request changes nothing, another one is refused.
  async repeat(random, { body }) {
    this.counts.repeated++;
    if (random.chance(0.5)) {
      const { status, body: answer } = await this.machine.send('TransactWriteItems', body);
      if (status !== 0)
        assert.equal(status, 200, `${body.ClientRequestToken} again: ${answer.message}`);
      return status !== 0;
    }
    const other = { ...body, TransactItems: [this.check('nobody 0', { N: '0' })] };
    const { status, body: answer } = await this.machine.send('TransactWriteItems', other);
    if (status !== 0)
      assert.match(answer.__type, /#IdempotentParameterMismatchException$/, JSON.stringify(answer));
    return status !== 0;
  }

  // Writes one account: an update or a conditional put.
  async single(client, random) {
    const key = random.pick([...this.accounts(), ...this.pair()]);
    const id = this.id();
    let from;
    if (random.chance(0.4)) {
      from = await this.get(client, key);
      if (from === undefined) return false;
    }
    const { Put, Update } = this.action(random, key, id, 0, from);
    const { ReturnValuesOnConditionCheckFailure: _, ...body } = Put ?? Update;
    if (Update) body.ReturnValues = random.pick(['NONE', 'ALL_NEW', 'ALL_OLD']);
    this.effects.set(id, new Map([[key, 0]]));
    const record = await this.machine.send(Put ? 'PutItem' : 'UpdateItem', body);
    const reads = from ? [{ key, length: numberOf(from.n) }] : [];
    if (record.status === 0) {
      this.lose({ id, client, keys: [key], call: record.call, reads }, record.death);
      return false;
    }
    const attributes = record.status === 200 ? record.body.Attributes : undefined;
    if (record.status !== 200)
      assert.match(
        record.body.__type,
        /#ConditionalCheckFailedException$/,
        JSON.stringify(record.body),
      );
    if (attributes && body.ReturnValues === 'ALL_NEW') {
      assert.equal(
        this.seen(key, attributes, id).list.at(-1),
        id,
        'ALL_NEW is not what this write made of the item',
      );
      this.history.observe(
        key,
        attributes.l.L.map(({ S }) => S),
        id,
      );
    } else if (attributes) {
      reads.splice(0, 1, this.seen(key, attributes, id));
    }
    const outcome = record.status === 200 ? 'ok' : 'failed';
    this.counts[outcome]++;
    this.history.add({
      id,
      client,
      call: record.call,
      return: record.return,
      outcome,
      reads: outcome === 'ok' ? reads : [],
      writes: [key],
    });
    return true;
  }

  // Reads one account by GetItem; returns undefined without an answer.
  async get(client, key) {
    const record = await this.machine.send('GetItem', {
      ...this.address(key),
      ConsistentRead: true,
    });
    if (record.status === 0) return undefined;
    assert.equal(record.status, 200, JSON.stringify(record.body));
    const id = this.id();
    this.history.add({
      id,
      client,
      call: record.call,
      return: record.return,
      outcome: 'ok',
      reads: [this.seen(key, record.body.Item, id)],
      writes: [],
    });
    return record.body.Item;
  }

  async work(client, random) {
    for (let answered = true; answered && this.machine.going();) {
      const attempt = this.unresolved.shift();
      if (attempt) {
        this.counts.retried++;
        const record = await this.machine.send('TransactWriteItems', attempt.body);
        answered = this.resolve(attempt, [record]);
        continue;
      }
      answered = await random.weighted([
        [6, () => this.transfer(client, random)],
        [2, () => this.withdraw(client, random)],
        [2, () => this.single(client, random)],
        [1, async () => (await this.get(client, random.pick(this.accounts()))) !== undefined],
        [this.machine.storms ? 1 : 0, () => this.grow(random)],
        [
          2,
          async () =>
            (await this.snapshot(
              client,
              random.sample([...this.accounts(), ...this.pair()], random.between(2, 8)),
            )) !== undefined,
        ],
        [
          1,
          async () =>
            (await this.snapshot(client, [...this.accounts(), ...this.pair()])) !== undefined,
        ],
      ]);
    }
  }

  async between(round) {
    if (round % ROUNDS_OF_AN_EPOCH !== 0) return;
    for (const attempt of this.unresolved.splice(0)) {
      this.counts.retried++;
      this.resolve(attempt, [await this.machine.send('TransactWriteItems', attempt.body)]);
    }
    // Reads everything that was written once.
    await this.snapshot('after the restart', [...this.accounts(), ...this.pair()]);
    await this.open();
  }

  checkBalances() {
    const sums = new Map(); // key -> balance after each write
    for (const [key, ids] of this.history.versions) {
      let balance = key.includes('c') ? BEGIN : 0;
      sums.set(key, [balance, ...ids.map((id) => (balance += this.effects.get(id).get(key)))]);
    }
    for (const [key, length, balance, reader] of this.balances) {
      assert.equal(
        balance,
        sums.get(key)?.[length] ?? balance,
        `${reader} saw the list of ${key} at ${length} beside another moment's money`,
      );
    }
    return this.balances.length;
  }
}

/** Runs for `seconds`; resolves to what was done and checked. */
export async function transfers({ seed, seconds, clients = 12, makeMachine = (options) => new Machine(options) }) {
  const machine = makeMachine({ name: 'transfers', seed, clients });
  const run = new Transfers(machine);
  try {
    await machine.start();
    await run.createTables();
    await run.open();
    await machine.rounds(seconds, {
      work: (client, random) => run.work(client, random),
      between: (round) => run.between(round),
    });
    await run.between(0);
    const checked = run.history.check();
    const images = run.checkBalances();
    await machine.close();
    return { ...machine.counts, ...run.counts, ...checked, images };
  } catch (error) {
    if (error instanceof Anomaly) {
      error.transactions.forEach((one, i) => {
        error.message += `\n  ${JSON.stringify(one)}`;
        if (error.edges) error.message += `\n    -${error.edges[i]}->`;
      });
    }
    await machine.abandon();
    throw error;
  }
}
