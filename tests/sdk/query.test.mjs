// Query and Scan: key conditions, order, paging by Limit and by size, Select, segments.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { paginateQuery, paginateScan } from '@aws-sdk/client-dynamodb';

import { B, N, S, assertFails, assertSame, suite } from './clients.mjs';
import { isLocal, referenceOnly } from './harness.mjs';

const context = await suite();
const byString = await context.table('by-string', 'pk:S', 'sk:S');
const byNumber = await context.table('by-number', 'pk:S', 'sk:N');
const byBinary = await context.table('by-binary', 'pk:S', 'sk:B');
const hashOnly = await context.table('hash-only', 'pk:S');
const wide = await context.table('wide', 'pk:S', 'sk:N');

const words = ['', 'a', 'a!', 'aa', 'ab', 'abc', 'b', 'ba', 'z', 'ä', '😀'].slice(1);
const values = [-1000, -2.5, -1, 0, '0.001', 1, 2, 10, 11, 100, '1e20'];
await context.load(byString, words.map((word, i) => ({ pk: S('p'), sk: S(word), i: N(i), even: { BOOL: i % 2 === 0 } })));
await context.load(byString, ['o', 'q', 'p\u0000', 'pp'].map((pk) => ({ pk: S(pk), sk: S('other') })));
await context.load(byNumber, values.map((value, i) => ({ pk: S('p'), sk: N(value), i: N(i) })));
await context.load(byBinary, words.map((word, i) => ({ pk: S('p'), sk: B(word), i: N(i) })));
await context.load(hashOnly, Array.from({ length: 100 }, (_, i) => ({ pk: S(`item${i}`), i: N(i), v: S('x') })));
// 30 items of just above 100 KB: 11 of them pass 1 MB.
for (let i = 0; i < 30; i++) {
  await context.ddb.PutItem({ TableName: wide, Item: { pk: S('p'), sk: N(i), filler: S('x'.repeat(100 * 1024)) } });
}

const query = (TableName, KeyConditionExpression, ExpressionAttributeValues, more = {}) =>
  context.ddb.Query({ TableName, KeyConditionExpression, ExpressionAttributeValues, ...more });
const sorted = {
  [byString]: words, [byBinary]: words, [byNumber]: values.map((value) => String(Number(value) === 1e20 ? '100000000000000000000' : value)),
};
const sortKey = (item) => item.sk.S ?? item.sk.N ?? Buffer.from(item.sk.B).toString();

