// TLS: certificates of `stator cert`, the SDK and curl over https, TLS alone on the port, and a certificate that changes.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { NodeHttpHandler } from '@smithy/node-http-handler';

import { S, clientFor, operationsOf } from './clients.mjs';
import { Server, binary, isStator, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-tls-'));
const pathOf = (...names) => path.join(directory, ...names);

// Runs a program to its end; returns {code, out, error}.
const run = (program, args, options = {}) => new Promise((resolve) => {
  execFile(program, args, { timeout: 60000, ...options }, (failure, out, error) => resolve({ code: failure ? failure.code ?? failure.signal : 0, out, error }));
});
async function makeCertificate(...args) {
  const made = await run(binary, ['cert', ...args]);
  assert.equal(made.code, 0, made.error);
  return made.out;
}
async function eventually(condition, what, millis = 60000) {
  const end = Date.now() + millis;
  while (!(await condition())) {
    assert.ok(Date.now() < end, what);
    await delay(20);
  }
}
const tlsPortOf = async (server) => Number(await server.logged(/tls_port=(\d+)/));
const secure = (port, ca) => clientFor(`https://localhost:${port}`, { requestHandler: new NodeHttpHandler({ httpsAgent: new https.Agent({ ca, keepAlive: true }) }) });

describe('TLS beside the plain port', { skip: own ? false : 'needs a server of its own' }, () => {
  const TableName = 'tls';
  let server, port, ca;
  before(async () => {
    const said = await makeCertificate('--out', pathOf('one'));
    assert.match(said, /AWS_CA_BUNDLE=\S+\/one\/ca\.pem/);
    ca = fs.readFileSync(pathOf('one', 'ca.pem'));
    server = await Server.startOne({ args: ['--tls-port=0', `--tls-cert=${pathOf('one', 'server.pem')}`, `--tls-key=${pathOf('one', 'server.key')}`] });
    port = await tlsPortOf(server);
  });
  after(async () => {
    assert.equal((await server.stop()).code, 0, server.output);
    fs.rmSync(directory, { recursive: true, force: true });
  });

  test('serves the SDK as the plain port does', async () => {
    const client = secure(port, ca);
    const ddb = operationsOf(client);
    await ddb.CreateTable({
      TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    // Replies and requests of many records.
    const large = 'x'.repeat(390000);
    for (let i = 0; i < 8; i++) await ddb.PutItem({ TableName, Item: { pk: S(`item-${i}`), v: S(large) } });
    const page = await ddb.Scan({ TableName });
    assert.equal(page.Items.length, 3, 'a page of 1 MB');
    assert.ok(page.Items.every((item) => item.v.S === large));
    await Promise.all(Array.from({ length: 200 }, (_, i) => ddb.PutItem({ TableName, Item: { pk: S(`small-${i}`) } })));
    const plain = clientFor(server.endpoint);
    assert.deepEqual((await operationsOf(plain).GetItem({ TableName, Key: { pk: S('small-7') } })).Item, { pk: S('small-7') });
    plain.destroy();
    client.destroy();
  });

  test('is trusted through NODE_EXTRA_CA_CERTS, and not without', async () => {
    const text = `import { DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb';
      const client = new DynamoDBClient({ endpoint: 'https://127.0.0.1:${port}', region: 'us-east-1', maxAttempts: 1,
        credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' } });
      console.log((await client.send(new ListTablesCommand({}))).TableNames.join());`;
    const options = { cwd: path.dirname(fileURLToPath(import.meta.url)) };
    const trusted = await run(process.execPath, ['--input-type=module', '-e', text], { ...options, env: { ...process.env, NODE_EXTRA_CA_CERTS: pathOf('one', 'ca.pem') } });
    assert.equal(trusted.code, 0, trusted.error);
    assert.equal(trusted.out.trim(), TableName);
    const untrusted = await run(process.execPath, ['--input-type=module', '-e', text], options);
    assert.notEqual(untrusted.code, 0);
    assert.match(untrusted.error, /UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED/);
  });

  for (const version of ['1.2', '1.3']) {
    test(`serves curl with TLS ${version}`, async () => {
      const asked = await run('curl', ['-sS', '--cacert', pathOf('one', 'ca.pem'), `--tlsv${version}`, '--tls-max', version,
        '-w', '%{http_code} %{http_version} %{ssl_verify_result}', `https://localhost:${port}/health/ready`]);
      assert.equal(asked.error, '');
      assert.equal(asked.out, 'ready\n200 1.1 0');
    });
  }
  test('refuses curl with TLS 1.1, and a client that wants HTTP/2 only', async () => {
    const old = await run('curl', ['-sS', '--cacert', pathOf('one', 'ca.pem'), '--ciphers', 'DEFAULT@SECLEVEL=0', '--tls-max', '1.1', `https://localhost:${port}/`]);
    assert.notEqual(old.code, 0);
    const socket = tls.connect({ host: 'localhost', port, ca, ALPNProtocols: ['h2'] });
    const [error] = await once(socket, 'error');
    assert.match(String(error), /no application protocol/i);
  });

  test('tells a plain client of the TLS port to use https', async () => {
    const reply = await request(`http://127.0.0.1:${port}`, { method: 'GET', path: '/health/ready' });
    assert.equal(reply.status, 400);
    assert.equal(reply.json().message, 'This port speaks TLS: use https://');
    const check = (...flags) => run(binary, ['healthcheck', `--port=${port}`, ...flags]);
    assert.deepEqual(await check('--tls'), { code: 0, out: 'ready\n', error: '' });
    assert.equal((await check()).code, 1);
    assert.equal((await run(binary, ['healthcheck', `--port=${server.port}`, '--tls'])).code, 1);
  });

  test('takes a new certificate without closing connections, and keeps the old one if the new one is broken', async () => {
    const agent = new https.Agent({ ca, keepAlive: true, maxSockets: 1 });
    const ask = (options) => new Promise((resolve, reject) => {
      https.get({ host: 'localhost', port, path: '/health/ready', ...options }, (reply) => {
        reply.resume();
        reply.on('end', () => resolve(reply.statusCode));
      }).on('error', reject);
    });
    const fingerprint = async () => {
      const socket = tls.connect({ host: 'localhost', port, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { fingerprint256 } = socket.getPeerCertificate();
      socket.destroy();
      return fingerprint256;
    };
    assert.equal(await ask({ agent }), 200);
    const [kept] = Object.values(agent.freeSockets).flat();
    const first = await fingerprint();

    // Found by looking at the files every few seconds.
    await makeCertificate('--out', pathOf('two'), '--ca', pathOf('one'));
    for (const name of ['server.key', 'server.pem']) fs.copyFileSync(pathOf('two', name), pathOf('one', name));
    await eventually(async () => (await fingerprint()) !== first, 'the new certificate is in use');
    const second = await fingerprint();

    // A key that does not belong to it, at SIGHUP.
    await makeCertificate('--out', pathOf('three'), '--ca', pathOf('one'));
    const warnings = () => server.output.split('tls_certificate_not_loaded').length - 1;
    const before = warnings();
    fs.copyFileSync(pathOf('three', 'server.key'), pathOf('one', 'server.key'));
    server.child.kill('SIGHUP');
    await eventually(() => warnings() > before, 'a warning');
    assert.equal(await fingerprint(), second);
    const logged = warnings();
    await delay(6000);
    assert.equal(warnings(), logged, 'a broken file is logged once');
    fs.copyFileSync(pathOf('three', 'server.pem'), pathOf('one', 'server.pem'));
    server.child.kill('SIGHUP');
    await eventually(async () => (await fingerprint()) !== second, 'the third certificate is in use');

    // The connection of before is still open, on its first certificate.
    assert.equal(await ask({ agent }), 200);
    assert.deepEqual(Object.values(agent.freeSockets).flat(), [kept]);
    agent.destroy();
  });
});

describe('TLS alone', { skip: own ? false : 'needs a server of its own' }, () => {
  test('is on the main port, for clients with a certificate if there is a CA of clients', async () => {
    const at = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-mtls-'));
    const file = (...names) => path.join(at, ...names);
    await makeCertificate('--out', file('ca'), '--host', 'db.example');
    await makeCertificate('--out', file('client'), '--ca', file('ca'), '--client', 'app');
    const server = spawn(binary, ['serve', '--in-memory', '--port=0', `--tls-cert=${file('ca', 'server.pem')}`, `--tls-key=${file('ca', 'server.key')}`,
      `--tls-client-ca=${file('ca', 'ca.pem')}`], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [server.stdout, server.stderr]) stream.on('data', (chunk) => { output += chunk; });
    const exited = once(server, 'exit');
    try {
      await eventually(() => /serving port=(\d+)/.test(output), `it serves:\n${output}`);
      const port = Number(/serving port=(\d+)/.exec(output)[1]);
      const url = `https://localhost:${port}/health/ready`;
      const known = await run('curl', ['-sS', '--cacert', file('ca', 'ca.pem'), '--cert', file('client', 'client.pem'), '--key', file('client', 'client.key'), url]);
      assert.equal(known.out, 'ready\n', known.error);
      const unknown = await run('curl', ['-sS', '--cacert', file('ca', 'ca.pem'), url]);
      assert.notEqual(unknown.code, 0);
      const named = await run('curl', ['-sS', '--cacert', file('ca', 'ca.pem'), '--cert', file('client', 'client.pem'), '--key', file('client', 'client.key'),
        '--connect-to', `db.example:${port}:127.0.0.1:${port}`, `https://db.example:${port}/health/ready`]);
      assert.equal(named.out, 'ready\n', named.error);
    } finally {
      server.kill('SIGTERM');
      assert.equal((await exited)[0], 0, output);
      fs.rmSync(at, { recursive: true, force: true });
    }
  });

  test('a certificate that cannot be used ends the start with a sentence', async () => {
    const missing = await run(binary, ['serve', '--in-memory', '--port=0', '--tls-cert=/nowhere/server.pem', '--tls-key=/nowhere/server.key']);
    assert.equal(missing.code, 1);
    assert.match(missing.error, /cannot use the certificate \/nowhere\/server\.pem: No such file or directory/);
    const half = await run(binary, ['serve', '--in-memory', '--port=0', '--tls-cert=/nowhere/server.pem']);
    assert.equal(half.code, 1);
    assert.match(half.error, /--tls-cert and --tls-key belong together/);
    const alone = await run(binary, ['serve', '--in-memory', '--port=0', '--tls-port=9000']);
    assert.equal(alone.code, 1);
    assert.match(alone.error, /--tls-port needs --tls-cert and --tls-key/);
  });
});
