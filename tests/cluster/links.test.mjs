// Servers that hand writes over to one another (--forward-writes): each acknowledged update is applied once, and no acknowledged write is
// lost or overwritten by a late one, while the server that writes for the others is killed, or hangs and wakes up. STATOR_CLUSTER_DIR is the
// cluster's directory.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { Server } from '../sdk/harness.mjs';

const {
  BatchWriteItemCommand, CreateTableCommand, DynamoDBClient, ExecuteStatementCommand, GetItemCommand, PutItemCommand, TransactWriteItemsCommand,
  UpdateItemCommand, waitUntilTableExists,
} =
  createRequire(new URL('../sdk/package.json', import.meta.url))('@aws-sdk/client-dynamodb');

const conf = path.join(process.env.STATOR_CLUSTER_DIR, 'ceph.conf');
const pool = [`--ceph-conf=${conf}`, '--ceph-user=stator', '--pool=stator', `--ceph-namespace=links-${process.pid}`];
const start = () => Server.startOne({ args: ['--engine=rados', ...pool, '--forward-writes=on'], dataDir: null, readyWithin: 60000 });
// One attempt each: the test counts what every request was answered.
const clientOf = (server) => new DynamoDBClient({
  endpoint: server.endpoint, region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' }, maxAttempts: 1,
});
const kCounters = 5;

async function links(server) {
  const text = await (await fetch(`${server.endpoint}/metrics`)).text();
  return Object.fromEntries([...text.matchAll(/^stator_(links\w*) (\S+)$/gm)].map(([, name, value]) => [name, Number(value)]));
}
async function until(holds, what, seconds = 60) {
  for (const end = Date.now() + seconds * 1000; !(await holds());) {
    assert.ok(Date.now() < end, `not within ${seconds} s: ${what}`);
    await delay(50);
  }
}

