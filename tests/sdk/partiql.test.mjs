// PartiQL through the SDK: statements, parameters of every type, pages, batches, transactions, and the document client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchExecuteStatementCommand, DynamoDBDocumentClient, ExecuteStatementCommand, ExecuteTransactionCommand } from '@aws-sdk/lib-dynamodb';

import { B, BOOL, BS, L, M, N, NS, NULL, S, SS, assertFails, assertSame, suite } from './clients.mjs';

const context = await suite();
const table = await context.table('partiql', 'pk:S', 'sk:N');
const { ddb } = context;
const documents = DynamoDBDocumentClient.from(context.client);
const run = (Statement, ...Parameters) => ddb.ExecuteStatement({ Statement, ...(Parameters.length > 0 && { Parameters }) });

test('values of every type go in and come back', async () => {
  const values = {
    s: S("it's 😀"), n: N('-1.5'), b: B('\x00\x01'), yes: BOOL(true), none: NULL, ss: SS('a', 'b'), ns: NS(1, 2.5), bs: BS('x', 'y'),
    l: L(N(1), S('x'), L()), m: M({ k: M({}) }),
  };
  const names = Object.keys(values);
  await run(`INSERT INTO "${table}" VALUE {'pk': 'all', 'sk': 1, ${names.map((name) => `'${name}': ?`).join(', ')}}`, ...Object.values(values));
  const { Items } = await run(`SELECT * FROM "${table}" WHERE pk = ? AND sk = ?`, S('all'), N(1));
  assertSame(Items, [{ pk: S('all'), sk: N(1), ...values }]);
  for (const name of names) {
    const { Items: [found] } = await run(`SELECT sk FROM "${table}" WHERE pk = 'all' AND sk = 1 AND ${name} = ?`, values[name]);
    assertSame(found, { sk: N(1) }, name);
  }
});

test('errors have the names of the SDK', async () => {
  await run(`INSERT INTO "${table}" VALUE {'pk': 'once', 'sk': 1, 'n': 1}`);
  await assertFails(run(`INSERT INTO "${table}" VALUE {'pk': 'once', 'sk': 1}`), 'DuplicateItemException', 'Duplicate primary key exists in table');
  const failed = await assertFails(ddb.ExecuteStatement({
    Statement: `UPDATE "${table}" SET n = 5 WHERE pk = 'once' AND sk = 1 AND n = 2`, ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }), 'ConditionalCheckFailedException');
  assertSame(failed.Item, { pk: S('once'), sk: N(1), n: N(1) });
  await assertFails(run('SELECT * FROM nosuchtable'), 'ResourceNotFoundException');
  await assertFails(run(`SELECT * FROM "${table}" WHERE`), 'ValidationException', "Statement wasn't well formed, can't be processed: ");
});

test('pages follow NextToken', async () => {
  for (let sk = 1; sk <= 7; sk++) await run(`INSERT INTO "${table}" VALUE {'pk': 'pages', 'sk': ${sk}, 'odd': ${sk % 2 === 1}}`);
  const Statement = `SELECT sk FROM "${table}" WHERE pk = ? AND odd = true ORDER BY sk DESC`;
  const seen = [];
  let NextToken;
  let pages = 0;
  do {
    const page = await documents.send(new ExecuteStatementCommand({ Statement, Parameters: ['pages'], Limit: 2, NextToken }));
    assert.ok(page.Items.length <= 2);
    if (page.NextToken) assert.equal(page.LastEvaluatedKey.pk, 'pages');
    seen.push(...page.Items.map(({ sk }) => sk));
    ({ NextToken } = page);
    pages++;
  } while (NextToken);
  assert.deepEqual(seen, [7, 5, 3, 1]);
  assert.equal(pages, 4);
  const { NextToken: bound } = await ddb.ExecuteStatement({ Statement, Parameters: [S('pages')], Limit: 1 });
  await assertFails(ddb.ExecuteStatement({ Statement, Parameters: [S('other')], NextToken: bound }), 'ValidationException', 'NextToken does not match request');
  const forged = `${bound.slice(0, 40)}${bound[40] === 'A' ? 'B' : 'A'}${bound.slice(41)}`;
  await assertFails(ddb.ExecuteStatement({ Statement, Parameters: [S('pages')], NextToken: forged }), 'ValidationException', 'Invalid NextToken');
});

test('the document client: statements, batches, transactions', async () => {
  const item = { pk: 'doc', sk: 1, set: new Set(['a']), nested: { list: [1, { two: 2 }] } };
  await documents.send(new ExecuteStatementCommand({
    Statement: `INSERT INTO "${table}" VALUE {'pk': ?, 'sk': ?, 'set': ?, 'nested': ?}`, Parameters: Object.values(item),
  }));
  const { Responses } = await documents.send(new BatchExecuteStatementCommand({ Statements: [
    { Statement: `SELECT * FROM "${table}" WHERE pk = ? AND sk = ?`, Parameters: ['doc', 1] },
    { Statement: `SELECT * FROM "${table}" WHERE pk = ? AND sk = ?`, Parameters: ['never', 1] },
  ] }));
  assert.deepEqual(Responses, [{ TableName: table, Item: item }, { TableName: table }]);
  const answer = await documents.send(new ExecuteTransactionCommand({ TransactStatements: [
    { Statement: `EXISTS(SELECT * FROM "${table}" WHERE pk = 'doc' AND sk = 1 AND begins_with(pk, 'd'))` },
    { Statement: `UPDATE "${table}" SET n = ? WHERE pk = ? AND sk = ?`, Parameters: [1, 'once', 1] },
  ] }));
  assert.deepEqual(answer.Responses, [{}, {}]);
});

test('one token, many at once', async () => {
  await run(`INSERT INTO "${table}" VALUE {'pk': 'counter', 'sk': 1, 'n': 0}`);
  const request = { ClientRequestToken: 'partiql-token', TransactStatements: [{ Statement: `UPDATE "${table}" SET n = n + 1 WHERE pk = 'counter' AND sk = 1` }] };
  await Promise.all(Array.from({ length: 8 }, () => ddb.ExecuteTransaction(request)));
  await Promise.all(Array.from({ length: 20 }, () => run(`UPDATE "${table}" SET n = n + 1 WHERE pk = 'counter' AND sk = 1`)));
  assertSame((await run(`SELECT n FROM "${table}" WHERE pk = 'counter' AND sk = 1`)).Items, [{ n: N(21) }]);
});

test('a transaction with reasons', async () => {
  const error = await assertFails(ddb.ExecuteTransaction({ TransactStatements: [
    { Statement: `INSERT INTO "${table}" VALUE {'pk': 'once', 'sk': 1}` },
    { Statement: `INSERT INTO "${table}" VALUE {'pk': 'never', 'sk': 1}` },
    { Statement: `DELETE FROM "${table}" WHERE pk = 'counter' AND sk = 1 AND n = 0`, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' },
  ] }), 'TransactionCanceledException', '[DuplicateItem, None, ConditionalCheckFailed]');
  assertSame(error.CancellationReasons[2].Item, { pk: S('counter'), sk: N(1), n: N(21) });
  assertSame((await run(`SELECT * FROM "${table}" WHERE pk = 'never'`)).Items, []);
});
