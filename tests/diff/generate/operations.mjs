// One generator per operation. Each takes the world (tables, random source) and returns a step:
//   { op, request }                  one request
//   { op, request, walk: 'pages' }   repeat with LastEvaluatedKey until the last page
//   { op, request, walk: 'segments' } every segment of TotalSegments, each to its last page
// To add an area, write a file like this one and add its generators to the list in world.mjs.
import { Expressions, mutate, textOf } from './expressions.mjs';
import { ATTRIBUTE_NAMES, badKey, badKeyValue, badValue, item, key } from './values.mjs';

export const RETURN_CAPACITY = [undefined, undefined, undefined, 'NONE', 'TOTAL', 'INDEXES'];

/** Sets the member with that probability. */
export function maybe(random, request, member, probability, make) {
  if (random.chance(probability)) request[member] = make();
}

/** Adds expressions to a request; `wanted` maps the member to the grammar it comes from; `broken` is the share of broken ones. */
export function addExpressions(world, table, request, wanted, broken = 0.12) {
  const { random } = world;
  const grammar = new Expressions(random, table);
  for (const [member, rule] of Object.entries(wanted)) {
    let tokens = grammar[rule]();
    if (random.chance(broken)) tokens = mutate(random, tokens, grammar.references);
    request[member] = textOf(random, tokens);
  }
  grammar.references.addTo(request);
}

/** The members that every write of one item may have. */
export function commonWrite(world, request) {
  const { random } = world;
  maybe(random, request, 'ReturnConsumedCapacity', 0.4, () => random.pick(RETURN_CAPACITY));
  maybe(random, request, 'ReturnItemCollectionMetrics', 0.1, () => random.pick(['SIZE', 'NONE']));
  maybe(random, request, 'ReturnValuesOnConditionCheckFailure', 0.2, () => random.pick(['ALL_OLD', 'NONE', 'ALL_OLD']));
}

function putItem(world) {
  const { random } = world;
  const table = world.table();
  const request = { TableName: table.name, Item: item(random, table) };
  if (random.chance(0.1)) request.Item[random.pick(ATTRIBUTE_NAMES)] = badValue(random);
  if (random.chance(0.04)) request.Item[table.hash.name] = badKeyValue(random, table.hash.type);
  if (random.chance(0.03)) delete request.Item[table.range?.name ?? table.hash.name];
  if (random.chance(0.35)) addExpressions(world, table, request, { ConditionExpression: 'condition' });
  commonWrite(world, request);
  maybe(random, request, 'ReturnValues', 0.4, () => random.pick(['NONE', 'ALL_OLD', 'ALL_OLD', 'ALL_OLD', 'ALL_OLD', 'ALL_OLD', 'ALL_OLD', random.pick(['ALL_NEW', 'UPDATED_OLD'])]));
  return { op: 'PutItem', request, table };
}

function getItem(world) {
  const { random } = world;
  const table = world.table();
  const request = { TableName: table.name, Key: random.chance(0.06) ? badKey(random, table) : world.key(table) };
  if (random.chance(0.4)) addExpressions(world, table, request, { ProjectionExpression: 'projection' });
  maybe(random, request, 'ConsistentRead', 0.3, () => random.chance(0.7));
  maybe(random, request, 'ReturnConsumedCapacity', 0.4, () => random.pick(RETURN_CAPACITY));
  return { op: 'GetItem', request, table };
}

function updateItem(world) {
  const { random } = world;
  const table = world.table();
  const request = { TableName: table.name, Key: random.chance(0.05) ? badKey(random, table) : world.key(table) };
  const wanted = {};
  if (random.chance(0.96)) wanted.UpdateExpression = 'update';
  if (random.chance(0.25)) wanted.ConditionExpression = 'condition';
  addExpressions(world, table, request, wanted);
  commonWrite(world, request);
  maybe(random, request, 'ReturnValues', 0.7,
    () => random.pick(['NONE', 'ALL_OLD', 'ALL_NEW', 'ALL_NEW', 'UPDATED_OLD', 'UPDATED_NEW', 'UPDATED_NEW']));
  return { op: 'UpdateItem', request, table };
}

