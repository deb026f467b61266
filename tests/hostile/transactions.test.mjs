// Transactions that read much more than they may answer.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Server, call } from '../sdk/harness.mjs';
import { Judge } from './judge.mjs';

const kBudgetMb = 64, kInflightMb = 512, kAllowedBytes = (kBudgetMb + kInflightMb + 200) << 20;
const kItemBytes = 390000;

describe('transactions of a hundred large items', () => {
  let server, judge;
  before(async () => {
    server = await Server.startOne({ args: [`--memory-budget-mb=${kBudgetMb}`, `--max-inflight-mb=${kInflightMb}`, '--io-threads=2'] });
    judge = await Judge.of(server);
    const created = await call(server.endpoint, 'CreateTable', {
      TableName: 'large', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    assert.equal(created.status, 200, created.text);
    for (let i = 0; i < 100; ++i) {
      const put = await call(server.endpoint, 'PutItem', { TableName: 'large', Item: { pk: { S: String(i).padStart(3, '0') }, v: { S: 'x'.repeat(kItemBytes) } } });
      assert.equal(put.status, 200, put.text);
    }
  });
  after(async () => {
    judge?.close();
    await server?.kill();
  });

  const keys = Array.from({ length: 100 }, (_, i) => ({ pk: { S: String(i).padStart(3, '0') } }));
  const requests = {
    TransactGetItems: { TransactItems: keys.map((Key) => ({ Get: { TableName: 'large', Key, ProjectionExpression: 'pk' } })) },
    ExecuteTransaction: { TransactStatements: keys.map(({ pk }) => ({ Statement: `SELECT pk FROM "large" WHERE pk = '${pk.S}'` })) },
  };
  for (const [operation, body] of Object.entries(requests)) {
    test(`${operation}: refused for the sum, and not held`, async () => {
      // Each attribute counts its name too: pk and its 3 digits, v and its text.
      const sum = 100 * (2 + 3 + 1 + kItemBytes);
      const answers = await judge.watch(() => Promise.all(Array.from({ length: 60 }, () => call(server.endpoint, operation, body, { timeout: 120000 }))));
      const refused = answers.filter(({ status }) => status === 400);
      assert.ok(refused.length > 0, 'none had its turn');
      for (const { text } of refused) assert.match(text, new RegExp(`Transaction payload size cannot exceed 4MB. Payload Size: ${sum}`));
      for (const { status, text } of answers) assert.ok(status === 400 || status === 503, `${status} ${text.slice(0, 300)}`);
      const { peakBytes } = judge.verdict;
      assert.ok(peakBytes < kAllowedBytes, `${peakBytes >> 20} MB of ${kAllowedBytes >> 20} allowed`);
    });
  }
  test('ten large items are answered', async () => {
    const reply = await call(server.endpoint, 'TransactGetItems', { TransactItems: keys.slice(0, 10).map((Key) => ({ Get: { TableName: 'large', Key } })) });
    assert.equal(reply.status, 200, reply.text.slice(0, 300));
    assert.equal(reply.json().Responses.length, 10);
    for (const { Item } of reply.json().Responses) assert.equal(Item.v.S.length, kItemBytes);
  });
});
