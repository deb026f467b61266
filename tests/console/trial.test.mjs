// Findings of a trial of the console with keys alone: Escape, the top of pages, the focus after
// a button went away, a simulation that fails.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { CreateTableCommand, ListTablesCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { Console, itemAddress, musicTable } from './harness.mjs';

let it;
const key = { artist: { S: 'Nina Simone' }, song: { S: 'Sinnerman' } };
before(async () => {
  it = await Console.start();
  await it.client.send(new CreateTableCommand(musicTable));
  await it.client.send(new PutItemCommand({ TableName: 'music', Item: { ...key, year: { N: '1965' } } }));
});
after(() => it?.stop());
afterEach(() => it.closePages());

const focused = (page, what) =>
  page.waitForFunction((text) => document.activeElement?.textContent?.includes(text), what);

test('Escape is taken by the topmost dialog alone, and the focus goes back', async () => {
  const page = await it.open(itemAddress('music', 'S:Nina Simone', 'S:Sinnerman'));
  await page.getByLabel('Value of year').fill('1966');
  await page.getByRole('button', { name: 'Delete the item' }).press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: 'Delete this item?' }).waitFor();
  // It begins on the button that does no harm.
  await page.waitForFunction(() => document.activeElement?.textContent === 'Cancel');
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.waitForFunction(
    () => document.activeElement?.getAttribute('aria-label') === 'Delete the item',
  );
  // The editor is left with a question, which Escape answers as often as it comes.
  for (let i = 0; i < 2; ++i) {
    await page.keyboard.press('Escape');
    await dialog.getByRole('heading', { name: 'Close without saving?' }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  }
  assert.equal(await page.getByLabel('Value of year').inputValue(), '1966');
});

test('a new attribute leads to its value, Ctrl Enter saves, and the editor keeps the focus', async () => {
  const page = await it.open(itemAddress('music', 'S:Nina Simone', 'S:Sinnerman'));
  await page.getByLabel('Name of a new attribute').fill('label');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Value of label');
  await page.keyboard.type('Philips');
  await page.keyboard.press('Control+Enter');
  await page.getByText('Saved').first().waitFor();
  await focused(page, 'Item');
  // A conflict takes the focus; so does the editor when both are taken over.
  await page.getByLabel('Value of label').fill('Verve');
  await it.client.send(
    new UpdateItemCommand({
      TableName: 'music',
      Key: key,
      UpdateExpression: 'SET #l = :label, plays = :plays',
      ExpressionAttributeNames: { '#l': 'label' },
      ExpressionAttributeValues: { ':label': { S: 'RCA' }, ':plays': { N: '7' } },
    }),
  );
  await page.keyboard.press('Control+s');
  await focused(page, 'The item was changed meanwhile');
  await page.getByRole('row', { name: /^plays .*not changed: theirs stays$/ }).waitFor();
  await page.getByLabel('Keep mine for label').check();
  await page.getByRole('button', { name: 'Take over and go on editing' }).press('Enter');
  await page.waitForFunction(() => document.activeElement?.tagName === 'H2');
});

test('a page begins at its top, and the focus is not under the line above', async () => {
  const page = await it.open('overview', { height: 400 });
  await page.getByRole('heading', { name: 'Connect' }).waitFor();
  await page.evaluate(() => scrollTo(0, 10_000));
  assert.ok((await page.evaluate(() => scrollY)) > 0);
  await page.keyboard.press('g');
  await page.keyboard.press('f');
  await page.getByRole('heading', { name: 'Faults and clock' }).waitFor();
  await page.waitForFunction(() => document.activeElement?.tagName === 'MAIN' && scrollY === 0);
  for (let i = 0; i < 25; ++i) await page.keyboard.press('Tab');
  for (let i = 0; i < 20; ++i) {
    await page.keyboard.press('Shift+Tab');
    const hidden = await page.evaluate(() => {
      const at = document.activeElement;
      return at?.closest('main') && at.tagName !== 'MAIN' && at.getBoundingClientRect().top < 48;
    });
    assert.ok(!hidden, await page.evaluate(() => document.activeElement?.outerHTML.slice(0, 200)));
  }
});

test('the button that went away hands the focus on', async () => {
  const page = await it.open('faults');
  await page.getByRole('button', { name: /^A read/ }).or(page.locator('.preset')).first().press('Enter');
  await page.getByRole('button', { name: 'Remove all' }).press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: 'Remove all' }).press('Enter');
  await page.getByRole('heading', { name: 'No faults are set' }).waitFor();
  await focused(page, 'Add a rule');
  const advice = await it.open('advice');
  await advice.getByRole('button', { name: 'Record' }).press('Enter');
  await focused(advice, 'Stop');
  await advice.keyboard.press('Enter');
  await focused(advice, 'Record');
});

test('the outcome of an older design does not stay when a simulation fails', async () => {
  const page = await it.open('design');
  await page.getByRole('button', { name: 'Hot date' }).click();
  const refused = page.getByRole('heading', { name: '67% of the requests are refused' });
  await refused.waitFor();
  await page.getByText('33% served').first().waitFor();
  let fails = true;
  await page.route('**/_stator/simulate', (route) =>
    fails
      ? route.fulfill({ status: 400, contentType: 'application/json', body: '{"error":"too long"}' })
      : route.continue(),
  );
  await page.getByLabel('Requests a second').fill('3001');
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  assert.equal(await refused.count(), 0);
  fails = false;
  await page.getByRole('button', { name: 'Try again' }).press('Enter');
  await refused.waitFor();
});

