// Random histories of a server with a data directory: tables that come and go, writes, snapshots, returns, kill -9. Each return shows what
// the snapshot saw, and the space of dropped tables is given back without a loss.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import * as sdk from '@aws-sdk/client-dynamodb';

import { S, N, operationsOf } from './clients.mjs';
import { Server, isStator, onCluster, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT && !onCluster;
const kTables = ['orders', 'customers', 'items', 'carts'];
const kSteps = 300;

async function manage(server, method, call) {
  const reply = await request(server.endpoint, { method, path: `/_stator/${call}`, headers: { 'X-Stator-Management': 'true' } });
  return { status: reply.status, ...reply.json() };
}

const tableOf = (TableName) => ({
  TableName, BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'group', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
  GlobalSecondaryIndexes: [{ IndexName: 'by-group', KeySchema: [{ AttributeName: 'group', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } }],
  StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
});

// Everything that clients see.
async function dump(ddb) {
  const all = {};
  for (const TableName of (await ddb.ListTables()).TableNames) {
    const { Table } = await ddb.DescribeTable({ TableName });
    const items = async (IndexName) => (await ddb.Scan({ TableName, IndexName })).Items.map((item) => JSON.stringify(item)).sort();
    all[TableName] = { Table, items: await items(), entries: await items('by-group') };
  }
  return all;
}

class History {
  constructor(seed, dataDir) {
    this.state = seed;
    this.dataDir = dataDir;
    this.moments = new Map();
    this.returns = 0;
  }
  below(bound) {
    this.state = (this.state * 1103515245 + 12345) % 2147483648;
    return Math.floor(this.state / 65536) % bound;
  }
  async start() {
    this.client?.destroy();
    this.server = await Server.startOne({ dataDir: this.dataDir });
    this.client = new sdk.DynamoDBClient({ endpoint: this.server.endpoint, region: 'us-east-1', credentials: { accessKeyId: 'any', secretAccessKey: 'any' } });
    this.ddb = operationsOf(this.client);
  }
  async dieAndStart() {
    const before = await dump(this.ddb);
    await this.server.kill();
    this.moments.clear();
    await this.start();
    assert.deepEqual(await dump(this.ddb), before);
  }
  async step(number) {
    const { ddb, moments } = this;
    const TableName = kTables[this.below(kTables.length)];
    const what = this.below(40);
    if (what < 3) {
      await ddb.CreateTable(tableOf(TableName));
    } else if (what === 3) {
      await ddb.DeleteTable({ TableName });
    } else if (what === 4) {
      const name = `s${this.below(3)}`;
      const seen = await dump(ddb);
      assert.equal((await manage(this.server, 'POST', `snapshot?name=${name}`)).status, 200);
      moments.set(name, seen);
    } else if (what < 8 && moments.size > 0) {
      const name = [...moments.keys()][this.below(moments.size)];
      const returned = await manage(this.server, 'POST', `restore?name=${name}`);
      assert.equal(returned.status, 200, JSON.stringify(returned));
      assert.deepEqual(await dump(ddb), moments.get(name));
      ++this.returns;
    } else if (what === 8 && moments.size > 2) {
      const [name] = moments.keys();
      assert.equal((await manage(this.server, 'DELETE', `snapshots?name=${name}`)).status, 200);
      moments.delete(name);
    } else if (what === 9 && number % 3 === 0) {
      await this.dieAndStart();
    } else if (what < 14) {
      await ddb.DeleteItem({ TableName, Key: { pk: S(`${this.below(5)}-${this.below(6)}`) } });
    } else if (what < 18) {
      const puts = [0, 1].map((i) => ({ Put: { TableName, Item: { pk: S(`t${i}-${this.below(9)}`), group: S(`g${this.below(3)}`) } } }));
      await ddb.TransactWriteItems({ ClientRequestToken: `token-${number}`, TransactItems: puts });
    } else {
      const puts = Array.from({ length: 1 + this.below(10) }, (_, i) => (
        { PutRequest: { Item: { pk: S(`${i}-${this.below(6)}`), group: S(`g${this.below(3)}`), step: N(number) } } }));
      await ddb.BatchWriteItem({ RequestItems: { [TableName]: puts } });
    }
  }
  async run() {
    await this.start();
    for (let number = 0; number < kSteps; ++number) {
      try {
        await this.step(number);
      } catch (error) {
        if (!['ResourceNotFoundException', 'ResourceInUseException'].includes(error.name)) throw error;
      }
    }
    const seen = await dump(this.ddb);
    for (const name of this.moments.keys()) await manage(this.server, 'DELETE', `snapshots?name=${name}`);
    const waiting = async () => /^stator_dropped_waiting (\d+)/m.exec((await request(this.server.endpoint, { method: 'GET', path: '/metrics' })).text)[1];
    while (await waiting() !== '0') await delay(50);
    assert.deepEqual(await dump(this.ddb), seen);
    await this.dieAndStart();
  }
}

describe('snapshots over random histories', { skip: own ? false : 'needs a server of its own' }, () => {
  for (const seed of [1, 2, Date.now() % 1000000]) {
    test(`seed ${seed}`, { timeout: 600_000 }, async (t) => {
      const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-histories-'));
      const history = new History(seed, dataDir);
      try {
        await history.run();
        t.diagnostic(`${history.returns} returns`);
      } finally {
        history.client?.destroy();
        await history.server?.kill();
        fs.rmSync(dataDir, { recursive: true, force: true });
      }
    });
  }
});
