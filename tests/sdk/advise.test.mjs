// Records the requests of the SDK on a live server and asks `stator advise` about them.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { clientFor, operationsOf } from './clients.mjs';
import { Server, binary, isStator } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;

// A minute with a busy candidate in items of 4 KB, an index that is never read and a scan for few
// items. The clock stands still, so the votes are all of one second.
async function play(server) {
  const client = clientFor(server.endpoint);
  const ddb = operationsOf(client);
  const TableName = 'Votes';
  await ddb.CreateTable({
    TableName, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'candidate', AttributeType: 'S' }, { AttributeName: 'party', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'candidate', KeyType: 'HASH' }],
    GlobalSecondaryIndexes: [{
      IndexName: 'by-party', KeySchema: [{ AttributeName: 'party', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' },
    }],
  });
  for (let i = 0; i < 60; ++i) {
    await ddb.PutItem({
      TableName, Item: { candidate: { S: `candidate-${i}` }, party: { S: `p${i % 3}` }, speech: { S: 'x'.repeat(4000) }, votes: { N: '0' } },
    });
  }
  const vote = (candidate) => ddb.UpdateItem({
    TableName, Key: { candidate: { S: candidate } }, UpdateExpression: 'ADD votes :one', ExpressionAttributeValues: { ':one': { N: '1' } },
    ReturnConsumedCapacity: 'TOTAL',
  });
  let units = 0;
  for (let i = 0; i < 15; ++i) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => vote('candidate-7')));
    for (const { ConsumedCapacity } of answers) {
      units += ConsumedCapacity.CapacityUnits;
      assert.equal(ConsumedCapacity.Table, undefined, 'the client gets what it asked for');
    }
  }
  for (let i = 0; i < 20; ++i) {
    await ddb.Scan({ TableName, FilterExpression: 'votes > :n', ExpressionAttributeValues: { ':n': { N: '5' } } });
  }
  client.destroy();
  return units;
}

const advise = (...args) => JSON.parse(execFileSync(binary, ['advise', '--json', ...args], { encoding: 'utf8' }));

describe('recorded requests and advice', { skip: own ? false : 'needs a server of its own' }, () => {
  let directory;
  before(() => { directory = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-advise-')); });
  after(() => fs.rmSync(directory, { recursive: true, force: true }));

  for (const keys of ['plain', 'hashed']) {
    test(`a hot key, a sparse index, an unused one and large items, keys ${keys}`, async () => {
      const file = path.join(directory, `${keys}.log`);
      const server = await Server.start({
        one: true, args: ['--clock=manual', '--clock-start=2026-11-21T12:00:00Z', `--record=${file}`, `--record-keys=${keys}`],
      });
      const units = await play(server).finally(() => server.stop());

      const report = advise(file);
      assert.equal(report.recording.damaged, 0);
      assert.equal(report.recording.lost, 0);
      assert.equal(report.recording.requests, 60 + 300 + 20);
      const [table] = report.tables;
      const findings = new Map(table.findings.map((finding) => [finding.id, finding]));
      const hot = findings.get('hot-key');
      assert.equal(hot.level, 'problem');
      assert.equal(hot.index, undefined);
      // 5 units for each of the table; the index, whose entries change too, pays as much.
      assert.ok(hot.evidence.suffixes >= 2, hot.text);
      const inTable = table.resources.find(({ kind }) => kind === 'table').writes;
      const inIndex = table.resources.find(({ kind }) => kind === 'index').writes;
      const puts = 60 * 4;
      assert.equal(inTable.units + inIndex.units - 2 * puts, units, 'the units that the clients were told');
      assert.ok(findings.get('unused-index').evidence.write_units > 0);
      assert.equal(findings.get('split-items-written').evidence.updates, 300);
      assert.equal(findings.get('sparse-index').evidence.scanned, 20 * 60);
      // By the table or by its index, whichever is full first where the keys happen to lie.
      assert.match(Object.keys(table.model.reasons).join(), /WriteKeyRangeThroughputExceeded/, 'the model would have throttled it');

      const text = fs.readFileSync(file, 'utf8');
      assert.equal(text.includes('candidate-7'), keys === 'plain');
      assert.equal(hot.text.includes('candidate-7'), keys === 'plain');
    });
  }

  test('a server does not record into a file of another kind', () => {
    const file = path.join(directory, 'notes.txt');
    fs.writeFileSync(file, 'precious\n');
    const { status, stderr } = spawnSync(binary, ['serve', '--in-memory', '--port=0', `--record=${file}`], { encoding: 'utf8', timeout: 60000 });
    assert.equal(status, 1);
    assert.match(stderr, /is there already and is no recording of requests/);
    assert.equal(fs.readFileSync(file, 'utf8'), 'precious\n');
    assert.equal(spawnSync(binary, ['advise', file]).status, 1);
  });
});
