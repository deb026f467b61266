// Tables: life cycle, validation, listing, settings, tags, limits and the answers of operations that are not built.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { paginateListTables, waitUntilTableExists, waitUntilTableNotExists } from '@aws-sdk/client-dynamodb';

import { N, S, assertFails, assertSame, suite } from './clients.mjs';
import { call, isLocal, isStator, referenceOnly } from './harness.mjs';

const context = await suite();
const waiting = { maxWaitTime: 30, minDelay: 1, maxDelay: 1 };
const hash = (AttributeName = 'pk') => ({ AttributeName, KeyType: 'HASH' });
const range = (AttributeName = 'sk') => ({ AttributeName, KeyType: 'RANGE' });
const define = (...specs) => specs.map((spec) => ({ AttributeName: spec.split(':')[0], AttributeType: spec.split(':')[1] }));
const simple = { KeySchema: [hash()], AttributeDefinitions: define('pk:S'), BillingMode: 'PAY_PER_REQUEST' };
const notFound = (name) => (isLocal ? '' : `Requested resource not found: Table: ${name} not found`);

describe('life cycle', () => {
  test('create, describe, wait, use, delete, wait', async () => {
    const TableName = context.name('life');
    const { TableDescription: created } = await context.ddb.CreateTable({
      TableName, KeySchema: [hash(), range()], AttributeDefinitions: define('pk:S', 'sk:N'), BillingMode: 'PAY_PER_REQUEST',
    });
    if (isStator) assert.equal(created.TableStatus, 'CREATING');
    assert.equal(created.TableName, TableName);
    const { Table } = await context.ddb.DescribeTable({ TableName });
    assert.equal(Table.TableStatus, 'ACTIVE');
    assert.deepEqual(Table.KeySchema, [hash(), range()]);
    assertSame([...Table.AttributeDefinitions].sort((a, b) => a.AttributeName.localeCompare(b.AttributeName)), define('pk:S', 'sk:N'));
    assert.ok(Table.CreationDateTime instanceof Date && Math.abs(Date.now() - Table.CreationDateTime) < 60000, `${Table.CreationDateTime}`);
    assert.match(Table.TableArn, new RegExp(`^arn:aws:dynamodb:[a-z0-9-]+:[0-9]{12}:table/${TableName.replaceAll('.', '\\.')}$`));
    if (isStator) assert.match(Table.TableId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.equal(Table.TableArn, created.TableArn);
    assert.equal(Table.TableId, created.TableId);
    assert.equal(Table.ItemCount, 0);
    assert.equal(Table.TableSizeBytes, 0);
    assert.equal(Table.BillingModeSummary.BillingMode, 'PAY_PER_REQUEST');
    assert.equal(Table.ProvisionedThroughput.ReadCapacityUnits, 0);
    assert.equal(Table.ProvisionedThroughput.WriteCapacityUnits, 0);
    assert.equal(Table.DeletionProtectionEnabled, false);
    const { state } = await waitUntilTableExists({ client: context.client, ...waiting }, { TableName });
    assert.equal(state, 'SUCCESS');
    await context.ddb.PutItem({ TableName, Item: { pk: S('a'), sk: N(1) } });
    const { TableDescription: deleted } = await context.ddb.DeleteTable({ TableName });
    if (isStator) assert.equal(deleted.TableStatus, 'DELETING');
    await waitUntilTableNotExists({ client: context.client, ...waiting }, { TableName });
    await assertFails(context.ddb.DescribeTable({ TableName }), 'ResourceNotFoundException', notFound(TableName));
  });
  test('a table made again under the same name is empty and another table', async () => {
    const TableName = await context.table('again');
    const { Table: first } = await context.ddb.DescribeTable({ TableName });
    await context.ddb.PutItem({ TableName, Item: { pk: S('old') } });
    await context.ddb.DeleteTable({ TableName });
    await waitUntilTableNotExists({ client: context.client, ...waiting }, { TableName });
    await context.table('again');
    const { Table: second } = await context.ddb.DescribeTable({ TableName });
    if (isStator) assert.notEqual(second.TableId, first.TableId);
    assert.equal((await context.ddb.Scan({ TableName })).Count, 0);
  });
  test('provisioned', async () => {
    const TableName = await context.table('provisioned', 'pk:S', undefined, { ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 7 } });
    const { Table } = await context.ddb.DescribeTable({ TableName });
    assert.equal(Table.ProvisionedThroughput.ReadCapacityUnits, 5);
    assert.equal(Table.ProvisionedThroughput.WriteCapacityUnits, 7);
    assert.equal(Table.ProvisionedThroughput.NumberOfDecreasesToday, 0);
    assert.notEqual(Table.BillingModeSummary?.BillingMode, 'PAY_PER_REQUEST');
  });
  test('a name that is taken', async () => {
    const TableName = await context.table('taken');
    await assertFails(context.ddb.CreateTable({ ...simple, TableName }), 'ResourceInUseException', isLocal ? '' : `Table already exists: ${TableName}`);
  });
  test('missing tables', async () => {
    const TableName = context.name('missing');
    await assertFails(context.ddb.DescribeTable({ TableName }), 'ResourceNotFoundException', notFound(TableName));
    await assertFails(context.ddb.DeleteTable({ TableName }), 'ResourceNotFoundException', notFound(TableName));
    await assertFails(context.ddb.UpdateTable({ TableName, BillingMode: 'PAY_PER_REQUEST' }), 'ResourceNotFoundException', notFound(TableName));
  });
  test('ItemCount and TableSizeBytes follow the items', referenceOnly('counts otherwise'), async () => {
    const TableName = await context.table('counted');
    await context.load(TableName, Array.from({ length: 30 }, (_, i) => ({ pk: S(String(i).padStart(4, '0')), v: S('x'.repeat(93)) })));
    await context.ddb.DeleteItem({ TableName, Key: { pk: S('0000') } });
    await context.ddb.PutItem({ TableName, Item: { pk: S('0001'), v: S('x'.repeat(93)) } });
    const { Table } = await context.ddb.DescribeTable({ TableName });
    assert.equal(Table.ItemCount, 29);
    assert.equal(Table.TableSizeBytes, 29 * 100);
  });
});

