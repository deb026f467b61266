// The list of a mailbox: from the table, and from an index that holds what the list shows.
import { createTable, main } from '../live.mjs';

export async function play({ ddb, say = () => {} }) {
  const TableName = 'mails', pk = { S: 'mailbox-1' };
  await createTable(ddb, TableName, {
    attributes: [{ AttributeName: 'sent', AttributeType: 'S' }],
    more: { GlobalSecondaryIndexes: [{ IndexName: 'list', KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sent', KeyType: 'RANGE' }],
      Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['sender', 'subject'] } }] },
  });
  let written;
  for (let n = 0; n < 20; n++) {
    const { ConsumedCapacity } = await ddb.putItem({ TableName, ReturnConsumedCapacity: 'INDEXES', Item: {
      pk, sk: { S: `mail-${n}` }, sent: { S: `2026-01-${String(n + 1).padStart(2, '0')}` },
      sender: { S: 'ada@example.org' }, subject: { S: `Number ${n}` }, body: { S: 'x'.repeat(32 * 1024 - 200) } } });
    written = { table: ConsumedCapacity.Table.CapacityUnits, index: ConsumedCapacity.GlobalSecondaryIndexes.list.CapacityUnits };
  }
  const unitsOf = async (request) => {
    let units = 0, ExclusiveStartKey;
    do {
      const page = await ddb.query({ TableName, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': pk },
        ProjectionExpression: 'sender, subject', ReturnConsumedCapacity: 'TOTAL', ExclusiveStartKey, ...request });
      units += page.ConsumedCapacity.CapacityUnits;
      ExclusiveStartKey = page.LastEvaluatedKey;
    } while (ExclusiveStartKey);
    return units;
  };
  const table = await unitsOf({}), index = await unitsOf({ IndexName: 'list' });
  say(`the list of 20 mails: ${table} read units from the table, ${index} from the index`);
  say(`a new mail: ${written.table} write units of the table, ${written.index} of the index`);
  return { table, index, written };
}

await main(import.meta.url, play);
