// Shared by the live scripts of the lessons: a table, a load of a number of writes in each second of a manual clock, and what
// became of it.
//
//   stator serve --in-memory --throttling=enforce --clock=manual
//   npm install && node hot-date/live.mjs [http://localhost:8000]
const kTogether = 50;

export async function manage(endpoint, method, path, body) {
  const reply = await fetch(`${endpoint}/_stator/${path}`, {
    method, headers: { 'X-Stator-Management': 'true' }, body: body && JSON.stringify(body),
  });
  const answer = await reply.json();
  if (!reply.ok) throw new Error(`${method} ${path}: ${answer.message}`);
  return answer;
}

// A table with the partition key `pk` and the sort key `sk`, made anew. `options`: members of CreateTable.
export async function createTable(ddb, TableName, options) {
  await ddb.deleteTable({ TableName }).catch(() => {}); // of an earlier run, if there is one
  await ddb.createTable({
    TableName,
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'sk', AttributeType: 'S' }, ...options.attributes ?? []],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
    ...(options.provisioned
      ? { ProvisionedThroughput: { ReadCapacityUnits: options.provisioned[0], WriteCapacityUnits: options.provisioned[1] } }
      : { BillingMode: 'PAY_PER_REQUEST' }),
    ...options.more,
  });
}

// Calls `send(n)` `perSecond` times in every one of `seconds`, and counts what became of the requests. The clock moves a
// second after each.
export async function offer(endpoint, { perSecond, seconds, send }) {
  const outcome = { sent: 0, served: 0, throttled: 0, message: undefined, reasons: new Set() };
  const one = async (n) => {
    outcome.sent++;
    try {
      await send(n);
      outcome.served++;
    } catch (error) {
      if (!/Throughput|Throttling/.test(error.name)) throw error;
      outcome.throttled++;
      outcome.message = error.message;
      for (const { reason } of error.ThrottlingReasons ?? []) outcome.reasons.add(reason);
    }
  };
  for (let second = 0; second < seconds; second++) {
    for (let n = 0; n < perSecond; n += kTogether) {
      await Promise.all(Array.from({ length: Math.min(kTogether, perSecond - n) }, (_, i) => one(second * perSecond + n + i)));
    }
    await manage(endpoint, 'POST', 'clock', { advance: 1 });
  }
  return outcome;
}

// Offers writes of items of `units` write units each. `keyOf(n)`: the partition key of the n-th.
export function load({ ddb, endpoint }, TableName, { perSecond, units, seconds, keyOf, attributesOf = () => ({}) }) {
  const pad = { S: 'x'.repeat(Math.max(0, units * 1024 - 200)) };
  return offer(endpoint, { perSecond, seconds, send: (n) => ddb.putItem({
    TableName, Item: { pk: { S: keyOf(n) }, sk: { S: String(n).padStart(9, '0') }, pad, ...attributesOf(n) } }) });
}

// Waits up to ten seconds of real time until `condition` holds: for work that the server does in the background.
export async function eventually(condition) {
  for (let tries = 0; tries < 200; tries++) {
    if (await condition()) return true;
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
  return false;
}

export const partitionsOf = async (endpoint, table) => (await manage(endpoint, 'GET', `tables/${table}/partitions`)).resources[0].partitions;

// Runs `play` if the module is the program. Arguments: addresses of servers, and the directory of a cluster where a script wants one.
export async function main(module, play) {
  if (process.argv[1] !== new URL(module).pathname) return;
  const { DynamoDB } = await import('@aws-sdk/client-dynamodb');
  const { DynamoDBStreams } = await import('@aws-sdk/client-dynamodb-streams');
  const given = process.argv.slice(2);
  const endpoints = given.filter((one) => /^https?:/.test(one));
  const endpoint = endpoints[0] ?? 'http://localhost:8000';
  const settings = { region: 'us-east-1', maxAttempts: 1, credentials: { accessKeyId: 'any', secretAccessKey: 'any' } };
  // A client of one server; `timeout`: milliseconds that it waits for an answer.
  const connect = (address, { timeout, ...more } = {}) => new DynamoDB({
    ...settings, endpoint: address, ...(timeout && { requestHandler: { requestTimeout: timeout, throwOnRequestTimeout: true } }), ...more });
  const ddb = connect(endpoint), streams = new DynamoDBStreams({ ...settings, endpoint });
  await play({ ddb, streams, endpoint, endpoints, connect, directory: given.find((one) => !/^https?:/.test(one)), say: console.log });
  ddb.destroy();
  streams.destroy();
}
