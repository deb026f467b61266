// Breaks a valid request in one way: a member missing, of the wrong JSON type, out of range, unknown, too long.
import { badKey, badValue } from './values.mjs';

const WRONG_TYPES = [5, 1.5, 'text', true, [], {}, null, ['a'], { a: 1 }];
const WRONG_NAMES = ['', 'a', 'ab', 'with space', 'sla/sh', 'x'.repeat(255), 'x'.repeat(256), 'x'.repeat(1025), 'nosuchtable',
  'arn:aws:dynamodb:us-east-1:000000000000:table/nosuchtable'];
const ENUMS = ['ReturnValues', 'ReturnConsumedCapacity', 'ReturnItemCollectionMetrics', 'Select', 'BillingMode', 'TableClass',
  'ReturnValuesOnConditionCheckFailure'];
const NUMBERS = ['Limit', 'Segment', 'TotalSegments', 'ReadCapacityUnits', 'WriteCapacityUnits'];

/** All [owner, member] places of objects in the request, outermost first. */
function places(node, found = []) {
  if (node && typeof node === 'object') {
    for (const member of Object.keys(node)) {
      found.push([node, member]);
      places(node[member], found);
    }
  }
  return found;
}

/** Returns a broken copy of `request`; `table` is the table whose keys it names. */
export function mutateRequest(random, request, table) {
  const copy = structuredClone(request);
  const members = Object.keys(copy);
  if (members.length === 0) return random.pick([{ Limit: 0 }, { Limit: 'x' }, { Unknown: 1 }]);
  const one = random.pick(members);
  random.weighted([
    [3, () => { delete copy[one]; }],
    [1, () => { copy[one] = null; }],
    [3, () => { copy[one] = random.pick(WRONG_TYPES); }],
    [2, () => {
      const [owner, member] = random.pick(places(copy));
      owner[member] = random.pick(WRONG_TYPES);
    }],
    [1, () => {
      const [owner, member] = random.pick(places(copy));
      if (!Array.isArray(owner)) delete owner[member];
    }],
    [2, () => { copy[random.pick(ENUMS)] = random.pick(['', 'BAD', 'none', 'ALL_OLD', 'COUNT', 'TOTAL', 'SIZE', 'PROVISIONED']); }],
    [2, () => {
      const name = random.pick(NUMBERS);
      const amount = random.pick([0, -1, 1, 1.5, 1000000, 1000001, 2147483647, 2147483648, 9223372036854775807, '5']);
      if (name.endsWith('Units')) copy.ProvisionedThroughput = { ReadCapacityUnits: 5, WriteCapacityUnits: 5, [name]: amount };
      else copy[name] = amount;
    }],
    [2, () => { if (copy.TableName !== undefined) copy.TableName = random.pick(WRONG_NAMES); }],
    [0.5, () => { copy.IndexName = random.pick(['ab', 'nosuchindex', '', 'sp ace']); }],
    [1, () => { copy.Unknown = random.pick(WRONG_TYPES); }],
    [2, () => {
      if (copy.Key) copy.Key = badKey(random, table);
      if (copy.Item && Object.keys(copy.Item).length > 0) copy.Item[random.pick(Object.keys(copy.Item))] = badValue(random);
      if (copy.ExclusiveStartKey) copy.ExclusiveStartKey = badKey(random, table);
    }],
    [0.5, () => { copy.ExpressionAttributeNames = random.pick([{}, { '#a': 'a' }, { a: 'a' }, { '#a': '' }, { '#a': 5 }]); }],
    [0.5, () => { copy.ExpressionAttributeValues = random.pick([{}, { ':a': { S: 'a' } }, { a: { S: 'a' } }, { ':a': {} }, { ':a': 'a' }]); }],
  ]);
  return copy;
}
