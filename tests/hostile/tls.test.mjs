// Clients that do wrong in TLS: handshakes that are begun and left, many at once, noise in their place, and readers that stop. The
// judge reads over the plain port meanwhile, and an honest client over TLS.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import tls from 'node:tls';

import { binary, call, request, Server, signedHeaders } from '../sdk/harness.mjs';
import { Judge, residentBytes, watchOf } from './judge.mjs';

const kMaxHandshakes = 64;
const kHandshakeMillis = 6000;  // an honest client on a busy machine needs seconds
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-tls-'));
const pathOf = (name) => path.join(directory, name);
let server, judge, port, ca;
before(async () => {
  execFileSync(binary, ['cert', '--out', directory]);
  ca = fs.readFileSync(pathOf('ca.pem'));
  server = await Server.startOne({
    args: ['--tls-port=0', `--tls-cert=${pathOf('server.pem')}`, `--tls-key=${pathOf('server.key')}`, `--tls-max-handshakes=${kMaxHandshakes}`,
      `--tls-handshake-timeout=${kHandshakeMillis}ms`, '--slow-client-timeout=2s'],
  });
  port = Number(await server.logged(/tls_port=(\d+)/));
  judge = await Judge.of(server);
});
after(async () => {
  judge.close();
  assert.equal((await server.stop()).code, 0, server.output);
  fs.rmSync(directory, { recursive: true, force: true });
});

const metric = async (name) => {
  const { text } = await request(server.endpoint, { method: 'GET', path: '/metrics' });
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
};
async function eventually(condition, what, millis = 60000) {
  const end = Date.now() + millis;
  while (!(await condition())) {
    assert.ok(Date.now() < end, what);
    await delay(20);
  }
}
// A connection that is opened, and what it sent first; errors are expected.
async function connect(bytes) {
  const socket = net.connect({ host: '127.0.0.1', port });
  socket.on('error', () => {});
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  if (bytes) socket.write(bytes);
  return socket;
}
// The first record that Node's client sends.
async function clientHello() {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const socket = tls.connect({ host: '127.0.0.1', port: listener.address().port, servername: 'localhost' });
  socket.on('error', () => {});
  const [peer] = await once(listener, 'connection');
  const [hello] = await once(peer, 'data');
  socket.destroy();
  peer.destroy();
  listener.close();
  return hello;
}
// A request over a TLS connection of its own; returns {status, millis}.
function honest() {
  const watch = watchOf(server);
  return new Promise((resolve, reject) => {
    https.get({ host: 'localhost', port, path: '/health/ready', ca, agent: false, timeout: 60000 }, (reply) => {
      reply.resume();
      reply.on('end', () => resolve({ status: reply.statusCode, millis: watch.millis }));
    }).on('error', reject);
  });
}

describe('handshakes that are not finished', () => {
  for (const [what, bytes] of [['nothing', async () => null], ['half a ClientHello', async () => (await clientHello()).subarray(0, 60)],
    ['a ClientHello and no more', clientHello]]) {
    test(`500 of them with ${what} hold nothing of others`, async () => {
      const first = await bytes();
      // Those of the judge, and the one that asks.
      const before = { connections: await metric('stator_connections'), crowded: await metric('stator_tls_handshakes_crowded_out') };
      const sockets = [];
      await judge.watch(async () => {
        const began = performance.now();
        for (let i = 0; i < 500; i++) {
          sockets.push(await connect(first));
          if (i % 50 === 49) {
            const { status, millis } = await honest();
            assert.equal(status, 200);
            assert.ok(millis < 10000, `an honest handshake took ${millis} ms`);
          }
        }
        const took = performance.now() - began;
        await eventually(async () => await metric('stator_connections') <= before.connections + kMaxHandshakes, 'the oldest are closed');
        // Where this took longer, some have ended by the timeout.
        if (took >= kHandshakeMillis) return;
        assert.ok(await metric('stator_tls_handshakes_crowded_out') >= before.crowded + 500 - kMaxHandshakes);
      });
      assert.ok(judge.verdict.peakBytes < 400 << 20, `${judge.verdict.peakBytes >> 20} MB`);
      // The rest ends by the timeout.
      await eventually(async () => await metric('stator_connections') <= before.connections, 'all are closed');
      for (const socket of sockets) socket.destroy();
    });
  }

  test('one byte after the other does not prolong it', async () => {
    const hello = await clientHello();
    const socket = await connect();
    const watch = watchOf(server);
    let ended = false;
    socket.on('close', () => { ended = true; });
    for (let i = 0; !ended && i < hello.length; i++) {
      socket.write(hello.subarray(i, i + 1));
      await delay(50);
    }
    assert.ok(ended, 'the server closes');
    assert.ok(watch.millis < kHandshakeMillis + 3000);
  });
});

test('noise in place of handshakes ends its connection only', async () => {
  const hello = await clientHello();
  const before = await metric('stator_connections');
  await judge.watch(async () => {
    for (let i = 0; i < 400; i++) {
      let bytes = Buffer.from(hello);
      if (i % 4 === 0) bytes = crypto.randomBytes(1 + i * 7);
      else if (i % 4 === 1) bytes[5 + crypto.randomInt(bytes.length - 5)] ^= 1 << (i % 8);
      else if (i % 4 === 2) bytes = Buffer.concat([bytes.subarray(0, crypto.randomInt(1, bytes.length)), crypto.randomBytes(400)]);
      else bytes = Buffer.concat([Buffer.from([0x16, 3, 1, 0x40, 0, 1, 1, 0xff, 0xff]), Buffer.alloc(200000)]);  // announces 128 KB
      const socket = await connect(bytes);
      socket.end();
      if (i % 50 === 49) assert.equal((await honest()).status, 200);
    }
  });
  await eventually(async () => await metric('stator_connections') <= before, 'all are closed');
});

test('handshakes at full speed leave others their turn', async () => {
  await judge.watch(async () => {
    const end = Date.now() + 3000, last = end + 60000;
    let done = 0;
    await Promise.all(Array.from({ length: 32 }, async () => {
      while (Date.now() < (done > 100 ? end : last)) {
        const socket = tls.connect({ host: 'localhost', port, ca });
        socket.on('secureConnect', () => { done++; socket.destroy(); });
        socket.on('error', () => {});  // it was too slow
        await once(socket, 'close');
      }
    }));
    assert.ok(done > 100, `${done} handshakes`);
  });
});

test('a reader that stops over TLS is disconnected, and its replies are given back', async () => {
  const TableName = 'large';
  await call(server.endpoint, 'CreateTable', {
    TableName, BillingMode: 'PAY_PER_REQUEST', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  });
  for (let i = 0; i < 3; i++)
    assert.equal((await call(server.endpoint, 'PutItem', { TableName, Item: { pk: { S: `k${i}` }, v: { S: 'x'.repeat(390000) } } })).status, 200);
  const scan = JSON.stringify({ TableName });
  const bytes = `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${scan.length}\r\n${
    Object.entries(signedHeaders('Scan')).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${scan}`;
  await judge.watch(async () => {
    const slow = await metric('stator_connections_slow');
    const sockets = await Promise.all(Array.from({ length: 20 }, async () => {
      const socket = tls.connect({ host: 'localhost', port, ca, highWaterMark: 1024 });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      socket.pause();
      for (let i = 0; i < 40; i++) socket.write(bytes);
      return socket;
    }));
    await eventually(async () => await metric('stator_connections_slow') >= slow + 20, 'they are disconnected');
    for (const socket of sockets) socket.destroy();
  });
  assert.ok(residentBytes(server) < 400 << 20);
});
