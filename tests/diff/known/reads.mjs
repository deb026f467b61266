// Query and Scan.
import { canonical, withCanonicalNumbers } from '../compare.mjs';
import { OPV, outcomes, validation } from './patterns.mjs';

/** What pages hold, as text. */
const bareText = (pages) => canonical(withCanonicalNumbers(
  pages.map(({ Items, Count, ScannedCount }) => ({ Items, Count, ScannedCount }))));

export const READS = [
  outcomes({
    id: 'missed-key',
    reason: 'Local does not name the key attribute that the key condition misses',
    source: 'expressions.md, Query and Scan',
    stator: validation(/Query condition missed key schema element: \w+/),
    local: validation('Query condition missed key schema element'),
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
    id: 'start-in-segment',
    reason: 'Local words a starting key outside its segment in its own way, and its segments are others',
    source: 'issue 2: segments are a matter of the hash',
    stator: validation(/The provided starting key is invalid: Invalid ExclusiveStartKey\. .*/),
    local: /^(success|ValidationException: Exclusive start key must lie within the segment)$/,
  }),
  {
    id: 'last-page',
    reason: 'Local leaves LastEvaluatedKey out where Limit ends on the last item; the service sets it even if nothing follows',
    source: 'limits-and-capacity.md, request and response limits',
    explains: ({ path, stator, local }, { step }) => step.op === 'Query' && step.request.Limit !== undefined && (
      (path === 'body.Pages' && stator.length === local.length + 1 && stator.at(-1).Count === 0 &&
        canonical(stator.at(-1).Items ?? []) === '[]' && stator.at(-2).LastEvaluatedKey !== undefined &&
        bareText(stator.slice(0, -1)) === bareText(local)) ||
      (path === 'body.LastEvaluatedKey' && local === undefined && stator !== undefined)),
  },
  outcomes({
    id: 'start-at-bound',
    reason: 'Local refuses a starting key on the bound of the condition, which a page that Limit ended can hand out',
    source: 'limits-and-capacity.md, request and response limits: LastEvaluatedKey even if nothing follows',
    stator: /^success$/,
    local: validation('The provided starting key does not match the range key predicate'),
    when: ({ request }) => /BETWEEN|=/i.test(request.KeyConditionExpression) && request.ExclusiveStartKey !== undefined,
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
    id: 'two-keys-in-filter',
    reason: 'of two key attributes that a filter names Local reports the other one',
    source: 'expressions.md, condition and filter, names no order',
    stator: validation(/(Filter Expression|QueryFilter) can only contain non-primary key attributes: Primary key attribute: \S+/),
    local: validation(/(Filter Expression|QueryFilter) can only contain non-primary key attributes: Primary key attribute: \S+/),
  }),
  outcomes({
    id: 'query-two-keys',
    reason: 'Local looks at the type of the partition key before it looks for the sort key',
    source: 'expressions.md, Query and Scan, names no order',
    stator: validation(/Query condition missed key schema element: [pk]/, 'Query key condition not supported', `${OPV}Condition parameter type does not match schema type`),
    local: validation('Query condition missed key schema element', 'Query key condition not supported', `${OPV}Condition parameter type does not match schema type`),
  }),
];
