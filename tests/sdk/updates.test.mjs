// Update expressions and every ReturnValues of UpdateItem.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { B, BOOL, BS, L, M, N, NS, NULL, S, SS, assertFails, assertSame, suite } from './clients.mjs';
import { isLocal, referenceOnly } from './harness.mjs';

const context = await suite();
const table = await context.table('updates', 'pk:S');
let serial = 0;

const base = {
  n: N(5), s: S('str'), b: B('bin'), yes: BOOL(true), nothing: NULL,
  ss: SS('a', 'b'), ns: NS(1, 2), bs: BS('x', 'y'),
  l: L(N(0), N(1), N(2), N(3)), m: M({ a: N(1), b: M({ c: S('deep') }), l: L(S('x'), S('y')) }),
};

// Applies the update to a fresh item (or to none) and returns {before, after, Attributes}.
async function update(expression, { values, names, item = base, ReturnValues } = {}) {
  const Key = { pk: S(`item${++serial}`) };
  if (item) await context.ddb.PutItem({ TableName: table, Item: { ...item, ...Key } });
  const answer = await context.ddb.UpdateItem({
    TableName: table, Key, UpdateExpression: expression, ReturnValues,
    ExpressionAttributeNames: names, ExpressionAttributeValues: values,
  });
  const stored = (await context.ddb.GetItem({ TableName: table, Key, ConsistentRead: true })).Item;
  if (stored) delete stored.pk;
  return { stored, Attributes: answer.Attributes, Key };
}

