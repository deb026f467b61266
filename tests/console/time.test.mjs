// The past of a table: items as of a moment, the versions of an item, the difference of two moments, a range of
// time taken back. On a manual clock, so that each change has a minute of its own.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, afterEach, before, test } from 'node:test';
import {
  CreateTableCommand,
  DeleteItemCommand,
  DescribeContinuousBackupsCommand,
  GetItemCommand,
  PutItemCommand,
  ScanCommand,
  UpdateContinuousBackupsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { advanceClock } from '../sdk/harness.mjs';
import { assertAccessible, Console, itemAddress, musicTable, settled } from './harness.mjs';

let it;
before(async () => {
  it = await Console.start({ args: ['--clock=manual', '--clock-start=2026-11-26T14:00:00Z'] });
});
after(() => it?.stop());
afterEach(() => it.closePages());

const keyOf = (song, artist = 'Nina Simone') => ({ artist: { S: artist }, song: { S: song } });
const kSinnerman = keyOf('Sinnerman');
const minute = () => advanceClock(it.server, 60);
const now = async () => Date.parse((await it.manage('console/boot')).clock.now);
const send = (command) => it.client.send(command);

async function create(TableName, recovery = true) {
  await send(new CreateTableCommand({ ...musicTable, TableName }));
  if (recovery) await recoveryOn(TableName);
}
const recoveryOn = (TableName) =>
  send(
    new UpdateContinuousBackupsCommand({
      TableName,
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
    }),
  );
const put = (TableName, key, attributes = {}) => send(new PutItemCommand({ TableName, Item: { ...key, ...attributes } }));
const set = (TableName, key, plays) =>
  send(
    new UpdateItemCommand({
      TableName,
      Key: key,
      UpdateExpression: 'SET plays = :n',
      ExpressionAttributeValues: { ':n': { N: String(plays) } },
    }),
  );
const remove = (TableName, key) => send(new DeleteItemCommand({ TableName, Key: key }));
const get = async (TableName, key) => (await send(new GetItemCommand({ TableName, Key: key, ConsistentRead: true }))).Item;
const addressOf = (table, song, query = '') => `${itemAddress(table, 'S:Nina Simone', `S:${song}`)}${query}`;
const iso = (millis) => new Date(millis).toISOString();
const field = (millis) => iso(millis).slice(0, 19).replace('T', ' ');

// A minute each: two songs; plays of one; the other is deleted. Returns those moments.
async function story(table) {
  await create(table);
  await minute();
  await put(table, kSinnerman, { plays: { N: '1' }, year: { N: '1965' } });
  await put(table, keyOf('Four Women'), { plays: { N: '7' } });
  const begun = await now();
  await minute();
  await set(table, kSinnerman, 2);
  const played = await now();
  await minute();
  await remove(table, keyOf('Four Women'));
  const deleted = await now();
  await minute();
  return { begun, played, deleted };
}

test('items are read as of a moment, which stands in the address, and nothing can be changed there', async () => {
  const { begun, played } = await story('past-items');
  const page = await it.open('tables/past-items/items');
  await page.getByText(/^1 item · [\d.]+ RCU/).waitFor();
  await page.getByRole('button', { name: 'As of…' }).click();
  const card = page.getByRole('region', { name: 'Read as of a moment' });
  await card.getByText(/^Kept from 2026-11-26 14:/).waitFor();
  await assertAccessible(page, 'as of, chosen');
  const moment = card.getByLabel('Moment (UTC)', { exact: true });
  await moment.fill('soon');
  await page.keyboard.press('Enter');
  await card.getByText('A time such as 14:03').waitFor();
  await moment.fill('2026-11-25 10:00');
  await page.keyboard.press('Enter');
  await card.getByText(/^Nothing before 2026-11-26 14:/).waitFor();
  await moment.fill(field(begun + 30_000));
  await page.keyboard.press('Enter');
  const past = page.getByRole('region', { name: `past-items as it was ${field(begun + 30_000)} UTC` });
  await past.getByText('This is the past').waitFor();
  await page.getByText(/^2 items · [\d.]+ RCU/).waitFor();
  assert.ok(page.url().includes(`asof=${encodeURIComponent(iso(begun + 30_000))}`), page.url());
  assert.ok(await page.getByRole('button', { name: 'New item' }).isDisabled());
  await page.getByLabel('Select row 1').check();
  assert.ok(await page.getByRole('button', { name: 'Delete', exact: true }).isDisabled());
  await page.getByRole('button', { name: 'Unselect' }).click();
  await page.getByRole('button', { name: 'More' }).click();
  assert.ok(await page.getByRole('menuitem', { name: 'Import items…' }).isDisabled());
  assert.ok(await page.getByRole('menuitem', { name: 'Delete all that match…' }).isDisabled());
  const download = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: /DynamoDB JSON lines/ }).click();
  const file = await download;
  assert.match(file.suggestedFilename(), /^past-items-2026-11-26T14.*\.jsonl$/);
  assert.equal(fs.readFileSync(await file.path(), 'utf8').trim().split('\n').filter((line) => /Four Women/.test(line)).length, 1);

  // A Query and a GetItem read the same moment; so does a reload.
  await page.getByLabel('artist partition key, S').fill('Nina Simone');
  await page.getByRole('button', { name: 'Query' }).click();
  await page.getByText(/^2 items · [\d.]+ RCU/).waitFor();
  await page.getByLabel('Value of song').fill('Four Women');
  await page.getByRole('button', { name: 'Get', exact: true }).click();
  await page.getByText(/^1 item · [\d.]+ RCU/).waitFor();
  await page.reload();
  await page.getByText(/^1 item · [\d.]+ RCU/).waitFor();
  await past.waitFor();
  await page.getByRole('gridcell', { name: 'Four Women' }).click();
  const item = page.getByRole('complementary', { name: 'Item as it was' });
  await item.getByText('"plays"').waitFor();
  assert.equal(await item.getByRole('button', { name: 'Save' }).count(), 0);
  await assertAccessible(page, 'item as it was');
  await page.keyboard.press('Escape');
  await item.waitFor({ state: 'detached' });

  // The code of it carries the header.
  await page.getByRole('button', { name: 'Code', exact: true }).click();
  const code = page.getByRole('dialog', { name: 'GetItem as code' });
  for (const [language, text] of [
    ['js', "['X-Stator-As-Of'] = '2026-11-26T14:"],
    ['boto3', "['X-Stator-As-Of'] = '2026-11-26T14:"],
    ['cli', 'stator at past-items 2026-11-26T14:'],
    ['curl', "-H 'X-Stator-As-Of: 2026-11-26T14:"],
  ]) {
    await code.getByLabel('Language').selectOption(language);
    await code.getByText(text).waitFor();
  }
  await page.keyboard.press('Escape');

  // The slider: what it stands at is said as a time.
  await page.getByRole('slider', { name: 'Moment' }).press('Home');
  await page.getByText('No item matched then').waitFor();
  assert.match(await page.getByRole('slider', { name: 'Moment' }).getAttribute('aria-valuetext'), /^2026-11-26 14:\d\d:\d\d UTC$/);
  await page.getByRole('button', { name: '1 min ago' }).click();
  await page.getByRole('region', { name: `past-items as it was ${field((await now()) - 60_000)} UTC` }).waitFor();
  assert.ok((await now()) - 60_000 > played);
  await page.getByRole('button', { name: 'Back to now' }).click();
  await past.waitFor({ state: 'detached' });
  assert.ok(await page.getByRole('button', { name: 'New item' }).first().isEnabled());
  assert.ok(!page.url().includes('asof='));
});

