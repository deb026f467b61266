// TransactWriteItems and TransactGetItems. Tokens are written `token-…`; run.mjs gives every replay tokens of its own.
import { addExpressions, maybe, RETURN_CAPACITY } from './operations.mjs';
import { badKey, badValue, item, key } from './values.mjs';
import { indexedItem } from './indexes.mjs';

const textOf = (one) => JSON.stringify(one);

/** The n-th of keys that are all different. */
function numberedKey(table, n) {
  const part = ({ name, type }, text) => ({ [name]: { [type]: type === 'N' ? String(n) : type === 'B' ? Buffer.from(text).toString('base64') : text } });
  return { ...part(table.hash, `i${n}`), ...(table.range ? part(table.range, `i${n}`) : {}) };
}

/** A condition that holds or fails as wanted for any item that is there. */
function simple(random, table, holds) {
  const name = table.hash.name;
  return random.pick(holds ? [`attribute_exists(${name})`, 'attribute_not_exists(never)'] : [`attribute_not_exists(${name})`, 'attribute_exists(never)']);
}

function action(world, table, target) {
  const { random } = world;
  const kind = random.weighted([[3, 'Put'], [3, 'Update'], [2, 'Delete'], [2, 'ConditionCheck']]);
  const request = { TableName: table.name };
  if (kind === 'Put') {
    request.Item = { ...(table.indexes ? indexedItem(random, table) : item(random, table)), ...target };
    if (random.chance(0.03)) request.Item.s = badValue(random);
  } else {
    request.Key = target;
  }
  const wanted = {};
  if (kind === 'Update') wanted.UpdateExpression = 'update';
  const conditional = kind === 'ConditionCheck' || random.chance(0.25);
  const random_condition = conditional && random.chance(0.35);
  if (random_condition) wanted.ConditionExpression = 'condition';
  addExpressions(world, table, request, wanted, 0.04);
  if (conditional && !random_condition) request.ConditionExpression = simple(random, table, random.chance(0.75));
  maybe(random, request, 'ReturnValuesOnConditionCheckFailure', 0.4, () => random.pick(['ALL_OLD', 'ALL_OLD', 'NONE']));
  const entry = { [kind]: request };
  random.weighted([
    [60, () => {}],
    [1, () => { delete request[random.pick(Object.keys(request))]; }],
    [0.5, () => { request.TableName = 'nosuchtable'; }],
    [0.5, () => { entry[random.pick(['Put', 'Delete'])] = { TableName: table.name, Key: target, Item: target }; }],
    [0.3, () => { delete entry[kind]; }],
    [0.3, () => { request.ReturnValues = 'ALL_OLD'; }],
    [0.3, () => { request.ReturnValuesOnConditionCheckFailure = 'ALL_NEW'; }],
  ]);
  return entry;
}

function targets(world, count) {
  const { random } = world;
  const found = new Map();
  for (let i = 0; i < count; i++) {
    const table = world.table();
    const one = count > 20 ? numberedKey(table, i) : random.chance(0.03) ? badKey(random, table) : random.chance(0.5) ? world.key(table) : key(random, table);
    found.set(random.chance(0.03) ? i : table.name + textOf(one), { table, key: one });
  }
  return [...found.values()];
}

const actionCount = (random) => (random.chance(0.015) ? random.pick([99, 100, 101]) : random.weighted([[3, 1], [4, 2], [3, 3], [1, 5]]));

function transactWrite(world) {
  const { random } = world;
  world.transactions ??= [];
  if (world.transactions.length > 0 && random.chance(0.12)) {
    const request = structuredClone(random.pick(world.transactions));
    random.weighted([
      [4, () => {}],
      [1, () => { request.TransactItems.reverse(); }],
      [1, () => { request.TransactItems.push(action(world, world.tables[0], key(random, world.tables[0]))); }],
      [1, () => { request.ReturnConsumedCapacity = random.pick(['TOTAL', 'INDEXES', 'NONE']); }],
    ]);
    return { op: 'TransactWriteItems', request, table: world.tables[0] };
  }
  const request = { TransactItems: targets(world, actionCount(random)).map((each) => action(world, each.table, each.key)) };
  maybe(random, request, 'ReturnConsumedCapacity', 0.5, () => random.pick(RETURN_CAPACITY));
  maybe(random, request, 'ReturnItemCollectionMetrics', 0.15, () => random.pick(['SIZE', 'NONE']));
  if (random.chance(0.3)) {
    request.ClientRequestToken = random.chance(0.92) ? `token-${random.between(0, 1e6)}` : random.pick(['', 'x'.repeat(37), 5]);
    if (String(request.ClientRequestToken).startsWith('token-')) world.transactions.push(request);
  }
  return { op: 'TransactWriteItems', request: structuredClone(request), table: world.tables[0] };
}

function transactGet(world) {
  const { random } = world;
  const request = { TransactItems: targets(world, actionCount(random)).map(({ table, key: one }) => {
    const get = { TableName: random.chance(0.01) ? 'nosuchtable' : table.name, Key: one };
    if (random.chance(0.3)) addExpressions(world, table, get, { ProjectionExpression: 'projection' });
    return random.chance(0.01) ? {} : { Get: get };
  }) };
  maybe(random, request, 'ReturnConsumedCapacity', 0.5, () => random.pick(RETURN_CAPACITY));
  return { op: 'TransactGetItems', request, table: world.tables[0] };
}

export const GENERATORS = [
  { op: 'TransactWriteItems', weight: 11, make: transactWrite },
  { op: 'TransactGetItems', weight: 4, make: transactGet },
];
