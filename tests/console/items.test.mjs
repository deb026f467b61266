// Items: reading, editing with exact values, conflicts, bulk, files. The AWS SDK reads the table
// and is the reference for what the page shows.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import {
  BatchWriteItemCommand,
  CreateTableCommand,
  DeleteItemCommand,
  DeleteTableCommand,
  GetItemCommand,
  PutItemCommand,
  ScanCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { assertAccessible, Console, itemAddress, musicTable, until } from './harness.mjs';

let it;
before(async () => {
  it = await Console.start();
});
after(() => it?.stop());
beforeEach(async () => {
  await it.client.send(new CreateTableCommand(musicTable));
});
afterEach(async () => {
  await it.closePages();
  await it.client.send(new DeleteTableCommand({ TableName: 'music' }));
});

const kKey = { artist: { S: 'Nina Simone' }, song: { S: 'Sinnerman' } };
const kItem = {
  ...kKey,
  year: { N: '1965' },
  plays: { N: '12345678901234567890123456789012345678' },
  tags: { SS: ['live', 'long'] },
  cover: { B: Uint8Array.from([0, 1, 2, 255]) },
  credits: { M: { label: { S: 'Philips' }, takes: { L: [{ N: '1' }, { N: '2' }] } } },
  '<b>x</b>': { S: '<script>alert(1)</script>' },
};
const put = (item) => it.client.send(new PutItemCommand({ TableName: 'music', Item: item }));
const get = async (key = kKey) =>
  (await it.client.send(new GetItemCommand({ TableName: 'music', Key: key, ConsistentRead: true }))).Item;
