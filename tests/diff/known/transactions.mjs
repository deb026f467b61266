// TransactWriteItems and TransactGetItems.
import { EMPTY_INDEX_KEY, KEY_SHAPE, outcomes, SCHEMA_ERRORS, UPDATE_ERRORS, updateOf, validation } from './patterns.mjs';

const isTransaction = ({ op }) => op.startsWith('Transact');
const TEXTS = new RegExp(`${UPDATE_ERRORS.source}|${SCHEMA_ERRORS.source}|${validation(...KEY_SHAPE, 'Type mismatch for attribute to update',
  'Item size to update has exceeded the maximum allowed size', 'The update expression attempted to update the secondary index key to unsupported type',
  /Number (over|under)flow\..*/, 'Invalid attribute value type', EMPTY_INDEX_KEY).source}`);

/** A rule about the whole answer, the reasons of a cancelled transaction among it. */
function answers({ stator, local, when = () => true, ...rule }) {
  return {
    ...rule,
    explains: ({ path }, context) => isTransaction(context.step) && (['outcome', 'status', 'type', 'message'].includes(path) || path.startsWith('body.CancellationReasons')) &&
      stator.test(context.stator) && local.test(context.local) && when(context.step, context),
  };
}

const CANCELLED = /^TransactionCanceledException: Transaction cancelled, please refer cancellation reasons for specific reasons \[.*\]$/;

