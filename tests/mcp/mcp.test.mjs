// An agent's session with `stator mcp`, by the client of the protocol's own SDK.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import * as modern from '@modelcontextprotocol/client';
import * as modernStdio from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import { Server, binary, call, request } from '../sdk/harness.mjs';

// The environment that a program needs, without a key and an endpoint of the user.
const clean = { PATH: process.env.PATH, HOME: os.tmpdir() };

let server;
before(async () => {
  server = await Server.startOne({ args: ['--in-memory', '--clock=manual', '--throttling=enforce'], dataDir: null });
  await create('votes', { index: 'who', write: 10 });
  await create('items', {});
});
after(() => server.stop());

async function create(table, { index, write = 1000 } = {}) {
  const throughput = { ReadCapacityUnits: 1000, WriteCapacityUnits: write };
  const key = (name, type) => ({ AttributeName: name, KeyType: type });
  const reply = await call(server.endpoint, 'CreateTable', {
    TableName: table,
    KeySchema: [key('day', 'HASH'), key('id', 'RANGE')],
    AttributeDefinitions: ['day', 'id', ...(index ? [index] : [])].map((name) => ({ AttributeName: name, AttributeType: 'S' })),
    ProvisionedThroughput: throughput,
    ...(index && {
      GlobalSecondaryIndexes: [{
        IndexName: `by-${index}`, KeySchema: [key(index, 'HASH')], Projection: { ProjectionType: 'ALL' },
        ProvisionedThroughput: { ReadCapacityUnits: 1000, WriteCapacityUnits: 1000 },
      }],
    }),
  });
  assert.equal(reply.status, 200, reply.text);
}

const put = (table, item) => call(server.endpoint, 'PutItem', { TableName: table, Item: item });

async function connect(transport) {
  const client = new Client({ name: 'stator-tests', version: '1' });
  await client.connect(transport);
  return client;
}
const overStdio = (args = [], env = {}) => connect(new StdioClientTransport({
  command: binary, args: ['mcp', '--endpoint', server.endpoint, ...args], env: { ...clean, ...env }, stderr: 'ignore',
}));

// Calls a tool and returns its answer; fails the test unless isError is as `failed` says.
async function use(client, name, args = {}, { failed = false } = {}) {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError ?? false, failed, JSON.stringify(result));
  return failed ? result.content[0].text : result.structuredContent;
}

