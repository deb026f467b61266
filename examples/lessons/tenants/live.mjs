// A tenant leaves: a shared table, item by item, and a table of its own, at once.
import { createTable, load, main } from '../live.mjs';

const kItems = 200, kOthers = 40;

export async function play({ ddb, endpoint, say = () => {} }) {
  await createTable(ddb, 'orders', {});
  await createTable(ddb, 'orders-of-acme', {});
  for (const TableName of ['orders', 'orders-of-acme'])
    await load({ ddb, endpoint }, TableName, { perSecond: kItems, units: 1, seconds: 1, keyOf: () => 'acme' });
  await load({ ddb, endpoint }, 'orders', { perSecond: kOthers, units: 1, seconds: 1, keyOf: (n) => `other-${n % 4}` });

  const units = { read: 0, write: 0 };
  let ExclusiveStartKey;
  do {
    const page = await ddb.query({ TableName: 'orders', KeyConditionExpression: 'pk = :acme', ExpressionAttributeValues: { ':acme': { S: 'acme' } },
      ProjectionExpression: 'pk, sk', ReturnConsumedCapacity: 'TOTAL', ExclusiveStartKey });
    units.read += page.ConsumedCapacity.CapacityUnits;
    for (let n = 0; n < page.Items.length; n += 25) {
      let RequestItems = { orders: page.Items.slice(n, n + 25).map((Key) => ({ DeleteRequest: { Key } })) };
      while (Object.keys(RequestItems).length > 0) {
        const { UnprocessedItems, ConsumedCapacity } = await ddb.batchWriteItem({ RequestItems, ReturnConsumedCapacity: 'TOTAL' });
        for (const { CapacityUnits } of ConsumedCapacity) units.write += CapacityUnits;
        RequestItems = UnprocessedItems;
      }
    }
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey);
  await ddb.deleteTable({ TableName: 'orders-of-acme' });
  const { Count: left } = await ddb.scan({ TableName: 'orders', Select: 'COUNT', ConsistentRead: true });
  say(`shared table: ${kItems} orders of acme read for ${units.read} and deleted for ${units.write} units; ${left} orders of others are left`);
  say('a table of its own: deleted at once, for nothing');
  return { ...units, left };
}

await main(import.meta.url, play);
