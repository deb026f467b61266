// Table operations.
import { OPV, outcomes, validation } from './patterns.mjs';

export const TABLES = [
  {
    id: 'table-description',
    reason: 'Local leaves TableId and WarmThroughput out and answers 1970 for throughput that never changed',
    source: 'shapes.json, TableDescription; operations.md, warm throughput',
    explains: ({ path, stator, local }) => (/\.(TableId|WarmThroughput)$/.test(path) && local === undefined && stator !== undefined) ||
      (/ProvisionedThroughput\.Last(In|De)creaseDateTime$/.test(path) && stator === undefined && local === '<time>'),
  },
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
    id: 'table-definition',
    reason: 'Local words definitions of tables that do not fit together in its own way',
    source: 'expressions.md, tables',
    stator: validation('Invalid KeySchema: Some index key attribute have no definition', 'Invalid KeySchema: The first KeySchemaElement is not a HASH key type',
      'Invalid KeySchema: The second KeySchemaElement is not a RANGE key type', 'Both the Hash Key and the Range Key element in the KeySchema have the same name',
      `${OPV}Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions`,
      /Attribute Name is duplicated: .+/,
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
    stator: validation(`${OPV}Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST`,
      /Cannot increase provisioned throughput to more than [\d,]+ units per (table|account)/),
    local: /^success$/,
  }),
  outcomes({
    id: 'on-demand-maxima',
    reason: 'Local checks OnDemandThroughput at creation only, and wants both of its members there',
    source: 'limits-and-capacity.md, throughput: MaxRead/WriteRequestUnits',
    stator: validation(`${OPV}OnDemandThroughput cannot be specified when BillingMode is PROVISIONED`,
      /One or more parameter values were invalid: Requested Max(Read|Write)RequestUnits for OnDemandThroughput for table is outside of valid range/),
    local: /^(success|ValidationException: (Table read and write throughput must be at least 1, and cannot be null|Nothing to update))$/,
    when: ({ request }) => request.OnDemandThroughput !== undefined,
  }),
  {
    id: 'one-on-demand-maximum',
    reason: 'Local forgets OnDemandThroughput when one of its members is -1; the other one is a maximum for the service',
    source: 'limits-and-capacity.md, throughput: MaxRead/WriteRequestUnits; shapes.json, OnDemandThroughput: no member is required',
    explains: ({ path, stator, local }) => /\.(Table|TableDescription)\.OnDemandThroughput$/.test(path) && local === undefined &&
      typeof stator === 'object' && Object.keys(stator).length === 1,
  },
  outcomes({
    id: 'throughput-unchanged',
    reason: 'Local words throughput that does not change in its own way',
    source: 'limits-and-capacity.md, throughput: UpdateTable with unchanged values',
    stator: validation(/The provisioned throughput for the (table|index \S+) will not change\. The requested value equals the current value\. .*/),
    local: validation('The requested throughput value equals the current value'),
  }),
  outcomes({
    id: 'throughput-bounds',
    reason: 'Local words throughput out of bounds in its own way',
    source: 'limits-and-capacity.md, throughput: out of range',
    stator: validation(/Given value \d+ for (Read|Write)CapacityUnits is out of bounds/),
    local: validation(/Cannot increase provisioned throughput to more than .*/),
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
  {
    id: 'table-status',
    reason: 'Local answers the final status at once; the service answers CREATING, UPDATING or DELETING first',
    source: 'issue 2; operations.md, CreateTable is asynchronous',
    explains: ({ path, stator, local }, { step }) => /TableStatus$/.test(path) && local === 'ACTIVE' &&
      stator === { CreateTable: 'CREATING', UpdateTable: 'UPDATING', DeleteTable: 'DELETING' }[step.op],
  },
];
