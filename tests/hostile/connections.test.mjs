// Clients that hold what the server has little of: file descriptors, memory for bodies and for replies. Others are served
// meanwhile, memory stays within its account, and everything comes back when the attack ends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import zlib from 'node:zlib';

import { call, isStator, request, Server, signedHeaders } from '../sdk/harness.mjs';
import { Judge, openDescriptors, residentBytes, watchOf } from './judge.mjs';

const ours = { skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server is not ours' : false, timeout: 300000 };

// Waits until something is so, or for as long as a busy machine may need: the assertion that follows says what came of it.
async function untilSo(condition, every = 20) {
  for (const end = Date.now() + 120000; !(await condition()) && Date.now() < end;) await delay(every);
}

// A server of its own with its judge, and both ended in any case.
async function withServer(options, body) {
  const server = await Server.startOne(options);
  try {
    const judge = await Judge.of(server);
    try {
      await body(server, judge);
    } finally {
      judge.close();
    }
  } finally {
    await server.stop();
  }
}

// A connection that never throws; `received` is the beginning of the answer.
async function connect(server) {
  const socket = net.connect({ host: '127.0.0.1', port: server.port });
  socket.received = '';
  socket.on('data', (chunk) => { if (socket.received.length < 4096) socket.received += chunk.toString('latin1'); });
  socket.on('error', () => {});
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}

describe('file descriptors', () => {
  const limit = 320;
  const few = { args: ['--io-threads', '2'], under: ['prlimit', `--nofile=${limit}:${limit}`] };
  test('connections leave descriptors for the engine, and probes of health are answered', ours, () => withServer(few, async (server, judge) => {
    await server.logged(/open_files_limit=320/);
    const sockets = [];
    await judge.watch(async () => {
      for (let i = 0; i < limit + 80; i++) sockets.push(await connect(server));
      // Connections beyond the limit that say nothing leave the room for probes 200 ms after the server has met them.
      for (const path of ['/health/live', '/health/ready']) {
        let probe;
        await untilSo(async () => {
          // A connection that is refused may be closed while its request is on the way.
          probe = await request(server.endpoint, { method: 'GET', path }).catch((error) => ({ status: 0, text: String(error) }));
          return probe.status === 200;
        });
        assert.equal(probe.status, 200, `${path}: ${probe.text}`);
      }
    });
    assert.ok(judge.verdict.peakDescriptors < limit - 40, `${judge.verdict.peakDescriptors} descriptors of ${limit}`);
    const refused = await call(server.endpoint, 'ListTables');
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.json().__type, /ServiceUnavailableException$/);
    for (const socket of sockets) socket.destroy();
    await untilSo(() => openDescriptors(server) <= 60);
    assert.equal((await call(server.endpoint, 'ListTables')).status, 200);
  }));
  test('the store rotates its logs while all connections are taken', ours, () => withServer(
    { ...few, args: [...few.args, '--memory-budget-mb', '16', '--durability', 'os'] },
    async (server, judge) => {
      const TableName = 'rotate';
      const created = await call(server.endpoint, 'CreateTable', {
        TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      });
      assert.equal(created.status, 200, created.text);
      const sockets = [];
      await judge.watch(async () => {
        // The probe's connection is there already; it writes too.
        for (let i = 0; i < limit; i++) sockets.push(await connect(server));
        for (let i = 0; i < 200; i++) {
          const put = await call(server.endpoint, 'PutItem', { TableName, Item: { pk: { S: `${i}` }, v: { S: 'x'.repeat(300000) } } }, { agent: judge.agent });
          assert.equal(put.status, 200, put.text);
        }
      });
      for (const socket of sockets) socket.destroy();
    }));
});

const kMiB = 1 << 20;
const budgetMb = 16;
// Settings under which each attack below would need several times what it may have.
const small = (inflightMb, ...more) => ({
  args: ['--io-threads', '2', '--memory-budget-mb', String(budgetMb), '--durability', 'os', '--max-inflight-mb', String(inflightMb), ...more],
});
// Bytes that the process may hold: its budget, the account, and 200 MB for everything else.
const allowed = (inflightMb) => (budgetMb + inflightMb + 200) * kMiB;
const within = (judge, inflightMb) => assert.ok(judge.verdict.peakBytes <= allowed(inflightMb),
  `${(judge.verdict.peakBytes / kMiB).toFixed(0)} MB of ${allowed(inflightMb) / kMiB}`);

