// An upload user by user, and the same with one item of each user in turn.
import { createTable, load, main } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const outcomes = {};
  for (const [name, keyOf] of [['by-user', (n) => `user-${Math.floor(n / 500)}`], ['interleaved', (n) => `user-${n % 40}`]]) {
    await createTable(ddb, 'messages', { provisioned: [1, 5000] });
    outcomes[name] = await load({ ddb, endpoint }, 'messages', { perSecond: 450, units: 10, seconds: 4, keyOf });
    say(`${name}: ${outcomes[name].served} of ${outcomes[name].sent} writes served`);
    if (outcomes[name].message) say(`  ${outcomes[name].message}`);
  }
  return outcomes;
}

await main(import.meta.url, play);
