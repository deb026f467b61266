// Helpers of tests of deliveries over kill -9, for their table, Counted.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

import { N, S } from './clients.mjs';
import { until } from './functions.mjs';
import { request } from './harness.mjs';

// Writers that each put a number of their own, from 1 on, into the item with their name in the table Counted, over kills of the server:
// `acknowledged` is the last number by key. A write without an answer is repeated with the same number: its change may then be there
// once or twice.
export function countingWriters(ddb, count) {
  let writing = true;
  const acknowledged = new Map();
  const writers = Array.from({ length: count }, async (_, writer) => {
    for (let n = 1; writing; n += 1) {
      for (;;) {
        try {
          await ddb.PutItem({ TableName: 'Counted', Item: { pk: S(`w${writer}`), n: N(n) } });
          break;
        } catch {
          await delay(20);
        }
      }
      acknowledged.set(`w${writer}`, n);
    }
  });
  return {
    acknowledged,
    // Waits until the first writer has written `more` times.
    wrote: async (more) => {
      const from = acknowledged.get('w0') ?? 0;
      await until(() => (acknowledged.get('w0') ?? 0) >= from + more, { what: `${more} more writes` });
    },
    stop: () => {
      writing = false;
      return Promise.all(writers);
    },
  };
}

// Splits a partition of the table Counted.
export async function splitCounted(endpoint) {
  const reply = await request(endpoint, { path: '/_stator/tables/Counted/split', headers: { 'X-Stator-Management': 'true' }, body: '{}' });
  assert.equal(reply.status, 200, reply.text);
}

// The numbers of each key, in the order of the pairs [key, number].
export function numbersByKey(pairs) {
  const numbers = new Map();
  for (const [key, number] of pairs) {
    if (!numbers.has(key)) numbers.set(key, []);
    numbers.get(key).push(number);
  }
  return numbers;
}

export const pairOf = ({ Keys, NewImage }) => [Keys.pk.S, Number(NewImage.n.N)];

// Waits until `read` returns the last number of each writer, and returns what it then returns: numbers by key.
export async function awaitLastNumbers(acknowledged, read) {
  let received;
  await until(async () => {
    received = await read();
    return [...acknowledged].every(([key, last]) => received.get(key)?.includes(last));
  }, { within: 120_000, what: 'the last changes arrive' });
  return received;
}

// First arrivals are all numbers in order; later ones repeat what came before.
export function assertAllInOrder(acknowledged, received) {
  for (const [key, last] of acknowledged) {
    let next = 1;
    for (const number of received.get(key)) {
      assert.ok(number <= next, `${key}: ${number} came before ${next}`);
      if (number === next) next += 1;
    }
    assert.ok(next > last, `${key}: ${next} is missing of ${last}`);
  }
}
