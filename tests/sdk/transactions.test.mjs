// Transactions through the SDK: reasons, tokens, and totals that hold under concurrency.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { N, S, assertFails, assertSame, suite } from './clients.mjs';

const context = await suite();
const table = await context.table('transactions', 'pk:S');
const { ddb } = context;
const keyOf = (name) => ({ pk: S(name) });

test('all or nothing, with a reason for each action', async () => {
  await ddb.TransactWriteItems({ TransactItems: [
    { Put: { TableName: table, Item: { ...keyOf('a'), n: N(1) } } },
    { Update: { TableName: table, Key: keyOf('b'), UpdateExpression: 'SET n = :n', ExpressionAttributeValues: { ':n': N(2) } } },
  ] });
  const error = await assertFails(ddb.TransactWriteItems({ TransactItems: [
    { Delete: { TableName: table, Key: keyOf('b') } },
    { ConditionCheck: { TableName: table, Key: keyOf('a'), ConditionExpression: 'n > :n', ExpressionAttributeValues: { ':n': N(1) }, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } },
  ] }), 'TransactionCanceledException', '[None, ConditionalCheckFailed]');
  assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ['None', 'ConditionalCheckFailed']);
  assertSame(error.CancellationReasons[1].Item, { ...keyOf('a'), n: N(1) });
  const { Responses } = await ddb.TransactGetItems({ TransactItems: ['b', 'missing', 'a'].map((name) => ({ Get: { TableName: table, Key: keyOf(name) } })) });
  assertSame(Responses, [{ Item: { ...keyOf('b'), n: N(2) } }, {}, { Item: { ...keyOf('a'), n: N(1) } }]);
});

test('a token counts once, and for one request', async () => {
  const request = (amount) => ({
    ClientRequestToken: 'a-token-of-this-test',
    TransactItems: [{ Update: { TableName: table, Key: keyOf('counter'), UpdateExpression: 'ADD n :n', ExpressionAttributeValues: { ':n': N(amount) } } }],
  });
  await Promise.all(Array.from({ length: 8 }, () => ddb.TransactWriteItems(request(1))));
  await assertFails(ddb.TransactWriteItems(request(2)), 'IdempotentParameterMismatchException');
  assertSame((await ddb.GetItem({ TableName: table, Key: keyOf('counter') })).Item, { ...keyOf('counter'), n: N(1) });
});

test('100 actions, not 101', async () => {
  const puts = (count) => Array.from({ length: count }, (_, i) => ({ Put: { TableName: table, Item: keyOf(`many${i}`) } }));
  await ddb.TransactWriteItems({ TransactItems: puts(100) });
  const gets = await ddb.TransactGetItems({ TransactItems: puts(100).map(({ Put }) => ({ Get: { TableName: table, Key: Put.Item } })) });
  assert.ok(gets.Responses.every((response) => response.Item));
  await assertFails(ddb.TransactWriteItems({ TransactItems: puts(101) }), 'ValidationException', 'Member must have length less than or equal to 100');
});

test('the total of all accounts never changes', async () => {
  const accounts = Array.from({ length: 6 }, (_, i) => keyOf(`account${i}`));
  await Promise.all(accounts.map((key) => ddb.PutItem({ TableName: table, Item: { ...key, n: N(100) } })));
  let open = 4;
  const move = async (from, to, amount) => ddb.TransactWriteItems({ TransactItems: [
    { Update: { TableName: table, Key: accounts[from], UpdateExpression: 'SET n = n - :n', ConditionExpression: 'n >= :n', ExpressionAttributeValues: { ':n': N(amount) } } },
    { Update: { TableName: table, Key: accounts[to], UpdateExpression: 'SET n = n + :n', ExpressionAttributeValues: { ':n': N(amount) } } },
  ] }).catch((error) => assert.equal(error.name, 'TransactionCanceledException', error.message));
  const writer = async (number) => {
    for (let i = 0; i < 60; ++i) await move((i * 5 + number) % 6, (i * 5 + number + 1 + (i % 5)) % 6, 1 + ((i * 7 + number) % 50));
    --open;
  };
  const reader = async () => {
    do {
      const { Responses } = await ddb.TransactGetItems({ TransactItems: accounts.map((Key) => ({ Get: { TableName: table, Key } })) });
      assert.equal(Responses.reduce((sum, response) => sum + Number(response.Item.n.N), 0), 600);
    } while (open > 0);
  };
  await Promise.all([writer(0), writer(1), writer(2), writer(3), reader()]);
});
