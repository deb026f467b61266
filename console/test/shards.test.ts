import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bornAt, family, heirs, type Shard } from '../src/model/shards.ts';

const shard = (ShardId: string, parent?: string, ended = false): Shard => ({
  ShardId,
  ...(parent === undefined ? {} : { ParentShardId: parent }),
  SequenceNumberRange: {
    StartingSequenceNumber: '1',
    ...(ended ? { EndingSequenceNumber: '2' } : {}),
  },
});

test('children share their parent’s keys', () => {
  const leaves = family([shard('a', 'gone', true), shard('b', 'a'), shard('c', 'a'), shard('d')]);
  assert.deepEqual(
    leaves.map((one) => [one.shard.ShardId, one.open, one.depth, one.from, one.to]),
    [
      ['a', false, 0, 0, 0.5],
      ['b', true, 1, 0, 0.25],
      ['c', true, 1, 0.25, 0.5],
      ['d', true, 0, 0.5, 1],
    ],
  );
  assert.deepEqual(
    heirs([shard('b', 'a'), shard('c', 'a'), shard('d')], 'a').map((one) => one.ShardId),
    ['b', 'c'],
  );
});

test('a ring of parents ends', () => {
  assert.deepEqual(family([shard('a', 'b'), shard('b', 'a')]), []);
  assert.equal(family([shard('a', 'a')]).length, 1);
});

test('the name tells when a shard began', () => {
  assert.equal(bornAt(shard('shardId-00000001795601726729-0a1b2c3d')), 1795601726729);
  assert.ok(Number.isNaN(bornAt(shard('x'))));
});