describe('tables that are refused', { skip: isLocal && 'other texts' }, () => {
  const OPV = 'One or more parameter values were invalid: ';
  const cases = {
    'no key schema': [{ KeySchema: undefined }, ''],
    'an empty key schema': [{ KeySchema: [] }, 'Member must have length greater than or equal to 1'],
    'RANGE first': [{ KeySchema: [range('pk')] }, 'Invalid KeySchema: The first KeySchemaElement is not a HASH key type'],
    'HASH twice': [{ KeySchema: [hash(), hash('sk')], AttributeDefinitions: define('pk:S', 'sk:S') }, 'Invalid KeySchema: The second KeySchemaElement is not a RANGE key type'],
    'one attribute as both keys': [{ KeySchema: [hash(), range('pk')] }, 'Both the Hash Key and the Range Key element in the KeySchema have the same name'],
    'a key that is not defined': [{ KeySchema: [hash(), range()] }, /Some index key attribute/],
    'an attribute that is no key': [{ AttributeDefinitions: define('pk:S', 'sk:S') }, `${OPV}Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions`],
    'a type that cannot be a key': [{ AttributeDefinitions: define('pk:SS') }, 'Member must satisfy enum value set'],
    'a key type that is none': [{ KeySchema: [{ AttributeName: 'pk', KeyType: 'SORT' }] }, 'Member must satisfy enum value set'],
    'a billing mode that is none': [{ BillingMode: 'FREE' }, 'Member must satisfy enum value set'],
    'provisioned without throughput': [{ BillingMode: 'PROVISIONED' }, `${OPV}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED`],
    'on demand with throughput': [{ ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 } }, `${OPV}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST`],
    'no throughput at all': [{ BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 0, WriteCapacityUnits: 1 } }, 'Member must have value greater than or equal to 1'],
    'throughput beyond bounds': [{ BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 1000000000001, WriteCapacityUnits: 1 } }, 'Given value 1000000000001 for ReadCapacityUnits is out of bounds'],
    'a short name': [{ TableName: 'ab' }, /length greater than or equal to 3|at least 3 characters/],
    'a long name': [{ TableName: 'x'.repeat(256) }, /length less than or equal to 255|at most 255 characters/],
    'an odd name': [{ TableName: 'a b c' }, '[a-zA-Z0-9_.-]+'],
    'a key name that is too long': [{ KeySchema: [hash('k'.repeat(256))], AttributeDefinitions: define(`${'k'.repeat(256)}:S`) }, 'Member must have length less than or equal to 255'],
  };
  for (const [title, [change, message]] of Object.entries(cases)) {
    test(title, async () => {
      const error = await assertFails(context.ddb.CreateTable({ TableName: context.name('refused'), ...simple, ...change }), 'ValidationException', message);
      assert.ok(error.message.length > 0);
    });
  }
  test('without a name', async () => {
    const reply = await call(context.endpoint, 'CreateTable', simple);
    assert.equal(reply.status, 400);
    assert.ok(reply.json().message.includes("The parameter 'TableName' is required but was not present in the request"), reply.text);
  });
});

