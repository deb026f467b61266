// What tests of deliveries over kill -9 do with their table, Counted.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

import { N, S } from './clients.mjs';
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
