// Secondary indexes: tables that have them, writes that touch their keys, reads of them, and their creation and deletion.
import { addExpressions, commonRead, commonWrite, maybe, RETURN_CAPACITY, tableRequest } from './operations.mjs';
import { Expressions, mutate, textOf } from './expressions.mjs';
import { ATTRIBUTES, ATTRIBUTE_NAMES, badKeyValue, item, key, keyValue } from './values.mjs';

const KEY_ATTRIBUTES = ['s', 't', 'n', 'm', 'b'];
// Keys of indexes that UpdateTable creates. Nothing else writes them: items with values of other types, which is what the
// other attributes have now and then, keep DynamoDB Local from ever finishing an index.
const LATER = { g: 'S', h: 'N', j: 'B' };

/** An index: { name, global, hashes, ranges, projection }, the keys as [{ name, type }]. */
function index(random, table, name, global, later = false) {
  const own = [table.hash, ...(table.range ? [table.range] : [])];
  const others = later ? Object.entries(LATER) : KEY_ATTRIBUTES.map((each) => [each, ATTRIBUTES[each]]);
  const candidates = [...others.map(([other, type]) => ({ name: other, type })), ...own];
  const projection = random.weighted([
    [3, { ProjectionType: 'ALL' }], [2, { ProjectionType: 'KEYS_ONLY' }],
    [3, () => ({ ProjectionType: 'INCLUDE', NonKeyAttributes: random.sample(ATTRIBUTE_NAMES, random.between(1, 4)) })],
  ]);
  if (!global) {
    const [range] = random.sample(candidates.filter((each) => each.name !== table.hash.name), 1);
    return { name, global, hashes: [table.hash], ranges: [range], projection };
  }
  const several = random.chance(0.3);
  const hashes = several ? random.between(1, 4) : 1;
  const ranges = several ? random.between(0, 4) : random.weighted([[2, 1], [1, 0]]);
  const attributes = random.sample(candidates, hashes + ranges);
  return { name, global, hashes: attributes.slice(0, Math.min(hashes, attributes.length)), ranges: attributes.slice(hashes), projection };
}

const schemaOf = ({ hashes, ranges }) => [
  ...hashes.map(({ name }) => ({ AttributeName: name, KeyType: 'HASH' })),
  ...ranges.map(({ name }) => ({ AttributeName: name, KeyType: 'RANGE' })),
];

function definition(request, each) {
  const result = { IndexName: each.name, KeySchema: schemaOf(each), Projection: each.projection };
  if (each.global && request.ProvisionedThroughput) result.ProvisionedThroughput = { ReadCapacityUnits: 300, WriteCapacityUnits: 300 };
  return result;
}

function define(definitions, each) {
  for (const { name, type } of [...each.hashes, ...each.ranges]) {
    if (!definitions.some((one) => one.AttributeName === name)) definitions.push({ AttributeName: name, AttributeType: type });
  }
}

/** Makes a valid CreateTable request one of a table with indexes, and puts their list into `table`. */
export function addIndexes(random, request, table) {
  table.indexes = [];
  for (let i = random.between(table.range ? 0 : 1, 3); i > 0; i--) table.indexes.push(index(random, table, `gsi${i}`, true));
  if (table.range) {
    for (let i = random.between(table.indexes.length ? 0 : 1, 2); i > 0; i--) table.indexes.push(index(random, table, `lsi${i}`, false));
  }
  for (const each of table.indexes) {
    const member = each.global ? 'GlobalSecondaryIndexes' : 'LocalSecondaryIndexes';
    (request[member] ??= []).push(definition(request, each));
    define(request.AttributeDefinitions, each);
  }
}

const indexed = (world) => world.table((table) => table.indexes?.length > 0);
const keysOf = (table) => (table.indexes ?? []).flatMap(({ hashes, ranges }) => [...hashes, ...ranges])
  .filter(({ name }) => name !== table.hash.name && name !== table.range?.name);

/** An item that most indexes of the table take in. */
export function indexedItem(random, table) {
  const result = item(random, table);
  for (const { name, type } of keysOf(table)) {
    if (random.chance(0.9)) result[name] = keyValue(random, type);
    else delete result[name];
  }
  for (const [name, type] of Object.entries(LATER)) {
    if (random.chance(0.6)) result[name] = keyValue(random, type);
  }
  return result;
}

