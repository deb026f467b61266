// The site of ./dev site in Debian's chromium, opened as files: search, menu, both colour schemes, a phone. The browser is
// offline, so a page that asks any host fails.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';
import { chromiumPath } from './harness.mjs';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };
let folder;
let browser;

before(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-site-'));
  execFileSync('node', [path.join(root, 'tools/site/site.mjs'), '--out', folder]);
  browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'] });
});
after(async () => {
  await browser?.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

async function open(page, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, offline: true, ...options });
  context.setDefaultTimeout(60_000);  // a machine that is busy fails no test
  const opened = await context.newPage();
  opened.problems = [];
  opened.on('pageerror', (error) => opened.problems.push(error.message));
  opened.on('request', (request) => {
    if (!/^(file|data):/.test(request.url())) opened.problems.push(`asks ${request.url()}`);
  });
  await opened.goto(pathToFileURL(path.join(folder, page)).href);
  return opened;
}

async function close(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}

test('the search finds a section by words of its text, and Enter goes there', async () => {
  const page = await open('docs/settings.html');
  await page.keyboard.press('/');
  await page.keyboard.type('linearizable just-in-time');
  await page.locator('#results a').first().waitFor();
  assert.match(await page.locator('#results').innerText(), /Testing › What each shows/);
  await page.keyboard.press('Enter');
  await page.waitForURL(/docs\/testing\.html#what-each-shows$/);
  await close(page);
});

test('the search leads from a page in a folder of its own, and says when nothing is found', async () => {
  const page = await open('docs/adr/index.html');
  await page.fill('#search', 'five minutes to a first item');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/index\.html#five-minutes-to-a-first-item$/);
  await page.fill('#search', 'qqqqq');
  assert.equal(await page.locator('#results').innerText(), 'Nothing has all of: qqqqq');
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#results').isVisible(), false);
  await close(page);
});

test('the button changes the scheme, and the next page keeps it', async () => {
  const page = await open('index.html', { colorScheme: 'light' });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await paper(), 'rgb(255, 255, 255)');
  await page.click('#scheme'); // light
  await page.click('#scheme'); // dark
  assert.equal(await paper(), 'rgb(20, 23, 27)');
  await page.click('#menu a[href$="limits.html"]');
  assert.equal(await paper(), 'rgb(20, 23, 27)');
  await close(page);
});

test('on a phone no page is wider than the screen, and the menu opens', async () => {
  const page = await open('index.html', phone);
  await page.click('#menu-button');
  assert.ok(await page.locator('#menu a[href="docs/limits.html"]').isVisible());
  const pages = fs.readdirSync(path.join(folder, 'docs')).filter((file) => file.endsWith('.html'));
  for (const file of pages) {
    await page.goto(pathToFileURL(path.join(folder, 'docs', file)).href);
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.equal(beyond, 0, file);
  }
  assert.ok(pages.length > 25);
  await close(page);
});

for (const colorScheme of ['light', 'dark']) {
  test(`colours and roles hold in the ${colorScheme} scheme`, async () => {
    for (const file of ['index.html', 'docs/testing.html', 'docs/differences.html']) {
      const page = await open(file, { colorScheme });
      await page.fill('#search', 'throttling');
      const { violations } = await new AxeBuilder({ page }).analyze();
      assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]), [], file);
      await close(page);
    }
  });
}
