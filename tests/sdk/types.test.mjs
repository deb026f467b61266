// Attribute values: all ten types there and back, numbers in canonical form, what is refused.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { B, BOOL, BS, L, M, N, NS, NULL, S, SS, assertFails, assertSame, suite } from './clients.mjs';
import { call, isLocal, referenceOnly } from './harness.mjs';

const context = await suite();
const table = await context.table('types', 'pk:S');
const numbers = await context.table('numbers', 'pk:N');
const binaries = await context.table('binaries', 'pk:B', 'sk:B');
const get = async (pk) => (await context.ddb.GetItem({ TableName: table, Key: { pk: S(pk) }, ConsistentRead: true })).Item;

async function roundTrip(attributes, expected = attributes) {
  const pk = S('round trip');
  await context.ddb.PutItem({ TableName: table, Item: { pk, ...attributes } });
  assertSame(await get('round trip'), { pk, ...expected });
}

describe('there and back', () => {
  const everyByte = Uint8Array.from({ length: 256 }, (_, i) => i);
  const cases = {
    'S': { v: S('text') },
    'S, empty': { v: S('') },
    'S with NUL, quotes, line breaks and emoji': { v: S('\u0000"\\/\b\f\n\r\t\u001f\u007f ü € 😀 \u2028') },
    'N': { v: N(42) },
    'B of every byte': { v: B(everyByte) },
    'B, empty': { v: B(new Uint8Array(0)) },
    'BOOL': { v: BOOL(true), w: BOOL(false) },
    'NULL': { v: NULL },
    'SS': { v: SS('b', 'a', 'ä') },
    'SS with an empty member': { v: SS('', 'a') },
    'NS': { v: NS(3, -1, '0.5') },
    'BS': { v: { BS: [everyByte, new Uint8Array(0)] } },
    'L of everything': { v: L(S('a'), N(1), B('b'), BOOL(true), NULL, SS('x'), NS(1), BS('y'), L(), M({})) },
    'M of everything': { v: M({ a: S('a'), b: N(1), c: B('b'), d: BOOL(true), e: NULL, f: SS('x'), g: NS(1), h: BS('y'), i: L(), j: M({}) }) },
    'names of every kind': { '': undefined, ' ': S('space'), 'a.b': S('dot'), '#': S('hash'), 'ä😀': S('beyond ASCII'), __proto__x: S('odd'), S: S('S'), M: M({ S: M({ S: S('x') }) }) },
    'a list of 1000': { v: L(...Array.from({ length: 1000 }, (_, i) => N(i))) },
    'a map of 1000': { v: M(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, N(i)]))) },
  };
  for (const [title, attributes] of Object.entries(cases)) {
    test(title, async () => {
      delete attributes[''];
      await roundTrip(attributes);
    });
  }
});