describe('UpdateTable', () => {
  test('throughput and billing mode', async () => {
    const TableName = await context.table('update', 'pk:S', undefined, { ProvisionedThroughput: { ReadCapacityUnits: 5, WriteCapacityUnits: 5 } });
    const { TableDescription } = await context.ddb.UpdateTable({ TableName, ProvisionedThroughput: { ReadCapacityUnits: 10, WriteCapacityUnits: 10 } });
    assert.equal(TableDescription.TableName, TableName);
    await waitUntilTableExists({ client: context.client, ...waiting }, { TableName });
    const { Table: raised } = await context.ddb.DescribeTable({ TableName });
    assert.equal(raised.ProvisionedThroughput.ReadCapacityUnits, 10);
    assert.ok(raised.ProvisionedThroughput.LastIncreaseDateTime instanceof Date);
    await assertFails(context.ddb.UpdateTable({ TableName, ProvisionedThroughput: { ReadCapacityUnits: 10, WriteCapacityUnits: 10 } }), 'ValidationException',
      isLocal ? '' : 'The provisioned throughput for the table will not change. The requested value equals the current value.');
    await context.ddb.UpdateTable({ TableName, BillingMode: 'PAY_PER_REQUEST' });
    await waitUntilTableExists({ client: context.client, ...waiting }, { TableName });
    const { Table: onDemand } = await context.ddb.DescribeTable({ TableName });
    assert.equal(onDemand.BillingModeSummary.BillingMode, 'PAY_PER_REQUEST');
    assert.ok(onDemand.BillingModeSummary.LastUpdateToPayPerRequestDateTime instanceof Date);
    assert.equal(onDemand.ProvisionedThroughput.ReadCapacityUnits, 0);
    await context.ddb.UpdateTable({ TableName, BillingMode: 'PROVISIONED', ProvisionedThroughput: { ReadCapacityUnits: 3, WriteCapacityUnits: 4 } });
    await waitUntilTableExists({ client: context.client, ...waiting }, { TableName });
    const { Table: provisioned } = await context.ddb.DescribeTable({ TableName });
    assert.equal(provisioned.ProvisionedThroughput.WriteCapacityUnits, 4);
    assert.equal(provisioned.BillingModeSummary?.BillingMode ?? 'PROVISIONED', 'PROVISIONED');
  });
  test('table class', referenceOnly('keeps none'), async () => {
    const TableName = await context.table('class');
    await context.ddb.UpdateTable({ TableName, TableClass: 'STANDARD_INFREQUENT_ACCESS' });
    assert.equal((await context.ddb.DescribeTable({ TableName })).Table.TableClassSummary.TableClass, 'STANDARD_INFREQUENT_ACCESS');
    await assertFails(context.ddb.UpdateTable({ TableName, TableClass: 'CHEAP' }), 'ValidationException', 'failed to satisfy constraint');
  });
  test('deletion protection', async () => {
    const TableName = await context.table('protected', 'pk:S', undefined, { DeletionProtectionEnabled: true });
    assert.equal((await context.ddb.DescribeTable({ TableName })).Table.DeletionProtectionEnabled, true);
    await assertFails(context.ddb.DeleteTable({ TableName }), 'ValidationException', /deletion protection/i);
    await context.ddb.UpdateTable({ TableName, DeletionProtectionEnabled: false });
    assert.equal((await context.ddb.DescribeTable({ TableName })).Table.DeletionProtectionEnabled, false);
    await context.ddb.DeleteTable({ TableName });
  });
  test('nothing to do', async () => {
    const TableName = await context.table('nothing-to-do');
    await assertFails(context.ddb.UpdateTable({ TableName }), 'ValidationException',
      isLocal ? '' : 'At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required');
  });
  test('throughput of an on-demand table', referenceOnly('accepts it'), async () => {
    const TableName = await context.table('on-demand');
    await assertFails(context.ddb.UpdateTable({ TableName, ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 } }), 'ValidationException',
      isLocal ? '' : 'Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST');
  });
});

