// Condition and filter expressions: every case runs as the condition of a write and as the filter of a query.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { B, BOOL, BS, L, M, N, NS, NULL, S, SS, assertFails, assertSame, suite } from './clients.mjs';
import { isLocal } from './harness.mjs';

const context = await suite();
const table = await context.table('conditions', 'pk:S', 'sk:N');

const key = { pk: S('item'), sk: N(1) };
const item = {
  ...key,
  s: S('hello'), t: S('hello'), accents: S('äöü'), blank: S(''),
  n: N(5), five: N('5.0'), below: N(-3), big: N('12345678901234567890123456789012345678'),
  b: B('bytes'), yes: BOOL(true), nay: BOOL(false), nothing: NULL,
  ss: SS('a', 'b', 'c'), ns: NS(1, 2, 3), bs: BS('x', 'y'),
  l: L(S('a'), N(2), L(S('deep')), M({ k: S('v') })), brief: L(N(1)), emptyList: L(), emptyMap: M({}),
  m: M({ a: N(1), b: M({ c: L(N(10), N(20)) }), 'with.dot': S('dotted'), name: S('reserved') }),
  'dotted.name': S('top'), size1: N(1), _under: S('u'), abc: S('abc'),
};

await context.ddb.PutItem({ TableName: table, Item: item });

const used = (names, values) => ({
  ...(names && { ExpressionAttributeNames: names }),
  ...(values && { ExpressionAttributeValues: values }),
});

async function asCondition(expression, values, names) {
  try {
    await context.ddb.UpdateItem({ TableName: table, Key: key, ConditionExpression: expression, ...used(names, values) });
    return true;
  } catch (error) {
    if (error.name === 'ConditionalCheckFailedException') {
      assert.equal(error.message, 'The conditional request failed');
      return false;
    }
    throw error;
  }
}

async function asFilter(expression, values, names) {
  const answer = await context.ddb.Query({
    TableName: table, KeyConditionExpression: 'pk = :pk___', FilterExpression: expression,
    ...used(names, { ...values, ':pk___': S('item') }),
  });
  assert.equal(answer.ScannedCount, 1);
  return answer.Count === 1;
}

