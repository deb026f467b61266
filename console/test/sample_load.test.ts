// The sample load: how much it asks for, how it ends.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  kVotesPerSecond,
  SampleLoad,
  suffixesIn,
  suffixItem,
  voteItems,
} from '../src/model/sample_load.ts';

// A load on a clock that moves on by what is waited for.
function loadOf(
  send: (candidate: string, first: boolean) => Promise<number>,
  seconds = 10,
  late = 0,
) {
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

test('the cure writes as much to as many keys as the server advises, and can be undone', async () => {
  const advice = ['Spread it over 12 suffixes, "alice.1" to "alice.12". 12 for its 1,600 write'];
  assert.equal(suffixesIn(advice), 12);
  assert.equal(suffixesIn(['Divide the item into 7 shards, "a.1" to "a.7", and add them up']), 7);
  assert.equal(suffixesIn(['Cache what is hot.']), null);
  const size = (item: unknown) => JSON.stringify(item).length;
  assert.ok(Math.abs(size(suffixItem('alice.12')) - size(voteItems()[0])) < 10);
  const votes: string[] = [];
  const firsts: string[] = [];
  const load: SampleLoad = loadOf(async (name, first) => {
    votes.push(name);
    if (first) firsts.push(name);
    if (votes.length === 40) load.spreadOver(12);
    if (votes.length === 100) load.spreadOver(1);
    if (votes.length > 40 && votes.length < 60) throw 'throttled';
    return 200;
  });
  const progress = await load.run();
  const late = votes.slice(44, 96).filter((name) => name.startsWith('alice'));
  assert.equal(new Set(late).size, 12);
  assert.ok(late.every((name) => /^alice\.\d+$/.test(name)));
  // Each item is written with its first vote, again if that was throttled, and not all at once.
  assert.deepEqual(new Set(firsts), new Set(late));
  assert.ok(votes.slice(104).includes('alice'));
  // What came of it is counted from the last change on.
  assert.equal(progress.failed, 19);
  assert.equal(progress.since?.failed, 0);
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

test('a page that hesitates asks for no more in a second than at other times', async () => {
  let at = 0;
  const times: number[] = [];
  await new SampleLoad({
    seconds: 20,
    send: async (name) => {
      if (name === 'alice') times.push(at);
      return 200;
    },
    isThrottled: () => false,
    report: () => {},
    wait: async (ms) => {
      at += times.length % 20 === 7 ? 700 : ms;
    },
    now: () => at,
  }).run();
  assert.ok(times.length > 60, `${times.length}`);
  const most = Math.max(
    ...times.map((from) => times.filter((one) => one >= from && one < from + 900).length),
  );
  assert.equal(most, 8);
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
