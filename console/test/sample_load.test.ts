// The sample load: how much it asks for, how it ends.
import assert from 'node:assert/strict';
import test from 'node:test';
import { kVotesPerSecond, SampleLoad, voteItems } from '../src/model/sample_load.ts';

// A load on a clock that moves on by what is waited for.
function loadOf(send: (candidate: string) => Promise<number>, seconds = 10, late = 0) {
  let at = 0;
  const load = new SampleLoad({
    seconds,
    send,
    isThrottled: (error) => error === 'throttled',
    report: () => {},
    wait: async (ms) => {
      at += Math.max(ms, late);
    },
    now: () => at,
  });
  return load;
}

test('one candidate has more votes than a partition can take, the others share the rest', async () => {
  const votes = new Map<string, number>();
  const progress = await loadOf(async (name) => {
    votes.set(name, (votes.get(name) ?? 0) + 1);
    return 7;
  }, 20).run();
  assert.equal(progress.state, 'done');
  assert.equal(progress.done, 20 * kVotesPerSecond);
  assert.equal(progress.units, progress.done * 7);
  assert.equal(votes.get('alice'), 20 * 8);
  assert.equal(votes.size, voteItems().length);
});

test('a vote for alice costs 200 units, another 20', () => {
  for (const item of voteItems()) {
    const units = Math.ceil((JSON.stringify(item).length - 40) / 1024);
    assert.equal(units, JSON.stringify(item.candidate).includes('alice') ? 200 : 20);
  }
});

test('a page that slept does not catch up on all that it has missed', async () => {
  let votes = 0;
  const load = loadOf(
    async () => {
      ++votes;
      return 7;
    },
    600,
    60_000,
  );
  await load.run();
  assert.equal(votes, 10 * 12);
});

test('throttled votes are counted, and another error ends it', async () => {
  let votes = 0;
  const load = loadOf(async () => {
    if (++votes % 2 === 0) throw 'throttled';
    if (votes > 99) throw new Error('gone');
    return 16;
  });
  await assert.rejects(load.run(), /gone/);
  assert.ok(votes < 200, `${votes}`);
});

test('it is stopped at once, and stands still while it is paused', async () => {
  let votes = 0;
  const load: SampleLoad = loadOf(async () => {
    if (++votes === 5) load.cancel();
    return 7;
  });
  assert.equal((await load.run()).state, 'stopped');
  assert.ok(votes <= 6, `${votes}`);
});