test('an index has no past, and the page says so in the words of the server', async () => {
  const { begun } = await story('past-index');
  const page = await it.open(`tables/past-index/items?asof=${iso(begun)}&index=by-year`);
  await page.getByText('cannot read index by-year: indexes have no history').first().waitFor();
  assert.ok(await page.getByLabel('From').getByRole('option', { name: /by-year/ }).isDisabled());
});

test('the versions of an item, and one of them comes back by keyboard alone', async () => {
  const { played } = await story('past-history');
  const page = await it.open(addressOf('past-history', 'Sinnerman'));
  await page.getByRole('button', { name: 'History', exact: true }).press('Enter');
  const panel = page.getByRole('complementary', { name: 'History of the item' });
  await panel.getByText(/^2 changes between .* all that is kept\.$/).waitFor();
  const versions = panel.getByRole('list', { name: 'Versions, newest first' }).getByRole('listitem');
  assert.match(await versions.first().innerText(), new RegExp(`^${field(played)}\\s+changed`));
  const row = panel.getByRole('row', { name: /^plays/ });
  assert.deepEqual((await row.innerText()).split(/\s+/), ['plays', '1', '2']);
  assert.match(page.url(), /panel=history/);
  await assertAccessible(page, 'history');

  // The version that is stored already needs nothing.
  await versions.first().getByRole('button', { name: 'Bring back…' }).press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('It is as it was then already').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Bring it back' }).count(), 0);
  await page.keyboard.press('Escape');

  await versions.nth(1).getByRole('button', { name: /created/ }).press('Enter');
  await versions.nth(1).getByRole('button', { name: 'As it was' }).press('Enter');
  await versions.nth(1).getByText('"1965"').first().waitFor();
  await versions.nth(1).getByRole('button', { name: 'Bring back…' }).press('Enter');
  await dialog.getByText('Nothing was written yet').waitFor();
  await dialog.getByRole('row', { name: /^plays/ }).waitFor();
  await assertAccessible(page, 'bring back');
  assert.equal((await get('past-history', kSinnerman)).plays.N, '2');

  // Another client writes in between: its write is kept, and shown.
  await set('past-history', kSinnerman, 3);
  await dialog.getByRole('button', { name: 'Bring it back' }).press('Enter');
  await dialog.getByText('Another client changed the item meanwhile').waitFor();
  assert.equal((await get('past-history', kSinnerman)).plays.N, '3');
  assert.deepEqual((await dialog.getByRole('row', { name: /^plays/ }).innerText()).split(/\s+/), ['plays', '3', '1']);
  await dialog.getByRole('button', { name: 'Bring it back' }).press('Enter');
  await page.getByText('The item is what it was then').waitFor();
  assert.equal((await get('past-history', kSinnerman)).plays.N, '1');
  await minute();
  await panel.getByRole('button', { name: 'Read the changes again' }).press('Enter');
  await panel.getByText(/^4 changes/).waitFor();
});

