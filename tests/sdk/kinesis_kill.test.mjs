// A Kinesis destination over kill -9: writers write, the table splits, the server is killed and started again, the endpoint is away
// for a while. Every change that was acknowledged reaches the stream, the changes of an item in their order.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { clientFor, operationsOf } from './clients.mjs';
import { countingWriters, numbersByKey, pairOf, splitCounted } from './counted.mjs';
import { until } from './functions.mjs';
import { Server, isStator, onCluster } from './harness.mjs';
import { KinesisEndpoint, kKey } from './kinesis.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const kKills = Number(process.env.STATOR_TRIGGER_KILLS ?? 5);
const kWriters = 5;

test('nothing is lost over kill -9', { skip: own && !onCluster ? false : 'needs a server of its own' }, async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-kinesis-'));
  const dataDir = path.join(folder, 'data');
  let away = false, calls = 0;
  const endpoint = await KinesisEndpoint.start({
    hook: (action, { Records }) => {
      if (action !== 'PutRecords') return undefined;
      if (away) return { status: 503, body: 'away' };
      calls += 1;
      return calls % 4 === 0 ? { refuse: [Math.floor(Records.length / 2)] } : undefined;
    },
  });
  const StreamArn = await endpoint.create('killed', 3);
  const args = [`--kinesis-endpoint=${endpoint.url}`];
  let server = await Server.start({ args, dataDir, env: kKey });
  const { port } = server;
  const client = clientFor(server.endpoint);
  const ddb = operationsOf(client);
  const statusNow = async () => (await ddb.DescribeKinesisStreamingDestination({ TableName: 'Counted' })).KinesisDataStreamDestinations[0]?.DestinationStatus;
  try {
    await ddb.CreateTable({
      TableName: 'Counted', BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }], KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    });
    await ddb.EnableKinesisStreamingDestination({ TableName: 'Counted', StreamArn });
    const { acknowledged, stop, wrote } = countingWriters(ddb, kWriters);
    // The first kill is while it may still be ENABLING.
    for (let kill = 0; kill < kKills; kill += 1) {
      await wrote(30 + 20 * kill);
      if (kill === 1) await splitCounted(server.endpoint);
      away = kill % 3 === 2;
      await server.kill();
      server = await Server.start({ args, dataDir, port, env: kKey });
    }
    await wrote(20);
    away = false;
    await stop();
    await until(async () => await statusNow() === 'ACTIVE', { what: 'it is ACTIVE' });
    // A record that was refused alone comes again, with the later ones of its item, after those were taken.
    let missing;
    await until(async () => {
      const received = numbersByKey((await endpoint.read('killed')).map(({ record }) => pairOf(record.dynamodb)));
      missing = [...acknowledged].flatMap(([key, last]) => {
        const numbers = received.get(key) ?? [];
        const all = new Set(numbers);
        const lost = Array.from({ length: last }, (_, i) => i + 1).filter((n) => !all.has(n)).map((n) => `${key}: ${n} of ${last}`);
        return numbers.at(-1) === last ? lost : [...lost, `${key}: its last record has ${numbers.at(-1)}, not ${last}`];
      });
      return missing.length === 0;
    }, { within: 120_000, what: 'each change has come, that of an item which is its last as the last' }).catch((error) => {
      assert.fail(`${error.message}; missing: ${missing?.slice(0, 10).join(', ')}`);
    });
    // Disabled just before it is killed, it ends as DISABLED, too.
    await ddb.DisableKinesisStreamingDestination({ TableName: 'Counted', StreamArn });
    await server.kill();
    server = await Server.start({ args, dataDir, port, env: kKey });
    await until(async () => await statusNow() === 'DISABLED', { what: 'it is DISABLED' });
    assert.deepEqual(endpoint.problems, []);
  } finally {
    client.destroy();
    await server.stop();
    await endpoint.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
