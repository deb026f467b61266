// The fault dial, met by an unmodified SDK: what it retries by itself, what the application has to cope with, and readers
// that lag behind. Time stands still unless a test moves it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DynamoDB } from '@aws-sdk/client-dynamodb';

import { N, S, assertFails, assertSame } from './clients.mjs';
import { Server, isStator, request } from './harness.mjs';

const options = { skip: process.env.STATOR_ENDPOINT || !isStator ? 'needs a server of its own' : false };
const table = 'faulty';
let server, ddb, patient;

async function manage(method, path, body) {
  const reply = await request(server.endpoint, { method, path: `/_stator/${path}`, headers: { 'X-Stator-Management': 'true' }, body: body === undefined ? '' : JSON.stringify(body) });
  return { status: reply.status, ...reply.json() };
}
// Sets the table's faults, and takes them away when the test ends.
async function withFaults(t, ...faults) {
  t.after(() => manage('DELETE', 'faults'));
  const answer = await manage('PUT', `faults/${table}`, { seed: 7, faults });
  assert.equal(answer.status, 200, answer.message);
}
const advance = (time) => manage('POST', 'clock', { advance: time });
const struck = async () => (await manage('GET', `faults/${table}`)).faults.map((rule) => rule.struck);
const keyOf = (name) => ({ pk: S(name) });
const put = (client, name, n, more = {}) => client.putItem({ TableName: table, Item: { ...keyOf(name), n: N(n), ...more } });
const get = async (name, consistent) => (await ddb.getItem({ TableName: table, Key: keyOf(name), ConsistentRead: consistent })).Item?.n.N;

