// SDK clients, short spellings of attribute values and what the test files have in common.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import * as sdk from '@aws-sdk/client-dynamodb';

import { serverForTests } from './harness.mjs';

export const S = (value) => ({ S: value });
export const N = (value) => ({ N: String(value) });
export const B = (value) => ({ B: typeof value === 'string' ? new Uint8Array(Buffer.from(value)) : value });
export const BOOL = (value) => ({ BOOL: value });
export const NULL = { NULL: true };
export const L = (...elements) => ({ L: elements });
export const M = (members) => ({ M: members });
export const SS = (...members) => ({ SS: members });
export const NS = (...members) => ({ NS: members.map(String) });
export const BS = (...members) => ({ BS: members.map((member) => new Uint8Array(Buffer.from(member))) });

// Sets have no order, and binaries come as Uint8Array: a form in which equal values are deeply equal.
export function canonical(value) {
  if (value instanceof Uint8Array) return `bytes:${Buffer.from(value).toString('base64')}`;
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== 'object') return value;
  const result = {};
  for (const key of Object.keys(value).sort()) {
    const member = canonical(value[key]);
    result[key] = ['SS', 'NS', 'BS'].includes(key) && Array.isArray(member) && member.every((one) => typeof one === 'string') ? member.sort() : member;
  }
  return result;
}
export const assertSame = (actual, expected, message) => assert.deepStrictEqual(canonical(actual), canonical(expected), message);

// The promise must fail with that error name and a message that has the text (or matches the pattern).
export async function assertFails(promise, name, text) {
  let answer;
  try {
    answer = await promise;
  } catch (error) {
    assert.equal(error.name, name, `${error.name}: ${error.message}`);
    if (text instanceof RegExp) assert.match(error.message ?? '', text);
    else if (text !== undefined) assert.ok((error.message ?? '').includes(text), `message: ${error.message}\nexpected: ${text}`);
    return error;
  }
  delete answer.$metadata;
  assert.fail(`expected ${name} (${text}), got ${JSON.stringify(answer)}`);
}

export const clientFor = (endpoint, options = {}) => new sdk.DynamoDBClient({
  endpoint, region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }, maxAttempts: 1, ...options,
});

// sends Operation with its input: ddb.GetItem({...}); the answer comes without $metadata. `commands`: the client's package.
export function operationsOf(client, commands = sdk) {
  return new Proxy({}, {
    get: (_, operation) => async (input = {}) => {
      const answer = await client.send(new commands[`${operation}Command`](input));
      delete answer.$metadata;
      return answer;
    },
  });
}

// Starts the server for this test file and hands out what the tests use; stops it after the last test.
export async function suite(options) {
  const context = { prefix: `t${process.pid}.${Date.now().toString(36)}`, tables: [] };
  context.name = (base) => `${context.prefix}.${base}`;
  const running = await serverForTests(options);
  context.server = running.server;
  context.endpoint = running.endpoint;
  context.client = clientFor(context.endpoint);
  context.ddb = operationsOf(context.client);
  context.operationsOf = (more) => operationsOf(clientFor(context.endpoint, more));
  after(async () => {
    // A server that others share is left as it was found.
    if (!running.server) {
      for (const table of context.tables) await context.ddb.DeleteTable({ TableName: table }).catch(() => {});
    }
    context.client.destroy();
    await running.stop();
  });

  // Creates a table with keys such as 'pk:S' and 'sk:N', waits until it is active and returns its name.
  context.table = async (base, pk = 'pk:S', sk = undefined, more = {}) => {
    const TableName = context.name(base);
    const keys = [pk, sk].filter(Boolean).map((key) => key.split(':'));
    await context.ddb.CreateTable({
      TableName,
      KeySchema: keys.map(([AttributeName], position) => ({ AttributeName, KeyType: position ? 'RANGE' : 'HASH' })),
      AttributeDefinitions: keys.map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
      BillingMode: more.ProvisionedThroughput ? undefined : 'PAY_PER_REQUEST',
      ...more,
    });
    context.tables.push(TableName);
    await sdk.waitUntilTableExists({ client: context.client, maxWaitTime: 120, minDelay: 1, maxDelay: 1 }, { TableName });
    return TableName;
  };
  // Puts items in batches of 25.
  context.load = async (table, items) => {
    for (let from = 0; from < items.length; from += 25) {
      let RequestItems = { [table]: items.slice(from, from + 25).map((Item) => ({ PutRequest: { Item } })) };
      while (Object.keys(RequestItems).length) {
        RequestItems = (await context.ddb.BatchWriteItem({ RequestItems })).UnprocessedItems ?? {};
      }
    }
  };
  return context;
}