// expression, expected, values, names
const cases = [
  // = and <>
  ['s = :v', true, { ':v': S('hello') }],
  ['s = :v', false, { ':v': S('Hello') }],
  [':v = s', true, { ':v': S('hello') }],
  ['s = t', true],
  ['s = absent', false],
  ['absent = alsoAbsent', false],
  ['absent <> alsoAbsent', true],
  ['absent <> :v', true, { ':v': S('x') }],
  ['s <> absent', true],
  ['s <> t', false],
  ['n = :v', false, { ':v': S('5') }],
  ['n <> :v', true, { ':v': S('5') }],
  ['n = five', true],
  ['n = :v', true, { ':v': N('5e0') }],
  ['big = :v', true, { ':v': N('12345678901234567890123456789012345678') }],
  ['big = :v', false, { ':v': N('12345678901234567890123456789012345679') }],
  ['b = :v', true, { ':v': B('bytes') }],
  ['yes = :v', true, { ':v': BOOL(true) }],
  ['nay = :v', false, { ':v': BOOL(true) }],
  ['nothing = :v', true, { ':v': NULL }],
  ['ss = :v', true, { ':v': SS('c', 'a', 'b') }],
  ['ss = :v', false, { ':v': SS('c', 'a') }],
  ['ns = :v', true, { ':v': NS('3.0', 2, 1) }],
  ['bs = :v', true, { ':v': BS('y', 'x') }],
  ['brief = :v', true, { ':v': L(N('1.00')) }],
  ['l = :v', true, { ':v': item.l }],
  ['l <> :v', true, { ':v': L(N(2), S('a')) }],
  ['m.b = :v', true, { ':v': M({ c: L(N(10), N(20)) }) }],
  ['m.b.c[1] = :v', true, { ':v': N(20) }],
  ['m.b.c[2] = :v', false, { ':v': N(20) }],
  ['l[2][0] = :v', true, { ':v': S('deep') }],
  ['l[3].k = :v', true, { ':v': S('v') }],
  ['blank = :v', true, { ':v': S('') }],
  ['emptyList = :v', true, { ':v': L() }],
  ['emptyMap = :v', true, { ':v': M({}) }],
  [':v = :w', true, { ':v': N(1), ':w': N('1.0') }],
  // ordering
  ['n < :v', true, { ':v': N(6) }],
  ['n < :v', false, { ':v': N(5) }],
  ['n <= :v', true, { ':v': N(5) }],
  ['n > :v', true, { ':v': N(-10) }],
  ['n >= :v', true, { ':v': N('4.99999') }],
  [':v > n', true, { ':v': N(10) }],
  ['below < n', true],
  ['n < s', false],
  ['n < :v', false, { ':v': S('9') }],
  ['s > :v', true, { ':v': S('hell') }],
  ['s < :v', true, { ':v': S('i') }],
  ['accents > :v', true, { ':v': S('zzz') }],
  ['b >= :v', true, { ':v': B('byte') }],
  ['absent < :v', false, { ':v': N(5) }],
  ['absent >= :v', false, { ':v': N(5) }],
  ['yes < nay', false],
  // BETWEEN
  ['n BETWEEN :a AND :b', true, { ':a': N(5), ':b': N(5) }],
  ['n between :a and :b', true, { ':a': N(1), ':b': N(9) }],
  ['n BETWEEN :a AND :b', false, { ':a': N(6), ':b': N(9) }],
  ['s BETWEEN :a AND :b', true, { ':a': S('a'), ':b': S('z') }],
  ['n BETWEEN :a AND :b', false, { ':a': S('a'), ':b': S('z') }],
  ['n BETWEEN below AND five', true],
  ['n BETWEEN five AND below', false],
  [':v BETWEEN below AND n', true, { ':v': N(0) }],
  ['n BETWEEN absent AND :b', false, { ':b': N(9) }],
  // IN
  ['s IN (:a, :b)', true, { ':a': S('x'), ':b': S('hello') }],
  ['s IN (:a)', false, { ':a': S('x') }],
  ['n IN (:a, :b)', true, { ':a': S('5'), ':b': N(5) }],
  ['n in (below, five)', true],
  ['absent IN (:a)', false, { ':a': S('x') }],
  ['s IN (absent, t)', true],
  // functions
  ['attribute_exists(s)', true],
  ['attribute_exists(absent)', false],
  ['attribute_exists(m.b.c[0])', true],
  ['attribute_exists(m.b.c[5])', false],
  ['attribute_exists(nothing)', true],
  ['attribute_not_exists(absent)', true],
  ['attribute_not_exists(s)', false],
  ['attribute_not_exists(m.x.y)', true],
  ...Object.entries({ s: 'S', n: 'N', b: 'B', ss: 'SS', ns: 'NS', bs: 'BS', l: 'L', m: 'M', yes: 'BOOL', nothing: 'NULL' })
    .map(([name, type]) => [`attribute_type(${name}, :t)`, true, { ':t': S(type) }]),
  ['attribute_type(s, :t)', false, { ':t': S('N') }],
  ['attribute_type(absent, :t)', false, { ':t': S('S') }],
  ['begins_with(s, :v)', true, { ':v': S('hel') }],
  ['begins_with(s, :v)', true, { ':v': S('') }],
  ['begins_with(s, :v)', false, { ':v': S('lo') }],
  ['begins_with(b, :v)', true, { ':v': B('by') }],
  ['begins_with(n, :v)', false, { ':v': S('5') }],
  ['begins_with(s, t)', true],
  ['begins_with(:v, s)', true, { ':v': S('hello world') }],
  ['begins_with(absent, :v)', false, { ':v': S('h') }],
  ['contains(s, :v)', true, { ':v': S('ell') }],
  ['contains(s, :v)', false, { ':v': S('elll') }],
  ['contains(b, :v)', true, { ':v': B('yte') }],
  ['contains(ss, :v)', true, { ':v': S('b') }],
  ['contains(ss, :v)', false, { ':v': S('z') }],
  ['contains(ns, :v)', true, { ':v': N('2.0') }],
  ['contains(bs, :v)', true, { ':v': B('y') }],
  ['contains(l, :v)', true, { ':v': N(2) }],
  ['contains(l, :v)', true, { ':v': L(S('deep')) }],
  ['contains(l, :v)', true, { ':v': M({ k: S('v') }) }],
  ['contains(l, :v)', false, { ':v': S('deep') }],
  ['contains(m, :v)', false, { ':v': S('a') }],
  ['contains(n, :v)', false, { ':v': S('5') }],
  ['contains(absent, :v)', false, { ':v': S('5') }],
  ['contains(:v, abc)', true, { ':v': S('xabcx') }],
  ['size(s) = :v', true, { ':v': N(5) }],
  ['size(accents) = :v', true, { ':v': N(3) }],
  ['size(blank) = :v', true, { ':v': N(0) }],
  ['size(b) = :v', true, { ':v': N(5) }],
  ['size(ss) = :v', true, { ':v': N(3) }],
  ['size(l) = :v', true, { ':v': N(4) }],
  ['size(m) = :v', true, { ':v': N(4) }],
  ['size(emptyMap) = :v', true, { ':v': N(0) }],
  ['size(n) = :v', false, { ':v': N(1) }],
  ['size(absent) >= :v', false, { ':v': N(0) }],
  ['size(s) = size(b)', true],
  [':v < size(m.b.c)', true, { ':v': N(1) }],
  ['size(s) BETWEEN :a AND :b', true, { ':a': N(1), ':b': N(5) }],
  ['size(s) IN (:a, :b)', true, { ':a': N(1), ':b': N(5) }],
  ['size(:v) = n', true, { ':v': S('12345') }],
  // AND, OR, NOT, parentheses and precedence
  ['n = :v AND s = t', true, { ':v': N(5) }],
  ['n = :v AND s = t', false, { ':v': N(6) }],
  ['n = :v OR s = t', true, { ':v': N(6) }],
  ['NOT n = :v', true, { ':v': N(6) }],
  ['not n = :v', false, { ':v': N(5) }],
  ['NOT absent = :v', true, { ':v': N(5) }],
  ['NOT absent < :v', true, { ':v': N(5) }],
  ['NOT NOT n = :v', true, { ':v': N(5) }],
  ['n = :x AND n = :x OR n = :v', true, { ':v': N(5), ':x': N(6) }],
  ['n = :v OR n = :v AND n = :x', true, { ':v': N(5), ':x': N(6) }],
  ['(n = :v OR n = :v) AND n = :x', false, { ':v': N(5), ':x': N(6) }],
  ['NOT n = :x AND n = :v', true, { ':v': N(5), ':x': N(6) }],
  ['NOT (n = :v AND n = :x)', true, { ':v': N(5), ':x': N(6) }],
  ['(n = :v)', true, { ':v': N(5) }],
  ['(n) = (:v)', true, { ':v': N(5) }],
  ['n = :v aNd s = t oR n = :v', true, { ':v': N(5) }],
  ['n\t=\r\n:v', true, { ':v': N(5) }],
  ['n=:v AND(s=t)', true, { ':v': N(5) }],
  ['attribute_exists ( s )', true],
  // names
  ['#n = :v', true, { ':v': N(5) }, { '#n': 'n' }],
  ['#0 = :v', true, { ':v': N(5) }, { '#0': 'n' }],
  ['#_ = :v', true, { ':v': S('u') }, { '#_': '_under' }],
  ['m.#d = :v', true, { ':v': S('dotted') }, { '#d': 'with.dot' }],
  ['#d = :v', true, { ':v': S('top') }, { '#d': 'dotted.name' }],
  ['m.#r = :v', true, { ':v': S('reserved') }, { '#r': 'name' }],
  ['#m.#b.c[0] = :v', true, { ':v': N(10) }, { '#m': 'm', '#b': 'b' }],
  ['size1 = :v', true, { ':v': N(1) }],
];