// title, expression, values, changes to the base item (undefined removes), options
const REMOVED = undefined;
const cases = [
  ['SET a = :v', { ':v': S('new') }, { a: S('new') }],
  ['set a = :v', { ':v': S('new') }, { a: S('new') }],
  ['SET n = :v', { ':v': S('other type') }, { n: S('other type') }],
  ['SET a = :v, s = :w', { ':v': N(1), ':w': N(2) }, { a: N(1), s: N(2) }],
  ['SET a = n, n = s, s = n', {}, { a: N(5), n: S('str'), s: N(5) }],
  ['SET n = n + :v', { ':v': N(3) }, { n: N(8) }],
  ['SET n = n - :v', { ':v': N(8) }, { n: N(-3) }],
  ['SET n = :v - n', { ':v': N(8) }, { n: N(3) }],
  ['SET a = :v + :w', { ':v': N('0.1'), ':w': N('0.2') }, { a: N('0.3') }],
  ['SET a = :v + :w', { ':v': N('99999999999999999999999999999999999999'), ':w': N(-1) }, { a: N('99999999999999999999999999999999999998') }],
  ['SET a = :v - :v', { ':v': N(3) }, { a: N(0) }],
  ['SET a = n + n', {}, { a: N(10) }],
  ['SET a = (n + :v)', { ':v': N(1) }, { a: N(6) }],
  ['SET a = (n) + (:v)', { ':v': N(1) }, { a: N(6) }],
  ['SET n = n + :v, a = n', { ':v': N(1) }, { n: N(6), a: N(5) }],
  ['SET a = if_not_exists(a, :v)', { ':v': N(1) }, { a: N(1) }],
  ['SET n = if_not_exists(n, :v)', { ':v': N(1) }, {}],
  ['SET a = if_not_exists(a, :v) + :w', { ':v': N(0), ':w': N(1) }, { a: N(1) }],
  ['SET a = if_not_exists(a, n)', {}, { a: N(5) }],
  ['SET a = if_not_exists(a, if_not_exists(z, :v))', { ':v': N(7) }, { a: N(7) }],
  ['SET l = list_append(l, :v)', { ':v': L(S('end')) }, { l: L(N(0), N(1), N(2), N(3), S('end')) }],
  ['SET l = list_append(:v, l)', { ':v': L(S('front')) }, { l: L(S('front'), N(0), N(1), N(2), N(3)) }],
  ['SET a = list_append(if_not_exists(a, :e), :v)', { ':e': L(), ':v': L(N(1)) }, { a: L(N(1)) }],
  ['SET l = list_append(l, l)', {}, { l: L(...[0, 1, 2, 3, 0, 1, 2, 3].map(N)) }],
  ['SET l[1] = :v', { ':v': S('x') }, { l: L(N(0), S('x'), N(2), N(3)) }],
  ['SET l[9] = :v', { ':v': S('x') }, { l: L(N(0), N(1), N(2), N(3), S('x')) }],
  ['SET l[30] = :a, l[20] = :b', { ':a': S('later'), ':b': S('sooner') }, { l: L(N(0), N(1), N(2), N(3), S('sooner'), S('later')) }],
  ['SET m.a = :v', { ':v': S('x') }, { m: M({ ...base.m.M, a: S('x') }) }],
  ['SET m.fresh = :v', { ':v': S('x') }, { m: M({ ...base.m.M, fresh: S('x') }) }],
  ['SET m.b.c = m.a, m.a = m.b.c', {}, { m: M({ a: S('deep'), b: M({ c: N(1) }), l: base.m.M.l }) }],
  ['SET m.l[0] = :v, m.l[1] = m.l[0]', { ':v': S('z') }, { m: M({ ...base.m.M, l: L(S('z'), S('x')) }) }],
  ['SET a = m', {}, { a: base.m }],
  ['SET a = l[2]', {}, { a: N(2) }],
  ['SET #m.#d = :v', { ':v': N(1) }, { m: M({ ...base.m.M, 'x.y': N(1) }) }, { names: { '#m': 'm', '#d': 'x.y' } }],
  ['SET #d = :v', { ':v': N(1) }, { 'x.y': N(1) }, { names: { '#d': 'x.y' } }],
  ['REMOVE s', undefined, { s: REMOVED }],
  ['REMOVE s, n', undefined, { s: REMOVED, n: REMOVED }],
  ['REMOVE absent', undefined, {}],
  ['REMOVE m.absent', undefined, {}],
  ['REMOVE l[1]', undefined, { l: L(N(0), N(2), N(3)) }],
  ['REMOVE l[0], l[2]', undefined, { l: L(N(1), N(3)) }],
  ['REMOVE l[9]', undefined, {}],
  ['REMOVE m.b.c', undefined, { m: M({ ...base.m.M, b: M({}) }) }],
  ['REMOVE m.l[0]', undefined, { m: M({ ...base.m.M, l: L(S('y')) }) }],
  ['REMOVE l[0] SET l[1] = :v', { ':v': S('x') }, { l: L(S('x'), N(2), N(3)) }],
  ['ADD n :v', { ':v': N(2) }, { n: N(7) }],
  ['ADD n :v', { ':v': N(-7) }, { n: N(-2) }],
  ['ADD a :v', { ':v': N(2) }, { a: N(2) }],
  ['ADD ss :v', { ':v': SS('b', 'c') }, { ss: SS('a', 'b', 'c') }],
  ['ADD ns :v', { ':v': NS('1.0', 3) }, { ns: NS(1, 2, 3) }],
  ['ADD bs :v', { ':v': BS('z') }, { bs: BS('x', 'y', 'z') }],
  ['ADD a :v', { ':v': SS('q') }, { a: SS('q') }],
  ['ADD m.a :v', { ':v': N(1) }, { m: M({ ...base.m.M, a: N(2) }) }],
  ['ADD l[1] :v', { ':v': N(10) }, { l: L(N(0), N(11), N(2), N(3)) }],
  ['ADD n :v, ss :w', { ':v': N(1), ':w': SS('z') }, { n: N(6), ss: SS('a', 'b', 'z') }],
  ['DELETE ss :v', { ':v': SS('a', 'zz') }, { ss: SS('b') }],
  ['DELETE ss :v', { ':v': SS('a', 'b') }, { ss: REMOVED }],
  ['DELETE ns :v', { ':v': NS('2.00') }, { ns: NS(1) }],
  ['DELETE bs :v', { ':v': BS('x') }, { bs: BS('y') }],
  ['DELETE absent :v', { ':v': SS('a') }, {}],
  ['SET a = :v REMOVE s ADD n :v DELETE ss :w', { ':v': N(1), ':w': SS('a') }, { a: N(1), s: REMOVED, n: N(6), ss: SS('b') }],
  ['DELETE ss :w ADD n :v REMOVE s SET a = :v', { ':v': N(1), ':w': SS('a') }, { a: N(1), s: REMOVED, n: N(6), ss: SS('b') }],
];