describe('numbers', () => {
  const canonical = [
    ['0', '0'], ['-0', '0'], ['0.0', '0'], ['00', '0'], ['1', '1'], ['-1', '-1'], ['+1', '1'], ['007', '7'], ['1.0', '1'], ['1.50', '1.5'],
    ['.5', '0.5'], ['-.5', '-0.5'], ['5.', '5'], ['1e3', '1000'], ['1E+3', '1000'], ['1.5e2', '150'], ['15e-1', '1.5'], ['100', '100'], ['0.001', '0.001'],
    ['12345678901234567890123456789012345678', '12345678901234567890123456789012345678'],
    ['-0.12345678901234567890123456789012345678', '-0.12345678901234567890123456789012345678'],
    ['1234567890123456789.0123456789012345678', '1234567890123456789.0123456789012345678'],
    ['000000000000000000000000000000000000000000000000012.50000000000000000000000000000000000000000000000', '12.5'],
    ['1e125', `1${'0'.repeat(125)}`], ['-9.9e125', `-99${'0'.repeat(124)}`],
    ['99999999999999999999999999999999999999e88', `${'9'.repeat(38)}${'0'.repeat(88)}`],
    ['1e-130', `0.${'0'.repeat(129)}1`], ['-1e-130', `-0.${'0'.repeat(129)}1`],
    ['10e-131', `0.${'0'.repeat(129)}1`],
  ];
  for (const [sent, stored] of canonical) {
    test(`${sent} is stored as ${stored.length > 50 ? `${stored.slice(0, 20)}... (${stored.length})` : stored}`, async () => {
      await roundTrip({ v: N(sent) }, { v: N(stored) });
      // Local keeps numbers inside other values as they were sent.
      if (!isLocal) await roundTrip({ l: L(N(sent)), s: NS(sent), m: M({ k: N(sent) }) }, { l: L(N(stored)), s: NS(stored), m: M({ k: N(stored) }) });
    });
  }

  const notNumeric = 'The parameter cannot be converted to a numeric value';
  const overflow = 'Number overflow. Attempting to store a number with magnitude larger than supported range';
  const underflow = 'Number underflow. Attempting to store a number with magnitude smaller than supported range';
  const digits = 'Attempting to store more than 38 significant digits in a Number';
  const refused = [
    ['', notNumeric], ['abc', `${notNumeric}: abc`], ['1 ', notNumeric], [' 1', notNumeric], ['1 2', notNumeric], ['0x10', notNumeric],
    ['NaN', notNumeric], ['Infinity', notNumeric], ['1e', notNumeric], ['e5', notNumeric], ['1e5.5', notNumeric], ['--1', notNumeric], ['1,5', notNumeric], ['.', notNumeric],
    ['١', notNumeric],
    ['123456789012345678901234567890123456789', digits], ['1.23456789012345678901234567890123456789', digits], ['-0.123456789012345678901234567890123456789', digits],
    ['1e126', overflow], ['-1e126', overflow], ['10e125', overflow], ['9e999999999999', overflow],
    ['1e-131', underflow], ['-1e-131', underflow], ['0.1e-130', underflow],
  ];
  for (const [sent, message] of refused) {
    // Local takes what Java's BigDecimal takes and words it differently.
    const options = isLocal && (message.startsWith(notNumeric) || message === digits || sent === '9e999999999999') ? referenceOnly('other texts') : {};
    test(`${JSON.stringify(sent)} is refused: ${message}`, options, async () => {
      for (const value of [N(sent), L(N(sent)), NS('1', sent), M({ k: N(sent) })]) {
        await assertFails(context.ddb.PutItem({ TableName: table, Item: { pk: S('refused'), v: value } }), 'ValidationException', message);
      }
    });
  }
  test('equal numbers are one key', async () => {
    for (const [first, second] of [['1000', '1e3'], ['0.10', '.1'], ['-0', '0']]) {
      await context.ddb.PutItem({ TableName: numbers, Item: { pk: N(first), v: S(first) } });
      await context.ddb.PutItem({ TableName: numbers, Item: { pk: N(second), v: S(second) } });
      assert.equal((await context.ddb.GetItem({ TableName: numbers, Key: { pk: N(first) } })).Item.v.S, second);
      await context.ddb.DeleteItem({ TableName: numbers, Key: { pk: N(first) } });
    }
    assert.equal((await context.ddb.Scan({ TableName: numbers })).Count, 0);
  });
  test('members of a set are compared by value', async () => {
    await assertFails(context.ddb.PutItem({ TableName: table, Item: { pk: S('x'), v: NS('1', '1.0') } }), 'ValidationException', 'Input collection contains duplicates');
  });
});