describe('conditions that hold or do not', () => {
  for (const [expression, expected, values, names] of cases) {
    test(`${JSON.stringify(expression)} ${JSON.stringify(values ?? {})} is ${expected}`, async () => {
      assert.equal(await asCondition(expression, values, names), expected, 'as ConditionExpression');
      assert.equal(await asFilter(expression, values, names), expected, 'as FilterExpression');
    });
  }
});

describe('key attributes in conditions', () => {
  test('a condition may name them', async () => {
    assert.equal(await asCondition('pk = :v AND sk = :n AND attribute_exists(pk)', { ':v': S('item'), ':n': N(1) }), true);
  });
  for (const expression of ['pk = :v', 'sk = n', 'n = sk', 'attribute_exists(pk)']) {
    test(`a filter of a query may not: ${expression}`, async () => {
      const values = expression.includes(':v') ? { ':v': S('item') } : {};
      await assertFails(asFilter(expression, values), 'ValidationException',
        `Filter Expression can only contain non-primary key attributes: Primary key attribute: ${expression.includes('pk') ? 'pk' : 'sk'}`);
    });
  }
  test('a filter of a scan may', async () => {
    const answer = await context.ddb.Scan({ TableName: table, FilterExpression: 'sk = :v', ExpressionAttributeValues: { ':v': N(1) } });
    assert.equal(answer.Count, 1);
  });
});

