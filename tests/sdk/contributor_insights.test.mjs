// Contributor Insights through the SDK: its paginator and, where it has one, its waiter.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as sdk from '@aws-sdk/client-dynamodb';

import { assertFails, assertSame, clientFor, operationsOf } from './clients.mjs';
import { Server, advanceClock, isStator } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const start = Date.parse('2026-11-21T12:00:00Z') / 1000;

describe('contributor insights', { skip: own ? false : 'needs a server of its own' }, () => {
  let server;
  let client;
  let ddb;
  before(async () => {
    server = await Server.start({
      args: ['--clock=manual', `--clock-start=${start}`, '--delay-transient-statuses'],
    });
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
  });
  after(async () => {
    client.destroy();
    await server.stop();
  });
  const advance = (by) => advanceClock(server, by);
  const statusOf = async (input) => (await ddb.DescribeContributorInsights(input)).ContributorInsightsStatus;
  const table = (TableName) => ddb.CreateTable({
    TableName, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }, { AttributeName: 'g', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    GlobalSecondaryIndexes: [{
      IndexName: 'by-g', KeySchema: [{ AttributeName: 'g', KeyType: 'HASH' }], Projection: { ProjectionType: 'ALL' },
    }],
  });

  test('takes its time with delayed statuses', async () => {
    const TableName = 'Music';
    await table(TableName);
    await advance(3);
    assert.equal(await statusOf({ TableName }), 'DISABLED');
    await assertFails(ddb.DescribeContributorInsights({ TableName: 'Missing' }), 'ResourceNotFoundException',
      'Requested resource not found: Table: Missing not found');
    const answer = await ddb.UpdateContributorInsights({ TableName, ContributorInsightsAction: 'ENABLE' });
    assert.equal(answer.ContributorInsightsStatus, 'ENABLING');
    await advance(2);
    assert.equal(await statusOf({ TableName }), 'ENABLING');
    assert.equal(await statusOf({ TableName, IndexName: 'by-g' }), 'DISABLED', 'the index has its own');
    const waiter = sdk.waitUntilContributorInsightsEnabled?.({ client, maxWaitTime: 120, minDelay: 1, maxDelay: 1 }, { TableName });
    await advance(1);
    if (waiter !== undefined) assert.equal((await waiter).state, 'SUCCESS');
    const described = await ddb.DescribeContributorInsights({ TableName });
    assert.ok(described.LastUpdateDateTime instanceof Date);
    assert.equal(described.LastUpdateDateTime.getTime(), (start + 3) * 1000);
    assert.equal(described.ContributorInsightsStatus, 'ENABLED');
    assertSame(described.ContributorInsightsRuleList, ['PKC', 'PKT'].map(
      (kind) => `DynamoDBContributorInsights-${kind}-Music-${(start + 3) * 1000}`));

    await ddb.UpdateContributorInsights({ TableName, ContributorInsightsAction: 'DISABLE' });
    assert.equal(await statusOf({ TableName }), 'DISABLING');
    await advance(3);
    assert.equal(await statusOf({ TableName }), 'DISABLED');
  });

  test('lists in pages', async () => {
    const names = Array.from({ length: 7 }, (_, i) => `List${i}`);
    for (const TableName of names) {
      await table(TableName);
      await ddb.UpdateContributorInsights({ TableName, ContributorInsightsAction: 'ENABLE' });
      await ddb.UpdateContributorInsights({ TableName, IndexName: 'by-g', ContributorInsightsAction: 'ENABLE' });
    }
    await advance(3);
    const seen = [];
    let NextToken;
    do {
      const page = await ddb.ListContributorInsights({ MaxResults: 4, NextToken });
      assert.ok(page.ContributorInsightsSummaries.length <= 4);
      seen.push(...page.ContributorInsightsSummaries.map(({ TableName, IndexName }) => [TableName, IndexName ?? '']));
      ({ NextToken } = page);
    } while (NextToken !== undefined);
    assert.deepEqual(seen.filter(([name]) => name.startsWith('List')), names.flatMap((name) => [[name, ''], [name, 'by-g']]));
    await ddb.DeleteTable({ TableName: 'List3' });
    await advance(3);
    const left = (await ddb.ListContributorInsights()).ContributorInsightsSummaries;
    assert.ok(!left.some(({ TableName }) => TableName === 'List3'), 'gone with its table');
  });

  test('is kept across a restart', async () => {
    const { dataDir } = server;
    await server.kill();
    server = await Server.start({ dataDir, args: ['--clock=manual', `--clock-start=${start + 60}`] });
    server.ownsDirectory = true;
    client.destroy();
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
    assert.equal(await statusOf({ TableName: 'List1', IndexName: 'by-g' }), 'ENABLED');
    assert.equal(await statusOf({ TableName: 'Music' }), 'DISABLED');
  });
});
