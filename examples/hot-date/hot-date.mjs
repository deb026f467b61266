// A key per date, on a live server: today's writes all go to one partition, which serves 1,000 of 3,000 units per second,
// and 200 suffixes cure it. Time is moved by this script, so that minutes take seconds.
//
//   stator serve --in-memory --throttling=enforce --clock=manual
//   npm install && node hot-date.mjs [http://localhost:8000]
const kWritesPerSecond = 300;
const kItemUnits = 10; // a write of 10 KB: 3,000 units per second in all
const kSeconds = 5;
const kTogether = 50;

async function manage(endpoint, method, path, body) {
  const reply = await fetch(`${endpoint}/_stator/${path}`, {
    method, headers: { 'X-Stator-Management': 'true' }, body: body && JSON.stringify(body),
  });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(`${method} ${path}: ${answer.message}`);
  return answer;
}

// Writes kWritesPerSecond items in each of kSeconds seconds. `keyOf(n)` is the partition key of the n-th item.
async function load(ddb, endpoint, TableName, keyOf) {
  const outcome = { sent: 0, served: 0, throttled: 0, message: undefined, reasons: new Set() };
  const pad = { S: 'x'.repeat(kItemUnits * 1024 - 100) };
  const write = async (n) => {
    outcome.sent++;
    try {
      await ddb.putItem({ TableName, Item: { day: { S: keyOf(n) }, event: { S: String(n).padStart(9, '0') }, pad } });
      outcome.served++;
    } catch (error) {
      if (error.name !== 'ProvisionedThroughputExceededException') throw error;
      outcome.throttled++;
      outcome.message = error.message;
      for (const { reason } of error.ThrottlingReasons ?? []) outcome.reasons.add(reason);
    }
  };
  for (let second = 0; second < kSeconds; second++) {
    for (let n = 0; n < kWritesPerSecond; n += kTogether) {
      await Promise.all(Array.from({ length: kTogether }, (_, i) => write(second * kWritesPerSecond + n + i)));
    }
    await manage(endpoint, 'POST', 'clock', { advance: 1 });
  }
  return outcome;
}

// `ddb`: the SDK's DynamoDB with maxAttempts 1, so that a throttled write is counted and not retried.
export async function hotDate({ ddb, endpoint, say = () => {} }) {
  const create = async (TableName) => {
    await ddb.deleteTable({ TableName }).catch(() => {}); // of an earlier run, if there is one
    await ddb.createTable({
      TableName,
      AttributeDefinitions: [{ AttributeName: 'day', AttributeType: 'S' }, { AttributeName: 'event', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'day', KeyType: 'HASH' }, { AttributeName: 'event', KeyType: 'RANGE' }],
      ProvisionedThroughput: { ReadCapacityUnits: 100, WriteCapacityUnits: 4000 },
    });
  };
  const day = (await manage(endpoint, 'GET', 'clock')).now.slice(0, 10);

  await create('events');
  const hot = await load(ddb, endpoint, 'events', () => day);
  say(`partition key "${day}": ${hot.served} of ${hot.sent} writes served, ${hot.throttled} throttled`);
  say(`  ${[...hot.reasons].join(', ')}`);
  say(`  ${hot.message}`);
  const report = await manage(endpoint, 'GET', 'tables/events/partitions');
  const [table] = report.resources;
  for (const p of table.partitions) {
    say(`  partition ${p.id}: ${p.consumed.write} units written, ${p.refused.write} refused` +
      (p.hottest.length > 0 ? `, hottest key "${p.hottest[0].partitionKey}"` : ''));
  }
  for (const refused of table.refused) for (const advice of refused.advice) say(`  fix: ${advice}`);

  await create('events-by-suffix');
  const spread = await load(ddb, endpoint, 'events-by-suffix', (n) => `${day}.${n % 200 + 1}`);
  say(`200 suffixes, "${day}.1" to "${day}.200": ${spread.served} of ${spread.sent} writes served, ${spread.throttled} throttled`);
  return { hot, spread, report };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { DynamoDB } = await import('@aws-sdk/client-dynamodb');
  const endpoint = process.argv[2] ?? 'http://localhost:8000';
  const ddb = new DynamoDB({
    endpoint, region: 'us-east-1', maxAttempts: 1, credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
  });
  await hotDate({ ddb, endpoint, say: console.log });
  ddb.destroy();
}
