// The differ itself: what it must call equal, what it must not, and that it shrinks what it finds.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { test } from 'node:test';
import { Client } from './client.mjs';
import { compare, errorText } from './compare.mjs';
import { World, GENERATORS } from './generate/world.mjs';
import { Random } from './generate/random.mjs';
import { RULES } from './known.mjs';
import { Minimiser } from './minimise.mjs';
import { canonicalNumber } from './numbers.mjs';

const ok = (body) => ({ status: 200, body });
const refused = (name, message) => ({ status: 400, body: { __type: `com.amazon#${name}`, message } });
const paths = (step, a, b) => compare(step, a, b).map(({ path }) => path);

test('sets and members are unordered, lists are not', () => {
  const step = { op: 'GetItem', request: {} };
  assert.deepEqual(paths(step, ok({ Item: { a: { SS: ['x', 'y'] }, b: { N: '1' } } }), ok({ Item: { b: { N: '1' }, a: { SS: ['y', 'x'] } } })), []);
  assert.deepEqual(paths(step, ok({ Item: { a: { L: [{ S: 'x' }, { S: 'y' }] } } }), ok({ Item: { a: { L: [{ S: 'y' }, { S: 'x' }] } } })),
    ['body.Item.a.L[0].S', 'body.Item.a.L[1].S']);
  assert.deepEqual(paths(step, ok({}), ok({ Item: {} })), ['body.Item']);
});

test('Scan order is free, Query order is not', () => {
  const [one, other] = [ok({ Items: [{ p: { S: 'a' } }, { p: { S: 'b' } }], Count: 2 }), ok({ Items: [{ p: { S: 'b' } }, { p: { S: 'a' } }], Count: 2 })];
  assert.deepEqual(paths({ op: 'Scan', request: {} }, one, other), []);
  assert.equal(paths({ op: 'Query', request: {} }, one, other).length, 2);
  assert.deepEqual(paths({ op: 'Scan', request: {} }, one, ok({ Items: [], Count: 0 })), ['body.Items', 'body.Count']);
});

test('the order of index entries is free where their keys are equal', () => {
  const entry = (p, n) => ({ p: { S: p }, n: { N: n } });
  const step = { op: 'Query', request: { IndexName: 'i' }, index: { hashes: [], ranges: [{ name: 'n' }], projection: {} } };
  const one = ok({ Items: [entry('a', '1'), entry('b', '1'), entry('c', '2')], Count: 3 });
  assert.deepEqual(paths(step, one, ok({ Items: [entry('b', '1'), entry('a', '1'), entry('c', '2')], Count: 3 })), []);
  assert.equal(paths(step, one, ok({ Items: [entry('a', '1'), entry('c', '2'), entry('b', '1')], Count: 3 })).length, 4);
  const page = { ...step, request: { IndexName: 'i', Limit: 1 } };
  assert.deepEqual(paths(page, ok({ Items: [entry('a', '1')], Count: 1 }), ok({ Items: [entry('b', '1')], Count: 1 })), []);
});

test('a change of a table that does not come to its end is a difference', () => {
  const step = { op: 'UpdateTable', request: {} };
  assert.deepEqual(paths(step, { ...ok({}), settled: false }, { ...ok({}), settled: true }), ['settled']);
});

test('errors differ by status, name, text and further members', () => {
  const step = { op: 'PutItem', request: {} };
  assert.deepEqual(paths(step, refused('X', 'text'), { status: 400, body: { __type: 'other#X', Message: 'text' } }), []);
  assert.deepEqual(paths(step, refused('X', 'text'), refused('Y', 'texts')), ['type', 'message']);
  assert.deepEqual(paths(step, refused('X', 'text'), ok({})), ['outcome']);
  const withItem = refused('X', 'text');
  withItem.body.Item = { p: { S: 'a' } };
  assert.deepEqual(paths(step, withItem, refused('X', 'text')), ['body.Item']);
  assert.equal(errorText(refused('X', 'keys: {#b, #a}')), 'keys: {#a, #b}');
});

test('canonical numbers', () => {
  const cases = { '1e2': '100', '+5': '5', '.5': '0.5', '-0': '0', '5.': '5', '1.50': '1.5', '0010': '10', '-1.5E2': '-150', '1e-2': '0.01', '0e126': '0' };
  for (const [text, expected] of Object.entries(cases)) assert.equal(canonicalNumber(text), expected, text);
  for (const text of ['', '.', 'e1', '1e', 'abc', '--1']) assert.equal(canonicalNumber(text), undefined, text);
});

test('a seed gives the same requests, and every operation comes up', () => {
  const steps = (seed) => {
    const world = new World(new Random(seed), 0);
    return [...world.setUp(), ...Array.from({ length: 400 }, () => world.step())].map(({ op, request, walk }) => ({ op, request, walk }));
  };
  assert.deepEqual(steps('s'), steps('s'));
  assert.notDeepEqual(steps('s'), steps('t'));
  const seen = new Set(steps('s').map(({ op }) => op));
  for (const { op } of GENERATORS) assert.ok(seen.has(op), op);
});

test('rules have an id of their own, a reason and a source, and do not excuse everything', () => {
  assert.equal(new Set(RULES.map(({ id }) => id)).size, RULES.length);
  for (const rule of RULES) {
    assert.ok(rule.reason.length > 10 && rule.source.length > 3, rule.id);
    const context = { step: { op: 'PutItem', request: {} }, stator: 'InternalServerError: oops', local: 'success', answers: [ok({}), ok({})] };
    assert.ok(!rule.explains({ path: 'outcome', stator: context.stator, local: context.local }, context), rule.id);
    assert.ok(!rule.explains({ path: 'body.Item.a.S', stator: 'x', local: 'y' }, { ...context, stator: 'success' }), rule.id);
  }
});

async function fakeServer(answer) {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const op = request.headers['x-amz-target'].split('.')[1];
      const body = op === 'ListTables' ? { TableNames: [] } : answer(op, JSON.parse(Buffer.concat(chunks)));
      response.writeHead(body.__type ? 400 : 200).end(JSON.stringify(body));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, client: new Client(`http://127.0.0.1:${server.address().port}`) };
}

test('a difference is reduced to the step and the members it needs', async () => {
  let stored = false;
  const good = await fakeServer(() => ({}));
  const faulty = await fakeServer((op, request) => {
    if (op === 'PutItem') stored = true;
    return op === 'GetItem' && stored && request.Key?.p ? { __type: 'x#Wrong', message: 'wrong' } : {};
  });
  const minimiser = new Minimiser(faulty.client, good.client, (step, differences) => {
    stored = false;
    return { rules: new Set(), unexplained: differences };
  });
  const noise = { op: 'DeleteItem', request: { TableName: 'tab' } };
  const { steps } = await minimiser.minimise([noise, { op: 'PutItem', request: { TableName: 'tab' } }, noise, noise,
    { op: 'GetItem', request: { TableName: 'tab', Key: { p: { S: 'a' }, k: { S: 'b' } }, ConsistentRead: true } }]);
  assert.deepEqual(steps.map(({ op }) => op), ['PutItem', 'GetItem']);
  assert.deepEqual(steps[1].request, { Key: { p: {} } });
  for (const { server, client } of [good, faulty]) {
    client.close();
    server.close();
  }
});
