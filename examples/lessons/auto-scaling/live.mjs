// Capacity that follows the load, on the manual clock.
import { createTable, eventually, load, main, manage } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const TableName = 'carts';
  await createTable(ddb, TableName, { provisioned: [1, 50] });
  await manage(endpoint, 'PUT', `tables/${TableName}/auto-scaling`, { write: { min: 50, max: 2000, target: 0.7 } });
  const units = async () => (await ddb.describeTable({ TableName })).Table.ProvisionedThroughput.WriteCapacityUnits;
  const before = await units();
  // 40 units a second for six minutes, 240 at a time.
  for (let times = 0; times < 60; times++) {
    await load({ ddb, endpoint }, TableName, { perSecond: 4, units: 60, seconds: 1, keyOf: (n) => `cart-${n}` });
    await manage(endpoint, 'POST', 'clock', { advance: 5 });
  }
  let after;
  await eventually(async () => (after = await units()) !== before);
  say(`${before} write units became ${after}`);
  return { before, after };
}

await main(import.meta.url, play);
