// Votes on one item, on as many shards as the refusal advises, and the sum of the shards.
import { createTable, main, offer } from '../live.mjs';

const kVotes = 1500; // a second, of one unit each

const vote = ({ ddb, endpoint }, keyOf) => offer(endpoint, { perSecond: kVotes, seconds: 3, send: (n) => ddb.updateItem({
  TableName: 'votes', Key: { pk: { S: keyOf(n % kVotes) }, sk: { S: 'count' } },
  UpdateExpression: 'ADD votes :one', ExpressionAttributeValues: { ':one': { N: '1' } } }) });

export async function play({ ddb, endpoint, say = () => {} }) {
  await createTable(ddb, 'votes', {});
  const one = await vote({ ddb, endpoint }, () => 'candidate-A');
  say(`one item: ${one.served} of ${one.sent} votes counted`);
  say(`  ${one.message}`);
  const shards = Number(/(?:into|over) (\d+) (?:shards|suffixes)/.exec(one.message)[1]);
  await createTable(ddb, 'votes', {});
  const spread = await vote({ ddb, endpoint }, (n) => `candidate-A.${n % shards + 1}`);
  let sum = 0;
  for (let n = 1; n <= shards; n++) {
    const { Item } = await ddb.getItem({ TableName: 'votes', Key: { pk: { S: `candidate-A.${n}` }, sk: { S: 'count' } }, ConsistentRead: true });
    sum += Number(Item?.votes.N ?? 0);
  }
  say(`${shards} shards: ${spread.served} of ${spread.sent} votes counted, and the shards add up to ${sum}`);
  return { one, spread, shards, sum };
}

await main(import.meta.url, play);