function deleteItem(world) {
  const { random } = world;
  const table = world.table();
  const request = { TableName: table.name, Key: random.chance(0.05) ? badKey(random, table) : world.key(table) };
  if (random.chance(0.5)) addExpressions(world, table, request, { ConditionExpression: 'condition' });
  commonWrite(world, request);
  maybe(random, request, 'ReturnValues', 0.4, () => random.pick(['NONE', 'ALL_OLD', 'ALL_OLD', 'UPDATED_NEW']));
  return { op: 'DeleteItem', request, table };
}

function batchGetItem(world) {
  const { random } = world;
  const request = { RequestItems: {} };
  let table;
  for (const each of random.sample(world.tables, random.between(1, 2))) {
    table = each;
    const count = random.chance(0.02) ? random.between(99, 102) : random.between(1, 4);
    const keys = new Map();
    for (let i = 0; i < count; i++) {
      const one = random.chance(0.02) ? badKey(random, each) : key(random, each);
      keys.set(random.chance(0.02) ? i : JSON.stringify(one), one);
    }
    const block = { Keys: [...keys.values()] };
    if (random.chance(0.3)) addExpressions(world, each, block, { ProjectionExpression: 'projection' });
    maybe(random, block, 'ConsistentRead', 0.3, () => random.chance(0.7));
    request.RequestItems[each.name] = block;
  }
  if (random.chance(0.02)) request.RequestItems = random.pick([{}, { nosuchtable: { Keys: [{ a: { S: 'a' } }] } }]);
  maybe(random, request, 'ReturnConsumedCapacity', 0.4, () => random.pick(RETURN_CAPACITY));
  return { op: 'BatchGetItem', request, table };
}

function batchWriteItem(world) {
  const { random } = world;
  const request = { RequestItems: {} };
  let table;
  for (const each of random.sample(world.tables, random.between(1, 2))) {
    table = each;
    const count = random.chance(0.03) ? random.between(24, 27) : random.between(1, 4);
    const writes = new Map();
    for (let i = 0; i < count; i++) {
      const target = random.chance(0.02) ? badKey(random, each) : key(random, each);
      const write = random.chance(0.7) ? { PutRequest: { Item: { ...item(random, each), ...target } } } : { DeleteRequest: { Key: target } };
      if (write.PutRequest && random.chance(0.02)) write.PutRequest.Item.s = badValue(random);
      writes.set(random.chance(0.02) ? i : JSON.stringify(target), write);
    }
    request.RequestItems[each.name] = [...writes.values()];
  }
  if (random.chance(0.03)) {
    request.RequestItems = random.pick([{}, { nosuchtable: [{ DeleteRequest: { Key: { a: { S: 'a' } } } }] },
      { [table.name]: [] }, { [table.name]: [{}] },
      { [table.name]: [{ PutRequest: { Item: item(random, table) }, DeleteRequest: { Key: key(random, table) } }] }]);
  }
  maybe(random, request, 'ReturnConsumedCapacity', 0.4, () => random.pick(RETURN_CAPACITY));
  maybe(random, request, 'ReturnItemCollectionMetrics', 0.1, () => random.pick(['SIZE', 'NONE']));
  return { op: 'BatchWriteItem', request, table };
}

/** The members that Query and Scan share. */
export function commonRead(world, table, request) {
  const { random } = world;
  maybe(random, request, 'Limit', 0.3, () => random.pick([1, 1, 2, 3, 5, 100]));
  maybe(random, request, 'ConsistentRead', 0.25, () => random.chance(0.7));
  maybe(random, request, 'ReturnConsumedCapacity', 0.4, () => random.pick(RETURN_CAPACITY));
  maybe(random, request, 'Select', 0.25,
    () => random.pick(['ALL_ATTRIBUTES', 'COUNT', 'COUNT', 'SPECIFIC_ATTRIBUTES', 'ALL_PROJECTED_ATTRIBUTES']));
}

