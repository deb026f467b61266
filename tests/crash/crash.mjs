// Kills the loaded server with SIGKILL at random moments, starts it again on the same data directory and compares what is
// there with what clients had been told:
//   - an acknowledged write is there,
//   - a write without an answer is there wholly or not at all,
//   - ItemCount and TableSizeBytes agree with a full scan,
//   - a table whose creation or deletion was acknowledged exists or does not,
//   - the records of its stream, read on over all restarts and splits of partitions, replay to what a scan finds.
// Every writer owns its keys and has one request in flight, so that for each key at most one write is undecided. Keys that
// all writers share are a counter (ADD) and a register (compare and set on its version).
//
//   node tests/crash/crash.mjs [--rounds 50] [--seed N] [--durability fsync|os] [--writers 12] [--encrypted]
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';

import { mulberry32 } from '../diff/generate/random.mjs';
import { Server, call, isStator, request } from '../sdk/harness.mjs';
import { sizeOf } from '../sdk/sizes.mjs';

function random(seed) {
  const next = mulberry32(seed);
  return { next, below: (limit) => Math.floor(next() * limit), chance: (probability) => next() < probability };
}

const TABLE = 'crash';
const KEYS_PER_WRITER = 40;
const COUNTER = { pk: { S: 'counter' }, sk: { N: '0' } };
const REGISTER = { pk: { S: 'register' }, sk: { N: '0' } };
const keyOf = (item) => ({ pk: item.pk, sk: item.sk });
const nameOf = ({ pk, sk }) => `${pk.S}/${sk.N}`;

class Crash {
  constructor({ rounds, seed, durability, writers, encrypted }) {
    Object.assign(this, { rounds, seed, durability, writers, encrypted });
    this.random = random(seed);
    this.acknowledged = new Map();  // name of key -> item, as the clients know it; absent if deleted
    this.undecided = new Map();     // name of key -> the item (or undefined) that a write without an answer would leave
    this.tables = new Map();        // table name -> {exists, undecided}
    this.counter = { acknowledged: 0, undecided: 0 };
    this.register = { version: 0, owner: '', undecided: [] };
    this.stream = { arn: undefined, iterators: new Map(), ended: new Set(), items: new Map(), records: 0 };
    this.stamp = 0;
    this.counts = { acknowledged: 0, undecided: 0, kept: 0, lost: 0, refused: 0 };
  }

  args() {
    if (!this.encrypted) return [`--durability=${this.durability}`];
    this.keyFile ??= `${this.dataDir}.key`;
    // A new key takes over now and then, so kills fall into that too.
    const keys = fs.existsSync(this.keyFile) ? fs.readFileSync(this.keyFile, 'utf8').split('\n') : [];
    if (keys.length === 0 || this.random.chance(0.3)) {
      keys.unshift(Array.from({ length: 8 }, () => this.random.below(2 ** 32).toString(16).padStart(8, '0')).join(''));
      fs.writeFileSync(this.keyFile, keys.join('\n'), { mode: 0o600 });
    }
    return [`--durability=${this.durability}`, '--encryption-key-file', this.keyFile];
  }

  // Sends an operation; returns its reply, or undefined if the server went before it answered.
  async send(operation, body) {
    try {
      const reply = await call(this.server.endpoint, operation, body, { agent: this.agent });
      if (reply.status < 500) return reply;
      this.trouble = new Error(`${operation}: ${reply.status} ${reply.text}`);
    } catch (error) {
      // The outcome is not known.
      if (!this.killing) {
        await delay(100);  // an exit is seen a little later than its connections
        const { exitCode, signalCode } = this.server.child;
        this.trouble = new Error(`${operation} before the kill: ${error.message}; the server ${exitCode ?? signalCode ?? 'runs on'}`);
      }
    }
    // One write without an answer per writer: another one would hide which of them a key is waiting for.
    return undefined;
  }

  item(writer, slot) {
    // All attributes carry the stamp: a torn item would show.
    const stamp = ++this.stamp;
    return {
      pk: { S: `w${writer}` }, sk: { N: String(slot) }, a: { N: String(stamp) }, filler: { S: `${stamp}.`.repeat(1 + this.random.below(120)) }, z: { N: String(stamp) },
    };
  }

