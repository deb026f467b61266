// One hot item, read strongly and eventually consistent.
import { createTable, main, offer } from '../live.mjs';

const kReads = 50; // a second, of 100 units each

export async function play({ ddb, endpoint, say = () => {} }) {
  const TableName = 'products', Key = { pk: { S: 'bestseller' }, sk: { S: 'page' } };
  await createTable(ddb, TableName, { provisioned: [8000, 1000] });
  await ddb.putItem({ TableName, Item: { ...Key, page: { S: 'x'.repeat(399_000) } } });
  const outcomes = {};
  for (const ConsistentRead of [true, false]) {
    const outcome = await offer(endpoint, { perSecond: kReads, seconds: 4, send: () => ddb.getItem({ TableName, Key, ConsistentRead }) });
    const name = ConsistentRead ? 'strong' : 'eventual';
    outcomes[name] = outcome;
    say(`${name}: ${outcome.served} of ${outcome.sent} reads served`);
    if (outcome.message) say(`  ${outcome.message}`);
  }
  return outcomes;
}

await main(import.meta.url, play);
