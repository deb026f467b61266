// Open orders by a scan with a filter, and by an index on an attribute that only open orders have.
import { createTable, load, main } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  await createTable(ddb, 'orders', {
    attributes: [{ AttributeName: 'open', AttributeType: 'S' }],
    more: { GlobalSecondaryIndexes: [{ IndexName: 'open-orders', KeySchema: [{ AttributeName: 'open', KeyType: 'HASH' }], Projection: { ProjectionType: 'KEYS_ONLY' } }] },
  });
  await load({ ddb, endpoint }, 'orders', { perSecond: 900, units: 1, seconds: 1, keyOf: (n) => `order-${n}`,
    attributesOf: (n) => (n % 50 === 0 ? { open: { S: `2026-01-0${n % 3 + 1}` } } : {}) });
  let scanned = 0, found = 0, start;
  do {
    const page = await ddb.scan({ TableName: 'orders', FilterExpression: 'attribute_exists(#open)', ExpressionAttributeNames: { '#open': 'open' },
      ReturnConsumedCapacity: 'TOTAL', ExclusiveStartKey: start });
    scanned += page.ConsumedCapacity.CapacityUnits;
    found += page.Count;
    start = page.LastEvaluatedKey;
  } while (start);
  const index = await ddb.scan({ TableName: 'orders', IndexName: 'open-orders', ReturnConsumedCapacity: 'TOTAL' });
  say(`scan with a filter: ${found} open orders for ${scanned} read units`);
  say(`sparse index: ${index.Count} open orders for ${index.ConsumedCapacity.CapacityUnits} read units`);
  return { found, scanned, indexed: index.Count, units: index.ConsumedCapacity.CapacityUnits };
}

await main(import.meta.url, play);
