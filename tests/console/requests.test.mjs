// Requests as they come: what the page lists is what clients did, and nothing is kept without it.
// Metrics: rates and errors by operation and table.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { assertAccessible, Console, musicTable, until } from './harness.mjs';

const kKey = { artist: { S: 'Nina Simone' }, song: { S: 'Sinnerman' } };

let it;
before(async () => {
  it = await Console.start();
  await it.client.send(new CreateTableCommand(musicTable));
});
after(() => it?.stop());
afterEach(() => it.closePages());

const put = (song = 'Sinnerman') =>
  it.client.send(new PutItemCommand({ TableName: 'music', Item: { ...kKey, song: { S: song }, year: { N: '1965' } } }));

// The page, without requests that another page watched a moment ago.
async function openCleared(address) {
  const page = await it.open(address);
  const looked = page.waitForResponse(/_stator\/requests/);
  await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
  await looked;
  const clear = page.getByRole('button', { name: 'Clear' });
  const waiting = page.getByRole('heading', { name: 'Waiting for requests' });
  await until('the list is empty', async () => {
    if (await waiting.isVisible()) return true;
    if (await clear.isEnabled()) await clear.click();
    return false;
  });
  return page;
}

test('requests appear with table, key, units and outcome; a failed condition is told', async () => {
  const page = await openCleared('requests');
  await put();
  await it.client.send(new GetItemCommand({ TableName: 'music', Key: kKey }));
  await it.client
    .send(new PutItemCommand({ TableName: 'music', Item: kKey, ConditionExpression: 'attribute_not_exists(artist)' }))
    .catch(() => {});
  const list = page.getByRole('table', { name: 'Requests, newest first' });
  await list.getByRole('row', { name: /GetItem music Nina Simone · Sinnerman .*0\.5 R .*served/ }).waitFor();
  await list.getByRole('row', { name: /PutItem music Nina Simone · Sinnerman .*2 W .*served/ }).waitFor();
  await list.getByRole('row', { name: /PutItem music .*condition failed/ }).waitFor();
  await assertAccessible(page, 'requests');
  await list.getByRole('button', { name: 'GetItem' }).click();
  await page.getByText('0.5 read, 0 write').waitFor();
  await page.getByRole('link', { name: 'Nina Simone · Sinnerman' }).click();
  await page.getByLabel('Value of year').waitFor();
});

test('alike together: a scan that throws most away is marked', async () => {
  for (let i = 0; i < 200; i += 25)
    await it.client.send(
      new BatchWriteItemCommand({
        RequestItems: {
          music: Array.from({ length: 25 }, (_, j) => ({ PutRequest: { Item: { ...kKey, song: { S: `song ${i + j}` } } } })),
        },
      }),
    );
  const page = await openCleared('requests?view=alike');
  for (let i = 0; i < 3; ++i)
    await it.client.send(
      new ScanCommand({
        TableName: 'music',
        FilterExpression: 'song = :s',
        ExpressionAttributeValues: { ':s': { S: 'song 7' } },
      }),
    );
  await it.client.send(
    new QueryCommand({
      TableName: 'music',
      IndexName: 'by-year',
      KeyConditionExpression: '#y = :y',
      ExpressionAttributeNames: { '#y': 'year' },
      ExpressionAttributeValues: { ':y': { N: '1965' } },
    }),
  );
  const list = page.getByRole('table', { name: 'Requests alike' });
  await list.getByRole('row', { name: /^3 × Scan music 3 of 60[0-9]/ }).waitFor();
  await list.getByRole('row', { name: /^1 × Query music · by-year 1 / }).waitFor();
  await page.getByRole('searchbox', { name: 'Filter requests' }).fill('scan');
  await page.getByText(/^3 of 4 requests$/).waitFor();
  await list.getByRole('row', { name: /Query/ }).waitFor({ state: 'detached' });
});

test('the list is held still by a key, and goes on', async () => {
  const page = await openCleared('requests');
  await put('held 1');
  await page.getByRole('row', { name: /held 1/ }).waitFor();
  await page.keyboard.press('p');
  await page.getByText('held still').waitFor();
  await put('held 2');
  await page.waitForResponse(/_stator\/requests/);
  await page.waitForResponse(/_stator\/requests/);
  assert.equal(await page.getByRole('row', { name: /held 2/ }).count(), 0);
  await page.keyboard.press('p');
  await page.getByRole('row', { name: /held 2/ }).waitFor();
});

test('nothing is kept before a client asks, and a bad parameter is refused', async () => {
  // A server of its own, at which no page has looked.
  const own = await Console.start({ browser: false });
  try {
    const ask = (query) => own.manage(`requests${query}`);
    const put = (song) => own.client.send(new PutItemCommand({ TableName: 'music', Item: { ...kKey, song: { S: song } } }));
    await own.client.send(new CreateTableCommand(musicTable));
    await put('unseen');
    const first = await ask('?since=0');
    assert.deepEqual(first.requests, []);
    await put('seen');
    const second = await ask(`?since=${first.seq}`);
    assert.deepEqual(
      second.requests.map((one) => [one.operation, one.keys[0].sort]),
      [['PutItem', 'S:seen']],
    );
    assert.equal((await ask('?since=x')).message, 'since must be a whole number: x');
  } finally {
    await own.stop();
  }
});

test('metrics: rates by operation and by table, errors by type', async () => {
  const page = await it.open('metrics?last=now');
  await page.getByText('Two looks make a rate').waitFor({ state: 'detached' });
  await it.client.send(new GetItemCommand({ TableName: 'music', Key: { artist: { S: 'x' } } })).catch(() => {});
  const list = page.getByRole('table', { name: 'Requests by operation' });
  // A rate is shown while it lasts.
  const rate = list.getByRole('row', { name: /^GetItem [1-9][0-9.]* .* (ms|µs)/ });
  await until('the reads have a rate', async () => {
    await it.client.send(new GetItemCommand({ TableName: 'music', Key: kKey }));
    return rate.isVisible();
  });
  await page.getByRole('row', { name: /^ValidationException the client 1$/ }).waitFor();
  await assertAccessible(page, 'metrics');
  await page.getByRole('radio', { name: 'By table' }).check({ force: true });
  await page.getByRole('table', { name: 'Requests by table' }).getByRole('link', { name: 'music' }).waitFor();
  assert.match(page.url(), /by=table/);
});

test('metrics begin with what the server kept, by operation and table, and one is looked at alone', async () => {
  for (let i = 0; i < 30; ++i) await it.client.send(new GetItemCommand({ TableName: 'music', Key: kKey }));
  // The server counts every ten seconds.
  const page = await it.open('metrics?last=1h');
  const list = page.getByRole('table', { name: 'Requests by operation' });
  const row = list.getByRole('row', { name: /^GetItem .* (ms|µs)/ });
  await row.waitFor();
  await page.getByRole('img', { name: /^All operations: requests: at most/ }).waitFor();
  await list.getByRole('button', { name: 'GetItem' }).click();
  await page.getByRole('img', { name: /^GetItem: requests: at most/ }).waitFor();
  await page.getByRole('img', { name: /^GetItem: 99% answered within: at most .* ms/ }).waitFor();
  assert.match(page.url(), /name=GetItem/);
  await assertAccessible(page, 'metrics with history');
  await page.getByRole('radio', { name: 'By table' }).check({ force: true });
  await page.getByRole('table', { name: 'Requests by table' }).getByRole('button', { name: 'music' }).waitFor();
  await page.setViewportSize({ width: 320, height: 700 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320);
});
