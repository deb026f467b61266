// Tables are created, changed and deleted while clients use them, through all processes. The
// history of each name is linearizable: of two creators one succeeds, the answer of a deletion
// describes the deleted table, and a client that finds no table has a moment when there was none.
// An acknowledged item exists as long as its table; a table that was deleted and created again is
// empty. Indexes added and streams switched on meanwhile agree with the items, and time to live
// removes only expired items.
//
// Each attempt to create a table asks for another number of read units, so a description identifies
// the attempt.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

import { check, explain } from './linearizable.mjs';
import { Machine } from './machine.mjs';
import { Replay } from './replay.mjs';

const NAMES = ['red', 'green', 'blue'];
const MANAGERS = 4; // of the clients
const MOST_WAIT = 60000; // milliseconds to wait for an index, or for expired items
const S = (value) => ({ S: value });
const INDEX = {
  Projection: { ProjectionType: 'ALL' },
  ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 },
};
const ATTRIBUTES = [
  { AttributeName: 'pk', AttributeType: 'S' },
  { AttributeName: 'g', AttributeType: 'S' },
  { AttributeName: 'h', AttributeType: 'S' },
];
const indexOf = (IndexName, attribute) => ({
  IndexName,
  KeySchema: [{ AttributeName: attribute, KeyType: 'HASH' }, { AttributeName: 'pk', KeyType: 'RANGE' }],
  ...INDEX,
});

/** What an operation does to a name: states are '-' and the attempt that made the table (linearizable.mjs has the rest). */
export function tableStep(state, { kind, answered, failed, attempt, seen, present }) {
  const there = state !== '-';
  if (kind === 'read') {
    if (present !== undefined) return present === there ? state : undefined;
    return !answered || seen === state ? state : undefined;
  }
  const possible = kind === 'create' ? !there : there;
  if (!possible) return answered && !failed ? undefined : state;
  if (failed) return undefined;
  if (kind === 'create') return attempt;
  return seen === undefined || seen === state ? '-' : undefined;
}

const describe = ({ client, call, return: end, answered, death: _, ...what }) =>
  `${String(call).padStart(7)} .. ${String(end).padEnd(7)} client ${client} ${answered ? '' : '(no answer) '}${JSON.stringify(what)}`;
const untilOf = ({ return: end, death }) => end ?? death.tick ?? Infinity;

class Tables {
  constructor(machine) {
    this.machine = machine;
    this.attempts = new Map(); // number -> {name, call, seen: when a client had seen its table}
    this.streams = new Map(); // ARN -> when a client had seen it
    this.names = new Map(NAMES.map((name) => [name, { history: [], deletes: [], items: new Map(), acknowledged: [], reads: [] }]));
    this.ids = 0;
    this.expires = new Set(); // attempts whose table may have time to live
    this.counts = { created: 0, refused: 0, deleted: 0, changed: 0, described: 0, puts: 0, gets: 0, missing: 0, records: 0, checks: 0 };
  }