  // One write by an owner to its own keys. `effects` are [key, item or undefined] pairs; a batch may be applied in part, for
  // it promises atomicity of its single writes only.
  async write(operation, body, effects) {
    for (const [key, item] of effects) this.undecided.set(nameOf(key), item);
    const reply = await this.send(operation, body);
    if (reply === undefined) {
      this.counts.undecided++;
      return undefined;
    }
    const failed = reply.status === 400 && reply.json().__type.endsWith('#ConditionalCheckFailedException');
    if (reply.status !== 200 && !failed) throw new Error(`${operation}: ${reply.status} ${reply.text}`);
    const left = new Set();
    if (reply.status === 200 && operation === 'BatchWriteItem') {
      for (const request of Object.values(reply.json().UnprocessedItems).flat()) left.add(nameOf(request.PutRequest ? request.PutRequest.Item : request.DeleteRequest.Key));
    }
    for (const [key, item] of effects) {
      const name = nameOf(key);
      this.undecided.delete(name);
      if (failed || left.has(name)) continue;
      if (item) this.acknowledged.set(name, item);
      else this.acknowledged.delete(name);
    }
    if (failed) this.counts.refused++;
    else this.counts.acknowledged++;
    return reply;
  }

  async writer(id) {
    for (let answered = true; answered && !this.killing;) {
      answered = await this.step(id);
    }
  }

  // One operation of a writer. Falsy if the server went before it answered.
  async step(id) {
    const { random: dice } = this;
    const slot = dice.below(KEYS_PER_WRITER);
    const key = { pk: { S: `w${id}` }, sk: { N: String(slot) } };
    const known = this.acknowledged.get(nameOf(key));
    const kind = dice.below(100);
    if (kind < 25) {
      const Item = this.item(id, slot);
      return this.write('PutItem', { TableName: TABLE, Item }, [[key, Item]]);
    } else if (kind < 40) {
      const Item = this.item(id, slot);
      const reply = await this.write('PutItem', { TableName: TABLE, Item, ConditionExpression: 'attribute_not_exists(pk)' }, [[key, known ?? Item]]);
      if (reply) assert.equal(reply.status, known ? 400 : 200, `conditional put of ${nameOf(key)}, which ${known ? 'exists' : 'does not exist'}`);
      return reply;
    } else if (kind < 55) {
      const stamp = String(++this.stamp);
      const after = { ...(known ?? key), a: { N: stamp }, z: { N: stamp }, updates: { N: String(Number(known?.updates?.N ?? 0) + 1) } };
      return this.write('UpdateItem', {
        TableName: TABLE, Key: key, UpdateExpression: 'SET a = :s, z = :s ADD updates :one', ExpressionAttributeValues: { ':s': { N: stamp }, ':one': { N: '1' } },
      }, [[key, after]]);
    } else if (kind < 65) {
      return this.write('DeleteItem', { TableName: TABLE, Key: key }, [[key, undefined]]);
    } else if (kind < 75) {
      const effects = new Map();
      for (let i = 0; i < 2 + dice.below(10); i++) {
        const one = dice.below(KEYS_PER_WRITER);
        const Item = this.item(id, one);
        effects.set(nameOf(Item), [keyOf(Item), dice.chance(0.25) ? undefined : Item]);
      }
      const requests = [...effects.values()].map(([Key, Item]) => (Item ? { PutRequest: { Item } } : { DeleteRequest: { Key } }));
      return this.write('BatchWriteItem', { RequestItems: { [TABLE]: requests } }, [...effects.values()]);
    } else if (kind < 88) {
      return this.count();
    } else if (kind < 98) {
      return this.compareAndSet(id);
    } else {
      return this.table(id);
    }
  }

