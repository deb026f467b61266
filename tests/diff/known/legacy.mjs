// Rules for the parameters that preceded expressions.
import { OPV, outcomes, validation, VALUE_ERRORS } from './patterns.mjs';

const LETTERS = { STRING: 'S', NUMBER: 'N', BINARY: 'B', BOOLEAN: 'BOOL', LIST: 'L', MAP: 'M', STRING_SET: 'SS', NUMBER_SET: 'NS', BINARY_SET: 'BS', NULL: 'NULL' };
const inLetters = (text) => text.replace(/for the type (\w+)$/, (whole, type) => `for the type ${LETTERS[type] ?? type}`);

// Errors in legacy parameters that the request alone decides.
const LEGACY = validation(/One or more parameter values were invalid: (Value |Exists |AttributeValueList |AttributeValues inside |Invalid number of argument|ComparisonOperator |Only DELETE action |DELETE action |ADD action |Duplicate value ).*/,
  'The BETWEEN condition was provided a range where the lower bound is greater than the upper bound', /ConditionalOperator .*/, /Can not use both .*/,
  'Cannot have two attributes with the same name', 'Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.',
  /Cannot specify the AttributesToGet .*/, 'Attempted conditional constraint is not an indexable operation', 'Conditions can be of length 1 or 2 only');
const LEGACY_OR_MORE = new RegExp(`${LEGACY.source}|^ValidationException: (Query (condition missed|key condition) .*|HASH key attributes .*|RANGE key attributes .*|${OPV}(Condition parameter type|Type mismatch|Size limit|Secondary index|Global secondary index|Select type|Cannot update attribute).*|` +
  'QueryFilter can only .*|ALL_PROJECTED_ATTRIBUTES .*|Must specify the .*|Cannot specify the .*|The provided (starting )?key .*|The number of conditions .*|One of the required keys .*|Invalid attribute value type|Consistent reads .*|The table does not have .*|Type mismatch for attribute .*|Key attributes must be scalars.*|Only scalar types .*|Conditions must be .*|' +
  'Exclusive Start Key .*|An operand in the update .*|Hash primary key values .*|One or more parameter values are not valid\\. .*|The query can return .*|ExpressionAttribute.*|Invalid \\w+Expression: .*|ReturnValues can only .*|Return values set .*)$|^ConditionalCheckFailedException: ');
const isLegacy = ({ request }) => ['Expected', 'AttributeUpdates', 'KeyConditions', 'QueryFilter', 'ScanFilter', 'AttributesToGet', 'ConditionalOperator', 'RequestItems']
  .some((member) => request[member] !== undefined);

