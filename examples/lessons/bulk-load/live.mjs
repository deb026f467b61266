// A table made for a bulk load, and what each partition has once the load is over.
import { createTable, main, partitionsOf } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const TableName = 'products', shares = {};
  for (const WriteCapacityUnits of [10_999, 1900]) {
    await createTable(ddb, TableName, { provisioned: [1, WriteCapacityUnits] });
    await ddb.updateTable({ TableName, ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 200 } });
    const partitions = await partitionsOf(endpoint, TableName);
    shares[WriteCapacityUnits] = { partitions: partitions.length, write: partitions[0].share.write };
    say(`loaded with ${WriteCapacityUnits} WCU: ${partitions.length} partitions, each with ${partitions[0].share.write.toFixed(1)} of 200 WCU`);
  }
  return shares;
}

await main(import.meta.url, play);
