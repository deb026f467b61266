// The crash driver as a test: STATOR_CRASH_ROUNDS kills (50) with fsync, as many with the page cache, and half of them on an
// encrypted store whose key changes; seeds printed.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { crash } from './crash.mjs';

const all = Number(process.env.STATOR_CRASH_ROUNDS ?? 50);
const cases = [
  { durability: 'fsync', rounds: all },
  { durability: 'os', rounds: all },
  { durability: 'fsync', rounds: Math.ceil(all / 2), encrypted: true },
];
for (const { durability, rounds, encrypted = false } of cases) {
  const name = `${rounds} kills with --durability=${durability}${encrypted ? ', encrypted' : ''}`;
  const onCluster = encrypted && process.env.STATOR_CLUSTER_CONF && 'a cluster encrypts its own disks';
  const skip = (process.env.STATOR_ENDPOINT && 'the server is not ours to kill') || onCluster;
  test(name, { skip, timeout: 900000 }, async (context) => {
    const seed = Number(process.env.STATOR_CRASH_SEED ?? Math.floor(Math.random() * 2 ** 32));
    context.diagnostic(`seed ${seed}`);
    const result = await crash({ rounds, seed, durability, encrypted });
    context.diagnostic(JSON.stringify(result));
    assert.ok(result.acknowledged > rounds * 10, 'hardly any load');
    assert.ok(result.undecided > 0, 'no kill hit a request');
  });
}
