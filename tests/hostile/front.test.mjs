// The front door, over raw sockets: HTTP that two servers could read differently, pages of other origins, names that a page
// has pointed at the server, bodies that cannot be unpacked, and tokens that the server did not make.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, describe, test } from 'node:test';
import zlib from 'node:zlib';

import { call, request, Server, signedHeaders } from '../sdk/harness.mjs';
import { Judge } from './judge.mjs';

const TableName = 'front';
const hosts = ['--allowed-hosts', 'db.example.com', '--metrics-host', 'scraped.example.com'];
let server, judge;
before(async () => {
  server = await Server.start({ args: hosts });
  judge = await Judge.of(server);
  const created = await call(server.endpoint, 'CreateTable', {
    TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
  });
  assert.equal(created.status, 200, created.text);
  await call(server.endpoint, 'DescribeTable', { TableName });
  for (const pk of ['a', 'b', 'c'])
    assert.equal((await call(server.endpoint, 'PutItem', { TableName, Item: { pk: { S: pk } } })).status, 200);
});
after(async () => {
  judge.close();
  assert.equal((await server.stop()).code, 0);
});

// Sends bytes on a connection of their own. Returns {status, head, body, ended}: `ended` says that the server closed.
async function raw(bytes, { within = 60000, wait = () => false } = {}) {
  const socket = net.connect({ host: '127.0.0.1', port: server.port, allowHalfOpen: true });
  let text = '', ended = false;
  socket.on('data', (chunk) => { text += chunk.toString('latin1'); });
  socket.on('end', () => { ended = true; });
  socket.on('close', () => { ended = true; });
  socket.on('error', () => { ended = true; });
  await once(socket, 'connect');
  socket.write(bytes, 'latin1');
  const end = Date.now() + within;
  while (!ended && !wait(text) && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 5));
  socket.destroy();
  const [head, ...rest] = text.split('\r\n\r\n');
  return { text, head, body: rest.join('\r\n\r\n'), status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]), ended };
}
const replies = (count) => (text) => (text.match(/HTTP\/1\.1 \d{3} /g) ?? []).length >= count && /\r\n\r\n[^]*$/.test(text);
const lines = (...all) => `${all.join('\r\n')}\r\n\r\n`;
const signed = (operation) => Object.entries(signedHeaders(operation)).map(([name, value]) => `${name}: ${value}`);
const list = (...more) => `${lines('POST / HTTP/1.1', ...more, ...signed('ListTables'), 'Content-Length: 2')}{}`;

describe('HTTP that two servers could read differently', () => {
  const chunked = ['Transfer-Encoding: chunked', ...signed('ListTables')];
  const cases = {
    'a bare LF behind the request line': list('Host: x').replace('HTTP/1.1\r\n', 'HTTP/1.1\n'),
    'a bare LF behind a header': list('Host: x\nX-A: b'),
    'a bare LF before the body': list('Host: x').replace('\r\n\r\n{}', '\r\n\n{}'),
    'a bare LF between requests': `${list('Host: x')}\n${list('Host: x')}`,
    'no Host': list(),
    'two Hosts': list('Host: x', 'host: x'),
    'two Hosts that differ': list('Host: localhost', 'Host: evil.example'),
    'a chunk whose data ends without CR LF': `${lines('POST / HTTP/1.1', 'Host: x', ...chunked)}2\r\n{}XX0\r\n\r\n`,
    'a chunk whose data ends with LF': `${lines('POST / HTTP/1.1', 'Host: x', ...chunked)}2\r\n{}\n0\r\n\r\n`,
    'a chunk size that ends with LF': `${lines('POST / HTTP/1.1', 'Host: x', ...chunked)}2\n{}\r\n0\r\n\r\n`,
    'a chunk size with a space': `${lines('POST / HTTP/1.1', 'Host: x', ...chunked)}2 \r\n{}\r\n0\r\n\r\n`,
    'a chunk size with a sign': `${lines('POST / HTTP/1.1', 'Host: x', ...chunked)}+2\r\n{}\r\n0\r\n\r\n`,
    'a trailer that ends with LF': `${lines('POST / HTTP/1.1', 'Host: x', ...chunked)}2\r\n{}\r\n0\r\nX: y\n\r\n`,
  };
  for (const [title, bytes] of Object.entries(cases)) {
    test(title, async () => {
      const reply = await raw(bytes);
      assert.ok(reply.ended, `the connection stays open: ${reply.text.slice(0, 200)}`);
      const last = reply.text.slice(reply.text.lastIndexOf('HTTP/1.1 '));
      assert.match(last, /^HTTP\/1\.1 400 /, reply.text.slice(0, 400));
      assert.match(last, /SerializationException/);
      assert.match(last, /Connection: close/i);
    });
  }
  test('what is right still passes', async () => {
    assert.equal((await raw(list('Host: anything.example'), { wait: replies(1) })).status, 200, 'no browser: any Host');
    const good = `${lines('POST / HTTP/1.1', 'Host: x', ...chunked)}1;ext=1\r\n{\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n`;
    assert.equal((await raw(good, { wait: replies(1) })).status, 200);
    const two = await raw(`${list('Host: x')}\r\n${list('Host: x')}`, { wait: replies(2) });
    assert.equal((two.text.match(/HTTP\/1\.1 200 /g) ?? []).length, 2, 'an empty line between requests');
    assert.equal((await raw('GET / HTTP/1.0\r\n\r\n', { wait: replies(1) })).status, 200, 'HTTP/1.0 has no Host');
  });
  test('HEAD / is GET / without the body', async () => {
    const reply = await raw(lines('HEAD / HTTP/1.1', 'Host: x'), { wait: (text) => text.includes('\r\n\r\n') });
    assert.equal(reply.status, 200);
    assert.equal(reply.body, '');
    assert.match(reply.head, /content-length: [1-9]/i);
  });
  test('nosniff is on every reply', async () => {
    const asked = [
      list('Host: x'), list(), lines('GET / HTTP/1.1', 'Host: x'), lines('GET /metrics HTTP/1.1', 'Host: localhost'),
      lines('GET /health/ready HTTP/1.1', 'Host: x'), lines('GET /_stator/status HTTP/1.1', 'Host: localhost'), lines('GET /x HTTP/1.1', 'Host: x'),
      lines('POST / HTTP/1.1', 'Host: x', 'Content-Length: 99999999999'),
    ];
    for (const bytes of asked) {
      const reply = await raw(bytes, { wait: replies(1) });
      assert.match(reply.head, /x-content-type-options: nosniff/i, `${bytes.slice(0, 60)}: ${reply.head}`);
    }
  });
});