describe('ListTables', () => {
  test('in order, by pages, from a start', async () => {
    const names = [];
    for (const suffix of ['a', 'b', 'c', 'd', 'e']) names.push(await context.table(`list-${suffix}`));
    const { TableNames: all } = await context.ddb.ListTables({});
    assert.deepEqual([...all].sort(), all);
    for (const name of names) assert.ok(all.includes(name));
    for (const Limit of [1, 2, 100]) {
      const seen = [];
      for await (const page of paginateListTables({ client: context.client, pageSize: Limit }, {})) {
        assert.ok(page.TableNames.length <= Limit);
        seen.push(...page.TableNames);
      }
      assert.deepEqual(seen, all);
    }
    const rest = await context.ddb.ListTables({ ExclusiveStartTableName: names[1], Limit: 2 });
    assert.deepEqual(rest.TableNames, names.slice(2, 4));
    assert.equal(rest.LastEvaluatedTableName, names[3]);
    const gap = await context.ddb.ListTables({ ExclusiveStartTableName: `${names[1]}zzz`, Limit: 1 });
    assert.deepEqual(gap.TableNames, [names[2]]);
  });
  test('limits', async () => {
    await assertFails(context.ddb.ListTables({ Limit: 0 }), 'ValidationException', isLocal ? '' : 'Member must have value greater than or equal to 1');
    await assertFails(context.ddb.ListTables({ Limit: 101 }), 'ValidationException', isLocal ? '' : 'Member must have value less than or equal to 100');
  });
});

describe('tags', { skip: !isStator && 'not built there' }, () => {
  const tag = (Key, Value) => ({ Key, Value });
  const list = async (ResourceArn) => (await context.ddb.ListTagsOfResource({ ResourceArn })).Tags.sort((a, b) => a.Key.localeCompare(b.Key));
  test('set at creation, added, overwritten, removed', async () => {
    const TableName = await context.table('tagged', 'pk:S', undefined, { Tags: [tag('a', '1')] });
    const { Table: { TableArn } } = await context.ddb.DescribeTable({ TableName });
    assert.deepEqual(await list(TableArn), [tag('a', '1')]);
    await context.ddb.TagResource({ ResourceArn: TableArn, Tags: [tag('a', '2'), tag('b', ''), tag('ä +-=._:/', 'ü')] });
    assert.deepEqual(await list(TableArn), [tag('a', '2'), tag('ä +-=._:/', 'ü'), tag('b', '')]);
    await context.ddb.UntagResource({ ResourceArn: TableArn, TagKeys: ['a', 'nothing'] });
    assert.deepEqual(await list(TableArn), [tag('ä +-=._:/', 'ü'), tag('b', '')]);
    const reply = await call(context.endpoint, 'TagResource', { ResourceArn: TableArn, Tags: [tag('c', '3')] });
    assert.equal(reply.status, 200);
    assert.equal(reply.text, '');
  });
  test('50 tags and no more', async () => {
    const TableName = await context.table('many-tags');
    const { Table: { TableArn } } = await context.ddb.DescribeTable({ TableName });
    await context.ddb.TagResource({ ResourceArn: TableArn, Tags: Array.from({ length: 50 }, (_, i) => tag(`k${i}`, 'v')) });
    let count = 0;
    let NextToken;
    do {
      const page = await context.ddb.ListTagsOfResource({ ResourceArn: TableArn, NextToken });
      count += page.Tags.length;
      ({ NextToken } = page);
    } while (NextToken);
    assert.equal(count, 50);
    await assert.rejects(context.ddb.TagResource({ ResourceArn: TableArn, Tags: [tag('one more', 'v')] }));
  });
  test('what is refused', async () => {
    const TableName = await context.table('bad-tags');
    const { Table: { TableArn } } = await context.ddb.DescribeTable({ TableName });
    await assertFails(context.ddb.TagResource({ ResourceArn: TableArn, Tags: [] }), 'ValidationException', 'Atleast one Tag needs to be provided as Input.');
    await assertFails(context.ddb.UntagResource({ ResourceArn: TableArn, TagKeys: [] }), 'ValidationException', 'Atleast one Tag Key needs to be provided as Input.');
    await assertFails(context.ddb.TagResource({ ResourceArn: TableArn, Tags: [tag('k'.repeat(129), 'v')] }), 'ValidationException', '128');
    await assertFails(context.ddb.TagResource({ ResourceArn: TableArn, Tags: [tag('k', 'v'.repeat(257))] }), 'ValidationException', '256');
    await assertFails(context.ddb.TagResource({ ResourceArn: 'nonsense', Tags: [tag('a', 'b')] }), 'ValidationException');
    await assertFails(context.ddb.TagResource({ ResourceArn: `${TableArn}-missing`, Tags: [tag('a', 'b')] }), 'ResourceNotFoundException');
  });
});