function query(world) {
  const { random } = world;
  const table = random.chance(0.8) ? world.table((each) => each.range) : world.table();
  const request = { TableName: table.name };
  const wanted = {};
  if (random.chance(0.98)) wanted.KeyConditionExpression = 'keyCondition';
  if (random.chance(0.25)) wanted.FilterExpression = 'condition';
  if (random.chance(0.25)) wanted.ProjectionExpression = 'projection';
  addExpressions(world, table, request, wanted);
  commonRead(world, table, request);
  maybe(random, request, 'ScanIndexForward', 0.3, () => random.chance(0.3));
  if (random.chance(0.4)) return { op: 'Query', request, table, walk: 'pages' };
  maybe(random, request, 'ExclusiveStartKey', 0.15, () => {
    const start = random.chance(0.15) ? badKey(random, table) : key(random, table);
    const queried = Object.values(request.ExpressionAttributeValues ?? {})[0];
    return random.chance(0.6) && queried ? { ...start, [table.hash.name]: queried } : start;
  });
  return { op: 'Query', request, table };
}

function scan(world) {
  const { random } = world;
  const table = world.table();
  const request = { TableName: table.name };
  const wanted = {};
  if (random.chance(0.4)) wanted.FilterExpression = 'condition';
  if (random.chance(0.3)) wanted.ProjectionExpression = 'projection';
  addExpressions(world, table, request, wanted);
  commonRead(world, table, request);
  if (random.chance(0.15)) return { op: 'Scan', request: { ...request, TotalSegments: random.pick([1, 2, 3, 7]) }, table, walk: 'segments' };
  if (random.chance(0.4)) return { op: 'Scan', request, table, walk: 'pages' };
  maybe(random, request, 'ExclusiveStartKey', 0.08, () => (random.chance(0.3) ? badKey(random, table) : key(random, table)));
  maybe(random, request, 'TotalSegments', 0.08, () => random.pick([1, 2, 0, 5, 1000000, 1000001]));
  maybe(random, request, 'Segment', request.TotalSegments === undefined ? 0.02 : 0.9, () => random.pick([0, 0, 1, 4, 5, -1]));
  return { op: 'Scan', request, table };
}

const KEY_TYPES = ['S', 'S', 'N', 'B'];

/** A valid CreateTable request. */
export function tableRequest(random, name) {
  const schema = [{ AttributeName: 'p', KeyType: 'HASH' }];
  const definitions = [{ AttributeName: 'p', AttributeType: random.pick(KEY_TYPES) }];
  if (random.chance(0.65)) {
    schema.push({ AttributeName: 'k', KeyType: 'RANGE' });
    definitions.push({ AttributeName: 'k', AttributeType: random.pick(KEY_TYPES) });
  }
  const request = { TableName: name, KeySchema: schema, AttributeDefinitions: definitions };
  if (random.chance(0.6)) request.BillingMode = 'PAY_PER_REQUEST';
  else request.ProvisionedThroughput = { ReadCapacityUnits: 500, WriteCapacityUnits: 500 };
  return request;
}

function createTable(world) {
  const { random } = world;
  const request = tableRequest(random, random.chance(0.2) ? world.table().name : world.freeName());
  random.weighted([
    [5, () => {}],
    [1, () => { request.KeySchema.reverse(); }],
    [1, () => { request.KeySchema[0].KeyType = random.pick(['RANGE', 'hash', '']); }],
    [1, () => { request.KeySchema.push({ AttributeName: random.pick(['p', 'k', 'z']), KeyType: random.pick(['HASH', 'RANGE']) }); }],
    [1, () => { request.AttributeDefinitions.push({ AttributeName: random.pick(['z', 'p']), AttributeType: 'S' }); }],
    [1, () => { request.AttributeDefinitions.pop(); }],
    [1, () => { request.AttributeDefinitions[0].AttributeType = random.pick(['SS', 's', 'BOOL', '']); }],
    [1, () => { request.AttributeDefinitions[0].AttributeName = request.KeySchema[0].AttributeName = random.pick(['', 'x'.repeat(255), 'x'.repeat(256), 'a.b']); }],
    [1, () => { request.BillingMode = random.pick(['PROVISIONED', 'PAY_PER_REQUEST', 'FREE']); }],
    [1, () => { request.ProvisionedThroughput = random.pick([{ ReadCapacityUnits: 0, WriteCapacityUnits: 1 }, { ReadCapacityUnits: 1 }, {},
      { ReadCapacityUnits: 1e13, WriteCapacityUnits: 1 }]); }],
    [1, () => { delete request.ProvisionedThroughput; delete request.BillingMode; }],
    [1, () => { request.DeletionProtectionEnabled = random.chance(0.5); }],
    [1, () => { request.OnDemandThroughput = { MaxReadRequestUnits: random.pick([5, 0, -1, -2, 40001]), MaxWriteRequestUnits: random.pick([5, 0, -1]) }; }],
    [1, () => { request.TableClass = random.pick(['STANDARD', 'STANDARD_INFREQUENT_ACCESS', 'BEST']); }],
  ]);
  return { op: 'CreateTable', request, table: world.table(), changesTables: true };
}

