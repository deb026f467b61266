// A stop ends in its time, whatever clients that have left have begun, and what was acknowledged is there afterwards.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { call, isStator, Server, signedHeaders } from '../sdk/harness.mjs';

const ours = { skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server is not ours' : process.env.STATOR_CLUSTER_CONF ? 'the servers have no directory' : false, timeout: 300000 };
const TableName = 'stopped';
// docs/limits.md: 10 s for requests that have begun, 10 s for what is left of them; the rest is for a loaded machine.
const kStopMillis = 60000;
// Their work on one item takes a minute and more, one after the other, also where processors are twice as fast: the stop drops what has not begun, or cuts it short.
const kClients = 600;

test('a stop does not wait for the conditions of clients that have left', ours, async () => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-stop-'));
  try {
    const server = await Server.startOne({ dataDir, args: ['--io-threads', '2'] });
    const must = async (operation, body) => {
      const reply = await call(server.endpoint, operation, body);
      assert.equal(reply.status, 200, reply.text);
    };
    await must('CreateTable', {
      TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    const item = { pk: { S: 'long' }, x: { S: 'a'.repeat(390000) } };
    await must('PutItem', { TableName, Item: item });
    // Each computes for a few tenths of a second, all on one item, and fails.
    const body = Buffer.from(JSON.stringify({
      TableName, Item: { pk: { S: 'long' } },
      ConditionExpression: Array(150).fill('contains(x, :v)').join(' OR '),
      ExpressionAttributeValues: { ':v': { S: `${'a'.repeat(100000)}b` } },
    }));
    const headers = { Host: 'localhost', ...signedHeaders('PutItem'), 'Content-Length': body.length };
    const bytes = Buffer.concat([Buffer.from(`POST / HTTP/1.1\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`), body]);
    const sockets = await Promise.all(Array.from({ length: kClients }, async () => {
      const socket = net.connect({ host: '127.0.0.1', port: server.port });
      socket.on('error', () => {});
      await once(socket, 'connect');
      socket.write(bytes);
      return socket;
    }));
    await delay(2000);
    for (const socket of sockets) socket.destroy();
    await delay(200);
    const started = Date.now();
    server.child.ref();
    server.child.kill('SIGTERM');
    const ended = await Promise.race([server.exited, delay(kStopMillis, null, { ref: false })]);
    if (ended === null) await server.kill();
    assert.ok(ended !== null, `no end ${kStopMillis} ms after SIGTERM:\n${server.output}`);
    assert.equal(ended.code, 0, server.output);
    assert.match(server.output, /stop_cut_short|request_dropped/, `the work of ${kClients} clients took ${Date.now() - started} ms: it shows nothing`);
    const again = await Server.startOne({ dataDir });
    const read = await call(again.endpoint, 'GetItem', { TableName, Key: { pk: { S: 'long' } }, ConsistentRead: true });
    assert.deepEqual(read.json().Item, item);
    await again.stop();
  } finally {
    fs.rmSync(dataDir, { recursive: true, force: true });
  }
});
