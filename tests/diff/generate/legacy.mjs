// The parameters of before expressions: Expected, AttributeUpdates, KeyConditions, filters, AttributesToGet.
import { addExpressions, commonRead, commonWrite, maybe } from './operations.mjs';
import { ATTRIBUTES, ATTRIBUTE_NAMES, TYPES, badKey, badValue, item, key, keyValue, value, valueOf } from './values.mjs';

const ARGUMENTS = { EQ: 1, NE: 1, LE: 1, LT: 1, GE: 1, GT: 1, CONTAINS: 1, NOT_CONTAINS: 1, BEGINS_WITH: 1, IN: undefined, BETWEEN: 2, NULL: 0, NOT_NULL: 0 };
const OPERATORS = Object.keys(ARGUMENTS);

const typeOf = (table, name) => (name === table.hash.name ? table.hash.type : name === table.range?.name ? table.range.type : ATTRIBUTES[name] ?? 'S');

function attribute(random, table) {
  return random.chance(0.1) ? random.pick([table.hash.name, table.range?.name ?? 'never']) : random.pick(ATTRIBUTE_NAMES);
}

/** What a condition on an attribute of `type` compares it with. */
function argument(random, type, operator) {
  const element = { SS: 'S', NS: 'N', BS: 'B', L: random.pick(TYPES) }[type];
  if (element && /CONTAINS/.test(operator)) return valueOf(random, element, 0);
  return random.chance(0.9) ? valueOf(random, type, 1) : value(random, 1);
}

/** { ComparisonOperator, AttributeValueList }, mostly valid. */
function comparison(random, type, operators = OPERATORS, make = () => undefined) {
  const operator = random.pick(operators);
  let count = ARGUMENTS[operator] ?? random.between(1, 3);
  if (random.chance(0.06)) count = random.between(0, 3);
  const list = Array.from({ length: count }, () => make() ?? argument(random, type, operator));
  if (operator === 'BETWEEN' && list.length === 2 && random.chance(0.85)) {
    list.sort((a, b) => (a.N && b.N ? Number(a.N) - Number(b.N) : a.S !== undefined && b.S !== undefined ? Buffer.compare(Buffer.from(a.S), Buffer.from(b.S))
      : a.B !== undefined && b.B !== undefined ? Buffer.compare(Buffer.from(a.B, 'base64'), Buffer.from(b.B, 'base64')) : 0));
  }
  const result = { ComparisonOperator: operator };
  if (list.length > 0 || random.chance(0.2)) result.AttributeValueList = list;
  return random.weighted([
    [40, result],
    [1, () => { delete result.ComparisonOperator; return result; }],
    [1, () => ({ ...result, ComparisonOperator: random.pick(['eq', 'LIKE', '']) })],
    [1, () => { delete result.AttributeValueList; return result; }],
    [0.5, () => ({ ...result, AttributeValueList: [badValue(random)] })],
  ]);
}

function filter(random, table) {
  const result = {};
  for (let i = random.weighted([[4, 1], [3, 2], [1, 3]]); i > 0; i--) {
    const name = attribute(random, table);
    result[name] = comparison(random, typeOf(table, name));
  }
  return random.chance(0.02) ? {} : result;
}

function expected(random, table) {
  const result = {};
  for (let i = random.weighted([[5, 1], [3, 2], [1, 3]]); i > 0; i--) {
    const name = attribute(random, table);
    const type = typeOf(table, name);
    result[name] = random.weighted([
      [5, () => comparison(random, type)],
      [3, () => ({ Value: valueOf(random, type, 1) })],
      [1, () => ({ Value: valueOf(random, type, 1), Exists: true })],
      [3, () => ({ Exists: false })],
      [0.3, () => ({ Exists: true })],
      [0.3, () => ({ Value: valueOf(random, type, 1), Exists: false })],
      [0.3, () => ({ ...comparison(random, type), Value: valueOf(random, type, 1) })],
      [0.3, () => ({ ...comparison(random, type), Exists: random.chance(0.5) })],
      [0.3, () => ({})],
      [0.2, () => ({ Value: badValue(random) })],
    ]);
  }
  return random.chance(0.02) ? {} : result;
}

function operator(random, request, conditions) {
  const several = Object.keys(conditions ?? {}).length > 1;
  maybe(random, request, 'ConditionalOperator', several ? 0.5 : 0.05, () => random.pick(['AND', 'OR', 'OR', 'OR', 'AND', 'XOR']));
}

/** Puts an expression beside the legacy parameters now and then. */
function mix(world, table, request, member, rule) {
  if (world.random.chance(0.04)) addExpressions(world, table, request, { [member]: rule });
}

function write(world, op) {
  const { random } = world;
  const table = world.table();
  const request = op === 'PutItem' ? { TableName: table.name, Item: item(random, table) } : { TableName: table.name, Key: world.key(table) };
  if (random.chance(op === 'UpdateItem' ? 0.5 : 0.93)) request.Expected = expected(random, table);
  operator(random, request, request.Expected);
  if (op === 'UpdateItem' && random.chance(0.95)) request.AttributeUpdates = updates(random, table);
  mix(world, table, request, ...(op === 'UpdateItem' && random.chance(0.5) ? ['UpdateExpression', 'update'] : ['ConditionExpression', 'condition']));
  commonWrite(world, request);
  maybe(random, request, 'ReturnValues', 0.6, () => (op === 'UpdateItem' ? random.pick(['ALL_OLD', 'ALL_NEW', 'ALL_NEW', 'UPDATED_OLD', 'UPDATED_NEW']) : 'ALL_OLD'));
  return { op, request, table };
}

