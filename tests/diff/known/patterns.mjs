// Building blocks of the rules: patterns of outcomes, and questions about steps.
import { canonicalNumber } from '../numbers.mjs';

export const OPV = 'One or more parameter values were invalid: ';
export const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** A pattern of whole ValidationException texts. */
export const validation = (...texts) => new RegExp(`^ValidationException: (${texts.map((text) => text.source ?? escaped(text)).join('|')})$`, 's');

/** Both servers refuse (or one accepts), and both outcomes have the forms given. */
export function outcomes({ id, reason, source, stator, local, when = () => true }) {
  return {
    id, reason, source,
    explains: ({ path }, context) => ['outcome', 'status', 'type', 'message'].includes(path) &&
      stator.test(context.stator) && local.test(context.local) && when(context.step, context),
  };
}

/** True if every member of `part` is in `whole`, elements of lists in order. */
export function within(part, whole) {
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

export const TABLE_OPERATIONS = ['DescribeTable', 'UpdateTable', 'DeleteTable'];
export const isTableOperation = ({ op }) => TABLE_OPERATIONS.includes(op);
export const NO_TABLE = /^ResourceNotFoundException: Cannot do operations on a non-existent table$/;

export const CONSTRAINT = /\d+ validation errors? detected: .*(failed to satisfy constraint: ).*/;

export const SERIALIZATION = new RegExp('^SerializationException: (' + [
  /undefined/, /(NUMBER|DECIMAL|TRUE|FALSE|STRING)_VALUE cannot be converted to \w+/,
  /Unrecognized collection type class [\w.$]+/, /Unrecognized collection type java\.util\.Map<java\.lang\.String, [\w.$<>]+>/,
  /class sun\.reflect\.generics\..*/, /Start of structure or map found where not expected/, /Unexpected field type/, /Unexpected value type in payload/,
  /only base-64-encoded strings are convertible to bytes/, /Base64 encoded length is expected a multiple of 4 bytes but found: \d+/,
  /Invalid last non-pad Base64 character dectected/, /Unexpected token received from parser/,
].map((pattern) => pattern.source).join('|') + ')$');

// DynamoDB Local's texts for a key that does not fit the schema.
export const KEY_SHAPE = ['The number of conditions on the keys is invalid', 'One of the required keys was not given a value',
  `${OPV}Type mismatch for key`, 'Invalid attribute value type', /The list of keys in RequestItems for BatchGetItem may not contain null or empty values: .*/];

// Texts for invalid values.
export const VALUE_ERRORS = [/(.*invalid value: )?Supplied AttributeValue (is empty|has more than one).*/, /(.*invalid value: )?The parameter cannot be converted to a numeric value.*/,
  /(.*invalid value: )?A value provided cannot be converted into a number.*/, /(.*invalid value: )?Number (over|under)flow\. .*/,
  /(.*invalid value: )?Attempting to store more than 38 .*/, /(.*invalid value: )?DynamoDB only supports precision .*/, /.*Input collection.*/, /.*An (string|number) set  may not be empty.*/,
  /.*Binary sets should not be empty.*/, /.*Null attribute value types.*/, /.*may not have a null (string|number|binary) as a member.*/, /Nesting Levels have exceeded .*/, /The supplied Item contains a null AttributeValue: .*/];
export const messageKind = (text) => text.replace(/^ValidationException: (.*invalid value: )?/s, '').slice(0, 36);
export const operatorOf = (text) => /(operator|function): ([^,;]+), operand type: [^,]+/.exec(text)?.[0];

// Errors that the request alone decides, and errors that need the table's schema or an item.
export const STATELESS = validation(/Invalid (Condition|Filter|KeyCondition|Projection|Update)Expression: .*/, /Value provided in ExpressionAttribute\w+ unused .*/,
  /ExpressionAttribute(Names|Values) .*/, /Cannot specify the .* when choosing to get [\w ]+/, /Must specify the .* SPECIFIC_ATTRIBUTES/,
  /ALL_PROJECTED_ATTRIBUTES can be used only .*/, 'ReturnValues can only be ALL_OLD or NONE', /Invalid operator used in KeyConditionExpression: .*/,
  'KeyConditionExpressions must only contain one condition per key', 'KeyConditionExpressions cannot contain nested operations',
  'Conditions can be of length 1 or 2 only', /Invalid condition in KeyConditionExpression: .*/, 'Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.');
export const NEEDS_TABLE = validation(...KEY_SHAPE, `${OPV}Condition parameter type does not match schema type`, /(Filter Expression|QueryFilter) can only contain .*/,
  /The provided starting key .*/, "Exclusive Start Key must have same size as table's key schema", 'Type mismatch for attribute to update',
  /Query condition missed key schema element.*/, /(HASH|RANGE) key attributes .* must have equality conditions .*/, 'Query key condition not supported', /Key attributes must be scalars; .*/,
  /One or more parameter values are not valid\. (The AttributeValue for a|A value specified for a secondary index) key .*/, /Hash primary key values must be under .*/,
  /One or more parameter values were invalid: (Type mismatch for Index Key|Size limit exceeded).*/, /The table does not have the specified index: .*/, /The query can return at most one row .*/, 'Provided list of item keys contains duplicates');

export const SCHEMA_ERRORS = new RegExp(`${NEEDS_TABLE.source}|${validation('The provided key element does not match the schema',
  /One or more parameter values were invalid: (Missing the key|Type mismatch for key) .*/).source}`);

// The parameter that an error of the request alone is about. The reference orders checks within a
// parameter, not between parameters.
export const FAMILIES = [/Invalid (Condition)Expression/, /Invalid (Filter)Expression/, /Invalid (KeyCondition)Expression|KeyCondition|Conditions can be/,
  /Invalid (Projection)Expression/, /Invalid (Update)Expression/, /(ReturnValues can|Return values)/, /(choosing to get|ALL_PROJECTED)/,
  /(Segment|segment)/, /(AttributeValue is|may not have a null|numeric value|number|Number|set +may|sets should|Input collection|datatypes|Null attribute|significant digits|null AttributeValue|Nesting|precision)/,
  /(unused in expressions)/, /(can only be specified)/, /(must not be empty)/, /(contains invalid key)/, /(contains invalid value)/, /(Limit)/, /(Item to put|null key)/, /(Consistent reads)/, /(does not project|Select type)/, /(starting key|Start Key|Type mismatch for attribute to update)/, /(Can not use both)/, /(TransactItems can|TransactWriteRequest should)/, /(Key attributes must be)/,
  /(ComparisonOperator|AttributeValueList)/];
export const familyOf = (text) => FAMILIES.findIndex((pattern) => pattern.test(text));

export const UPDATE_ERRORS = validation('The document path provided in the update expression is invalid for update',
  'The provided expression refers to an attribute that does not exist in the item', 'An operand in the update expression has an incorrect data type',
  /Number (over|under)flow\. .*/, 'DynamoDB only supports precision up to 38 digits');
// An update that empties a key of an index.
export const EMPTY_INDEX_KEY = /One or more parameter values are not valid\. The update expression attempted to update a secondary index key to a value that is not supported\. .*/;

export const OVERLAP = /Two document paths (overlap|conflict) with each other; must remove or rewrite one of these paths; path one: (\[.*\]), path two: (\[.*\])$/;

/** True if the message names two paths of which one is the other or its ancestor. */
export function namesOverlap(text) {
  const [, kind, one, two] = OVERLAP.exec(text) ?? [];
  if (kind === 'conflict') return true;
  if (kind === undefined) return false;
  const [inner, outer] = [one.slice(0, -1), two.slice(0, -1)];
  return inner === outer || inner.startsWith(`${outer}, `) || outer.startsWith(`${inner}, `);
}

/** The update expression of the request; of a transaction all of them. */
export function updateOf({ op, request }) {
  if (op === 'TransactWriteItems' && Array.isArray(request.TransactItems)) {
    return request.TransactItems.map((entry) => entry?.Update?.UpdateExpression).filter((text) => typeof text === 'string').join(' ');
  }
  return op === 'UpdateItem' && typeof request.UpdateExpression === 'string' ? request.UpdateExpression : '';
}

export const onlyRemoves = (step) => !/\b(SET|ADD)\b/i.test(updateOf(step).replace(/[#:]\w+/g, '')) && updateOf(step) !== '';
