// Time and memory of one request: expressions, values and bodies that are as expensive as a request can be, four at once,
// against two I/O threads. Every case wants the right answer, that another client is served meanwhile, and a bound on what
// the process holds.
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import zlib from 'node:zlib';

import { call, isStator, Server } from '../sdk/harness.mjs';
import { Judge, residentBytes } from './judge.mjs';

const ours = { skip: process.env.STATOR_ENDPOINT || !isStator ? 'the server is not ours' : false };
const MB = 2 ** 20;
const kAttackers = 4;
const TableName = 'attacked';

let server;
let judge;
const post = (operation, body, options = {}) => call(server.endpoint, operation, body, { timeout: 120000, ...options });
const must = async (operation, body) => {
  const reply = await post(operation, body);
  assert.equal(reply.status, 200, reply.text.slice(0, 500));
  return reply.json();
};
const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const key = (pk) => ({ pk: { S: pk } });

if (!ours.skip) {
  server = await Server.start({ args: ['--io-threads', '2', '--in-memory'] });
  judge = await Judge.of(server, { probeMillis: 1000 });
  await must('CreateTable', {
    TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  });
  for (let i = 0; i < kAttackers; i++) await must('PutItem', { TableName, Item: { ...key(`long${i}`), x: { S: 'a'.repeat(400_000) } } });
}
after(async () => {
  judge?.close();
  await server?.stop();
});

// Four attackers at once. Returns their replies, and prints what the judge saw.
async function attack(t, send, { peak = 300 * MB } = {}) {
  const started = performance.now();
  const before = residentBytes(server);
  const replies = await judge.watch(() => Promise.all(times(kAttackers, send)));
  const { slowestMillis, peakBytes, cpuSeconds } = judge.verdict;
  t.diagnostic(`${(performance.now() - started).toFixed(0)} ms, ${cpuSeconds.toFixed(2)} s CPU, slowest probe ${slowestMillis.toFixed(0)} ms, ` +
    `${((peakBytes - before) / MB).toFixed(0)} MB more than before`);
  assert.ok(peakBytes - before <= peak, `${((peakBytes - before) / MB).toFixed(0)} MB more than before`);
  return replies;
}
function refused(replies, message) {
  for (const reply of replies) {
    assert.equal(reply.status, 400, reply.text.slice(0, 500));
    assert.match(reply.json().message ?? reply.json().Message, message);
  }
}

