// The document client of lib-dynamodb: plain JavaScript values in and out.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  BatchGetCommand, BatchWriteCommand, DeleteCommand, DynamoDBDocumentClient, GetCommand, NumberValue, PutCommand, QueryCommand, ScanCommand, UpdateCommand,
  paginateQuery, paginateScan,
} from '@aws-sdk/lib-dynamodb';

import { assertFails, clientFor, suite } from './clients.mjs';

const context = await suite();
const TableName = await context.table('document', 'pk:S', 'sk:N');
const client = DynamoDBDocumentClient.from(context.client, { marshallOptions: { removeUndefinedValues: true } });
const exact = DynamoDBDocumentClient.from(clientFor(context.endpoint), { unmarshallOptions: { wrapNumbers: NumberValue.from } });
const send = (command) => client.send(command);

describe('document client', () => {
  const Item = {
    pk: 'doc', sk: 1, text: 'ü😀', none: null, yes: true, no: false, number: 3.25, negative: -17,
    list: [1, 'two', [3], { four: 4 }], map: { a: { b: { c: [] } } }, strings: new Set(['a', 'b']), numbers: new Set([1, 2.5]),
    bytes: Uint8Array.from([0, 1, 255]), empty: '', emptyMap: {}, emptyList: [],
  };
  test('an item there and back', async () => {
    await send(new PutCommand({ TableName, Item: { ...Item, gone: undefined } }));
    assert.deepEqual((await send(new GetCommand({ TableName, Key: { pk: 'doc', sk: 1 } }))).Item, Item);
  });
  test('exact numbers', async () => {
    const number = NumberValue.from('12345678901234567890.123456789012345678');
    await exact.send(new PutCommand({ TableName, Item: { pk: 'exact', sk: 1, number } }));
    assert.equal((await exact.send(new GetCommand({ TableName, Key: { pk: 'exact', sk: 1 } }))).Item.number.value, number.value);
  });
  test('update, condition, delete', async () => {
    const Key = { pk: 'update', sk: 1 };
    const { Attributes } = await send(new UpdateCommand({
      TableName, Key, UpdateExpression: 'SET #c = if_not_exists(#c, :zero) + :one, tags = :tags', ReturnValues: 'ALL_NEW',
      ExpressionAttributeNames: { '#c': 'counter' }, ExpressionAttributeValues: { ':zero': 0, ':one': 1, ':tags': new Set(['x']) },
    }));
    assert.deepEqual(Attributes, { ...Key, counter: 1, tags: new Set(['x']) });
    await assertFails(send(new DeleteCommand({ TableName, Key, ConditionExpression: 'contains(tags, :t)', ExpressionAttributeValues: { ':t': 'y' } })), 'ConditionalCheckFailedException');
    const deleted = await send(new DeleteCommand({ TableName, Key, ReturnValues: 'ALL_OLD' }));
    assert.equal(deleted.Attributes.counter, 1);
  });
  test('batches, query and scan with paginators', async () => {
    const items = Array.from({ length: 25 }, (_, sk) => ({ pk: 'batch', sk, square: sk * sk }));
    await send(new BatchWriteCommand({ RequestItems: { [TableName]: items.map((one) => ({ PutRequest: { Item: one } })) } }));
    const got = await send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys: items.map(({ pk, sk }) => ({ pk, sk })) } } }));
    assert.deepEqual(got.Responses[TableName].sort((a, b) => a.sk - b.sk), items);
    const seen = [];
    for await (const page of paginateQuery({ client, pageSize: 4 }, { TableName, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': 'batch' }, ScanIndexForward: false })) seen.push(...page.Items);
    assert.deepEqual(seen, [...items].reverse());
    let scanned = 0;
    for await (const page of paginateScan({ client, pageSize: 10 }, { TableName, FilterExpression: 'attribute_exists(square)' })) scanned += page.Count;
    assert.equal(scanned, 25);
    assert.equal((await send(new QueryCommand({ TableName, KeyConditionExpression: 'pk = :p AND sk BETWEEN :a AND :b', ExpressionAttributeValues: { ':p': 'batch', ':a': 3, ':b': 7 } }))).Count, 5);
    assert.equal((await send(new ScanCommand({ TableName, FilterExpression: 'square > :n', ExpressionAttributeValues: { ':n': 500 } }))).Count, 2);
  });
});