describe('pages and names', () => {
  const page = (origin, extra = {}) => call(server.endpoint, 'Scan', { TableName }, { headers: { Origin: origin, ...extra } });
  test('a page on loopback may call', async () => {
    for (const origin of ['http://localhost:3000', 'https://localhost', 'http://127.0.0.1:5173', 'http://[::1]:8080', 'http://app.localhost:3000']) {
      const reply = await page(origin);
      assert.equal(reply.status, 200, `${origin}: ${reply.text}`);
      assert.equal(reply.headers['access-control-allow-origin'], origin);
    }
  });
  test('a page of another origin may not, and nothing runs', async () => {
    for (const origin of ['http://evil.example', 'http://localhost.evil.example', 'http://127.evil.example', 'null', 'file://', 'http://localhost@evil.example',
      `http://evil.example:${server.port}`]) {
      const reply = await call(server.endpoint, 'DeleteTable', { TableName }, { headers: { Origin: origin } });
      assert.equal(reply.status, 403, `${origin}: ${reply.text}`);
      assert.equal(reply.headers['access-control-allow-origin'], undefined);
      const preflight = await request(server.endpoint, { method: 'OPTIONS', headers: { Origin: origin, 'Access-Control-Request-Method': 'POST' } });
      assert.equal(preflight.status, 403);
      assert.equal(preflight.headers['access-control-allow-methods'], undefined);
    }
    assert.equal((await call(server.endpoint, 'Scan', { TableName })).json().Count, 3);
  });
  test('a page whose own name points at the server may not', async () => {
    const host = `evil.example:${server.port}`;
    for (const origin of [`http://${host}`, undefined]) {
      const headers = { Host: host, 'X-Stator-Management': 'true', ...(origin && { Origin: origin }) };
      const reset = await request(server.endpoint, { path: '/_stator/reset', headers });
      assert.equal(reset.status, 403, reset.text);
      for (const path of ['/_stator/status', '/metrics'])
        assert.equal((await request(server.endpoint, { method: 'GET', path, headers })).status, 403, path);
    }
    const reply = await call(server.endpoint, 'Scan', { TableName }, { headers: { Host: host, Origin: `http://${host}` } });
    assert.equal(reply.status, 403, reply.text);
  });
  test('a page of the server itself may, under a known name', async () => {
    for (const host of [`localhost:${server.port}`, `127.0.0.1:${server.port}`, 'dynamodb:8000', 'db.example.com']) {
      const headers = { Host: host, Origin: `http://${host}`, 'X-Stator-Management': 'true' };
      assert.equal((await request(server.endpoint, { method: 'GET', path: '/_stator/status', headers })).status, 200, host);
      assert.equal((await call(server.endpoint, 'Scan', { TableName }, { headers: { Host: host, Origin: `http://${host}` } })).status, 200, host);
    }
    const foreign = { Host: 'localhost:1', Origin: 'http://localhost:2', 'X-Stator-Management': 'true' };
    assert.equal((await request(server.endpoint, { method: 'GET', path: '/_stator/status', headers: foreign })).status, 403);
  });
  test('clients that are no browsers use any name', async () => {
    for (const Host of ['dynamodb:8000', 'stator.internal.example', '10.0.0.1', 'evil.example'])
      assert.equal((await call(server.endpoint, 'Scan', { TableName }, { headers: { Host } })).status, 200, Host);
  });
  test('metrics have names of their own', async () => {
    const get = async (Host) => (await request(server.endpoint, { method: 'GET', path: '/metrics', headers: { Host } })).status;
    assert.equal(await get('scraped.example.com:9090'), 200);
    assert.equal(await get('db.example.com'), 200);
    assert.equal(await get('other.example.com'), 403);
    assert.equal((await request(server.endpoint, { method: 'GET', path: '/health/ready', headers: { Host: 'other.example.com' } })).status, 200);
  });
});