describe('key conditions', () => {
  const p = S('p');
  // condition behind "pk = :p", values, expected sort keys as [from, to) in sorted order
  const strings = [
    ['sk = :a', { ':a': 'abc' }, ['abc']],
    ['sk = :a', { ':a': 'nothing' }, []],
    ['sk < :a', { ':a': 'aa' }, ['a', 'a!']],
    ['sk <= :a', { ':a': 'aa' }, ['a', 'a!', 'aa']],
    ['sk > :a', { ':a': 'b' }, ['ba', 'z', 'ä', '😀']],
    ['sk >= :a', { ':a': 'b' }, ['b', 'ba', 'z', 'ä', '😀']],
    [':a < sk', { ':a': 'z' }, ['ä', '😀']],
    [':a >= sk', { ':a': 'a!' }, ['a', 'a!']],
    ['sk BETWEEN :a AND :b', { ':a': 'aa', ':b': 'b' }, ['aa', 'ab', 'abc', 'b']],
    ['sk between :a and :b', { ':a': 'c', ':b': 'd' }, []],
    ['begins_with(sk, :a)', { ':a': 'a' }, ['a', 'a!', 'aa', 'ab', 'abc']],
    ['begins_with(sk, :a)', { ':a': 'ab' }, ['ab', 'abc']],
    ['begins_with(sk, :a)', { ':a': 'ä' }, ['ä']],
    ['(sk = :a)', { ':a': 'b' }, ['b']],
  ];
  for (const [condition, bounds, expected] of strings) {
    for (const [title, table, wrap] of [['S', byString, S], ['B', byBinary, B]]) {
      test(`${title}: ${condition} ${JSON.stringify(bounds)}`, async () => {
        const named = { ':p': p, ...Object.fromEntries(Object.entries(bounds).map(([name, value]) => [name, wrap(value)])) };
        const forward = await query(table, `pk = :p AND ${condition}`, named);
        assert.deepEqual(forward.Items.map(sortKey), expected);
        assert.equal(forward.Count, expected.length);
        assert.equal(forward.ScannedCount, expected.length);
        assert.equal(forward.LastEvaluatedKey, undefined);
        const backward = await query(table, `${condition} and :p = pk`, named, { ScanIndexForward: false });
        assert.deepEqual(backward.Items.map(sortKey), [...expected].reverse());
      });
    }
  }
  const numeric = [
    ['sk = :a', [10], ['10']],
    ['sk < :a', [0], ['-1000', '-2.5', '-1']],
    ['sk <= :a', ['0.0'], ['-1000', '-2.5', '-1', '0']],
    ['sk > :a', [10], ['11', '100', '100000000000000000000']],
    ['sk >= :a', ['1e2'], ['100', '100000000000000000000']],
    ['sk BETWEEN :a AND :b', [-2.5, '0.0005'], ['-2.5', '-1', '0']],
    ['sk BETWEEN :a AND :b', [2, 2], ['2']],
  ];
  for (const [condition, bounds, expected] of numeric) {
    test(`N: ${condition} ${JSON.stringify(bounds)}`, async () => {
      const named = { ':p': p, ':a': N(bounds[0]), ...(bounds.length > 1 && { ':b': N(bounds[1]) }) };
      assert.deepEqual((await query(byNumber, `pk = :p AND ${condition}`, named)).Items.map(sortKey), expected);
      assert.deepEqual((await query(byNumber, `pk = :p AND ${condition}`, named, { ScanIndexForward: false })).Items.map(sortKey), [...expected].reverse());
    });
  }
  test('the partition key alone: everything in order, nothing of its neighbours', async () => {
    for (const table of [byString, byNumber, byBinary]) {
      assert.deepEqual((await query(table, 'pk = :p', { ':p': p })).Items.map(sortKey), sorted[table]);
      assert.deepEqual((await query(table, '(pk = :p)', { ':p': p }, { ScanIndexForward: false, ConsistentRead: true })).Items.map(sortKey), [...sorted[table]].reverse());
    }
    assert.equal((await query(byString, 'pk = :p', { ':p': S('p\u0000') })).Count, 1);
    assert.equal((await query(hashOnly, '#k = :p', { ':p': S('item7') }, { ExpressionAttributeNames: { '#k': 'pk' } })).Count, 1);
    assertSame(await query(byString, 'pk = :p', { ':p': S('nobody') }), { Items: [], Count: 0, ScannedCount: 0 });
  });

  const K = 'Invalid KeyConditionExpression: ';
  const missed = (key) => (isLocal ? 'Query condition missed key schema element' : `Query condition missed key schema element: ${key}`);
  const refused = [
    ['', `${K}The expression can not be empty;`, {}],
    ['pk', `${K}Syntax error; token: "<EOF>"`, {}],
    ['pk = :p AND', `${K}Syntax error; token: "<EOF>"`],
    ['pk <> :p', `Invalid operator used in KeyConditionExpression: <>`],
    ['pk = :p OR sk = :a', 'Invalid operator used in KeyConditionExpression: OR', { ':a': S('a') }],
    ['NOT pk = :p', 'Invalid operator used in KeyConditionExpression: NOT'],
    ['pk IN (:p)', 'Invalid operator used in KeyConditionExpression: IN'],
    ['pk = :p AND attribute_exists(sk)', 'Invalid operator used in KeyConditionExpression: attribute_exists'],
    ['pk = :p AND contains(sk, :a)', 'Invalid operator used in KeyConditionExpression: contains', { ':a': S('a') }],
    ['pk = :p AND attribute_type(sk, :a)', 'Invalid operator used in KeyConditionExpression: attribute_type', { ':a': S('S') }],
    ['pk < :p', 'Query key condition not supported'],
    ['begins_with(pk, :p)', 'Query key condition not supported'],
    ['pk BETWEEN :p AND :p', 'Query key condition not supported'],
    ['sk = :a', missed('pk'), { ':p': undefined, ':a': S('a') }],
    ['pk = :p AND other1 = :a', missed('sk'), { ':a': S('a') }],
    ['other1 = :p', missed('pk')],
    ['pk = :p AND pk = :a', 'KeyConditionExpressions must only contain one condition per key', { ':a': S('a') }],
    ['pk = :p AND sk > :a AND sk < :b', 'KeyConditionExpressions must only contain one condition per key', { ':a': S('a'), ':b': S('b') }],
    ['pk.a = :p', `${K}KeyConditionExpressions cannot have conditions on nested attributes`, undefined, 'Key attributes must be scalars'],
    ['pk = :p AND size(sk) = :a', 'KeyConditionExpressions cannot contain nested operations', { ':a': N(1) }],
    ['pk = sk', 'Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition', {}],
    [':p = :a', 'Invalid condition in KeyConditionExpression: No key attribute specified', { ':a': S('p') }],
    ['pk = :p AND :a BETWEEN sk AND :b', 'Invalid condition in KeyConditionExpression: BETWEEN operator must have the key attribute as its first operand', { ':a': S('a'), ':b': S('b') }],
    ['pk = :p AND begins_with(:a, sk)', 'Invalid condition in KeyConditionExpression: begins_with operator must have the key attribute as its first operand', { ':a': S('a') }],
    ['pk = :p', 'One or more parameter values were invalid: Condition parameter type does not match schema type', { ':p': N(1) }],
    ['pk = :p AND sk = :a', 'One or more parameter values were invalid: Condition parameter type does not match schema type', { ':a': N(1) }],
    ['pk = :p AND sk BETWEEN :a AND :b', 'requires upper bound to be greater than or equal to lower bound', { ':a': S('b'), ':b': S('a') }],
    ['pk = :p AND sk BETWEEN :a AND :b', 'requires same data type for lower and upper bounds', { ':a': S('b'), ':b': N(1) }],
    ['pk = :p AND sk = :a', 'An expression attribute value used in expression is not defined; attribute value: :a'],
    ['pk = :p', 'Value provided in ExpressionAttributeValues unused in expressions: keys: {:a}', { ':a': N(1) }],
    ['((pk = :p))', `${K}The expression has redundant parentheses;`],
    ['pk = :p AND sk = :a', 'One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: sk', { ':a': S('') }],
  ];
  for (const [condition, message, bounds = {}, localText] of refused) {
    test(`${JSON.stringify(condition)} ${JSON.stringify(bounds)}: ${message}`, async () => {
      const named = { ...(/:p/.test(condition) && { ':p': p }), ...bounds };
      for (const name of Object.keys(named)) if (named[name] === undefined) delete named[name];
      await assertFails(query(byString, condition, Object.keys(named).length ? named : undefined), 'ValidationException', isLocal && localText ? localText : message);
    });
  }
  test('begins_with on a numeric sort key', async () => {
    await assertFails(query(byNumber, 'pk = :p AND begins_with(sk, :a)', { ':p': p, ':a': N(1) }), 'ValidationException',
      'Incorrect operand type for operator or function; operator or function: begins_with, operand type: N');
  });
  test('a second condition on a table without sort key', async () => {
    await assertFails(query(hashOnly, 'pk = :p AND sk = :a', { ':p': p, ':a': S('a') }), 'ValidationException', 'Query key condition not supported');
  });
  test('no condition at all', async () => {
    await assertFails(context.ddb.Query({ TableName: byString }), 'ValidationException',
      'Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.');
  });
  test('no such index', async () => {
    await assertFails(query(byString, 'pk = :p', { ':p': p }, { IndexName: 'nothing' }), 'ValidationException', 'The table does not have the specified index: nothing');
    await assertFails(context.ddb.Scan({ TableName: byString, IndexName: 'nothing' }), 'ValidationException', 'The table does not have the specified index: nothing');
  });
  test('no such table', async () => {
    await assertFails(query(context.name('nothing'), 'pk = :p', { ':p': p }), 'ResourceNotFoundException', isLocal ? '' : 'Requested resource not found');
    await assertFails(context.ddb.Scan({ TableName: context.name('nothing') }), 'ResourceNotFoundException', isLocal ? '' : 'Requested resource not found');
  });
});

