// Messages expire, and a reader of the stream writes what time to live has deleted into a file, a line of JSON for each.
import fs from 'node:fs';

import { createTable, eventually, main, manage } from '../live.mjs';

const kMessages = 30;

// All records of a stream, each shard from its beginning.
async function recordsOf(streams, StreamArn) {
  const records = [];
  let ExclusiveStartShardId;
  do {
    const { StreamDescription } = await streams.describeStream({ StreamArn, ExclusiveStartShardId });
    for (const { ShardId } of StreamDescription.Shards) {
      let { ShardIterator } = await streams.getShardIterator({ StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' });
      while (ShardIterator) {
        const { Records, NextShardIterator } = await streams.getRecords({ ShardIterator });
        records.push(...Records);
        if (Records.length === 0) break; // an open shard has no more for now
        ShardIterator = NextShardIterator;
      }
    }
    ExclusiveStartShardId = StreamDescription.LastEvaluatedShardId;
  } while (ExclusiveStartShardId);
  return records;
}

const byTimeToLive = ({ eventName, userIdentity }) =>
  eventName === 'REMOVE' && userIdentity?.Type === 'Service' && userIdentity.PrincipalId === 'dynamodb.amazonaws.com';

export async function play({ ddb, streams, endpoint, file = 'message-archive.ndjson', say = () => {} }) {
  const TableName = 'messages';
  await createTable(ddb, TableName, { more: { StreamSpecification: { StreamEnabled: true, StreamViewType: 'OLD_IMAGE' } } });
  await ddb.updateTimeToLive({ TableName, TimeToLiveSpecification: { AttributeName: 'until', Enabled: true } });
  const StreamArn = (await ddb.describeTable({ TableName })).Table.LatestStreamArn;
  const now = Math.ceil(Date.parse((await manage(endpoint, 'GET', 'clock')).now) / 1000);
  const keyOf = (n) => ({ pk: { S: `user-${n % 3}` }, sk: { S: String(n).padStart(4, '0') } });
  for (let n = 0; n < kMessages; n++)
    await ddb.putItem({ TableName, Item: { ...keyOf(n), text: { S: `message ${n}` }, until: { N: String(now + 3600) } } });
  // A user deletes one in three before its time.
  for (let n = 0; n < kMessages; n += 3) await ddb.deleteItem({ TableName, Key: keyOf(n) });
  await manage(endpoint, 'POST', 'clock', { advance: '2h' });
  await eventually(async () => (await ddb.scan({ TableName, ConsistentRead: true })).Count === 0);

  const removed = (await recordsOf(streams, StreamArn)).filter(({ eventName }) => eventName === 'REMOVE');
  const expired = removed.filter(byTimeToLive);
  const lines = expired.map(({ dynamodb }) => JSON.stringify({ SequenceNumber: dynamodb.SequenceNumber, Item: dynamodb.OldImage }));
  fs.writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  say(`${removed.length} deletes in the stream: ${removed.length - expired.length} by users, ${expired.length} by time to live`);
  say(`${lines.length} lines in ${file}, such as ${lines[0]}`);
  return { removed: removed.length, expired: expired.length, file };
}

await main(import.meta.url, play);
