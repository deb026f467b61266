// Management calls on a port of their own, and switched off.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, test } from 'node:test';

import { clientFor, operationsOf } from './clients.mjs';
import { Server, binary, isStator, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const headers = { 'X-Stator-Management': 'true' };
const managed = ['/_stator/status', '/_stator/', '/metrics', '/health/live', '/health/ready', '/console/'];
const get = async (port, path) => (await request(`http://127.0.0.1:${port}`, { method: 'GET', path, headers })).status;

describe('management', { skip: own ? false : 'needs a server of its own' }, () => {
  test('has a port of its own, and then no other', async () => {
    // The harness waits for GET /, which every port answers.
    const server = await Server.startOne({ args: ['--management-port=0'], readyPath: '/' });
    try {
      const port = Number(await server.logged(/ management=(\d+)/));
      for (const path of managed) {
        assert.equal(await get(port, path), 200, path);
        assert.equal(await get(server.port, path), 404, path);
      }
      const reset = (on) => request(`http://127.0.0.1:${on}`, { path: '/_stator/reset', headers, body: '{}' });
      assert.equal((await reset(server.port)).status, 404);
      assert.equal((await reset(port)).status, 400);
      for (const on of [server.port, port]) {
        const client = clientFor(`http://127.0.0.1:${on}`);
        assert.deepEqual((await operationsOf(client).ListTables()).TableNames, []);
        client.destroy();
      }
      const check = (env) => new Promise((resolve) => {
        execFile(binary, ['healthcheck'], { env: { ...process.env, STATOR_PORT: String(server.port), ...env } }, (failure, out) => resolve(failure ? failure.code : out));
      });
      assert.equal(await check({ STATOR_MANAGEMENT_PORT: String(port) }), 'ready\n');
      assert.equal(await check({}), 1);
    } finally {
      assert.equal((await server.stop()).code, 0, server.output);
    }
  });

  test('is taken away, but for health', async () => {
    const server = await Server.startOne({ args: ['--management=off'] });
    try {
      for (const path of managed) assert.equal(await get(server.port, path), path.startsWith('/health/') ? 200 : 404, path);
      const client = clientFor(server.endpoint);
      assert.deepEqual((await operationsOf(client).ListTables()).TableNames, []);
      client.destroy();
    } finally {
      assert.equal((await server.stop()).code, 0, server.output);
    }
  });
});
