// Secondary indexes: definitions, keys, reads, units.
import { canonical } from '../compare.mjs';
import { EMPTY_INDEX_KEY, OPV, outcomes, validation } from './patterns.mjs';

const sortedList = (text) => (/ does not project .*\[(.*)\]$/.exec(text)?.[1] ?? '').split(', ').sort().join();
const withoutIndexName = (text) => text.replace(/IndexName: [\w.-]+/, '');
const several = ({ index }) => index !== undefined && (index.hashes.length > 1 || index.ranges.length > 1);

export const INDEXES = [
  outcomes({
    id: 'index-definition',
    reason: 'Local words definitions of indexes that cannot be in its own way',
    source: 'expressions.md, tables',
    stator: validation(/One or more parameter values were invalid: .*/, /Invalid KeySchema: .*/, /Both the Hash Key and the Range Key element .*/,
      /Cannot increase provisioned throughput .*/, /Given value .*/),
    local: /^(ValidationException: .*|LimitExceededException: .*|ResourceNotFoundException: Requested resource not found)$/s,
    when: ({ op, request }) => (op === 'CreateTable' || op === 'UpdateTable') && /SecondaryIndex/.test(JSON.stringify(request)),
  }),
  outcomes({
    id: 'index-definition-accepted',
    reason: 'Local accepts definitions that no key uses, empty lists, throughput of on-demand indexes, and keys that only the table defines',
    source: 'expressions.md, tables; limits-and-capacity.md, tables and indexes: UpdateTable must re-declare',
    stator: validation(/One or more parameter values were invalid: (List of (Global|Local)SecondaryIndexes is empty|Some AttributeDefinitions are not used\. .*|Some index key attributes are not defined .*|Neither ReadCapacityUnits nor WriteCapacityUnits .*)/,
      /Attribute Name is duplicated: .+/, /One or more parameter values were invalid: (ProvisionedThroughput should not be specified for index: .*|Number of attributes in KeySchema .*)/),
    local: /^success$/,
    when: ({ op }) => op === 'CreateTable' || op === 'UpdateTable',
  }),
  outcomes({
    id: 'empty-index-key-of-query',
    reason: 'Local words an empty key of an index in a key condition as it does in items; the reference has that text for writes',
    source: 'expressions.md, items, keys, values',
    stator: validation(/One or more parameter values are not valid\. The AttributeValue for a key attribute cannot contain an empty (string|binary) value\. Key: .*/),
    local: validation(/One or more parameter values are not valid\. A value specified for a secondary index key is not supported\. .*/),
    when: ({ op }) => op === 'Query',
  }),
  outcomes({
    id: 'index-gone',
    reason: 'Local words an update of an index that is not there in its own way',
    source: 'wire-protocol.md, common fixed messages',
    stator: /^(ResourceNotFoundException: Requested resource not found: Index: \S+ not found|ValidationException: 1 validation error detected: Value '.*' at 'globalSecondaryIndexUpdates\.1\.member\.\w+\.indexName' .*)$/,
    local: /^(ResourceNotFoundException: Requested resource not found|ValidationException: (Cannot delete an index that is not a GlobalSecondaryIndex|Invalid global secondary index name)|InternalFailure: .*)$/,
    when: ({ op }) => op === 'UpdateTable',
  }),
  outcomes({
    id: 'types-redefined',
    reason: 'Local refuses a second definition of an attribute with another type; on the service existing types win',
    source: 'limits-and-capacity.md, tables and indexes: definitions are merged by name, existing types win',
    stator: /^success$/,
    local: validation('invalid attribute, SchemaElement redefined should be of same type as previously defined'),
    when: ({ op }) => op === 'UpdateTable',
  }),
  {
    id: 'index-description',
    reason: 'Local describes indexes less: no units of on-demand indexes, no counts of new ones, limits of -1 that nobody set',
    source: 'shapes.json, GlobalSecondaryIndexDescription; limits-and-capacity.md, DescribeTable on on-demand: 0/0',
    explains: ({ path, stator, local }) => /(Global|Local)SecondaryIndexes\[\d+\]\./.test(path) && (
      (/\.(ProvisionedThroughput|ProvisionedThroughput\.NumberOfDecreasesToday|ItemCount|IndexSizeBytes)$/.test(path) && local === undefined) ||
      (/\.ProvisionedThroughput\.(Read|Write)CapacityUnits$/.test(path) && stator === 0 && local > 0) ||
      (/\.OnDemandThroughput$/.test(path) && stator === undefined && canonical(local) === '{"MaxReadRequestUnits":-1,"MaxWriteRequestUnits":-1}') ||
      (/\.(LastIncreaseDateTime|LastDecreaseDateTime)$/.test(path) && (stator === undefined || local === undefined))),
  },
  {
    id: 'index-size',
    reason: 'Local counts whole items; the service counts what the index holds',
    source: 'shapes.json, IndexSizeBytes; limits-and-capacity.md, writes: the projected entry',
    explains: ({ path, stator, local }) => /\.IndexSizeBytes$/.test(path) && Number.isInteger(stator) && stator <= local * 1.1 + 20,
  },
  {
    id: 'deleted-index-is-empty',
    reason: 'Local describes a DELETING index as empty',
    source: 'limits-and-capacity.md, request and response limits: counts refresh about every 6 h',
    explains: ({ path, stator, local }, { step }) => /\.(IndexSizeBytes|ItemCount)$/.test(path) && stator > 0 && local === 0 &&
      step.request.GlobalSecondaryIndexUpdates?.[0]?.Delete !== undefined,
  },
  {
    id: 'index-status',
    reason: 'Local answers the final status of indexes at once, or never says that it fills them',
    source: 'operations.md, UpdateTable is asynchronous',
    explains: ({ path, stator, local }) => (/\.IndexStatus$/.test(path) && ['CREATING', 'UPDATING', 'DELETING'].includes(stator) && local === 'ACTIVE') ||
      (/\.Backfilling$/.test(path) && stator === true && local === false),
  },
  {
    id: 'unused-definitions',
    reason: 'Local keeps definitions that no key uses',
    source: 'limits-and-capacity.md, tables and indexes: unused ones are dropped',
    explains: ({ path, stator, local }, { step }) => /\.AttributeDefinitions$/.test(path) && (step.op === 'DescribeTable' || step.request.AttributeDefinitions !== undefined) &&
      stator.every((one) => local.some((other) => canonical(one) === canonical(other))),
  },
  outcomes({
    id: 'projected-twice',
    reason: 'Local refuses a name that is twice in NonKeyAttributes; what the service does is not known',
    source: 'limits-and-capacity.md, NonKeyAttributes; open question',
    stator: /^(success|ResourceInUseException: Table already exists: \S+)$/,
    local: validation('Cannot have two attributes with the same name'),
    when: ({ op, request }) => /Table$/.test(op) && /"q","q"/.test(JSON.stringify(request)),
  }),
  {
    id: 'definitions-of-deleted',
    reason: 'Local drops the definitions of a deleted index at once; here they stay as long as the index is shown as DELETING',
    source: 'limits-and-capacity.md, tables and indexes: deleting a GSI prunes orphans',
    explains: ({ path, stator, local }, { step }) => path === 'body.TableDescription.AttributeDefinitions' && step.op === 'UpdateTable' &&
      step.request.GlobalSecondaryIndexUpdates?.[0]?.Delete !== undefined && local.every((one) => stator.some((other) => canonical(one) === canonical(other))),
  },
  outcomes({
    id: 'index-key-type',
    reason: 'Local does not name the index key and the types',
    source: 'expressions.md, items, keys, values',
    stator: validation(/One or more parameter values were invalid: Type mismatch for Index Key \S.* Expected: [SNB] Actual: \w+ IndexName: \S+/,
      'The update expression attempted to update the secondary index key to unsupported type'),
    local: validation(`${OPV}Type mismatch for Index Key`, 'Invalid attribute value type',
      'Updates on index keys must be of the same data type as the key attribute'),
  }),
  outcomes({
    id: 'index-key-size',
    reason: 'Local words an index key that is too long in its own way',
    source: 'limits-and-capacity.md, names and keys; expressions.md, batch and transactions, reason texts',
    stator: validation(`${OPV}Size of hashkey has exceeded the maximum size limit of2048 bytes`,
      `${OPV}Aggregated size of all range keys has exceeded the size limit of 1024 bytes`,
      'The update expression attempted to update the secondary index key beyond allowed size limits'),
    local: validation(`${OPV}Size limit exceeded`, /Aggregate size for (HASH|RANGE) key attributes .* of index .*/, 'The update expression attempted to update the secondary index key beyond allowed size limits'),
  }),
  outcomes({
    id: 'partial-index-key',
    reason: 'Local does not look at the index keys that an update writes when the item lacks another key attribute of the index',
    source: 'expressions.md, items, keys, values, makes no such exception',
    stator: validation(/The update expression attempted to update the secondary index key .*/),
    local: /^success$/,
    when: ({ op, table }) => op === 'UpdateItem' && table?.indexes?.some(({ hashes, ranges }) => hashes.length + ranges.length > 1),
  }),
  outcomes({
    id: 'empty-index-key',
    reason: 'an update that empties an index key: the service words it as it does for keys',
    source: 'expressions.md, items, keys, values: index keys have their own wording; open question',
    stator: validation(/One or more parameter values are not valid\. The update expression attempted to update a secondary index key to a value that is not supported\. .*/),
    local: validation(EMPTY_INDEX_KEY),
  }),
  outcomes({
    id: 'one-of-two-indexes',
    reason: 'of several indexes with a key that cannot be Local names another one',
    source: 'expressions.md, items, keys, values, names no order',
    stator: validation(/One or more parameter values (are not valid|were invalid).*IndexName: .*/),
    local: validation(/One or more parameter values (are not valid|were invalid).*IndexName: .*/),
    when: (step, { stator, local }) => withoutIndexName(stator) === withoutIndexName(local) || /^(Put|BatchWrite)/.test(step.op),
  }),
  outcomes({
    id: 'two-index-keys',
    reason: 'of two index keys that cannot be Local reports another one',
    source: 'expressions.md, items, keys, values, names no order',
    stator: validation(/One or more parameter values (are not valid|were invalid).*(IndexName: |Index Key|range keys|hashkey).*/, /The update expression attempted to update the secondary index key .*/,
      /One or more parameter values are not valid\. The update expression attempted .*/),
    local: validation(/One or more parameter values (are not valid|were invalid).*(IndexName: |Index Key|Size limit exceeded).*/, 'Invalid attribute value type', /The update expression attempted to update the secondary index key .*/,
      /One or more parameter values are not valid\. The update expression attempted .*/),
  }),
  outcomes({
    id: 'not-projected-order',
    reason: 'Local names what an index does not project in hash order',
    source: 'expressions.md, Query and Scan: Global secondary index <i> does not project [<attrs>]',
    stator: validation(/One or more parameter values were invalid: (Global s|S)econdary index \S+ does not project .*/),
    local: validation(/One or more parameter values were invalid: (Global s|S)econdary index \S+ does not project .*/),
    when: (step, { stator, local }) => sortedList(stator) === sortedList(local),
  }),
  {
    id: 'scan-filters-items',
    reason: 'Local shows the filter of a Scan of an index attributes that are not in the index',
    source: 'limits-and-capacity.md, writes: the projected entry; known only of Query, which refuses such a filter',
    explains: ({ path }, { step }) => step.op === 'Scan' && step.request.IndexName !== undefined && step.index?.projection.ProjectionType !== 'ALL' &&
      (step.request.FilterExpression ?? step.request.ScanFilter) !== undefined && /^body\.(Count|Items|ScannedCount)/.test(path),
  },
  outcomes({
    id: 'several-key-attributes',
    reason: 'of several errors in the conditions on a key of several attributes Local reports another one',
    source: 'operations.md, multi-attribute GSI keys, names no order',
    stator: validation(/(HASH|RANGE) key attributes .* must have equality conditions .*/, /Query (condition missed|key condition) .*/, `${OPV}Condition parameter type does not match schema type`),
    local: validation(/(HASH|RANGE) key attributes .* must have equality conditions .*/, /Query (condition missed|key condition) .*/, `${OPV}Condition parameter type does not match schema type`),
    when: (step, { stator, local }) => several(step) && stator !== local,
  }),
  {
    id: 'index-read-units',
    reason: 'Local measures whole items, or numbers in its own way; the service measures the entries',
    source: 'limits-and-capacity.md, reads: on projected entry sizes',
    explains: ({ path, stator, local }, { step }) => ['Query', 'Scan'].includes(step.op) && step.request.IndexName !== undefined && /CapacityUnits$/.test(path) && stator < local,
  },
  {
    id: 'item-collection-metrics',
    reason: 'Local answers no ItemCollectionMetrics',
    source: 'limits-and-capacity.md, request and response limits: only for tables with LSIs',
    explains: ({ path, stator, local }, { step }) => path === 'body.ItemCollectionMetrics' && local === undefined && stator !== undefined &&
      step.request.ReturnItemCollectionMetrics === 'SIZE',
  },
  {
    id: 'number-rewritten',
    reason: 'Local takes a number that is written otherwise for a change of the index entry',
    source: 'limits-and-capacity.md, numbers: compared by value; writes: entry unchanged 0',
    explains: ({ path, stator, local }, { step }) => /^(Put|Update|Delete|BatchWrite)/.test(step.op) && /ConsumedCapacity(\[\d+\])?(\.|$)/.test(path) &&
      (/SecondaryIndexes/.test(path) ? stator === undefined || stator < local : stator < local) && step.table?.indexes !== undefined,
  },
];