test('a deleted item comes back from its history, and from the past', async () => {
  const { begun } = await story('past-deleted');
  const page = await it.open(addressOf('past-deleted', 'Four Women'));
  await page.getByRole('heading', { name: 'This item is gone' }).waitFor();
  await page.getByRole('button', { name: 'History', exact: true }).click();
  const panel = page.getByRole('complementary', { name: 'History of the item' });
  const versions = panel.getByRole('listitem');
  // The undo of a deletion brings the item back.
  await versions.first().getByText('deleted').waitFor();
  await versions.first().getByRole('button', { name: 'Bring back…' }).click();
  await page.getByRole('dialog').getByText('There is no such item now').waitFor();
  await page.getByRole('button', { name: 'Bring it back' }).click();
  await page.getByText('The item is what it was then').waitFor();
  assert.equal((await get('past-deleted', keyOf('Four Women'))).plays.N, '7');
  // The history follows, without being asked to.
  await minute();
  await panel.getByText(/^3 changes/).waitFor();
  await versions.nth(1).getByRole('button', { name: /deleted/ }).click();
  await versions.nth(1).getByRole('button', { name: 'Bring back…' }).click();
  await page.getByText('It is as it was then already').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Delete the item' }).count(), 0);
  await page.keyboard.press('Escape');

  const then = await it.open(addressOf('past-deleted', 'Sinnerman', `&asof=${iso(begun)}`));
  await then.getByRole('button', { name: 'Bring back…' }).click();
  await then.getByRole('dialog').getByRole('button', { name: 'Bring it back' }).click();
  await then.getByText('The item is what it was then').waitFor();
  assert.equal((await get('past-deleted', kSinnerman)).plays.N, '1');
});

