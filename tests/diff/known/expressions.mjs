// Expressions of every kind.
import { canonicalNumber } from '../numbers.mjs';
import { namesOverlap, operatorOf, OPV, outcomes, UPDATE_ERRORS, validation } from './patterns.mjs';

export const EXPRESSIONS = [
  outcomes({
    id: 'names-without-expression',
    reason: 'Local accepts names or values without an expression',
    source: 'expressions.md, expression parameters',
    stator: validation(/ExpressionAttribute(Names|Values) can only be specified when using expressions.*/),
    local: /^success$/,
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
  outcomes({
    id: 'reference-after-dot',
    reason: 'Local reads on behind a value that stands where a name belongs',
    source: 'expressions.md, lexical rules',
    stator: validation(/Invalid \w+: Syntax error; token: ":\w+", near: "\.\s*:\w+.*"/),
    local: validation(/Invalid \w+: (Syntax error|An expression attribute name) .*/, /Invalid \w+: Syntax error; .*/),
  }),
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
    reason: 'Local leaves out the size in some operations',
    source: 'expressions.md, expression parameters: expression size: <n>',
    stator: validation(/Invalid \w+: Expression size has exceeded the maximum allowed size; expression size: \d+/),
    local: validation(/Invalid \w+: Expression size has exceeded the maximum allowed size;( expression size: \d+)?/),
  }),
  outcomes({
    id: 'undefined-before-types',
    reason: 'Local reports operand types first; the service reports undefined names and values, too many operators, and equal operands first',
    source: 'expressions.md, reported order inside one expression',
    stator: validation(/Invalid \w+: An expression attribute (name|value) used .* not defined; .*/, /Invalid \w+: The expression contains too many operators; .*/, /Invalid \w+: The first operand must be distinct .*/),
    local: validation(/Invalid \w+: Incorrect operand type .*/),
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
    id: 'item-of-failed-condition',
    reason: 'only one of the servers came as far as the condition, and answers the item that failed it',
    source: 'the rule that explains why one refused, without which the type stays unexplained',
    explains: ({ path, stator, local }, context) => path === 'body.Item' &&
      ((local === undefined && /^ValidationException/.test(context.local) && /^ConditionalCheckFailed/.test(context.stator)) ||
       (stator === undefined && /^(Validation|Serialization)Exception/.test(context.stator) && /^ConditionalCheckFailed/.test(context.local))),
  },
];