describe('updates that apply', () => {
  for (const [expression, values, changes, { names } = {}] of cases) {
    test(`${expression} with ${JSON.stringify(values ?? {})}`, async () => {
      const some = values && Object.keys(values).length ? values : undefined;
      const { stored } = await update(expression, { values: some, names });
      const expected = { ...base, ...changes };
      for (const name of Object.keys(expected)) if (expected[name] === undefined) delete expected[name];
      assertSame(stored, expected);
    });
  }
});

describe('updates of a missing item', () => {
  test('SET creates it', async () => {
    const { stored } = await update('SET a = :v', { item: null, values: { ':v': N(1) } });
    assertSame(stored, { a: N(1) });
  });
  test('ADD creates it', async () => {
    const { stored } = await update('ADD a :v, c :w', { item: null, values: { ':v': N(1), ':w': SS('x') } });
    assertSame(stored, { a: N(1), c: SS('x') });
  });
  test('without an expression a key-only item comes to be', async () => {
    const { stored } = await update(undefined, { item: null });
    assertSame(stored, {});
  });
  test('REMOVE creates nothing', referenceOnly('creates a key-only item'), async () => {
    const { stored } = await update('REMOVE a', { item: null });
    assert.equal(stored, undefined);
  });
  test('REMOVE of a nested path creates nothing', referenceOnly('reports an invalid path'), async () => {
    const { stored } = await update('REMOVE x.y', { item: null });
    assert.equal(stored, undefined);
  });
});

