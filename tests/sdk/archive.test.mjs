// examples/archive runs as it is, and the archive has each expired message once, also if the server is killed meanwhile.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

import { Server, isStator, onCluster } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT && !onCluster;
const example = new URL('../../examples/archive/', import.meta.url).pathname;
const run = async (script, ...args) => (await promisify(execFile)('python3', [path.join(example, script), ...args])).stdout;

test('expired messages are archived, and those that users delete are not', { skip: own ? false : 'needs a server of its own' }, async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-archive-'));
  const settings = fs.readFileSync(path.join(example, 'stator.toml'), 'utf8');
  const directory = path.join(folder, 'archive');
  fs.writeFileSync(path.join(folder, 'stator.toml'), settings.replace('/tmp/stator-archive', directory).replace('in-memory = true', ''));
  const server = await Server.start({ args: [`--config=${folder}/stator.toml`] });
  try {
    assert.equal(await run('messages.py', '--endpoint', server.endpoint), '1200 messages written, 120 deleted by users, 0 left in the table\n');
    assert.equal(await run('analyse.py', directory),
      'general: 240\nhelp: 240\nmusic: 300\nrandom: 300\n1080 messages expired on 30 days, from 2026-02-01 to 2026-03-02\n');
  } finally {
    await server.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