test('a design that is too long to play is shortened, and says so', async () => {
  const page = await it.open('design');
  await page.getByRole('heading', { name: /served|refused/ }).waitFor();
  await page.route('**/_stator/simulate', (route) =>
    /1800s/.test(route.request().postData())
      ? route.fulfill({
          status: 400,
          contentType: 'application/json',
          body: '{"error":"The scenario takes more than two seconds of a processor: shorten it"}',
        })
      : route.continue(),
  );
  await page.getByRole('button', { name: 'New design' }).press('Enter');
  await page.getByText('30 minutes take too long to play here').waitFor();
  assert.equal(await page.getByLabel('Minutes to play').inputValue(), '15');
  await page.getByRole('heading', { name: 'Everything is served' }).waitFor();
});

test('an old outcome is not shown as that of the design, and new parts take the focus', async () => {
  const page = await it.open('design');
  await page.getByRole('button', { name: 'New design' }).press('Enter');
  await page.getByRole('heading', { name: 'Everything is served' }).waitFor();
  let free;
  const held = new Promise((resolve) => {
    free = resolve;
  });
  await page.route('**/_stator/simulate', async (route) => {
    await held;
    await route.continue();
  });
  await page.getByLabel('Requests a second').fill('9000');
  await page.getByRole('heading', { name: 'Computing…' }).waitFor();
  assert.equal(await page.getByRole('heading', { name: 'Everything is served' }).count(), 0);
  free();
  await page.getByRole('heading', { name: /of the requests are refused/ }).waitFor();
  // A cure says what it serves and what a month of it costs.
  await page.getByRole('button', { name: /write units ?: \S+ served, \$[\d.,]+ a month/ }).waitFor();
  const price = page.getByLabel('A million writes on demand');
  await page.getByText('Prices', { exact: true }).click();
  await price.fill('2');
  await price.press('Tab');
  await page.getByRole('button', { name: /^On demand ?: .* served, \$[\d.,]+ a month/ }).waitFor();
  await page.getByRole('button', { name: 'More traffic' }).press('Enter');
  await page.waitForFunction(() =>
    document.activeElement?.closest('section')?.getAttribute('aria-label') === 'Traffic: reads');
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => document.activeElement?.id === 'outcome-title');
});

test('the palette finds the tabs of tables', async () => {
  const page = await it.open('overview');
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('throttl');
  await page.getByRole('option', { name: /Throttling\s*of music/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(/tables\/music\/throttling/);
  // The words of buttons are found as well.
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('simulate');
  await page.getByRole('option', { name: /Simulate a cure\s*of music/ }).waitFor();
  await page.getByRole('combobox').fill('give music');
  await page.getByRole('option', { name: /Give other capacity\s*of music/ }).waitFor();
  await page.keyboard.press('Escape');
  // Arrows lead along the tabs.
  await page.getByRole('navigation', { name: 'Parts of music' }).getByRole('link', { name: 'Items' }).focus();
  await page.keyboard.press('ArrowRight');
  await focused(page, 'Heat');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(() => document.activeElement?.textContent === 'Time');
});

test('a sort key is named at once, and a narrow head keeps its words beside its buttons', async () => {
  const page = await it.open('tables/new', { width: 390 });
  await page.getByRole('button', { name: 'Add a sort key' }).press('Enter');
  await page.waitForFunction(() => document.activeElement?.closest('.nowrap-row') !== null);
  const [words, button] = await Promise.all([
    page.getByRole('heading', { name: 'Secondary indexes' }).boundingBox(),
    page.getByRole('button', { name: 'Global index' }).boundingBox(),
  ]);
  const apart = words.x + words.width <= button.x || words.y + words.height <= button.y;
  assert.ok(apart, JSON.stringify([words, button]));
});

test('a price stays while it is typed, though an outcome comes meanwhile', async () => {
  const page = await it.open('design');
  await page.getByText('Prices', { exact: true }).click();
  const reads = page.getByLabel('A million reads on demand');
  const writes = page.getByLabel('A million writes on demand');
  // The typed text lives through the new drawing that the other field's change begins.
  await reads.fill('0.125');
  await reads.press('Tab');
  await writes.pressSequentially('0.6');
  await page.waitForTimeout(1500);
  await writes.pressSequentially('25');
  assert.equal(await writes.inputValue(), '0.625');
  await writes.press('Tab');
  assert.deepEqual(
    await page.evaluate(() => {
      const { millionReads, millionWrites } = JSON.parse(localStorage.getItem('stator.prices') ?? '{}');
      return { millionReads, millionWrites };
    }),
    { millionReads: 0.125, millionWrites: 0.625 },
  );
});

test('a store on a disk is reset by its name', async () => {
  const stored = await Console.start({ engine: 'rocksdb' });
  try {
    await stored.client.send(new CreateTableCommand(musicTable));
    const page = await stored.open('tables');
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: /^Reset/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill(path.basename(stored.server.dataDir));
    await dialog.getByRole('button', { name: 'Delete everything' }).click();
    await page.getByText('The server was reset').waitFor();
    const { TableNames } = await stored.client.send(new ListTablesCommand({}));
    assert.deepEqual(TableNames, []);
  } finally {
    await stored.stop();
  }
});