  async send(operation, body) {
    const record = await this.machine.send(operation, body);
    record.type = record.body?.__type?.replace(/.*#/, '');
    return record;
  }

  // Records an answer that shows a table, and returns the attempt that created it.
  saw(description, tick) {
    const attempt = description.ProvisionedThroughput.ReadCapacityUnits;
    const known = this.attempts.get(attempt);
    assert.ok(known, `nobody made a table with ${attempt} units`);
    assert.equal(known.name, description.TableName);
    known.seen = Math.min(known.seen ?? Infinity, tick);
    known.id ??= description.TableId;
    assert.equal(description.TableId, known.id, `attempt ${attempt} has made two tables ${known.name}`);
    const arn = description.LatestStreamArn;
    if (arn && description.StreamSpecification?.StreamEnabled && !this.streams.has(arn)) this.streams.set(arn, tick);
    return attempt;
  }

  add(client, name, { call, return: end, status, death }, entry) {
    const answered = status !== 0;
    this.names.get(name).history.push({ client, call, return: end, answered, ...(!answered && { death }), ...entry });
  }

  async create(client, random, name) {
    const attempt = this.attempts.size + 1;
    const known = { name, seen: undefined };
    this.attempts.set(attempt, known);
    const indexed = random.chance(0.4);
    const body = {
      TableName: name,
      ProvisionedThroughput: { ReadCapacityUnits: attempt, WriteCapacityUnits: 5 },
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: ATTRIBUTES.slice(0, indexed ? 2 : 1),
      ...(indexed && { GlobalSecondaryIndexes: [indexOf('by-g', 'g')] }),
      ...(random.chance(0.4) && { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } }),
    };
    known.call = this.machine.now();
    const record = await this.send('CreateTable', body);
    if (record.status === 200) {
      this.counts.created++;
      assert.equal(this.saw(record.body.TableDescription, record.return), attempt, `whose table is ${name}?`);
    } else if (record.status !== 0) {
      this.counts.refused++;
      assert.equal(record.type, 'ResourceInUseException', JSON.stringify(record.body));
    }
    this.add(client, name, record, { kind: 'create', attempt, failed: record.status === 400 });
    return record.status !== 0;
  }

  async remove(client, name) {
    const record = await this.send('DeleteTable', { TableName: name });
    const entry = { kind: 'delete' };
    if (record.status === 200) {
      this.counts.deleted++;
      entry.seen = this.saw(record.body.TableDescription, record.return);
    } else if (record.status !== 0) {
      assert.equal(record.type, 'ResourceNotFoundException', JSON.stringify(record.body));
      entry.failed = true;
    }
    this.add(client, name, record, entry);
    if (!entry.failed) this.names.get(name).deletes.push(record);
    return record.status !== 0;
  }

  // Returns the description; null if there is no table; undefined without an answer.
  async look(client, name) {
    const record = await this.send('DescribeTable', { TableName: name });
    if (record.status === 0) return undefined;
    this.counts.described++;
    if (record.status !== 200) {
      this.notFound(client, name, record);
      return null;
    }
    this.add(client, name, record, { kind: 'read', seen: this.saw(record.body.Table, record.return) });
    return record.body.Table;
  }

  notFound(client, name, record) {
    assert.equal(record.type, 'ResourceNotFoundException', JSON.stringify(record.body));
    this.counts.missing++;
    this.add(client, name, record, { kind: 'read', seen: '-', via: record.via });
  }

  async list(client) {
    const record = await this.send('ListTables', {});
    if (record.status === 0) return false;
    assert.equal(record.status, 200, JSON.stringify(record.body));
    for (const name of NAMES)
      this.add(client, name, record, { kind: 'read', present: record.body.TableNames.includes(name) });
    return true;
  }