function putIndexed(world) {
  const { random } = world;
  const table = indexed(world);
  const request = { TableName: table.name, Item: indexedItem(random, table) };
  const keys = keysOf(table);
  if (keys.length > 0 && random.chance(0.2)) {
    const { name, type } = random.pick(keys);
    request.Item[name] = badKeyValue(random, type);
  }
  if (random.chance(0.15)) addExpressions(world, table, request, { ConditionExpression: 'condition' });
  commonWrite(world, request);
  request.ReturnConsumedCapacity = random.pick(['INDEXES', 'INDEXES', 'TOTAL', 'NONE']);
  maybe(random, request, 'ReturnValues', 0.3, () => 'ALL_OLD');
  return { op: 'PutItem', request, table };
}

function updateIndexed(world) {
  const { random } = world;
  const table = indexed(world);
  const request = { TableName: table.name, Key: world.key(table) };
  const { references } = new Expressions(random, table);
  const set = [];
  const remove = [];
  for (const { name, type } of random.sample(keysOf(table), random.between(1, 2))) {
    if (set.concat(remove).some((each) => each.startsWith(`${name} `))) continue;
    if (random.chance(0.3)) remove.push(`${name} `);
    else set.push(`${name} = ${references.value(random.chance(0.85) ? keyValue(random, type) : badKeyValue(random, type))}`);
  }
  if (random.chance(0.3)) set.push(`q = ${references.value({ L: [] })}`);
  request.UpdateExpression = [set.length ? `SET ${set.join(', ')}` : '', remove.length ? `REMOVE ${remove.join(', ')}` : ''].join(' ').trim();
  if (request.UpdateExpression === '') delete request.UpdateExpression;
  references.addTo(request);
  commonWrite(world, request);
  request.ReturnConsumedCapacity = random.pick(['INDEXES', 'INDEXES', 'TOTAL', 'NONE']);
  return { op: 'UpdateItem', request, table };
}

/** A key condition for an index of several attributes; mostly valid. */
function condition(grammar, { hashes, ranges }) {
  const { random, references } = grammar;
  const constant = ({ type }) => references.value(random.chance(0.97) ? keyValue(random, type) : keyValue(random, random.pick(['S', 'N', 'B'])));
  const parts = hashes.map((each) => [references.name(each.name), random.chance(0.98) ? '=' : '<', constant(each)]);
  const used = random.between(0, ranges.length);
  ranges.slice(0, used).forEach((each, at) => {
    const name = references.name(each.name);
    if (at < used - 1 && random.chance(0.95)) return parts.push([name, '=', constant(each)]);
    return parts.push(random.weighted([
      [4, () => [name, random.pick(['=', '<', '<=', '>', '>=']), constant(each)]],
      [2, () => {
        const [low, high] = grammar.ordered(each.type, () => keyValue(random, each.type));
        return [name, 'BETWEEN', low, 'AND', high];
      }],
      [each.type === 'N' ? 0.1 : 2, () => ['begins_with', '(', name, ',', constant(each), ')']],
    ]));
  });
  if (random.chance(0.05)) parts.splice(random.between(0, parts.length - 1), 1);
  if (random.chance(0.2)) parts.reverse();
  return parts.flatMap((part, at) => (at ? ['AND', ...part] : part));
}

function target(world) {
  const { random } = world;
  const table = indexed(world);
  return { table, index: random.pick(table.indexes ?? []) };
}

function startKey(random, table, index) {
  const start = key(random, table);
  for (const { name, type } of [...index.hashes, ...index.ranges]) start[name] ??= keyValue(random, type);
  return random.weighted([
    [8, start],
    [1, () => { delete start[random.pick(Object.keys(start))]; return start; }],
    [1, () => ({ ...start, extra: { S: 'a' } })],
    [1, () => ({ ...start, [random.pick(Object.keys(start))]: { BOOL: true } })],
    [1, () => key(random, table)],
  ]);
}