test('the difference of two moments, and a range of time is taken back without a later write being lost', async () => {
  const { begun, deleted } = await story('past-undo');
  // After the range: one of the items is written again.
  await set('past-undo', kSinnerman, 99);
  await minute();
  const page = await it.open('tables/past-undo/time');
  await page.getByText(/^Kept from/).waitFor();
  await assertAccessible(page, 'time');
  await page.getByRole('button', { name: 'Show the difference' }).press('Enter');
  await page.getByText('A time such as').waitFor();
  await page.getByLabel('From (UTC)').fill(field(begun + 30_000));
  await page.getByLabel('To (UTC)').fill(field(begun));
  await page.keyboard.press('Enter');
  await page.getByText('It is before the first one').waitFor();
  await page.getByLabel('To (UTC)').fill(field(deleted + 30_000));
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: '2 items differ' }).waitFor();
  const differ = page.getByRole('list', { name: 'Items that differ' });
  await differ.getByRole('button', { name: /changed Nina Simone · Sinnerman plays/ }).press('Enter');
  await differ.getByRole('row', { name: /^plays/ }).waitFor();
  await differ.getByRole('button', { name: /deleted Nina Simone · Four Women/ }).waitFor();
  assert.match(page.url(), /from=2026-11-26T14.*to=2026-11-26T14/);
  await page.reload();
  await page.getByRole('heading', { name: '2 items differ' }).waitFor();

  const undo = page.getByRole('region', { name: 'Undo this time' });
  await undo.getByRole('button', { name: 'Try the undo' }).press('Enter');
  await undo.getByText('dry run', { exact: true }).waitFor();
  const conflicts = undo.getByRole('list', { name: 'Changed later: would be left alone' });
  await conflicts.getByRole('link', { name: 'Nina Simone · Sinnerman' }).waitFor();
  assert.equal(await get('past-undo', keyOf('Four Women')), undefined);
  await assertAccessible(page, 'dry run');
  await undo.getByRole('button', { name: 'Undo 1 change…' }).press('Enter');
  const question = page.getByRole('dialog', { name: 'Undo 1 change of past-undo?' });
  await question.getByRole('button', { name: 'Undo', exact: true }).press('Enter');
  await undo.getByText('done', { exact: true }).waitFor();
  await undo.getByRole('list', { name: 'Left alone, or failed' }).getByText('Sinnerman').waitFor();
  assert.equal((await get('past-undo', keyOf('Four Women'))).plays.N, '7');
  assert.equal((await get('past-undo', kSinnerman)).plays.N, '99');
  await assertAccessible(page, 'undone');

  // An item that was left alone leads to its history.
  await undo.getByRole('link', { name: 'Nina Simone · Sinnerman' }).press('Enter');
  await page.getByText(/^3 changes between/).waitFor();
});

