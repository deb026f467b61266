// PartiQL: statements with parameters, several at once, errors with their place.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { CreateTableCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { assertAccessible, Console, musicTable } from './harness.mjs';

let it;
before(async () => {
  it = await Console.start();
  await it.client.send(new CreateTableCommand(musicTable));
  for (const song of ['Sinnerman', 'Four Women'])
    await it.client.send(
      new PutItemCommand({ TableName: 'music', Item: { artist: { S: 'Nina Simone' }, song: { S: song }, year: { N: '1965' } } }),
    );
});
after(() => it?.stop());
afterEach(() => it.closePages());

const statement = (page) => page.getByLabel('PartiQL statement');

test('a SELECT with a typed parameter says what it reads, and its rows lead to items', async () => {
  const page = await it.open('partiql');
  await statement(page).fill('SELECT * FROM "music" WHERE artist = ?');
  await page.getByText('Reads by the partition key.').waitFor();
  await page.getByLabel('Value of parameter 1').fill('Nina Simone');
  await page.keyboard.press('Control+Enter');
  await page.getByText('2 rows').waitFor();
  assert.match(page.url(), /q=SELECT/);
  await page.getByRole('region', { name: 'Rows' }).getByRole('link', { name: 'Nina Simone' }).first().click();
  await page.getByLabel('Value of year').waitFor();
});

test('a SELECT that reads the whole table is told before it runs', async () => {
  const page = await it.open('partiql');
  await statement(page).fill(`SELECT * FROM music WHERE song = 'Sinnerman'`);
  await page.getByText('Reads all of music').waitFor();
});

test('tables, keys and attributes are offered as they are typed, and taken by keyboard', async () => {
  const page = await it.open('partiql');
  await page.getByRole('button', { name: 'Statements' }).waitFor();
  await statement(page).focus();
  await page.keyboard.type('sel');
  await page.getByRole('option', { name: 'SELECT', selected: true }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.type('* FROM mu');
  await page.getByRole('option', { name: 'music table' }).waitFor();
  await assertAccessible(page, 'completion');
  const described = page.waitForResponse((reply) => reply.request().headers()['x-amz-target']?.endsWith('DescribeTable'));
  await page.keyboard.press('Enter');
  await described;
  await page.keyboard.type(' WHERE y');
  await page.getByRole('option', { name: '"year"' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('listbox', { name: 'What may follow' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Backspace');
  await page.getByRole('option', { name: 'artist key' }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Tab');
  await page.keyboard.type(` = 'Nina Simone'`);
  assert.equal(await statement(page).inputValue(), `SELECT * FROM music WHERE artist = 'Nina Simone'`);
  await page.keyboard.press('Control+Enter');
  await page.getByText('2 rows').waitFor();
});

test('an error is shown as the server has it, and its place is selected', async () => {
  const page = await it.open('partiql');
  await statement(page).fill('SELEC * FROM music');
  await page.keyboard.press('Control+Enter');
  await page.getByText(/Statement wasn't well formed/).waitFor();
  await page.getByRole('button', { name: 'Show the place' }).click();
  const selected = await statement(page).evaluate((area) =>
    area.value.slice(area.selectionStart, area.selectionEnd),
  );
  assert.equal(selected, 'SELEC');
});

test('several statements run as one transaction', async () => {
  const page = await it.open('partiql');
  await statement(page).fill(
    `UPDATE music SET plays = 1 WHERE artist = 'Nina Simone' AND song = 'Sinnerman';\n` +
      `UPDATE music SET plays = ? WHERE artist = 'Nina Simone' AND song = 'Four Women'`,
  );
  await page.getByRole('radio', { name: 'Transaction' }).check({ force: true });
  await page.getByLabel('Type of parameter 1').selectOption('N');
  await page.getByLabel('Value of parameter 1').fill('12345678901234567890123456789012345678');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('No rows.').waitFor();
  const { Item } = await it.client.send(
    new GetItemCommand({ TableName: 'music', Key: { artist: { S: 'Nina Simone' }, song: { S: 'Four Women' } } }),
  );
  assert.deepEqual(Item.plays, { N: '12345678901234567890123456789012345678' });
});

test('a batch tells which statement failed', async () => {
  const page = await it.open('partiql');
  await statement(page).fill(
    `SELECT * FROM music WHERE artist = 'Nina Simone' AND song = 'Sinnerman';\n` +
      `SELECT * FROM none WHERE artist = 'x' AND song = 'y'`,
  );
  await page.getByRole('radio', { name: 'Batch' }).check({ force: true });
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText(/Statement 2: ResourceNotFound/).waitFor();
});
