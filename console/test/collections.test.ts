import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectionsOf, entityOf, restOf, sortText } from '../src/model/collections.ts';
import type { TableDescription } from '../src/model/table.ts';
import type { Item } from '../src/model/value.ts';

const kShop = {
  TableName: 'shop',
  KeySchema: [
    { AttributeName: 'PK', KeyType: 'HASH' },
    { AttributeName: 'SK', KeyType: 'RANGE' },
  ],
  AttributeDefinitions: [
    { AttributeName: 'PK', AttributeType: 'S' },
    { AttributeName: 'SK', AttributeType: 'S' },
  ],
} as TableDescription;

const item = (pk: string, sk: string, more: Item = {}): Item => ({
  PK: { S: pk },
  SK: { S: sk },
  ...more,
});

test('rows with one partition key are a collection, whatever lies between them', () => {
  const rows = [item('USER#1', 'PROFILE'), item('USER#2', 'PROFILE'), item('USER#1', 'ORDER#7')];
  const found = collectionsOf(kShop, undefined, rows);
  assert.deepEqual(
    found.map((one) => [one.key, one.rows.map((row) => sortText(kShop, undefined, row))]),
    [
      ['USER#1', ['PROFILE', 'ORDER#7']],
      ['USER#2', ['PROFILE']],
    ],
  );
});

test('an item says what it is by an attribute, its sort key or its partition key', () => {
  const entity = (row: Item) => entityOf(kShop, undefined, row);
  assert.equal(entity(item('USER#1', 'ORDER#7')), 'ORDER');
  assert.equal(entity(item('USER#1', 'PROFILE')), 'USER');
  assert.equal(entity(item('USER#1', 'ORDER#7', { type: { S: 'Order' } })), 'Order');
  assert.equal(entity(item('plain', '2026-11-25#x')), null);
});

test('the line has all attributes but the key, cut', () => {
  const row = item('USER#1', 'PROFILE', { name: { S: 'x'.repeat(500) }, age: { N: '7' } });
  const line = restOf(kShop, undefined, row);
  assert.match(line, /^name: x{10,60}.* {3}age: 7$/);
  assert.ok(line.length < 100);
});