  // Adds or removes an index, switches the stream on or off, or switches time to live on.
  async change(client, random, name) {
    const table = await this.look(client, name);
    if (!table) return table === null;
    const attempt = table.ProvisionedThroughput.ReadCapacityUnits;
    if (random.chance(0.15)) {
      this.expires.add(attempt); // or those of a later table: its attempts are checked as well
      const { status, type, body } = await this.send('UpdateTimeToLive', {
        TableName: name,
        TimeToLiveSpecification: { Enabled: true, AttributeName: 'ttl' },
      });
      if (status === 400) assert.match(type, /ResourceNotFound|ResourceInUse|Validation/, JSON.stringify(body));
      return status !== 0;
    }
    const indexes = (table.GlobalSecondaryIndexes ?? []).map(({ IndexName }) => IndexName);
    const update = random.weighted([
      [3, () => {
        const [IndexName, attribute] = random.pick([['by-g', 'g'], ['by-h', 'h']]);
        if (indexes.includes(IndexName)) return { GlobalSecondaryIndexUpdates: [{ Delete: { IndexName } }] };
        return { AttributeDefinitions: ATTRIBUTES, GlobalSecondaryIndexUpdates: [{ Create: indexOf(IndexName, attribute) }] };
      }],
      [2, () => {
        if (table.StreamSpecification?.StreamEnabled) return { StreamSpecification: { StreamEnabled: false } };
        return { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } };
      }],
    ]);
    const { status, type, body, return: end } = await this.send('UpdateTable', { TableName: name, ...update });
    if (status === 200) {
      this.counts.changed++;
      this.saw(body.TableDescription, end);
    } else if (status !== 0) {
      assert.match(type, /ResourceNotFound|ResourceInUse|LimitExceeded|Validation/, JSON.stringify(body));
    }
    return status !== 0;
  }

  item(random, name) {
    const id = `${name} ${++this.ids}`;
    const Item = { pk: S(id), g: S(`g${random.between(1, 5)}`), h: S(`h${random.between(1, 5)}`), x: S('x'.repeat(random.between(1, 300))) };
    if (random.chance(0.1)) Item.ttl = { N: String(Math.floor(Date.now() / 1000) - 100) };
    return { id, Item };
  }

  // Items are written once and never changed.
  async put(client, random) {
    const name = random.pick(NAMES);
    const [operation, names] = random.weighted([
      [5, () => ['PutItem', [name]]],
      [2, () => ['BatchWriteItem', Array(random.between(2, 6)).fill(name)]],
      [2, () => ['TransactWriteItems', random.sample(NAMES, 2)]],
    ]);
    const items = names.map((where) => ({ name: where, ...this.item(random, where) }));
    const body = {
      PutItem: () => ({ TableName: name, Item: items[0].Item }),
      BatchWriteItem: () => ({ RequestItems: { [name]: items.map(({ Item }) => ({ PutRequest: { Item } })) } }),
      TransactWriteItems: () => ({
        TransactItems: items.map(({ name: TableName, Item }) => ({ Put: { TableName, Item } })),
      }),
    }[operation]();
    // They may be read before they are acknowledged.
    const entries = items.map(({ id, Item }) => ({ id, call: this.machine.now(), text: JSON.stringify(Item), ttl: 'ttl' in Item }));
    items.forEach(({ name: where, id }, i) => this.names.get(where).items.set(id, entries[i]));
    const record = await this.send(operation, body);
    record.via = operation;
    for (const entry of entries) Object.assign(entry, { return: record.return, death: record.death, status: record.status });
    if (record.status === 0) return false;
    if (record.status === 200) {
      this.counts.puts += items.length;
      const left = record.body.UnprocessedItems?.[name] ?? [];
      items.forEach(({ name: where, id }, i) => {
        if (left.some(({ PutRequest }) => PutRequest.Item.pk.S === id)) return;
        entries[i].acknowledged = true;
        this.names.get(where).acknowledged.push(entries[i]);
      });
    } else if (record.type === 'ResourceNotFoundException') {
      for (const entry of entries) entry.never = true;
      if (operation !== 'TransactWriteItems') this.notFound(client, name, record);
    } else {
      assert.match(JSON.stringify(record.body), /TransactionConflict/);
      for (const entry of entries) entry.never = true;
    }
    return true;
  }

  async get(client, random) {
    const name = random.pick(NAMES);
    const { acknowledged, reads } = this.names.get(name);
    if (acknowledged.length === 0) return true;
    const from = random.chance(0.8) ? Math.max(0, acknowledged.length - 50) : 0;
    const entry = acknowledged[random.between(from, acknowledged.length - 1)];
    const record = await this.send('GetItem', { TableName: name, Key: { pk: S(entry.id) }, ConsistentRead: true });
    record.via = 'GetItem';
    if (record.status === 0) return false;
    this.counts.gets++;
    if (record.status !== 200) {
      this.notFound(client, name, record);
      return true;
    }
    reads.push({ entry, call: record.call, return: record.return, found: record.body.Item !== undefined });
    return true;
  }

  async manage(client, random) {
    const name = random.pick(NAMES);
    const answered = await random.weighted([
      [3, () => this.create(client, random, name)],
      [1, () => this.remove(client, name)],
      [1, async () => (await this.look(client, name)) !== undefined],
      [1, () => this.list(client)],
      [4, () => this.change(client, random, name)],
    ]);
    await delay(random.between(0, 60));
    return answered;
  }

  async work(client, random) {
    const manages = client % this.machine.clients < MANAGERS;
    for (let answered = true; answered && this.machine.going();) {
      if (manages) answered = await this.manage(client, random);
      else answered = await (random.chance(0.7) ? this.put(client, random) : this.get(client, random));
    }
  }

  // In the calm.
  async verify() {
    for (const name of NAMES) await this.verifyName(name);
    for (const name of NAMES) {
      const { history, reads } = this.names.get(name);
      const result = check(history, { step: tableStep });
      assert.ok(result.ok, result.ok || `the history of the name ${name} is not linearizable: ${explain(result, describe)}`);
      for (const read of reads.splice(0)) this.verifyRead(name, read);
    }
    this.counts.checks++;
  }

  // Reads an acknowledged item.
  verifyRead(name, { entry, call, return: end, found }) {
    const text = `${entry.id}, acknowledged at ${entry.return}, is read at ${call} .. ${end}`;
    if (found) {
      const later = [...this.attempts.values()].find((one) => one.name === name && one.call > entry.return && one.seen < call);
      assert.ok(!later, `${text}, from before the table that was asked for at ${later?.call} and seen at ${later?.seen}`);
    } else if (!entry.ttl && entry.return < call) {
      const gone = this.names.get(name).deletes.some((one) => one.call < end && untilOf(one) > entry.call);
      assert.ok(gone, `${text} and is not there, but no table was deleted`);
    }
  }

  async verifyName(name) {
    let table = await this.look('after', name);
    if (!table) return;
    const attempt = table.ProvisionedThroughput.ReadCapacityUnits;
    const end = Date.now() + MOST_WAIT;
    while ((table.GlobalSecondaryIndexes ?? []).some(({ IndexStatus }) => IndexStatus !== 'ACTIVE')) {
      assert.ok(Date.now() < end, `an index of ${name} is not ${JSON.stringify(table.GlobalSecondaryIndexes)}`);
      await delay(20);
      table = await this.look('after', name);
      assert.ok(table, `${name} is gone`);
    }
    const { call, seen } = this.attempts.get(attempt);
    const { items } = this.names.get(name);
    // Expired items may be deleted meanwhile.
    const lasting = (list) => list.filter((item) => !('ttl' in item));
    const textsOf = (list) => lasting(list).map((item) => JSON.stringify(Object.entries(item).sort())).sort();
    const scanned = await this.machine.all('Scan', { TableName: name, ConsistentRead: true, Limit: 50 });
    for (const item of scanned) {
      const entry = items.get(item.pk.S);
      assert.ok(entry, `nobody wrote ${item.pk.S} to ${name}`);
      assert.ok(!entry.never, `${entry.id} was refused and is there`);
      assert.ok(untilOf(entry) > call, `${entry.id}, written by ${untilOf(entry)}, is in a table that was made after ${call}`);
      assert.deepEqual(item, JSON.parse(entry.text));
    }
    const there = new Set(scanned.map((item) => item.pk.S));
    for (const entry of items.values()) {
      if (!entry.acknowledged || entry.call < seen || entry.ttl) continue;
      assert.ok(there.has(entry.id), `${entry.id}, acknowledged at ${entry.call} .. ${entry.return}, is lost; the table was there at ${seen}`);
    }
    for (const { IndexName } of table.GlobalSecondaryIndexes ?? []) {
      const entries = await this.machine.all('Scan', { TableName: name, IndexName, Limit: 50 });
      assert.deepEqual(textsOf(entries), textsOf(scanned), `${IndexName} of ${name} is not what the items say`);
    }
    if (!this.expires.has(attempt)) await this.verifyCount(name, scanned.length);
    if (table.StreamSpecification?.StreamEnabled) await this.verifyStream(table, lasting(scanned));
  }

  async verifyCount(name, wanted) {
    const end = Date.now() + (this.machine.storms ? MOST_WAIT : 0);
    for (;;) {
      const { Table } = await this.machine.must('DescribeTable', { TableName: name });
      if (Table.ItemCount === wanted) return;
      assert.ok(Date.now() < end, `ItemCount of ${name} is ${Table.ItemCount}, a scan finds ${wanted}`);
      await delay(100);
    }
  }

  // The stream has all items sent after a client had seen it, each once, and none from before the
  // table.
  async verifyStream({ TableName, LatestStreamArn, ProvisionedThroughput }, scanned) {
    const since = this.streams.get(LatestStreamArn);
    const { items } = this.names.get(TableName);
    const { call } = this.attempts.get(ProvisionedThroughput.ReadCapacityUnits);
    const end = Date.now() + (this.machine.storms ? MOST_WAIT : 0);
    for (;;) {
      const inserted = new Map();
      const replay = new Replay(this.machine, LatestStreamArn);
      replay.apply = ({ eventName, dynamodb: { Keys, NewImage } }) => {
        if (eventName === 'REMOVE') return; // expired
        const { S: id } = Keys.pk;
        assert.equal(eventName, 'INSERT', id);
        assert.ok(!inserted.has(id), `${id} is in the stream of ${TableName} twice`);
        assert.ok(items.has(id) && untilOf(items.get(id)) > call, `the stream of ${TableName} has ${id}, which is of another table`);
        assert.deepEqual(NewImage, JSON.parse(items.get(id).text));
        inserted.set(id);
      };
      await replay.catchUp();
      const missing = scanned.map((item) => item.pk.S).filter((id) => items.get(id).call > since && !inserted.has(id));
      this.counts.records += inserted.size;
      if (missing.length === 0) return;
      assert.ok(Date.now() < end, `the stream of ${TableName}, seen at ${since}, does not have ${missing.length} items: ${missing.slice(0, 5)}`);
      await delay(200);
    }
  }

  // At the end expired items go, and nothing else.
  async verifyExpiry() {
    for (const name of NAMES) {
      const table = await this.look('after', name);
      if (!table) continue;
      const was = (await this.machine.all('Scan', { TableName: name, ConsistentRead: true })).filter((item) => !item.ttl);
      const { TimeToLiveDescription } = await this.machine.must('DescribeTimeToLive', { TableName: name });
      if (TimeToLiveDescription.TimeToLiveStatus !== 'ENABLED')
        await this.machine.must('UpdateTimeToLive', {
          TableName: name,
          TimeToLiveSpecification: { Enabled: true, AttributeName: 'ttl' },
        });
      const end = Date.now() + MOST_WAIT;
      let now;
      do {
        await delay(100);
        now = await this.machine.all('Scan', { TableName: name, ConsistentRead: true });
        assert.ok(Date.now() < end, `expired items of ${name} stay`);
      } while (now.some((item) => item.ttl));
      assert.equal(now.length, was.length, `items of ${name} that are not expired`);
    }
  }
}

/** Runs for `seconds`; resolves to what was done and checked. */
export async function tables({ seed, seconds, clients = 12, makeMachine = (options) => new Machine(options) }) {
  const machine = makeMachine({ name: 'tables', seed, clients, args: ['--ttl-interval=500ms'] });
  const run = new Tables(machine);
  try {
    await machine.start();
    await machine.rounds(seconds, {
      work: (client, random) => run.work(client, random),
      between: () => run.verify(),
    });
    await run.verifyExpiry();
    await machine.close();
    return { ...machine.counts, ...run.counts };
  } catch (error) {
    await machine.abandon();
    throw error;
  }
}
