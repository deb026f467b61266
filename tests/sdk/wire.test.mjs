// The wire protocol without an SDK in between: envelopes, headers, compression, health, management.
import assert from 'node:assert/strict';
import http from 'node:http';
import { describe, test } from 'node:test';
import zlib from 'node:zlib';

import { N, S, suite } from './clients.mjs';
import { call, isLocal, isStator, request, signedHeaders } from './harness.mjs';

const context = await suite();
const table = await context.table('wire', 'pk:S');
const TableName = table;
await context.ddb.PutItem({ TableName, Item: { pk: S('small'), n: N(1) } });
await context.ddb.PutItem({ TableName, Item: { pk: S('large'), v: S('x'.repeat(20000)) } });
const post = (operation, body, options) => call(context.endpoint, operation, body, options);

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (~crc) >>> 0;
}

describe('answers', () => {
  test('headers of a success and of an error', async () => {
    for (const [body, status] of [[{ TableName, Key: { pk: { S: 'small' } } }, 200], [{ TableName, Key: { x: { S: 'small' } } }, 400]]) {
      const reply = await post('GetItem', body);
      assert.equal(reply.status, status);
      assert.equal(reply.headers['content-type'], 'application/x-amz-json-1.0');
      assert.equal(reply.headers['content-length'], String(reply.body.length));
      if (isStator) assert.equal(reply.headers['x-amz-crc32'], String(crc32(reply.body)));
      if (isStator) assert.match(reply.headers['x-amzn-requestid'], /^[A-Z0-9]{52}$/);
      else assert.ok(reply.headers['x-amzn-requestid']);
    }
  });
  test('request ids differ', async () => {
    const ids = new Set();
    for (let i = 0; i < 20; i++) ids.add((await post('ListTables')).headers['x-amzn-requestid']);
    assert.equal(ids.size, 20);
  });
  test('the plain item', async () => {
    assert.deepEqual((await post('GetItem', { TableName, Key: { pk: { S: 'small' } } })).json(), { Item: { pk: { S: 'small' }, n: { N: '1' } } });
    assert.equal((await post('GetItem', { TableName, Key: { pk: { S: 'nobody' } } })).text, '{}');
    assert.equal((await post('PutItem', { TableName, Item: { pk: { S: 'put' } } })).text, '{}');
  });
  test('prefixes of error types', { skip: isLocal && 'other prefixes' }, async () => {
    const cases = [
      ['GetItem', { TableName, Key: {} }, 'com.amazon.coral.validate#ValidationException', 'message'],
      ['GetItem', { TableName: context.name('missing'), Key: { pk: { S: 'x' } } }, 'com.amazonaws.dynamodb.v20120810#ResourceNotFoundException', 'message'],
      ['PutItem', { TableName, Item: { pk: { S: 'small' } }, ConditionExpression: 'attribute_not_exists(pk)' }, 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException', 'message'],
      ['CreateTable', { TableName, KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], BillingMode: 'PAY_PER_REQUEST' }, 'com.amazonaws.dynamodb.v20120810#ResourceInUseException', 'message'],
      ['GetItem', { TableName: 1 }, 'com.amazon.coral.service#SerializationException', 'Message'],
      ['Nonsense', {}, 'com.amazon.coral.service#UnknownOperationException', undefined],
    ];
    for (const [operation, body, type, member] of cases) {
      const reply = await post(operation, body);
      assert.equal(reply.status, 400);
      assert.equal(reply.json().__type, type, reply.text);
      assert.deepEqual(Object.keys(reply.json()).filter((name) => /message/i.test(name)), member ? [member] : []);
    }
  });
  test('the old item on a failed condition', async () => {
    const reply = await post('PutItem', { TableName, Item: { pk: { S: 'small' } }, ConditionExpression: 'attribute_not_exists(pk)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
    assert.deepEqual(reply.json().Item, { pk: { S: 'small' }, n: { N: '1' } });
  });
  test('times are numbers of seconds', async () => {
    const { Table } = (await post('DescribeTable', { TableName })).json();
    assert.equal(typeof Table.CreationDateTime, 'number');
    assert.ok(Math.abs(Table.CreationDateTime - Date.now() / 1000) < 600, `${Table.CreationDateTime}`);
  });
  test('application/json is echoed', { skip: !isStator && 'not there' }, async () => {
    const reply = await post('ListTables', {}, { headers: { 'Content-Type': 'application/json' } });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers['content-type'], 'application/json');
  });
  test('unknown members are ignored', async () => {
    const reply = await post('GetItem', { TableName, Key: { pk: { S: 'small' } }, Nonsense: { deep: [1, 2, { x: null }] }, consistentread: 'x' });
    assert.equal(reply.status, 200, reply.text);
  });
});

describe('compression', () => {
  const large = { TableName, Key: { pk: { S: 'large' } } };
  test('of large answers, if the client takes it', { skip: !isStator && 'not there' }, async () => {
    for (const [encoding, decode] of [['gzip', zlib.gunzipSync], ['deflate', zlib.inflateSync]]) {
      const reply = await post('GetItem', large, { headers: { 'Accept-Encoding': encoding } });
      assert.equal(reply.headers['content-encoding'], encoding);
      assert.equal(reply.headers['x-amz-crc32'], String(crc32(reply.body)));
      assert.ok(reply.body.length < 2000);
      assert.equal(JSON.parse(decode(reply.body)).Item.v.S.length, 20000);
    }
  });
  test('not of small ones, and not unasked', async () => {
    assert.equal((await post('GetItem', { TableName, Key: { pk: { S: 'small' } } }, { headers: { 'Accept-Encoding': 'gzip' } })).headers['content-encoding'], undefined);
    for (const headers of [{}, { 'Accept-Encoding': 'identity' }]) assert.equal((await post('GetItem', large, { headers })).headers['content-encoding'], undefined);
  });
  test('of requests', { skip: !isStator && 'not there' }, async () => {
    const body = Buffer.from(JSON.stringify({ TableName, Item: { pk: { S: 'compressed' }, v: { S: 'y'.repeat(50000) } } }));
    for (const [encoding, encode] of [['gzip', zlib.gzipSync], ['deflate', zlib.deflateSync]]) {
      const reply = await post('PutItem', encode(body), { headers: { 'Content-Encoding': encoding } });
      assert.equal(reply.status, 200, reply.text);
    }
    const two = Buffer.concat([zlib.gzipSync(body.subarray(0, 100)), zlib.gzipSync(body.subarray(100))]);
    assert.equal((await post('PutItem', two, { headers: { 'Content-Encoding': 'gzip' } })).status, 200);
    assert.equal((await post('PutItem', body, { headers: { 'Content-Encoding': 'gzip' } })).status, 400);
    assert.equal((await post('PutItem', body, { headers: { 'Content-Encoding': 'br' } })).status, 400);
  });
});

describe('connections', () => {
  test('keep-alive', async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    let sockets = 0;
    agent.on('free', () => { sockets = Math.max(sockets, Object.values(agent.sockets).flat().length + Object.values(agent.freeSockets).flat().length); });
    for (let i = 0; i < 50; i++) assert.equal((await post('ListTables', {}, { agent })).headers.connection === 'close', false);
    assert.ok(sockets <= 1);
    agent.destroy();
  });
  test('a chunked body', async () => {
    const reply = await new Promise((resolve, reject) => {
      const url = new URL(context.endpoint);
      const message = http.request({ host: url.hostname, port: url.port, method: 'POST', headers: { ...signedHeaders('GetItem'), 'Transfer-Encoding': 'chunked' }, agent: false }, (answer) => {
        const chunks = [];
        answer.on('data', (chunk) => chunks.push(chunk)).on('end', () => resolve(JSON.parse(Buffer.concat(chunks))));
      });
      message.on('error', reject);
      for (const part of ['{"TableName":"', table, '","Key":{"pk":', '{"S":"small"}}}']) message.write(part);
      message.end();
    });
    assert.equal(reply.Item.n.N, '1');
  });
  test('IPv6 loopback', { skip: !context.server && 'of our own server only' }, async () => {
    const reply = await call(`http://[::1]:${new URL(context.endpoint).port}`, 'ListTables');
    assert.equal(reply.status, 200);
  });
});

