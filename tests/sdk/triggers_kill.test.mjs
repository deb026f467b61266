// Triggers over kill -9: writers write, the server is killed and started again, and targets are away for a while. Every change that
// was acknowledged is delivered, in the order of its item, and an archive has each of them once.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import zlib from 'node:zlib';

import { clientFor, operationsOf } from './clients.mjs';
import { assertAllInOrder, countingWriters, splitCounted } from './counted.mjs';
import { FunctionHost, mappingsOf, until } from './functions.mjs';
import { Server, isStator, onCluster } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const kKills = Number(process.env.STATOR_TRIGGER_KILLS ?? 6);
const kWriters = 6;

function archived(directory) {
  if (!fs.existsSync(directory)) return [];
  return fs.readdirSync(directory, { recursive: true }).filter((name) => name.endsWith('.ndjson.gz')).sort().flatMap((name) =>
    zlib.gunzipSync(fs.readFileSync(path.join(directory, name))).toString().trimEnd().split('\n').map((line) => ({ ...JSON.parse(line), file: name })));
}

test('nothing is lost over kill -9, splits and targets that are away', { skip: own && !onCluster ? false : 'needs a server of its own' }, async (context) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-kill-'));
  const dataDir = path.join(folder, 'data');
  let away = false, deliveries = 0;
  const received = new Map();  // numbers by key, in the order of their arrival
  const host = await FunctionHost.start({
    counter: async (event, message, reply) => {
      if (away) return reply.writeHead(503).end('away');
      await delay(2);
      deliveries += event.Records.length;
      for (const { dynamodb } of event.Records) {
        const key = dynamodb.Keys.pk.S;
        if (!received.has(key)) received.set(key, []);
        received.get(key).push(Number(dynamodb.NewImage.n.N));
      }
      return {};
    },
  });
  fs.writeFileSync(path.join(folder, 'stator.toml'), `
    [[functions]]
    name = "archive"
    directory = "archive"
    [[triggers]]
    table = "Counted"
    function = "archive"
    batch-size = 37
  `);
  const args = [`--config=${folder}/stator.toml`, `--lambda-endpoint=${host.endpoint}`];
  let server = await Server.start({ args, dataDir });
  const { port } = server;
  const client = clientFor(server.endpoint, { maxAttempts: 1 });
  const ddb = operationsOf(client);
  try {
    const { TableDescription } = await ddb.CreateTable({
      TableName: 'Counted', BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
    });
    const made = await mappingsOf(server.endpoint).create({
      FunctionName: 'counter', EventSourceArn: TableDescription.LatestStreamArn, StartingPosition: 'LATEST', BatchSize: 20, ParallelizationFactor: 2,
    });
    assert.equal(made.status, 202, JSON.stringify(made.body));

    const { acknowledged, stop } = countingWriters(ddb, kWriters);
    for (let kill = 0; kill < kKills; kill += 1) {
      await delay(250 + 130 * kill);
      if (kill === 1) await splitCounted(server.endpoint);
      away = kill % 3 === 2;
      await server.kill();
      server = await Server.start({ args, dataDir, port });
    }
    await delay(300);
    away = false;
    await stop();
    const total = [...acknowledged.values()].reduce((a, b) => a + b, 0);
    const directory = path.join(folder, 'archive');
    await until(() => [...acknowledged].every(([key, last]) => received.get(key)?.includes(last)), { within: 120000, what: 'the last changes arrive' });
    await until(() => archived(directory).length >= total, { within: 120000, what: `the archive has ${total} changes` });

    assertAllInOrder(acknowledged, received);
    const lines = archived(directory);
    const fileOf = new Map();
    for (const { dynamodb: { SequenceNumber }, file } of lines) {
      assert.ok(!fileOf.has(SequenceNumber), `${SequenceNumber} is in ${fileOf.get(SequenceNumber)} and in ${file}, ${lines.length} lines of ${total} changes`);
      fileOf.set(SequenceNumber, file);
    }
    const numbers = new Set(lines.map((line) => `${line.dynamodb.Keys.pk.S} ${line.dynamodb.NewImage.n.N}`));
    assert.equal(numbers.size, total);
    context.diagnostic(`${total} changes, ${deliveries} deliveries, ${kKills} kills`);
  } finally {
    client.destroy();
    await server.stop();
    await host.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
