// Differences that are known and wanted. The reference outranks DynamoDB Local, so a rule does not excuse a difference: it
// demands of Stator what the reference says, and names what DynamoDB Local does instead. A rule that fires in no long run
// is to be removed.
//
// A rule is { id, reason, source, explains(difference, context) }. The difference is one of compare.mjs; the context is
// { step, stator, local }, the two outcomes as text: 'success' or 'ErrorName: message'.
import { canonical } from './compare.mjs';
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

/** True if every member of `part` is in `whole`, elements of lists in order. */
function within(part, whole) {
  if (part === undefined) return true;
  if (Array.isArray(part)) {
    if (!Array.isArray(whole)) return false;
    let at = 0;
    return part.every((element) => {
      while (at < whole.length && !within(element, whole[at])) at++;
      return at++ < whole.length;
    });
  }
  if (part !== null && typeof part === 'object') {
    return whole !== null && typeof whole === 'object' && Object.keys(part).every((member) => member in whole && within(part[member], whole[member]));
  }
  return part === whole || canonicalNumber(String(whole)) === part;
}

const bareItems = ({ Items, Count, ScannedCount }) => ({ Items, Count, ScannedCount });

const TABLE_OPERATIONS = ['DescribeTable', 'UpdateTable', 'DeleteTable'];
const isTableOperation = ({ op }) => TABLE_OPERATIONS.includes(op);
const NO_TABLE = /^ResourceNotFoundException: Cannot do operations on a non-existent table$/;

const CONSTRAINT = /\d+ validation errors? detected: .*(failed to satisfy constraint: ).*/;

const SERIALIZATION = new RegExp('^SerializationException: (' + [
  /undefined/, /(NUMBER|DECIMAL|TRUE|FALSE|STRING)_VALUE cannot be converted to \w+/,
  /Unrecognized collection type class [\w.$]+/, /Unrecognized collection type java\.util\.Map<java\.lang\.String, [\w.$<>]+>/,
  /class sun\.reflect\.generics\..*/, /Start of structure or map found where not expected/, /Unexpected field type/, /Unexpected value type in payload/,
  /only base-64-encoded strings are convertible to bytes/, /Base64 encoded length is expected a multiple of 4 bytes but found: \d+/,
  /Invalid last non-pad Base64 character dectected/, /Unexpected token received from parser/,
].map((pattern) => pattern.source).join('|') + ')$');

// What Local says of a key that does not fit the schema.
const KEY_SHAPE = ['The number of conditions on the keys is invalid', 'One of the required keys was not given a value',
  `${OPV}Type mismatch for key`, 'Invalid attribute value type', /The list of keys in RequestItems for BatchGetItem may not contain null or empty values: .*/];

// What is said of values that cannot be.
const VALUE_ERRORS = [/(.*invalid value: )?Supplied AttributeValue (is empty|has more than one).*/, /(.*invalid value: )?The parameter cannot be converted to a numeric value.*/,
  /(.*invalid value: )?A value provided cannot be converted into a number.*/, /(.*invalid value: )?Number (over|under)flow\. .*/,
  /(.*invalid value: )?Attempting to store more than 38 .*/, /(.*invalid value: )?DynamoDB only supports precision .*/, /.*Input collection.*/, /.*An (string|number) set  may not be empty.*/,
  /.*Binary sets should not be empty.*/, /.*Null attribute value types.*/, /.*may not have a null (string|number|binary) as a member.*/, /Nesting Levels have exceeded .*/, /The supplied Item contains a null AttributeValue: .*/];
const messageKind = (text) => text.replace(/^ValidationException: (.*invalid value: )?/s, '').slice(0, 36);
const operatorOf = (text) => /(operator|function): ([^,;]+), operand type: [^,]+/.exec(text)?.[0];

// Errors that the request alone decides, and errors that need the table's schema or an item.
const STATELESS = validation(/Invalid (Condition|Filter|KeyCondition|Projection|Update)Expression: .*/, /Value provided in ExpressionAttribute\w+ unused .*/,
  /ExpressionAttribute(Names|Values) .*/, /Cannot specify the .* when choosing to get \w+/, /Must specify the .* SPECIFIC_ATTRIBUTES/,
  /ALL_PROJECTED_ATTRIBUTES can be used only .*/, 'ReturnValues can only be ALL_OLD or NONE', /Invalid operator used in KeyConditionExpression: .*/,
  'KeyConditionExpressions must only contain one condition per key', 'KeyConditionExpressions cannot contain nested operations',
  'Conditions can be of length 1 or 2 only', /Invalid condition in KeyConditionExpression: .*/, 'Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.');