before(async () => {
  if (options.skip) return;
  server = await Server.start({ one: true, args: ['--in-memory', '--clock', 'manual'] });
  const base = { endpoint: server.endpoint, region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' } };
  ddb = new DynamoDB({ ...base, maxAttempts: 1 });
  patient = new DynamoDB({ ...base, maxAttempts: 10 });
  await ddb.createTable({
    TableName: table, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'g', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    GlobalSecondaryIndexes: [{ IndexName: 'by-g', KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' } }],
  });
});
after(async () => {
  ddb?.destroy();
  patient?.destroy();
  await server?.stop();
});

test('throttles carry their reasons, and the SDK gets past them', options, async (t) => {
  await withFaults(t, { fault: 'throttle', operations: ['PutItem'], count: 1 }, { fault: 'throttle', operations: ['PutItem'], count: 2, cause: 'provisioned' });
  const error = await assertFails(put(ddb, 'throttled', 1), 'ThrottlingException');
  assert.deepEqual(error.throttlingReasons, [{ reason: 'TableWriteKeyRangeThroughputExceeded', resource: `arn:aws:dynamodb:us-east-1:000000000000:table/${table}` }]);
  const answer = await put(patient, 'throttled', 2);
  assert.equal(answer.$metadata.attempts, 3);
  assert.equal(await get('throttled'), '2');
  assert.deepEqual(await struck(), [1, 2]);
  await withFaults(t, { fault: 'throttle', cause: 'account', count: 1 });
  assert.equal((await assertFails(put(ddb, 'throttled', 1), 'RequestLimitExceeded')).ThrottlingReasons[0].reason, 'TableWriteAccountLimitExceeded');
});

test('a seed repeats itself', options, async (t) => {
  const course = async (seed) => {
    await manage('PUT', `faults/${table}`, { seed, faults: [{ fault: 'error', probability: 0.5 }] });
    let out = '';
    for (let i = 0; i < 30; ++i) out += await get('any').then(() => '.', (error) => (assert.equal(error.name, 'InternalServerError'), 'x'));
    return out;
  };
  t.after(() => manage('DELETE', 'faults'));
  const first = await course(1);
  assert.match(first, /x/);
  assert.match(first, /\./);
  assert.equal(await course(1), first);
  assert.notEqual(await course(2), first);
});

test('an answer that is lost is a write that is done', options, async (t) => {
  const add = (client) => client.updateItem({ TableName: table, Key: keyOf('counter'), UpdateExpression: 'ADD n :n', ExpressionAttributeValues: { ':n': N(1) } });
  await withFaults(t, { fault: 'error', when: 'after', operations: ['UpdateItem'], count: 1 });
  await assertFails(add(ddb), 'InternalServerError', 'Internal server error');
  assert.equal(await get('counter'), '1');
  await withFaults(t, { fault: 'error', when: 'after', operations: ['UpdateItem'], count: 1 });
  await add(patient);
  assert.equal(await get('counter'), '3', 'the SDK tried again what had been done: ADD is not idempotent');
  await withFaults(t, { fault: 'error', when: 'before', operations: ['UpdateItem'], count: 2 });
  await add(patient);
  assert.equal(await get('counter'), '4');
});

test('conflicts', options, async (t) => {
  await put(ddb, 'here', 1);
  await withFaults(t, { fault: 'conflict', count: 3 });
  const error = await assertFails(ddb.transactWriteItems({ TransactItems: [{ Delete: { TableName: table, Key: keyOf('here') } }] }), 'TransactionCanceledException', '[TransactionConflict]');
  assert.deepEqual(error.CancellationReasons, [{ Code: 'TransactionConflict', Message: 'Transaction is ongoing for the item' }]);
  await assertFails(ddb.transactGetItems({ TransactItems: [{ Get: { TableName: table, Key: keyOf('here') } }] }), 'TransactionCanceledException', '[TransactionConflict]');
  await assertFails(put(patient, 'here', 2), 'TransactionConflictException', 'Transaction is ongoing for the item');
  assert.equal(await get('here'), '1');
  await withFaults(t, { fault: 'in-progress', count: 1 });
  const once = { ClientRequestToken: 'a-token-of-faults', TransactItems: [{ Update: { TableName: table, Key: keyOf('here'), UpdateExpression: 'ADD n :n', ExpressionAttributeValues: { ':n': N(1) } } }] };
  await ddb.transactWriteItems(once);
  await assertFails(ddb.transactWriteItems(once), 'TransactionInProgressException');
  await patient.transactWriteItems(once);
  assert.equal(await get('here'), '2');
});

test('batches are half done, and done in the end', options, async (t) => {
  await withFaults(t, { fault: 'unprocessed', share: 0.5 });
  let requests = { [table]: Array.from({ length: 25 }, (_, i) => ({ PutRequest: { Item: keyOf(`batch${i}`) } })) };
  let rounds = 0;
  for (; Object.keys(requests).length > 0; ++rounds) requests = (await ddb.batchWriteItem({ RequestItems: requests })).UnprocessedItems;
  assert.equal(rounds, 5, '25, 12, 6, 3, 1');
  let keys = { [table]: { Keys: Array.from({ length: 25 }, (_, i) => keyOf(`batch${i}`)) } };
  const found = new Set();
  for (; Object.keys(keys).length > 0;) {
    const { Responses, UnprocessedKeys } = await ddb.batchGetItem({ RequestItems: keys });
    for (const item of Responses[table]) found.add(item.pk.S);
    keys = UnprocessedKeys;
  }
  assert.equal(found.size, 25);
});

test('stale, then fresh', options, async (t) => {
  await put(ddb, 'old', 1);
  await advance('10s');
  await withFaults(t, { fault: 'stale-read', age: '2s' });
  await put(ddb, 'old', 2);
  await put(ddb, 'new', 1);
  assert.equal(await get('old'), '1');
  assert.equal(await get('old', true), '2');
  assert.equal(await get('new'), undefined);
  const scan = async (consistent) => (await ddb.scan({ TableName: table, ConsistentRead: consistent })).Items.map((item) => item.pk.S);
  assert.ok(!(await scan(false)).includes('new'));
  assert.ok((await scan(true)).includes('new'));
  await advance('2s');
  assert.equal(await get('old'), '2');
  assert.ok((await scan(false)).includes('new'));
});

test('an index that lags', options, async (t) => {
  await withFaults(t, { fault: 'index-delay', delay: '5s' });
  const query = async () => (await ddb.query({ TableName: table, IndexName: 'by-g', KeyConditionExpression: 'g = :g', ExpressionAttributeValues: { ':g': S('lag') } })).Items.map((item) => item.n.N);
  await put(ddb, 'lagging', 1, { g: S('lag') });
  assertSame(await query(), []);
  assert.equal(await get('lagging'), '1', 'the table does not lag');
  await advance('3s');
  await put(ddb, 'lagging', 2, { g: S('lag') });
  assertSame(await query(), []);
  await advance('2s');
  assertSame(await query(), ['1']);
  await advance('3s');
  assertSame(await query(), ['2']);
});

test('slow replies do not delay other requests', options, async (t) => {
  await withFaults(t, { fault: 'slow', delay: '1s', operations: ['GetItem'] });
  const start = performance.now();
  await Promise.all(Array.from({ length: 40 }, () => get('any')));
  const slow = performance.now() - start;
  assert.ok(slow >= 1000, `${slow} ms`);
  assert.ok(slow < 40 * 1000 / 2, `${slow} ms: they waited for each other`);
});

test('settings that make no sense are refused with a sentence', options, async () => {
  for (const [fault, message] of [
    [{ fault: 'throttle', probability: 2 }, 'probability must be above 0 and at most 1'],
    [{ fault: 'lightning' }, 'there is no fault lightning'],
    [{ fault: 'stale-read' }, 'needs age'],
    [{ fault: 'conflict', operations: ['Query'] }, 'cannot strike Query'],
    [{ fault: 'slow', delay: ['1s', '2s'] }, 'delay must be one value'],
    [{ fault: 'slow', delay: { s: 1 } }, 'wrong JSON type'],
  ]) {
    const answer = await manage('PUT', `faults/${table}`, { faults: [fault] });
    assert.equal(answer.status, 400);
    assert.ok(answer.message.includes(message), answer.message);
  }
  assert.equal((await manage('PUT', 'faults', { 'no/table': { faults: [] } })).status, 400);
  assert.equal((await manage('PUT', 'faults/of-later', { faults: [{ fault: 'error' }] })).status, 200);
  assert.equal((await manage('PUT', 'faults', {})).status, 200);
  assert.deepEqual((await manage('GET', 'faults')), { status: 200 });
});
