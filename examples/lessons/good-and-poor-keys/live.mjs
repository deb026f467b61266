// Three keys for the same load of 3,000 write units a second on a table with 4,000.
import { createTable, load, main } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const keys = {
    user: (n) => `user-${n * 7919 % 100003}`,
    status: (n) => (n % 5 ? '200 OK' : '404 Not Found'),
    device: (n) => (n % 10 < 6 ? 'device-7' : `device-${n % 1000}`),
  };
  const outcomes = {};
  for (const [name, keyOf] of Object.entries(keys)) {
    await createTable(ddb, 'events', { provisioned: [100, 4000] });
    outcomes[name] = await load({ ddb, endpoint }, 'events', { perSecond: 300, units: 10, seconds: 4, keyOf });
    const { served, sent, message } = outcomes[name];
    say(`partition key ${name}: ${served} of ${sent} writes served`);
    if (message) say(`  ${message}`);
  }
  return outcomes;
}

await main(import.meta.url, play);
