// A report beside a shop: both on the table, then the report on an index with the same keys.
import { createTable, main, offer } from '../live.mjs';

const kItems = 50, kLooks = 80, kReports = 4; // looks and reports: a second

export async function play({ ddb, endpoint, say = () => {} }) {
  const TableName = 'orders';
  const ProvisionedThroughput = { ReadCapacityUnits: 100, WriteCapacityUnits: 1000 };
  const outcomes = {};
  for (const [name, IndexName] of [['shared', undefined], ['replica', 'replica']]) {
    await createTable(ddb, TableName, { provisioned: [100, 1000], more: { GlobalSecondaryIndexes: [{
      IndexName: 'replica', ProvisionedThroughput, Projection: { ProjectionType: 'ALL' },
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }] }] } });
    const keyOf = (n) => ({ pk: { S: 'orders-of-today' }, sk: { S: String(n % kItems).padStart(4, '0') } });
    for (let n = 0; n < kItems; n++) await ddb.putItem({ TableName, Item: { ...keyOf(n), pad: { S: 'x'.repeat(3900) } } });
    const shop = { sent: 0, served: 0 };
    const look = async (n) => {
      shop.sent++;
      await ddb.getItem({ TableName, Key: keyOf(n), ConsistentRead: true });
      shop.served++;
    };
    const report = () => ddb.query({ TableName, IndexName, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': { S: 'orders-of-today' } } });
    await offer(endpoint, { perSecond: kLooks + kReports, seconds: 5, send: (n) => (n % (kLooks + kReports) < kReports ? report() : look(n)) });
    outcomes[name] = shop;
    say(`the report reads ${IndexName ? 'an index' : 'the table'}: ${shop.served} of ${shop.sent} looks of the shop served`);
  }
  const strong = await ddb.query({ TableName, IndexName: 'replica', ConsistentRead: true, KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': { S: 'orders-of-today' } } }).then(() => 'served', ({ message }) => message);
  say(`a strongly consistent read of the index: ${strong}`);
  return { ...outcomes, strong };
}

await main(import.meta.url, play);