describe('binary keys', () => {
  test('any bytes are a key and sort unsigned', async () => {
    const keys = [[0], [0, 0], [0, 1], [1], [127], [128], [255], [255, 0], [255, 255]].map((bytes) => Uint8Array.from(bytes));
    const pk = B(Uint8Array.from([0, 255, 0]));
    for (const sk of [...keys].reverse()) await context.ddb.PutItem({ TableName: binaries, Item: { pk, sk: B(sk) } });
    const answer = await context.ddb.Query({ TableName: binaries, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': pk } });
    assertSame(answer.Items.map((item) => item.sk), keys.map((sk) => B(sk)));
  });
});

describe('nesting', () => {
  // `levels` lists or maps around a string, the attribute itself being the first.
  const nested = (levels, wrap) => Array.from({ length: levels }).reduce((inner) => wrap(inner), S('x'));
  const wraps = { lists: (inner) => L(inner), maps: (inner) => M({ k: inner }) };
  const tooDeep = 'Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit';
  for (const [title, wrap] of Object.entries(wraps)) {
    test(`31 ${title} inside the item are accepted`, () => roundTrip({ v: nested(31, wrap) }));
    test(`33 ${title} are refused`, async () => {
      await assertFails(context.ddb.PutItem({ TableName: table, Item: { pk: S('deep'), v: nested(33, wrap) } }), 'ValidationException', tooDeep);
      await assertFails(context.ddb.UpdateItem({ TableName: table, Key: { pk: S('deep') }, UpdateExpression: 'SET v = :v', ExpressionAttributeValues: { ':v': nested(33, wrap) } }),
        'ValidationException', 'Nesting Levels have exceeded supported limits');
    });
  }
});

describe('values that are refused', () => {
  const OPV = 'One or more parameter values were invalid: ';
  const cases = [
    [{}, 'Supplied AttributeValue is empty, must contain exactly one of the supported datatypes'],
    [{ S: 'a', N: '1' }, 'Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes'],
    [{ X: 'a' }, 'Supplied AttributeValue is empty, must contain exactly one of the supported datatypes'],
    [{ NULL: false }, `${OPV}Null attribute value types must have the value of true`],
    [{ SS: [] }, `${OPV}An string set  may not be empty`],
    [{ NS: [] }, `${OPV}An number set  may not be empty`],
    [{ BS: [] }, `${OPV}Binary sets should not be empty`],
    [{ SS: ['a', 'a'] }, `${OPV}Input collection [a, a] contains duplicates.`],
    [{ NS: ['1', '1'] }, 'Input collection contains duplicates'],
    [{ BS: ['YQ==', 'YQ=='] }, `${OPV}Input collection [YQ==, YQ==]of type BS contains duplicates.`],
    [{ L: [{ SS: [] }] }, `${OPV}An string set  may not be empty`],
    [{ M: { a: { NULL: false } } }, `${OPV}Null attribute value types must have the value of true`],
  ];
  for (const [value, message] of cases) {
    test(`${JSON.stringify(value)}: ${message}`, async () => {
      const reply = await call(context.endpoint, 'PutItem', { TableName: table, Item: { pk: { S: 'x' }, v: value } });
      assert.equal(reply.status, 400);
      const { __type, message: text, Message: localText } = reply.json();
      if (isLocal) return assert.match(localText, /attribute value|AttributeValue|duplicates|empty/i);
      assert.equal(__type, 'com.amazon.coral.validate#ValidationException');
      assert.ok(text.includes(message), text);
    });
  }
  const serialization = [
    [{ S: 1 }, 'NUMBER_VALUE cannot be converted to String'], [{ S: 1.5 }, 'DECIMAL_VALUE cannot be converted to String'],
    [{ S: true }, 'TRUE_VALUE cannot be converted to String'], [{ N: false }, 'FALSE_VALUE cannot be converted to String'],
    [{ N: 1 }, 'NUMBER_VALUE cannot be converted to String'], [{ S: {} }, 'Start of structure or map found where not expected'],
    [{ S: [] }, 'Unrecognized collection type class java.lang.String'], [{ SS: 'a' }, /^Unexpected (field type|value type in payload)$/], [{ L: {} }, 'Start of structure or map found where not expected'],
    [{ M: [] }, 'Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>'],
    [{ B: 1 }, 'only base-64-encoded strings are convertible to bytes'], [{ B: 'abc' }, 'Base64 encoded length is expected a multiple of 4 bytes but found: 3'],
    [{ B: '****' }, 'Invalid last non-pad Base64 character dectected'], [{ BOOL: 'perhaps' }, 'Unexpected token received from parser'],
    ['text', 'Unexpected value type in payload'], [['text'], 'Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue'],
  ];
  for (const [value, message] of serialization) {
    test(`${JSON.stringify(value)} is a SerializationException: ${message}`, referenceOnly('other texts'), async () => {
      const reply = await call(context.endpoint, 'PutItem', { TableName: table, Item: { pk: { S: 'x' }, v: value } });
      assert.equal(reply.status, 400, reply.text);
      assert.equal(reply.json().__type, 'com.amazon.coral.service#SerializationException', reply.text);
      if (message instanceof RegExp) assert.match(reply.json().Message, message);
      else assert.equal(reply.json().Message, message);
    });
  }
  test('a JSON null member equals an absent one', async () => {
    const reply = await call(context.endpoint, 'PutItem', { TableName: table, Item: { pk: { S: 'null member', N: null }, v: { S: 'x' } }, ConditionExpression: null });
    assert.equal(reply.status, 200, reply.text);
    assertSame(await get('null member'), { pk: S('null member'), v: S('x') });
  });
});
