// Capacity, indexes, streams, faults and the clock.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import {
  CreateTableCommand,
  DeleteItemCommand,
  DescribeTableCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { Console, musicTable, until } from './harness.mjs';

let it;
const key = { artist: { S: 'Nina Simone' }, song: { S: 'Sinnerman' } };
const put = (more = {}) =>
  it.client.send(new PutItemCommand({ TableName: 'music', Item: { ...key, ...more } }));
const describe = async (TableName) =>
  (await it.client.send(new DescribeTableCommand({ TableName }))).Table;
const manage = (path) => it.manage(path);

before(async () => {
  it = await Console.start({ args: ['--clock=manual'] });
  await it.client.send(
    new CreateTableCommand({
      ...musicTable,
      BillingMode: 'PROVISIONED',
      ProvisionedThroughput: { ReadCapacityUnits: 10, WriteCapacityUnits: 10 },
      GlobalSecondaryIndexes: musicTable.GlobalSecondaryIndexes.map((one) => ({
        ...one,
        ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 },
      })),
    }),
  );
  await put({ year: { N: '1965' } });
  // A move of the clock includes a look at the meters.
  await until('the write is metered', async () => {
    await fetch(`${it.server.endpoint}/_stator/clock`, {
      method: 'POST',
      headers: { 'X-Stator-Management': 'true' },
      body: '{"advance": 60}',
    });
    const { resources } = await manage('tables/music/heat?last=5m&step=1s');
    return resources[0].consumed.write.some((units) => units > 0);
  });
});
after(() => it?.stop());
afterEach(() => it.closePages());

test('capacity: what was consumed, what there is, and what it costs in each way to pay', async () => {
  const page = await it.open('tables/music/capacity');
  const own = page.getByRole('region', { name: 'music', exact: true });
  await own.getByRole('img', { name: /^Write units: at most/ }).waitFor();
  await own.getByText('10 provisioned now').first().waitFor();
  await page.getByRole('region', { name: 'by-year' }).waitFor();
  const cost = page.getByRole('row', { name: /^Provisioned/ });
  // 10 read and write units at 0.09 and 0.47, 5 of each for the index.
  await cost.getByText('$8.4', { exact: false }).waitFor();
  const onDemand = page.getByRole('row', { name: /^On demand/ });
  await onDemand.getByText('price needed').first().waitFor();
  // One sentence says what is missing, and leads to its field.
  await page.getByText(/^On demand cannot be told in dollars: the price of a million reads and of/).waitFor();
  await page.getByRole('button', { name: 'Enter prices' }).click();
  await page.waitForFunction(() => document.activeElement?.getAttribute('data-price') === 'millionReads');
  await page.getByLabel('A million writes on demand').fill('1.25');
  await page.getByLabel('A million reads on demand').fill('0.25');
  await page.getByLabel('A million reads on demand').press('Enter');
  await onDemand.getByText('price needed').first().waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Enter prices' }).waitFor({ state: 'detached' });
});

test('a rule of auto scaling is set, shown, and taken away', async () => {
  const page = await it.open('tables/music/capacity');
  await page.getByRole('button', { name: 'Change the rule of by-year, write' }).click();
  await page.getByLabel('At most, units a second').fill('2');
  assert.ok(await page.getByRole('button', { name: 'Set the rule' }).isDisabled());
  await page.getByLabel('At most, units a second').fill('400');
  await page.getByRole('button', { name: 'Set the rule' }).click();
  await page.getByText('5 to 400 units, 70% used').waitFor();
  const rules = await manage('tables/music/auto-scaling');
  assert.equal(rules.indexes['by-year'].write.max, 400);
  assert.equal(rules.read, undefined);
  await page.getByRole('button', { name: 'Change the rule of by-year, write' }).click();
  await page.getByRole('button', { name: 'Remove the rule' }).click();
  await page.getByText('5 to 400 units, 70% used').waitFor({ state: 'detached' });
  assert.equal((await manage('tables/music/auto-scaling')).indexes['by-year']?.write, undefined);
});