function updates(random, table) {
  const result = {};
  for (let i = random.weighted([[4, 1], [3, 2], [1, 4]]); i > 0; i--) {
    const name = random.chance(0.97) ? random.pick(ATTRIBUTE_NAMES) : attribute(random, table);
    const type = typeOf(table, name);
    const good = () => (random.chance(0.9) ? valueOf(random, type, 1) : value(random, 1));
    result[name] = random.weighted([
      [5, () => ({ Action: 'PUT', Value: good() })],
      [2, () => ({ Value: good() })],
      [4, () => ({ Action: 'ADD', Value: ['N', 'SS', 'NS', 'BS', 'L'].includes(type) || random.chance(0.1) ? good() : { N: '1' } })],
      [2, () => ({ Action: 'DELETE' })],
      [2, () => ({ Action: 'DELETE', Value: ['SS', 'NS', 'BS'].includes(type) || random.chance(0.1) ? good() : { SS: ['a'] } })],
      [0.2, () => ({ Action: random.pick(['PUT', 'ADD']) })],
      [0.2, () => ({})],
      [0.2, () => ({ Action: 'put', Value: good() })],
      [0.2, () => ({ Action: 'PUT', Value: badValue(random) })],
    ]);
  }
  return random.chance(0.02) ? {} : result;
}

function toGet(random, table) {
  const names = random.sample([...ATTRIBUTE_NAMES, table.hash.name, table.range?.name ?? 'never', 'o.a', 'l[0]'], random.between(1, 4));
  return random.weighted([[20, names], [1, () => [...names, names[0]]], [0.5, () => []], [0.3, () => ['']]]);
}

function getItem(world) {
  const { random } = world;
  const table = world.table();
  const request = { TableName: table.name, Key: random.chance(0.03) ? badKey(random, table) : world.key(table), AttributesToGet: toGet(random, table) };
  mix(world, table, request, 'ProjectionExpression', 'projection');
  return { op: 'GetItem', request, table };
}

function batchGetItem(world) {
  const { random } = world;
  const request = { RequestItems: {} };
  for (const table of random.sample(world.tables, random.between(1, 2))) {
    const block = { Keys: [world.key(table)] };
    if (random.chance(0.7)) block.AttributesToGet = toGet(random, table);
    mix(world, table, block, 'ProjectionExpression', 'projection');
    request.RequestItems[table.name] = block;
  }
  return { op: 'BatchGetItem', request, table: world.tables[0] };
}

function keyConditions(random, table) {
  const make = (part) => () => (random.chance(0.97) ? keyValue(random, part.type) : value(random, 0));
  const result = {};
  if (random.chance(0.98)) result[table.hash.name] = comparison(random, table.hash.type, random.chance(0.96) ? ['EQ'] : OPERATORS, make(table.hash));
  if (table.range && random.chance(0.6)) {
    const usual = ['EQ', 'LE', 'LT', 'GE', 'GT', 'BETWEEN', ...(table.range.type === 'N' ? [] : ['BEGINS_WITH'])];
    result[table.range.name] = comparison(random, table.range.type, random.chance(0.93) ? usual : OPERATORS, make(table.range));
  }
  if (random.chance(0.02)) result.s = comparison(random, 'S');
  return random.chance(0.02) ? {} : result;
}

function query(world) {
  const { random } = world;
  const table = random.chance(0.8) ? world.table((each) => each.range) : world.table();
  const index = table.indexes && random.chance(0.4) ? random.pick(table.indexes.filter(({ hashes, ranges }) => hashes.length + ranges.length <= 2)) : undefined;
  const schema = index ? { ...table, hash: index.hashes[0], range: index.ranges[0] } : table;
  const request = { TableName: table.name, ...(index ? { IndexName: index.name } : {}), KeyConditions: keyConditions(random, schema) };
  if (random.chance(0.4)) request.QueryFilter = filter(random, schema);
  operator(random, request, request.QueryFilter);
  maybe(random, request, 'AttributesToGet', 0.3, () => toGet(random, table));
  mix(world, schema, request, ...random.pick([['FilterExpression', 'condition'], ['KeyConditionExpression', 'keyCondition'], ['ProjectionExpression', 'projection']]));
  commonRead(world, table, request);
  const step = { op: 'Query', request, table, index };
  if (random.chance(0.4)) return { ...step, walk: 'pages' };
  if (!index) maybe(random, request, 'ExclusiveStartKey', 0.08, () => key(random, table));
  return step;
}

function scan(world) {
  const { random } = world;
  const table = world.table();
  const request = { TableName: table.name };
  if (random.chance(0.85)) request.ScanFilter = filter(random, table);
  operator(random, request, request.ScanFilter);
  maybe(random, request, 'AttributesToGet', 0.3, () => toGet(random, table));
  mix(world, table, request, ...random.pick([['FilterExpression', 'condition'], ['ProjectionExpression', 'projection']]));
  commonRead(world, table, request);
  return { op: 'Scan', request, table, ...(random.chance(0.4) ? { walk: 'pages' } : {}) };
}

export const GENERATORS = [
  { op: 'PutItem', weight: 4, make: (world) => write(world, 'PutItem') },
  { op: 'UpdateItem', weight: 8, make: (world) => write(world, 'UpdateItem') },
  { op: 'DeleteItem', weight: 4, make: (world) => write(world, 'DeleteItem') },
  { op: 'GetItem', weight: 2, make: getItem },
  { op: 'BatchGetItem', weight: 1.5, make: batchGetItem },
  { op: 'Query', weight: 7, make: query },
  { op: 'Scan', weight: 5, make: scan },
];
