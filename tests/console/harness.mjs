// A Stator server with its console, and a browser. A page that breaks its content
// security policy, throws, or asks another host fails the test that opened it.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { CreateTableCommand, DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { chromium } from 'playwright-core';
import { Server } from '../sdk/harness.mjs';

// Debian's chromium is newer or older than the one that playwright-core was made for; the first test
// of frame.test.mjs says whether the pair works.
export const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';

// How long a test waits for a state of the page or of the server.
const kStateMillis = 60_000;

export class Console {
  // `credentials`: of the client, on a server that verifies signatures.
  static async start({ args = [], env = {}, credentials, throttling = 'enforce', browser = true, readyWithin, engine = 'memory' } = {}) {
    const one = new Console();
    one.server = await Server.start({
      args: [`--engine=${engine}`, `--throttling=${throttling}`, '--log-level=error', ...args],
      env,
      ...(readyWithin && { readyWithin }),
    });
    one.client = new DynamoDBClient({
      endpoint: one.server.endpoint,
      region: 'us-east-1',
      credentials: credentials ?? { accessKeyId: 'any', secretAccessKey: 'any' },
      maxAttempts: 1,
    });
    one.pages = [];
    if (!browser) return one;
    one.browser = await chromium.launch({
      executablePath: chromiumPath,
      // Whatever is not this machine is nowhere.
      args: [
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
      ],
    });
    return one;
  }

  get origin() {
    return new URL(this.server.endpoint).origin;
  }

  url(address) {
    return `${this.origin}/console/#/${address}`;
  }

  // A page of its own context. `problems` collects what it must not do.
  async open(address = 'overview', { width = 1280, height = 800, theme = 'light', settings = {}, settled = true } = {}) {
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      reducedMotion: 'reduce',
      acceptDownloads: true,
    });
    await context.addInitScript((all) => {
      for (const [name, value] of Object.entries(all))
        localStorage.setItem(`stator.${name}`, JSON.stringify(value));
    }, settings);
    if (process.env.CONSOLE_DIST) await this.serveFiles(context, process.env.CONSOLE_DIST);
    // A state that does not come fails the test; a machine that is busy does not.
    context.setDefaultTimeout(kStateMillis);
    const page = await context.newPage();
    page.problems = [];
    page.underWay = new Set();
    page.on('request', (request) => page.underWay.add(request));
    for (const over of ['requestfinished', 'requestfailed']) page.on(over, (request) => page.underWay.delete(request));
    page.on('pageerror', (error) => page.problems.push(`threw: ${error.stack}`));
    page.on('console', (message) => {
      // Replies of 4xx are told on the page; the browser notes them as well.
      if (message.type() === 'error' && !/the server responded with a status of 4/.test(message.text()))
        page.problems.push(`console: ${message.text()}`);
    });
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol.startsWith('http') && origin !== this.origin)
        page.problems.push(`asked ${request.url()}`);
    });
    await page.goto(this.url(address));
    if (settled) await page.locator('main .loading').first().waitFor({ state: 'detached' });
    this.pages.push(page);
    return page;
  }

  // The JSON of a management call.
  async manage(path, init = {}) {
    const reply = await fetch(`${this.origin}/_stator/${path}`, { headers: { 'X-Stator-Management': 'true' }, ...init });
    return reply.json();
  }

  // Gives the page the files of a folder in place of those in the binary, with the binary's headers:
  // for work on the console without building the server.
  async serveFiles(context, folder) {
    const { headers } = await fetch(`${this.origin}/console/`);
    const policy = headers.get('content-security-policy');
    const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
    await context.route(`${this.origin}/console/**`, (route) => {
      const name = new URL(route.request().url()).pathname.slice('/console/'.length) || 'index.html';
      const body = fs.readFileSync(path.join(folder, name));
      return route.fulfill({
        body,
        contentType: types[path.extname(name)],
        headers: { 'content-security-policy': policy, 'x-content-type-options': 'nosniff' },
      });
    });
  }

  // Fails if a page did what it must not do; closes all pages.
  async closePages() {
    const problems = this.pages.flatMap((page) => page.problems);
    for (const page of this.pages) await page.context().close();
    this.pages = [];
    assert.deepEqual(problems, []);
  }

  async stop() {
    await this.browser?.close();
    await this.server?.stop();
  }
}

// Waits until `probe` resolves to something true, and returns it.
export async function until(what, probe) {
  const end = Date.now() + kStateMillis;
  for (let last; ; ) {
    last = await probe();
    if (last) return last;
    assert.ok(Date.now() < end, `${what}: not so within ${kStateMillis} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// Waits until the page shows what it asked the server for: nothing loads, no request is under way,
// and what came is drawn.
export async function settled(page) {
  await until('the page is settled', async () => {
    if (page.underWay.size > 0 || (await page.locator('main .loading').count()) > 0) return false;
    await drawn(page);
    return page.underWay.size === 0;
  });
}

// Waits until what the page has received is drawn.
export const drawn = (page) =>
  page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

// No violation of WCAG 2.2 AA that axe can find.
export async function assertAccessible(page, what) {
  const { violations } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    .analyze();
  assert.deepEqual(
    violations.map((one) => `${what}: ${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`),
    [],
  );
}

// Makes the table "votes", by `candidate`, with 5 read and 5 write units, and writes the item of alice, of about `bytes`,
// every `millis`: one key beyond what the table has. Returns a function that ends the load.
export async function heatVotes(client, { bytes, millis }) {
  await client.send(
    new CreateTableCommand({
      TableName: 'votes',
      ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 },
      KeySchema: [{ AttributeName: 'candidate', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'candidate', AttributeType: 'S' }],
    }),
  );
  const item = { candidate: { S: 'alice' }, text: { S: 'x'.repeat(bytes) } };
  let stopped = false;
  const load = (async () => {
    while (!stopped) {
      await client.send(new PutItemCommand({ TableName: 'votes', Item: item })).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, millis));
    }
  })();
  return () => {
    stopped = true;
    return load;
  };
}

export const musicTable = {
  ...JSON.parse(fs.readFileSync(new URL('../../console/test/music.json', import.meta.url), 'utf8')),
  BillingMode: 'PAY_PER_REQUEST',
};

export const itemAddress = (table, ...key) =>
  `tables/${table}/items?item=${encodeURIComponent(JSON.stringify(key))}`;