// expression, message behind "Invalid <X>: ", values, names, options
const ops = (count) => Array.from({ length: count }, () => 'n = :v').join(' OR ');
const errors = [
  ['', 'The expression can not be empty;'],
  ['!!', 'Syntax error; token: "!", near: "!!"', undefined, undefined, { localText: 'Syntax error; token: "!"' }],
  ['n', 'Syntax error; token: "<EOF>", near: "n"', undefined, undefined],
  [':v', 'Syntax error', { ':v': N(1) }],
  ['size(s)', 'The function is not allowed to be used this way in an expression; function: size'],
  ['n = ', 'Syntax error; token: "<EOF>"'],
  ['n = :v AND', 'Syntax error; token: "<EOF>", near: "AND"', { ':v': N(1) }],
  ['n = = :v', 'Syntax error; token: "=", near: "= = :v"', { ':v': N(1) }],
  ['n == :v', 'Syntax error; token: "=", near: "==', { ':v': N(1) }],
  ['n != :v', 'Syntax error; token: "!", near: "n !="', { ':v': N(1) }],
  ['n = 5', 'Syntax error; token: "5", near: "= 5"'],
  ["s = 'x'", 'Syntax error'],
  ['(n = :v', 'Syntax error; token: "<EOF>", near: ":v"', { ':v': N(1) }],
  ['n = :v)', 'Syntax error; token: ")", near: ":v)"', { ':v': N(1) }],
  ['n IN ()', 'Syntax error; token: ")"'],
  ['n IN :v', 'Syntax error; token: ":v"', { ':v': N(1) }],
  ['n BETWEEN :v', 'Syntax error; token: "<EOF>"', { ':v': N(1) }],
  ['n BETWEEN :v OR :v', 'Syntax error; token: "OR"', { ':v': N(1) }],
  ['# = :v', 'Syntax error', { ':v': N(1) }],
  ['n = :', 'Syntax error'],
  ['_x = :v', 'Syntax error; token: "_"', { ':v': N(1) }, undefined, { localText: 'Syntax error' }],
  ['1x = :v', 'Syntax error; token: "1"', { ':v': N(1) }, undefined, { localText: 'Syntax error' }],
  ['m[:v] = :v', 'Syntax error; token: ":v"', { ':v': N(1) }],
  ['l[-1] = :v', 'Syntax error', { ':v': N(1) }],
  ['m..a = :v', 'Syntax error', { ':v': N(1) }],
  ['a = :v b', 'Syntax error; token: "b"', { ':v': N(1) }],
  ['((n = :v))', 'The expression has redundant parentheses;', { ':v': N(1) }],
  ['name = :v', 'Attribute name is a reserved keyword; reserved keyword: name', { ':v': N(1) }],
  ['STATUS = :v', 'Attribute name is a reserved keyword; reserved keyword: STATUS', { ':v': N(1) }],
  ['m.Status = :v', 'Attribute name is a reserved keyword; reserved keyword: Status', { ':v': N(1) }],
  ['#x = :v', 'An expression attribute name used in the document path is not defined; attribute name: #x', { ':v': N(1) }],
  ['n = :x', 'An expression attribute value used in expression is not defined; attribute value: :x'],
  ['foo(n)', 'Invalid function name; function: foo'],
  ['Size(s) = :v', 'Invalid function name; function: Size', { ':v': N(1) }],
  ['ATTRIBUTE_EXISTS(s)', 'Invalid function name; function: ATTRIBUTE_EXISTS'],
  ['attribute_exists(s) = :v', 'The function is not allowed to be used this way in an expression; function: attribute_exists', { ':v': N(1) }],
  ['n = begins_with(s, t)', 'The function is not allowed to be used this way in an expression; function: begins_with'],
  ['begins_with(s)', 'Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1'],
  ['attribute_exists(s, t)', 'Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2'],
  ['size(s, t) = :v', 'Incorrect number of operands for operator or function; operator or function: size, number of operands: 2', { ':v': N(1) }],
  ['contains(s)', 'Incorrect number of operands for operator or function; operator or function: contains, number of operands: 1'],
  ['attribute_exists(:v)', 'Operator or function requires a document path; operator or function: attribute_exists', { ':v': N(1) }],
  ['attribute_not_exists(size(s))', 'Operator or function requires a document path; operator or function: attribute_not_exists'],
  ['attribute_type(s, :v)', 'Invalid attribute type name found; type: Z, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}', { ':v': S('Z') }, undefined, { localText: 'Invalid attribute type name found; type: Z' }],
  ['attribute_type(s, :v)', 'Incorrect operand type for operator or function; operator or function: attribute_type, operand type: N', { ':v': N(1) }],
  ['attribute_type(s, t)', 'Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}', undefined, undefined, { localText: 'Incorrect operand type for operator or function; operator or function: attribute_type' }],
  ['begins_with(s, :v)', 'Incorrect operand type for operator or function; operator or function: begins_with, operand type: N', { ':v': N(1) }],
  ['begins_with(:v, s)', 'Incorrect operand type for operator or function; operator or function: begins_with, operand type: SS', { ':v': SS('a') }],
  ['size(:v) = n', 'Incorrect operand type for operator or function; operator or function: size, operand type: N', { ':v': N(1) }],
  ['size(:v) = n', 'Incorrect operand type for operator or function; operator or function: size, operand type: BOOL', { ':v': BOOL(true) }],
  ['n < :v', 'Incorrect operand type for operator or function; operator or function: <, operand type: BOOL', { ':v': BOOL(true) }],
  ['n >= :v', 'Incorrect operand type for operator or function; operator or function: >=, operand type: L', { ':v': L() }],
  ['n BETWEEN :v AND :w', 'The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {S:a}, upper bound operand: AttributeValue: {N:1}', { ':v': S('a'), ':w': N(1) }],
  ['n BETWEEN :v AND :w', 'The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}', { ':v': N(2), ':w': N(1) }],
  ['contains(s, s)', 'The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [s]'],
  ['begins_with(s, s)', 'The first operand must be distinct from the remaining operands for this operator or function; operator: begins_with, first operand: [s]'],
  ['n = n', 'The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [n]'],
  [ops(151), 'The expression contains too many operators; operator count: 301', { ':v': N(1) }],
  [`n = :v OR n = :v${' '.repeat(4096)}`, 'Expression size has exceeded the maximum allowed size', { ':v': N(1) }],
];