// Clients of one server: some add to counters, one by one or to two in a transaction, some put rising numbers under keys of their own, one by
// one, by statements or in batches.
class Clients {
  constructor(table, server, name) {
    Object.assign(this, { table, server, name, client: clientOf(server), stop: false, longest: 0, errors: {}, done: 0 });
    this.added = Array(kCounters).fill(0); // acknowledged
    this.perhaps = Array(kCounters).fill(0); // of unknown outcome
    this.acknowledged = new Map();
    this.sent = new Map();
    this.working = Promise.all([this.add(0), this.add(1), this.put(2), this.put(3), this.batch(4), this.transact(5), this.state(6)]);
  }
  async send(command) {
    const from = performance.now();
    try {
      const answer = await this.client.send(command);
      this.done++;
      return answer;
    } catch (error) {
      if (error.name === 'TransactionCanceledException') {
        assert.ok(error.CancellationReasons.every(({ Code }) => Code === 'TransactionConflict' || Code === 'None'), JSON.stringify(error.CancellationReasons));
        return null; // not applied
      }
      this.errors[error.name] = (this.errors[error.name] ?? 0) + 1;
      if (this.stop || this.lost) return undefined;
      assert.equal(error.name, 'InternalServerError', `at ${this.name}: ${error}`);
      await delay(5);
      return undefined;
    } finally {
      this.longest = Math.max(this.longest, performance.now() - from);
    }
  }
  async add(n) {
    for (let i = n; !this.stop; ++i) {
      const ok = await this.send(new UpdateItemCommand({
        TableName: this.table, Key: { pk: { S: `counter-${i % kCounters}` } }, UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': { N: '1' } },
      }));
      (ok ? this.added : this.perhaps)[i % kCounters]++;
    }
  }
  // Adds to two counters, all or none.
  async transact(n) {
    for (let i = n; !this.stop; ++i) {
      const both = [i % kCounters, (i + 1 + (i % 3)) % kCounters];
      const answer = await this.send(new TransactWriteItemsCommand({
        TransactItems: both.map((counter) => ({
          Update: { TableName: this.table, Key: { pk: { S: `counter-${counter}` } }, UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': { N: '1' } } },
        })),
      }));
      if (answer === null) continue;
      for (const counter of both) (answer ? this.added : this.perhaps)[counter]++;
    }
  }
  async state(n) {
    const key = `${this.name}-${n}`;
    while (!this.stop && !this.acknowledged.has(key)) await this.put(n, 1);
    for (let i = 2; !this.stop; ++i) {
      this.sent.set(key, i);
      const Statement = `UPDATE "${this.table}" SET n = ${i} WHERE pk = '${key}'`;
      if (await this.send(new ExecuteStatementCommand({ Statement }))) this.acknowledged.set(key, i);
    }
  }
  async put(n, most = Infinity) {
    const key = `${this.name}-${n}`;
    for (let i = 1; !this.stop && i <= most; ++i) {
      this.sent.set(key, i);
      if (await this.send(new PutItemCommand({ TableName: this.table, Item: { pk: { S: key }, n: { N: String(i) } } }))) this.acknowledged.set(key, i);
    }
  }
  async batch(n) {
    const keys = Array.from({ length: 5 }, (_, j) => `${this.name}-${n}-${j}`);
    for (let i = 1; !this.stop; ++i) {
      for (const key of keys) this.sent.set(key, i);
      const answer = await this.send(new BatchWriteItemCommand({
        RequestItems: { [this.table]: keys.map((key) => ({ PutRequest: { Item: { pk: { S: key }, n: { N: String(i) } } } })) },
      }));
      const undone = new Set((answer?.UnprocessedItems?.[this.table] ?? []).map((each) => each.PutRequest.Item.pk.S));
      if (answer) for (const key of keys) if (!undone.has(key)) this.acknowledged.set(key, i);
    }
  }
  async end() {
    this.stop = true;
    await this.working;
    this.client.destroy();
  }
}

async function check(table, server, all) {
  const client = clientOf(server);
  const numberAt = async (pk) => Number((await client.send(new GetItemCommand({ TableName: table, Key: { pk: { S: pk } }, ConsistentRead: true }))).Item?.n.N ?? 0);
  const sum = (of, i) => all.reduce((total, each) => total + each[of][i], 0);
  for (let i = 0; i < kCounters; ++i) {
    const found = await numberAt(`counter-${i}`);
    const [least, perhaps] = [sum('added', i), sum('perhaps', i)];
    assert.ok(found >= least && found <= least + perhaps, `counter ${i} is ${found}; ${least} were acknowledged and ${perhaps} perhaps applied`);
  }
  for (const each of all) {
    for (const [key, sent] of each.sent) {
      const found = await numberAt(key), least = each.acknowledged.get(key) ?? 0;
      assert.ok(found >= least && found <= sent, `${key} is ${found}, ${least} was acknowledged and ${sent} sent`);
    }
  }
  client.destroy();
}

describe('servers that hand writes over', () => {
  const servers = [];
  before(async () => { for (let i = 0; i < 3; ++i) servers.push(await start()); });
  after(async () => { await Promise.all(servers.map((server) => server.kill())); });

  async function makeTable(TableName) {
    const client = clientOf(servers[0]);
    await client.send(new CreateTableCommand({
      TableName, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    }));
    await waitUntilTableExists({ client, maxWaitTime: 60 }, { TableName });
    client.destroy();
    await until(async () => (await Promise.all(servers.map(links))).every((each) => each.links === 2), 'all servers are linked');
  }
  // The server that runs writes for others: the one whose count rises.
  async function ownerNow() {
    let owner = -1;
    const before = await Promise.all(servers.map(links));
    await until(async () => {
      const now = await Promise.all(servers.map(links));
      owner = now.findIndex((each, i) => each.links_writes_served > before[i].links_writes_served + 50);
      return owner >= 0;
    }, 'a server writes for others');
    return owner;
  }
  const report = (what, all) => console.log(`${what}:`, JSON.stringify(all.map(({ done, longest, errors }) => ({ done, longest: Math.round(longest), errors }))));
  // Runs clients at all servers, has `strike` do something to the owner, and lets the others go on for a while.
  async function run(table, strike) {
    await makeTable(table);
    const all = servers.map((server, i) => new Clients(table, server, `s${i}`));
    let failed;
    for (const each of all) each.working.catch((error) => { failed = error; });
    try {
      const owner = await ownerNow();
      await strike(owner, all);
      const survivors = all.filter((_, i) => i !== owner);
      const before = survivors.map(({ done }) => done);
      await until(() => failed || survivors.every(({ done }, i) => done > before[i] + 100), 'the clients of the others go on');
      return { owner, all, survivors };
    } finally {
      await Promise.all(all.map((each) => each.end().catch((error) => { failed ??= error; })));
      if (failed) throw failed;
    }
  }

  test('each acknowledged update is applied once', async () => {
    const { all } = await run('steady', async () => {});
    report('steady', all);
    for (const each of all) assert.deepEqual(each.errors, {});
    await check('steady', servers[0], all);
  });

  test('the owner hangs and wakes up: nothing late overwrites anything', async () => {
    const { owner, all, survivors } = await run('hung', async (owner, clients) => {
      clients[owner].lost = true;
      servers[owner].child.kill('SIGSTOP');
      const before = clients.map(({ done }) => done);
      try {
        await until(() => clients.every(({ done }, i) => i === owner || done > before[i] + 200), 'the others go on without it');
      } finally {
        servers[owner].child.kill('SIGCONT');
      }
    });
    report(`server ${owner} hung`, all);
    for (const each of survivors) assert.ok(each.longest < 10_000, `${each.longest} ms`);
    await check('hung', servers[0], all);
  });

  test('the owner is killed: the others go on', async () => {
    const { owner, all, survivors } = await run('killed', async (owner, clients) => {
      clients[owner].lost = true;
      clients[owner].stop = true;
      servers[owner].child.kill('SIGKILL');
    });
    report(`server ${owner} was killed`, all);
    for (const each of survivors) assert.ok(each.longest < 10_000, `${each.longest} ms`);
    await check('killed', servers.find((_, i) => i !== owner), all);
  });
});
