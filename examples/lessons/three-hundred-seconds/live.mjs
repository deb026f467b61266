// A table with 10 WCU: after an hour without writes it has those of 300 seconds, and no more.
import { createTable, load, main, manage } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  await createTable(ddb, 'events', { provisioned: [10, 10] });
  const write = (seconds) => load({ ddb, endpoint }, 'events', { perSecond: 100, units: 10, seconds, keyOf: (n) => `key-${n}` });
  const first = await write(1);
  say(`new: ${first.served * 10} write units in a second`);
  await manage(endpoint, 'POST', 'clock', { advance: '1h' });
  const burst = await write(5);
  say(`after an idle hour: ${burst.served * 10} write units in five seconds, which are 300 seconds of 10 and those of the five`);
  say(`  ${burst.message}`);
  return { first, burst };
}

await main(import.meta.url, play);
