// Three promises, tried on strong and on eventually consistent reads, with the fault dial at several places.
import { createTable, main, manage } from '../live.mjs';

const kRounds = 20;

export async function play({ ddb, endpoint, say = () => {} }) {
  const TableName = 'stock', kept = {};
  const key = (pk) => ({ pk: { S: pk }, sk: { S: '1' } });
  const put = (pk, n) => ddb.putItem({ TableName, Item: { ...key(pk), n: { N: String(n) } } });
  for (const [name, ConsistentRead, fault] of [
    ['strong, random ages', true, { random: true }],
    ['eventual, no fault', false, undefined],
    ['eventual, one age', false, { random: false }],
    ['eventual, random ages', false, { random: true }],
  ]) {
    await createTable(ddb, TableName, {});
    if (fault) await manage(endpoint, 'PUT', `faults/${TableName}`, { faults: [{ fault: 'stale-read', age: '5s', seed: 7, ...fault }] });
    const get = async (pk) => Number((await ddb.getItem({ TableName, Key: key(pk), ConsistentRead })).Item?.n.N ?? 0);
    const promises = { 'own write': true, 'nothing goes back': true, 'first written, first seen': true };
    let seen = 0;
    try {
      for (let n = 1; n <= kRounds; n++) {
        await put('first', n);
        await manage(endpoint, 'POST', 'clock', { advance: 1 });
        await put('second', n);
        if (await get('second') !== n) promises['own write'] = false;
        const again = await get('first');
        if (again < seen) promises['nothing goes back'] = false;
        seen = Math.max(seen, again);
        // `first` was written before `second`, so a reader that has seen `second` should find `first` in no older state.
        const second = await get('second'), first = await get('first');
        if (first < second) promises['first written, first seen'] = false;
      }
    } finally {
      if (fault) await manage(endpoint, 'DELETE', `faults/${TableName}`);
    }
    kept[name] = promises;
    say(`${name}: ${Object.entries(promises).map(([promise, holds]) => `${promise}: ${holds ? 'yes' : 'NO'}`).join(', ')}`);
  }
  return kept;
}

await main(import.meta.url, play);
