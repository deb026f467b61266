// The stock inside a large item, and as an item of its own.
import { createTable, main } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const TableName = 'products';
  await createTable(ddb, TableName, {});
  const pk = { S: 'product-1' }, units = {};
  await ddb.putItem({ TableName, Item: { pk, sk: { S: 'whole' }, stock: { N: '5' }, text: { S: 'x'.repeat(20 * 1024 - 100) } } });
  await ddb.putItem({ TableName, Item: { pk, sk: { S: 'stock' }, stock: { N: '5' } } });
  for (const sk of ['whole', 'stock']) {
    const { ConsumedCapacity } = await ddb.updateItem({ TableName, Key: { pk, sk: { S: sk } }, UpdateExpression: 'ADD stock :d',
      ExpressionAttributeValues: { ':d': { N: '-1' } }, ReturnConsumedCapacity: 'TOTAL' });
    units[sk] = ConsumedCapacity.CapacityUnits;
  }
  say(`to change the stock costs ${units.whole} units inside the whole item, and ${units.stock} as an item of its own`);
  return units;
}

await main(import.meta.url, play);
