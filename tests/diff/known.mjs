// Differences that are known and wanted. The reference outranks DynamoDB Local, so a rule does not excuse a difference: it
// demands of Stator what the reference says, and names what DynamoDB Local does instead. A rule that fires in no long run
// is to be removed.
//
// A rule is { id, reason, source, explains(difference, context) }. The difference is one of compare.mjs; the context is
// { step, stator, local }, the two outcomes as text: 'success' or 'ErrorName: message'.
import { canonicalNumber } from './numbers.mjs';

const OPV = 'One or more parameter values were invalid: ';
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** A pattern of whole ValidationException texts. */
const validation = (...texts) => new RegExp(`^ValidationException: (${texts.map((text) => text.source ?? escaped(text)).join('|')})$`, 's');

/** Both servers refuse (or one accepts), and both outcomes have the forms given. */
function outcomes({ id, reason, source, stator, local, when = () => true }) {
  return {
    id, reason, source,
    explains: ({ path }, context) => ['outcome', 'status', 'type', 'message'].includes(path) &&
      stator.test(context.stator) && local.test(context.local) && when(context.step, context),
  };
}

const TABLE_OPERATIONS = ['DescribeTable', 'UpdateTable', 'DeleteTable'];
const isTableOperation = ({ op }) => TABLE_OPERATIONS.includes(op);
const NO_TABLE = /^ResourceNotFoundException: Cannot do operations on a non-existent table$/;

const CONSTRAINT = /\d+ validation errors? detected: .*(failed to satisfy constraint: |TableArn)/;

const SERIALIZATION = new RegExp('^SerializationException: (' + [
  /undefined/, /(NUMBER|DECIMAL|TRUE|FALSE|STRING)_VALUE cannot be converted to \w+/,
  /Unrecognized collection type class [\w.$]+/, /Unrecognized collection type java\.util\.Map<java\.lang\.String, [\w.$]+>/,
  /Start of structure or map found where not expected/, /Unexpected field type/, /Unexpected value type in payload/,
  /only base-64-encoded strings are convertible to bytes/, /Base64 encoded length is expected a multiple of 4 bytes but found: \d+/,
  /Invalid last non-pad Base64 character dectected/, /Unexpected token received from parser/,
].map((pattern) => pattern.source).join('|') + ')$');

