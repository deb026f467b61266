// The date as partition key, then the date with the number of suffixes that the refusal advises.
import { createTable, load, main, manage } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const day = (await manage(endpoint, 'GET', 'clock')).now.slice(0, 10);
  const tell = (name, { served, sent, message }) => {
    say(`${name}: ${served} of ${sent} writes served`);
    if (message) say(`  ${message}`);
  };
  await createTable(ddb, 'events', { provisioned: [100, 4000] });
  const date = await load({ ddb, endpoint }, 'events', { perSecond: 300, units: 10, seconds: 4, keyOf: () => day });
  tell(`partition key "${day}"`, date);
  const suffixes = Number(/over (\d+) suffixes/.exec(date.message)[1]);
  await createTable(ddb, 'events', { provisioned: [100, 4000] });
  const spread = await load({ ddb, endpoint }, 'events', { perSecond: 300, units: 10, seconds: 4, keyOf: (n) => `${day}.${n % suffixes + 1}` });
  tell(`${suffixes} suffixes`, spread);
  return { date, spread, suffixes };
}

await main(import.meta.url, play);