export const LEGACY_PARAMETERS = [
  {
    id: 'default-action',
    reason: 'Local drops all AttributeUpdates when one of them has no Action; for the service PUT is the default',
    source: 'expressions.md, legacy parameters: PUT(default)',
    explains: ({ path }, { step }) => (path.startsWith('after') || path.startsWith('body') || path === 'outcome') && step.op === 'UpdateItem' &&
      Object.values(step.request.AttributeUpdates ?? {}).some((update) => update?.Action === undefined && update?.Value !== undefined),
  },
  outcomes({
    id: 'empty-legacy-maps',
    reason: 'Local lets empty legacy maps stand beside expressions',
    source: 'expressions.md, legacy parameters: legacy and expression parameters may not be mixed',
    stator: validation(/Can not use both expression and non-expression parameters in the same request: .*/),
    local: /^/,
    when: ({ request }) => ['Expected', 'AttributeUpdates', 'QueryFilter', 'ScanFilter', 'KeyConditions'].some((member) => request[member] && Object.keys(request[member]).length === 0),
  }),
  outcomes({
    id: 'actions-on-index-keys',
    reason: 'Local has words of its own for ADD and DELETE on index keys, also where there is nothing to take away',
    source: 'expressions.md, update expressions: missing attribute no-op',
    stator: /^(success|ValidationException: The update expression attempted to update the secondary index key .*)$/,
    local: validation('Updates on index keys must be of the same data type as the key attribute'),
  }),
  outcomes({
    id: 'action-types',
    reason: 'Local writes out the type that an action does not take',
    source: 'expressions.md, legacy conditions: not supported for the type N',
    stator: validation(/One or more parameter values were invalid: (ADD action is|DELETE action with value is) not supported for the type \w+/),
    local: validation(/One or more parameter values were invalid: (ADD action is|DELETE action with value is) not supported for the type \w+/),
    when: (step, { stator, local }) => inLetters(local) === stator || Object.keys(step.request.AttributeUpdates).length > 1,
  }),
  outcomes({
    id: 'duplicate-name',
    reason: 'Local words a name that is twice in AttributesToGet in its own way',
    source: 'expressions.md, legacy parameters',
    stator: validation(/One or more parameter values were invalid: Duplicate value in attribute name: .*/),
    local: validation('Cannot have two attributes with the same name'),
  }),
  outcomes({
    id: 'empty-key-conditions',
    reason: 'Local words empty KeyConditions in its own way',
    source: 'expressions.md, Query and Scan',
    stator: validation('Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.'),
    local: validation('Conditions must be at least length 1'),
  }),
  outcomes({
    id: 'key-existence',
    reason: 'Local words NULL, NOT_NULL and NE on keys in its own way',
    source: 'expressions.md, Query and Scan: legacy NE, IN, CONTAINS ...',
    stator: validation('Attempted conditional constraint is not an indexable operation'),
    local: validation('Only scalar types can be used as Range Key values', 'Query key condition not supported', /HASH key attributes .*/, /RANGE key attributes .*/,
      'Query condition missed key schema element', `${OPV}Condition parameter type does not match schema type`),
    when: ({ request }) => request.KeyConditions !== undefined,
  }),
  outcomes({
    id: 'contains-any',
    reason: 'Local lets CONTAINS and NOT_CONTAINS look for BOOL and NULL',
    source: 'expressions.md, legacy parameters: CONTAINS NOT_CONTAINS 1 of S N B',
    stator: validation(/One or more parameter values were invalid: ComparisonOperator (NOT_)?CONTAINS is not valid for (BOOL|NULL) AttributeValue type/),
    local: /^(success|ConditionalCheckFailedException: .*)$/,
  }),
  outcomes({
    id: 'legacy-before-item',
    reason: 'Local reports what the schema or the item decides first; the service reports what the request alone decides first. Of two errors that the request alone decides either may come first',
    source: 'wire-protocol.md, order of request checks; expressions.md names no order among legacy conditions',
    stator: new RegExp(`${LEGACY.source}|^ValidationException: ExpressionAttribute|${validation(...VALUE_ERRORS).source}`),
    local: LEGACY_OR_MORE,
    when: (step, { stator, local }) => isLegacy(step) && stator !== local,
  }),
  outcomes({
    id: 'empty-name-to-get',
    reason: 'Local refuses an empty name in AttributesToGet, which no item can have',
    source: 'shapes.json: AttributeName has no minimum',
    stator: /^(success|ValidationException: One or more parameter values were invalid: Duplicate value in attribute name: .*)$/,
    local: validation('Empty attribute name'),
    when: ({ request }) => JSON.stringify(request).includes('""'),
  }),
  {
    id: 'legacy-removes-nothing',
    reason: 'Local creates an item of its key when there is nothing to remove',
    source: 'expressions.md, update expressions: legacy DELETE without value on a missing item creates nothing',
    explains: ({ path, stator, local }, { step }) => step.request.AttributeUpdates !== undefined && stator === undefined &&
      Object.values(step.request.AttributeUpdates).every(({ Action, Value }) => Action === 'DELETE' && Value === undefined) &&
      (path === 'body.Attributes' || (path === 'after.Item' && Object.keys(local).sort().join() === Object.keys(step.request.Key).sort().join())),
  },
];
