// 5,000 reads a second are raised to 8,000 and lowered again.
import { createTable, main, partitionsOf } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const TableName = 'events';
  await createTable(ddb, TableName, { provisioned: [5000, 2000] });
  const counts = [(await partitionsOf(endpoint, TableName)).length];
  for (const ReadCapacityUnits of [8000, 500]) {
    await ddb.updateTable({ TableName, ProvisionedThroughput: { ReadCapacityUnits, WriteCapacityUnits: 2000 } });
    counts.push((await partitionsOf(endpoint, TableName)).length);
  }
  say(`partitions at 5,000 RCU: ${counts[0]}, at 8,000: ${counts[1]}, at 500: ${counts[2]}`);
  return counts;
}

await main(import.meta.url, play);