describe('conditions that are refused', () => {
  for (const [expression, message, values, names, options = {}] of errors) {
    const shown = expression.length > 60 ? `${expression.slice(0, 40)}... (${expression.length})` : expression;
    test(`${JSON.stringify(shown)}: ${message}`, async () => {
      const text = isLocal && options.localText ? options.localText : message;
      await assertFails(asCondition(expression, values, names), 'ValidationException', `Invalid ConditionExpression: ${text}`);
      await assertFails(asFilter(expression, values, names), 'ValidationException', `Invalid FilterExpression: ${text}`);
    });
  }

  test('300 operators and 4096 bytes are accepted', async () => {
    assert.equal(await asCondition(Array.from({ length: 150 }, () => 'n = :v').join(' OR '), { ':v': N(5) }), true);
    assert.equal(await asCondition(`n = :v${' '.repeat(4090)}`, { ':v': N(5) }), true);
  });

  test('IN takes 99 values', async () => {
    const values = Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`:v${i}`, N(i)]));
    assert.equal(await asCondition(`n IN (${Object.keys(values).join(', ')})`, values), true);
    const more = { ...values, ':v99': N(99), ':v100': N(100) };
    await assertFails(asCondition(`n IN (${Object.keys(more).join(', ')})`, more), 'ValidationException', 'Invalid ConditionExpression: ');
  });

  const unused = [
    ['n = :v', { ':v': N(1), ':w': N(2) }, undefined, 'Value provided in ExpressionAttributeValues unused in expressions: keys: {:w}'],
    ['n = :v', { ':v': N(1) }, { '#a': 'a' }, 'Value provided in ExpressionAttributeNames unused in expressions: keys: {#a}'],
    ['n = :v', {}, undefined, 'ExpressionAttributeValues must not be empty'],
    ['n = s', undefined, {}, 'ExpressionAttributeNames must not be empty'],
    ['n = :v', { ':v': N(1) }, { '#': 'a' }, 'ExpressionAttributeNames contains invalid key: Syntax error; key: "#"'],
    ['n = :v', { ':v': N(1), 'v': N(1) }, undefined, 'ExpressionAttributeValues contains invalid key: Syntax error; key: "v"'],
    ['n = :v', { ':v': { NULL: false } }, undefined, 'ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: Null attribute value types must have the value of true for key :v'],
    ['n = :v', { ':v': { SS: [] } }, undefined, 'ExpressionAttributeValues contains invalid value: One or more parameter values were invalid: An string set  may not be empty for key :v'],
    ['n = :v', { ':v': N('1e126') }, undefined, 'ExpressionAttributeValues contains invalid value: Number overflow. Attempting to store a number with magnitude larger than supported range for key :v'],
    ['n = :v', { ':v': N('abc') }, undefined, 'ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value: abc for key :v',
      'ExpressionAttributeValues contains invalid value: '],
  ];
  for (const [expression, values, names, message, localText] of unused) {
    test(`${expression} ${JSON.stringify(values)} ${JSON.stringify(names)}: ${message}`, async () => {
      await assertFails(asCondition(expression, values, names), 'ValidationException', isLocal && localText ? localText : message);
    });
  }
  test('names and values without an expression', async () => {
    const common = { TableName: table, Item: key };
    await assertFails(context.ddb.PutItem({ ...common, ExpressionAttributeNames: { '#a': 'a' } }), 'ValidationException',
      'ExpressionAttributeNames can only be specified when using expressions');
    await assertFails(context.ddb.PutItem({ ...common, ExpressionAttributeValues: { ':a': N(1) } }), 'ValidationException',
      'ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null');
    await assertFails(context.ddb.UpdateItem({ TableName: table, Key: key, ExpressionAttributeValues: { ':a': N(1) } }), 'ValidationException',
      'ExpressionAttributeValues can only be specified when using expressions: UpdateExpression and ConditionExpression are null');
    await assertFails(context.ddb.Scan({ TableName: table, ExpressionAttributeValues: { ':a': N(1) } }), 'ValidationException',
      'ExpressionAttributeValues can only be specified when using expressions: FilterExpression is null');
  });
  test('expressions do not mix with legacy parameters', async () => {
    await assertFails(context.ddb.PutItem({ TableName: table, Item: key, ConditionExpression: 'attribute_exists(pk)', Expected: { a: { Exists: false } } }),
      'ValidationException', 'Can not use both expression and non-expression parameters in the same request: Non-expression parameters: {Expected} Expression parameters: {ConditionExpression}');
  });
});