const post = (operation, body, extra = {}) => {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  const headers = { Host: 'localhost', ...signedHeaders(operation, extra), 'Content-Length': bytes.length };
  const head = `POST / HTTP/1.1\r\n${Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return Buffer.concat([Buffer.from(head), bytes]);
};
const metric = async (server, name) => {
  const page = await request(server.endpoint, { method: 'GET', path: '/metrics' });
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(page.text)?.[1]);
};

async function itemsOfControlCharacters(server, count) {
  const TableName = 'control';
  const created = await call(server.endpoint, 'CreateTable', {
    TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  });
  assert.equal(created.status, 200, created.text);
  for (let i = 0; i < count; i++) {
    const put = await call(server.endpoint, 'PutItem', { TableName, Item: { pk: { S: `${i}` }, v: { S: '\u0001'.repeat(380000) } } });
    assert.equal(put.status, 200, put.text);
  }
  return TableName;
}
const keysOf = (count) => Array.from({ length: count }, (_, i) => ({ pk: { S: `${i}` } }));

describe('memory', () => {
  test('announced bodies hold nothing, and others send theirs', ours, () => withServer(small(64, '--slow-client-timeout', '6s'), async (server, judge) => {
    await judge.watch(async () => {
      const announcers = [];
      for (let i = 0; i < 200; i++) {
        const socket = await connect(server);
        const bytes = post('PutItem', Buffer.alloc(1), {});
        socket.write(bytes.toString('latin1').replace('Content-Length: 1\r\n', 'Content-Length: 16000000\r\n'));
        announcers.push(socket);
      }
      await delay(200);
      const ready = await request(server.endpoint, { method: 'GET', path: '/health/ready' });
      assert.equal(ready.status, 200, ready.text);
      const put = await call(server.endpoint, 'PutItem', { TableName: 'witness', Item: { pk: { S: 'large' }, v: { S: 'x'.repeat(390000) } } });
      assert.equal(put.status, 200, put.text);
      // They send next to nothing, and are told so.
      await untilSo(() => announcers.every((socket) => socket.closed || socket.received.includes('408')));
      for (const socket of announcers) assert.match(socket.received, /^HTTP\/1\.1 408 /);
    });
    within(judge, 64);
  }));

  test('replies that clients do not read count, and make room', ours, () => withServer(small(128, '--slow-client-timeout', '4s'), async (server, judge) => {
    const TableName = await itemsOfControlCharacters(server, 40);
    const bytes = post('BatchGetItem', { RequestItems: { [TableName]: { Keys: keysOf(40), ConsistentRead: true } } });
    let busiest = 0;
    let refused = 0;
    await judge.watch(async () => {
      const deaf = [];
      for (let i = 0; i < 30; i++) {
        const socket = await connect(server);
        socket.pause();
        socket.write(bytes);
        deaf.push(socket);
      }
      await untilSo(async () => {
        busiest = Math.max(busiest, await metric(server, 'stator_inflight_bytes'));
        refused = await metric(server, 'stator_connections_slow');
        return busiest > 40 * kMiB && refused > 0;
      });
      for (const socket of deaf) socket.destroy();
    });
    within(judge, 128);
    assert.ok(busiest > 40 * kMiB, `the replies were never held: ${busiest}`);
    assert.ok(refused > 0, `no client was found slow: ${refused}`);
    // All of it is there for those who read.
    const batch = await call(server.endpoint, 'BatchGetItem', { RequestItems: { [TableName]: { Keys: keysOf(2) } } });
    assert.equal(batch.json().Responses[TableName].length, 2);
  }));

  test('records of a stream that clients do not read count', ours, () => withServer(small(64), async (server, judge) => {
    const TableName = 'streamed';
    const created = await call(server.endpoint, 'CreateTable', {
      TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
    });
    assert.equal(created.status, 200, created.text);
    for (let i = 0; i < 3; i++) {
      const put = await call(server.endpoint, 'PutItem', { TableName, Item: { pk: { S: 'one' }, i: { N: `${i}` }, v: { S: '\u0001'.repeat(300000) } } });
      assert.equal(put.status, 200, put.text);
    }
    const headers = (operation) => ({ 'X-Amz-Target': `DynamoDBStreams_20120810.${operation}` });
    const ask = async (operation, body) => (await call(server.endpoint, operation, body, { headers: headers(operation) })).json();
    const { Table: { LatestStreamArn: StreamArn } } = (await call(server.endpoint, 'DescribeTable', { TableName })).json();
    const { StreamDescription: { Shards } } = await ask('DescribeStream', { StreamArn });
    let bytes;
    for (const { ShardId } of Shards) {
      const { ShardIterator } = await ask('GetShardIterator', { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' });
      // A reply of 5.4 MB.
      if ((await ask('GetRecords', { ShardIterator })).Records.length === 3) bytes = post('GetRecords', { ShardIterator }, headers('GetRecords'));
    }
    await judge.watch(async () => {
      const deaf = await Promise.all(Array.from({ length: 300 }, () => connect(server)));
      for (const socket of deaf) {
        socket.pause();
        socket.write(bytes);
      }
      await delay(6000);
      for (const socket of deaf) socket.destroy();
    });
    within(judge, 64);
  }));

  test('under pressure BatchGetItem leaves keys unprocessed, and reading goes on to the end', ours, () => withServer(small(32), async (server, judge) => {
    const TableName = await itemsOfControlCharacters(server, 30);
    await judge.watch(async () => {
      let left = { [TableName]: { Keys: keysOf(30) } };
      let rounds = 0;
      const seen = new Set();
      while (left !== undefined && Object.keys(left).length > 0) {
        const reply = await call(server.endpoint, 'BatchGetItem', { RequestItems: left });
        assert.equal(reply.status, 200, reply.text.slice(0, 300));
        for (const item of reply.json().Responses[TableName]) seen.add(item.pk.S);
        left = reply.json().UnprocessedKeys;
        rounds++;
      }
      assert.equal(seen.size, 30);
      assert.ok(rounds > 1, 'one reply of 68 MB fitted into 32 MB');
      let start;
      let items = 0;
      do {
        const reply = await call(server.endpoint, 'Scan', { TableName, ExclusiveStartKey: start });
        assert.equal(reply.status, 200, reply.text.slice(0, 300));
        items += reply.json().Items.length;
        start = reply.json().LastEvaluatedKey;
      } while (start !== undefined);
      assert.equal(items, 30);
    });
    within(judge, 32);
  }));

  test('inflated bodies count', ours, () => withServer(small(64), async (server, judge) => {
    const body = { RequestItems: { witness: Array.from({ length: 25 }, (_, i) => ({ PutRequest: { Item: { pk: { S: `${i}` }, v: { S: 'a'.repeat(390000) } } } })) } };
    const bytes = post('BatchWriteItem', zlib.gzipSync(JSON.stringify(body)), { 'Content-Encoding': 'gzip' });
    assert.ok(bytes.length < 40000);
    const statuses = new Map();
    await judge.watch(async () => {
      const sockets = await Promise.all(Array.from({ length: 200 }, () => connect(server)));
      for (const socket of sockets) socket.write(bytes);
      for (const socket of sockets) {
        await untilSo(() => /^HTTP\/1\.1 \d+/.test(socket.received) || socket.closed, 10);
        const status = /^HTTP\/1\.1 (\d+)/.exec(socket.received)?.[1] ?? 'none';
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        if (status === '503') assert.match(socket.received, /ServiceUnavailableException.*--max-inflight-mb/s);
        socket.destroy();
      }
    });
    within(judge, 64);
    assert.deepEqual([...statuses.keys()].filter((status) => status !== '200' && status !== '503'), []);
    assert.ok(statuses.get('200') > 0, JSON.stringify([...statuses]));
  }));

  test('items that cancelled transactions show count', ours, () => withServer(small(64), async (server, judge) => {
    const TableName = await itemsOfControlCharacters(server, 20);
    const TransactItems = keysOf(20).map((Item) => ({
      Put: { TableName, Item, ConditionExpression: 'attribute_not_exists(pk)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' },
    }));
    const bytes = post('TransactWriteItems', { TransactItems });
    const statuses = new Map();
    await judge.watch(async () => {
      const deaf = await Promise.all(Array.from({ length: 30 }, () => connect(server)));
      for (const socket of deaf) socket.write(bytes);
      await untilSo(() => deaf.every((socket) => socket.received !== '' || socket.closed));
      for (const socket of deaf) {
        const status = /^HTTP\/1\.1 (\d+)/.exec(socket.received)?.[1] ?? 'none';
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        socket.destroy();
      }
    });
    within(judge, 64);
    assert.ok(statuses.get('503') > 0, `all of 30 answers of 46 MB were made: ${JSON.stringify([...statuses])}`);
    // One transaction is answered.
    const { status, text } = await call(server.endpoint, 'TransactWriteItems', { TransactItems: TransactItems.slice(0, 4) });
    assert.equal(status, 400, text.slice(0, 200));
    assert.match(text, /TransactionCanceledException/);
  }));

  test('what writes copy into their indexes counts', ours, () => withServer(small(64), async (server, judge) => {
    const names = Array.from({ length: 20 }, (_, i) => `a${i}`);
    const TableName = 'copied';
    const created = await call(server.endpoint, 'CreateTable', {
      TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'a0', KeyType: 'HASH' }],
      AttributeDefinitions: names.map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      GlobalSecondaryIndexes: names.map((AttributeName) => ({
        IndexName: `by.${AttributeName}`, KeySchema: [{ AttributeName, KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' },
      })),
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
    });
    assert.equal(created.status, 200, created.text);
    const keys = Array.from({ length: 60 }, (_, i) => ({ a0: { S: `${i}` } }));
    const rest = Object.fromEntries(names.slice(1).map((name) => [name, { S: name }]));
    for (const key of keys) {
      const put = await call(server.endpoint, 'PutItem', { TableName, Item: { ...key, ...rest, v: { S: 'a'.repeat(390000) } } });
      assert.equal(put.status, 200, put.text);
    }
    const statuses = new Map();
    await judge.watch(async () => {
      await Promise.all(keys.map(async (Key) => {
        const { status } = await call(server.endpoint, 'UpdateItem', {
          TableName, Key, UpdateExpression: 'SET c = :c', ExpressionAttributeValues: { ':c': { N: '1' } },
        });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }));
    });
    within(judge, 64);
    assert.deepEqual([...statuses.keys()].filter((status) => status !== 200 && status !== 503), [], JSON.stringify([...statuses]));
    assert.ok(statuses.get(200) > 0 && statuses.get(503) > 0, JSON.stringify([...statuses]));
  }));

  test('writes of 200 KB do not wait behind packed bodies', ours, () => withServer(small(512), async (server, judge) => {
    const bytes = post('PutItem', zlib.gzipSync(`{"TableName":"witness","Item":{"pk":{"S":"a"},"x":{"S":"${'a'.repeat(15 << 20)}"}}}`), { 'Content-Encoding': 'gzip' });
    await judge.watch(async () => {
      const sockets = await Promise.all(Array.from({ length: 100 }, () => connect(server)));
      let ended = false;
      for (const socket of sockets) {
        socket.on('data', () => { if (!ended) socket.write(bytes); });
        socket.write(bytes);
      }
      await delay(500);
      for (let i = 0; i < 5; i++) {
        const watch = watchOf(server);
        const put = await call(server.endpoint, 'PutItem', { TableName: 'witness', Item: { pk: { S: 'long' }, v: { S: 'a'.repeat(200000) } } });
        const { millis } = watch;
        assert.equal(put.status, 200, put.text);
        assert.ok(millis < 4000, `a write of 200 KB took ${millis} ms`);
      }
      ended = true;
      for (const socket of sockets) socket.destroy();
    });
  }));

  test('writes of 200 KB go on while many bodies drip', ours, () => withServer(small(64), async (server, judge) => {
    const head = post('PutItem', Buffer.alloc(1)).toString('latin1').replace(/Content-Length: 1\r\n([^]*).$/, 'Content-Length: 16000000\r\n$1');
    const sent = Buffer.alloc(64 << 10, 32);
    const more = Buffer.alloc(5000, 32);
    await judge.watch(async () => {
      const drippers = await Promise.all(Array.from({ length: 400 }, () => connect(server)));
      for (const socket of drippers) { socket.write(head); socket.write(sent); }
      // 20 KB/s each, above the least rate.
      const dripping = setInterval(() => { for (const socket of drippers) if (!socket.closed && socket.received === '') socket.write(more); }, 250);
      try {
        await delay(1500);  // their rate is known after a second
        const end = Date.now() + 12000;
        while (Date.now() < end) {
          // A client that is refused tries again, as the SDKs do.
          const watch = watchOf(server);
          let put;
          do {
            put = await call(server.endpoint, 'PutItem', { TableName: 'witness', Item: { pk: { S: 'long' }, v: { S: 'a'.repeat(200000) } } });
          } while (put.status === 503 && watch.millis < 2000);
          const { millis } = watch;
          assert.equal(put.status, 200, put.text);
          assert.ok(millis < 3000, `a write of 200 KB took ${millis} ms`);
          await delay(50);
        }
      } finally {
        clearInterval(dripping);
      }
      const told = () => drippers.filter((socket) => /^HTTP\/1\.1 408 [^]*RequestTimeoutException[^]*--max-inflight-mb/.test(socket.received)).length;
      await untilSo(() => told() > 100);  // what was sent is read a little later
      assert.ok(told() > 100, `${told()} of 400 slow bodies lost their place by name`);
      for (const socket of drippers) socket.destroy();
    });
    within(judge, 64);
  }));

  test('half bodies do not block one another', ours, () => withServer(small(32), async (server, judge) => {
    const body = Buffer.alloc(12 * kMiB, 32);
    await judge.watch(async () => {
      const sockets = await Promise.all(Array.from({ length: 12 }, () => connect(server)));
      const bytes = post('ListTables', Buffer.concat([Buffer.from('{}'), body]));
      const half = bytes.length / 2;
      for (const socket of sockets) socket.write(bytes.subarray(0, half));
      await delay(500);
      for (const socket of sockets) if (!socket.closed) socket.write(bytes.subarray(half));
      await untilSo(() => sockets.every((socket) => socket.received !== '' || socket.closed));
      assert.ok(sockets.some((socket) => socket.received.startsWith('HTTP/1.1 200')), 'no body was finished');
      for (const socket of sockets) socket.destroy();
    });
    within(judge, 32);
  }));

  test('memory comes back', ours, () => withServer(small(512), async (server, judge) => {
    const before = residentBytes(server);
    const TableName = await itemsOfControlCharacters(server, 40);
    await judge.watch(async () => {
      const sockets = await Promise.all(Array.from({ length: 16 }, () => connect(server)));
      const bytes = post('BatchGetItem', { RequestItems: { [TableName]: { Keys: keysOf(40) } } });
      for (const socket of sockets) socket.write(bytes);
      const whole = (socket) => {
        const head = /^HTTP\/1\.1 200 [^]*?content-length: (\d+)[^]*?\r\n\r\n/i.exec(socket.received);
        return head !== null && socket.bytesRead >= head[0].length + Number(head[1]);
      };
      // Under pressure a reader may be refused.
      const refused = (socket) => socket.received.startsWith('HTTP/1.1 503');
      const answered = (socket) => whole(socket) || refused(socket);
      await untilSo(() => sockets.every(answered));
      assert.ok(sockets.every(answered), 'a reader did not get its answer');
      assert.ok(sockets.some(whole), 'all readers were refused');
      for (const socket of sockets) socket.destroy();
    });
    within(judge, 512);
    assert.ok(judge.verdict.peakBytes > before + 100 * kMiB, 'the burst took no memory worth the test');
    await untilSo(() => residentBytes(server) <= before + (budgetMb + 60) * kMiB, 250);
    assert.ok(residentBytes(server) <= before + (budgetMb + 60) * kMiB, `${residentBytes(server) / kMiB} MB stayed, ${before / kMiB} at the start`);
  }));
});