  async count() {
    this.counter.undecided++;
    const reply = await this.send('UpdateItem', { TableName: TABLE, Key: COUNTER, UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': { N: '1' } } });
    if (reply === undefined) return undefined;
    assert.equal(reply.status, 200, reply.text);
    this.counter.undecided--;
    this.counter.acknowledged++;
    this.counts.acknowledged++;
    return reply;
  }

  async compareAndSet(id) {
    const from = this.register.version;
    const attempt = { version: from + 1, owner: `${id}.${++this.stamp}` };
    this.register.undecided.push(attempt);
    const reply = await this.send('PutItem', {
      TableName: TABLE, Item: { ...REGISTER, version: { N: String(attempt.version) }, owner: { S: attempt.owner } },
      ConditionExpression: from === 0 ? 'attribute_not_exists(pk)' : 'version = :v', ...(from && { ExpressionAttributeValues: { ':v': { N: String(from) } } }),
    });
    if (reply === undefined) return undefined;
    this.register.undecided.splice(this.register.undecided.indexOf(attempt), 1);
    if (reply.status === 200) {
      assert.equal(this.register.version, from, `version ${attempt.version} of the register was given out twice`);
      Object.assign(this.register, attempt);
      this.counts.acknowledged++;
    } else {
      assert.match(reply.json().__type, /#ConditionalCheckFailedException$/);
      this.counts.refused++;
      if (this.register.version === from) await delay(1);  // someone else's success is about to be answered
    }
    return reply;
  }

  async table(id) {
    const name = `crash.table.${id}`;
    const state = this.tables.get(name) ?? { exists: false };
    this.tables.set(name, state);
    state.undecided = true;
    const reply = state.exists ? await this.send('DeleteTable', { TableName: name }) : await this.createTable(name);
    if (reply === undefined) return undefined;
    assert.equal(reply.status, 200, reply.text);
    state.exists = !state.exists;
    state.undecided = false;
    this.counts.acknowledged++;
    if (!state.exists) return reply;
    // Must not be found in the next table of that name.
    const described = await this.send('DescribeTable', { TableName: name });
    if (described === undefined) return undefined;
    if (isStator) assert.equal(described.json().Table.ItemCount, 0, `a new table has items: ${described.text}`);
    const scanned = await this.send('Scan', { TableName: name });
    if (scanned) assert.equal(scanned.json().Count, 0, `a new table has items: ${scanned.text}`);
    return this.send('PutItem', { TableName: name, Item: { pk: { S: 'x' }, sk: { N: '1' } } });
  }

  createTable(TableName, more = {}) {
    return this.send('CreateTable', {
      TableName, ...more, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'N' }],
    });
  }

  async start() {
    this.server = await Server.start({ dataDir: this.dataDir, args: this.args() });
    this.agent = new http.Agent({ keepAlive: true, maxSockets: this.writers });
  }

  async must(operation, body) {
    const reply = await this.send(operation, body);
    assert.equal(reply?.status, 200, `${operation} after the restart: ${reply?.text}`);
    return reply.json();
  }

  async ask(operation, body) {
    const headers = { 'X-Amz-Target': `DynamoDBStreams_20120810.${operation}` };
    const reply = await call(this.server.endpoint, operation, body, { agent: this.agent, headers });
    assert.equal(reply.status, 200, `${operation} after the restart: ${reply.text}`);
    return reply.json();
  }

  // Reads the stream on from where the last round left it, parents before their children. An image before a change that is not
  // what was replayed so far is a record lost, repeated or out of order.
  async replay() {
    const { arn: StreamArn, iterators, ended, items } = this.stream;
    for (let any = true; any;) {
      any = false;
      const shards = [];
      for (let ExclusiveStartShardId; ;) {
        const { StreamDescription } = await this.ask('DescribeStream', { StreamArn, ExclusiveStartShardId });
        shards.push(...StreamDescription.Shards);
        ExclusiveStartShardId = StreamDescription.LastEvaluatedShardId;
        if (!ExclusiveStartShardId) break;
      }
      for (const { ShardId, ParentShardId } of shards) {
        if (ended.has(ShardId) || (ParentShardId && !ended.has(ParentShardId))) continue;
        if (!iterators.has(ShardId)) {
          iterators.set(ShardId, (await this.ask('GetShardIterator', { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' })).ShardIterator);
        }
        const { Records, NextShardIterator } = await this.ask('GetRecords', { ShardIterator: iterators.get(ShardId) });
        for (const { dynamodb: change } of Records) {
          const name = nameOf(change.Keys);
          assert.ok(isDeepStrictEqual(change.OldImage, items.get(name)),
            `record ${change.SequenceNumber} of ${name}: before was ${JSON.stringify(change.OldImage)}, replayed ${JSON.stringify(items.get(name))}`);
          if (change.NewImage) items.set(name, change.NewImage);
          else items.delete(name);
        }
        this.stream.records += Records.length;
        iterators.set(ShardId, NextShardIterator);
        if (!NextShardIterator) ended.add(ShardId);
        any ||= Records.length > 0 || !NextShardIterator;
      }
    }
    return items;
  }

  // Compares the store with what clients know, and takes what it holds as decided.
  async verify() {
    const stored = new Map();
    let ExclusiveStartKey;
    let bytes = 0;
    do {
      const page = await this.must('Scan', { TableName: TABLE, ConsistentRead: true, ExclusiveStartKey });
      for (const item of page.Items) {
        assert.ok(!stored.has(nameOf(item)), `${nameOf(item)} was scanned twice`);
        stored.set(nameOf(item), item);
        bytes += sizeOf(item);
      }
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey);

    if (isStator) {
      const replayed = await this.replay();
      for (const name of new Set([...stored.keys(), ...replayed.keys()])) {
        assert.ok(isDeepStrictEqual(stored.get(name), replayed.get(name)),
          `${name} is ${JSON.stringify(stored.get(name))}; its stream says ${JSON.stringify(replayed.get(name))}`);
      }
    }

    const { Table } = await this.must('DescribeTable', { TableName: TABLE });
    if (isStator) assert.equal(Table.ItemCount, stored.size, 'ItemCount is not what a scan finds');
    if (isStator) assert.equal(Table.TableSizeBytes, bytes, 'TableSizeBytes is not what a scan finds');

    const counted = Number(stored.get(nameOf(COUNTER))?.n?.N ?? 0);
    const { acknowledged, undecided } = this.counter;
    assert.ok(counted >= acknowledged && counted <= acknowledged + undecided, `the counter is ${counted}; ${acknowledged} increments were acknowledged and ${undecided} more sent`);
    this.counter = { acknowledged: counted, undecided: 0 };
    stored.delete(nameOf(COUNTER));

    const register = stored.get(nameOf(REGISTER));
    const version = Number(register?.version.N ?? 0);
    const owner = register?.owner.S ?? '';
    assert.ok((version === this.register.version && owner === this.register.owner) || this.register.undecided.some((attempt) => attempt.version === version && attempt.owner === owner && version > this.register.version),
      `the register is version ${version} of ${owner}; acknowledged was ${this.register.version} of ${this.register.owner}, undecided ${JSON.stringify(this.register.undecided)}`);
    this.register = { version, owner, undecided: [] };
    stored.delete(nameOf(REGISTER));

    for (const name of new Set([...stored.keys(), ...this.acknowledged.keys(), ...this.undecided.keys()])) {
      const found = stored.get(name);
      const known = this.acknowledged.get(name);
      const asKnown = isDeepStrictEqual(found, known);
      if (this.undecided.has(name)) {
        const applied = isDeepStrictEqual(found, this.undecided.get(name));
        assert.ok(asKnown || applied, `${name} is ${JSON.stringify(found)}; acknowledged was ${JSON.stringify(known)}, undecided ${JSON.stringify(this.undecided.get(name))}`);
        this.counts[applied ? 'kept' : 'lost']++;
      } else {
        assert.ok(asKnown, `${name} is ${JSON.stringify(found)}; acknowledged was ${JSON.stringify(known)}`);
      }
    }
    this.acknowledged = stored;
    this.undecided.clear();

    for (const [name, state] of this.tables) {
      const reply = await this.send('DescribeTable', { TableName: name });
      const exists = reply?.status === 200;
      if (!exists) assert.match(reply?.json().__type ?? 'nothing', /#ResourceNotFoundException$/);
      assert.ok(state.undecided || exists === state.exists, `table ${name} ${exists ? 'exists' : 'does not exist'}, the opposite was acknowledged`);
      this.tables.set(name, { exists, undecided: false });
    }
  }

  async run() {
    this.dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-crash-'));
    const begin = Date.now();
    let startMillis = 0;
    try {
      await this.start();
      await this.must('ListTables', {});
      const more = isStator ? { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } } : {};
      assert.equal((await this.createTable(TABLE, more)).status, 200);
      this.stream.arn = (await this.must('DescribeTable', { TableName: TABLE })).Table.LatestStreamArn;
      for (let round = 1; round <= this.rounds; round++) {
        this.round = round;
        this.killing = false;
        const before = this.counts.acknowledged;
        const load = Array.from({ length: this.writers }, (_, id) => this.writer(id));
        const all = Promise.all(load);
        const life = 100 + this.random.below(300);
        if (isStator && this.random.chance(0.3)) {
          const options = { path: `/_stator/tables/${TABLE}/split`, headers: { 'X-Stator-Management': 'true' }, agent: this.agent };
          delay(this.random.below(life)).then(() => request(this.server.endpoint, options)).catch(() => {});
        }
        await Promise.race([delay(life), all]);
        // No kill without load, on a machine that is busy with others.
        for (const end = Date.now() + 60_000; this.counts.acknowledged <= before + 10 && !this.trouble && Date.now() < end;) await delay(5);
        this.killing = true;
        await this.server.kill();
        await all;
        if (this.trouble) throw this.trouble;
        this.agent.destroy();
        // Now and then the restart is killed too.
        if (this.random.chance(0.2)) {
          const moment = this.random.below(60);
          const doomed = await Server.start({
            dataDir: this.dataDir, args: this.args(), spawned: (child) => setTimeout(() => child.kill('SIGKILL'), moment),
          }).catch(() => undefined);
          await doomed?.kill();
        }
        const startBegin = Date.now();
        await this.start();
        startMillis += Date.now() - startBegin;
        await this.verify();
      }
      const end = await this.server.stop();
      if (isStator) assert.equal(end.code, 0, `SIGTERM ended the server with ${end.signal ?? end.code}`);
      fs.rmSync(this.dataDir, { recursive: true, force: true });
      if (this.keyFile) fs.rmSync(this.keyFile);
      return {
        durability: this.durability, encrypted: this.encrypted, seed: this.seed, kills: this.rounds, ...this.counts, counter: this.counter.acknowledged, version: this.register.version,
        records: this.stream.records, shards: this.stream.ended.size + 1,
        averageRestartMillis: Math.round(startMillis / this.rounds), seconds: (Date.now() - begin) / 1000,
      };
    } catch (error) {
      await this.server?.kill().catch(() => {});
      error.message = `round ${this.round}, seed ${this.seed}, durability ${this.durability}, data directory kept at ${this.dataDir}: ${error.message}\n${this.server?.output ?? ''}`;
      throw error;
    }
  }
}

export const crash = (options = {}) => new Crash({ rounds: 50, seed: Math.floor(Math.random() * 2 ** 32), durability: 'fsync', writers: 12, encrypted: false, ...options }).run();

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { rounds: { type: 'string' }, seed: { type: 'string' }, durability: { type: 'string' }, writers: { type: 'string' }, encrypted: { type: 'boolean' } },
  });
  const options = {};
  for (const name of ['rounds', 'seed', 'writers']) if (values[name] !== undefined) options[name] = Number(values[name]);
  if (values.durability) options.durability = values.durability;
  if (values.encrypted) options.encrypted = true;
  options.seed ??= Math.floor(Math.random() * 2 ** 32);
  console.log(`seed ${options.seed}`);
  process.exitCode = 1;  // until the outcome is known
  let failed = 0;
  try {
    console.log(JSON.stringify(await crash(options)));
  } catch (error) {
    failed = 1;
    console.log(error.stack);
  }
  console.log(`# tests 1\n# pass ${1 - failed}\n# fail ${failed}`);
  process.exitCode = failed;
}
