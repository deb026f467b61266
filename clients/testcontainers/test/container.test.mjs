// Starts the image in a container as users of the module do. STATOR_IMAGE names another image.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { StatorContainer } from '../build/index.js';

const image = process.env.STATOR_IMAGE;
const container = () => (image ? new StatorContainer(image) : new StatorContainer());

async function call(stator, operation, body) {
  const { endpoint, region, credentials } = stator.getClientConfig();
  const day = new Date().toISOString().slice(0, 10).replaceAll('-', '');
  const reply = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-amz-json-1.0',
      'X-Amz-Target': `DynamoDB_20120810.${operation}`,
      'X-Amz-Date': `${day}T000000Z`,
      Authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${day}/${region}/dynamodb/aws4_request, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`,
    },
    body: JSON.stringify(body),
  });
  const answer = await reply.json();
  assert.equal(reply.status, 200, JSON.stringify(answer));
  return answer;
}

const kTable = {
  TableName: 'Music', BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'Artist', KeyType: 'HASH' }],
  AttributeDefinitions: [{ AttributeName: 'Artist', AttributeType: 'S' }],
};
const Item = { Artist: { S: 'Acme Band' }, Songs: { N: '12' } };

let stator;
before(async () => { stator = await container().withManualClock().start(); });
after(async () => { await stator?.stop(); });

test('a client writes and reads, and a reset drops the tables', async () => {
  await call(stator, 'CreateTable', kTable);
  await call(stator, 'PutItem', { TableName: 'Music', Item });
  assert.deepEqual((await call(stator, 'GetItem', { TableName: 'Music', Key: { Artist: Item.Artist } })).Item, Item);
  await stator.reset();
  assert.deepEqual((await call(stator, 'ListTables', {})).TableNames, []);
});

test('a test moves the clock', async () => {
  await call(stator, 'CreateTable', kTable);
  await call(stator, 'UpdateTimeToLive', { TableName: 'Music', TimeToLiveSpecification: { Enabled: true, AttributeName: 'until' } });
  const now = (await (await fetch(`${stator.getEndpoint()}/_stator/clock`, { headers: { 'X-Stator-Management': 'true' } })).json()).epochSeconds;
  await call(stator, 'PutItem', { TableName: 'Music', Item: { ...Item, until: { N: String(Math.floor(now) + 3600) } } });
  await stator.advanceClock('30m');
  assert.equal((await call(stator, 'Scan', { TableName: 'Music' })).Count, 1);
  await stator.advanceClock('31m');
  assert.equal((await call(stator, 'Scan', { TableName: 'Music' })).Count, 0);
  await assert.rejects(stator.advanceClock('-1h'), /POST \/_stator\/clock: 400/);
});

test('data below /data outlive a restart of the container', async () => {
  const durable = await container().withDataDirectory().start();
  try {
    await call(durable, 'CreateTable', kTable);
    await call(durable, 'PutItem', { TableName: 'Music', Item });
    await durable.restart();
    assert.deepEqual((await call(durable, 'GetItem', { TableName: 'Music', Key: { Artist: Item.Artist } })).Item, Item);
  } finally {
    await durable.stop();
  }
});