const NEEDS_TABLE = validation(...KEY_SHAPE, `${OPV}Condition parameter type does not match schema type`, /Filter Expression can only contain .*/,
  /The provided starting key .*/, "Exclusive Start Key must have same size as table's key schema", 'Type mismatch for attribute to update',
  /Query condition missed key schema element.*/, 'Query key condition not supported', /Key attributes must be scalars; .*/,
  /One or more parameter values are not valid\. The AttributeValue for a key .*/, /Hash primary key values must be under .*/,
  /The table does not have the specified index: .*/, /The query can return at most one row .*/, 'Provided list of item keys contains duplicates');

const SCHEMA_ERRORS = new RegExp(`${NEEDS_TABLE.source}|${validation('The provided key element does not match the schema',
  /One or more parameter values were invalid: (Missing the key|Type mismatch for key) .*/).source}`);

// Which parameter an error of the request alone is about. The reference orders checks within a parameter, not between them.
const FAMILIES = [/Invalid (Condition)Expression/, /Invalid (Filter)Expression/, /Invalid (KeyCondition)Expression|KeyCondition|Conditions can be/,
  /Invalid (Projection)Expression/, /Invalid (Update)Expression/, /(ReturnValues can|Return values)/, /(choosing to get|ALL_PROJECTED)/,
  /(Segment|segment)/, /(AttributeValue is|may not have a null|numeric value|number|Number|set +may|sets should|Input collection|datatypes|Null attribute|significant digits|null AttributeValue|Nesting|precision)/,
  /(unused in expressions)/, /(can only be specified)/, /(must not be empty)/, /(contains invalid key)/, /(contains invalid value)/, /(Limit)/, /(Item to put|null key)/];
const familyOf = (text) => FAMILIES.findIndex((pattern) => pattern.test(text));

const UPDATE_ERRORS = validation('The document path provided in the update expression is invalid for update',
  'The provided expression refers to an attribute that does not exist in the item', 'An operand in the update expression has an incorrect data type',
  /Number (over|under)flow\. .*/, 'DynamoDB only supports precision up to 38 digits');

const OVERLAP = /Two document paths (overlap|conflict) with each other; must remove or rewrite one of these paths; path one: (\[.*\]), path two: (\[.*\])$/;

/** True if the message names two paths of which one is the other or its ancestor. */
function namesOverlap(text) {
  const [, kind, one, two] = OVERLAP.exec(text) ?? [];
  if (kind === 'conflict') return true;
  if (kind === undefined) return false;
  const [inner, outer] = [one.slice(0, -1), two.slice(0, -1)];
  return inner === outer || inner.startsWith(`${outer}, `) || outer.startsWith(`${inner}, `);
}