test('an index is added to a table with items, and deleted when its name is typed', async () => {
  const page = await it.open('tables/music/indexes');
  await page.getByRole('region', { name: 'Index by-year' }).getByText('never').waitFor();
  await page.getByRole('button', { name: 'Add a global index' }).click();
  await page.getByRole('button', { name: 'Build the index' }).click();
  await page.getByText('3 to 255 letters, digits, _ . or -').waitFor();
  await page.getByLabel('Name of the global index').fill('by-song');
  await page.getByRole('dialog').getByRole('textbox', { name: /^Partition key/ }).fill('song');
  await page.getByRole('button', { name: 'Build the index' }).click();
  const card = page.getByRole('region', { name: 'Index by-song' });
  await card.getByText('1', { exact: true }).waitFor();
  const table = await describe('music');
  const made = table.GlobalSecondaryIndexes.find((one) => one.IndexName === 'by-song');
  assert.deepEqual(made.KeySchema, [{ AttributeName: 'song', KeyType: 'HASH' }]);

  await card.getByRole('button', { name: 'Delete…' }).click();
  const confirm = page.getByRole('button', { name: 'Delete the index' });
  assert.ok(await confirm.isDisabled());
  await page.getByLabel('Type by-song to confirm').fill('by-song');
  await confirm.click();
  await card.waitFor({ state: 'detached' });
  const left = await describe('music');
  assert.deepEqual(
    left.GlobalSecondaryIndexes.map((one) => one.IndexName),
    ['by-year'],
  );
});

test('a stream is switched on, followed through a split, and tells what changed', async () => {
  const page = await it.open('tables/music/streams');
  await page.getByRole('button', { name: 'Switch the stream on' }).click();
  await page.getByRole('heading', { name: '1 open shard' }).waitFor();
  await page.getByText('No record yet').waitFor();
  // The first look at the shards is over: what follows is behind "now".
  await page.waitForResponse((reply) => reply.request().headers()['x-amz-target']?.endsWith('.GetRecords'));
  await it.client.send(
    new UpdateItemCommand({
      TableName: 'music',
      Key: key,
      UpdateExpression: 'SET plays = :p, #y = :y',
      ExpressionAttributeNames: { '#y': 'year' },
      ExpressionAttributeValues: { ':p': { N: '1' }, ':y': { N: '1966' } },
    }),
  );
  const changed = page.getByRole('button', { name: /changed.*Nina Simone · Sinnerman/ });
  await changed.click();
  await page.getByRole('row', { name: 'year 1965 1966' }).waitFor();
  await page.getByRole('row', { name: 'plays – 1' }).waitFor();

  const split = await fetch(`${it.server.endpoint}/_stator/tables/music/split`, {
    method: 'POST',
    headers: { 'X-Stator-Management': 'true' },
  });
  assert.equal(split.status, 200);
  await page.getByRole('heading', { name: '2 open shards' }).waitFor();
  await it.client.send(new DeleteItemCommand({ TableName: 'music', Key: key }));
  await page.getByRole('button', { name: /removed.*Nina Simone · Sinnerman/ }).waitFor();
  await page.getByRole('searchbox').fill('changed-nothing');
  await page.getByRole('button', { name: /removed/ }).waitFor({ state: 'detached' });
});