function describeTable(world) {
  const request = { TableName: world.anyName() };
  return { op: 'DescribeTable', request, table: world.table() };
}

// The service lowers capacity four times a day and switches to on demand as often; Local does both without end. So that
// tables stay equal, no more of such requests are sent for one name than any history of it allows.
const MOST_CAPACITY_CHANGES = 4;

function updateTable(world) {
  const { random } = world;
  const request = { TableName: world.anyName() };
  const changes = world.capacityChanges.get(request.TableName) ?? 0;
  const capacity = changes < MOST_CAPACITY_CHANGES ? 1 : 0;
  const change = (make) => [2 * capacity, () => {
    world.capacityChanges.set(request.TableName, changes + 1);
    make();
  }];
  const units = (read, write) => ({ ReadCapacityUnits: read, WriteCapacityUnits: write });
  random.weighted([
    change(() => { request.BillingMode = 'PAY_PER_REQUEST'; }),
    change(() => { request.BillingMode = 'PROVISIONED'; request.ProvisionedThroughput = units(500, 400); }),
    change(() => { request.ProvisionedThroughput = units(random.pick([500, 600, 0, 400, 40001]), random.pick([500, 700, 400, -1, 40001])); }),
    [1, () => { request.OnDemandThroughput = { MaxReadRequestUnits: random.pick([0, -2]), MaxWriteRequestUnits: random.pick([5, -1, 0]) }; }],
    [1, () => { request.TableClass = random.pick(['STANDARD', 'STANDARD_INFREQUENT_ACCESS', 'BEST']); }],
    [1, () => { request.DeletionProtectionEnabled = random.chance(0.5); }],
    [1, () => { request.BillingMode = 'PROVISIONED'; }],
    [1, () => {}],
  ]);
  return { op: 'UpdateTable', request, table: world.table(), changesTables: true };
}

function deleteTable(world) {
  const request = { TableName: world.random.chance(0.8) ? world.freeName() : world.anyName() };
  return { op: 'DeleteTable', request, table: world.table(), changesTables: true };
}

function listTables(world) {
  const { random } = world;
  const request = {};
  maybe(random, request, 'Limit', 0.5, () => random.pick([1, 2, 3, 100, 101, 0]));
  maybe(random, request, 'ExclusiveStartTableName', 0.4, () => random.pick([world.anyName(), 'aaa', 'zzz', 'ab', '']));
  return { op: 'ListTables', request, table: world.table() };
}

/** The generators of this file with their weights. */
export const GENERATORS = [
  { op: 'PutItem', weight: 16, make: putItem },
  { op: 'UpdateItem', weight: 22, make: updateItem },
  { op: 'GetItem', weight: 10, make: getItem },
  { op: 'DeleteItem', weight: 7, make: deleteItem },
  { op: 'BatchGetItem', weight: 5, make: batchGetItem },
  { op: 'BatchWriteItem', weight: 5, make: batchWriteItem },
  { op: 'Query', weight: 14, make: query },
  { op: 'Scan', weight: 11, make: scan },
  { op: 'CreateTable', weight: 2.5, make: createTable },
  { op: 'DescribeTable', weight: 1.5, make: describeTable },
  { op: 'UpdateTable', weight: 2, make: updateTable },
  { op: 'DeleteTable', weight: 1.5, make: deleteTable },
  { op: 'ListTables', weight: 1.5, make: listTables },
];
