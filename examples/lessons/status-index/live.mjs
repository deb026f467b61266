// An index by status refuses the writes of its table; one by status and number does not.
import { createTable, load, main } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const outcomes = {};
  const statusOf = (n) => (n % 10 < 8 ? 'SHIPPED' : 'PENDING');
  for (const [name, keyOf] of [['by status', statusOf], ['by status and number', (n) => `${statusOf(n)}.${n % 100 + 1}`]]) {
    await createTable(ddb, 'orders', {
      provisioned: [100, 3000],
      attributes: [{ AttributeName: 'state', AttributeType: 'S' }],
      more: { GlobalSecondaryIndexes: [{ IndexName: 'by-status', KeySchema: [{ AttributeName: 'state', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' },
        ProvisionedThroughput: { ReadCapacityUnits: 100, WriteCapacityUnits: 3000 } }] },
    });
    outcomes[name] = await load({ ddb, endpoint }, 'orders', { perSecond: 250, units: 10, seconds: 4,
      keyOf: (n) => `order-${n}`, attributesOf: (n) => ({ state: { S: keyOf(n) } }) });
    say(`${name}: ${outcomes[name].served} of ${outcomes[name].sent} orders written`);
    if (outcomes[name].message) say(`  ${outcomes[name].message}`);
  }
  return outcomes;
}

await main(import.meta.url, play);
