// One partition of a table is split, here by a call, since 10 GB take a while: its halves share what it had.
import { createTable, main, manage, partitionsOf } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  await createTable(ddb, 'orders', { provisioned: [5000, 2000] });
  const before = await partitionsOf(endpoint, 'orders');
  await manage(endpoint, 'POST', 'tables/orders/split', { partition: before[0].id });
  const after = await partitionsOf(endpoint, 'orders');
  say(`${before.length} partitions, each with ${before[0].share.write} WCU, are ${after.length}, with ${after.map(({ share }) => share.write).join(', ')} WCU`);
  return { before: before.length, after: after.map(({ share }) => share.write) };
}

await main(import.meta.url, play);