describe('paging of a query', () => {
  for (const ScanIndexForward of [true, false]) {
    for (const Limit of [1, 2, 3, 4, 9, 10, 11]) {
      test(`Limit ${Limit}, ${ScanIndexForward ? 'forward' : 'backward'}`, async () => {
        const seen = [];
        let pages = 0;
        let ExclusiveStartKey;
        do {
          const page = await query(byString, 'pk = :p', { ':p': S('p') }, { Limit, ScanIndexForward, ExclusiveStartKey });
          pages++;
          seen.push(...page.Items.map(sortKey));
          assert.ok(page.Count <= Limit);
          ({ LastEvaluatedKey: ExclusiveStartKey } = page);
          if (ExclusiveStartKey) {
            assert.equal(page.Count, Limit);
            assertSame(ExclusiveStartKey, { pk: S('p'), sk: page.Items.at(-1).sk });
          }
        } while (ExclusiveStartKey);
        assert.deepEqual(seen, ScanIndexForward ? words : [...words].reverse());
        assert.equal(pages, Math.floor(words.length / Limit) + 1);
      });
    }
  }
  test('with a condition on the sort key', async () => {
    const first = await query(byString, 'pk = :p AND sk >= :a', { ':p': S('p'), ':a': S('ab') }, { Limit: 2 });
    assert.deepEqual(first.Items.map(sortKey), ['ab', 'abc']);
    const second = await query(byString, 'pk = :p AND sk >= :a', { ':p': S('p'), ':a': S('ab') }, { Limit: 2, ExclusiveStartKey: first.LastEvaluatedKey });
    assert.deepEqual(second.Items.map(sortKey), ['b', 'ba']);
  });
  test('Limit counts what is read, not what matches', async () => {
    const page = await query(byString, 'pk = :p', { ':p': S('p'), ':y': { BOOL: true } }, { FilterExpression: 'even = :y', Limit: 5 });
    assert.equal(page.ScannedCount, 5);
    assert.equal(page.Count, 3);
    assertSame(page.LastEvaluatedKey, { pk: S('p'), sk: S(words[4]) });
  });
  test('the start key need not exist', async () => {
    const page = await query(byString, 'pk = :p', { ':p': S('p') }, { ExclusiveStartKey: { pk: S('p'), sk: S('az') } });
    assert.deepEqual(page.Items.map(sortKey), words.slice(words.indexOf('b')));
  });
  test('a page ends at 1 MB', async () => {
    for (const ScanIndexForward of [true, false]) {
      const counts = [];
      const seen = [];
      for await (const page of paginateQuery({ client: context.client }, {
        TableName: wide, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': S('p') }, ScanIndexForward,
      })) {
        counts.push(page.Count);
        seen.push(...page.Items.map((item) => Number(item.sk.N)));
      }
      const all = Array.from({ length: 30 }, (_, i) => i);
      assert.deepEqual(seen, ScanIndexForward ? all : all.reverse());
      assert.ok(counts.length >= 3 && counts.length <= 4, `pages of ${counts}`);
      for (const count of counts.slice(0, 2)) assert.ok(count === 10 || count === 11, `pages of ${counts}`);
    }
  });
  test('1 MB is counted before filter and projection', referenceOnly('counts what is returned'), async () => {
    const page = await query(wide, 'pk = :p', { ':p': S('p'), ':n': N(5) }, { FilterExpression: 'absent1 = :n', ProjectionExpression: 'sk' });
    assert.equal(page.Count, 0);
    assert.ok(page.ScannedCount === 10 || page.ScannedCount === 11, `${page.ScannedCount}`);
    assert.ok(page.LastEvaluatedKey);
    const count = await query(wide, 'pk = :p', { ':p': S('p') }, { Select: 'COUNT' });
    assert.equal(count.Items, undefined);
    assert.ok(count.LastEvaluatedKey);
  });
  test('start keys that are refused', async () => {
    const start = (ExclusiveStartKey, text) => assertFails(query(byString, 'pk = :p', { ':p': S('p') }, { ExclusiveStartKey }), 'ValidationException', text);
    await start({ pk: S('p') }, /The provided starting key is invalid|Exclusive Start Key must have same size as table's key schema/);
    await start({ pk: S('p'), sk: N(1) }, isLocal ? '' : 'The provided starting key is invalid');
    await start({ pk: S('q'), sk: S('a') }, isLocal ? 'The provided starting key' : 'The provided starting key is outside query boundaries based on provided conditions');
    await start({ pk: S('p'), sk: S('a'), more: S('x') }, /The provided starting key is invalid|Exclusive Start Key must have same size as table's key schema/);
    await assertFails(query(byString, 'pk = :p AND sk > :a', { ':p': S('p'), ':a': S('m') }, { ExclusiveStartKey: { pk: S('p'), sk: S('a') } }),
      'ValidationException', 'The provided starting key does not match the range key predicate');
  });
  test('a Limit below 1', async () => {
    await assertFails(query(byString, 'pk = :p', { ':p': S('p') }, { Limit: 0 }), 'ValidationException', isLocal ? 'Limit must be' : 'Member must have value greater than or equal to 1');
    await assertFails(context.ddb.Scan({ TableName: byString, Limit: 0 }), 'ValidationException', isLocal ? 'Limit must be' : "Value '0' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1");
  });
});

describe('Select', () => {
  const run = (more) => query(byString, 'pk = :p', { ':p': S('p') }, more);
  test('ALL_ATTRIBUTES is the default', async () => {
    assertSame(await run({ Select: 'ALL_ATTRIBUTES' }), await run({}));
  });
  test('COUNT', async () => {
    assertSame(await run({ Select: 'COUNT' }), { Count: words.length, ScannedCount: words.length });
    assertSame(await context.ddb.Scan({ TableName: hashOnly, Select: 'COUNT', FilterExpression: 'i < :n', ExpressionAttributeValues: { ':n': N(10) } }), { Count: 10, ScannedCount: 100 });
  });
  test('SPECIFIC_ATTRIBUTES', async () => {
    assertSame((await run({ Select: 'SPECIFIC_ATTRIBUTES', ProjectionExpression: 'i' })).Items, words.map((_, i) => ({ i: N(i) })));
    await assertFails(run({ Select: 'SPECIFIC_ATTRIBUTES' }), 'ValidationException',
      isLocal ? '' : 'Must specify the AttributesToGet or ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES');
  });
  for (const [Select, words] of [['ALL_ATTRIBUTES', 'ALL_ATTRIBUTES'], ['COUNT', 'only the Count']]) {
    test(`${Select} with a projection`, async () => {
      await assertFails(run({ Select, ProjectionExpression: 'i' }), 'ValidationException', `Cannot specify the ProjectionExpression when choosing to get ${isLocal ? '' : words}`);
    });
  }
  test('ALL_PROJECTED_ATTRIBUTES without an index', async () => {
    await assertFails(run({ Select: 'ALL_PROJECTED_ATTRIBUTES' }), 'ValidationException', 'ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName');
  });
  test('an unknown one', async () => {
    await assertFails(run({ Select: 'EVERYTHING' }), 'ValidationException', isLocal ? '' : 'SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]');
  });
});

describe('scan', () => {
  const everything = Array.from({ length: 100 }, (_, i) => `item${i}`).sort();
  const collect = async (more) => {
    const names = [];
    for await (const page of paginateScan({ client: context.client }, { TableName: hashOnly, ...more })) names.push(...page.Items.map((item) => item.pk.S));
    return names;
  };
  test('sees each item once, whatever the page', async () => {
    for (const Limit of [undefined, 1, 7, 50, 100, 1000]) assert.deepEqual((await collect({ Limit })).sort(), everything, `Limit ${Limit}`);
  });
  test('the order is that of every scan', async () => assert.deepEqual(await collect({ Limit: 9 }), await collect({ ConsistentRead: true })));
  for (const TotalSegments of [1, 2, 3, 7, 64]) {
    test(`${TotalSegments} segments share the table`, async () => {
      const parts = await Promise.all(Array.from({ length: TotalSegments }, (_, Segment) => collect({ Segment, TotalSegments, Limit: 5 })));
      assert.deepEqual(parts.flat().sort(), everything);
      if (TotalSegments === 2) assert.ok(parts.every((part) => part.length > 20), `${parts.map((part) => part.length)}`);
    });
  }
  test('a segment out of a million', async () => {
    const page = await context.ddb.Scan({ TableName: hashOnly, Segment: 999999, TotalSegments: 1000000 });
    assert.ok(page.Count <= 1);
  });
  test('segments that are refused', referenceOnly('other texts'), async () => {
    const scan = (more, text) => assertFails(context.ddb.Scan({ TableName: hashOnly, ...more }), 'ValidationException', text);
    await scan({ Segment: 0 }, 'The TotalSegments parameter is required but was not present in the request when Segment parameter is present');
    await scan({ TotalSegments: 5 }, 'The Segment parameter is required but was not present in the request when parameter TotalSegments is present');
    await scan({ Segment: 5, TotalSegments: 5 }, 'The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: 5 is not less than TotalSegments: 5');
    await scan({ Segment: 0, TotalSegments: 1000001 }, isLocal ? '' : 'Member must have value less than or equal to 1000000');
    await scan({ Segment: -1, TotalSegments: 5 }, isLocal ? '' : 'Member must have value greater than or equal to 0');
    await scan({ Segment: 0, TotalSegments: 0 }, isLocal ? '' : 'Member must have value greater than or equal to 1');
  });
  test('a start key of another segment', referenceOnly('not checked'), async () => {
    const page = await context.ddb.Scan({ TableName: hashOnly, Segment: 0, TotalSegments: 4, Limit: 1 });
    await assertFails(context.ddb.Scan({ TableName: hashOnly, Segment: 3, TotalSegments: 4, ExclusiveStartKey: page.LastEvaluatedKey }), 'ValidationException',
      'The provided starting key is');
  });
  test('filter and projection', async () => {
    const answer = await context.ddb.Scan({ TableName: hashOnly, FilterExpression: 'i >= :n', ExpressionAttributeValues: { ':n': N(98) }, ProjectionExpression: 'i' });
    assert.equal(answer.ScannedCount, 100);
    assertSame(answer.Items.sort((a, b) => a.i.N - b.i.N), [{ i: N(98) }, { i: N(99) }]);
  });
  test('pages of 1 MB', async () => {
    const counts = [];
    for await (const page of paginateScan({ client: context.client }, { TableName: wide })) counts.push(page.Count);
    assert.equal(counts.reduce((sum, count) => sum + count), 30);
    assert.ok(counts.length >= 3 && counts.length <= 4, `pages of ${counts}`);
  });
});