describe('conditions of writes', () => {
  test('on a missing item every path is absent', async () => {
    const absent = { pk: S('nobody'), sk: N(1) };
    await assertFails(context.ddb.DeleteItem({ TableName: table, Key: absent, ConditionExpression: 'attribute_exists(pk)' }), 'ConditionalCheckFailedException');
    await context.ddb.DeleteItem({ TableName: table, Key: absent, ConditionExpression: 'attribute_not_exists(pk)' });
    await assertFails(context.ddb.UpdateItem({ TableName: table, Key: absent, UpdateExpression: 'SET a = :v', ConditionExpression: 'a = :v', ExpressionAttributeValues: { ':v': N(1) } }),
      'ConditionalCheckFailedException', 'The conditional request failed');
    assertSame(await context.ddb.GetItem({ TableName: table, Key: absent }), {});
  });
  test('put if absent', async () => {
    const Item = { pk: S('once'), sk: N(1), a: S('first') };
    await context.ddb.PutItem({ TableName: table, Item, ConditionExpression: 'attribute_not_exists(pk)' });
    await assertFails(context.ddb.PutItem({ TableName: table, Item: { ...Item, a: S('second') }, ConditionExpression: 'attribute_not_exists(pk)' }), 'ConditionalCheckFailedException');
    assertSame((await context.ddb.GetItem({ TableName: table, Key: { pk: Item.pk, sk: Item.sk } })).Item, Item);
  });
  test('ReturnValuesOnConditionCheckFailure', async () => {
    const failing = { TableName: table, ConditionExpression: 'attribute_not_exists(pk)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' };
    for (const attempt of [
      () => context.ddb.PutItem({ ...failing, Item: key }),
      () => context.ddb.UpdateItem({ ...failing, Key: key, UpdateExpression: 'REMOVE a' }),
      () => context.ddb.DeleteItem({ ...failing, Key: key }),
    ]) {
      const error = await assertFails(attempt(), 'ConditionalCheckFailedException');
      assertSame(error.Item, { ...item, five: N(5) });
    }
    const without = await assertFails(context.ddb.DeleteItem({ ...failing, Key: key, ReturnValuesOnConditionCheckFailure: 'NONE' }), 'ConditionalCheckFailedException');
    assert.equal(without.Item, undefined);
    const absent = await assertFails(context.ddb.DeleteItem({ ...failing, Key: { pk: S('nobody'), sk: N(2) }, ConditionExpression: 'attribute_exists(pk)' }), 'ConditionalCheckFailedException');
    assert.equal(absent.Item, undefined);
  });
});