describe('expressions', ours, () => {
  // 150 searches for 200 KB in 400 KB: a search that costs the product takes 1.3 s each.
  const needle = { S: `${'a'.repeat(200_000)}b` };
  const contains = times(150, () => 'contains(x,:v)').join(' OR ');
  test('contains, in a condition under the latch of an item', async (t) => {
    const replies = await attack(t, (i) => post('UpdateItem', {
      TableName, Key: key(`long${i}`), UpdateExpression: 'SET y = :y', ConditionExpression: contains,
      ExpressionAttributeValues: { ':v': needle, ':y': { N: '1' } },
    }));
    for (const reply of replies) assert.match(reply.text, /ConditionalCheckFailedException/);
  });
  test('contains, all four on one item', async (t) => {
    const replies = await attack(t, () => post('PutItem', {
      TableName, Item: key('long0'), ConditionExpression: contains, ExpressionAttributeValues: { ':v': needle },
    }));
    for (const reply of replies) assert.match(reply.text, /ConditionalCheckFailedException/);
  });
  test('contains, in a filter', async (t) => {
    const replies = await attack(t, () => post('Scan', {
      TableName, FilterExpression: contains, ExpressionAttributeValues: { ':v': needle },
    }));
    for (const reply of replies) assert.equal(reply.json().Count, 0);
  });
  test('contains, in a transaction, a statement and a legacy condition', async (t) => {
    const replies = await attack(t, (i) => [
      () => post('TransactWriteItems', { TransactItems: times(3, (n) => ({ ConditionCheck: {
        TableName, Key: key(`long${n}`), ConditionExpression: contains, ExpressionAttributeValues: { ':v': needle } } })) }),
      () => post('ExecuteStatement', {
        Statement: `SELECT * FROM "${TableName}" WHERE pk = 'long1' AND (${times(149, () => 'contains(x,?)').join(' OR ')})`,
        Parameters: times(149, () => ({ S: `${'a'.repeat(40_000)}b` })) }),
      () => post('ExecuteStatement', {
        Statement: `UPDATE "${TableName}" SET y = 1 WHERE pk = 'long2' AND (${times(100, () => 'contains(x,?)').join(' OR ')})`,
        Parameters: times(100, () => ({ S: `${'a'.repeat(40_000)}b` })) }),
      () => post('DeleteItem', { TableName, Key: key('long3'), Expected: { x: { ComparisonOperator: 'CONTAINS', AttributeValueList: [needle] } } }),
    ][i]());
    assert.match(replies[0].text, /TransactionCanceledException/);
    assert.deepEqual(replies[1].json().Items, []);
    assert.match(replies[2].text, /ConditionalCheckFailedException/);
    assert.match(replies[3].text, /ConditionalCheckFailedException/);
  });
  test('150 names in an item of 40,000 attributes, and indexes of long lists', async (t) => {
    const wide = Object.fromEntries(times(40_000, (i) => [`a${i}`, { NULL: true }]));
    await must('PutItem', { TableName, Item: { ...key('wide'), ...wide } });
    await must('PutItem', { TableName, Item: { ...key('list'), l: { L: times(190_000, () => ({ NULL: true })) } } });
    const names = times(150, (i) => `a${39_999 - i}=:n`).join(' AND ');
    const indexes = times(150, (i) => `l[${189_999 - i}]=:n`).join(' AND ');
    const replies = await attack(t, (i) => post('UpdateItem', {
      TableName, Key: key(i % 2 === 0 ? 'wide' : 'list'), UpdateExpression: 'SET y = :n',
      ConditionExpression: i % 2 === 0 ? names : indexes, ExpressionAttributeValues: { ':n': { NULL: true } },
    }));
    for (const reply of replies) assert.equal(reply.status, 200, reply.text);
  });
  test('a legacy filter of 100,000 conditions ends its page early and goes on from there', async (t) => {
    const small = 'small';
    await must('CreateTable', {
      TableName: small, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    for (let i = 0; i < 200; i++) await must('BatchWriteItem', { RequestItems: { [small]: times(25, (n) => ({ PutRequest: { Item: key(`${i}.${n}`) } })) } });
    const ScanFilter = Object.fromEntries(times(100_000, (i) => [`a${i}`, { ComparisonOperator: 'NULL' }]));
    const body = JSON.stringify({ TableName: small, ScanFilter, Select: 'COUNT' });
    const replies = await attack(t, () => post('Scan', body));
    for (const reply of replies) {
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.json().Count, reply.json().ScannedCount);
      assert.ok(reply.json().LastEvaluatedKey && reply.json().Count > 100 && reply.json().Count < 5000, reply.text);
    }
  });
});

describe('updates', ours, () => {
  const tooLarge = /Item size to update has exceeded the maximum allowed size/;
  const sections = (count, section, value) => `${section} ${times(count, (i) => `l${i} ${value}`).join(', ')}`;
  const update = (pk, UpdateExpression, value) => post('UpdateItem', { TableName, Key: key(pk), UpdateExpression, ExpressionAttributeValues: { ':v': value } });
  test('one value of 2 MB, 290 times', async (t) => {
    refused(await attack(t, (i) => update(`new${i}`, sections(290, 'SET', '= :v'), { S: 'x'.repeat(2_000_000) })), tooLarge);
  });
  test('list_append of one list, 140 times', async (t) => {
    refused(await attack(t, (i) => update(`new${i}`, sections(140, 'SET', '= list_append(:v,:v)'), { L: [{ S: 'x'.repeat(300_000) }] })), tooLarge);
  });
  test('ADD to and DELETE from 290 sets', async (t) => {
    const set = { SS: times(150_000, (i) => `${100_000 + i}`) };
    refused(await attack(t, (i) => update(`new${i}`, sections(290, 'ADD', ':v'), set)), tooLarge);
    await must('PutItem', { TableName, Item: { ...key('sets'), ...Object.fromEntries(times(290, (i) => [`l${i}`, { SS: times(100, (n) => `${n}`) }])) } });
    for (const reply of await attack(t, () => update('sets', sections(290, 'DELETE', ':v'), set))) assert.equal(reply.status, 200, reply.text);
  });
  test('in a transaction and a statement', async (t) => {
    const replies = await attack(t, (i) => (i % 2 === 0
      ? post('TransactWriteItems', { TransactItems: [{ Update: {
        TableName, Key: key('new'), UpdateExpression: sections(290, 'SET', '= :v'), ExpressionAttributeValues: { ':v': { S: 'x'.repeat(2_000_000) } } } }] })
      : post('ExecuteStatement', { Statement: `UPDATE "${TableName}" ${times(20, (n) => `SET l${n} = ?`).join(' ')} WHERE pk = 'long1'`,
        Parameters: times(20, () => ({ S: 'x'.repeat(300_000) })) })));
    for (const reply of replies) assert.match(reply.text, tooLarge);
  });
  test('400,000 legacy updates', async (t) => {
    const AttributeUpdates = Object.fromEntries(times(400_000, (i) => [`a${i}`, { Action: 'DELETE' }]));
    const bodies = times(kAttackers, (i) => JSON.stringify({ TableName, Key: key(`new${i}`), AttributeUpdates }));
    const replies = await attack(t, (i) => post('UpdateItem', bodies[i]), { peak: 1600 * MB });
    for (const reply of replies) assert.equal(reply.status, 200, reply.text.slice(0, 300));
  });
});

describe('bodies', ours, () => {
  const sizes = /Item size has exceeded the maximum allowed size|exceeds max size/;
  const put = (value) => JSON.stringify({ TableName, Item: { ...key('big'), v: value } });
  for (const [name, body] of [
    ['a set of 1.4 million numbers', () => put({ NS: times(1_400_000, (i) => `${1_000_000 + i}`) })],
    ['a set of 1.4 million numbers, backwards', () => put({ NS: times(1_400_000, (i) => `${9_000_000 - i}`) })],
    ['a set of 1.2 million texts', () => put({ SS: times(1_200_000, (i) => `${1_000_000 + i * 7919 % 1_200_000}`) })],
    ['a list of 1.2 million numbers', () => put({ L: times(1_200_000, () => ({ N: '1' })) })],
    ['a list of a million numbers of 126 digits', () => put({ L: times(1_000_000, () => ({ N: '1E125' })) })],
    ['a million attributes', () => `{"TableName":"${TableName}","Item":{"pk":{"S":"big"},${times(700_000, (i) => `"a${(i * 7919) % 700_000}":{"NULL":true}`).join(',')}}}`],
  ]) {
    test(name, async (t) => {
      const text = body();
      assert.ok(text.length < 16 * MB, `${text.length}`);
      refused(await attack(t, () => post('PutItem', text), { peak: 1600 * MB }), sizes);
    });
  }
  test('16 MB that are 16 KB compressed', async (t) => {
    const body = zlib.gzipSync(put({ L: times(1_200_000, () => ({ N: '1' })) }));
    const replies = await attack(t, () => post('PutItem', body, { headers: { 'Content-Encoding': 'gzip' } }), { peak: 1600 * MB });
    refused(replies, sizes);
  });
  test('replies of 16 MB, compressed', async (t) => {
    for (let i = 0; i < 42; i++) await must('PutItem', { TableName, Item: { ...key(`reply${i}`), v: { S: times(400, (n) => `${n * i}`.padEnd(950, 'abc')).join('') } } });
    const replies = await attack(t, () => post('BatchGetItem', { RequestItems: { [TableName]: { Keys: times(42, (i) => key(`reply${i}`)) } } },
      { headers: { 'Accept-Encoding': 'gzip' } }), { peak: 800 * MB });
    for (const reply of replies) {
      assert.equal(reply.status, 200);
      const text = reply.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(reply.body).toString() : reply.text;
      assert.ok(JSON.parse(text).Responses[TableName].length >= 40);
    }
  });
});
