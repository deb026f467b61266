// An item that expires: readable until it is deleted, and deleted for nothing.
import { createTable, eventually, main, manage } from '../live.mjs';

export async function play({ ddb, endpoint, say = () => {} }) {
  const TableName = 'sessions';
  await createTable(ddb, TableName, {});
  await ddb.updateTimeToLive({ TableName, TimeToLiveSpecification: { AttributeName: 'until', Enabled: true } });
  const now = Date.parse((await manage(endpoint, 'GET', 'clock')).now) / 1000;
  const Key = { pk: { S: 'session-1' }, sk: { S: '1' } };
  await ddb.putItem({ TableName, Item: { ...Key, until: { N: String(Math.ceil(now) + 7200) } } });
  await manage(endpoint, 'POST', 'clock', { advance: 7100 });
  const living = (await ddb.getItem({ TableName, Key })).Item !== undefined;
  await manage(endpoint, 'POST', 'clock', { advance: 3600 });
  const gone = await eventually(async () => (await ddb.getItem({ TableName, Key })).Item === undefined);
  say(`before its time the session is ${living ? 'there' : 'gone'}, an hour after it ${gone ? 'gone' : 'there'}`);
  return { living, gone };
}

await main(import.meta.url, play);
