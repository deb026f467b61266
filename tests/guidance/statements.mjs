// Shared by the files of this suite that ask a server. Each file starts one server in memory whose clock stands still; each test
// makes the tables that it needs.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { advanceClock, call, request, Server } from '../sdk/harness.mjs';

export const S = (text) => ({ S: text });
export const N = (number) => ({ N: String(number) });
export const KB = 1024;

// Bytes of an item of strings and numbers given as text, by the rules of the statements.
const bytesOf = (item) => Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value.S), 0);
// Pads the item to `bytes` by the attribute "filler".
export function sized(item, bytes) {
  const rest = bytes - bytesOf(item) - 'filler'.length;
  assert.ok(rest >= 0, `${bytes} bytes are too few`);
  return { ...item, filler: S('x'.repeat(rest)) };
}

// A server for the tests of one file. `ask` answers a request's body or throws its error; `fails` answers the error.
export function serverOfFile(...args) {
  const it = { server: undefined };
  before(async () => { it.server = await Server.start({ args: ['--in-memory', '--clock=manual', '--clock-start=2026-11-22T10:00:00Z', ...args] }); });
  after(async () => { await it.server?.stop(); });
  it.raw = async (operation, body) => {
    const reply = await call(it.server.endpoint, operation, body);
    return { status: reply.status, ...reply.json() };
  };
  it.ask = async (operation, body) => {
    const { status, ...answer } = await it.raw(operation, body);
    assert.equal(status, 200, `${operation}: ${JSON.stringify(answer)}`);
    return answer;
  };
  it.fails = async (operation, body) => {
    const { status, ...answer } = await it.raw(operation, body);
    assert.notEqual(status, 200, `${operation} was not refused`);
    return { name: answer.__type.split('#').pop(), message: answer.message ?? answer.Message ?? '', ...answer };
  };
  it.advance = (by) => advanceClock(it.server, by);
  it.manage = async (path, method = 'GET', body) => (await request(it.server.endpoint, {
    method, path: `/_stator/${path}`, headers: { 'X-Stator-Management': 'true' }, body: body && JSON.stringify(body) })).json();

  // Keys are strings: "pk" or "pk sk". `indexes` and `locals`: { name: { key, projection, attributes, write } }.
  it.table = async (TableName, key = 'pk', { indexes = {}, locals = {}, read, write, ...more } = {}) => {
    const schema = (names) => names.split(' ').map((AttributeName, i) => ({ AttributeName, KeyType: i === 0 ? 'HASH' : 'RANGE' }));
    const all = [key, ...Object.values(indexes).map((index) => index.key), ...Object.values(locals).map((index) => index.key)];
    const throughput = (units) => (read === undefined ? {} : { ProvisionedThroughput: { ReadCapacityUnits: read, WriteCapacityUnits: units ?? write } });
    const index = ([IndexName, { key: its, projection = 'ALL', attributes }]) => ({ IndexName, KeySchema: schema(its),
      Projection: { ProjectionType: projection, ...(attributes && { NonKeyAttributes: attributes }) } });
    const global = Object.entries(indexes).map((one) => ({ ...index(one), ...throughput(one[1].write) }));
    const local = Object.entries(locals).map(index);
    await it.ask('CreateTable', { TableName, KeySchema: schema(key), ...(read === undefined ? { BillingMode: 'PAY_PER_REQUEST' } : throughput()),
      AttributeDefinitions: [...new Set(all.join(' ').split(' '))].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      ...(global.length > 0 && { GlobalSecondaryIndexes: global }), ...(local.length > 0 && { LocalSecondaryIndexes: local }), ...more });
    return TableName;
  };
  it.put = (TableName, Item, more = {}) => it.ask('PutItem', { TableName, Item, ReturnConsumedCapacity: 'INDEXES', ...more });
  it.get = (TableName, Key, more = {}) => it.ask('GetItem', { TableName, Key, ReturnConsumedCapacity: 'INDEXES', ...more });
  it.update = (TableName, Key, UpdateExpression, ExpressionAttributeValues, more = {}) => it.ask('UpdateItem', {
    TableName, Key, UpdateExpression, ExpressionAttributeValues, ReturnConsumedCapacity: 'INDEXES', ...more });
  it.delete = (TableName, Key, more = {}) => it.ask('DeleteItem', { TableName, Key, ReturnConsumedCapacity: 'INDEXES', ...more });
  it.query = (TableName, KeyConditionExpression, ExpressionAttributeValues, more = {}) => it.ask('Query', {
    TableName, KeyConditionExpression, ExpressionAttributeValues, ReturnConsumedCapacity: 'INDEXES', ...more });
  it.scan = (TableName, more = {}) => it.ask('Scan', { TableName, ReturnConsumedCapacity: 'INDEXES', ...more });
  return it;
}

export const units = (answer) => answer.ConsumedCapacity.CapacityUnits;
// Units of the table alone, and of a global or local index; 0 where it was not touched.
export const ofTable = (answer) => answer.ConsumedCapacity.Table.CapacityUnits;
export const ofIndex = (answer, name) => answer.ConsumedCapacity.GlobalSecondaryIndexes?.[name]?.CapacityUnits ??
  answer.ConsumedCapacity.LocalSecondaryIndexes?.[name]?.CapacityUnits ?? 0;