const openItem = () => it.open(itemAddress('music', 'S:Nina Simone', 'S:Sinnerman'));
const songs = async (count) => {
  for (let i = 0; i < count; i += 25) {
    let RequestItems = {
      music: Array.from({ length: Math.min(25, count - i) }, (_, j) => ({
        PutRequest: {
          Item: { artist: { S: `artist ${(i + j) % 3}` }, song: { S: `song ${String(i + j).padStart(4, '0')}` }, year: { N: String(1950 + ((i + j) % 20)) } },
        },
      })),
    };
    // On a fast machine they are more than three keys can write in a second.
    while (Object.keys(RequestItems).length > 0) {
      try {
        RequestItems = (await it.client.send(new BatchWriteItemCommand({ RequestItems }))).UnprocessedItems;
      } catch (error) {
        if (!/Throttling|ThroughputExceeded/.test(error.name)) throw error;
      }
      if (Object.keys(RequestItems).length > 0) await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
};

test('the bar makes a Scan, a Query, a GetItem, and reads an index', async () => {
  await songs(60);
  await put(kItem);
  const page = await it.open('tables/music/items');
  await page.getByText('61 items').first().waitFor();
  await page.getByLabel('artist partition key, S').fill('artist 1');
  await page.getByRole('button', { name: 'Query' }).click();
  await page.getByText('20 items · ').waitFor();
  assert.match(page.url(), /pk=artist\+1/);
  await page.getByLabel('Value of song').fill('song 0001');
  await page.getByRole('button', { name: 'Get', exact: true }).click();
  await page.getByText('1 item · ').waitFor();
  await page.goBack();
  await page.getByText('20 items · ').waitFor();
  await page.getByLabel('From').selectOption('by-year');
  await page.getByLabel('year partition key, N').fill('soon');
  await page.getByText('soon is not a number').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Query' }).isDisabled());
  await page.getByLabel('year partition key, N').fill('1965');
  await page.getByRole('button', { name: 'Query' }).click();
  await page.getByText('4 items · ').waitFor();
});

test('a filter says what was read and what matched', async () => {
  await songs(60);
  const page = await it.open('tables/music/items');
  await page.getByRole('button', { name: 'Add a filter' }).click();
  await page.getByLabel('Attribute of filter 1').fill('year');
  await page.getByLabel('Type of filter 1').selectOption('N');
  await page.getByLabel('Value of filter 1', { exact: true }).fill('1950');
  await page.getByRole('button', { name: 'Scan' }).click();
  await page.getByText('60 read, 3 matched').waitFor();
});

test('three thousand rows are scrolled to the end with few nodes in the document', async () => {
  await songs(3000);
  const page = await it.open('tables/music/items');
  const grid = page.getByRole('grid', { name: 'Items of music' });
  await grid.waitFor();
  await until('the end is reached', async () => {
    await grid.evaluate((element) => {
      element.scrollTop = element.scrollHeight;
    });
    return page.getByText('that is all').isVisible();
  });
  await page.getByText('3,000 items').first().waitFor();
  assert.ok((await page.locator('*').count()) < 2000);
});

test('more rows than a block of the window holds are scrolled to the end', async () => {
  const rows = 130_000;
  const page = await it.open('overview');
  // Pages as the server would give them: the table itself stays small.
  await page.route('**/*', (route) => {
    const request = route.request();
    if (request.headers()['x-amz-target'] !== 'DynamoDB_20120810.Scan') return route.fallback();
    const from = Number(request.postDataJSON().ExclusiveStartKey?.song.S ?? 0);
    const to = Math.min(rows, from + 5000);
    const Items = Array.from({ length: to - from }, (_, i) => ({ artist: { S: 'a' }, song: { S: String(from + i + 1) } }));
    const more = to < rows ? { LastEvaluatedKey: Items.at(-1) } : {};
    return route.fulfill({ json: { Items, Count: Items.length, ScannedCount: Items.length, ...more } });
  });
  await page.goto(it.url('tables/music/items'));
  const grid = page.getByRole('grid', { name: 'Items of music' });
  await grid.waitFor();
  await until('the end is reached', async () => {
    await grid.evaluate((element) => {
      element.scrollTop = element.scrollHeight;
    });
    return page.getByText('that is all').isVisible();
  });
  await page.getByText('130,000 items').first().waitFor();
  await until('the last row is seen', async () => {
    await grid.evaluate((element) => {
      element.scrollTop = element.scrollHeight;
    });
    return grid.getByText('130000', { exact: true }).isVisible();
  });
});

test('item collections: a head for each partition key, items open by keyboard, the view is in the address', async () => {
  await songs(9);
  const page = await it.open('tables/music/items');
  await page.getByRole('radio', { name: 'Collections' }).check({ force: true });
  const list = page.getByRole('listbox', { name: 'Item collections of music' });
  await list.getByRole('option', { name: /^artist 1, song 0004/ }).waitFor();
  await list.getByText('3 items').first().waitFor();
  assert.match(page.url(), /view=collections/);
  await assertAccessible(page, 'collections');
  await list.focus();
  await page.keyboard.press('ArrowDown');
  const chosen = await list.getByRole('option', { selected: true }).textContent();
  await page.keyboard.press('Enter');
  const [, artist, song] = /^(artist \d), (song \d{4})/.exec(chosen);
  assert.equal(await page.locator('.editor').getByLabel('Value of artist').inputValue(), artist);
  assert.equal(await page.locator('.editor').getByLabel('Value of song').inputValue(), song);
});

test('an edit writes what was touched and leaves every other value as it is', async () => {
  await put(kItem);
  const page = await openItem();
  await page.getByLabel('Value of year').fill('1966');
  await page.getByLabel('Value of credits.label').fill('Verve');
  await page.keyboard.press('Control+s');
  await page.getByText('Saved').first().waitFor();
  // News covers no button of the panel.
  const onTop = await page.getByLabel('strict').evaluate((box) => {
    const { x, y, width, height } = box.getBoundingClientRect();
    return document.elementFromPoint(x + width / 2, y + height / 2)?.closest('.news') === null;
  });
  assert.ok(onTop);
  assert.deepEqual(await get(), {
    ...kItem,
    year: { N: '1966' },
    credits: { M: { ...kItem.credits.M, label: { S: 'Verve' } } },
  });
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone').first().waitFor();
  assert.deepEqual(await get(), kItem);
});

test('markup in names and values is text, in every view', async () => {
  await put(kItem);
  const page = await openItem();
  for (const view of ['Form', 'DynamoDB JSON', 'Plain JSON']) {
    await page.getByRole('radio', { name: view }).check({ force: true });
    assert.equal(await page.locator('.editor b, .editor script').count(), 0);
  }
  assert.match(await page.getByLabel('The item as plain JSON').inputValue(), /12345678901234567890123456789012345678/);
});

test('plain JSON keeps types, and asks before it changes one', async () => {
  await put(kItem);
  const page = await openItem();
  await page.getByRole('radio', { name: 'Plain JSON' }).check({ force: true });
  const text = page.getByLabel('The item as plain JSON');
  await text.fill((await text.inputValue()).replace('"live"', '"studio"').replace(kItem.plays.N, '"many"'));
  await page.getByText('plays: N becomes S').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'Save with these types' }).click();
  await page.getByText('Saved').first().waitFor();
  const stored = await get();
  assert.deepEqual([...stored.tags.SS].sort(), ['long', 'studio']);
  assert.deepEqual(stored.plays, { S: 'many' });
  assert.deepEqual(stored.year, kItem.year);
  assert.deepEqual(stored.cover, kItem.cover);
});

