// The frame and the first pages: what a newcomer sees, the keyboard, sizes, the server going away.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CreateTableCommand, DescribeTableCommand, ListTablesCommand } from '@aws-sdk/client-dynamodb';
import { build } from '../../console/build.mjs';
import { Console, musicTable } from './harness.mjs';

const dist = fileURLToPath(new URL('../../console/dist', import.meta.url));

let it;
before(async () => {
  it = await Console.start();
});
after(() => it?.stop());
afterEach(() => it.closePages());

test('chromium and playwright-core work together', async () => {
  const page = await it.open();
  assert.equal(await page.title(), 'Overview · Stator');
  assert.match(await page.locator('h1').innerText(), /Overview/);
});

test('the files in the binary are those that the sources make, within their budgets', async () => {
  // build() fails above the budgets.
  const outdir = fs.mkdtempSync(path.join(os.tmpdir(), 'console-dist-'));
  try {
    const { files } = await build({ outdir, quiet: true });
    for (const { path: name, etag, immutable } of files) {
      if (immutable) assert.match(name, /^assets\/.+-[A-Z0-9]{8}\.(js|css)$/);
      const reply = await fetch(`${it.origin}/console/${immutable ? name : ''}`);
      assert.equal(reply.headers.get('etag'), `"${etag}"`, `${name}: run npm run build in console/`);
      assert.deepEqual(
        Buffer.from(await reply.arrayBuffer()),
        fs.readFileSync(path.join(outdir, name)),
      );
    }
    const kept = fs.readdirSync(path.join(dist, 'assets')).sort();
    assert.deepEqual(kept, fs.readdirSync(path.join(outdir, 'assets')).sort());
    assert.equal(
      fs.readFileSync(path.join(dist, 'manifest.json'), 'utf8'),
      fs.readFileSync(path.join(outdir, 'manifest.json'), 'utf8'),
    );
  } finally {
    fs.rmSync(outdir, { recursive: true });
  }
});

test('an empty server offers a table, a sample, and how to connect', async () => {
  const page = await it.open();
  await page.getByRole('heading', { name: 'This server has no tables yet' }).waitFor();
  await page.getByRole('button', { name: 'Load the music sample' }).click();
  await page.getByRole('grid', { name: 'Items of music' }).waitFor();
  const { Table } = await it.client.send(new DescribeTableCommand({ TableName: 'music' }));
  assert.equal(Table.TableStatus, 'ACTIVE');
});

test('a table is created by keyboard alone, and deleted only when its name is typed', async () => {
  const page = await it.open('tables');
  await page.keyboard.press('n');
  await page.getByRole('textbox', { name: 'Name', exact: true }).focus();
  await page.keyboard.type('orders');
  await page.getByRole('textbox', { name: 'Partition key' }).focus();
  await page.keyboard.type('customer');
  await page.getByRole('button', { name: 'Create the table' }).or(page.getByRole('button', { name: 'Create', exact: true })).first().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'orders', level: 1 }).waitFor();
  const { TableNames } = await it.client.send(new ListTablesCommand({}));
  assert.deepEqual(TableNames, ['music', 'orders']);

  await page.goto(it.url('tables'));
  await page.getByRole('button', { name: 'Actions for music' }).click();
  await page.getByRole('menuitem', { name: 'Delete the table…' }).click();
  const confirm = page.getByRole('button', { name: 'Delete the table' });
  assert.ok(await confirm.isDisabled());
  await page.getByLabel('Type music to confirm').fill('music');
  await confirm.click();
  await page.getByText('Table music was deleted').first().waitFor();
  const left = await it.client.send(new ListTablesCommand({}));
  assert.deepEqual(left.TableNames, ['orders']);
});

test('the palette leads to pages, tables and keys; letters lead to pages', async () => {
  await it.client.send(new CreateTableCommand(musicTable));
  const page = await it.open();
  await page.getByRole('link', { name: 'music' }).first().waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').waitFor();
  await page.keyboard.type('music Nina Simone');
  await page.getByRole('option', { name: /Nina Simone/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'music', level: 1 }).waitFor();
  assert.match(page.url(), /pk=Nina\+Simone/);
  await page.getByRole('heading', { name: /No item/ }).waitFor();
  await page.locator('main').focus();
  await page.keyboard.press('g');
  await page.keyboard.press('p');
  await page.getByRole('heading', { name: 'PartiQL', level: 1 }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'music', level: 1 }).waitFor();
});

test('names full of markup are text', async () => {
  const page = await it.open('tables/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E/items');
  await page.getByRole('heading', { name: /There is no table|ValidationException/ }).or(page.getByText('ValidationException')).first().waitFor();
  assert.equal(await page.locator('main img').count(), 0);
});

test('every file has the headers that confine the page', async () => {
  const reply = await fetch(`${it.origin}/console/`);
  const policy = reply.headers.get('content-security-policy');
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /require-trusted-types-for 'script'/);
  assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
  assert.equal((await fetch(`${it.origin}/console/assets/none.js`)).status, 404);
  assert.equal((await fetch(`${it.origin}/console/..%2f..%2fpackage.json`, { redirect: 'manual' })).status, 302);
  const root = await fetch(`${it.origin}/`, { headers: { Accept: 'text/html' }, redirect: 'manual' });
  assert.equal(root.headers.get('location'), 'console/');
});

test('a server that is away is told, and the page goes on when it is back', async () => {
  const own = await Console.start();
  try {
    const page = await own.open();
    await page.getByRole('heading', { name: 'This server has no tables yet' }).waitFor();
    await page.route('**/_stator/**', (route) => route.abort());
    await page.getByText('The server does not answer').waitFor();
    await page.unroute('**/_stator/**');
    await page.getByText('The server does not answer').waitFor({ state: 'detached' });
    page.problems.length = 0;
  } finally {
    await own.stop();
  }
});