test('the tools are those that docs/mcp.md names, and say truly what they change', async (t) => {
  const page = fs.readFileSync(new URL('../../docs/mcp.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| `([a-z_]+)` +\|[^|]*\| (yes|no) +\|/gm)].map(([, name, writes]) => [name, writes === 'yes']);
  const reader = await overStdio();
  t.after(() => reader.close());
  const writer = await overStdio(['--allow-writes']);
  t.after(() => writer.close());
  const { tools: all } = await writer.listTools();
  assert.deepEqual(rows, all.map(({ name, annotations }) => [name, !annotations.readOnlyHint]));
  const { tools: reading } = await reader.listTools();
  assert.deepEqual(reading.map(({ name }) => name), rows.filter(([, writes]) => !writes).map(([name]) => name));
  assert.equal(reader.getServerVersion().name, 'stator');
  assert.match(reader.getInstructions(), /read-only/);
  await reader.ping();
});

test('an agent finds the cause of a throttled table', async (t) => {
  const client = await overStdio();
  t.after(() => client.close());
  assert.match((await use(client, 'why_throttled', { table: 'items' })).cause, /^No limit of the table/);
  // The clock stands still: the bucket is never filled again.
  let refused = 0;
  for (let i = 0; i < 5000 && refused < 20; ++i) {
    const reply = await put('votes', { day: { S: 'today' }, id: { S: String(i) }, who: { S: `w${i % 3}` } });
    refused += reply.status === 400 ? 1 : 0;
  }
  assert.ok(refused >= 20, 'nothing was throttled');
  const why = await use(client, 'why_throttled', { table: 'votes' });
  assert.equal(why.throttled, true);
  assert.equal(why.mode, 'enforce');
  const [refusal] = why.refusals;
  assert.equal(refusal.resource, 'votes');
  assert.equal(refusal.refusal.reason, 'TableWriteProvisionedThroughputExceeded');
  assert.ok(refusal.refusal.requests >= 20);
  assert.equal(why.resources[0].hottest_keys[0].partitionKey, 'today');
  assert.equal(why.resources[0].worst_partitions.length, 1);
  const { tables } = (await use(client, 'server_status')).server;
  assert.deepEqual(tables.map(({ name }) => name).sort(), ['items', 'votes']);
});

test('faults that are set on purpose are told as a cause', async (t) => {
  const writer = await overStdio(['--allow-writes']);
  t.after(() => writer.close());
  await use(writer, 'set_faults', { table: 'items', faults: [{ fault: 'throttle', operations: ['GetItem'], count: 1 }] });
  const why = await use(writer, 'why_throttled', { table: 'items' });
  assert.match(why.cause, /A fault rule throttles requests of this table on purpose/);
  assert.match(await use(writer, 'get_item', { table: 'items', key: { day: { S: 'x' }, id: { S: 'x' } } }, { failed: true }),
    /^ProvisionedThroughputExceededException: /);
  assert.equal((await use(writer, 'show_faults', { table: 'items' })).faults[0].faults[0].struck, 1);
  await use(writer, 'set_faults', { table: 'items', faults: [] });
  assert.deepEqual((await use(writer, 'show_faults', { table: 'items' })).faults, []);
  assert.match(await use(writer, 'set_faults', { table: 'items', faults: [{ fault: 'none' }] }, { failed: true }), /none/);
});

test('a server that is read-only changes nothing, whatever it is asked', async (t) => {
  const client = await overStdio();
  t.after(() => client.close());
  const key = { day: { S: 'mine' }, id: { S: '1' } };
  const tries = [
    ['put_item', { table: 'items', item: key }],
    ['update_item', { table: 'items', key, update: 'SET a = :v', values: { ':v': { N: '1' } } }],
    ['delete_item', { table: 'items', key }],
    ['create_table', { definition: { TableName: 'new' } }],
    ['set_faults', { table: '*', faults: [{ fault: 'error' }] }],
    ['advance_clock', { by: '1h' }],
    ...[
      "INSERT INTO items VALUE {'day': 'mine', 'id': '1'}",
      "/* SELECT */ INSERT INTO items VALUE {'day': 'mine', 'id': '1'}",
      "-- SELECT\nUPDATE items SET a = 1 WHERE day = 'mine' AND id = '1'",
      "SELECT * FROM items; DELETE FROM items WHERE day = 'mine' AND id = '1'",
      "SELECT * FROM items WHERE day = 'mine' UNION DELETE FROM items WHERE day = 'mine' AND id = '1'",
      "EXISTS(SELECT * FROM items WHERE day = 'mine' AND id = '1')",
    ].map((statement) => ['partiql', { statement, allow_full_scan: true }]),
    // Paths and members of requests in the place of names.
    ['why_throttled', { table: '../../_stator/reset' }],
    ['hot_keys', { table: 'items/../../reset?' }],
    ['scan', { table: 'items", "Item": {"day": {"S": "mine"}, "id": {"S": "1"}}, "x": "' }],
    ['query', { table: 'items', key_condition: '#d = :d', names: { '#d': 'day' }, values: { ':d': { S: 'x' } }, index: 'a"}' }],
  ];
  const before = await request(server.endpoint, { method: 'GET', path: '/_stator/clock', headers: { 'X-Stator-Management': 'true' } });
  for (const [name, args] of tries) await use(client, name, args, { failed: true });
  assert.deepEqual((await use(client, 'get_item', { table: 'items', key })), { found: false });
  assert.deepEqual((await use(client, 'list_tables')).tables, ['items', 'votes']);
  assert.deepEqual((await use(client, 'show_faults')).tables, {});
  assert.deepEqual(await use(client, 'show_clock'), before.json());
});

test('with leave to write, an agent makes a table, writes and reads back', async (t) => {
  const client = await overStdio(['--allow-writes']);
  t.after(() => client.close());
  const table = 'made';
  await use(client, 'create_table', {
    definition: {
      TableName: table, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    },
  });
  t.after(() => call(server.endpoint, 'DeleteTable', { TableName: table }));
  assert.equal((await use(client, 'describe_table', { table })).Table.TableStatus, 'ACTIVE');
  const item = { id: { S: 'é "quoted"\n' }, tags: { SS: ['a', 'b'] }, deep: { M: { l: { L: [{ N: '1.50' }, { NULL: true }] } } } };
  assert.equal((await use(client, 'put_item', { table, item })).done, true);
  const read = await use(client, 'get_item', { table, key: { id: item.id }, consistent: true });
  assert.deepEqual(read, { found: true, item: { ...item, deep: { M: { l: { L: [{ N: '1.5' }, { NULL: true }] } } } } });
  assert.match(await use(client, 'put_item', { table, item, condition: 'attribute_not_exists(id)' }, { failed: true }),
    /^ConditionalCheckFailedException: /);
  const updated = await use(client, 'update_item',
    { table, key: { id: item.id }, update: 'ADD #n :one', names: { '#n': 'count' }, values: { ':one': { N: '1' } } });
  assert.deepEqual(updated.item.count, { N: '1' });
  assert.deepEqual((await use(client, 'delete_item', { table, key: { id: item.id } })).deleted_item.count, { N: '1' });
  assert.deepEqual(await use(client, 'get_item', { table, key: { id: item.id } }), { found: false });
  const clock = await use(client, 'show_clock');
  const later = await use(client, 'advance_clock', { by: '1h' });
  assert.equal(Math.round(later.epochSeconds - clock.epochSeconds), 3600);
});

test('PartiQL is planned, and a full scan is refused until it is wanted', async (t) => {
  for (let i = 0; i < 30; ++i) await put('items', { day: { S: 'd' }, id: { S: String(i).padStart(2, '0') }, v: { N: String(i) } });
  const client = await overStdio();
  t.after(() => client.close());
  const plan = async (statement, parameters) =>
    (await use(client, 'explain_partiql', { statement, ...(parameters && { parameters }) })).plan;
  assert.equal((await plan("SELECT * FROM items WHERE day = 'd' AND id = '01'")).access, 'item');
  const query = await plan('SELECT * FROM items WHERE day = ? AND id > ? AND v = ?', [{ S: 'd' }, { S: '05' }, { N: '7' }]);
  assert.equal(query.access, 'query');
  assert.deepEqual(query.conditions_by_key, ['day', 'id']);
  assert.equal(query.filters_what_is_read, true);
  const scan = await plan("SELECT * FROM votes WHERE who = 'w1'");
  assert.equal(scan.full_scan, true);
  assert.equal(scan.advice, 'FROM "votes"."by-who" reads only items with that who');
  assert.equal((await plan('SELECT * FROM "votes"."by-who" WHERE who = \'w1\'')).access, 'query');

  const statement = 'SELECT id FROM items WHERE v = 7';
  const refusal = await client.callTool({ name: 'partiql', arguments: { statement } });
  assert.equal(refusal.isError, true);
  assert.match(refusal.structuredContent.refused, /^Full scan: .*allow_full_scan: true/);
  const wanted = await use(client, 'partiql', { statement, allow_full_scan: true, limit: 1000 });
  assert.deepEqual(wanted.items, [{ id: { S: '07' } }]);

  // Pages: a limit of items to look at, and where to go on.
  const first = await use(client, 'partiql', { statement: "SELECT id FROM items WHERE day = 'd'", limit: 20 });
  assert.equal(first.count, 20);
  const rest = await use(client, 'partiql', { statement: "SELECT id FROM items WHERE day = 'd'", limit: 20, next_token: first.next_token });
  assert.equal(rest.count, 10);
  assert.equal(rest.next_token, undefined);
});

test('long answers are cut, and say where to go on', async (t) => {
  const client = await overStdio();
  t.after(() => client.close());
  const long = 'x'.repeat(9000);
  for (let i = 0; i < 40; ++i) await put('items', { day: { S: 'long' }, id: { S: String(i).padStart(2, '0') }, long: { S: long } });
  await put('items', { day: { S: 'huge' }, id: { S: '0' }, huge: { S: 'x'.repeat(300_000) }, small: { S: 'x' } });
  const args = { table: 'items', key_condition: '#d = :d', names: { '#d': 'day' }, values: { ':d': { S: 'long' } }, limit: 1000 };
  const seen = [];
  for (let start; ;) {
    const page = await use(client, 'query', { ...args, ...(start && { start_key: start }) });
    assert.ok(JSON.stringify(page).length < 110_000);
    seen.push(...page.items.map(({ id }) => id.S));
    start = page.next_start_key;
    if (start === undefined) break;
    assert.match(page.note, /next_start_key/);
  }
  assert.deepEqual(seen, Array.from({ length: 40 }, (_, i) => String(i).padStart(2, '0')));
  const huge = await use(client, 'get_item', { table: 'items', key: { day: { S: 'huge' }, id: { S: '0' } } });
  assert.equal(huge.item, undefined);
  assert.ok(huge.attribute_sizes.huge > 300_000);
  const scanned = await use(client, 'query', { ...args, values: { ':d': { S: 'huge' } } });
  assert.equal(scanned.count, 0);
  assert.ok(scanned.attribute_sizes.huge > 300_000);
});

test('a design is simulated from a lesson', async (t) => {
  const client = await overStdio();
  t.after(() => client.close());
  const { lessons } = await use(client, 'lessons');
  assert.ok(lessons.some(({ name }) => name === 'hot-date'));
  const lesson = await use(client, 'lessons', { name: 'hot-date' });
  const { summary } = await use(client, 'simulate', { scenario: lesson.scenarios[0].toml });
  assert.match(summary, /Hot key "/);
  assert.match(await use(client, 'simulate', { scenario: '[[tables]]\nname = 1' }, { failed: true }), /^scenario\.toml:/);
});

// Starts `stator mcp` over HTTP and returns its URL.
async function overHttp(t, args = []) {
  const child = spawn(binary, ['mcp', '--endpoint', server.endpoint, '--http-port', '0', ...args],
    { env: clean, stdio: ['ignore', 'ignore', 'pipe'] });
  t.after(async () => {
    child.kill('SIGTERM');
    const [code] = await once(child, 'exit');
    assert.equal(code, 0);
  });
  let log = '';
  for await (const chunk of child.stderr) {
    log += chunk;
    const found = /mcp_listening url=(\S+)/.exec(log);
    if (found) {
      child.stderr.resume();
      return found[1];
    }
  }
  throw new Error(`stator mcp did not listen:\n${log}`);
}

test('the same over HTTP, with a token', async (t) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-mcp-'));
  t.after(() => fs.rmSync(directory, { recursive: true }));
  const file = path.join(directory, 'token');
  fs.writeFileSync(file, 'a-long-secret\n', { mode: 0o600 });
  const url = new URL(await overHttp(t, ['--allow-writes', '--token-file', file]));
  await assert.rejects(connect(new StreamableHTTPClientTransport(url)));
  const client = await connect(new StreamableHTTPClientTransport(url, { requestInit: { headers: { Authorization: 'Bearer a-long-secret' } } }));
  t.after(() => client.close());
  const item = { day: { S: 'http' }, id: { S: '1' }, v: { B: 'AQID' } };
  await use(client, 'put_item', { table: 'items', item });
  assert.deepEqual((await use(client, 'get_item', { table: 'items', key: { day: item.day, id: item.id } })).item, item);
  const many = await Promise.all(Array.from({ length: 20 }, () => use(client, 'list_tables')));
  assert.equal(many.length, 20);
});

test('over HTTP, pages of other sites and strange messages get nothing', async (t) => {
  const url = await overHttp(t);
  const origin = new URL(url).origin;
  const post = (body, headers = {}) => request(origin, { path: '/mcp', body, headers: { 'Content-Type': 'application/json', ...headers } });
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
  assert.equal((await post(ping)).status, 200);
  assert.equal((await post(ping, { Origin: 'https://evil.example' })).status, 403);
  assert.equal((await post(ping, { Host: 'evil.example' })).status, 403);
  assert.equal((await post(ping, { 'MCP-Protocol-Version': '1999-01-01' })).status, 400);
  assert.equal((await post('{"')).status, 400);
  assert.equal((await request(origin, { method: 'GET', path: '/mcp' })).status, 405);
  // The port lends no page the key or the header of management calls.
  assert.equal((await request(origin, { method: 'GET', path: '/_stator/status', headers: { 'X-Stator-Management': 'true' } })).status, 404);
  assert.equal((await post(ping)).status, 200);
});

test('a client without a handshake is served too, over both transports', async (t) => {
  const url = new URL(await overHttp(t));
  const transports = [
    new modernStdio.StdioClientTransport({ command: binary, args: ['mcp', '--endpoint', server.endpoint], env: clean, stderr: 'ignore' }),
    new modern.StreamableHTTPClientTransport(url),
  ];
  for (const transport of transports) {
    const client = new modern.Client({ name: 'stator-tests', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
    await client.connect(transport);
    t.after(() => client.close());
    assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
    assert.ok((await client.listTools()).tools.length > 10);
    assert.ok((await use(client, 'list_tables')).tables.includes('votes'));
    await use(client, 'put_item', { table: 'items', item: { day: { S: 'x' }, id: { S: 'x' } } }, { failed: true });
  }
});

// Answers to lines of text, one a line, until standard input has ended.
async function lines(text) {
  const child = spawn(binary, ['mcp', '--endpoint', server.endpoint], { env: clean, stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.end(text);
  const chunks = [];
  for await (const chunk of child.stdout) chunks.push(chunk);
  if (child.exitCode === null) await once(child, 'exit');
  assert.equal(child.exitCode, 0);
  return Buffer.concat(chunks).toString().split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

test('messages that are damaged in any way end nothing', async () => {
  const whole = Buffer.from(JSON.stringify({
    jsonrpc: '2.0', id: 1, method: 'tools/call',
    params: { name: 'query', arguments: { table: 'items', key_condition: '#d = :d', names: { '#d': 'day' }, values: { ':d': { S: 'd' } } } },
  }));
  let seed = 32;
  const random = (below) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor(seed / 2147483648 * below);
  };
  const damaged = Array.from({ length: 400 }, () => {
    const message = Buffer.from(whole);
    for (let i = random(4); i >= 0; --i) message[random(message.length)] = [10, 0x22, 0x7b, 0x5b, 0x5d, 0x2c, 0, 0xff, 0x30][random(9)];
    return Buffer.concat([message.subarray(0, random(4) === 0 ? random(message.length) : message.length), Buffer.from('\n')]);
  });
  const ping = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 'last', method: 'ping' }));
  const answers = await lines(Buffer.concat([...damaged, ping]));
  assert.deepEqual(answers.at(-1), { jsonrpc: '2.0', id: 'last', result: {} });
  for (const answer of answers) assert.ok(answer.jsonrpc === '2.0' && ('result' in answer) !== ('error' in answer));
});

test('a server with access control judges the agent by its key', async (t) => {
  const env = { STATOR_ROOT_ACCESS_KEY_ID: 'AKIAROOTOFTHISTEST00', STATOR_ROOT_SECRET_ACCESS_KEY: 'root-secret-of-this-test-0123456789abcd' };
  const guarded = await Server.startOne({ args: ['--in-memory', '--auth=enforce'], dataDir: null, env });
  t.after(() => guarded.stop());
  const start = (key) => connect(new StdioClientTransport({
    command: binary, args: ['mcp', '--endpoint', guarded.endpoint], env: { ...clean, ...key }, stderr: 'ignore',
  }));
  const root = await start({ AWS_ACCESS_KEY_ID: env.STATOR_ROOT_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY: env.STATOR_ROOT_SECRET_ACCESS_KEY });
  t.after(() => root.close());
  assert.deepEqual((await use(root, 'list_tables')).tables, []);
  assert.equal((await use(root, 'server_status')).server.engine, 'memory');
  const stranger = await start({});
  t.after(() => stranger.close());
  assert.match(await use(stranger, 'list_tables', {}, { failed: true }), /UnrecognizedClientException|InvalidSignature/);
  await use(stranger, 'server_status', {}, { failed: true });
});