test('a preset makes requests fail, counts them, and is removed', async () => {
  await put();
  const page = await it.open('faults');
  await page.getByRole('heading', { name: 'No faults are set' }).waitFor();
  await page.getByLabel('Tables of the preset').selectOption('music');
  await page.getByRole('button', { name: /^Throttle storm/ }).click();
  await page.getByText('1 fault rule set').waitFor();
  let refused = 0;
  for (let i = 0; i < 30; ++i)
    await it.client
      .send(new GetItemCommand({ TableName: 'music', Key: key }))
      .catch(() => ++refused);
  assert.ok(refused > 3, `${refused}`);
  await page.getByText(`Struck ${refused} of 30 requests`).waitFor();
  await page.getByRole('button', { name: 'Remove all' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove all' }).click();
  await page.getByRole('heading', { name: 'No faults are set' }).waitFor();
  assert.deepEqual(await manage('faults'), {});
  await it.client.send(new GetItemCommand({ TableName: 'music', Key: key }));
});

test('a rule is built with only the settings of its kind', async () => {
  const page = await it.open('faults');
  await page.getByRole('button', { name: 'Add a rule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('What goes wrong').selectOption('stale-read');
  assert.equal(await dialog.getByLabel('When').count(), 0);
  await dialog.getByLabel('How old').fill('soon');
  await dialog.getByText('A duration such as 250ms or 2s').waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Set the rule' }).isDisabled());
  await dialog.getByLabel('How old').fill('10m');
  await dialog.getByLabel('How often, percent').fill('100');
  await dialog.getByRole('checkbox', { name: 'GetItem', exact: true }).check();
  await dialog.getByRole('button', { name: 'Set the rule' }).click();
  await page.getByText('every request, of GetItem, 10m').waitFor();
  const [rule] = (await manage('faults'))['*'].faults;
  assert.equal(rule.age, '10m');
  assert.deepEqual(rule.operations, ['GetItem']);
  await page.getByRole('button', { name: 'Remove Stale reads of every table' }).click();
  await page.getByRole('heading', { name: 'No faults are set' }).waitFor();
});

test('the clock is moved, and stands where it was told', async () => {
  const page = await it.open('faults');
  const before = Date.parse((await manage('clock')).now);
  await page.getByRole('button', { name: '+24 h' }).click();
  await page.getByText('what was due by then is done').first().waitFor();
  assert.equal(Date.parse((await manage('clock')).now) - before, 86_400_000);
  await page.getByLabel('To a moment, UTC').fill('2031-01-02 03:04:05');
  await page.getByRole('button', { name: 'Move there' }).click();
  await page.getByText('2031-01-02 03:04:05').first().waitFor();
  assert.match((await manage('clock')).now, /^2031-01-02T03:04:05/);
});

test('a design is played, a cure is applied, and the outcome before stays beside it', async () => {
  const page = await it.open('design');
  await page.getByRole('button', { name: 'Hot date' }).click();
  await page.getByRole('heading', { name: '67% of the requests are refused' }).waitFor();
  await page.getByText('Writes beyond what one partition of the table can do.').waitFor();
  await page.getByRole('img', { name: /^Heat of 5 partitions/ }).waitFor();
  await page.getByRole('button', { name: /^Spread each key over/ }).click();
  await page.getByRole('heading', { name: 'Everything is served' }).waitFor();
  await page.getByText('before: 33%').waitFor();
  await page.getByLabel('Requests a second').fill('many');
  await page.getByText('A number', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Back to the one before' }).click();
  await page.getByRole('heading', { name: '67% of the requests are refused' }).waitFor();
  await page.getByRole('button', { name: 'Create this table…' }).click();
  assert.equal(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue(), 'events');
});

test('a design that an example takes the place of comes back', async () => {
  const page = await it.open('design');
  await page.getByRole('button', { name: 'Hot date' }).click();
  const rate = page.getByLabel('Requests a second');
  const was = await rate.inputValue();
  await rate.fill('1234');
  await page.getByRole('button', { name: 'Index by status' }).click();
  await page.getByRole('button', { name: 'Back to your design of events' }).click();
  assert.equal(await rate.inputValue(), '1234');
  assert.notEqual(was, '1234');
  // It is in place again: nothing is to go back to.
  assert.equal(await page.getByRole('button', { name: /^Back to your design/ }).count(), 0);
});

test('an index that was played with small entries is not created with all attributes', async () => {
  const page = await it.open('design');
  await page.getByRole('button', { name: 'Index by status' }).click();
  await page.getByRole('heading', { name: /% of the requests are refused$/ }).waitFor();
  await page.getByRole('button', { name: 'Create this table…' }).click();
  await page.getByText('It was simulated with entries of 200B').waitFor();
  assert.ok(await page.getByRole('radio', { name: 'Keys only' }).isChecked());
});
