// A cart of five among 500 items of a customer: found by a filter, and by a prefix of the sort key.
import { createTable, main } from '../live.mjs';

const kItems = 500, kInCart = 5;
const pk = { S: 'customer-1' };

async function query(ddb, TableName, request) {
  let units = 0, count = 0, ExclusiveStartKey;
  do {
    const page = await ddb.query({ TableName, ReturnConsumedCapacity: 'TOTAL', ExclusiveStartKey, ...request });
    units += page.ConsumedCapacity.CapacityUnits;
    count += page.Count;
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey);
  return { units, count };
}

export async function play({ ddb, say = () => {} }) {
  const TableName = 'carts';
  await createTable(ddb, TableName, {});
  const stateOf = (n) => (n % (kItems / kInCart) === 0 ? 'ACTIVE' : n % 2 === 0 ? 'SAVED' : 'BOUGHT');
  for (let n = 0; n < kItems; n++) {
    const sk = { S: `${stateOf(n)}#2026-01-${String(n % 28 + 1).padStart(2, '0')}#product-${n}` };
    await ddb.putItem({ TableName, Item: { pk, sk, state: { S: stateOf(n) }, text: { S: 'x'.repeat(320) } } });
  }
  const filter = await query(ddb, TableName, { KeyConditionExpression: 'pk = :pk', FilterExpression: '#state = :active',
    ExpressionAttributeNames: { '#state': 'state' }, ExpressionAttributeValues: { ':pk': pk, ':active': { S: 'ACTIVE' } } });
  const prefix = await query(ddb, TableName, { KeyConditionExpression: 'pk = :pk AND begins_with(sk, :active)',
    ExpressionAttributeValues: { ':pk': pk, ':active': { S: 'ACTIVE#' } } });
  say(`filter: ${filter.count} items in the cart for ${filter.units} read units`);
  say(`prefix: ${prefix.count} items in the cart for ${prefix.units} read units`);
  const old = { S: 'ACTIVE#2026-01-01#product-0' };
  const { ConsumedCapacity } = await ddb.transactWriteItems({ ReturnConsumedCapacity: 'TOTAL', TransactItems: [
    { Delete: { TableName, Key: { pk, sk: old }, ConditionExpression: 'attribute_exists(pk)' } },
    { Put: { TableName, Item: { pk, sk: { S: old.S.replace('ACTIVE', 'BOUGHT') }, state: { S: 'BOUGHT' }, text: { S: 'x'.repeat(320) } } } }] });
  const bought = ConsumedCapacity.reduce((sum, one) => sum + one.CapacityUnits, 0);
  say(`to buy one takes ${bought} write units`);
  return { filter, prefix, bought };
}

await main(import.meta.url, play);
