// Writes that stand behind others: a client with large items must not make the small writes of another client wait for all of
// them.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { call, isStator, request, Server } from '../sdk/harness.mjs';

const ours = {
  skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server is not ours'
    : process.env.STATOR_CLUSTER_CONF ? 'the servers have no queue of writes' : false,
  timeout: 300000,
};
const kClients = 40;
const kIndexes = 10;
const kItems = 4;
const kQueued = 16;
const TableName = 'large';

async function queued(server) {
  const { text } = await request(server.endpoint, { method: 'GET', path: '/metrics', timeout: 60000 });
  return Number(/^stator_kv_commit_queued (\S+)$/m.exec(text)[1]);
}

// Each update writes 4 MB: the item and its entries. At least kQueued updates are queued before each small write, so a queue
// that is first in, first out answers those before it.
test('a small write passes the large ones of other clients', ours, async (context) => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-writes-'));
  const server = await Server.startOne({ dataDir, args: ['--io-threads', '2'] });
  const must = async (operation, body) => {
    const reply = await call(server.endpoint, operation, body, { timeout: 120000 });
    assert.equal(reply.status, 200, reply.text.slice(0, 500));
  };
  try {
    const names = Array.from({ length: kIndexes }, (_, i) => `attribute${i}`);
    await must('CreateTable', {
      TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: ['pk', ...names].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      GlobalSecondaryIndexes: names.map((AttributeName) => ({
        IndexName: `by.${AttributeName}`, KeySchema: [{ AttributeName, KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' },
      })),
    });
    for (let i = 0; i < kItems; i++) {
      await must('PutItem', {
        TableName,
        Item: { pk: { S: `${i}` }, data: { S: 'x'.repeat(390_000) }, ...Object.fromEntries(names.map((name) => [name, { S: 'v' }])) },
      });
    }
    let ended = false;
    let answered = 0;
    const update = async (client) => {
      for (let i = 0; !ended; i++) {
        const reply = await call(server.endpoint, 'UpdateItem', {
          TableName, Key: { pk: { S: `${client % kItems}` } }, UpdateExpression: 'SET n = :n', ExpressionAttributeValues: { ':n': { N: `${i}` } },
        }, { timeout: 120000 });
        if (reply.status === 200) answered++;
        else await delay(20);
      }
    };
    const passed = [];
    const updates = Promise.all(Array.from({ length: kClients }, (_, client) => update(client)));
    try {
      while (passed.length < 20 && !passed.some((count) => count <= kQueued / 2)) {
        while (await queued(server) < kQueued) await delay(10);
        const before = answered;
        await must('PutItem', { TableName, Item: { pk: { S: 'small' } } });
        passed.push(answered - before);
      }
    } finally {
      ended = true;
      await updates;
    }
    context.diagnostic(`large writes answered while a small one waited: ${passed}; ${answered} in all`);
    assert.ok(passed.some((count) => count <= kQueued / 2), `small writes waited for ${passed} large ones`);
    assert.ok(answered > kClients, 'the large writes go on');
  } finally {
    await server.stop();
    fs.rmSync(dataDir, { recursive: true, force: true });
  }
});
