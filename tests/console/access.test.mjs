// Accessibility: axe on each page, empty and full, light and dark, narrow and wide; and no page is
// wider than the window at 320 pixels.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { CreateTableCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { assertAccessible, Console, itemAddress, musicTable, settled } from './harness.mjs';

const kEmpty = ['overview', 'tables', 'tables/new', 'tables/import', 'partiql', 'design', 'faults', 'settings', 'backups', 'advice', 'metrics', 'metrics?last=1h'];
const kFull = [
  'overview',
  'tables',
  'tables/music/items',
  'tables/music/items?pk=none',
  'tables/music/items?f=%5B%22year%22%2C%22between%22%2C%22N%22%2C%221%22%2C%22x%22%5D',
  itemAddress('music', 'S:Nina Simone', 'S:Sinnerman'),
  'tables/music/items?item=new',
  'tables/music/heat',
  'tables/music/throttling',
  'tables/music/capacity',
  'tables/music/indexes',
  'tables/music/streams',
  'tables/music/backups',
  'backups',
  'advice',
  'metrics?last=12h&by=table',
  'tables/none/items',
  'partiql?q=SELECT%20*%20FROM%20music%20WHERE%20artist%20%3D%20%3F',
];

let it;
before(async () => {
  it = await Console.start();
});
after(() => it?.stop());
afterEach(() => it.closePages());

// Two of the four in a short pass: each theme and each width once. CONSOLE_LOOKS=all has all.
const kLooks = [
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 320 },
  ...(process.env.CONSOLE_LOOKS === 'all'
    ? [
        { theme: 'dark', width: 1280 },
        { theme: 'light', width: 320 },
      ]
    : []),
];

async function check(address, look) {
  const page = await it.open(address, look);
  await settled(page);
  await assertAccessible(page, `${address} ${look.theme} ${look.width}`);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wider <= 0, `${address} is ${wider} pixels wider than a window of ${look.width}`);
}

for (const look of kLooks) {
  test(`empty server, ${look.theme}, ${look.width} pixels`, async () => {
    for (const address of kEmpty) await check(address, look);
  });
}

for (const look of kLooks) {
  test(`with a table, ${look.theme}, ${look.width} pixels`, async () => {
    await it.client.send(new CreateTableCommand(musicTable)).catch(() => {});
    await it.client.send(
      new PutItemCommand({
        TableName: 'music',
        Item: {
          artist: { S: 'Nina Simone' },
          song: { S: 'Sinnerman' },
          tags: { SS: ['live'] },
          credits: { M: { takes: { L: [{ N: '1' }] } } },
          done: { BOOL: true },
          none: { NULL: true },
          cover: { B: Uint8Array.from([1]) },
        },
      }),
    );
    for (const address of kFull) await check(address, look);
  });
}

test('dialogs, the palette, the log and menus', async () => {
  const page = await it.open('tables/music/items');
  const dialog = page.getByRole('dialog');
  await page.keyboard.press('Control+k');
  await dialog.waitFor();
  await assertAccessible(page, 'palette');
  await page.keyboard.press('Escape');
  await page.keyboard.press('?');
  await dialog.waitFor();
  await assertAccessible(page, 'keyboard');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: /^Log of calls/ }).click();
  await page.locator('.drawer').waitFor();
  await assertAccessible(page, 'log');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Code' }).click();
  await assertAccessible(page, 'code');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Actions for music' }).click();
  await assertAccessible(page, 'menu');
});