describe('small shapes', () => {
  const assertError = (reply, status, type, text) => {
    assert.equal(reply.status, status, reply.text.slice(0, 300));
    assert.ok(reply.json().__type.endsWith(`#${type}`), reply.text.slice(0, 300));
    if (text !== undefined) assert.equal(reply.json().message ?? reply.json().Message, text);
  };
  test('a body that cannot be unpacked is the client\'s fault', async () => {
    const body = Buffer.from(JSON.stringify({ TableName }));
    const packed = zlib.gzipSync(body);
    const post = (bytes, encoding) => call(server.endpoint, 'Scan', bytes, { headers: { 'Content-Encoding': encoding } });
    assert.equal((await post(packed, 'gzip')).status, 200);
    for (const [bytes, encoding] of [[body, 'gzip'], [packed.subarray(0, 20), 'gzip'], [Buffer.concat([packed, body]), 'gzip'], [body, 'deflate'], [body, 'br'],
      [packed, 'gzip, gzip'], [Buffer.alloc(0), 'gzip']]) assertError(await post(bytes, encoding), 400, 'SerializationException');
    assertError(await post(zlib.gzipSync(Buffer.alloc(17 << 20, 0x20)), 'gzip'), 413, 'RequestEntityTooLargeException');
  });
  test('refused pages are one line in the log a second', async () => {
    const count = () => server.output.match(/origin_refused/g)?.length ?? 0;
    const before = count();
    const began = performance.now();
    for (let i = 0; i < 300; i++) assert.equal((await call(server.endpoint, 'Scan', { TableName }, { headers: { Origin: 'http://evil.example' } })).status, 403);
    const seconds = (performance.now() - began) / 1000;
    assert.ok(count() - before <= Math.ceil(seconds) + 1, `${count() - before} lines in ${seconds} s`);
  });
  test('parameters and question marks must agree', async () => {
    const run = (Statement, ...texts) => call(server.endpoint, 'ExecuteStatement', { Statement, ...(texts.length > 0 && { Parameters: texts.map((S) => ({ S })) }) });
    const differ = "Number of parameters in request and statement don't match.";
    assert.equal((await run(`SELECT * FROM ${TableName} WHERE pk = ?`, 'a')).status, 200);
    assertError(await run(`SELECT * FROM ${TableName} WHERE pk = ?`, 'a', 'b'), 400, 'ValidationException', differ);
    assertError(await run(`SELECT * FROM ${TableName}`, 'a'), 400, 'ValidationException', differ);
    assertError(await run(`SELECT * FROM ${TableName} WHERE pk = ?`), 400, 'ValidationException', differ);
  });
  test('a Limit beyond its type', async () => {
    for (const limit of ['99999999999', '2147483648', '-2147483649', '18446744073709551615'])
      assertError(await call(server.endpoint, 'Scan', `{"TableName":"${TableName}","Limit":${limit}}`), 400, 'SerializationException', 'NUMBER_VALUE cannot be converted to Integer');
    assert.equal((await call(server.endpoint, 'Scan', `{"TableName":"${TableName}","Limit":2147483647}`)).status, 200);
  });
  test('malformed ARNs', async () => {
    const good = (await call(server.endpoint, 'DescribeTable', { TableName })).json().Table.TableArn;
    assert.equal((await call(server.endpoint, 'Scan', { TableName: good })).status, 200);
    for (const arn of [good.replace('dynamodb', 's3'), good.replace(/\d{12}/, '1'), good.replace('us-east-1', ''), good.replace('arn:aws', 'arn:'), `${good}/index/i`, good.replace('table/', 'tables/'),
      `${good} `, `arn:x:y:::table/${TableName}`]) {
      assertError(await call(server.endpoint, 'Scan', { TableName: arn }), 400, 'ValidationException', `Invalid TableArn: Invalid ResourceArn provided as input ${arn}`);
    }
  });
  test('scrapes do not hold up requests', async () => {
    await judge.watch(async () => {
      const scrapes = await Promise.all(Array.from({ length: 60 }, () =>
        request(server.endpoint, { method: 'GET', path: '/metrics', headers: { 'Accept-Encoding': 'gzip' } })));
      for (const reply of scrapes) assert.ok([200, 503].includes(reply.status), reply.text.slice(0, 200));
      assert.ok(scrapes.some((reply) => reply.status === 200));
      for (const reply of scrapes.filter(({ status }) => status === 200)) {
        const text = reply.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(reply.body).toString() : reply.text;
        assert.match(text, /stator_uptime_seconds/);
      }
    });
  });
});