const missingAttribute = 'The provided expression refers to an attribute that does not exist in the item';
const badPath = 'The document path provided in the update expression is invalid for update';
const badOperand = 'An operand in the update expression has an incorrect data type';
const U = 'Invalid UpdateExpression: ';
const errors = [
  ['', `${U}The expression can not be empty;`],
  ['SET', `${U}Syntax error; token: "<EOF>", near: "SET"`],
  ['SET a', `${U}Syntax error; token: "<EOF>", near: "a"`],
  ['SET a = ', `${U}Syntax error; token: "<EOF>"`],
  ['a = :v', `${U}Syntax error; token: "a", near: "a ="`, { ':v': N(1) }],
  ['SET a = :v,', `${U}Syntax error; token: "<EOF>"`, { ':v': N(1) }],
  ['SET a := :v', `${U}Syntax error`, { ':v': N(1) }],
  ['SET a = :v b = :v', `${U}Syntax error; token: "b"`, { ':v': N(1) }],
  ['SET a = :v + :v + :v', `${U}Syntax error; token: "+"`, { ':v': N(1) }],
  ['SET a = :v * :v', `${U}Syntax error; token: "*"`, { ':v': N(1) }],
  ['SET a = :v = :v', `${U}Syntax error; token: "="`, { ':v': N(1) }],
  ['REMOVE a = :v', `${U}Syntax error; token: "="`, { ':v': N(1) }],
  ['REMOVE :v', `${U}Syntax error; token: ":v"`, { ':v': N(1) }],
  ['ADD a = :v', `${U}Syntax error; token: "="`, { ':v': N(1) }],
  ['ADD a b', `${U}Syntax error; token: "b"`],
  ['DELETE a', `${U}Syntax error; token: "<EOF>"`],
  ['SET a = list_append(l, list_append(l, :v))', `${U}The function is not allowed to be used this way in an expression; function: list_append`, { ':v': L() }, { localText: U }],
  ['SET a = :v SET b = :v', `${U}The "SET" section can only be used once in an update expression;`, { ':v': N(1) }],
  ['REMOVE a remove c', `${U}The "REMOVE" section can only be used once in an update expression;`],
  ['ADD a :v ADD c :v', `${U}The "ADD" section can only be used once in an update expression;`, { ':v': N(1) }],
  ['SET a = :v REMOVE a', `${U}Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a]`, { ':v': N(1) }],
  ['SET a = :v, a.b = :v', `${U}Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [a], path two: [a, b]`, { ':v': N(1) }],
  ['SET l[0] = :v REMOVE l', `${U}Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [l, [0]], path two: [l]`, { ':v': N(1) }],
  ['SET m.a = :v, m[0] = :v', `${U}Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [m, a], path two: [m, [0]]`, { ':v': N(1) }],
  ['SET name = :v', `${U}Attribute name is a reserved keyword; reserved keyword: name`, { ':v': N(1) }],
  ['SET #a = :v', `${U}An expression attribute name used in the document path is not defined; attribute name: #a`, { ':v': N(1) }],
  ['SET a = :x', `${U}An expression attribute value used in expression is not defined; attribute value: :x`],
  ['SET a = foo(b)', `${U}Invalid function name; function: foo`],
  ['SET a = size(s)', `${U}The function is not allowed in an update expression; function: size`],
  ['SET a = attribute_exists(s)', `${U}The function is not allowed in an update expression; function: attribute_exists`],
  ['SET a = if_not_exists(s)', `${U}Incorrect number of operands for operator or function; operator or function: if_not_exists, number of operands: 1`],
  ['SET a = list_append(l)', `${U}Incorrect number of operands for operator or function; operator or function: list_append, number of operands: 1`],
  ['SET a = if_not_exists(:v, s)', `${U}Operator or function requires a document path; operator or function: if_not_exists`, { ':v': N(1) }],
  ['SET a = n + :v', `${U}Incorrect operand type for operator or function; operator or function: +, operand type: S`, { ':v': S('1') }],
  ['SET a = :v - n', `${U}Incorrect operand type for operator or function; operator or function: -, operand type: L`, { ':v': L() }],
  ['SET a = list_append(l, :v)', `${U}Incorrect operand type for operator or function; operator or function: list_append, operand type: N`, { ':v': N(1) }],
  ['ADD a :v', `${U}Incorrect operand type for operator or function; operator: ADD, operand type: STRING`, { ':v': S('x') }],
  ['ADD a :v', `${U}Incorrect operand type for operator or function; operator: ADD, operand type: LIST`, { ':v': L() }],
  ['ADD a :v', `${U}Incorrect operand type for operator or function; operator: ADD, operand type: MAP`, { ':v': M({}) }],
  ['DELETE ss :v', `${U}Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER`, { ':v': N(1) }],
  ['SET pk = :v', 'One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key', { ':v': S('x') }],
  ['REMOVE pk', 'One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key'],
  ['ADD pk :v', 'One or more parameter values were invalid: Cannot update attribute pk. This attribute is part of the key', { ':v': N(1) }],
  ['SET a = absent', missingAttribute],
  ['SET a = absent + :v', missingAttribute, { ':v': N(1) }],
  ['SET a = list_append(absent, :v)', missingAttribute, { ':v': L() }],
  ['SET a = m.absent', missingAttribute],
  ['SET a = l[9]', missingAttribute],
  ['SET a = s + :v', badOperand, { ':v': N(1) }],
  ['SET a = list_append(s, :v)', badOperand, { ':v': L() }],
  ['SET x.y = :v', badPath, { ':v': N(1) }],
  ['SET s.y = :v', badPath, { ':v': N(1) }],
  ['SET m[0] = :v', badPath, { ':v': N(1) }],
  ['SET l.a = :v', badPath, { ':v': N(1) }],
  ['SET absent[0] = :v', badPath, { ':v': N(1) }],
  ['SET m.x.y = :v', badPath, { ':v': N(1) }],
  ['REMOVE x.y', badPath],
  ['REMOVE s.y', badPath],
  ['ADD s :v', badOperand, { ':v': N(1) }],
  ['ADD n :v', badOperand, { ':v': SS('x') }],
  ['ADD ss :v', badOperand, { ':v': NS(1) }],
  ['DELETE ns :v', badOperand, { ':v': SS('x') }],
  ['DELETE n :v', badOperand, { ':v': SS('x') }],
  ['SET a = :v + :w', /Number overflow/, { ':v': N('9.9e125'), ':w': N('9.9e125') }],
  [`SET a = :v${' '.repeat(4096)}`, `${U}Expression size has exceeded the maximum allowed size`, { ':v': N(1) }],
];

