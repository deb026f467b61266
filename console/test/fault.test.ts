import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asSent, inWords, kFaults, kKinds, kPresets, odds, wrongIn } from '../src/model/fault.ts';

test('odds are told as people count', () => {
  assert.equal(odds(1), 'every request');
  assert.equal(odds(0.1), 'about 1 of 10 requests');
  assert.equal(odds(0.75), 'about 8 of 10 requests');
});

test('a rule in words', () => {
  assert.equal(
    inWords({ fault: 'slow', delay: '2s', random: true, operations: ['PutItem'], count: 3 }),
    'every request, of PutItem, up to 2s, 3 times, then no more',
  );
  assert.equal(
    inWords({ fault: 'unprocessed', share: 0.25, probability: 0.5 }),
    'about 1 of 2 requests, 25% left undone',
  );
});

test('every preset can be sent, and every kind is known', () => {
  for (const preset of kPresets)
    for (const rule of preset.rules) assert.deepEqual(wrongIn(rule), {}, preset.name);
  for (const kind of kFaults) assert.ok(kKinds[kind].operations.length > 0);
});

test('what is wrong is told by setting', () => {
  assert.deepEqual(Object.keys(wrongIn({ fault: 'stale-read' })), ['age']);
  assert.deepEqual(Object.keys(wrongIn({ fault: 'slow', delay: '2x', count: 0, probability: 0 })), [
    'probability',
    'count',
    'delay',
  ]);
  assert.deepEqual(Object.keys(wrongIn({ fault: 'unprocessed', share: 2 })), ['share']);
});

test('counts of the server are not sent back', () => {
  assert.deepEqual(asSent({ fault: 'throttle', asked: 3, struck: 1, seed: 2 }), {
    fault: 'throttle',
    seed: 2,
  });
});