describe('tokens', () => {
  const streams = (operation, body) => call(server.endpoint, operation, body, { headers: { 'X-Amz-Target': `DynamoDBStreams_20120810.${operation}` } });
  const iteratorOf = async () => {
    const { LatestStreamArn: StreamArn } = (await call(server.endpoint, 'DescribeTable', { TableName })).json().Table;
    const { StreamDescription } = (await streams('DescribeStream', { StreamArn })).json();
    const { ShardId } = StreamDescription.Shards[0];
    return (await streams('GetShardIterator', { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' })).json().ShardIterator;
  };
  const statement = { Statement: `SELECT * FROM ${TableName}`, Limit: 1 };

  test('a shard iterator that was changed anywhere', async () => {
    const iterator = await iteratorOf();
    assert.equal((await streams('GetRecords', { ShardIterator: iterator })).status, 200);
    const payload = iterator.slice(iterator.lastIndexOf('|') + 1);
    for (let i = 0; i < payload.length; i++) {
      const forged = iterator.slice(0, iterator.length - payload.length) + payload.slice(0, i) + (payload[i] === '0' ? '1' : '0') + payload.slice(i + 1);
      const reply = await streams('GetRecords', { ShardIterator: forged });
      assert.equal(reply.status, 400, `${i}: ${reply.text}`);
      assert.match(reply.json().__type, /#ValidationException$/, `${i}: ${reply.text}`);
    }
  });
  test('a shard iterator of the format before seals has expired', async () => {
    const iterator = await iteratorOf();
    const payload = iterator.slice(iterator.lastIndexOf('|') + 1);
    const old = iterator.slice(0, iterator.length - payload.length) + '01' + payload.slice(2, 58) + '0'.repeat(16);
    const reply = await streams('GetRecords', { ShardIterator: old });
    assert.match(reply.json().__type, /#ExpiredIteratorException$/, reply.text);
  });
  test('a NextToken that was changed anywhere', async () => {
    const page = (await call(server.endpoint, 'ExecuteStatement', statement)).json();
    assert.ok(page.NextToken, JSON.stringify(page));
    assert.equal((await call(server.endpoint, 'ExecuteStatement', { ...statement, NextToken: page.NextToken })).status, 200);
    const bytes = Buffer.from(page.NextToken, 'base64');
    for (let i = 0; i < bytes.length; i++) {
      const forged = Buffer.from(bytes);
      forged[i] ^= 1;
      const reply = await call(server.endpoint, 'ExecuteStatement', { ...statement, NextToken: forged.toString('base64') });
      assert.equal(reply.json().message, 'Invalid NextToken', `${i}: ${reply.text}`);
    }
  });
  test('tokens are good after kill -9, and another store does not take them', async () => {
    const first = await Server.startOne({ args: hosts });
    let second, other;
    const make = { TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }] };
    try {
      assert.equal((await call(first.endpoint, 'CreateTable', make)).status, 200);
      await call(first.endpoint, 'DescribeTable', { TableName });
      for (const pk of ['a', 'b', 'c']) assert.equal((await call(first.endpoint, 'PutItem', { TableName, Item: { pk: { S: pk } } })).status, 200);
      const { NextToken } = (await call(first.endpoint, 'ExecuteStatement', statement)).json();
      assert.ok(NextToken);
      await first.kill();
      second = await Server.startOne({ dataDir: first.dataDir });
      const next = await call(second.endpoint, 'ExecuteStatement', { ...statement, NextToken });
      assert.equal(next.status, 200, next.text);
      other = await Server.startOne({ args: ['--in-memory'] });
      assert.equal((await call(other.endpoint, 'CreateTable', make)).status, 200);
      await call(other.endpoint, 'DescribeTable', { TableName });
      const foreign = await call(other.endpoint, 'ExecuteStatement', { ...statement, NextToken });
      assert.equal(foreign.json().message, 'Invalid NextToken', foreign.text);
    } finally {
      await other?.stop();
      await second?.stop();
      await first.stop();
    }
  });
});