describe('table ARNs in place of names', referenceOnly('knows its own ARNs only'), () => {
  test('every operation takes them', async () => {
    const name = await context.table('arn');
    const { Table: { TableArn } } = await context.ddb.DescribeTable({ TableName: name });
    const TableName = TableArn;
    const Key = { pk: S('a') };
    await context.ddb.PutItem({ TableName, Item: { ...Key, n: N(1) } });
    await context.ddb.UpdateItem({ TableName, Key, UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': N(1) } });
    assertSame((await context.ddb.GetItem({ TableName, Key })).Item, { ...Key, n: N(2) });
    assert.equal((await context.ddb.Query({ TableName, KeyConditionExpression: 'pk = :p', ExpressionAttributeValues: { ':p': S('a') } })).Count, 1);
    assert.equal((await context.ddb.Scan({ TableName })).Count, 1);
    assertSame((await context.ddb.BatchGetItem({ RequestItems: { [TableArn]: { Keys: [Key] } } })).Responses[TableArn], [{ ...Key, n: N(2) }]);
    await context.ddb.BatchWriteItem({ RequestItems: { [TableArn]: [{ DeleteRequest: { Key } }] } });
    assert.equal((await context.ddb.GetItem({ TableName: name, Key, ReturnConsumedCapacity: 'TOTAL' })).ConsumedCapacity.TableName, name);
    assert.equal((await context.ddb.GetItem({ TableName, Key, ReturnConsumedCapacity: 'TOTAL' })).ConsumedCapacity.TableName, TableArn);
    assert.equal((await context.ddb.DescribeTable({ TableName })).Table.TableName, name);
    await assertFails(context.ddb.GetItem({ TableName: `${TableArn}x`, Key }), 'ResourceNotFoundException');
  });
});

describe('around the tables', () => {
  test('DescribeLimits', async () => {
    const limits = await context.ddb.DescribeLimits({});
    for (const name of ['AccountMaxReadCapacityUnits', 'AccountMaxWriteCapacityUnits', 'TableMaxReadCapacityUnits', 'TableMaxWriteCapacityUnits']) assert.ok(limits[name] >= 10000, name);
  });
  test('DescribeEndpoints', { skip: !isStator && 'not built there' }, async () => {
    const { Endpoints } = await context.ddb.DescribeEndpoints({});
    assert.equal(Endpoints.length, 1);
    assert.ok(Endpoints[0].Address.length > 0);
    assert.equal(Endpoints[0].CachePeriodInMinutes, 1440);
  });
  test('DescribeTimeToLive says DISABLED', async () => {
    const TableName = await context.table('ttl');
    assertSame((await context.ddb.DescribeTimeToLive({ TableName })).TimeToLiveDescription, { TimeToLiveStatus: 'DISABLED' });
    await assertFails(context.ddb.DescribeTimeToLive({ TableName: context.name('missing') }), 'ResourceNotFoundException');
  });
  test('DescribeContinuousBackups says DISABLED', { skip: !isStator && 'not built there' }, async () => {
    const TableName = await context.table('backups');
    const { ContinuousBackupsDescription } = await context.ddb.DescribeContinuousBackups({ TableName });
    assert.ok(['ENABLED', 'DISABLED'].includes(ContinuousBackupsDescription.ContinuousBackupsStatus));
    assert.equal(ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus, 'DISABLED');
    await assertFails(context.ddb.DescribeContinuousBackups({ TableName: context.name('missing') }), 'TableNotFoundException');
  });
  test('operations that are not built', { skip: !isStator && 'built there' }, async () => {
    await assertFails(context.ddb.CreateGlobalTable({ GlobalTableName: 'some-table', ReplicationGroup: [] }), 'UnknownOperationException');
  });
  test('one data set, whatever the key and the region', async () => {
    const TableName = await context.table('shared');
    await context.ddb.PutItem({ TableName, Item: { pk: S('a'), v: S('seen by all') } });
    const elsewhere = context.operationsOf({ region: 'eu-west-3', credentials: { accessKeyId: 'SOMEONEELSE', secretAccessKey: 'other' } });
    assert.equal((await elsewhere.GetItem({ TableName, Key: { pk: S('a') } })).Item.v.S, 'seen by all');
    assert.ok((await elsewhere.ListTables({})).TableNames.includes(TableName));
  });
});
