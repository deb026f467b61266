// Pages of lists while tables come and go: a walk meets each table that is there all the time once, in order, whatever happens to
// the others.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as streamsSdk from '@aws-sdk/client-dynamodb-streams';

import { clientFor, operationsOf } from './clients.mjs';
import { Server, isStator } from './harness.mjs';

const own = isStator && !process.env.STATOR_ENDPOINT;
const kStaying = 30;
const kRounds = 3;
// Each leaves streams behind, of which a walk shall come to the end on any machine.
const kMostChurns = 50;

describe('pages of lists', { skip: own ? false : 'needs a server of its own' }, () => {
  let server;
  let client;
  let streamsClient;
  let ddb;
  const staying = Array.from({ length: kStaying }, (_, i) => `Stays${String(i).padStart(2, '0')}`);
  before(async () => {
    server = await Server.start();
    client = clientFor(server.endpoint);
    ddb = operationsOf(client);
    streamsClient = new streamsSdk.DynamoDBStreamsClient({
      endpoint: server.endpoint, region: 'us-east-1', credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' },
    });
    for (const name of staying) await make(name);
  });
  after(async () => {
    client.destroy();
    streamsClient.destroy();
    await server.stop();
  });

  const make = async (TableName) => {
    await ddb.CreateTable({
      TableName, BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
    });
    await ddb.UpdateContributorInsights({ TableName, ContributorInsightsAction: 'ENABLE' });
  };
  // Makes and drops tables that sort before, between and behind those that stay, until it is asked to stop.
  const churn = () => {
    let stopped = false;
    let rounds = 0;
    const run = (async () => {
      while (!stopped && rounds < kMostChurns) {
        for (const name of ['Aaa', 'Stays07b', 'Stays20b', 'Zzz']) {
          await make(name);
          await ddb.DeleteTable({ TableName: name });
        }
        ++rounds;
      }
    })();
    return { rounds: () => rounds, stop: () => { stopped = true; return run; } };
  };
  const listStreams = (input) => streamsClient.send(new streamsSdk.ListStreamsCommand(input));

  const walks = {
    ListStreams: async (most) => {
      const names = [];
      let ExclusiveStartStreamArn;
      do {
        const page = await listStreams({ Limit: most, ExclusiveStartStreamArn });
        assert.ok(page.Streams.length <= most);
        names.push(...page.Streams.map(({ TableName }) => TableName));
        ExclusiveStartStreamArn = page.LastEvaluatedStreamArn;
        if (ExclusiveStartStreamArn !== undefined) assert.equal(ExclusiveStartStreamArn, page.Streams.at(-1).StreamArn);
      } while (ExclusiveStartStreamArn !== undefined);
      return names;
    },
    ListContributorInsights: async (MaxResults) => {
      const names = [];
      let NextToken;
      do {
        const page = await ddb.ListContributorInsights({ MaxResults, NextToken });
        assert.ok(page.ContributorInsightsSummaries.length <= MaxResults);
        names.push(...page.ContributorInsightsSummaries.map(({ TableName }) => TableName));
        ({ NextToken } = page);
      } while (NextToken !== undefined);
      return names;
    },
    ListTables: async (Limit) => {
      const names = [];
      let ExclusiveStartTableName;
      do {
        const page = await ddb.ListTables({ Limit, ExclusiveStartTableName });
        assert.ok(page.TableNames.length <= Limit);
        names.push(...page.TableNames);
        ExclusiveStartTableName = page.LastEvaluatedTableName;
      } while (ExclusiveStartTableName !== undefined);
      return names;
    },
  };
  for (const [operation, walk] of Object.entries(walks)) {
    test(`${operation} meets what stays once and in order, while tables come and go`, async () => {
      const others = churn();
      try {
        for (let round = 0; round < kRounds; ++round) {
          for (const most of [1, 7, 100]) {
            const names = await walk(most);
            assert.deepEqual(names.filter((name) => staying.includes(name)), staying, `${operation} by ${most}`);
            assert.deepEqual(names, [...names].sort(), 'in order');
          }
        }
      } finally {
        await others.stop();
      }
      assert.ok(others.rounds() > 0);
    });
  }

  test('a page goes on behind a stream, a table with insights and a table that are gone', async () => {
    const name = 'Stays10b';
    await make(name);
    const [{ StreamArn }] = (await listStreams({ TableName: name })).Streams;
    const all = (await ddb.ListContributorInsights({ MaxResults: 100 })).ContributorInsightsSummaries.map(({ TableName }) => TableName);
    const page = await ddb.ListContributorInsights({ MaxResults: all.indexOf(name) + 1 });
    assert.equal(page.ContributorInsightsSummaries.at(-1).TableName, name);
    await ddb.DeleteTable({ TableName: name });
    assert.equal((await ddb.ListContributorInsights({ MaxResults: 1, NextToken: page.NextToken })).ContributorInsightsSummaries[0].TableName, 'Stays11');
    assert.equal((await ddb.ListTables({ Limit: 1, ExclusiveStartTableName: name })).TableNames[0], 'Stays11');
    assert.equal((await listStreams({ Limit: 1, ExclusiveStartStreamArn: StreamArn })).Streams[0].TableName, 'Stays11');
    // The table's name alone begins at its streams, which are there for a day.
    assert.deepEqual((await listStreams({ TableName: name })).Streams.map((stream) => stream.StreamArn), [StreamArn]);
    assert.deepEqual((await listStreams({ TableName: name, ExclusiveStartStreamArn: StreamArn })).Streams, []);
  });
});
