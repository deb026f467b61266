// Shows W + R > N on a Ceph cluster. Needs several servers of one store, such as those of `./dev cluster up`:
//
//   node replicas/live.mjs http://localhost:8101 http://localhost:8102 http://localhost:8103 [DIRECTORY]
//
// Writes go through one server and are read through another at once. With the directory of the cluster (build/cluster) the
// script also kills two of the three OSDs, one after the other, and starts them again.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { createTable, eventually, main } from '../live.mjs';

const kWrites = 100;
const TableName = 'replicas';
const cluster = fileURLToPath(new URL('../../../tests/cluster/cluster', import.meta.url));

// Writes through one server after the other, and reads each item through the next one, both ways. An eventually consistent
// read may come from that server's memory (--eventual-staleness), so there is a last one when all had time to forget.
async function writeAndRead(clients, from) {
  const Key = { pk: { S: 'counter' }, sk: { S: '1' } };
  const outcome = { acknowledged: 0, strongStale: 0, eventualStale: 0, lastSeen: false };
  const read = async (client, ConsistentRead) => {
    const { Item } = await client.getItem({ TableName, Key, ConsistentRead });
    return Number(Item?.n.N);
  };
  for (let n = from; n < from + kWrites; n++) {
    await clients[n % clients.length].putItem({ TableName, Item: { ...Key, n: { N: String(n) } } });
    outcome.acknowledged++;
    const next = clients[(n + 1) % clients.length];
    if (await read(next, false) !== n) outcome.eventualStale++;
    if (await read(next, true) !== n) outcome.strongStale++;
  }
  outcome.lastSeen = await eventually(async () => {
    const seen = await Promise.all(clients.map((client) => read(client, false)));
    return seen.every((n) => n === from + kWrites - 1);
  });
  return outcome;
}

const told = ({ acknowledged, strongStale, eventualStale, lastSeen }) =>
  `${acknowledged} writes acknowledged; read through another server at once, ${strongStale} strong and ${eventualStale} eventually `
    + `consistent reads were stale; a moment later ${lastSeen ? 'every server sees' : 'NOT every server sees'} the last one`;

export async function play({ endpoints, connect, directory, say = () => {} }) {
  if (endpoints.length < 2) {
    say('This needs the addresses of several servers of one Ceph cluster: ./dev cluster up starts them on ports 8101 to 8103.');
    return undefined;
  }
  const clients = endpoints.map((endpoint) => connect(endpoint, { maxAttempts: 10 }));
  const act = async (...command) => (await promisify(execFile)(cluster, ['--dir', directory, ...command])).stdout;
  try {
    await createTable(clients[0], TableName, {});
    const outcome = { three: await writeAndRead(clients, 0) };
    say(`three copies: ${told(outcome.three)}`);
    if (!directory) return outcome;
    try {
      await act('kill-osd', '2');
      outcome.two = await writeAndRead(clients, kWrites);
      say(`two copies: ${told(outcome.two)}`);
      await act('kill-osd', '1');
      const impatient = connect(endpoints[0], { maxAttempts: 1, timeout: 5000 });
      outcome.one = await impatient.putItem({ TableName, Item: { pk: { S: 'late' }, sk: { S: '1' } } }).then(() => 'acknowledged', () => 'no answer');
      impatient.destroy();
      say(`one copy: a write gets ${outcome.one} within five seconds`);
    } finally {
      for (const osd of ['1', '2']) await act('start-osd', osd);
      await act('wait-clean');
    }
    const { Item } = await clients[1].getItem({
      TableName, Key: { pk: { S: 'counter' }, sk: { S: '1' } }, ConsistentRead: true });
    outcome.kept = Number(Item.n.N) === 2 * kWrites - 1;
    say(`three copies again: the last acknowledged write is ${outcome.kept ? 'there' : 'LOST'}`);
    return outcome;
  } finally {
    for (const client of clients) client.destroy();
  }
}

await main(import.meta.url, play);
