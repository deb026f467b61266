// Idle tables: a client may make thousands of them, so each must hold little.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { call, isStator, Server } from '../sdk/harness.mjs';
import { residentBytes } from './judge.mjs';

const ours = { skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server is not ours' : process.env.STATOR_CLUSTER_CONF ? 'the servers keep more' : false, timeout: 300000 };
const kTables = 300;
const kIndexes = 20;
const kMostBytes = 220 << 10;

test(`an idle table with ${kIndexes} indexes holds at most ${kMostBytes >> 10} KB`, ours, async (context) => {
  const server = await Server.startOne({ args: ['--io-threads', '2', '--in-memory', '--memory-budget-mb', '16'] });
  try {
    const names = Array.from({ length: kIndexes }, (_, i) => `attribute${i}`);
    const create = async (TableName) => {
      const reply = await call(server.endpoint, 'CreateTable', {
        TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: names[0], KeyType: 'HASH' }],
        AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
        GlobalSecondaryIndexes: names.map((AttributeName) => ({
          IndexName: `by.${AttributeName}`, KeySchema: [{ AttributeName, KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' },
        })),
        StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
      });
      assert.equal(reply.status, 200, reply.text);
    };
    for (let i = 0; i < 20; i++) await create(`warm-${i}`);
    await delay(1500);
    const before = residentBytes(server);
    for (let i = 0; i < kTables; i++) await create(`idle-${i}`);
    const held = () => (residentBytes(server) - before) / kTables;
    for (const end = Date.now() + 60000; held() > kMostBytes && Date.now() < end;) await delay(100);  // memory that was freed goes back
    const each = held();
    context.diagnostic(`${(each / 1024).toFixed(0)} KB a table`);
    assert.ok(each <= kMostBytes, `${(each / 1024).toFixed(0)} KB a table`);
  } finally {
    await server.stop();
  }
});