function readIndex(world, op) {
  const { random } = world;
  const { table, index: chosen } = target(world);
  if (!chosen) return { op, request: { TableName: table.name, IndexName: 'gone' }, table };
  const request = { TableName: table.name, IndexName: random.chance(0.02) ? 'nosuchindex' : chosen.name };
  const grammar = new Expressions(random, { ...table, hash: chosen.hashes[0], range: chosen.ranges[0] });
  const write = (member, tokens) => {
    request[member] = textOf(random, random.chance(0.06) ? mutate(random, tokens, grammar.references) : tokens);
  };
  if (op === 'Query') write('KeyConditionExpression', chosen.hashes.length + chosen.ranges.length > 2 || random.chance(0.5) ? condition(grammar, chosen) : grammar.keyCondition());
  if (random.chance(0.3)) write('FilterExpression', grammar.condition());
  if (random.chance(0.3)) write('ProjectionExpression', grammar.projection());
  grammar.references.addTo(request);
  commonRead(world, table, request);
  if (chosen.global && random.chance(0.8)) delete request.ConsistentRead;
  maybe(random, request, 'Select', 0.2, () => random.pick(['ALL_ATTRIBUTES', 'ALL_PROJECTED_ATTRIBUTES', 'COUNT']));
  if (op === 'Query') maybe(random, request, 'ScanIndexForward', 0.3, () => random.chance(0.3));
  const step = { op, request, table, index: chosen };
  if (op === 'Scan' && random.chance(0.1)) return { ...step, request: { ...request, TotalSegments: random.pick([1, 2, 5]) }, walk: 'segments' };
  if (random.chance(0.4)) return { ...step, walk: 'pages' };
  maybe(random, request, 'ExclusiveStartKey', 0.15, () => startKey(random, table, chosen));
  return step;
}

/** Breaks what a CreateTable or UpdateTable request says of an index. */
function breakIndex(random, request, one) {
  random.weighted([
    [1, () => { one.IndexName = random.pick(['ab', 'sp ace', 'x'.repeat(256), 'gsi1', 'lsi1', '']); }],
    [1, () => { delete one[random.pick(['IndexName', 'KeySchema', 'Projection'])]; }],
    [1, () => { one.Projection = random.pick([{}, { ProjectionType: 'SOME' }, { ProjectionType: 'INCLUDE' }, { ProjectionType: 'INCLUDE', NonKeyAttributes: [] },
      { ProjectionType: 'ALL', NonKeyAttributes: ['q'] }, { ProjectionType: 'KEYS_ONLY', NonKeyAttributes: ['q'] }, { NonKeyAttributes: ['q'] },
      { ProjectionType: 'INCLUDE', NonKeyAttributes: ['q', 'q'] }, { ProjectionType: 'INCLUDE', NonKeyAttributes: Array.from({ length: 21 }, (_, i) => `a${i}`) }]); }],
    [1, () => { one.KeySchema.reverse(); }],
    [1, () => { one.KeySchema.push({ AttributeName: random.pick(['s', 'p', 'undefined']), KeyType: random.pick(['HASH', 'RANGE']) }); }],
    [1, () => { one.KeySchema = one.KeySchema.slice(0, 1); }],
    [1, () => { one.KeySchema = []; }],
    [1, () => { one.KeySchema[0].AttributeName = random.pick(['undefined', 's', 'x'.repeat(256)]); }],
    [1, () => { one.ProvisionedThroughput = random.pick([{ ReadCapacityUnits: 0, WriteCapacityUnits: 1 }, { ReadCapacityUnits: 5, WriteCapacityUnits: 5 }]); }],
    [1, () => { delete one.ProvisionedThroughput; }],
    [1, () => { request.AttributeDefinitions?.pop(); }],
    [1, () => { (request.AttributeDefinitions ??= []).push({ AttributeName: 'unused', AttributeType: 'S' }); }],
    [1, () => { (request.AttributeDefinitions ??= []).push({ AttributeName: 'p', AttributeType: 'S' }); }],
  ]);
}

function createIndexed(world) {
  const { random } = world;
  const request = tableRequest(random, world.freeName());
  const [hash, range] = request.AttributeDefinitions.map((each) => ({ name: each.AttributeName, type: each.AttributeType }));
  const table = { name: request.TableName, hash, range };
  addIndexes(random, request, table);
  const lists = [request.GlobalSecondaryIndexes, request.LocalSecondaryIndexes].filter(Boolean);
  const list = random.pick(lists);
  random.weighted([
    [3, () => {}],
    [12, () => breakIndex(random, request, random.pick(list))],
    [1, () => { list.push(structuredClone(list[0])); }],
    [1, () => { request.GlobalSecondaryIndexes = []; }],
    [1, () => { request.LocalSecondaryIndexes = []; }],
    [1, () => {
      const [one] = request.GlobalSecondaryIndexes ?? list;
      request.GlobalSecondaryIndexes = Array.from({ length: random.pick([20, 21]) }, (_, i) => ({ ...one, IndexName: `many${i}` }));
    }],
    [1, () => {
      const [one] = request.LocalSecondaryIndexes ?? list;
      request.LocalSecondaryIndexes = Array.from({ length: random.pick([5, 6]) }, (_, i) => ({ ...one, IndexName: `many${i}` }));
    }],
    [1, () => { if (!table.range) request.LocalSecondaryIndexes = [{ ...list[0], ProvisionedThroughput: undefined }]; }],
  ]);
  return { op: 'CreateTable', request, table: world.table(), changesTables: true };
}

