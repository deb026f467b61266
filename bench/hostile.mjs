// ./dev bench hostile [--only NAMES] [--json FILE]: plays attacks against a server of two I/O threads and says for each how
// long the worst read of another client took, and what the process held at most and 20 seconds later. The other client is a
// thread of its own with a connection of its own, so that an attack's own work delays it as little as two cores allow.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { setTimeout as after } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import zlib from 'node:zlib';

import { call, Server, signedHeaders } from '../tests/sdk/harness.mjs';
import { residentBytes } from '../tests/hostile/judge.mjs';

const kMiB = 1 << 20;
export const kInflightMb = 512;
export const kBudgetMb = 256;
const kTable = 'hostile';
const kKey = { pk: { S: 'witness' } };

function post(operation, body, extra = {}) {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const headers = { Host: 'localhost', ...signedHeaders(operation, extra), 'Content-Length': bytes.length };
  const head = `POST / HTTP/1.1\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
}

// ---- the other client

if (!isMainThread && workerData?.victim) {
  const bytes = post('GetItem', { TableName: kTable, Key: kKey, ConsistentRead: true });
  const socket = net.connect({ host: '127.0.0.1', port: workerData.port });
  socket.setNoDelay(true);
  await once(socket, 'connect');
  const times = [];
  let refused = 0;
  let ended = false;
  parentPort.on('message', () => { ended = true; });
  while (!ended) {
    const started = performance.now();
    socket.write(bytes);
    let text = '';
    while (!text.includes('}}}')) {
      const [chunk] = await once(socket, 'data');
      text += chunk.toString('latin1');
      if (text.includes(' 503 ')) {
        refused++;
        break;
      }
    }
    times.push(performance.now() - started);
    await after(2);
  }
  times.sort((a, b) => a - b);
  parentPort.postMessage({ reads: times.length, refused, worst: times.at(-1), p99: times[Math.floor(times.length * 0.99)] });
  socket.destroy();
  parentPort.close();
}

// ---- attacks

async function connect(server) {
  const socket = net.connect({ host: '127.0.0.1', port: server.port });
  socket.on('error', () => {});
  socket.answered = 0;
  socket.on('data', (chunk) => { socket.answered += chunk.length; });
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}
const connectMany = (server, count) => Promise.all(Array.from({ length: count }, () => connect(server)));

// Sends bytes on connections of their own and waits for an answer on each.
async function answered(server, count, bytes, withinMs = 120000) {
  const sockets = await connectMany(server, count);
  for (const socket of sockets) socket.write(bytes);
  const end = Date.now() + withinMs;
  while (sockets.some((socket) => socket.answered === 0 && !socket.closed) && Date.now() < end) await after(5);
  for (const socket of sockets) socket.destroy();
}

const controlKeys = Array.from({ length: 40 }, (_, i) => ({ pk: { S: `control-${i}` } }));
const batchGet = () => post('BatchGetItem', { RequestItems: { [kTable]: { Keys: controlKeys } } });
const gzipped = () => post('BatchWriteItem', zlib.gzipSync(JSON.stringify({
  RequestItems: { [kTable]: Array.from({ length: 25 }, (_, i) => ({ PutRequest: { Item: { pk: { S: `gzip-${i}` }, v: { S: 'a'.repeat(390000) } } } })) },
})), { 'Content-Encoding': 'gzip' });
const contains = () => post('PutItem', {
  TableName: kTable, Item: { pk: { S: 'contains' }, x: { S: 'a' } },
  ConditionExpression: Array.from({ length: 100 }, () => 'contains(x, :v)').join(' OR '),
  ExpressionAttributeValues: { ':v': { S: `${'a'.repeat(200000)}b` } },
});
const assignments = () => post('UpdateItem', {
  TableName: kTable, Key: { pk: { S: 'assign' } },
  UpdateExpression: `SET ${Array.from({ length: 400 }, (_, i) => `l${i} = :v`).join(', ')}`,
  ExpressionAttributeValues: { ':v': { S: 'x'.repeat(2 * kMiB) } },
});
const numbers = () => post('PutItem', `{"TableName":"${kTable}","Item":{"pk":{"S":"numbers"},"n":{"NS":[${Array.from({ length: 1400000 }, (_, i) => `"${i}"`).join(',')}]}}}`);
const smallValues = () => post('PutItem', `{"TableName":"${kTable}","x":[${'1,'.repeat(8 * kMiB - 100)}1]}`);

// 500 clients ask and do not read.
async function unread(server, bytes) {
  const sockets = await connectMany(server, 500);
  for (const socket of sockets) {
    socket.pause();
    socket.write(bytes);
  }
  await after(10000);
  for (const socket of sockets) socket.destroy();
}
const streams = (operation) => ({ 'X-Amz-Target': `DynamoDBStreams_20120810.${operation}` });
// A GetRecords of three records with images of control characters.
async function oldestRecords(server) {
  const table = 'hostile_stream';
  await call(server.endpoint, 'CreateTable', {
    TableName: table, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
  });
  for (let i = 0; i < 3; i++) await call(server.endpoint, 'PutItem', { TableName: table, Item: { ...kKey, i: { N: `${i}` }, v: { S: '\u0001'.repeat(300000) } } });
  const ask = async (operation, body) => {
    const reply = await call(server.endpoint, operation, body, { headers: streams(operation) });
    if (reply.status !== 200) throw new Error(reply.text);
    return reply.json();
  };
  const { Table: { LatestStreamArn: StreamArn } } = (await call(server.endpoint, 'DescribeTable', { TableName: table })).json();
  const { StreamDescription: { Shards } } = await ask('DescribeStream', { StreamArn });
  for (const { ShardId } of Shards) {
    const { ShardIterator } = await ask('GetShardIterator', { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' });
    const { Records } = await ask('GetRecords', { ShardIterator });
    if (Records.length >= 3) return post('GetRecords', { ShardIterator }, streams('GetRecords'));
  }
  throw new Error('no shard has the records');
}

export const attacks = {
  calm: async () => after(3000),
  contains: (server) => answered(server, 4, contains()),
  'number-set': (server) => answered(server, 4, numbers()),
  'small-values': (server) => answered(server, 4, smallValues()),
  assignments: (server) => answered(server, 4, assignments()),
  'one-large-batch': (server) => answered(server, 1, batchGet()),
  'unread-replies': async (server) => {
    const sockets = await connectMany(server, 30);
    for (const socket of sockets) {
      socket.pause();
      socket.write(batchGet());
    }
    await after(10000);
    for (const socket of sockets) socket.destroy();
  },
  'gzip-bodies': (server) => answered(server, 200, gzipped()),
  'announced-bodies': async (server) => {
    const sockets = await connectMany(server, 500);
    const head = post('PutItem', 'x').toString('latin1').replace('Content-Length: 1\r\n', 'Content-Length: 16000000\r\n');
    for (const socket of sockets) socket.write(head);
    await after(5000);
    for (const socket of sockets) socket.destroy();
  },
  '500-uploads': (server) => answered(server, 500, post('ListTables', Buffer.concat([Buffer.from('{}'), Buffer.alloc(15 * kMiB, 32)])), 60000),
  '500-scans-unread': (server) => unread(server, post('Scan', { TableName: kTable })),
  '500-gets-unread': (server) => unread(server, post('GetItem', { TableName: kTable, Key: controlKeys[0] })),
  '500-statements-unread': (server) => unread(server, post('ExecuteStatement', { Statement: `SELECT * FROM ${kTable}` })),
  '500-records-unread': async (server) => unread(server, await oldestRecords(server)),
  'connection-flood': async (server) => {
    for (let round = 0; round < 10; round++) {
      const sockets = await connectMany(server, 500);
      await after(100);
      for (const socket of sockets) socket.destroy();
    }
  },
};

export async function prepare(server) {
  const created = await call(server.endpoint, 'CreateTable', {
    TableName: kTable, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  });
  if (created.status !== 200) throw new Error(created.text);
  const items = [{ ...kKey, v: { S: 'still here' } }, { pk: { S: 'contains' }, x: { S: 'a'.repeat(390000) } },
    ...controlKeys.map((key) => ({ ...key, v: { S: '\u0001'.repeat(390000) } }))];
  for (const Item of items) {
    const put = await call(server.endpoint, 'PutItem', { TableName: kTable, Item });
    if (put.status !== 200) throw new Error(put.text);
  }
}

// Each attack has a server of its own, so that none pays for another.
async function play(name) {
  const server = await Server.startOne({
    args: ['--io-threads', '2', '--memory-budget-mb', String(kBudgetMb), '--max-inflight-mb', String(kInflightMb)],
  });
  try {
    await prepare(server);
    const worker = new Worker(new URL(import.meta.url), { workerData: { victim: true, port: server.port } });
    await after(300);
    let peak = residentBytes(server);
    const sampling = setInterval(() => {
      try {
        peak = Math.max(peak, residentBytes(server));
      } catch { /* it has ended */ }
    }, 5);
    const started = performance.now();
    await attacks[name](server);
    const seconds = (performance.now() - started) / 1000;
    const said = once(worker, 'message');
    worker.postMessage('end');
    const [probe] = await said;
    clearInterval(sampling);
    await after(20000);
    return { name, seconds, ...probe, peakMb: peak / kMiB, laterMb: residentBytes(server) / kMiB };
  } finally {
    await server.stop();
  }
}

export async function main(argv) {
  const { values: options } = parseArgs({ args: argv, options: { only: { type: 'string' }, json: { type: 'string' } } });
  const names = options.only ? options.only.split(',') : Object.keys(attacks);
  for (const name of names) {
    if (attacks[name] === undefined) {
      console.error(`no attack is called '${name}'; there are ${Object.keys(attacks).join(', ')}`);
      return 2;
    }
  }
  const results = [];
  console.log('| Attack | s | Reads of others | Refused | p99 ms | Worst ms | Peak MB | 20 s later MB |');
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const name of names) {
    const result = await play(name);
    results.push(result);
    console.log(`| ${name} | ${result.seconds.toFixed(1)} | ${result.reads} | ${result.refused} | ${result.p99.toFixed(1)} | ` +
      `${result.worst.toFixed(0)} | ${result.peakMb.toFixed(0)} | ${result.laterMb.toFixed(0)} |`);
  }
  const limitMb = kBudgetMb + kInflightMb + 200;
  const over = results.filter((result) => result.worst > 100 || result.peakMb > limitMb);
  console.log(over.length === 0 ? `All within 100 ms and ${limitMb} MB.` : `Beyond 100 ms or ${limitMb} MB: ${over.map((result) => result.name).join(', ')}.`);
  if (options.json) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
  return 0;
}