test('JSON that is wrong is told with its place, and cannot be saved', async () => {
  await put(kItem);
  const page = await openItem();
  await page.getByRole('radio', { name: 'DynamoDB JSON' }).check({ force: true });
  await page.getByLabel('The item as DynamoDB JSON').fill('{\n  "artist": {"S": 1}\n}');
  await page.getByText('Line 2, column 19').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Save', exact: true }).isDisabled());
});

test('a conflict shows both sides and loses neither', async () => {
  await put(kItem);
  const page = await openItem();
  await page.getByLabel('Value of year').fill('1966');
  await it.client.send(
    new UpdateItemCommand({
      TableName: 'music',
      Key: kKey,
      UpdateExpression: 'SET #y = :y, plays = :p',
      ExpressionAttributeNames: { '#y': 'year' },
      ExpressionAttributeValues: { ':y': { N: '1964' }, ':p': { N: '7' } },
    }),
  );
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('heading', { name: 'The item was changed meanwhile' }).waitFor();
  assert.deepEqual((await get()).year, { N: '1964' });
  const take = page.getByRole('button', { name: 'Take over and go on editing' });
  assert.ok(await take.isDisabled());
  await page.getByRole('radio', { name: 'Keep mine for year' }).check();
  await take.click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved').first().waitFor();
  assert.deepEqual(await get(), { ...kItem, year: { N: '1966' }, plays: { N: '7' } });
});

test('writes of others to other attributes stay, without a question', async () => {
  await put(kItem);
  const page = await openItem();
  await page.getByLabel('Value of year').fill('1966');
  await it.client.send(
    new UpdateItemCommand({
      TableName: 'music',
      Key: kKey,
      UpdateExpression: 'SET plays = :p',
      ExpressionAttributeValues: { ':p': { N: '7' } },
    }),
  );
  await page.keyboard.press('Control+s');
  await page.getByText('Saved').first().waitFor();
  assert.deepEqual(await get(), { ...kItem, year: { N: '1966' }, plays: { N: '7' } });
});

test('an item that was deleted meanwhile is told, and can be created again', async () => {
  await put(kItem);
  const page = await openItem();
  await page.getByLabel('Value of year').fill('1966');
  await it.client.send(new DeleteItemCommand({ TableName: 'music', Key: kKey }));
  await page.keyboard.press('Control+s');
  await page.getByText('The item was deleted meanwhile').waitFor();
  await page.getByRole('button', { name: 'Create it again' }).click();
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('Saved').first().waitFor();
  assert.deepEqual((await get()).year, { N: '1966' });
});

test('a new item never replaces one, and another key moves the item', async () => {
  await put(kItem);
  const page = await it.open('tables/music/items');
  await page.getByRole('button', { name: 'New item' }).first().click();
  const editor = page.locator('.editor');
  await editor.getByLabel('Value of artist').fill('Nina Simone');
  await editor.getByLabel('Value of song').fill('Sinnerman');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('There is an item with this key already').waitFor();
  assert.deepEqual(await get(), kItem);
  await editor.getByLabel('Value of song').fill('Four Women');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByText('Saved').first().waitFor();
  await editor.getByLabel('Value of song').fill('Four Women (live)');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('nothing changed').waitFor();
  assert.equal(await get({ ...kKey, song: { S: 'Four Women' } }), undefined);
  assert.ok(await get({ ...kKey, song: { S: 'Four Women (live)' } }));
});

test('leaving with unsaved edits asks', async () => {
  await put(kItem);
  const page = await openItem();
  await page.getByLabel('Value of year').fill('1966');
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('heading', { name: 'Leave without saving?' }).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await page.getByLabel('Value of year').inputValue(), '1966');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Drop the changes' }).click();
  await page.getByLabel('Value of year').waitFor({ state: 'detached' });
});

test('rows are selected and deleted by keyboard, unless others changed them', async () => {
  await songs(6);
  const page = await it.open('tables/music/items?pk=artist+0');
  await page.getByText('2 items').first().waitFor();
  await it.client.send(
    new PutItemCommand({ TableName: 'music', Item: { artist: { S: 'artist 0' }, song: { S: 'song 0000' }, year: { N: '1' } } }),
  );
  await page.keyboard.press('k');
  await page.keyboard.press('x');
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.getByText('2 items selected').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Complete.').waitFor();
  await page.getByText('1 left alone').waitFor();
  const { Items } = await it.client.send(new ScanCommand({ TableName: 'music' }));
  assert.equal(Items.length, 5);
  assert.ok(Items.some((one) => one.year.N === '1'));
});