function updateIndexes(world) {
  const { random } = world;
  const table = indexed(world);
  table.indexes ??= [];
  const request = { TableName: table.name };
  const provisioned = table.provisioned ? { ProvisionedThroughput: {} } : {};
  const create = (name) => {
    const made = index(random, table, name, true, true);
    request.AttributeDefinitions ??= [];
    define(request.AttributeDefinitions, made);
    if (random.chance(0.5)) define(request.AttributeDefinitions, { hashes: [table.hash], ranges: [] });
    return { made, update: { Create: definition(provisioned, made) } };
  };
  random.weighted([
    [4, () => {
      const name = `new${random.between(0, 2)}`;
      const { made, update } = create(name);
      request.GlobalSecondaryIndexUpdates = [update];
      if (random.chance(0.3)) return breakIndex(random, request, update.Create);
      if (!table.indexes.some((each) => each.name === name)) table.indexes.push(made);
      return undefined;
    }],
    [4, () => {
      // DynamoDB Local never comes to the end of deleting an index of key attributes alone.
      const global = table.indexes.filter((each) => each.global && [...each.hashes, ...each.ranges].some(({ name }) => name in ATTRIBUTES || name in LATER))
        .map((each) => each.name);
      const name = random.pick([...global, ...global, ...global, 'new0', 'nosuchindex', 'lsi1', 'ab']);
      request.GlobalSecondaryIndexUpdates = [{ Delete: { IndexName: name } }];
      table.indexes = table.indexes.filter((each) => !each.global || each.name !== name);
    }],
    [0.5, () => { request.GlobalSecondaryIndexUpdates = random.pick([[], [{}], [create('new0').update, create('new1').update],
      [{ Delete: { IndexName: 'new0' }, ...create('new0').update }], [{ Delete: { IndexName: 'gsi1' } }, { Delete: { IndexName: 'gsi1' } }]]); }],
    [0.3, () => { request.GlobalSecondaryIndexUpdates = [{ Update: { IndexName: random.pick(['gsi1', 'gsi2', 'nosuchindex']) } }]; }],
    [0.3, () => { request.GlobalSecondaryIndexUpdates = [{ Update: { IndexName: random.pick(['gsi1', 'gsi2']),
      ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 40001 } } }]; }],
    [1, () => { request.GlobalSecondaryIndexUpdates = [{ Update: { IndexName: random.pick(['gsi1', 'gsi2', 'nosuchindex']),
      ProvisionedThroughput: { ReadCapacityUnits: random.pick([300, 310, 0]), WriteCapacityUnits: random.pick([300, 320]) } } }]; }],
  ]);
  return { op: 'UpdateTable', request, table, changesTables: true };
}

function describeIndexed(world) {
  const table = indexed(world);
  return { op: 'DescribeTable', request: { TableName: table.name }, table };
}

function batchWriteIndexed(world) {
  const { random } = world;
  const table = indexed(world);
  const writes = new Map();
  for (let i = random.between(1, 4); i > 0; i--) {
    const one = indexedItem(random, table);
    const itsKey = { [table.hash.name]: one[table.hash.name], ...(table.range ? { [table.range.name]: one[table.range.name] } : {}) };
    if (random.chance(0.05)) Object.assign(one, ...keysOf(table).slice(0, 1).map(({ name, type }) => ({ [name]: badKeyValue(random, type) })));
    writes.set(JSON.stringify(itsKey), random.chance(0.75) ? { PutRequest: { Item: one } } : { DeleteRequest: { Key: itsKey } });
  }
  const request = { RequestItems: { [table.name]: [...writes.values()] } };
  request.ReturnConsumedCapacity = random.pick(RETURN_CAPACITY);
  maybe(random, request, 'ReturnItemCollectionMetrics', 0.4, () => 'SIZE');
  return { op: 'BatchWriteItem', request, table };
}

export const GENERATORS = [
  { op: 'PutItem', weight: 6, make: putIndexed },
  { op: 'UpdateItem', weight: 5, make: updateIndexed },
  { op: 'BatchWriteItem', weight: 2, make: batchWriteIndexed },
  { op: 'Query', weight: 9, make: (world) => readIndex(world, 'Query') },
  { op: 'Scan', weight: 5, make: (world) => readIndex(world, 'Scan') },
  { op: 'CreateTable', weight: 2.5, make: createIndexed },
  { op: 'UpdateTable', weight: 2, make: updateIndexes },
  { op: 'DescribeTable', weight: 1, make: describeIndexed },
];
