// Backups: made, described, restored under another name, deleted; a server that makes none; recovery
// to a moment where the server has it.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import {
  CreateTableCommand,
  DeleteItemCommand,
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  GetItemCommand,
  PutItemCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { assertAccessible, Console, musicTable, settled, until } from './harness.mjs';

const kKey = { artist: { S: 'Nina Simone' }, song: { S: 'Sinnerman' } };

let it;
before(async () => {
  it = await Console.start();
  await it.client.send(new CreateTableCommand(musicTable));
  await it.client.send(new PutItemCommand({ TableName: 'music', Item: { ...kKey, year: { N: '1965' } } }));
});
after(() => it?.stop());
afterEach(() => it.closePages());

const dialogOf = (page, name) => page.getByRole('dialog', { name });

test('a backup is made, what is lost after it comes back under another name, and it is deleted', async () => {
  const page = await it.open('backups');
  await page.getByRole('heading', { name: 'No backups' }).waitFor();
  await page.getByRole('button', { name: 'Make a backup' }).click();
  const making = dialogOf(page, 'Make a backup');
  assert.match(await making.getByLabel('Name of the backup').inputValue(), /^music-\d{4}-\d\d-\d\d-\d{4}$/);
  await making.getByLabel('Name of the backup').fill('a');
  await making.getByText('From 3 letters, digits and - _ . on').waitFor();
  assert.ok(await making.getByRole('button', { name: 'Make the backup' }).isDisabled());
  await making.getByLabel('Name of the backup').fill('before-the-change');
  await assertAccessible(page, 'new backup');
  await page.keyboard.press('Tab');
  await making.getByRole('button', { name: 'Make the backup' }).click();
  const row = page.getByRole('row', { name: /before-the-change/ });
  await row.getByRole('button', { name: 'Restore before-the-change' }).waitFor();
  await page.waitForFunction(() => !document.querySelector('main')?.textContent?.includes('being made'));

  await it.client.send(new DeleteItemCommand({ TableName: 'music', Key: kKey }));
  await row.getByRole('button', { name: 'Restore before-the-change' }).click();
  const restoring = dialogOf(page, 'Restore before-the-change');
  await restoring.getByText('1 items').waitFor();
  assert.equal(await restoring.getByLabel('Name of the new table').inputValue(), 'music-restored');
  await restoring.getByLabel('Name of the new table').fill('music');
  await restoring.getByText('A table has this name').waitFor();
  await restoring.getByLabel('Name of the new table').fill('music-before');
  await restoring.getByRole('radio', { name: 'Provisioned' }).check({ force: true });
  await restoring.getByLabel('Read units per second').fill('7');
  await assertAccessible(page, 'restore');
  await restoring.getByRole('button', { name: 'Restore as a new table' }).click();
  await page.getByRole('button', { name: 'Show it' }).click();
  await page.getByRole('heading', { name: 'music-before', level: 1 }).waitFor();
  await waitUntilTableExists({ client: it.client, maxWaitTime: 60, minDelay: 1 }, { TableName: 'music-before' });
  const { Item } = await it.client.send(new GetItemCommand({ TableName: 'music-before', Key: kKey }));
  assert.deepEqual(Item?.year, { N: '1965' });
  const { Table } = await it.client.send(new DescribeTableCommand({ TableName: 'music-before' }));
  assert.equal(Table.ProvisionedThroughput.ReadCapacityUnits, 7);

  // The tab of the table has it too, and none of the other tables.
  const tab = await it.open('tables/music/backups');
  await tab.getByRole('row', { name: /before-the-change/ }).waitFor();
  const other = await it.open('tables/music-before/backups');
  await other.getByRole('heading', { name: 'No backups of music-before' }).waitFor();

  await tab.getByRole('button', { name: 'Actions for before-the-change' }).click();
  await tab.getByRole('menuitem', { name: 'Delete…' }).click();
  await tab.getByRole('button', { name: 'Delete the backup' }).click();
  await tab.getByRole('heading', { name: 'No backups of music' }).waitFor();
});

