// A new on-demand table, and one that was warmed for a sale.
import { createTable, main, partitionsOf } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const counts = {};
  for (const [name, more] of [['cold', {}], ['warmed', { WarmThroughput: { ReadUnitsPerSecond: 12_000, WriteUnitsPerSecond: 16_000 } }]]) {
    await createTable(ddb, 'clicks', { more });
    counts[name] = (await partitionsOf(endpoint, 'clicks')).length;
    say(`${name}: ${counts[name]} partitions, ${counts[name] * 1000} writes a second`);
  }
  return counts;
}

await main(import.meta.url, play);
