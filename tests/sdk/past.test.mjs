// Reads as of a moment, differences, undo and forget: the header through the SDK, the management calls, and the commands of
// docs/past.md as they stand there. On RocksDB and in memory; on a cluster there is no point-in-time recovery.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as sdk from '@aws-sdk/client-dynamodb';

import { N, S, assertFails, assertSame, clientFor, operationsOf } from './clients.mjs';
import { Server, advanceClock, binary, isStator, onCluster, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const skip = !own ? 'needs a server of its own' : onCluster && 'not for a cluster';
const page = fs.readFileSync(fileURLToPath(new URL('../../docs/past.md', import.meta.url)), 'utf8');
const kStart = Date.parse('2026-11-26T08:00:00Z');
const iso = (millis) => new Date(millis).toISOString();

// The middleware of the page.
const asOf = new Function('client', 'moment', `${/```js\n([^]*?)asOf\(client/.exec(page)[1]}; asOf(client, moment);`);

class World {
  static async start(args = []) {
    const world = new World();
    world.root = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-past-'));
    world.args = [...args, '--clock=manual'];
    world.now = kStart;
    await world.open();
    return world;
  }
  async open() {
    this.server = await Server.startOne({
      dataDir: path.join(this.root, 'data'), args: [...this.args, `--clock-start=${iso(this.now)}`],
    });
    this.client = clientFor(this.server.endpoint);
    this.ddb = operationsOf(this.client);
  }
  async kill() {
    this.client.destroy();
    await this.server.kill();
  }
  async close() {
    this.client.destroy();
    assert.equal((await this.server.stop()).code, 0, this.server.output);
    fs.rmSync(this.root, { recursive: true });
  }
  async tick(seconds) {
    this.now += seconds * 1000;
    await advanceClock(this.server, seconds);
  }
  turnOn(TableName) {
    return this.ddb.UpdateContinuousBackups({ TableName, PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true } });
  }
  // Operations as of a moment.
  async at(moment, work) {
    const client = clientFor(this.server.endpoint);
    asOf(client, moment);
    try {
      return await work(operationsOf(client), client);
    } finally {
      client.destroy();
    }
  }
  async call(table, what, body) {
    const reply = await request(this.server.endpoint, {
      path: `/_stator/tables/${table}/past/${what}`, headers: { 'X-Stator-Management': 'true' }, body: JSON.stringify(body),
    });
    return { status: reply.status, ...JSON.parse(reply.text) };
  }
  stator(...words) {
    const { status, stdout, stderr } = spawnSync(binary, words, {
      encoding: 'utf8', env: { ...process.env, AWS_ENDPOINT_URL: this.server.endpoint },
    });
    return { status, stdout, stderr };
  }
}

const kItems = 300;
const key = (i) => ({ pk: S(`p${i % 7}`), sk: N(i) });
const item = (i, v) => ({ ...key(i), g: S(`g${i % 3}`), v: S(v) });
const order = (items) => [...items].sort((a, b) => a.pk.S.localeCompare(b.pk.S) || a.sk.N - b.sk.N);

for (const [engine, args] of [['RocksDB', []], ['memory', ['--in-memory']]]) {
  describe(`the past of a table on ${engine}`, { skip }, () => {
    let world, ddb;
    const states = [];  // [moment, items by key]
    const model = new Map();
    const put = async (i, v) => {
      await ddb.PutItem({ TableName: 'Things', Item: item(i, v) });
      model.set(i, item(i, v));
    };
    const remove = async (i) => {
      await ddb.DeleteItem({ TableName: 'Things', Key: key(i) });
      model.delete(i);
    };
    const note = async () => {
      states.push([iso(world.now), new Map(model)]);
      await world.tick(2);
    };
    before(async () => {
      world = await World.start(args);
      ddb = world.ddb;
      await ddb.CreateTable({
        TableName: 'Things', BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [['pk', 'S'], ['sk', 'N'], ['g', 'S']].map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
        GlobalSecondaryIndexes: [{ IndexName: 'by-g', Projection: { ProjectionType: 'ALL' }, KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }] }],
      });
      for (let i = 0; i < kItems; ++i) await put(i, 'first');
      await world.turnOn('Things');
      await world.tick(1);
      await note();
      for (let i = 0; i < kItems; i += 2) await put(i, 'second');
      await note();
      for (let i = 0; i < kItems; i += 3) await remove(i);
      await note();
      await world.tick(86_400);
      for (let i = kItems; i < kItems + 50; ++i) await put(i, 'new');
      await put(1, 'third');
      await ddb.TransactWriteItems({
        TransactItems: [{ Put: { TableName: 'Things', Item: item(2, 'both') } }, { Delete: { TableName: 'Things', Key: key(4) } }],
      });
      model.set(2, item(2, 'both'));
      model.delete(4);
      await note();
      for (const i of [...model.keys()]) await remove(i);
      await note();
      await world.tick(5);
    });
    after(() => world.close());

    const verifyReads = async () => {
      for (const [moment, state] of states) {
        const all = order([...state.values()]);
        await world.at(moment, async (past, client) => {
          const scanned = [];
          for await (const part of sdk.paginateScan({ client }, { TableName: 'Things', Limit: 40 })) scanned.push(...part.Items);
          assertSame(order(scanned), all, `scan at ${moment}`);
          const segments = await Promise.all([0, 1, 2].map((Segment) => past.Scan({ TableName: 'Things', Segment, TotalSegments: 3 })));
          assertSame(order(segments.flatMap(({ Items }) => Items)), all, `segments at ${moment}`);
          for (const ScanIndexForward of [true, false]) {
            const queried = [];
            const query = {
              TableName: 'Things', ScanIndexForward, Limit: 7, KeyConditionExpression: 'pk = :p and sk between :a and :b',
              ExpressionAttributeValues: { ':p': S('p3'), ':a': N(20), ':b': N(330) },
            };
            for await (const part of sdk.paginateQuery({ client }, query)) queried.push(...part.Items);
            const wanted = all.filter(({ pk, sk }) => pk.S === 'p3' && sk.N >= 20 && sk.N <= 330);
            assertSame(queried, ScanIndexForward ? wanted : wanted.reverse(), `query at ${moment}`);
          }
          for (const i of [0, 1, 2, 3, 4, kItems + 1, 999]) {
            assertSame((await past.GetItem({ TableName: 'Things', Key: key(i) })).Item, state.get(i), `item ${i} at ${moment}`);
          }
          const { Responses } = await past.BatchGetItem({ RequestItems: { Things: { Keys: [0, 1, 2, 3, 999].map(key) } } });
          assertSame(order(Responses.Things), order([0, 1, 2, 3].map((i) => state.get(i)).filter(Boolean)), `batch at ${moment}`);
          const { Count, ScannedCount } = await past.Scan({
            TableName: 'Things', Select: 'COUNT', FilterExpression: 'v = :v', ExpressionAttributeValues: { ':v': S('second') },
          });
          assert.deepEqual([Count, ScannedCount], [all.filter(({ v }) => v.S === 'second').length, all.length]);
        });
      }
    };

    test('GetItem, BatchGetItem, Query and Scan answer as of the header', verifyReads);

    test('a moment is ISO 8601, seconds or milliseconds', async () => {
      const [moment, state] = states[1];
      const millis = Date.parse(moment);
      for (const text of [moment, String(millis), String(millis / 1000), `${millis / 1000}.000`]) {
        await world.at(text, async (past) => assertSame((await past.GetItem({ TableName: 'Things', Key: key(2) })).Item, state.get(2), text));
      }
      for (const text of ['yesterday', '-1', '2026-13-01']) {
        await world.at(text, (past) => assertFails(past.GetItem({ TableName: 'Things', Key: key(2) }), 'ValidationException', `X-Stator-As-Of '${text}' is no moment`));
      }
    });

    test('consumed capacity is that of the items that were there', async () => {
      const Key = { pk: N(1) };
      await ddb.CreateTable({
        TableName: 'Units', BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'N' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      });
      await ddb.PutItem({ TableName: 'Units', Item: { ...Key, v: S('x'.repeat(40_000)) } });
      await world.turnOn('Units');
      await world.tick(2);
      const moment = iso(world.now - 1000);
      await ddb.PutItem({ TableName: 'Units', Item: Key });
      await world.tick(2);
      const units = async (operations) => (await operations.GetItem({
        TableName: 'Units', Key, ConsistentRead: true, ReturnConsumedCapacity: 'TOTAL',
      })).ConsumedCapacity.CapacityUnits;
      assert.equal(await world.at(moment, units), 10);
      assert.equal(await units(ddb), 1);
    });

    test('a page of a moment at which little was there ends, and goes on', async () => {
      await ddb.CreateTable({
        TableName: 'Large', BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'N' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      });
      await ddb.PutItem({ TableName: 'Large', Item: { pk: N(-1) } });
      await world.turnOn('Large');
      await world.tick(2);
      const moment = iso(world.now - 1000);
      for (let i = 0; i < 60; ++i) await ddb.PutItem({ TableName: 'Large', Item: { pk: N(i), v: S('x'.repeat(390_000)) } });
      await world.tick(2);
      await world.at(moment, async (past) => {
        const items = [];
        let pages = 0;
        for (let ExclusiveStartKey; pages === 0 || ExclusiveStartKey; ++pages) {
          const part = await past.Scan({ TableName: 'Large', ExclusiveStartKey });
          items.push(...part.Items);
          ExclusiveStartKey = part.LastEvaluatedKey;
        }
        assert.deepEqual(items, [{ pk: N(-1) }]);
        assert.equal(pages, 2, '60 items of 390 KB were passed, 16 MB in a page');
      });
    });

    test('what is not for the past is refused, and never done in the present', async () => {
      const [moment] = states[2];
      await world.at(moment, async (past) => {
        const refused = (promise, operation) => assertFails(promise, 'ValidationException', `is for GetItem, BatchGetItem, Query and Scan: ${operation} does not read the past`);
        await refused(past.PutItem({ TableName: 'Things', Item: item(777, 'no') }), 'PutItem');
        await refused(past.DeleteTable({ TableName: 'Things' }), 'DeleteTable');
        await refused(past.ExecuteStatement({ Statement: 'SELECT * FROM T' }), 'ExecuteStatement');
        await refused(past.TransactGetItems({ TransactItems: [{ Get: { TableName: 'Things', Key: key(1) } }] }), 'TransactGetItems');
        await assertFails(past.Scan({ TableName: 'Things', IndexName: 'by-g' }), 'ValidationException', 'cannot read index by-g: indexes have no history');
        await assertFails(past.GetItem({ TableName: 'None', Key: key(1) }), 'ResourceNotFoundException');
      });
      assert.equal((await ddb.GetItem({ TableName: 'Things', Key: key(777) })).Item, undefined);
      await ddb.CreateTable({
        TableName: 'Plain', BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      });
      await world.at(moment, (past) => assertFails(past.Scan({ TableName: 'Plain' }), 'PointInTimeRecoveryUnavailableException', "Point in time recovery is not enabled for table 'Plain'"));
      for (const wrong of [iso(kStart - 1), iso(world.now), '1']) {
        await world.at(wrong, (past) => assertFails(past.Scan({ TableName: 'Things' }), 'InvalidRestoreTimeException', 'must be within EarliestRestorableDateTime'));
      }
    });

    test('the management calls tell the same, in pages', async () => {
      const [first, firstState] = states[0];
      const [last, lastState] = states[3];
      const items = [];
      for (let start; start !== null;) {
        const part = await world.call('Things', 'at', { at: first, limit: 37, ...(start && { start }) });
        assert.equal(part.status, 200, part.message);
        items.push(...part.items);
        start = part.next;
      }
      assertSame(order(items), order([...firstState.values()]));
      const changes = [];
      for (let start; start !== null;) {
        const part = await world.call('Things', 'difference', { from: first, to: last, limit: 41, ...(start && { start }) });
        assert.equal(part.status, 200, part.message);
        changes.push(...part.changes);
        start = part.next;
      }
      const differ = [...new Set([...firstState.keys(), ...lastState.keys()])].filter((i) => JSON.stringify(firstState.get(i)) !== JSON.stringify(lastState.get(i)));
      assert.equal(changes.length, differ.length);
      for (const change of changes) {
        const i = Number(change.key.sk.N);
        assertSame(change.before, firstState.get(i) ?? null);
        assertSame(change.after, lastState.get(i) ?? null);
      }
      const { changes: versions } = await world.call('Things', 'history', { key: key(2) });
      assertSame(versions.map(({ before, after }) => [before?.v.S, after?.v.S]), [['first', 'second'], ['second', 'both'], ['both', undefined]]);
    });

    test('a body that is wrong is told so', async () => {
      const moment = states[0][0];
      for (const [what, body, status, text] of [
        ['at', {}, 400, '"at" is missing'],
        ['at', { at: moment, from: moment }, 400, 'There is no member "from" of at'],
        ['at', { at: moment, limit: 0 }, 400, '"limit" must be from 1 to 1000'],
        ['at', { at: moment, start: 'x' }, 400, '"start" must be the "next"'],
        ['at', { at: moment, key: { pk: S('a') } }, 400, 'The provided key element does not match the schema'],
        ['at', { at: 'noon' }, 400, '"at" \'noon\' is no moment'],
        ['difference', { from: states[1][0], to: moment }, 400, 'is after "to"'],
        ['difference', { from: '2020-01-01' }, 400, 'must be within EarliestRestorableDateTime'],
        ['history', {}, 400, '"key" is missing'],
        ['history', { key: key(2), start: '12' }, 400, 'the position is none of this history'],
        ['undo', { from: moment }, 400, '"to" is missing'],
        ['undo', { from: moment, to: moment, apply: 1 }, 400, '"apply" must be true or false'],
        ['forget', { key: 3 }, 400, '"key" must be'],
        ['nothing', {}, 404, 'no such management call'],
      ]) {
        const reply = await world.call('Things', what, body);
        assert.equal(reply.status, status, `${what} ${JSON.stringify(body)}: ${reply.message}`);
        assert.ok(reply.message.includes(text), reply.message);
      }
      assert.equal((await world.call('None', 'at', { at: moment })).status, 404);
      assert.ok((await world.call('Plain', 'at', { at: moment })).message.includes('not enabled'));
    });

    test('an undo says what it would do, does it in pages, and goes on after a kill', async () => {
      const [from] = states[3];
      const [to] = states[4];
      await put(1, 'later');  // a conflict
      await world.tick(2);
      const sums = async (apply, killed = false) => {
        const outcomes = {};
        let pages = 0;
        for (let start; start !== null;) {
          const part = await world.call('Things', 'undo', { from, to, limit: 50, apply, ...(start && { start }) });
          assert.equal(part.status, 200, part.message);
          assert.equal(part.applied, apply);
          for (const { outcome } of part.items) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
          start = part.next;
          if (killed && ++pages === 2) {
            await world.kill();
            await world.open();
            ddb = world.ddb;
          }
        }
        return outcomes;
      };
      const wanted = states[3][1];
      assert.deepEqual(await sums(false), { put: wanted.size - 1, conflict: 1 });
      assert.equal((await ddb.Scan({ TableName: 'Things', Select: 'COUNT' })).Count, 1);
      assert.deepEqual(await sums(true, engine === 'RocksDB'), { put: wanted.size - 1, conflict: 1 });
      assert.deepEqual(await sums(true), { already: wanted.size - 1, conflict: 1 });
      const { Items } = await ddb.Scan({ TableName: 'Things' });
      assertSame(order(Items), order([...wanted.values()].map((each) => (each.sk.N === '1' ? item(1, 'later') : each))));
      // Indexes follow, and so does the past.
      const index = await ddb.Query({
        TableName: 'Things', IndexName: 'by-g', KeyConditionExpression: 'g = :g', ExpressionAttributeValues: { ':g': S('g1') }, Select: 'COUNT',
      });
      assert.equal(index.Count, Items.filter(({ g }) => g.S === 'g1').length);
      await world.tick(2);
      await verifyReads();
    });

    test('forget erases an item that is deleted from every moment', async () => {
      const [moment] = states[1];
      assert.match((await world.call('Things', 'forget', { key: key(2) })).message, /delete it first/);
      await ddb.DeleteItem({ TableName: 'Things', Key: key(2) });
      const forgotten = await world.call('Things', 'forget', { key: key(2) });
      assert.equal(forgotten.status, 200, forgotten.message);
      assert.deepEqual(forgotten.backups, []);
      assert.ok(forgotten.records >= 4);
      await world.tick(2);
      await world.at(moment, async (past) => {
        assert.equal((await past.GetItem({ TableName: 'Things', Key: key(2) })).Item, undefined);
        assertSame((await past.GetItem({ TableName: 'Things', Key: key(8) })).Item, states[1][1].get(8));
      });
      assert.equal((await world.call('Things', 'history', { key: key(2) })).changes.length, 0);
      const { BackupDetails } = await ddb.CreateBackup({ TableName: 'Things', BackupName: 'keeps' });
      assert.deepEqual((await world.call('Things', 'forget', { key: key(2) })).backups, [BackupDetails.BackupArn]);
      const told = world.stator('forget', 'Things', JSON.stringify(key(2)));
      assert.equal(told.status, 0, told.stderr);
      assert.match(told.stdout, /^0 records of the item's history were erased\.\nThese backups/);
    });
  });
}

// The words of `aws dynamodb` as a call of the SDK, for pages to be run where the AWS CLI is not installed.
const kAws = `import * as sdk from '${pathToFileURL(fileURLToPath(new URL('./node_modules/@aws-sdk/client-dynamodb/dist-cjs/index.js', import.meta.url)))}';
const [, operation, ...words] = process.argv.slice(2);
const camel = (text) => text.replace(/(^|-)([a-z])/g, (_, __, c) => c.toUpperCase());
const valueOf = (text) => {
  if (text.startsWith('{')) return JSON.parse(text);
  if (/^\\d{4}-\\d\\d-\\d\\dT/.test(text)) return new Date(text);
  if (!text.includes('=')) return text;
  return Object.fromEntries(text.split(',').map((one) => one.split('=')).map(([name, value]) => [name, value === 'true' ? true : value]));
};
const input = {};
for (let i = 0; i < words.length; i += 2) input[camel(words[i].slice(2))] = valueOf(words[i + 1]);
const client = new sdk.default.DynamoDBClient({ endpoint: process.env.AWS_ENDPOINT_URL, region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });
await client.send(new sdk.default[camel(operation) + 'Command'](input));
client.destroy();
`;

describe('docs/past.md', { skip }, () => {
  test('its commands print what it says', async () => {
    const world = await World.start(['--in-memory']);
    const tools = path.join(world.root, 'bin');
    fs.mkdirSync(tools);
    fs.writeFileSync(path.join(tools, 'aws.mjs'), kAws);
    fs.writeFileSync(path.join(tools, 'aws'), '#!/bin/sh\nexec node "$(dirname "$0")/aws.mjs" "$@"\n', { mode: 0o755 });
    fs.symlinkSync(binary, path.join(tools, 'stator'));
    await world.ddb.CreateTable({
      TableName: 'Music', BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'Artist', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'Artist', KeyType: 'HASH' }],
    });
    for (const Artist of ['Acme Band', 'The Zeros', 'Zebra', 'No One You Know', 'Quiet', 'Loud']) {
      await world.ddb.PutItem({ TableName: 'Music', Item: { Artist: S(Artist), Album: S(`The best of ${Artist}`) } });
    }
    const at = async (moment) => {
      const seconds = (Date.parse(moment) - world.now) / 1000;
      if (seconds > 0) await world.tick(seconds);
    };
    const story = page.slice(page.indexOf('## Half a table'), page.indexOf('## A header'));
    let output;
    let checked = 0;
    for (const [, clock, written, item_, kind, text] of story.matchAll(/<!-- clock (\S+) -->|<!-- write (\S+) (.*) -->|```(sh|text)\n([^]*?)```/g)) {
      if (clock) await at(clock);
      if (written) {
        await at(written);
        await world.ddb.PutItem({ TableName: 'Music', Item: JSON.parse(item_) });
      }
      if (kind === 'sh') {
        output = execFileSync('bash', ['-euc', text], {
          encoding: 'utf8', env: { ...process.env, AWS_ENDPOINT_URL: world.server.endpoint, PATH: `${tools}:${process.env.PATH}` },
        });
      } else if (kind === 'text') {
        assert.equal(output, text);
        ++checked;
      }
    }
    assert.equal(checked, 4);
    const { Items } = await world.ddb.Scan({ TableName: 'Music' });
    assert.equal(Items.length, 6);
    assert.equal(Items.find(({ Artist }) => Artist.S === 'Zebra').Album.S, 'By hand');
    await world.close();
  });

  test('a command says what is wrong', async () => {
    const world = await World.start(['--in-memory']);
    for (const [words, text] of [
      [['at', 'None', '2026-11-26T08:00:00Z'], 'the server answered 404: There is no table None'],
      [['at', 'T/../U', '1'], '"T/../U" is no name of a table'],
      [['history', 'Things', 'pk=3'], 'The key must be JSON as the API has it'],
      [['undo', 'Things', '1'], 'TO'],
      [['at', 'Things', '1', '--endpoint-url=http://127.0.0.1:1'], ''],
    ]) {
      const { status, stderr } = world.stator(...words);
      assert.notEqual(status, 0, words.join(' '));
      assert.ok(stderr.length > 0 && stderr.includes(text), stderr);
    }
    await world.close();
  });
});