export const TRANSACTIONS = [
  answers({
    id: 'cancelled-not-refused',
    reason: 'Local refuses a transaction whose update or key cannot be; the service cancels it with a reason for the action',
    source: 'expressions.md, batch and transactions: ValidationError reason texts',
    stator: /^TransactionCanceledException: .*\[.*ValidationError.*\]$/,
    local: new RegExp(`${TEXTS.source}|${TEXTS.source.replaceAll('ValidationException', 'TransactionCanceledException')}`),
  }),
  answers({
    id: 'remove-in-transaction',
    reason: 'Local refuses REMOVE of a nested path on a missing item; for the service it is a no-op',
    source: 'expressions.md, update expressions: REMOVE x.y on a missing item is a no-op',
    stator: new RegExp(`^success$|${CANCELLED.source}`),
    local: validation('The document path provided in the update expression is invalid for update'),
    when: (step) => /\bREMOVE\b/i.test(updateOf(step)),
  }),
  answers({
    id: 'one-reason-of-several',
    reason: 'Local answers the reason of the first action that cannot be and leaves the others out',
    source: 'wire-protocol.md, errors: CancellationReasons in action order',
    stator: /^TransactionCanceledException: .*\[.*ValidationError.*\]$/,
    local: /^TransactionCanceledException: .*\[(None, )*ValidationError(, None)*\]$/,
  }),
  answers({
    id: 'key-update-in-transaction',
    reason: 'Local evaluates conditions before it looks for key attributes in updates',
    source: 'expressions.md, condition and filter: checks happen before any item is read',
    stator: /^TransactionCanceledException: .*\[.*ValidationError.*\]$/,
    local: /^TransactionCanceledException: .*\[.*ConditionalCheckFailed.*\]$/,
  }),
  answers({
    id: 'partial-index-key-in-transaction',
    reason: 'Local does not look at the index keys that an update writes when the item lacks another key attribute of the index',
    source: 'expressions.md, items, keys, values, makes no such exception',
    stator: /^TransactionCanceledException: .*\[.*ValidationError.*\]$/,
    local: /^success$/,
    when: (step, { reasons }) => reasons.some(({ Message }) => /attempted to update the secondary index key/.test(Message)),
  }),
  answers({
    id: 'nested-path-in-transaction',
    reason: 'Local refuses a nested path on a key attribute; the reference knows no such error outside key conditions',
    source: 'expressions.md, validation messages',
    stator: new RegExp(`^success$|${CANCELLED.source}`),
    local: validation(/Key attributes must be scalars; .*/),
  }),
  answers({
    id: 'table-before-items',
    reason: 'of a transaction with a missing table and another error Local reports the other one',
    source: 'wire-protocol.md, order of request checks: table lookup before keys',
    stator: /^ResourceNotFoundException: Requested resource not found$/,
    local: /^(ValidationException|TransactionCanceledException|IdempotentParameterMismatchException): /,
  }),
  answers({
    id: 'request-before-items',
    reason: 'Local cancels a transaction that the service refuses: the request alone, and the size and emptiness of keys, come first',
    source: 'wire-protocol.md, order of request checks; expressions.md, batch and transactions: an empty-string key -> top-level ValidationException',
    stator: /^(ValidationException: (?!Transaction request)|SerializationException: )/,
    local: /^TransactionCanceledException: /,
  }),
  answers({
    id: 'same-item-by-value',
    reason: 'Local compares keys of a transaction as text, so that 10 and 1e1 are two',
    source: 'limits-and-capacity.md, numbers: keys compare by value',
    stator: validation('Transaction request cannot include multiple operations on one item'),
    local: new RegExp(`^success$|${CANCELLED.source}|${TEXTS.source}`),
    when: ({ request }) => /"N":"[^"]*[eE.+]/.test(JSON.stringify(request)),
  }),
  {
    id: 'reason-texts',
    reason: 'Local ends the reason of a failed condition with a full stop and does not name index keys',
    source: 'wire-protocol.md, cancellation reason codes',
    explains: ({ path, stator, local }) => /^body\.CancellationReasons\[\d+\]\.Message$/.test(path) && (
      (stator === 'The conditional request failed' && local === 'The conditional request failed.') ||
      (/Type mismatch for Index Key .* IndexName: /.test(stator) && /Type mismatch for Index Key$/.test(local)) ||
      (/secondary index key to unsupported type/.test(stator) && /Invalid attribute value type/.test(local)) ||
      (TEXTS.test(`ValidationException: ${stator}`) && TEXTS.test(`ValidationException: ${local}`))),
  },
  outcomes({
    id: 'token-mismatch',
    reason: 'Local says nothing about a token with other parameters',
    source: 'operations.md, TransactWriteItems; shapes.json, IdempotentParameterMismatchException has a message',
    stator: /^IdempotentParameterMismatchException: Specified idempotent token was used with different request parameters within the idempotency window$/,
    local: /^IdempotentParameterMismatchException: $/,
  }),
  {
    id: 'nothing-projected',
    reason: 'Local answers an empty Item where the projection leaves nothing',
    source: 'expressions.md, projection expressions: TransactGetItems omits Item',
    explains: ({ path, stator, local }, { step }) => step.op === 'TransactGetItems' && /^body\.Responses\[\d+\]\.Item$/.test(path) &&
      stator === undefined && Object.keys(local).length === 0,
  },
  {
    id: 'split-units',
    reason: 'Local does not answer ReadCapacityUnits and WriteCapacityUnits of transactions',
    source: 'limits-and-capacity.md, ReturnConsumedCapacity',
    explains: ({ path, stator, local }, { step }) => isTransaction(step) && /\.(Read|Write)CapacityUnits$/.test(path) && local === undefined && stator > 0,
  },
  {
    id: 'index-units-doubled',
    reason: 'Local doubles the units of indexes too, and counts less where no item is there',
    source: 'limits-and-capacity.md, writes: the 2x applies to the table arm only; missing item 1',
    explains: ({ path, stator, local }, { step }) => isTransaction(step) && /ConsumedCapacity\[\d+\].*CapacityUnits$/.test(path) &&
      (/SecondaryIndexes/.test(path) ? local === 2 * stator : /Table\./.test(path) ? stator % 2 === 0 && stator > 0 : stator >= 2),
  },
  {
    id: 'unchanged-entries-charged',
    reason: 'Local charges indexes whose entry does not change',
    source: 'limits-and-capacity.md, writes: entry unchanged 0',
    explains: ({ path, stator }, { step }) => isTransaction(step) && /ConsumedCapacity\[\d+\]\.(Global|Local)SecondaryIndexes(\.[\w-]+)?$/.test(path) && stator === undefined,
  },
  {
    id: 'transaction-creates-nothing',
    reason: 'Local creates an item of its key when there is nothing to remove',
    source: 'expressions.md, update expressions: REMOVE-only on a missing item creates nothing',
    explains: ({ path, stator, local }, { step }) => {
      const [, at] = /^after\.Items\[(\d+)\]$/.exec(path) ?? [];
      const update = at === undefined ? undefined : step.request.TransactItems[at].Update;
      return update !== undefined && stator === null && !/\b(SET|ADD|DELETE)\b/i.test(update.UpdateExpression.replace(/[#:]\w+/g, '')) &&
        Object.keys(local).sort().join() === Object.keys(update.Key).sort().join();
    },
  },
];
