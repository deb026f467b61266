// Stands in for boot and pulse where the user may not ask for them: what DynamoDB's own calls tell.
import { dynamodb } from '../api/dynamodb.ts';
import { describe } from '../api/tables.ts';
import type { TableDescription } from '../model/table.ts';
import type { Boot, PulseReply, TableRow } from './state.ts';

// Tables that are described in one look; the others follow with the next.
const kMostDescribed = 20;

export const guestBoot = (region: string): Boot => ({
  version: '',
  engine: '',
  durability: null,
  region,
  account: '',
  accessControl: true,
  loopback: true,
  clock: { clock: 'system', now: new Date().toISOString() },
  throttling: 'off',
  title: null,
  colour: null,
  production: false,
  readOnly: false,
  features: [],
  prices: null,
  partition: { read: 3000, write: 1000 },
});

const described = new Map<string, TableRow>();

export async function guestPulse(abort: AbortSignal): Promise<PulseReply> {
  const names: string[] = [];
  let start: string | undefined;
  do {
    const page = await dynamodb<{ TableNames: string[]; LastEvaluatedTableName?: string }>(
      'ListTables',
      { ExclusiveStartTableName: start },
      { signal: abort, background: true },
    );
    names.push(...page.TableNames);
    start = page.LastEvaluatedTableName;
  } while (start !== undefined);
  const unknown = names.filter((name) => !described.has(name)).slice(0, kMostDescribed);
  for (const name of unknown) {
    const table = await describe(name, abort).catch(() => ({ TableName: name }));
    described.set(name, rowOf(table as TableDescription));
  }
  return {
    seq: 0,
    whole: true,
    events: 0,
    now: new Date().toISOString(),
    clock: 'system',
    uptimeSeconds: 0,
    ready: true,
    notReady: null,
    writable: true,
    faults: 0,
    requests: { perSecond: 0, userErrors: 0, systemErrors: 0, throttled: 0, p50: null, p99: null },
    tables: names.map((name) => described.get(name) ?? rowOf({ TableName: name } as never)),
    dropped: [],
  };
}

function rowOf(table: TableDescription): TableRow {
  const given = table.ProvisionedThroughput;
  const onDemand = table.BillingModeSummary?.BillingMode === 'PAY_PER_REQUEST';
  const none = { read: 0, write: 0 };
  return {
    name: table.TableName,
    status: table.TableStatus ?? 'ACTIVE',
    billing: onDemand ? 'PAY_PER_REQUEST' : 'PROVISIONED',
    provisioned:
      onDemand || !given
        ? null
        : { read: given.ReadCapacityUnits ?? 0, write: given.WriteCapacityUnits ?? 0 },
    throttling: 'off',
    items: table.ItemCount ?? 0,
    bytes: table.TableSizeBytes ?? 0,
    partitions: 1,
    globalIndexes: table.GlobalSecondaryIndexes?.length ?? 0,
    localIndexes: table.LocalSecondaryIndexes?.length ?? 0,
    stream: table.StreamSpecification?.StreamViewType ?? null,
    ttl: null,
    protected: table.DeletionProtectionEnabled ?? false,
    created: table.CreationDateTime ?? 0,
    consumed: none,
    refused: none,
    use: null,
    hottest: null,
    strip: null,
  };
}
