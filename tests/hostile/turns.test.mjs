// Requests that are short enough for an I/O thread and costly all the same, from one client and from hundreds: others wait for one
// of them, not for all.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';

import { call, isStator, Server } from '../sdk/harness.mjs';
import { Judge } from './judge.mjs';

const ours = { skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server is not ours' : false };
const kConnections = 300;
const TableName = 'attacked';
const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

describe('costly requests on an I/O thread', ours, () => {
  let server, judge;
  const must = async (operation, body) => {
    const reply = await call(server.endpoint, operation, body, { timeout: 120000 });
    assert.equal(reply.status, 200, reply.text.slice(0, 500));
    return reply.json();
  };
  before(async () => {
    server = await Server.startOne({ args: ['--io-threads', '2', '--in-memory'] });
    judge = await Judge.of(server);
    await must('CreateTable', {
      TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
  });
  after(async () => {
    judge?.close();
    await server?.kill();
  });

  // Each of `connections` connections sends the request `rounds` times. Returns the replies.
  async function crowd(operation, body, { connections = kConnections, rounds = 2 } = {}) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: connections });
    const text = JSON.stringify(body);
    try {
      return (await judge.watch(() => Promise.all(times(connections, async () => {
        const replies = [];
        for (let i = 0; i < rounds; ++i) replies.push(await call(server.endpoint, operation, text, { agent, timeout: 300000 }));
        return replies;
      })))).flat();
    } finally {
      agent.destroy();
    }
  }

  test('SELECT of 1,300 names from items of 50,000 attributes', async () => {
    const items = 15;
    const wide = Object.fromEntries(times(50_000, (i) => [`n${i.toString(36)}`, { NULL: true }]));
    for (let i = 0; i < items; ++i) await must('PutItem', { TableName, Item: { pk: { S: `wide${i}` }, ...wide } });
    // Names that stand behind all that the item has, and one that it has.
    const names = times(1300, (i) => `zz${i.toString(36)}`).concat('n1').join(',');
    const Statements = times(items, (i) => ({ Statement: `SELECT ${names} FROM "${TableName}" WHERE pk='wide${i}'` }));
    // Looked up one by one, the names took 8 s of an I/O thread.
    const replies = await crowd('BatchExecuteStatement', { Statements }, { connections: 2, rounds: 3 });
    for (const reply of replies) {
      assert.equal(reply.status, 200, reply.text.slice(0, 300));
      assert.deepEqual(reply.json().Responses.map(({ Item }) => Item), times(items, () => ({ n1: { NULL: true } })));
    }
  });

  test('an UpdateTable with 200,000 definitions', async () => {
    const AttributeDefinitions = times(200_000, (i) => ({ AttributeName: `a${i}`, AttributeType: 'S' }));
    const create = { IndexName: 'byA', KeySchema: [{ AttributeName: 'a199999', KeyType: 'HASH' }], Projection: { ProjectionType: 'KEYS_ONLY' } };
    const [reply] = await crowd('UpdateTable', { TableName, AttributeDefinitions, GlobalSecondaryIndexUpdates: [{ Create: create }] },
      { connections: 1, rounds: 1 });
    assert.equal(reply.status, 200, reply.text.slice(0, 300));
    assert.deepEqual(reply.json().TableDescription.AttributeDefinitions.map((one) => one.AttributeName).sort(), ['a199999', 'pk']);
    // Compared with one another they took more than a minute, in which no table could be changed.
    assert.ok(judge.verdict.cpuSeconds < 15, `${judge.verdict.cpuSeconds} s of CPU`);
  });

  test('hundreds of requests that take long to decode', async () => {
    // 120 KB of paths, which take more than ten milliseconds to parse and to compare.
    const paths = times(900, (i) => `zq${i.toString(36)}`).join(',');
    const TransactItems = times(30, (i) => ({ Get: { TableName, Key: { pk: { S: `none${i}` } }, ProjectionExpression: paths.slice(0, 4000).replace(/,[^,]*$/, '') } }));
    const replies = await crowd('TransactGetItems', { TransactItems }, { connections: 400, rounds: 1 });
    for (const reply of replies) assert.equal(reply.status, 200, reply.text.slice(0, 300));
  });

  test('hundreds of conditional writes of one item', async () => {
    await must('PutItem', { TableName, Item: { pk: { S: 'hot' }, x: { S: 'a'.repeat(20_000) } } });
    const replies = await crowd('UpdateItem', {
      TableName, Key: { pk: { S: 'hot' } }, UpdateExpression: 'SET y = :y',
      ConditionExpression: times(4, () => 'contains(x, :v)').join(' OR '),
      ExpressionAttributeValues: { ':v': { S: `${'a'.repeat(3000)}b` }, ':y': { N: '1' } },
    }, { rounds: 10 });
    for (const reply of replies) assert.match(reply.text, /ConditionalCheckFailedException/);
  });
});
