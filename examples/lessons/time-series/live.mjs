// The cost of forgetting a month: deletes of its items, or of its table.
import { createTable, load, main } from '../live.mjs';

const kItems = 200;

export async function play({ ddb, endpoint, say = () => {} }) {
  await createTable(ddb, 'events', {});
  await createTable(ddb, 'events-2026-01', {});
  const keyOf = (n) => `device-${n}`;
  for (const table of ['events', 'events-2026-01']) await load({ ddb, endpoint }, table, { perSecond: kItems, units: 2, seconds: 1, keyOf });
  let units = 0;
  for (let n = 0; n < kItems; n++) {
    const { ConsumedCapacity } = await ddb.deleteItem({
      TableName: 'events', Key: { pk: { S: keyOf(n) }, sk: { S: String(n).padStart(9, '0') } }, ReturnConsumedCapacity: 'TOTAL' });
    units += ConsumedCapacity.CapacityUnits;
  }
  await ddb.deleteTable({ TableName: 'events-2026-01' });
  say(`${kItems} deletes took ${units} write units, one DeleteTable none`);
  return units;
}

await main(import.meta.url, play);