test('indexes are left out where the user says so', async () => {
  await it.client.send(
    new CreateTableCommand({
      TableName: 'songs',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: ['id', 'year', 'label'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      GlobalSecondaryIndexes: ['year', 'label'].map((name) => ({
        IndexName: `by-${name}`,
        KeySchema: [{ AttributeName: name, KeyType: 'HASH' }],
        Projection: { ProjectionType: 'ALL' },
      })),
    }),
  );
  const page = await it.open('tables/songs/backups');
  await page.getByRole('button', { name: 'Make a backup' }).click();
  await page.getByRole('button', { name: 'Make the backup' }).click();
  await page.getByRole('button', { name: /^Restore songs-/ }).click();
  const restoring = page.getByRole('dialog');
  await restoring.getByLabel('by-label').uncheck();
  await restoring.getByLabel('Name of the new table').fill('songs-by-year');
  await page.keyboard.press('Enter');
  await page.getByText('songs-by-year is being restored').waitFor();
  await waitUntilTableExists({ client: it.client, maxWaitTime: 60, minDelay: 1 }, { TableName: 'songs-by-year' });
  const { Table } = await it.client.send(new DescribeTableCommand({ TableName: 'songs-by-year' }));
  assert.deepEqual(Table.GlobalSecondaryIndexes.map((one) => one.IndexName), ['by-year']);
});

// Answers an operation in place of the server.
const answer = (page, operation, status, json) =>
  page.route(`${it.origin}/`, (route) =>
    route.request().headers()['x-amz-target']?.endsWith(`.${operation}`)
      ? route.fulfill({ status, json, headers: { 'content-type': 'application/x-amz-json-1.0' } })
      : route.fallback(),
  );

test('a pool makes no backups, and the page says so in its words', async () => {
  const page = await it.open('overview');
  await answer(page, 'ListBackups', 400, {
    __type: 'com.amazon.coral.validate#ValidationException',
    message: 'ListBackups is not supported with --engine=rados by this version of Stator',
  });
  await page.getByRole('link', { name: 'Backups', exact: true }).click();
  await page.getByRole('heading', { name: 'This server makes no backups' }).waitFor();
  await page.getByText('not supported with --engine=rados').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Make a backup' }).count(), 0);
  await assertAccessible(page, 'no backups');
});

test('recovery to a moment is shown where DescribeContinuousBackups says that it is on', async () => {
  const page = await it.open('tables/music/items');
  const now = Math.floor(Date.now() / 1000);
  await answer(page, 'DescribeContinuousBackups', 200, {
    ContinuousBackupsDescription: {
      ContinuousBackupsStatus: 'ENABLED',
      PointInTimeRecoveryDescription: {
        PointInTimeRecoveryStatus: 'ENABLED',
        EarliestRestorableDateTime: now - 3600,
        LatestRestorableDateTime: now,
        RecoveryPeriodInDays: 35,
      },
    },
  });
  let asked = null;
  await page.route(`${it.origin}/`, (route) => {
    if (!route.request().headers()['x-amz-target']?.endsWith('.RestoreTableToPointInTime')) return route.fallback();
    asked = route.request().postDataJSON();
    return route.fulfill({ json: { TableDescription: {} } });
  });
  await page.getByRole('navigation', { name: 'Parts of music' }).getByRole('link', { name: 'Backups' }).click();
  const section = page.getByRole('region', { name: 'Point-in-time recovery' });
  await section.getByText('35 days').waitFor();
  await assertAccessible(page, 'point-in-time recovery');
  await section.getByRole('button', { name: 'Restore to a moment…' }).click();
  const dialog = page.getByRole('dialog');
  const field = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 19);
  await dialog.getByLabel('As it was at (UTC)').fill(field(now - 7200));
  await dialog.getByText(/^Nothing before/).waitFor();
  await dialog.getByLabel('As it was at (UTC)').fill(field(now - 60));
  await dialog.getByRole('button', { name: 'Restore as a new table' }).click();
  await page.getByText('music-restored is being restored').waitFor();
  assert.deepEqual(asked, { SourceTableName: 'music', RestoreDateTime: now - 60, TargetTableName: 'music-restored' });
});

test('recovery is switched on, and a table comes back as it was before an item was lost, by keyboard alone', async () => {
  const own = await Console.start();
  try {
    await own.client.send(new CreateTableCommand(musicTable));
    const page = await own.open('tables/music/backups');
    const section = page.getByRole('region', { name: 'Point-in-time recovery' });
    await section.getByText('off', { exact: true }).waitFor();
    await assertAccessible(page, 'recovery is off');
    await section.getByRole('button', { name: 'Switch on' }).press('Enter');
    await section.getByText('on', { exact: true }).waitFor();
    await own.client.send(new PutItemCommand({ TableName: 'music', Item: { ...kKey, year: { N: '1965' } } }));
    // A moment is a whole second: the next one has the item.
    const second = () => Math.floor(Date.now() / 1000);
    const put = second() + 1;
    await until('a second has passed', () => second() > put);
    await own.client.send(new DeleteItemCommand({ TableName: 'music', Key: kKey }));
    const latest = async () =>
      (await own.client.send(new DescribeContinuousBackupsCommand({ TableName: 'music' }))).ContinuousBackupsDescription
        .PointInTimeRecoveryDescription.LatestRestorableDateTime;
    await until('the moment can be restored', async () => ((await latest()) ?? 0) >= put * 1000);
    await page.reload();
    await section.getByRole('button', { name: 'Restore to a moment…' }).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('As it was at (UTC)').fill(new Date(put * 1000).toISOString().slice(0, 19));
    await dialog.getByLabel('Name of the new table').fill('music-before');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Show it' }).press('Enter');
    await page.getByRole('heading', { name: 'music-before', level: 1 }).waitFor();
    await waitUntilTableExists({ client: own.client, maxWaitTime: 60, minDelay: 1 }, { TableName: 'music-before' });
    const { Item } = await own.client.send(new GetItemCommand({ TableName: 'music-before', Key: kKey }));
    assert.deepEqual(Item?.year, { N: '1965' });
    const { Item: gone } = await own.client.send(new GetItemCommand({ TableName: 'music', Key: kKey }));
    assert.equal(gone, undefined);

    const tab = await own.open('tables/music/backups', { theme: 'dark', width: 320, height: 700 });
    await tab.getByText('Kept for').waitFor();
    await assertAccessible(tab, 'recovery is on, dark, 320');
    assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth), 320);
    await tab.getByRole('button', { name: 'Switch off…' }).press('Enter');
    await tab.getByRole('button', { name: 'Switch it off' }).press('Enter');
    await tab.getByText('No history of music is kept').first().waitFor();
    assert.deepEqual([...page.problems, ...tab.problems], []);
  } finally {
    await own.stop();
  }
});

test('where it cannot be switched on, nothing is said of it', async () => {
  const page = await it.open('tables/music/backups');
  await page.route('**/_stator/console/boot', async (route) => {
    const reply = await route.fetch();
    const json = await reply.json();
    return route.fulfill({ json: { ...json, features: json.features.filter((one) => one !== 'point-in-time') } });
  });
  const told = page.waitForResponse((reply) =>
    reply.request().headers()['x-amz-target']?.endsWith('.DescribeContinuousBackups'),
  );
  await page.reload();
  await page.getByRole('heading', { name: 'No backups of music' }).waitFor();
  await told;
  await settled(page);
  assert.equal(await page.getByText('Point-in-time recovery').count(), 0);
});
