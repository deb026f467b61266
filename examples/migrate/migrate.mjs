// Copies tables between two servers of the DynamoDB API, in either direction, and compares what is there afterwards.
//
//   npm install
//   node migrate.mjs --from http://localhost:8001 --to http://localhost:8000 [--tables a,b] [--parallel 4] [--on-demand]
//                    [--compare-only] [--resume]
//
// `--from aws` and `--to aws` are DynamoDB itself, with the region and the credentials of the environment. Writers of the source
// must rest while a table is copied; the comparison at the end tells if they did not. `--resume` goes on with tables that exist in
// the target: it writes their items again. Exit status: 0 if all tables are equal, 1 if not.
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import {
  BatchWriteItemCommand, CreateTableCommand, DescribeTableCommand, DescribeTimeToLiveCommand, DynamoDBClient, ListTablesCommand,
  ListTagsOfResourceCommand, ScanCommand, TagResourceCommand, UpdateTableCommand, UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';

const kBatch = 25;
const kFirstPauseMillis = 50;
const kLongestPauseMillis = 5000;
const kActiveMillis = 600000;
const kEqualParts = 256;

const { values: options } = parseArgs({
  options: {
    from: { type: 'string' }, to: { type: 'string' }, tables: { type: 'string' }, parallel: { type: 'string', default: '4' },
    'on-demand': { type: 'boolean', default: false }, 'compare-only': { type: 'boolean', default: false }, resume: { type: 'boolean', default: false },
  },
});
if (!options.from || !options.to) {
  console.error('usage: node migrate.mjs --from URL|aws --to URL|aws [--tables a,b] [--parallel N] [--on-demand] [--compare-only] [--resume]');
  process.exit(2);
}
const parallel = Number(options.parallel);
if (!(Number.isInteger(parallel) && parallel >= 1 && parallel <= 100)) throw new Error('--parallel is a number from 1 to 100');

function clientOf(where) {
  if (where === 'aws') return new DynamoDBClient({ maxAttempts: 10 });
  const anyone = { accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? 'any', secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? 'any' };
  return new DynamoDBClient({ endpoint: where, region: process.env.AWS_REGION ?? 'us-east-1', credentials: anyone, maxAttempts: 10 });
}
const from = clientOf(options.from);
const to = clientOf(options.to);

async function tableNames(client) {
  const names = [];
  for (let start; ;) {
    const page = await client.send(new ListTablesCommand({ ExclusiveStartTableName: start }));
    names.push(...page.TableNames);
    start = page.LastEvaluatedTableName;
    if (start === undefined) return names;
  }
}

async function describe(client, TableName) {
  try {
    return (await client.send(new DescribeTableCommand({ TableName }))).Table;
  } catch (error) {
    if (error.name === 'ResourceNotFoundException') return undefined;
    throw error;
  }
}

async function untilActive(client, TableName) {
  const end = Date.now() + kActiveMillis;
  for (;;) {
    const table = await describe(client, TableName);
    if (table?.TableStatus === 'ACTIVE' && (table.GlobalSecondaryIndexes ?? []).every((index) => index.IndexStatus === 'ACTIVE')) return;
    if (Date.now() > end) throw new Error(`${TableName} is not ACTIVE after ${kActiveMillis / 1000} s`);
    await delay(200);
  }
}

const throughputOf = ({ ReadCapacityUnits, WriteCapacityUnits }) => ({ ReadCapacityUnits, WriteCapacityUnits });

// The request that makes a table like one that was described, without its stream: copied items are no changes.
function definitionOf(table) {
  const onDemand = options['on-demand'] || table.BillingModeSummary?.BillingMode === 'PAY_PER_REQUEST';
  const index = ({ IndexName, KeySchema, Projection }) => ({ IndexName, KeySchema, Projection });
  return {
    TableName: table.TableName,
    AttributeDefinitions: table.AttributeDefinitions,
    KeySchema: table.KeySchema,
    BillingMode: onDemand ? 'PAY_PER_REQUEST' : 'PROVISIONED',
    ...(onDemand ? {} : { ProvisionedThroughput: throughputOf(table.ProvisionedThroughput) }),
    ...(table.LocalSecondaryIndexes ? { LocalSecondaryIndexes: table.LocalSecondaryIndexes.map(index) } : {}),
    ...(table.GlobalSecondaryIndexes ? {
      GlobalSecondaryIndexes: table.GlobalSecondaryIndexes.map((one) => ({ ...index(one), ...(onDemand ? {} : { ProvisionedThroughput: throughputOf(one.ProvisionedThroughput) }) })),
    } : {}),
    ...(table.TableClassSummary ? { TableClass: table.TableClassSummary.TableClass } : {}),
  };
}

// Calls `use` with each page of items; `parallel` segments of the table at the same time.
function scan(client, TableName, use) {
  return Promise.all(Array.from({ length: parallel }, async (_, Segment) => {
    for (let ExclusiveStartKey; ;) {
      const page = await client.send(new ScanCommand({ TableName, ExclusiveStartKey, ConsistentRead: true, Segment, TotalSegments: parallel }));
      await use(page.Items);
      ExclusiveStartKey = page.LastEvaluatedKey;
      if (ExclusiveStartKey === undefined) return;
    }
  }));
}

// Writes items and repeats those that were not taken, after pauses that grow.
async function write(TableName, items) {
  for (let i = 0; i < items.length; i += kBatch) {
    let rest = items.slice(i, i + kBatch).map((Item) => ({ PutRequest: { Item } }));
    for (let pause = kFirstPauseMillis; rest.length > 0; pause = Math.min(2 * pause, kLongestPauseMillis)) {
      try {
        const answer = await to.send(new BatchWriteItemCommand({ RequestItems: { [TableName]: rest } }));
        rest = answer.UnprocessedItems?.[TableName] ?? [];
      } catch (error) {
        if (!['ProvisionedThroughputExceededException', 'ThrottlingException'].includes(error.name)) throw error;
      }
      if (rest.length > 0) await delay(pause * (0.5 + Math.random() / 2));
    }
  }
}

// One text for equal values: attributes and sets in the order of their bytes.
function canonical(value) {
  const [[type, content]] = Object.entries(value);
  switch (type) {
    case 'M': return `M{${canonicalItem(content)}}`;
    case 'L': return `L[${content.map(canonical).join(',')}]`;
    case 'B': return `B${Buffer.from(content).toString('base64')}`;
    case 'BS': return `BS${content.map((one) => Buffer.from(one).toString('base64')).sort().join(',')}`;
    case 'SS': case 'NS': return `${type}${JSON.stringify([...content].sort())}`;
    default: return `${type}${JSON.stringify(content)}`;
  }
}
const canonicalItem = (item) => Object.keys(item).sort().map((name) => `${JSON.stringify(name)}:${canonical(item[name])}`).join(',');

// Counts the items and sums their digests in parts by digest, in any order of the items.
async function summary(client, TableName) {
  const parts = Array.from({ length: kEqualParts }, () => ({ items: 0, sum: 0n }));
  await scan(client, TableName, (items) => {
    for (const item of items) {
      const digest = createHash('sha256').update(canonicalItem(item)).digest();
      const part = parts[digest[0]];
      part.items += 1;
      part.sum = (part.sum + digest.readBigUInt64BE(8)) & 0xffffffffffffffffn;
    }
  });
  return { items: parts.reduce((sum, part) => sum + part.items, 0), digest: parts.map((part) => `${part.items}:${part.sum}`).join(' ') };
}

async function copy(table) {
  const { TableName } = table;
  if (await describe(to, TableName)) {
    if (!options.resume) throw new Error(`${TableName} exists in the target: delete it there, or choose --resume`);
  } else {
    await to.send(new CreateTableCommand(definitionOf(table)));
  }
  await untilActive(to, TableName);
  let copied = 0;
  await scan(from, TableName, async (items) => {
    await write(TableName, items);
    copied += items.length;
  });
  console.log(`${TableName}: ${copied} items copied`);
}

// Tags, time to live, stream and protection come last: none of them is to act on the copying.
async function finish(table) {
  const { TableName } = table;
  const target = await describe(to, TableName);
  try {
    const { Tags = [] } = await from.send(new ListTagsOfResourceCommand({ ResourceArn: table.TableArn }));
    if (Tags.length > 0) await to.send(new TagResourceCommand({ ResourceArn: target.TableArn, Tags }));
  } catch (error) {
    if (error.name !== 'UnknownOperationException') throw error;
    console.log(`${TableName}: one of the servers has no tags; they are not copied`);
  }
  if (table.StreamSpecification?.StreamEnabled && !target.StreamSpecification?.StreamEnabled) {
    await to.send(new UpdateTableCommand({ TableName, StreamSpecification: table.StreamSpecification }));
    await untilActive(to, TableName);
  }
  if (table.DeletionProtectionEnabled) {
    await to.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: true }));
    await untilActive(to, TableName);
  }
  const { TimeToLiveDescription: ttl } = await from.send(new DescribeTimeToLiveCommand({ TableName }));
  const { TimeToLiveDescription: there } = await to.send(new DescribeTimeToLiveCommand({ TableName }));
  if (['ENABLED', 'ENABLING'].includes(ttl?.TimeToLiveStatus) && !['ENABLED', 'ENABLING'].includes(there?.TimeToLiveStatus)) {
    await to.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { Enabled: true, AttributeName: ttl.AttributeName } }));
  }
}

let different = 0;
for (const TableName of options.tables?.split(',') ?? await tableNames(from)) {
  const table = await describe(from, TableName);
  if (!table) throw new Error(`${TableName} does not exist in the source`);
  if (!options['compare-only']) await copy(table);
  const [source, target] = await Promise.all([summary(from, TableName), summary(to, TableName)]);
  const equal = source.digest === target.digest;
  console.log(`${TableName}: ${source.items} items in the source, ${target.items} in the target: ${equal ? 'equal' : 'NOT EQUAL'}`);
  if (!equal) different += 1;
  else if (!options['compare-only']) await finish(table);
}
if (different > 0) console.error(`${different} tables are not equal: copy them again with --resume while nothing writes to the source`);
process.exit(different > 0 ? 1 : 0);
