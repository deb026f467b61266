// The crash driver as a test: STATOR_CRASH_ROUNDS kills (50) with fsync and as many with the page cache, seeds printed.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { crash } from './crash.mjs';

const rounds = Number(process.env.STATOR_CRASH_ROUNDS ?? 50);
for (const durability of ['fsync', 'os']) {
  test(`${rounds} kills with --durability=${durability}`, { skip: process.env.STATOR_ENDPOINT && 'the server is not ours to kill', timeout: 300000 }, async (context) => {
    const seed = Number(process.env.STATOR_CRASH_SEED ?? Math.floor(Math.random() * 2 ** 32));
    context.diagnostic(`seed ${seed}`);
    const result = await crash({ rounds, seed, durability });
    context.diagnostic(JSON.stringify(result));
    assert.ok(result.acknowledged > rounds * 10, 'hardly any load');
    assert.ok(result.undecided > 0, 'no kill hit a request');
  });
}
