// Prints what the console takes: sizes, time to the first view, rows, heat. No test: machines differ.
//
//   node measure.mjs [rows of the large table, 100000]
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import { Console, musicTable } from './harness.mjs';

const kRows = Number(process.argv[2] ?? 100_000);
const dist = fileURLToPath(new URL('../../console/dist', import.meta.url));
const median = (all) => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)];
const print = (what, value) => console.log(`${what.padEnd(58)} ${value}`);

const manifest = JSON.parse(fs.readFileSync(path.join(dist, 'manifest.json'), 'utf8'));
const size = (files) =>
  files.reduce((sum, file) => sum + gzipSync(fs.readFileSync(path.join(dist, file.path)), { level: 9 }).length, 0);
print('all files, gzip', `${(size(manifest.files) / 1024).toFixed(1)} KB`);
print('first view, gzip', `${(size(manifest.files.filter((one) => one.firstView)) / 1024).toFixed(1)} KB`);

let it = await Console.start({ throttling: 'off' });
await it.client.send(new CreateTableCommand(musicTable));

// Loads the page in a fresh context, without a cache, and says when it was painted and when the
// table was there, in milliseconds.
const loads = [];
for (let i = 0; i < 9; ++i) {
  const context = await it.browser.newContext();
  if (process.env.CONSOLE_DIST) await it.serveFiles(context, process.env.CONSOLE_DIST);
  const page = await context.newPage();
  await page.addInitScript(() => {
    new MutationObserver(() => {
      if (document.querySelector('main a[href*="tables/music"]')) window.listed ??= performance.now();
    }).observe(document, { subtree: true, childList: true });
  });
  await page.goto(it.url('tables'));
  await page.waitForFunction(() => window.listed !== undefined);
  loads.push(
    await page.evaluate(() => ({
      paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
      listed: window.listed,
    })),
  );
  await context.close();
}
print('first contentful paint, median of 9', `${median(loads.map((one) => one.paint)).toFixed(0)} ms`);
print('tables listed, median of 9', `${median(loads.map((one) => one.listed)).toFixed(0)} ms`);

await it.stop();

// Rows: scrolled to the end. They come from a seed: the client makes no writes.
const seed = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-rows-'));
fs.writeFileSync(path.join(seed, 'music.table.json'), JSON.stringify(musicTable));
const lines = fs.openSync(path.join(seed, 'music.items.jsonl'), 'w');
for (let from = 0; from < kRows; from += 1000) {
  const some = Array.from({ length: Math.min(1000, kRows - from) }, (_, j) =>
    JSON.stringify({ Item: { artist: { S: `artist ${(from + j) % 997}` }, song: { S: `song ${from + j}` }, plays: { N: String(from) } } }),
  );
  fs.writeSync(lines, `${some.join('\n')}\n`);
}
fs.closeSync(lines);
it = await Console.start({ throttling: 'off', args: ['--init', seed], readyWithin: 300_000 });
fs.rmSync(seed, { recursive: true });
const page = await it.open('tables/music/items');
const grid = page.getByRole('grid', { name: 'Items of music' });
await grid.waitFor();
const cdp = await page.context().newCDPSession(page);
const heap = async () => {
  await cdp.send('HeapProfiler.collectGarbage');
  return (await cdp.send('Runtime.getHeapUsage')).usedSize / 2 ** 20;
};
const marks = [];
const started = Date.now();
for (let i = 0; !(await page.getByText('that is all').isVisible()); ++i) {
  await grid.evaluate((element) => {
    element.scrollTop = element.scrollHeight;
  });
  if (i % 200 === 0) marks.push(`${(await heap()).toFixed(0)}`);
}
print(`${kRows} rows scrolled to the end`, `${((Date.now() - started) / 1000).toFixed(1)} s`);
print('rows in the list', await page.getByText(`${kRows.toLocaleString('en-US')} items`).first().isVisible() ? kRows : 'other');
print('nodes in the document', await page.locator('*').count());
print('heap on the way, MB', marks.join(' '));
print('heap at the end, MB', (await heap()).toFixed(0));
await grid.evaluate((element) => {
  element.scrollTop = 0;
});
await page.keyboard.press('Control+Home').catch(() => {});

// Heat: 4,096 ranges by 180 columns, made up; what one new picture takes.
await page.route('**/_stator/tables/music/heat?*', (route) => {
  const ranges = 4096;
  const columns = 180;
  const hash = (n) => Math.floor(n).toString(16).padStart(3, '0').padEnd(16, '0');
  const series = () => Array.from({ length: columns }, () => Math.random());
  const zeros = Array(columns).fill(0);
  const rows = Array.from({ length: ranges }, (_, i) => ({
    from: { hash: hash(i) },
    to: i + 1 < ranges ? { hash: hash(i + 1) } : null,
    consumed: { read: zeros, write: zeros },
    refused: { read: zeros, write: i % 50 === 0 ? series() : zeros },
    heat: series(),
  }));
  const sums = { read: zeros, write: zeros };
  const resource = { type: 'table', name: 'music', from: new Date().toISOString(), columnSeconds: 1, columns, consumed: sums, refused: sums, ranges: rows };
  return route.fulfill({ json: { table: 'music', now: new Date().toISOString(), resources: [resource] } });
});
await page.evaluate(() => {
  window.draws = [];
  const set = CanvasRenderingContext2D.prototype.putImageData;
  const Image = window.ImageData;
  let began = 0;
  window.ImageData = function (...all) {
    began = performance.now();
    return new Image(...all);
  };
  CanvasRenderingContext2D.prototype.putImageData = function (...all) {
    set.apply(this, all);
    window.draws.push(performance.now() - began);
  };
});
await page.evaluate(() => {
  location.hash = '#/tables/music/heat?last=1h';
  dispatchEvent(new PopStateEvent('popstate'));
});
await page.waitForFunction(() => window.draws.length >= 5, null, { timeout: 120_000 });
print('heat of 4,096 ranges, one picture, median', `${median(await page.evaluate(() => window.draws)).toFixed(1)} ms`);
await it.stop();