describe('updates that are refused', () => {
  for (const [expression, message, values, { localText } = {}] of errors) {
    const shown = expression.length > 80 ? `${expression.slice(0, 40)}... (${expression.length})` : expression;
    test(`${JSON.stringify(shown)} with ${JSON.stringify(values ?? {})}: ${message}`, async () => {
      await assertFails(update(expression, { values }), 'ValidationException', isLocal && localText ? localText : message);
    });
  }
  test('a refused update changes nothing', async () => {
    const Key = { pk: S('unchanged') };
    await context.ddb.PutItem({ TableName: table, Item: { ...base, ...Key } });
    await assertFails(context.ddb.UpdateItem({
      TableName: table, Key, UpdateExpression: 'SET n = :v, x.y = :v', ExpressionAttributeValues: { ':v': N(1) },
    }), 'ValidationException', badPath);
    assertSame((await context.ddb.GetItem({ TableName: table, Key })).Item, { ...base, ...Key });
  });
});

describe('ReturnValues of UpdateItem', () => {
  const expression = 'SET a = :v, m.a = :v, l[1] = :v REMOVE s ADD n :v';
  const values = { ':v': N(9) };
  const after = { ...base, a: N(9), m: M({ ...base.m.M, a: N(9) }), l: L(N(0), N(9), N(2), N(3)), n: N(14) };
  delete after.s;
  const run = async (ReturnValues, more = {}) => {
    const { Attributes, Key } = await update(expression, { values, ReturnValues, ...more });
    if (Attributes?.pk) {
      assertSame(Attributes.pk, Key.pk);
      delete Attributes.pk;
    }
    return Attributes;
  };
  test('absent', async () => assert.equal(await run(undefined), undefined));
  test('NONE', async () => assert.equal(await run('NONE'), undefined));
  test('ALL_OLD', async () => assertSame(await run('ALL_OLD'), base));
  test('ALL_NEW', async () => assertSame(await run('ALL_NEW'), after));
  test('UPDATED_OLD', referenceOnly('returns whole top-level attributes'), async () => assertSame(await run('UPDATED_OLD'), { m: M({ a: N(1) }), l: L(N(1)), s: S('str'), n: N(5) }));
  test('UPDATED_NEW', referenceOnly('returns whole top-level attributes'), async () => assertSame(await run('UPDATED_NEW'), { a: N(9), m: M({ a: N(9) }), l: L(N(9)), n: N(14) }));
  test('of a new item', async () => {
    const fresh = { item: null, values: { ':v': N(1) } };
    assert.equal((await update('SET a = :v', { ...fresh, ReturnValues: 'ALL_OLD' })).Attributes, undefined);
    assert.equal((await update('SET a = :v', { ...fresh, ReturnValues: 'UPDATED_OLD' })).Attributes, undefined);
    assertSame((await update('SET a = :v', { ...fresh, ReturnValues: 'UPDATED_NEW' })).Attributes, { a: N(1) });
    const { Attributes, Key } = await update('SET a = :v', { ...fresh, ReturnValues: 'ALL_NEW' });
    assertSame(Attributes, { a: N(1), ...Key });
  });
  test('UPDATED_NEW of REMOVE alone has no Attributes', async () => {
    assert.equal((await update('REMOVE s', { ReturnValues: 'UPDATED_NEW' })).Attributes, undefined);
    assertSame((await update('REMOVE s', { ReturnValues: 'UPDATED_OLD' })).Attributes, { s: S('str') });
  });
  test('an unknown one', async () => {
    await assertFails(update('REMOVE s', { ReturnValues: 'EVERYTHING' }), 'ValidationException', isLocal ? 'Return values set to invalid value' : 'failed to satisfy constraint');
  });
});

describe('counters', () => {
  test('concurrent increments all count', async () => {
    const Key = { pk: S('counter') };
    await Promise.all(Array.from({ length: 200 }, () => context.ddb.UpdateItem({
      TableName: table, Key, UpdateExpression: 'ADD hits :one', ExpressionAttributeValues: { ':one': N(1) },
    })));
    assertSame((await context.ddb.GetItem({ TableName: table, Key, ConsistentRead: true })).Item, { ...Key, hits: N(200) });
  });
  test('of concurrent puts of one key under attribute_not_exists exactly one wins', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 50 }, (_, i) => context.ddb.PutItem({
      TableName: table, Item: { pk: S('race'), i: N(i) }, ConditionExpression: 'attribute_not_exists(pk)',
    })));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const { status, reason } of outcomes) if (status === 'rejected') assert.equal(reason.name, 'ConditionalCheckFailedException');
  });
});
