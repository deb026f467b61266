// PartiQL statements.
import { within } from './patterns.mjs';

const OPERATIONS = ['ExecuteStatement', 'BatchExecuteStatement', 'ExecuteTransaction'];
const isPartiQl = ({ op }) => OPERATIONS.includes(op);
const textOf = ({ request }) => JSON.stringify(request);
// Errors that depend on the item that an update meets.
const UPDATE_TEXTS = '(The document path provided in the update expression is invalid for update|' +
  'The provided expression refers to an attribute that does not exist in the item|An operand in the update expression has an incorrect data type|' +
  'Number (over|under)flow\\. .*|DynamoDB only supports precision up to 38 digits|Nesting Levels have exceeded .*)';
const bare = (text) => String(text ?? '').replace(/^ValidationException: /, '').replace(/^Validation failed in TransactStatements\[\d+\]: /, '');

/** A rule about two error texts, whether they are of the whole request, of one statement or of a reason for cancelling. */
function texts({ id, reason, source, stator, local, when = () => true }) {
  const whole = (pattern) => new RegExp(`^(${pattern.source})$`, 's');
  const matches = (pattern, text) => whole(pattern).test(bare(text));
  return {
    id, reason, source,
    explains: ({ path, ...texts }, context) => isPartiQl(context.step) && when(context.step, context) &&
      (['outcome', 'status', 'type', 'message'].includes(path)
        ? matches(stator, context.stator) && matches(local, context.local)
        : /^body\.(Responses\[\d+\]\.Error|CancellationReasons\[\d+\])(\.Message)?$/.test(path) &&
          matches(stator, texts.stator?.Message ?? texts.stator) && matches(local, texts.local?.Message ?? texts.local)),
  };
}

