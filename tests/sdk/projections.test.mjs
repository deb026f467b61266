// Projection expressions of GetItem, BatchGetItem, Query and Scan.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { L, M, N, S, assertFails, assertSame, suite } from './clients.mjs';
import { isLocal, referenceOnly } from './harness.mjs';

const context = await suite();
const table = await context.table('projections', 'pk:S');
const Key = { pk: S('item') };
const item = {
  ...Key, a: S('A'), c: N(1),
  l: L(S('l0'), S('l1'), M({ x: N(1), y: N(2) }), L(N(7), N(8), N(9))),
  m: M({ one: N(1), two: M({ three: S('3'), four: S('4') }), 'x.y': S('dotted') }),
  'top.dot': S('top'),
};
await context.ddb.PutItem({ TableName: table, Item: item });

const cases = [
  ['a', { a: S('A') }],
  ['pk', Key],
  ['a, c', { a: S('A'), c: N(1) }],
  [' a\t,\nc ', { a: S('A'), c: N(1) }],
  ['absent', {}],
  ['a, absent', { a: S('A') }],
  ['m.one', { m: M({ one: N(1) }) }],
  ['m.two.three', { m: M({ two: M({ three: S('3') }) }) }],
  ['m.two.three, m.two.four', { m: M({ two: M({ three: S('3'), four: S('4') }) }) }],
  ['m.one, m.two.four', { m: M({ one: N(1), two: M({ four: S('4') }) }) }],
  ['m.absent', {}],
  ['a.b', {}],
  ['l[0]', { l: L(S('l0')) }],
  ['l[1], l[0]', { l: L(S('l0'), S('l1')) }],
  ['l[3][1]', { l: L(L(N(8))) }],
  ['l[3][2], l[3][0]', { l: L(L(N(7), N(9))) }],
  ['l[2].x', { l: L(M({ x: N(1) })) }],
  ['l[2].x, l[2].y', { l: L(M({ x: N(1), y: N(2) })) }],
  ['l[99]', {}],
  ['l[2].x, l[0]', { l: L(S('l0'), M({ x: N(1) })) }],
  ['#t', { 'top.dot': S('top') }, { '#t': 'top.dot' }],
  ['m.#d', { m: M({ 'x.y': S('dotted') }) }, { '#d': 'x.y' }],
  ['#m.#o', { m: M({ one: N(1) }) }, { '#m': 'm', '#o': 'one' }],
];

describe('projections', () => {
  for (const [ProjectionExpression, expected, ExpressionAttributeNames] of cases) {
    test(JSON.stringify(ProjectionExpression), async () => {
      const projection = { ProjectionExpression, ExpressionAttributeNames };
      assertSame((await context.ddb.GetItem({ TableName: table, Key, ...projection })).Item, expected, 'GetItem');
      assertSame((await context.ddb.Scan({ TableName: table, ...projection })).Items, [expected], 'Scan');
      assertSame((await context.ddb.Query({
        TableName: table, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': Key.pk }, ...projection,
      })).Items, [expected], 'Query');
      assertSame((await context.ddb.BatchGetItem({ RequestItems: { [table]: { Keys: [Key], ...projection } } })).Responses[table], [expected], 'BatchGetItem');
    });
  }
});

const X = 'Invalid ProjectionExpression: ';
const errors = [
  ['', `${X}The expression can not be empty;`],
  [',', `${X}Syntax error; token: ","`],
  ['a,', `${X}Syntax error; token: "<EOF>"`],
  ['a b', `${X}Syntax error; token: "b", near: "a b"`],
  ['a = b', `${X}Syntax error; token: "="`],
  [':v', `${X}Syntax error; token: ":v"`],
  ['size(a)', `${X}Syntax error`],
  ['l[a]', `${X}Syntax error; token: "a"`],
  ['m.', `${X}Syntax error`],
  ['name', `${X}Attribute name is a reserved keyword; reserved keyword: name`],
  ['#x', `${X}An expression attribute name used in the document path is not defined; attribute name: #x`],
  ['a, a', `${X}Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]`],
  ['m, m.one', `${X}Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m], path two: [m, one]`],
  ['m.one, m', `${X}Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m, one], path two: [m]`],
  ['m.one, m[0]', `${X}Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [m, one], path two: [m, [0]]`],
];
describe('projections that are refused', () => {
  for (const [ProjectionExpression, message] of errors) {
    test(`${JSON.stringify(ProjectionExpression)}: ${message}`, async () => {
      for (const attempt of [
        () => context.ddb.GetItem({ TableName: table, Key, ProjectionExpression }),
        () => context.ddb.GetItem({ TableName: table, Key: { pk: S('nothing there') }, ProjectionExpression }),
        () => context.ddb.Scan({ TableName: table, ProjectionExpression }),
        () => context.ddb.BatchGetItem({ RequestItems: { [table]: { Keys: [Key], ProjectionExpression } } }),
      ]) await assertFails(attempt(), 'ValidationException', message);
    });
  }
  test('unused and lonely names', async () => {
    await assertFails(context.ddb.GetItem({ TableName: table, Key, ProjectionExpression: 'a', ExpressionAttributeNames: { '#x': 'x' } }), 'ValidationException',
      'Value provided in ExpressionAttributeNames unused in expressions: keys: {#x}');
    await assertFails(context.ddb.GetItem({ TableName: table, Key, ExpressionAttributeNames: { '#x': 'x' } }), 'ValidationException',
      'ExpressionAttributeNames can only be specified when using expressions');
  });
});