test('many changes are read page by page, and an undo of them wants the name of the table', async () => {
  await create('past-many');
  await minute();
  const from = await now();
  await minute();
  for (let i = 0; i < 120; ++i) await put('past-many', keyOf(`song ${i}`));
  await minute();
  const page = await it.open(`tables/past-many/time?from=${iso(from)}`);
  await page.getByRole('heading', { name: '120 items differ' }).waitFor();
  const undo = page.getByRole('region', { name: 'Undo this time' });
  await undo.getByRole('button', { name: 'Try the undo' }).click();
  await undo.getByRole('button', { name: 'Undo 120 changes…' }).click();
  const question = page.getByRole('dialog');
  assert.ok(await question.getByRole('button', { name: 'Undo', exact: true }).isDisabled());
  await question.getByLabel('Type past-many to confirm').fill('past-many');
  await question.getByRole('button', { name: 'Undo', exact: true }).click();
  await undo.getByText('done', { exact: true }).waitFor();
  assert.equal((await send(new ScanCommand({ TableName: 'past-many' }))).Count, 0);
  await undo.getByText('Taken back: 120').waitFor();
});

test('where the past is not kept, each page says so and switches it on', async () => {
  for (const [table, address, act] of [
    ['off-time', 'time', async () => {}],
    ['off-items', 'items', (page) => page.getByRole('button', { name: 'As of…' }).click()],
  ]) {
    await create(table, false);
    await put(table, kSinnerman);
    const page = await it.open(`tables/${table}/${address}`);
    await act(page);
    await page.getByText(`The past of ${table} is not kept`).waitFor();
    await assertAccessible(page, `${address}, off`);
    await page.getByRole('button', { name: 'Switch it on' }).click();
    await page.getByText(`From now on the past of ${table} is kept`).waitFor();
    await minute();
    await page.getByText(/^Kept from/).waitFor();
    const { ContinuousBackupsDescription: told } = await send(new DescribeContinuousBackupsCommand({ TableName: table }));
    assert.equal(told.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus, 'ENABLED');
  }
  await create('off-history', false);
  await put('off-history', kSinnerman);
  const page = await it.open(addressOf('off-history', 'Sinnerman', '&panel=history'));
  await page.getByText('The past of off-history is not kept').waitFor();
});

test('dark, narrow, and read-only: nothing is wider than the page, and nothing is written', async () => {
  const { begun, deleted } = await story('past-narrow');
  for (const [theme, width, height] of [
    ['dark', 390, 800],
    ['dark', 1440, 900],
    ['light', 390, 800],
  ]) {
    for (const address of [
      `tables/past-narrow/items?asof=${iso(begun)}`,
      `tables/past-narrow/time?from=${iso(begun)}&to=${iso(deleted)}`,
      addressOf('past-narrow', 'Sinnerman', '&panel=history'),
    ]) {
      const page = await it.open(address, { theme, width, height });
      await settled(page);
      await assertAccessible(page, `${address}, ${theme}, ${width}`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, address);
    }
  }
  const page = await it.open('overview');
  await page.route('**/_stator/console/boot', async (route) => {
    const reply = await route.fetch();
    return route.fulfill({ json: { ...(await reply.json()), readOnly: true } });
  });
  await page.goto(it.url(`tables/past-narrow/time?from=${iso(begun)}&to=${iso(deleted)}`));
  await page.reload();
  const undo = page.getByRole('region', { name: 'Undo this time' });
  await undo.getByRole('button', { name: 'Try the undo' }).click();
  assert.ok(await undo.getByRole('button', { name: 'Undo 2 changes…' }).isDisabled());
});

test('a user without the rights is told which one is missing', async () => {
  const { begun } = await story('past-denied');
  const page = await it.open('overview');
  const sentence =
    'User: arn:aws:iam::000000000000:user/eve is not authorized to perform: stator:ReadHistory on resource: past-denied';
  await page.route('**/_stator/tables/past-denied/past/**', (route) =>
    route.fulfill({ status: 403, json: { message: sentence } }),
  );
  await page.goto(it.url(`tables/past-denied/time?from=${iso(begun)}`));
  await page.getByText(sentence).waitFor();
  await page.goto(it.url(addressOf('past-denied', 'Sinnerman', '&panel=history')));
  await page.getByText(sentence).waitFor();
});
