// A shop and a greedy report: on one index, then on an index for each.
import { createTable, main, offer } from '../live.mjs';

const kLooks = 60, kReports = 180; // a second, half a unit each

export async function play({ ddb, endpoint, say = () => {} }) {
  const TableName = 'orders', outcomes = {};
  const index = (IndexName, ReadCapacityUnits) => ({
    IndexName, Projection: { ProjectionType: 'KEYS_ONLY' }, ProvisionedThroughput: { ReadCapacityUnits, WriteCapacityUnits: 100 },
    KeySchema: [{ AttributeName: 'customer', KeyType: 'HASH' }] });
  for (const [name, indexes] of [['one index', [index('for-both', 70)]], ['two indexes', [index('for-the-shop', 40), index('for-the-report', 30)]]]) {
    await createTable(ddb, TableName, { provisioned: [10, 100], attributes: [{ AttributeName: 'customer', AttributeType: 'S' }],
      more: { GlobalSecondaryIndexes: indexes } });
    for (let n = 0; n < 20; n++) await ddb.putItem({ TableName, Item: { pk: { S: `order-${n}` }, sk: { S: '1' }, customer: { S: `customer-${n}` } } });
    const counts = { shop: { sent: 0, served: 0 }, report: { sent: 0, served: 0 } };
    const ask = async (who, n) => {
      counts[who].sent++;
      await ddb.query({ TableName, IndexName: who === 'shop' ? indexes[0].IndexName : indexes.at(-1).IndexName,
        KeyConditionExpression: 'customer = :c', ExpressionAttributeValues: { ':c': { S: `customer-${n % 20}` } } });
      counts[who].served++;
    };
    await offer(endpoint, { perSecond: kLooks + kReports, seconds: 5, send: (n) => ask(n % 4 === 3 ? 'shop' : 'report', n) });
    outcomes[name] = counts;
    for (const [who, { sent, served }] of Object.entries(counts)) say(`${name}: ${served} of ${sent} requests of the ${who} served`);
  }
  return outcomes;
}

await main(import.meta.url, play);
