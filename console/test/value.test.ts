import assert from 'node:assert/strict';
import { test } from 'node:test';
import { equal, equalItems } from '../src/model/equal.ts';
import { JsonError, parseJson, placeOf } from '../src/model/json.ts';
import { canonical, compareNumbers, numberError, successor } from '../src/model/number.ts';
import { parsePath, printPath } from '../src/model/path.ts';
import { printPlain, readPlain } from '../src/model/plain.ts';
import { itemBytes } from '../src/model/size.ts';
import { tagged, untagged } from '../src/model/text_value.ts';
import { printTyped, readTyped } from '../src/model/typed.ts';
import { type AttributeValue, itemOf } from '../src/model/value.ts';
import { Random, randomItem, randomValue } from './random.ts';

test('DynamoDB JSON of any item reads back as the same item', () => {
  const random = new Random(1);
  for (let i = 0; i < 2000; ++i) {
    const item = randomItem(random);
    const back = readTyped(printTyped(item));
    assert.ok(equalItems(item, back), printTyped(item));
    assert.deepEqual(Object.keys(back), Object.keys(item));
  }
});

test('plain JSON keeps the type of every attribute that it was made from', () => {
  const random = new Random(2);
  for (let i = 0; i < 2000; ++i) {
    const item = randomItem(random);
    const { item: back, changes } = readPlain(printPlain(item), item);
    assert.deepEqual(changes, []);
    assert.ok(equalItems(item, back), printTyped(item));
  }
});

test('plain JSON lists every type that an edit changes', () => {
  const before = itemOf([
    ['tags', { SS: ['a'] }],
    ['n', { N: '1' }],
  ]);
  const { item, changes } = readPlain('{"tags": [], "n": true}', before);
  assert.deepEqual(changes, [
    { path: 'tags', from: 'SS', to: 'L' },
    { path: 'n', from: 'N', to: 'BOOL' },
  ]);
  assert.deepEqual(item.n, { BOOL: true });
});

test('numbers keep all of 38 digits through plain JSON', () => {
  const text = '12345678901234567890123456789012345678';
  const item = itemOf([['n', { N: text }]]);
  assert.match(printPlain(item), new RegExp(text));
  assert.deepEqual(readPlain(printPlain(item), item).item.n, { N: text });
});

test('numbers: canonical form, limits, order', () => {
  assert.equal(canonical('1.50e3'), '1500');
  assert.equal(canonical('-0.00'), '0');
  assert.equal(canonical('123E-5'), '0.00123');
  assert.equal(numberError('1E126'), 'too large');
  assert.equal(numberError('1E-131'), 'too small');
  assert.equal(numberError('1'.repeat(39)), 'more than 38 digits');
  assert.equal(numberError('1,5'), 'not a number');
  assert.ok(compareNumbers('-10', '-9') < 0);
  assert.ok(compareNumbers('9007199254740993', '9007199254740992') > 0);
  assert.equal(successor('9007199254740993'), '9007199254740994');
  assert.equal(successor('1.5'), null);
});

test('equality is that of the server', () => {
  assert.ok(equal({ N: '1.0' }, { N: '1' }));
  assert.ok(equal({ SS: ['a', 'b'] }, { SS: ['b', 'a'] }));
  assert.ok(!equal({ L: [{ S: 'a' }, { S: 'b' }] }, { L: [{ S: 'b' }, { S: 'a' }] }));
  assert.ok(!equal({ S: '1' }, { N: '1' }));
});

test('JSON errors name their place', () => {
  const text = '{\n  "a": {"S": "x"},\n  "b" 1\n}';
  assert.throws(
    () => parseJson(text),
    (error: unknown) =>
      error instanceof JsonError &&
      JSON.stringify(placeOf(text, error.at)) === '{"line":3,"column":7}',
  );
  assert.throws(() => parseJson('{"a": 1, "a": 2}'), /twice/);
  assert.throws(() => readTyped('{"a": {"N": 1}}'), /quotes/);
  assert.throws(() => readTyped('{"a": {"SS": []}}'), /empty/);
  assert.throws(() => readTyped('{"a": {"X": "1"}}'), /not a type/);
});

test('values stand in addresses and come back', () => {
  const random = new Random(3);
  for (let i = 0; i < 500; ++i) {
    const value: AttributeValue = randomValue(random);
    const back = untagged(tagged(value));
    assert.ok(back && equal(value, back), tagged(value));
  }
  assert.equal(untagged('S'), null);
});

test('paths print and parse, whatever the names', () => {
  for (const path of [['a'], ['a', 'b', 0, 'c'], ['with.dot', 1, 2], ['"', '\\'], ['[0]']])
    assert.deepEqual(parsePath(printPath(path)), path);
  assert.equal(parsePath('a..b'), null);
});

test('sizes are those that DynamoDB documents', () => {
  assert.equal(itemBytes(itemOf([['id', { S: 'abc' }]])), 5);
  assert.equal(itemBytes(itemOf([['n', { N: '1234' }]])), 4);
  assert.equal(itemBytes(itemOf([['b', { BOOL: true }]])), 2);
  assert.equal(itemBytes(itemOf([['m', { M: itemOf([]) }]])), 4);
});
