// The samples: they are found from everywhere, and the sample load shows that a cure works.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { CreateTableCommand, GetItemCommand, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { assertAccessible, Console, until } from './harness.mjs';

let it;
before(async () => {
  it = await Console.start();
});
after(() => it?.stop());
afterEach(() => it.closePages());

const field = (page) => page.getByRole('combobox', { name: 'Search pages, tables, actions and keys' });
const optionsOf = async (page, text) => {
  await field(page).fill(text);
  const options = page.getByRole('dialog').getByRole('option');
  await options.first().waitFor();
  return options.allInnerTexts();
};

test('the palette knows what pages are about, and the samples', async () => {
  const page = await it.open('settings');
  await page.keyboard.press('Control+k');
  await field(page).waitFor();
  assert.match((await optionsOf(page, 'heat')).join(), /Heat a sample table/);
  assert.match((await optionsOf(page, 'warm')).join(), /Design/);
  assert.match((await optionsOf(page, 'music')).join(), /Load the music sample/);
  await field(page).press('Enter');
  await page.getByRole('grid', { name: 'Items of music' }).waitFor();
  await page.keyboard.press('Control+k');
  await field(page).waitFor();
  assert.match((await optionsOf(page, 'warm')).join(), /Capacity\s+of music/);
});

test('a sample is reached from Tables while there are tables', async () => {
  const page = await it.open('tables');
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Heat a sample table' }).waitFor();
  await page.getByRole('menuitem', { name: 'Open the table music' }).click();
  await page.getByRole('grid', { name: 'Items of music' }).waitFor();
});

test('the cure is tried on the running load, with the number that the server advises, and throttling ends', async () => {
  const page = await it.open('tables');
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Heat a sample table' }).click();
  const panel = page.getByRole('region', { name: 'Sample load on sample-votes' });
  await panel.getByText(/\d throttled/).waitFor();
  const told = await until('the server has a plan', async () => {
    const { resources } = await it.manage('tables/sample-votes/partitions');
    return resources[0].refused.flatMap((one) => one.advice).find((text) => /\d+ (shards|suffixes)/.test(text));
  });
  // The number stands with the demand that it is for.
  assert.match(told, /(\d+) (shards|suffixes).* \1 for its [\d,]+ write units\/s, because/);
  await page.goto(it.url('tables/sample-votes/throttling'));
  const limit = page.getByRole('region', { name: 'Writes beyond what one partition of the table can do' });
  await limit.getByText(/A split does not help|^Not split, because/).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Split partition/ }).count(), 0);
  // A refused write of the load is no failure of the page.
  assert.equal(await page.getByRole('button', { name: /^Log of calls/ }).getAttribute('aria-label'), 'Log of calls');
  await assertAccessible(page, 'throttling, with the sample load');
  await limit.getByRole('button', { name: 'Try the cure: spread alice on the running load' }).press('Enter');
  const said = panel.getByRole('status');
  await said.getByText(/^alice is spread over \d+ keys now, alice\.1 to alice\.\d+/).waitFor();
  const suffixes = Number(/over (\d+) keys/.exec(await said.innerText())[1]);
  assert.ok(suffixes > 1, `${suffixes}`);
  // Each of its items is written with its first vote, as large as hers.
  let written;
  while (written === undefined) {
    const { Item } = await it.client.send(
      new GetItemCommand({ TableName: 'sample-votes', Key: { candidate: { S: `alice.${suffixes}` } } }),
    );
    written = Item;
    if (Item === undefined) await page.waitForTimeout(200);
  }
  assert.ok(written.letters.S.length > 200_000);
  await limit.getByText(/^(within the limit now|ended)$/).waitFor();
  // The limit that refuses no more says so, and stays open under who reads it.
  await limit.getByText('ended', { exact: true }).waitFor();
  assert.ok(await limit.getByText('Busiest second, at').isVisible());
  const since = await panel.getByText(/writes? since then/).innerText();
  const done = Number(/([\d,]+) write/.exec(since)[1].replaceAll(',', ''));
  const failed = Number(/(\d+) throttled/.exec(since)?.[1] ?? 0);
  assert.ok(done > 0 && failed <= done / 20, `${failed} of ${done}`);
  await panel.getByRole('button', { name: 'Back to one key' }).press('Enter');
  await limit.getByText('now', { exact: true }).waitFor();
  await panel.getByRole('button', { name: 'Stop' }).press('Enter');
  await page.getByText('Stopped.').waitFor();
});

test('the focus stays near what was deleted', async () => {
  await it.client.send(
    new CreateTableCommand({
      TableName: 'passing',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    }),
  );
  const page = await it.open('tables');
  await page.getByRole('button', { name: 'Actions for passing' }).press('Enter');
  await page.getByRole('menuitem', { name: 'Delete the table…' }).press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the table' }).press('Enter');
  await page.getByText('Table passing was deleted').first().waitFor();
  await page.getByRole('link', { name: 'passing' }).waitFor({ state: 'detached' });
  await page.waitForFunction(() => document.activeElement?.closest('main') !== null);
  const { TableNames } = await it.client.send(new ListTablesCommand({}));
  assert.ok(!TableNames.includes('passing'));
});