test('all that match are counted, then deleted after the name is typed', async () => {
  await songs(150);
  const page = await it.open('tables/music/items');
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Delete all that match…' }).click();
  await page.getByRole('heading', { name: 'Delete 150 items?' }).waitFor();
  await page.getByLabel('Type music to confirm').fill('music');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Complete.').waitFor();
  const { Count } = await it.client.send(new ScanCommand({ TableName: 'music' }));
  assert.equal(Count, 0);
});

test('an export holds every item exactly, and an import brings them back', async () => {
  await songs(30);
  await put(kItem);
  const page = await it.open('tables/music/items');
  const whole = await it.client.send(new ScanCommand({ TableName: 'music' }));
  for (const [name, file] of [
    ['Export all that match, DynamoDB JSON lines', 'music.items.jsonl'],
    ['Export all that match, CSV', 'music.csv'],
  ]) {
    await page.getByRole('button', { name: 'More', exact: true }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('menuitem', { name }).click();
    const download = await downloading;
    assert.equal(download.suggestedFilename(), file);
    const saved = await download.path();
    const path = `${saved}.${file}`;
    fs.copyFileSync(saved, path);
    for (const one of whole.Items)
      await it.client.send(new DeleteItemCommand({ TableName: 'music', Key: { artist: one.artist, song: one.song } }));
    await page.getByRole('button', { name: 'More', exact: true }).click();
    const choosing = page.waitForEvent('filechooser');
    await page.getByRole('menuitem', { name: 'Import items…' }).click();
    await (await choosing).setFiles(path);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('Complete.').waitFor();
    const back = await it.client.send(new ScanCommand({ TableName: 'music' }));
    assert.deepEqual(sorted(back.Items), sorted(whole.Items));
    await page.getByRole('region', { name: /Importing/ }).getByRole('button', { name: 'Close' }).click();
  }
});

const sorted = (items) =>
  [...items]
    .sort((a, b) => (a.artist.S + a.song.S < b.artist.S + b.song.S ? -1 : 1))
    .map((one) => ({ ...one, ...(one.tags ? { tags: { SS: [...one.tags.SS].sort() } } : {}) }));

test('the code of a read is what was sent', async () => {
  await songs(3);
  const page = await it.open('tables/music/items?pk=artist+0');
  await page.getByRole('button', { name: 'Code' }).click();
  const code = page.getByRole('region', { name: /^Code: / });
  await page.getByLabel('Language').selectOption('curl');
  await code.filter({ hasText: 'DynamoDB_20120810.Query' }).waitFor();
  await page.getByLabel('Language').selectOption('js');
  await code.filter({ hasText: /QueryCommand.*artist 0/s }).waitFor();
});

test('no acknowledged write is lost between two editors and a program', async () => {
  await put({ ...kKey, a: { N: '0' }, b: { N: '0' }, c: { N: '0' } });
  const pages = [await openItem(), await openItem()];
  const acknowledged = { a: 0, b: 0, c: 0 };
  for (let round = 1; round <= 6; ++round) {
    await it.client.send(
      new UpdateItemCommand({ TableName: 'music', Key: kKey, UpdateExpression: 'SET c = c + :one', ExpressionAttributeValues: { ':one': { N: '1' } } }),
    );
    acknowledged.c += 1;
    for (const [i, page] of pages.entries()) {
      // Both editors write the same attribute in turn, and one of their own.
      const name = round % 2 === 0 ? 'ab'[i] : 'a';
      await page.getByLabel(`Value of ${name}`, { exact: true }).fill(String(round * 10 + i));
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      const merge = page.getByRole('heading', { name: 'The item was changed meanwhile' });
      const save = page.getByText('nothing changed');
      await merge.or(save).first().waitFor();
      if (await merge.isVisible()) {
        const mine = page.getByRole('radio', { name: /^Keep mine/ });
        for (const one of await mine.all()) await one.check();
        await page.getByRole('button', { name: 'Take over and go on editing' }).click();
        await page.getByRole('button', { name: 'Save', exact: true }).click();
        await save.waitFor();
      }
      acknowledged[name] = round * 10 + i;
      const stored = await get();
      for (const each of 'abc') assert.equal(stored[each].N, String(acknowledged[each]), `${each} in round ${round}`);
    }
  }
});
