// Advice: requests are recorded by a button, findings are told by severity, each leads to where it
// is mended.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { CreateTableCommand, DeleteTableCommand, GetItemCommand, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { assertAccessible, Console } from './harness.mjs';

let it;
before(async () => {
  it = await Console.start({ throttling: 'observe' });
  await it.client.send(
    new CreateTableCommand({
      TableName: 'votes',
      ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 },
      KeySchema: [{ AttributeName: 'candidate', KeyType: 'HASH' }],
      AttributeDefinitions: ['candidate', 'town'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      GlobalSecondaryIndexes: [
        {
          IndexName: 'by-town',
          KeySchema: [{ AttributeName: 'town', KeyType: 'HASH' }],
          Projection: { ProjectionType: 'ALL' },
          ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 },
        },
      ],
    }),
  );
});
after(() => it?.stop());
afterEach(() => it.closePages());

const vote = (candidate, bytes) =>
  it.client.send(
    new PutItemCommand({
      TableName: 'votes',
      Item: { candidate: { S: candidate }, town: { S: 'Delft' }, text: { S: 'x'.repeat(bytes) } },
    }),
  );

test('nothing is recorded before the button is pressed', async () => {
  const page = await it.open('advice');
  await page.getByRole('heading', { name: 'Nothing was recorded' }).waitFor();
  await vote('alice', 10);
  await page.waitForResponse(/_stator\/recording$/);
  await page.getByRole('heading', { name: 'Nothing was recorded' }).waitFor();
  await assertAccessible(page, 'advice, nothing recorded');
});

test('a hot key is found and leads to its heat; what reads little of much is told as well', async () => {
  const page = await it.open('overview');
  await page.keyboard.press('g');
  await page.keyboard.press('v');
  await page.getByRole('heading', { name: 'Advice', level: 1 }).waitFor();
  await page.getByRole('radio', { name: '10 min' }).check({ force: true });
  await page.getByRole('button', { name: 'Record', exact: true }).click();
  await page.getByText('Requests are recorded').waitFor();
  // 400 KB in one second is 400 write units and more of one key: no problem for a partition; ten of
  // them at once are.
  for (let round = 0; round < 3; ++round) {
    await Promise.all(Array.from({ length: 12 }, () => vote('alice', 380_000)));
  }
  for (let i = 0; i < 30; ++i)
    await it.client.send(
      new GetItemCommand({ TableName: 'votes', Key: { candidate: { S: 'alice' } }, ConsistentRead: true, ProjectionExpression: 'town' }),
    );
  const problems = page.getByRole('region', { name: /^Problems/ });
  const hot = problems.getByRole('article', { name: 'One key is too hot: votes', exact: true }).filter({ hasText: 'write units' });
  await hot.waitFor();
  await hot.getByText(/^Key "alice" takes [\d,]+ write units in its busiest second/).waitFor();
  await page.getByRole('region', { name: /^Savings/ }).waitFor();
  await page.getByRole('region', { name: 'What it rests on' }).getByRole('row', { name: /^votes/ }).first().waitFor();
  await assertAccessible(page, 'advice');
  await page.setViewportSize({ width: 320, height: 700 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
  await page.setViewportSize({ width: 1280, height: 800 });
  await hot.getByRole('link', { name: 'Simulate a cure' }).waitFor();
  await hot.getByRole('link', { name: 'Show the heat' }).click();
  await page.waitForURL(/tables\/votes\/heat\?from=\d+&to=\d+/);
  await page.getByRole('application', { name: /^votes: time to the right/ }).waitFor();
});

test('a recording is ended, and its advice stays', async () => {
  const page = await it.open('advice');
  await page.getByRole('region', { name: 'Recording' }).getByText('recording').first().waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('The recording is over').waitFor();
  await page.getByRole('article', { name: 'One key is too hot: votes', exact: true }).first().waitFor();
  await it.client.send(new ScanCommand({ TableName: 'votes' }));
  const ask = (path) =>
    fetch(`${it.server.endpoint}/_stator/${path}`, { headers: { 'X-Stator-Management': 'true' } }).then((reply) => reply.json());
  const state = await ask('recording');
  assert.equal(state.on, false);
  assert.ok(state.requests > 60 && state.bytes < state.mostBytes, JSON.stringify(state));
  assert.equal((await ask('advice?last=1ms')).of, 0);
  // Nothing can be mended of a table that is gone.
  await it.client.send(new DeleteTableCommand({ TableName: 'votes' }));
  await page.getByText('Left out: what was recorded of a table that is deleted: votes.').waitFor();
  assert.equal(await page.getByRole('article', { name: /votes/ }).count(), 0);
  await page.getByRole('row', { name: /^votes deleted/ }).first().waitFor();
});