export const RULES = [
  outcomes({
    id: 'missing-table-item',
    reason: 'Local words the missing table of item operations in its own way',
    source: 'wire-protocol.md, common fixed messages',
    stator: /^ResourceNotFoundException: Requested resource not found$/,
    local: NO_TABLE,
    when: (step) => !isTableOperation(step),
  }),
  outcomes({
    id: 'missing-table',
    reason: 'Local words the missing table of table operations in its own way',
    source: 'wire-protocol.md, common fixed messages',
    stator: /^ResourceNotFoundException: Requested resource not found: Table: \S+ not found$/,
    local: NO_TABLE,
    when: isTableOperation,
  }),
  outcomes({
    id: 'table-exists',
    reason: 'Local words the existing table in its own way',
    source: 'wire-protocol.md, common fixed messages',
    stator: /^ResourceInUseException: Table already exists: \S+$/,
    local: /^ResourceInUseException: Cannot create preexisting table$/,
  }),
  outcomes({
    id: 'validation-before-table',
    reason: 'Local looks the table up first; the service validates the request first',
    source: 'wire-protocol.md, order of request checks',
    stator: /^(ValidationException|SerializationException): /,
    local: NO_TABLE,
  }),
  outcomes({
    id: 'json-types',
    reason: 'Local converts or crashes on a wrong JSON type; the service refuses it before validation',
    source: 'wire-protocol.md, value encodings',
    stator: SERIALIZATION,
    local: /^/,
  }),
  outcomes({
    id: 'constraints',
    reason: 'Local words limits, required members and enums in its own way or ignores them; the service reports constraints',
    source: 'wire-protocol.md, order of request checks; input-constraints.json',
    stator: validation(CONSTRAINT),
    local: validation('Return values set to invalid value', 'Limit must be greater than or equal to 1', 'Limit in ListTables must be <= 100',
      /Invalid table\/index name\. .*/, /Value null at 'tableName' .*/, 'Item to put in PutItem cannot be null',
      'Cannot have null key for GetItem, DeleteItem, or UpdateItem', 'BatchGetItem must have some requests set',
      'BatchWriteItem cannot have a null or no requests set'),
  }),
  outcomes({
    id: 'key-shape',
    reason: 'Local words a key that does not fit the schema in its own way',
    source: 'expressions.md, items, keys, values',
    stator: validation('The provided key element does not match the schema'),
    local: validation('The number of conditions on the keys is invalid', 'One of the required keys was not given a value', `${OPV}Type mismatch for key`),
  }),
  outcomes({
    id: 'missing-key',
    reason: 'Local words an item without its key in its own way',
    source: 'expressions.md, items, keys, values',
    stator: validation(/One or more parameter values were invalid: Missing the key \w+ in the item/),
    local: validation('One of the required keys was not given a value'),
  }),
  outcomes({
    id: 'key-type',
    reason: 'Local does not name the key and the types',
    source: 'expressions.md, items, keys, values',
    stator: validation(/One or more parameter values were invalid: Type mismatch for key \w+ expected: [SNB] actual: \w+/),
    local: validation(`${OPV}Type mismatch for key`),
  }),
  outcomes({
    id: 'not-a-number',
    reason: 'Local words text that is no number in its own way',
    source: 'limits-and-capacity.md, numbers',
    stator: validation(/(.*invalid value: )?The parameter cannot be converted to a numeric value.*/),
    local: validation(/(.*invalid value: )?A value provided cannot be converted into a number.*/),
  }),
  outcomes({
    id: 'number-precision',
    reason: 'Local words a number of more than 38 digits in its own way',
    source: 'limits-and-capacity.md, numbers',
    stator: validation(/(.*invalid value: )?Attempting to store more than 38 significant digits in a Number.*/),
    local: validation(/(.*invalid value: )?DynamoDB only supports precision up to 38 digits.*/),
  }),
  outcomes({
    id: 'arithmetic-range',
    reason: 'Local reports arithmetic that needs more than 38 digits as a lack of precision',
    source: 'limits-and-capacity.md, numbers: 1e50 + 1 reports "Number overflow"',
    stator: validation(/Number (over|under)flow\. .*/),
    local: validation('DynamoDB only supports precision up to 38 digits'),
    when: ({ op }) => op === 'UpdateItem',
  }),
  outcomes({
    id: 'select-count',
    reason: 'Local prints "only the Count" where the service prints the value of Select',
    source: 'expressions.md, Query and Scan: "... when choosing to get <SELECT>"',
    stator: validation('Cannot specify the ProjectionExpression when choosing to get COUNT'),
    local: validation('Cannot specify the ProjectionExpression when choosing to get only the Count'),
  }),
  outcomes({
    id: 'missed-key',
    reason: 'Local does not name the key attribute that the key condition misses',
    source: 'expressions.md, Query and Scan',
    stator: validation(/Query condition missed key schema element: [pk]/),
    local: validation('Query condition missed key schema element'),
  }),
  outcomes({
    id: 'nested-key',
    reason: 'Local words a nested path on a key attribute in its own way',
    source: 'expressions.md, expression parameters',
    stator: validation('Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes',
      'KeyConditionExpressions cannot have conditions on nested attributes'),
    local: validation(/Key attributes must be scalars; .*/),
    when: ({ op }) => op === 'Query',
  }),
  outcomes({
    id: 'starting-key',
    reason: 'Local words a starting key that does not fit in its own way',
    source: 'expressions.md, Query and Scan',
    stator: validation(/The provided starting key (is|does) .*/, 'The query can return at most one row and cannot be restarted',
      "Exclusive Start Key must have same size as table's key schema"),
    local: validation(/The provided starting key (is|does) .*/, /The query can return at most one row and cannot be restarted.*/,
      "Exclusive Start Key must have same size as table's key schema", 'Type mismatch for attribute to update'),
    when: ({ request }) => request.ExclusiveStartKey !== undefined,
  }),
  outcomes({
    id: 'segments',
    reason: 'Local words Segment and TotalSegments in its own way',
    source: 'expressions.md, Query and Scan',
    stator: validation(/The (TotalSegments|Segment) parameter is .*/, CONSTRAINT),
    local: validation(/If (segment|total segments) is specified, .*/, /1 validation error detected: Value '-?\d+' at '(segment|totalSegments)' .*/),
    when: ({ op }) => op === 'Scan',
  }),
  outcomes({
    id: 'key-size',
    reason: 'Local words a key value that is too long in its own way',
    source: 'limits-and-capacity.md, names and keys',
    stator: validation(`${OPV}Size of hashkey has exceeded the maximum size limit of2048 bytes`,
      `${OPV}Aggregated size of all range keys has exceeded the size limit of 1024 bytes`),
    local: validation('Hash primary key values must be under 2048 bytes, and range primary key values must be under 1024 bytes'),
  }),
  outcomes({
    id: 'binary-bounds',
    reason: 'Local prints a Java buffer where a bound of BETWEEN is binary',
    source: 'expressions.md, expression parameters',
    stator: validation(/Invalid \w+: The BETWEEN operator requires .*AttributeValue: \{\w+:[^{}]*\}, upper bound operand: AttributeValue: \{\w+:[^{}]*\}/),
    local: validation(/Invalid \w+: The BETWEEN operator requires .*java\.nio\.HeapByteBuffer.*/),
  }),
  outcomes({
    id: 'attribute-type-operand',
    reason: 'Local names types that DynamoDB does not have',
    source: 'expressions.md, expression parameters',
    stator: validation(/Invalid \w+: Incorrect operand type for operator or function; operator or function: attribute_type, operand type: \{B, ?BOOL.*\}|Invalid \w+: Incorrect operand type for operator or function; operator or function: attribute_type, operand type: \{NS,SS,L,BS,N,M,B,BOOL,NULL,S\}/),
    local: validation(/Invalid \w+: Incorrect operand type for operator or function; operator or function: attribute_type, operand type: \{.*DICT.*\}/),
  }),
  {
    id: 'empty-read-capacity',
    reason: 'Local counts nothing for a Query that reads nothing; the service counts its minimum',
    source: 'limits-and-capacity.md, reads: at least 1 x factor when nothing matches',
    explains: ({ path, stator, local }, { step }) => step.op === 'Query' && /CapacityUnits$/.test(path) && local === 0 &&
      stator === (step.request.ConsistentRead ? 1 : 0.5),
  },
  {
    id: 'missing-item-capacity',
    reason: 'Local counts nothing for missing items of BatchGetItem; the service counts them like GetItem',
    source: 'limits-and-capacity.md, reads: sum of per-item GetItem costs',
    explains: ({ path, stator, local }, { step }) => step.op === 'BatchGetItem' && /CapacityUnits$/.test(path) &&
      stator > local && (stator - local) * 2 % 1 === 0,
  },
  {
    id: 'scan-capacity',
    reason: 'Local rounds a Scan once; the service rounds it for each partition it touches',
    source: 'limits-and-capacity.md, reads: a fresh on-demand table with one tiny item reports 2 (eventual) / 4 (consistent)',
    explains: ({ path, stator, local }, { step }) => step.op === 'Scan' && /CapacityUnits$/.test(path) && stator > local &&
      stator >= (step.request.ConsistentRead ? 1 : 0.5),
  },
  {
    id: 'canonical-number',
    reason: 'Local keeps numbers inside lists, maps and sets as they were written; the service answers the canonical form',
    source: 'limits-and-capacity.md, numbers, canonical output',
    explains: ({ path, stator, local }) => /\.N$/.test(path) && typeof local === 'string' && canonicalNumber(local) === stator,
  },
  {
    id: 'table-status',
    reason: 'Local answers the final status at once; the service answers CREATING, UPDATING or DELETING first',
    source: 'issue 2; operations.md, CreateTable is asynchronous',
    explains: ({ path, stator, local }, { step }) => /TableStatus$/.test(path) && local === 'ACTIVE' &&
      stator === { CreateTable: 'CREATING', UpdateTable: 'UPDATING', DeleteTable: 'DELETING' }[step.op],
  },
];
