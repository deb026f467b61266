// The JavaScript sample of docs/samples.md runs as it is.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, rm } from 'node:fs/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { suite } from './clients.mjs';

const context = await suite();
context.tables.push('films');

test('the sample prints the film, also a second time', async () => {
  // Beside the SDK, so that the sample finds it.
  const copy = new URL(`.sample-${process.pid}.mjs`, import.meta.url).pathname;
  await copyFile(new URL('../../examples/clients/javascript/first.mjs', import.meta.url), copy);
  try {
    for (let i = 0; i < 2; i++) {
      const { stdout } = await promisify(execFile)(process.execPath, [copy], {
        env: { ...process.env, STATOR_ENDPOINT: context.endpoint },
      });
      assert.equal(stdout, 'Cléo de 5 à 7 1\n');
    }
  } finally {
    await rm(copy);
  }
});
