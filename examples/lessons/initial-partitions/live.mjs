// How many partitions a table begins with, and the share of each.
import { createTable, main, partitionsOf } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const counts = {};
  for (const provisioned of [[1000, 500], [1000, 1000], [5000, 2000], undefined]) {
    await createTable(ddb, 'events', { provisioned });
    const partitions = await partitionsOf(endpoint, 'events');
    const name = provisioned ? provisioned.join('/') : 'on demand';
    counts[name] = partitions.length;
    const share = partitions[0].share;
    say(`${name}: ${partitions.length} partitions${share ? `, each with ${share.read} RCU and ${share.write} WCU` : ''}`);
  }
  return counts;
}

await main(import.meta.url, play);
