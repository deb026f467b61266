// The way of a newcomer without a mouse: from the first page to the key that heats a table, why it
// was throttled, a cure that is simulated, and the cure applied. Only keys are pressed.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { CreateTableCommand, DescribeTableCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { Console, heatVotes, musicTable, until } from './harness.mjs';

let it;
let endLoad;
before(async () => {
  it = await Console.start();
  endLoad = await heatVotes(it.client, { bytes: 15_000, millis: 30 });
});
after(async () => {
  await endLoad?.();
  await it?.stop();
});
afterEach(() => it.closePages());

const nameOf = (page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    return element?.getAttribute('aria-label') ?? element?.textContent?.trim().replace(/\s+/g, ' ') ?? '';
  });

// Presses Tab until the focus is on what is called that, and is seen.
async function tabTo(page, name, most = 60) {
  const passed = [];
  for (let i = 0; i < most; ++i) {
    await page.keyboard.press('Tab');
    const now = await nameOf(page);
    if (name.test(now)) {
      const box = await page.evaluate(() => {
        const { top, bottom, width } = document.activeElement.getBoundingClientRect();
        return { top, bottom, width, view: innerHeight };
      });
      assert.ok(box.width > 0 && box.bottom > 0 && box.top < box.view, `${name} is out of view`);
      return;
    }
    passed.push(now.slice(0, 40));
  }
  assert.fail(`Tab does not lead to ${name}: ${passed.join(' | ')}`);
}

test('from the first page to a cure that works, by keyboard alone', async () => {
  const page = await it.open('overview');
  await page.getByText(/requests were throttled/).first().waitFor();
  await page.getByText('alice').first().waitFor();
  // The twelve seconds that are selected below ask for more than the burst capacity.
  await until('much was asked for', async () => {
    const { resources } = await it.manage('tables/votes/heat?last=20s&step=1s');
    const { consumed, refused, columns } = resources[0];
    const asked = Array.from({ length: columns }, (_, i) => consumed.write[i] + refused.write[i]).slice(-14);
    return asked.length === 14 && asked.every((units) => units > 0) && asked.reduce((all, units) => all + units) > 3000;
  });
  await page.getByRole('link', { name: /^votes partition \d+/ }).waitFor();
  await tabTo(page, /^votes partition \d+/);
  await page.keyboard.press('Enter');
  await page.getByRole('application', { name: /^votes/ }).waitFor();
  await tabTo(page, /^votes: time to the right/);
  for (let i = 0; i < 3; ++i) await page.keyboard.press('ArrowLeft');
  for (let i = 0; i < 12; ++i) await page.keyboard.press('Shift+ArrowLeft');
  const panel = page.getByRole('region', { name: /UTC$/ });
  await panel.getByRole('link', { name: 'alice' }).waitFor();
  await panel.getByText('Writes beyond the provisioned capacity of the table.').waitFor();
  await tabTo(page, /^Simulate a cure$/);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /% of the requests are refused$/ }).waitFor();
  // The outcome has the focus: its cures are the next stops.
  await page.waitForFunction(() => document.activeElement?.id === 'outcome-title');
  await page.getByRole('heading', { name: /^Try a cure/ }).waitFor();
  await tabTo(page, /^[\d,]+ write units: [\d.]+% served, \$[\d.,]+ a month$/, 3);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Everything is served' }).waitFor();
  // The outcome has the focus again; the button that applies it is at the top.
  await tabTo(page, /^Give votes this capacity/, 80);
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await tabTo(page, /^Change capacity$/);
  await page.keyboard.press('Enter');
  await page.getByText(/votes has 5 read and [\d,]+ write units/).first().waitFor();
  const { Table } = await it.client.send(new DescribeTableCommand({ TableName: 'votes' }));
  assert.ok(Table.ProvisionedThroughput.WriteCapacityUnits > 100);
});

test('someone new heats a sample table, finds the hot key, its reason, and a cure that is simulated', async (t) => {
  const own = await Console.start({ throttling: 'observe' });
  try {
    const page = await own.open('overview');
    const began = Date.now();
    await tabTo(page, /^Heat a sample table$/);
    await page.keyboard.press('Enter');
    await page.getByText('beyond limits now.').first().waitFor();
    await tabTo(page, /^sample-votes partition \d+/);
    await page.keyboard.press('Enter');
    await page.getByRole('application', { name: /^sample-votes/ }).waitFor();
    await tabTo(page, /^sample-votes: time to the right/);
    const panel = page.getByRole('region', { name: /UTC$/ });
    await page.keyboard.press('n');
    await panel.getByText(/^One key has \d+% of it/).waitFor();
    await panel.getByRole('link', { name: 'alice' }).waitFor();
    await panel.getByText(/beyond what one partition of the table can do/i).waitFor();
    await tabTo(page, /^Simulate a cure$/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /% of the requests are refused$/ }).waitFor();
    await page.waitForFunction(() => document.activeElement?.id === 'outcome-title');
    await page.getByRole('button', { name: /^Spread alice over/ }).waitFor();
    await tabTo(page, /^Spread alice over/, 4);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Everything is served' }).waitFor();
    t.diagnostic(`${((Date.now() - began) / 1000).toFixed(1)} s from the first page to the cure`);
    await page.getByRole('button', { name: 'Stop' }).press('Enter');
    await page.getByText('Stopped.').waitFor();
    assert.deepEqual(page.problems, []);
  } finally {
    await own.stop();
  }
});

test('an item is found, edited and saved by keyboard alone', async () => {
  const key = { artist: { S: 'Nina Simone' }, song: { S: 'Sinnerman' } };
  await it.client.send(new CreateTableCommand(musicTable));
  await it.client.send(new PutItemCommand({ TableName: 'music', Item: { ...key, year: { N: '1965' } } }));
  const page = await it.open('overview');
  await page.getByRole('link', { name: 'music' }).first().waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  await page.keyboard.type('music');
  await page.getByRole('option', { name: /^music/ }).first().waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('grid', { name: 'Items of music' }).getByText('Sinnerman').first().waitFor();
  await page.keyboard.press('k');
  await page.keyboard.press('e');
  await page.getByLabel('Value of year').waitFor();
  await tabTo(page, /^Value of year$/);
  await page.keyboard.press('Control+a');
  await page.keyboard.type('1966');
  await page.keyboard.press('Control+s');
  await page.getByText('Saved').first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByLabel('Value of year').waitFor({ state: 'detached' });
  // The focus is back in the grid.
  await page.waitForFunction(() => document.activeElement?.closest('[role=grid]') !== null);
  const { Item } = await it.client.send(new GetItemCommand({ TableName: 'music', Key: key }));
  assert.deepEqual(Item.year, { N: '1966' });
});