export const PARTIQL = [
  texts({
    id: 'duplicate-item',
    reason: 'Local has another name for DuplicateItemException',
    source: 'shapes.json, DuplicateItemException',
    stator: /DuplicateItemException: Duplicate primary key exists in table/,
    local: /DuplicateItem: Duplicate primary key exists in table/,
  }),
  {
    id: 'duplicate-item-reason',
    reason: 'Local calls a duplicate a ValidationError among the reasons of a cancelled transaction',
    source: 'wire-protocol.md, BatchExecuteStatement error codes: DuplicateItem; the reasons of ExecuteTransaction are the same',
    explains: ({ path, stator, local }, { step }) => step.op === 'ExecuteTransaction' &&
      ((path === 'message' && /DuplicateItem/.test(stator) && stator.replaceAll('DuplicateItem', 'ValidationError') === local) ||
       (/^body\.CancellationReasons\[\d+\]\.Code$/.test(path) && stator === 'DuplicateItem' && local === 'ValidationError')),
  },
  {
    id: 'key-update-of-statement',
    reason: 'Local evaluates the condition before it looks for key attributes in the update, and has no reason for statements behind the first that cannot be',
    source: 'expressions.md, condition and filter: checks happen before any item is read',
    explains: ({ path }, { step }) => isPartiQl(step) && /SET \\?"?[pk]\\?"? =/.test(textOf(step)) &&
      /^(message|body\.(Responses\[\d+\]\.(Error|TableName)|CancellationReasons\[\d+\]))/.test(path),
  },
  texts({
    id: 'key-size-of-statement',
    reason: 'Local has one text for keys that are too large',
    source: 'expressions.md, items, keys, values',
    stator: /One or more parameter values were invalid: (Size of hashkey|Aggregated size of all range keys) .*/,
    local: /Hash primary key values must be under 2048 bytes, .*|One or more parameter values were invalid: Size limit exceeded|Aggregate size for (HASH|RANGE) key attributes .*/,
  }),
  {
    id: 'duplicates-by-value-of-statements',
    reason: 'Local compares numeric keys as text',
    source: 'limits-and-capacity.md, numbers, canonical output',
    explains: ({ path }, { step, stator, local }) => path === 'outcome' && isPartiQl(step) && local === 'success' &&
      /^ValidationException: (Transaction request cannot include multiple operations on one item|Provided list of item keys contains duplicates)$/.test(stator),
  },
  {
    id: 'responses-of-writes',
    reason: 'Local answers no Responses to the writes of a transaction',
    source: 'expressions.md, PartiQL, transaction: one entry per statement',
    explains: ({ path, stator, local }, { step }) => step.op === 'ExecuteTransaction' && path === 'body.Responses' && local.length === 0 &&
      stator.length === step.request.TransactStatements.length && stator.every((each) => Object.keys(each).length === 0),
  },
  texts({
    id: 'missing-table-of-statement',
    reason: 'Local words a missing table in its own way',
    source: 'wire-protocol.md, common fixed messages',
    stator: /(ResourceNotFoundException: )?Requested resource not found/,
    local: /(ResourceNotFoundException: )?Cannot do operations on a non-existent table|Table name should be within the length .*/,
  }),
  texts({
    id: 'exists-text',
    reason: 'Local ends the text of a failed EXISTS with a full stop',
    source: 'wire-protocol.md, cancellation reason codes',
    stator: /The conditional request failed/,
    local: /The conditional request failed\./,
  }),
  texts({
    id: 'malformed-detail',
    reason: 'Local repeats the statement as the detail; Stator names the token and where it is',
    source: 'expressions.md, PartiQL, leaves the detail open',
    stator: /Statement wasn't well formed, can't be processed: (Unexpected|Nested) .*/,
    local: /(Statement wasn't well formed, can't be processed: |Unsupported (operation|data type|clause|token)|Invalid operation\. Only select|Unexpected path component|Aliasing|Unrecognized function|Ion Literals).*/,
  }),
  texts({
    id: 'what-parses',
    reason: 'Local parses the whole statement before it checks any part of it, and takes some statements that the grammar of the reference does not have (comparisons of conditions, several clauses of one kind)',
    source: 'expressions.md, PartiQL grammar; which of several errors comes first is not known of the service',
    stator: /Statement wasn't well formed, can't be processed: (Unexpected|Nested) .*/,
    local: /.*/,
  }),
  texts({
    id: 'checked-while-parsing',
    reason: 'a statement with an error of meaning before one of syntax: Local reports the syntax',
    source: 'which of several errors comes first is not known of the service',
    stator: /(Aliasing|Only select from|The arguments? to|WHERE clause must|Unexpected (path|from)|Unsupported|Unrecognized|Number of parameters|MISSING must|IN operator|Duplicate|Empty bags|Supplied AttributeValue|List index|A path may|Incorrect|The parameter cannot|Nesting|One or more parameter values were invalid|Attempting|Number (over|under)flow|Expected '\*'|The document path has too many|Tuple keys|The (first|second) argument|RETURNING|FROM clause|Requested resource|Path component|Changing item|Two document paths).*/,
    local: /Statement wasn't well formed, can't be processed: .*/,
  }),
  texts({
    id: 'function-as-condition',
    reason: 'Local has another text for size() where a condition belongs',
    source: 'expressions.md, PartiQL, has no text',
    stator: /The (arguments to AND\/OR must be Expressions|argument to NOT must be a Type or Expression)/,
    local: /Incorrect operand type for operator or function; operator or function: (AND|OR|NOT), operand type: N/,
  }),
  texts({
    id: 'two-statement-errors',
    reason: 'a statement that fails for two reasons: which of them is reported is not known of the service',
    source: 'expressions.md, PartiQL, names no order of checks',
    stator: /ValidationException: (Aliasing is not supported|The second argument to SET_(ADD|DELETE) must be a value with type SET.*)/,
    local: /ValidationException: (EXISTS can only be used in .*|Invalid attribute type name found; .*)/,
  }),
  {
    id: 'where-before-table',
    reason: 'Local misses the WHERE of a write before it looks the table up',
    source: 'expressions.md, PartiQL, names no order of checks',
    explains: ({ path, stator, local }, { step }) => isPartiQl(step) && path.startsWith('body.Responses') &&
      ((/Requested resource not found/.test(stator?.Message ?? stator) && /^Where clause does not contain/.test(local?.Message ?? local)) ||
        (stator === 'ResourceNotFound' && local === 'ValidationError')),
  },
  texts({
    id: 'place-of-duplicate-key',
    reason: 'Local names the path to the map that has a key twice',
    source: 'expressions.md, PartiQL, has no such text',
    stator: /Duplicate keys in tuple\. Key: .* under root at .*/,
    local: /Duplicate keys in tuple\. Key: .* under root\..* at .*/,
  }),
  texts({
    id: 'partiql-overlap',
    reason: 'of paths that overlap Local names another pair',
    source: 'expressions.md, update expressions',
    stator: /Two document paths (overlap|conflict) with each other; .*/,
    local: /Two document paths (overlap|conflict) with each other; .*/,
  }),
  texts({
    id: 'partiql-binary-bounds',
    reason: 'Local prints the Java object instead of binary bounds of BETWEEN, and numbers as they were sent',
    source: 'expressions.md, validation messages',
    stator: /The BETWEEN operator requires .*/,
    local: /The BETWEEN operator requires .*/,
  }),
  texts({
    id: 'type-names',
    reason: 'Local prints internal types among the valid ones, and the list in another order',
    source: 'expressions.md, validation messages',
    stator: /(Invalid attribute type name found|Incorrect operand type for operator or function; operator or function: attribute_type).*/,
    local: /(Invalid attribute type name found|Incorrect operand type for operator or function; operator or function: attribute_type).*/,
  }),
  texts({
    id: 'key-of-wrong-type',
    reason: 'of what is wrong with a key value Local reports one thing for writes, another for reads, a third for scans',
    source: 'expressions.md, PartiQL, has no text',
    stator: /(Key (value must be of type|attribute's data type)|One or more parameter values were invalid: Condition parameter type|Where clause does not contain|One or more parameter values are not valid\.).*/,
    local: /(Key (value must be of type|attribute's data type)|One or more parameter values were invalid: Condition parameter type|Select statements within|Only single item|Where clause does not contain|Must have at least one|Variable reference|One or more parameter values are not valid\.).*/,
  }),
  texts({
    id: 'single-item-select',
    reason: 'Local words a read of a batch that names no single item differently',
    source: 'expressions.md, PartiQL, batch: SELECT needs the full key; the text is that of ExecuteTransaction',
    stator: /Select statements within BatchExecuteStatement must specify the primary key in the where clause\./,
    local: /Only single item select is supported/,
  }),
  texts({
    id: 'partiql-internal-failure',
    reason: 'Local fails where IS or IN is asked of a key, and on other conditions that it did not foresee',
    source: 'an internal failure is no answer to follow',
    stator: /.*/,
    local: /InternalFailure: .*/,
  }),
  {
    id: 'item-of-failed-statement',
    reason: 'Local returns the item of a failed condition in a batch',
    source: 'operations.md, 2023-06: in BatchExecuteStatement it is accepted but never returns the item',
    explains: ({ path, stator }, { step }) => step.op === 'BatchExecuteStatement' && /^body\.Responses\[\d+\]\.Error\.Item/.test(path) && stator === undefined,
  },
  {
    id: 'modified-paths',
    reason: 'Local returns whole attributes for RETURNING MODIFIED; the service returns the changed leaves',
    source: 'expressions.md, PartiQL, UPDATE RETURNING MODIFIED',
    explains: ({ path, stator, local }, { step }) => isPartiQl(step) && /RETURNING MODIFIED/.test(textOf(step)) &&
      /^body\.(Items|Responses)/.test(path) && within(stator, local),
  },
  texts({
    id: 'two-update-errors',
    reason: 'an update that fails for two reasons: which of them is reported is not known of the service',
    source: 'expressions.md, update expressions, names no order',
    stator: new RegExp(UPDATE_TEXTS),
    local: new RegExp(UPDATE_TEXTS),
  }),
  {
    id: 'update-error-in-transaction',
    reason: 'Local answers what an update cannot do as the error of the whole request; the service cancels the transaction and says so among the reasons',
    source: 'expressions.md, ValidationError reason texts',
    explains: ({ path }, { step, stator, local }) => step.op === 'ExecuteTransaction' && /^TransactionCanceledException: .*ValidationError/.test(stator) &&
      (new RegExp(`^ValidationException: (${UPDATE_TEXTS})$`).test(local) || /^TransactionCanceledException: ValidationError Where clause/.test(local) ||
       /^ValidationException: Validation failed in TransactStatements\[\d+\]: (Select statements within|Key|One or more|Type mismatch).*/.test(local) ||
       /^ValidationException: Invalid attribute value type$/.test(local)) &&
      ['type', 'message', 'body.CancellationReasons'].includes(path),
  },
  {
    id: 'first-reason-only',
    reason: 'Local looks no further when one statement of a transaction cannot be; Stator names every such statement',
    source: 'wire-protocol.md, errors: a reason for each action',
    explains: ({ path, stator, local }, { step }) => step.op === 'ExecuteTransaction' && /^body\.CancellationReasons\[\d+\]/.test(path) &&
      ((/\.Code$/.test(path) && [stator, local].includes('ValidationError') && [stator, local].includes('None')) || (/\.Message$/.test(path) && (local === undefined || stator === undefined))),
  },
  texts({
    id: 'set-function-position',
    reason: 'Local leaves the place out for nested paths, and counts parameters first',
    source: 'expressions.md, PartiQL, has no text',
    stator: /The second argument to SET_(ADD|DELETE) must be a value with type SET at .*/,
    local: /.*/,
  }),
  texts({
    id: 'returning-before-key',
    reason: 'a DELETE with a RETURNING that it does not have and without a key: which is reported first is not known of the service',
    source: 'expressions.md, PartiQL, names no order',
    stator: /(Invalid returning clause|RETURNING clause is not supported).*/,
    local: /(Where clause does not contain|Key).*/,
  }),
  texts({
    id: 'aliases',
    reason: 'Local takes what stands behind a table for an alias only if the rest fits',
    source: 'expressions.md, PartiQL grammar: there are no aliases',
    stator: /Aliasing is not supported/,
    local: /(EXISTS can only be used|Unsupported operation in transaction).*/,
  }),
  {
    id: 'errors-beside-duplicates',
    reason: 'a batch with statements that cannot be: Local counts them when it looks for duplicates and for reads among writes',
    source: 'expressions.md, PartiQL, batch, names no order',
    explains: ({ path }, { step, stator, local }) => path === 'outcome' && step.op === 'BatchExecuteStatement' &&
      [stator, local].includes('success') && /(Provided list of item keys contains duplicates|Read and write requests together|AttributeValue is empty|Number overflow|numeric value)/.test(`${stator} ${local}`),
  },
  texts({
    id: 'index-key-of-statement',
    reason: 'Local does not say which index key has the wrong type',
    source: 'expressions.md, items, keys, values',
    stator: /One or more parameter values were invalid: Type mismatch for Index Key .*/,
    local: /One or more parameter values were invalid: Type mismatch for Index Key|Invalid attribute value type|Type mismatch for attribute to update/,
  }),
  {
    id: 'table-of-refused-statement',
    reason: 'Local names the table of a statement that the indexes refuse; the service need not',
    source: 'expressions.md, PartiQL, batch: TableName is optional beside an error',
    explains: ({ path, stator }, { step }) => step.op === 'BatchExecuteStatement' && /^body\.Responses\[\d+\]\.TableName$/.test(path) && stator === undefined,
  },
  {
    id: 'keys-in-transactions',
    reason: 'keys that are empty or too large: Local cancels, whatever the operation; Stator refuses empty ones like TransactGetItems and finds nothing under large ones',
    source: 'expressions.md, batch and transactions: an empty-string key is a top-level ValidationException',
    explains: ({ path }, { step, stator, local }) => step.op === 'ExecuteTransaction' && ['outcome', 'type', 'message', 'body.CancellationReasons'].includes(path) &&
      /^(success|ValidationException: One or more parameter values are not valid\.)/.test(stator) && /^TransactionCanceledException: .*ValidationError/.test(local),
  },
  {
    id: 'two-statements',
    reason: 'errors in two statements of one request: which is reported first is not known of the service',
    source: 'expressions.md, PartiQL, names no order between statements',
    explains: ({ path }, { step, stator, local }) => ['BatchExecuteStatement', 'ExecuteTransaction'].includes(step.op) &&
      ['type', 'message', 'body.CancellationReasons'].includes(path) && stator !== 'success' && local !== 'success' &&
      (step.request.Statements ?? step.request.TransactStatements ?? []).length > 1 &&
      /Validation failed in|Provided list|Read and write|both read and write|multiple operations|TransactionCanceled/.test(`${stator} ${local}`),
  },
];