describe('cross-origin requests', { skip: !isStator && 'not there' }, () => {
  test('of pages on loopback are allowed for the API, of other pages refused', async () => {
    const reply = await post('ListTables', {}, { headers: { Origin: 'http://localhost:3000' } });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers['access-control-allow-origin'], 'http://localhost:3000');
    const other = await post('ListTables', {}, { headers: { Origin: 'http://example.test' } });
    assert.equal(other.status, 403);
    assert.equal(other.headers['access-control-allow-origin'], undefined);
  });
  test('preflight', async () => {
    const reply = await request(context.endpoint, {
      method: 'OPTIONS',
      headers: { Origin: 'http://localhost:3000', 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x-amz-target,x-other' },
    });
    assert.equal(reply.status, 200);
    assert.equal(reply.headers['access-control-allow-origin'], 'http://localhost:3000');
    assert.equal(reply.headers['access-control-allow-methods'], 'POST');
    assert.equal(reply.headers['access-control-allow-headers'], 'x-amz-target,x-other');
    assert.equal(reply.headers['access-control-max-age'], '172800');
  });
});

describe('signatures are looked at', { skip: !isStator && 'other texts' }, () => {
  const without = (...names) => Object.fromEntries(Object.entries(signedHeaders('ListTables')).filter(([name]) => !names.includes(name)));
  const send = (headers) => request(context.endpoint, { headers, body: '{}' });
  test('none', async () => {
    const reply = await send(without('Authorization'));
    assert.equal(reply.status, 400);
    assert.deepEqual(reply.json(), { __type: 'com.amazon.coral.service#MissingAuthenticationTokenException', message: 'Request is missing Authentication Token' });
  });
  test('of another kind', async () => {
    assert.match((await send({ ...without(), Authorization: 'Bearer x' })).json().__type, /#MissingAuthenticationTokenException$/);
  });
  test('in part', async () => {
    const reply = await send({ ...without(), Authorization: 'AWS4-HMAC-SHA256 Credential=a/20200101/us-east-1/dynamodb/aws4_request' });
    assert.equal(reply.status, 400);
    assert.match(reply.json().__type, /#IncompleteSignatureException$/);
    assert.ok(reply.json().message.includes("Authorization header requires 'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. "), reply.text);
  });
  test('without a date', async () => {
    const reply = await send(without('X-Amz-Date'));
    assert.match(reply.json().__type, /#IncompleteSignatureException$/);
    assert.ok(reply.json().message.includes("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "), reply.text);
  });
});

describe('health, metrics and management', { skip: !isStator && 'of Stator only' }, () => {
  const get = (path, headers = {}) => request(context.endpoint, { method: 'GET', path, headers });
  test('GET /', async () => {
    const reply = await get('/');
    assert.equal(reply.status, 200);
    assert.match(reply.text, /^healthy: /);
  });
  test('/health/live and /health/ready', async () => {
    assert.equal((await get('/health/live')).status, 200);
    assert.equal((await get('/health/ready')).status, 200);
  });
  test('/metrics counts operations', async () => {
    await post('GetItem', { TableName, Key: { pk: { S: 'small' } } });
    const reply = await get('/metrics');
    assert.equal(reply.status, 200);
    assert.match(reply.headers['content-type'], /^text\/plain/);
    assert.match(reply.text, /GetItem/);
    assert.match(reply.text, /_bucket\{/);
    for (const line of reply.text.split('\n')) assert.match(line, /^(#.*|[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})? \S+( \d+)?|)$/);
  });
  test('management wants its header and no Origin', async () => {
    const manage = (headers) => request(context.endpoint, { path: '/_stator/reset', headers });
    for (const headers of [{}, { Origin: 'http://example.test' }, { Origin: 'http://example.test', 'X-Stator-Management': 'true' }]) {
      const reply = await manage(headers);
      assert.equal(reply.status, 403, JSON.stringify(headers));
      assert.equal(reply.headers['access-control-allow-origin'], undefined);
    }
    assert.equal((await post('DescribeTable', { TableName })).status, 200);
  });
  // Last in this file: nothing is left afterwards.
  test('reset empties the server', { skip: !context.server && 'not on a server that others use' }, async () => {
    const headers = { 'X-Stator-Management': 'true' };
    const { store } = (await request(context.endpoint, { method: 'GET', path: '/_stator/status', headers })).json();
    if (store !== null) {
      for (const body of ['', '{"store":"another"}']) {
        const refused = await request(context.endpoint, { path: '/_stator/reset', headers, body });
        assert.equal(refused.status, 400, refused.text);
      }
      assert.equal((await post('DescribeTable', { TableName })).status, 200);
    }
    const reply = await request(context.endpoint, { path: '/_stator/reset', headers, body: JSON.stringify({ store }) });
    assert.ok(reply.status >= 200 && reply.status < 300, `${reply.status} ${reply.text}`);
    assert.deepEqual((await post('ListTables')).json().TableNames, []);
    assert.equal((await post('GetItem', { TableName, Key: { pk: { S: 'small' } } })).status, 400);
    await context.table('wire');
    assert.equal((await context.ddb.Scan({ TableName })).Count, 0);
  });
});