const updateOf = ({ op, request }) => (op === 'UpdateItem' && typeof request.UpdateExpression === 'string' ? request.UpdateExpression : '');
const onlyRemoves = (step) => !/\b(SET|ADD)\b/i.test(updateOf(step).replace(/[#:]\w+/g, '')) && updateOf(step) !== '';

export const RULES = [
  outcomes({
    id: 'missed-key',
    reason: 'Local does not name the key attribute that the key condition misses',
    source: 'expressions.md, Query and Scan',
    stator: validation(/Query condition missed key schema element: [pk]/),
    local: validation('Query condition missed key schema element'),
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
    id: 'nested-key',
    reason: 'Local words a nested path on a key attribute in its own way',
    source: 'expressions.md, expression parameters',
    stator: validation('Invalid KeyConditionExpression: KeyConditionExpressions cannot have conditions on nested attributes',
      'KeyConditionExpressions cannot have conditions on nested attributes'),
    local: validation(/Key attributes must be scalars; .*/, 'KeyConditionExpressions cannot have conditions on nested attributes'),
    when: ({ op }) => op === 'Query',
  }),
  outcomes({
    id: 'names-without-expression',
    reason: 'Local accepts names or values without an expression',
    source: 'expressions.md, expression parameters',
    stator: validation(/ExpressionAttribute(Names|Values) can only be specified when using expressions.*/),
    local: /^success$/,
  }),
  outcomes({
    id: 'null-value',
    reason: 'Local words a null where a value belongs in its own way',
    source: 'expressions.md, items, keys, values',
    stator: validation('Supplied AttributeValue is empty, must contain exactly one of the supported datatypes'),
    local: validation(/The supplied Item contains a null AttributeValue(: .* is null)?/),
  }),
  outcomes({
    id: 'start-in-segment',
    reason: 'Local words a starting key outside its segment in its own way, and its segments are others',
    source: 'issue 2: segments are a matter of the hash',
    stator: validation(/The provided starting key is invalid: Invalid ExclusiveStartKey\. .*/),
    local: /^(success|ValidationException: Exclusive start key must lie within the segment)$/,
  }),
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
    local: /^ResourceNotFoundException: Cannot do operations on a non-existent table$|^ResourceInUseException: Cannot create preexisting table$/,
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
    local: /^(?!ResourceNotFoundException)/,
  }),
  outcomes({
    id: 'return-values',
    reason: 'Local words a ReturnValues that PutItem and DeleteItem do not take in its own way',
    source: 'expressions.md, update expressions, ReturnValues',
    stator: validation('ReturnValues can only be ALL_OLD or NONE'),
    local: validation('Return values set to invalid value'),
    when: ({ op }) => op === 'PutItem' || op === 'DeleteItem',
  }),
  outcomes({
    id: 'required-map',
    reason: 'Local words a missing RequestItems in its own way',
    source: 'expressions.md, batch and transactions',
    stator: validation(/The requestItems parameter is required for Batch(Get|Write)Item/),
    local: validation('BatchGetItem must have some requests set', 'BatchWriteItem cannot have a null or no requests set'),
  }),
  {
    id: 'table-description',
    reason: 'Local leaves TableId and WarmThroughput out and answers 1970 for throughput that never changed',
    source: 'shapes.json, TableDescription; operations.md, warm throughput',
    explains: ({ path, stator, local }) => (/\.(TableId|WarmThroughput)$/.test(path) && local === undefined && stator !== undefined) ||
      (/ProvisionedThroughput\.Last(In|De)creaseDateTime$/.test(path) && stator === undefined && local === '<time>'),
  },
  outcomes({
    id: 'request-before-schema',
    reason: 'Local reports what the schema decides first; the service reports what the request alone decides first',
    source: 'wire-protocol.md, order of request checks: semantic validation, table lookup, key/item validation',
    stator: STATELESS,
    local: NEEDS_TABLE,
  }),
  outcomes({
    id: 'values-before-schema',
    reason: 'Local reports what the schema decides first; the service refuses values that cannot be first',
    source: 'wire-protocol.md, order of request checks',
    stator: validation(...VALUE_ERRORS, /The (TotalSegments|Segment) parameter is .*/),
    local: NEEDS_TABLE,
  }),
  outcomes({
    id: 'count-before-distinct',
    reason: 'Local looks for equal operands first; the service counts operands first',
    source: 'expressions.md, reported order inside one expression',
    stator: validation(/Invalid \w+: The IN operator is provided with too many operands; .*/, /Invalid \w+: Incorrect number of operands .*/),
    local: validation(/Invalid \w+: The first operand must be distinct .*/),
  }),
  outcomes({
    id: 'size-is-reserved',
    reason: 'Local takes size for an attribute name although it is a reserved word',
    source: 'reserved-words.json',
    stator: validation(/Invalid \w+: Attribute name is a reserved keyword; reserved keyword: [Ss][Ii][Zz][Ee]/),
    local: /^/,
  }),
  outcomes({
    id: 'undefined-order',
    reason: 'of several undefined names or values Local reports another one than the first',
    source: 'expressions.md, reported order inside one expression, names no order among them',
    stator: validation(/Invalid \w+: An expression attribute (name|value) used .* not defined; .*/),
    local: validation(/Invalid \w+: An expression attribute (name|value) used .* not defined; .*/),
    when: (step, { stator }) => JSON.stringify(step.request).includes(/[#:][^#:\s]+$/.exec(stator)?.[0] ?? '\0'),
  }),
  outcomes({
    id: 'two-operand-types',
    reason: 'of several operands of wrong types Local reports another one',
    source: 'expressions.md, reported order inside one expression, names no order among them',
    stator: validation(/Invalid \w+: Incorrect operand type for operator or function; .*/),
    local: validation(/Invalid \w+: Incorrect operand type for operator or function; .*/),
    when: (step, { stator, local }) => operatorOf(stator) !== operatorOf(local),
  }),
  outcomes({
    id: 'bounds-as-sent',
    reason: 'Local prints the numbers of BETWEEN as they were sent',
    source: 'limits-and-capacity.md, numbers, canonical output',
    stator: validation(/Invalid \w+: The BETWEEN operator requires .*/),
    local: validation(/Invalid \w+: The BETWEEN operator requires .*/),
    when: (step, { stator, local }) => local.replace(/\{N:([^}]*)\}/g, (_, text) => `{N:${canonicalNumber(text)}}`) === stator,
  }),
  outcomes({
    id: 'nested-path-on-key',
    reason: 'Local refuses a nested path on a key attribute; the reference knows no such error outside key conditions',
    source: 'expressions.md, validation messages',
    stator: new RegExp(`^(success|ConditionalCheckFailedException: The conditional request failed)$|${UPDATE_ERRORS.source}|^ValidationException: (Filter Expression can only|${OPV}Cannot update attribute) `),
    local: validation(/Key attributes must be scalars; .*/),
  }),
  {
    id: 'item-of-failed-condition',
    reason: 'only one of the servers came as far as the condition, and answers the item that failed it',
    source: 'the rule that explains why one refused, without which the type stays unexplained',
    explains: ({ path, stator, local }, context) => path === 'body.Item' &&
      ((local === undefined && /^ValidationException/.test(context.local) && /^ConditionalCheckFailed/.test(context.stator)) ||
       (stator === undefined && /^(Validation|Serialization)Exception/.test(context.stator) && /^ConditionalCheckFailed/.test(context.local))),
  },
  outcomes({
    id: 'set-duplicates',
    reason: 'Local leaves out the full stop',
    source: 'expressions.md, items, keys, values',
    stator: validation(/(.*)One or more parameter values were invalid: Input collection \[.*\] contains duplicates\.(.*)/),
    local: validation(/(.*)One or more parameter values were invalid: Input collection \[.*\] contains duplicates(.*)/),
  }),
  outcomes({
    id: 'empty-write',
    reason: 'Local takes a write request of a batch that holds nothing for one that holds too much',
    source: 'expressions.md, items, keys, values',
    stator: validation('Supplied AttributeValue is empty, must contain exactly one of the supported datatypes'),
    local: validation('Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes'),
    when: ({ op }) => op === 'BatchWriteItem',
  }),
  outcomes({
    id: 'duplicates-after-shape',
    reason: 'Local looks for equal keys of a batch before it looks at their shape',
    source: 'expressions.md, items, keys, values, names no order',
    stator: validation('The provided key element does not match the schema'),
    local: validation('Provided list of item keys contains duplicates'),
  }),
  outcomes({
    id: 'duplicates-by-value',
    reason: 'Local compares keys of a batch as text, so that 10 and 1e1 are two',
    source: 'limits-and-capacity.md, numbers: keys and set members compare by value',
    stator: validation('Provided list of item keys contains duplicates'),
    local: /^success$/,
    when: ({ request }) => /"N":"[^"]*[eE.+]/.test(JSON.stringify(request)),
  }),
  outcomes({
    id: 'zero-beyond-range',
    reason: 'Local accepts zero with an exponent beyond the range',
    source: 'limits-and-capacity.md, numbers: 0e126 is rejected as overflow although zero',
    stator: validation(/(.*invalid value: )?Number overflow\. .*/),
    local: /^success$/,
    when: ({ request }) => /"0e126"/.test(JSON.stringify(request)),
  }),
  outcomes({
    id: 'default-of-existing',
    reason: 'Local wants the default of if_not_exists to exist even where it is not needed',
    source: 'expressions.md, update expressions: not said; open question',
    stator: /^success$/,
    local: validation('The provided expression refers to an attribute that does not exist in the item'),
    when: (step) => /if_not_exists/.test(updateOf(step)),
  }),
  outcomes({
    id: 'local-fails',
    reason: 'Local fails where the service refuses',
    source: 'wire-protocol.md, errors: HTTP 400 for every client error',
    stator: /^ValidationException: /,
    local: /^InternalFailure: /,
  }),
  outcomes({
    id: 'reference-after-dot',
    reason: 'Local reads on behind a value that stands where a name belongs',
    source: 'expressions.md, lexical rules',
    stator: validation(/Invalid \w+: Syntax error; token: ":\w+", near: "\.\s*:\w+.*"/),
    local: validation(/Invalid \w+: (Syntax error|An expression attribute name) .*/, /Invalid \w+: Syntax error; .*/),
  }),
  outcomes({
    id: 'batch-missing-table',
    reason: 'of a batch with a missing table and a bad key Local reports the key',
    source: 'wire-protocol.md, order of request checks: table lookup before keys',
    stator: /^ResourceNotFoundException: Requested resource not found$/,
    local: NEEDS_TABLE,
    when: ({ op }) => op.startsWith('Batch'),
  }),
  outcomes({
    id: 'huge-integers',
    reason: 'Local breaks on an integer beyond 32 bits',
    source: 'wire-protocol.md, value encodings',
    stator: /^success$/,
    local: /^InternalFailure: /,
    when: ({ request }) => /\d{10,}/.test(JSON.stringify(request)),
  }),
  {
    id: 'decreases',
    reason: 'Local does not count decreases of throughput',
    source: 'limits-and-capacity.md, throughput: provisioned decreases',
    explains: ({ path, stator, local }) => /NumberOfDecreasesToday$/.test(path) && stator > 0 && local === 0,
  },
  {
    id: 'billing-mode-summary',
    reason: 'Local shows no BillingModeSummary of a provisioned table',
    source: 'shapes.json, TableDescription',
    explains: ({ path, stator, local }) => /\.BillingModeSummary$/.test(path) && stator?.BillingMode === 'PROVISIONED' && local === undefined,
  },
  {
    id: 'table-size',
    reason: 'Local measures numbers in its own way',
    source: 'limits-and-capacity.md, item size',
    explains: ({ path, stator, local }) => /\.TableSizeBytes$/.test(path) && Math.abs(stator - local) <= 0.1 * local,
  },
  outcomes({
    id: 'overlap-paths',
    reason: 'Local names a pair of paths of which none is inside the other',
    source: 'expressions.md, expression parameters: path one: [a], path two: [a, b]',
    stator: validation(/Invalid (Update|Projection)Expression: Two document paths .*/),
    local: validation(/Invalid (Update|Projection)Expression: Two document paths .*/),
    when: (step, { stator }) => namesOverlap(stator),
  }),
  outcomes({
    id: 'type-set',
    reason: 'Local appends the name of its type set',
    source: 'expressions.md, expression parameters: operator: ADD, operand type: STRING',
    stator: validation(/Invalid UpdateExpression: Incorrect operand type for operator or function; operator: (ADD|DELETE), operand type: [A-Z]+/),
    local: validation(/Invalid UpdateExpression: .*; operator: (ADD|DELETE), operand type: [A-Z]+, typeSet: ALLOWED_FOR_(ADD|DELETE)_OPERAND/),
  }),
  outcomes({
    id: 'expression-size',
    reason: 'Local appends the size',
    source: 'expressions.md, expression parameters: older captures append the size',
    stator: validation(/Invalid \w+: Expression size has exceeded the maximum allowed size/),
    local: validation(/Invalid \w+: Expression size has exceeded the maximum allowed size;( expression size: \d+)?/),
  }),
  outcomes({
    id: 'key-update-before-condition',
    reason: 'Local evaluates the condition before it looks for key attributes in the update',
    source: 'expressions.md, condition and filter: checks happen before any item is read',
    stator: validation(/One or more parameter values were invalid: Cannot update attribute \w+\. This attribute is part of the key/),
    local: /^ConditionalCheckFailedException: /,
  }),
  outcomes({
    id: 'update-error-order',
    reason: 'an update that fails for two reasons: which of them is reported is not known of the service',
    source: 'expressions.md, update expressions, names no order',
    stator: UPDATE_ERRORS,
    local: UPDATE_ERRORS,
    when: (step) => updateOf(step) !== '',
  }),
  outcomes({
    id: 'overlap-beside-undefined',
    reason: 'an update with paths that overlap and a name that is not defined: which is reported first is not known of the service',
    source: 'expressions.md, update expressions, names no order',
    stator: validation(/Invalid UpdateExpression: An expression attribute name used in the document path is not defined.*/),
    local: validation(/Invalid UpdateExpression: Two document paths overlap.*/),
    when: (step) => updateOf(step) !== '',
  }),
  outcomes({
    id: 'remove-on-missing-item',
    reason: 'Local refuses REMOVE of a nested path on a missing item; for the service it is a no-op',
    source: 'expressions.md, update expressions: REMOVE x.y on a missing item is a no-op',
    stator: /^success$/,
    local: validation('The document path provided in the update expression is invalid for update'),
    when: (step) => /\bREMOVE\b/i.test(updateOf(step)),
  }),
  {
    id: 'remove-creates-nothing',
    reason: 'Local creates an item of its key when there is nothing to remove; the service creates nothing',
    source: 'expressions.md, update expressions: REMOVE-only on a missing item creates nothing',
    explains: ({ path, stator, local }, { step }) => onlyRemoves(step) && stator === undefined &&
      ((path === 'after.Item' && Object.keys(local).sort().join() === Object.keys(step.request.Key).sort().join()) ||
       (path === 'body.Attributes' && step.request.ReturnValues === 'ALL_NEW')),
  },
  {
    id: 'touched-paths',
    reason: 'Local returns whole attributes for UPDATED_OLD and UPDATED_NEW; the service returns the touched paths',
    source: 'expressions.md, update expressions, ReturnValues',
    explains: ({ path, stator, local }, { step }) => /^UPDATED_/.test(step.request.ReturnValues ?? '') && path.startsWith('body.Attributes') &&
      /[.[]/.test(updateOf(step)) && within(stator, local),
  },
  {
    id: 'unasked-capacity',
    reason: 'Local answers ConsumedCapacity although nobody asked',
    source: 'limits-and-capacity.md, ReturnConsumedCapacity: NONE is the default',
    explains: ({ path, stator, local }, { step }) => path === 'body.ConsumedCapacity' && stator === undefined && local !== undefined &&
      [undefined, null, 'NONE'].includes(step.request.ReturnConsumedCapacity),
  },
  {
    id: 'batch-delete-capacity',
    reason: 'Local counts 2 for each delete of a missing item in a batch; the service counts 1',
    source: 'limits-and-capacity.md, writes: missing item 1, a batch is the sum',
    explains: ({ path, stator, local }, { step }) => step.op === 'BatchWriteItem' && /CapacityUnits$/.test(path) && stator >= 1 &&
      local > stator && local - stator <= Object.values(step.request.RequestItems).flat().filter((write) => write.DeleteRequest).length,
  },
  {
    id: 'last-page',
    reason: 'Local leaves LastEvaluatedKey out where Limit ends on the last item; the service sets it even if nothing follows',
    source: 'limits-and-capacity.md, request and response limits',
    explains: ({ path, stator, local }, { step }) => step.op === 'Query' && step.request.Limit !== undefined && (
      (path === 'body.Pages' && stator.length === local.length + 1 && stator.at(-1).Count === 0 &&
        canonical(stator.at(-1).Items ?? []) === '[]' && stator.at(-2).LastEvaluatedKey !== undefined &&
        canonical(stator.slice(0, -1).map(bareItems)) === canonical(local.map(bareItems))) ||
      (path === 'body.LastEvaluatedKey' && local === undefined && stator !== undefined)),
  },
  outcomes({
    id: 'short-table-name',
    reason: 'Local wants three characters everywhere; the service only where a table is created',
    source: 'expressions.md, tables: item operations use minimum 1',
    stator: /^(success|ResourceNotFoundException: Requested resource not found(: Table: \S+ not found)?|ValidationException: .*|ResourceInUseException: .*)$/s,
    local: validation(/Invalid table\/index name\. .*/),
    when: ({ request }) => typeof request.TableName === 'string' && (request.TableName.length < 3 || request.TableName.startsWith('arn:')),
  }),
  outcomes({
    id: 'table-name-required',
    reason: 'Local words the missing TableName of table operations in its own way',
    source: 'expressions.md, tables',
    stator: validation("The parameter 'TableName' is required but was not present in the request"),
    local: validation(/Value null at 'tableName' .*/, /Invalid table\/index name\. .*/),
    when: ({ op }) => op === 'CreateTable' || TABLE_OPERATIONS.includes(op),
  }),
  outcomes({
    id: 'null-expression-value',
    reason: 'Local words a null among the values of expressions in its own way',
    source: 'expressions.md, expression parameters: contains invalid value: <value error> for key :a',
    stator: validation(/ExpressionAttributeValues contains invalid value: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes for key :\w+/),
    local: validation(/ExpressionAttributeValues contains invalid value: The supplied Item contains a null AttributeValue(: .* is null)? for key :\w+/),
  }),
  outcomes({
    id: 'other-digits',
    reason: 'Local takes the digits of other scripts for a number',
    source: 'limits-and-capacity.md, numbers, accepted syntax',
    stator: validation(/(.*invalid value: )?The parameter cannot be converted to a numeric value: \u0661.*/),
    local: /^(success|ConditionalCheckFailedException: .*)$/,
  }),
  outcomes({
    id: 'two-key-attributes',
    reason: 'of two key attributes that an update names Local reports the other one',
    source: 'expressions.md, update expressions, names no order',
    stator: validation(/One or more parameter values were invalid: Cannot update attribute [pk]\. This attribute is part of the key/),
    local: validation(/One or more parameter values were invalid: Cannot update attribute [pk]\. This attribute is part of the key/),
  }),
  outcomes({
    id: 'binary-set-duplicates',
    reason: 'Local does not print the members of a binary set',
    source: 'expressions.md, items, keys, values',
    stator: validation(/(.*)One or more parameter values were invalid: Input collection \[.*\]of type BS contains duplicates\.(.*)/),
    local: validation(/(.*)One or more parameter values were invalid: Input collection of type BS contains duplicates\.(.*)/),
  }),
  outcomes({
    id: 'table-definition',
    reason: 'Local words definitions of tables that do not fit together in its own way',
    source: 'expressions.md, tables',
    stator: validation('Invalid KeySchema: Some index key attribute have no definition', 'Invalid KeySchema: The first KeySchemaElement is not a HASH key type',
      'Invalid KeySchema: The second KeySchemaElement is not a RANGE key type', 'Both the Hash Key and the Range Key element in the KeySchema have the same name',
      `${OPV}Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions`,
      /One or more parameter values were invalid: Duplicate AttributeName in AttributeDefinitions: \w+/,
      `${OPV}ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED`,
      `${OPV}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST`),
    local: validation('No provisioned throughput specified for the table', /Key Schema too big\. .*/, /Range Key not specified in Attribute Definitions\. .*/, /No defined key schema\. .*/,
      /Too many hash keys specified\. .*/, /Invalid key order\. .*/, 'No Attribute Schema Defined', /No Hash Key specified in schema\. .*/,
      /The number of attributes in key schema must match .*/, 'Cannot have two attributes with the same name', 'Two keys can not have the same name',
      'One or more keys is not specified as being hash or range.'),
  }),
  outcomes({
    id: 'throughput-of-on-demand',
    reason: 'Local ignores the throughput of an on-demand table',
    source: 'expressions.md, tables',
    stator: validation(`${OPV}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST`),
    local: /^success$/,
  }),
  outcomes({
    id: 'throughput-unchanged',
    reason: 'Local words throughput that does not change in its own way',
    source: 'limits-and-capacity.md, throughput: UpdateTable with unchanged values',
    stator: validation(/The provisioned throughput for the table will not change\. The requested value equals the current value\. .*/),
    local: validation('The requested throughput value equals the current value'),
  }),
  outcomes({
    id: 'start-at-bound',
    reason: 'Local refuses a starting key on the bound of the condition, which a page that Limit ended can hand out',
    source: 'limits-and-capacity.md, request and response limits: LastEvaluatedKey even if nothing follows',
    stator: /^success$/,
    local: validation('The provided starting key does not match the range key predicate'),
    when: ({ request }) => /BETWEEN|=/i.test(request.KeyConditionExpression) && request.ExclusiveStartKey !== undefined,
  }),
  outcomes({
    id: 'exponent-beyond-integers',
    reason: 'Local takes an exponent of many digits for no number',
    source: 'limits-and-capacity.md, numbers',
    stator: validation(/(.*invalid value: )?Number overflow\. .*/),
    local: validation(/(.*invalid value: )?A value provided cannot be converted into a number.*/),
    when: ({ request }) => /[eE][+-]?\d{10}/.test(JSON.stringify(request)),
  }),
  outcomes({
    id: 'throughput-bounds',
    reason: 'Local words throughput out of bounds in its own way',
    source: 'limits-and-capacity.md, throughput: out of range',
    stator: validation(/Given value \d+ for (Read|Write)CapacityUnits is out of bounds/),
    local: validation(/Cannot increase provisioned throughput to more than .*/),
  }),
  outcomes({
    id: 'undefined-before-types',
    reason: 'Local reports operand types first; the service reports undefined names and values, and too many operators, first',
    source: 'expressions.md, reported order inside one expression',
    stator: validation(/Invalid \w+: An expression attribute (name|value) used .* not defined; .*/, /Invalid \w+: The expression contains too many operators; .*/),
    local: validation(/Invalid \w+: Incorrect operand type .*/),
  }),
  outcomes({
    id: 'nesting',
    reason: 'Local leaves out the sentence about nesting and the name of the value',
    source: 'limits-and-capacity.md, item size; expressions.md, expression parameters: contains invalid value',
    stator: validation(/(ExpressionAttributeValues contains invalid value: )?Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit( for key :\w+)?/),
    local: validation('Nesting Levels have exceeded supported limits'),
  }),
  outcomes({
    id: 'nothing-to-update',
    reason: 'Local words an UpdateTable that asks for nothing in its own way',
    source: 'expressions.md, tables',
    stator: validation('At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required'),
    local: validation('Nothing to update'),
  }),
  outcomes({
    id: 'table-class',
    reason: 'Local knows no TableClass',
    source: 'operations.md, UpdateTable',
    stator: /^success$/,
    local: validation('Nothing to update'),
    when: ({ request }) => request.TableClass !== undefined,
  }),
  {
    id: 'table-class-summary',
    reason: 'Local knows no TableClass',
    source: 'shapes.json, TableDescription',
    explains: ({ path, local }) => /\.TableClassSummary$/.test(path) && local === undefined,
  },
  outcomes({
    id: 'key-shape',
    reason: 'Local words a key that does not fit the schema in its own way',
    source: 'expressions.md, items, keys, values',
    stator: validation('The provided key element does not match the schema'),
    local: validation(...KEY_SHAPE),
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
    local: validation(`${OPV}Type mismatch for key`, 'Invalid attribute value type'),
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
    id: 'select-count',
    reason: 'Local prints "only the Count" where the service prints the value of Select',
    source: 'expressions.md, Query and Scan: "... when choosing to get <SELECT>"',
    stator: validation('Cannot specify the ProjectionExpression when choosing to get COUNT'),
    local: validation('Cannot specify the ProjectionExpression when choosing to get only the Count'),
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
    id: 'starting-key-size',
    reason: 'Local takes a starting key that no item can have; the service refuses keys beyond the size limits',
    source: 'limits-and-capacity.md, names and keys; expressions.md, Query and Scan',
    stator: validation(/The provided starting key is invalid: .*(Size of hashkey|Aggregated size of all range keys).*/),
    local: /^success$/,
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
  // Last, because they are the most general: two errors in one request.
  outcomes({
    id: 'two-parameters',
    reason: 'a request with errors in two parameters: which is reported first is not known of the service',
    source: 'wire-protocol.md, order of request checks, names no order between parameters',
    stator: /^ValidationException: /,
    local: /^ValidationException: /,
    when: (step, { stator, local }) => familyOf(stator) >= 0 && familyOf(local) >= 0 && familyOf(stator) !== familyOf(local),
  }),
  outcomes({
    id: 'two-values',
    reason: 'two values that cannot be: which is reported first is not known of the service',
    source: 'wire-protocol.md, order of request checks, names no order between attributes',
    stator: validation(...VALUE_ERRORS),
    local: validation(...VALUE_ERRORS),
    when: (step, { stator, local }) => messageKind(stator) !== messageKind(local),
  }),
  outcomes({
    id: 'two-schema-errors',
    reason: 'a request that the schema refuses for two reasons: which is reported first is not known of the service',
    source: 'wire-protocol.md, order of request checks, names no order within key and item validation',
    stator: SCHEMA_ERRORS,
    local: NEEDS_TABLE,
    when: (step, { stator, local }) => messageKind(stator) !== messageKind(local),
  }),
  outcomes({
    id: 'query-two-keys',
    reason: 'Local looks at the type of the partition key before it looks for the sort key',
    source: 'expressions.md, Query and Scan, names no order',
    stator: validation(/Query condition missed key schema element: [pk]/, 'Query key condition not supported', `${OPV}Condition parameter type does not match schema type`),
    local: validation('Query condition missed key schema element', 'Query key condition not supported', `${OPV}Condition parameter type does not match schema type`),
  }),
];
