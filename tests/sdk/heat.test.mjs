// The server's record of a table's use: heat by time and key range, contributors, metrics.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { S, clientFor, operationsOf } from './clients.mjs';
import { Server, advanceClock, isStator, oneServerOnly, request } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const start = Date.parse('2026-11-21T12:00:00Z') / 1000;
const TableName = 'votes';

describe('heat', { skip: own ? oneServerOnly('capacity').skip : 'needs a server of its own' }, () => {
  let server;
  let client;
  let ddb;
  const open = async (args, dataDir) => {
    server = await Server.start({ dataDir, args: ['--clock=manual', ...args] });
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
  };
  before(() => open([`--clock-start=${start}`]));
  after(async () => {
    client.destroy();
    await server.stop();
  });
  const headers = { 'X-Stator-Management': 'true' };
  const get = (path, more = {}) => request(server.endpoint, { method: 'GET', path, headers: { ...headers, ...more } });
  const advance = (by) => advanceClock(server, by);
  async function heat(query) {
    const reply = await get(`/_stator/tables/${TableName}/heat?${query}`);
    assert.equal(reply.status, 200, reply.text);
    return JSON.parse(reply.text);
  }
  const metrics = async () => (await request(server.endpoint, { method: 'GET', path: '/metrics' })).text;
  const metric = async (name, labels) => {
    const line = (await metrics()).split('\n').find((one) => one.startsWith(`${name}{${labels}} `));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };
  const large = S('x'.repeat(9800));  // ten write units with its key, three read units
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

  test('by time and key range, of table and index', async () => {
    await ddb.CreateTable({
      TableName, ProvisionedThroughput: { ReadCapacityUnits: 6000, WriteCapacityUnits: 2000 },
      AttributeDefinitions: ['pk', 'sk', 'g'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }, { AttributeName: 'sk', KeyType: 'RANGE' }],
      GlobalSecondaryIndexes: [{
        IndexName: 'by-g', KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' },
        ProvisionedThroughput: { ReadCapacityUnits: 100, WriteCapacityUnits: 100 },
      }],
    });
    await advance(1);
    for (let i = 0; i < 30; ++i) await ddb.PutItem({ TableName, Item: { pk: S('candidate'), sk: S(`vote${i}`), large, ...(i < 10 ? { g: S('x') } : {}) } });
    await advance(60);
    for (let i = 0; i < 12; ++i) await ddb.GetItem({ TableName, Key: { pk: S('candidate'), sk: S(`vote${i}`) }, ConsistentRead: true });
    await advance('2h');
    const { resources } = await heat('last=4h&step=60s');
    assert.deepEqual(resources.map(({ type, name }) => [type, name]), [['table', 'votes'], ['index', 'by-g']]);
    const [table, index] = resources;
    assert.equal(table.ranges.length, 4);
    const units = (series) => Math.round(sum(series) * table.columnSeconds * 1000) / 1000;
    assert.equal(units(table.consumed.write), 300);
    assert.equal(units(table.consumed.read), 36);
    assert.equal(units(index.consumed.write), 100);
    const column = (series) => series.findIndex((one) => one > 0);
    assert.equal(column(table.consumed.read) - column(table.consumed.write), 1, 'a minute later');
    assert.equal(Date.parse(table.from) / 1000 + column(table.consumed.write) * table.columnSeconds, start);
    const report = JSON.parse((await get(`/_stator/tables/${TableName}/partitions`)).text).resources[0];
    assert.equal(report.lastHours.columnSeconds, 300);
    // The table is younger than the column that it was created in.
    const began = Date.parse(report.lastHours.from) / 1000;
    const written = ({ consumed }) => Math.round(sum(consumed.write.map((rate, i) => rate * Math.min(300, began + (i + 1) * 300 - start))));
    assert.equal(written(report.lastHours), 300);
    assert.deepEqual(report.partitions.map(({ lastHours }) => written(lastHours)).sort(), [0, 0, 0, 300]);
    const hot = table.ranges.filter(({ consumed }) => sum(consumed.write) > 0);
    assert.equal(hot.length, 1, 'one key is in one partition');
  });

  test('as a picture', async () => {
    for (const reply of [await get(`/_stator/tables/${TableName}/heat.svg`), await get(`/_stator/tables/${TableName}/heat`, { Accept: 'image/svg+xml' })]) {
      assert.equal(reply.status, 200);
      assert.match(reply.headers['content-type'], /^image\/svg\+xml/);
      assert.match(reply.text, /^<svg[^]*Table votes: 4 partitions[^]*<\/svg>\s*$/);
    }
    assert.equal((await get('/_stator/tables/none/heat')).status, 404);
    assert.equal((await get(`/_stator/tables/${TableName}/heat?from=x`)).status, 400);
    assert.equal((await request(server.endpoint, { method: 'GET', path: `/_stator/tables/${TableName}/heat` })).status, 403);
  });

  test('contributors', async () => {
    const path = `/_stator/tables/${TableName}/contributor-insights`;
    const disabled = await get(path);
    assert.equal(disabled.status, 404);
    assert.match(JSON.parse(disabled.text).message, /Contributor Insights of the table votes are disabled/);
    await ddb.UpdateContributorInsights({ TableName, ContributorInsightsAction: 'ENABLE' });
    const { rules } = JSON.parse((await get(path)).text);
    const { ContributorInsightsRuleList } = await ddb.DescribeContributorInsights({ TableName });
    assert.deepEqual(rules.map(({ name }) => name), ContributorInsightsRuleList);
    assert.equal(rules[0].contributors[0].partitionKey, 'candidate');
    assert.ok(rules[1].contributors[0].sortKey.startsWith('vote'));
    assert.deepEqual(rules[2].contributors, [], 'nothing was throttled');
  });

  test('metrics have the names of CloudWatch', async () => {
    assert.equal(await metric('stator_consumed_write_capacity_units_total', 'table="votes"'), 300);
    assert.equal(await metric('stator_consumed_write_capacity_units_total', 'table="votes",index="by-g"'), 100);
    assert.equal(await metric('stator_consumed_read_capacity_units_total', 'table="votes"'), 36);
    assert.equal(await metric('stator_provisioned_write_capacity_units', 'table="votes"'), 2000);
    assert.equal(await metric('stator_provisioned_read_capacity_units', 'table="votes",index="by-g"'), 100);
    assert.equal(await metric('stator_read_throttle_events_total', 'table="votes"'), 0);
    assert.equal(await metric('stator_partitions', 'table="votes"'), 4);
    assert.match(await metrics(), /^stator_account_provisioned_write_capacity_utilization 2.625$/m);
    assert.match(await metrics(), /^stator_max_provisioned_table_write_capacity_utilization 5$/m);
  });

  test('kept across a restart, gone with the table', async () => {
    const { dataDir } = server;
    client.destroy();
    server.ownsDirectory = false;
    await server.stop();
    await open([`--clock-start=${start + 4 * 3600}`], dataDir);
    server.ownsDirectory = true;
    const [table] = (await heat('last=5h&step=60s')).resources;
    assert.equal(Math.round(sum(table.consumed.write) * table.columnSeconds), 300);
    assert.match(await metrics(), /table="votes"/);
    await ddb.DeleteTable({ TableName });
    assert.doesNotMatch(await metrics(), /table="votes"/);
    assert.equal((await get(`/_stator/tables/${TableName}/heat`)).status, 404);
  });
});
