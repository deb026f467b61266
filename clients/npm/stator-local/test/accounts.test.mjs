// withStator() and accounts on a real server, with node:test's hooks: `STATOR_BIN=... node --test test`.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';

import { account, defaultAccount, start, withStator } from '../index.mjs';

// One call of DynamoDB's API, with no SDK.
async function dynamodb({ client }, operation, body) {
  const { accessKeyId } = client.credentials;
  const reply = await fetch(client.endpoint, {
    method: 'POST', body: JSON.stringify(body),
    headers: {
      'Content-Type': 'application/x-amz-json-1.0', 'X-Amz-Target': `DynamoDB_20120810.${operation}`, 'X-Amz-Date': '20261127T000000Z',
      Authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/20261127/${client.region}/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=00`,
    },
  });
  assert.equal(reply.status, 200, `${operation}: ${await reply.clone().text()}`);
  return reply.json();
}
const music = { TableName: 'music', BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }] };
const put = (of, pk) => dynamodb(of, 'PutItem', { TableName: 'music', Item: { pk: { S: pk } } });
const count = async (of) => (await dynamodb(of, 'Scan', { TableName: 'music' })).Count;

describe('a file of tests', () => {
  const db = withStator({ beforeAll: before, beforeEach, afterAll: after }, {
    name: 'music',
    prepare: async (prepared) => {
      await dynamodb(prepared, 'CreateTable', music);
      await put(prepared, 'Nina Simone');
    },
  });
  for (const attempt of [1, 2, 3]) {
    test(`begins with what prepare() has made, ${attempt}`, async () => {
      assert.match(db.key, /^music-/);
      assert.equal(await count(db), 1);
      await put(db, `${attempt}`);
      if (attempt === 2) await dynamodb(db, 'DeleteTable', { TableName: 'music' });
    });
  }
});

test('accounts are apart, and refusals have words', async () => {
  const server = await start({ args: ['--isolate=access-key'] });
  try {
    const [one, two] = [account(server.endpoint), account(server.endpoint)];
    await dynamodb(one, 'CreateTable', music);
    await one.snapshot('empty');
    await put(one, 'a');
    assert.deepEqual((await dynamodb(two, 'ListTables', {})).TableNames, []);
    await one.restore('empty');
    assert.equal(await count(one), 0);
    await assert.rejects(two.restore(), /404 There is no snapshot default/);
    await one.drop();
    assert.deepEqual((await dynamodb(one, 'ListTables', {})).TableNames, []);
    const all = defaultAccount(server.endpoint);
    await all.snapshot();
    await all.restore();
  } finally {
    await server.stop();
  }
});
