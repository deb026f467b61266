// A table's description as DescribeTable answers it, and what follows from it for requests.
import { type AttributeType, type Item, itemOf, member } from './value.ts';

export interface KeyElement {
  AttributeName: string;
  KeyType: 'HASH' | 'RANGE';
}
export interface AttributeDefinition {
  AttributeName: string;
  AttributeType: 'S' | 'N' | 'B';
}
export interface Projection {
  ProjectionType?: 'ALL' | 'KEYS_ONLY' | 'INCLUDE';
  NonKeyAttributes?: string[];
}
export interface Throughput {
  ReadCapacityUnits: number;
  WriteCapacityUnits: number;
  NumberOfDecreasesToday?: number;
  LastIncreaseDateTime?: number;
  LastDecreaseDateTime?: number;
}
export interface OnDemandThroughput {
  MaxReadRequestUnits?: number;
  MaxWriteRequestUnits?: number;
}
export interface WarmThroughput {
  ReadUnitsPerSecond?: number;
  WriteUnitsPerSecond?: number;
  Status?: string;
}
export interface IndexDescription {
  IndexName: string;
  KeySchema: KeyElement[];
  Projection?: Projection;
  IndexStatus?: string;
  Backfilling?: boolean;
  IndexSizeBytes?: number;
  ItemCount?: number;
  IndexArn?: string;
  ProvisionedThroughput?: Throughput;
  OnDemandThroughput?: OnDemandThroughput;
  WarmThroughput?: WarmThroughput;
}
export interface TableDescription {
  TableName: string;
  TableStatus: string;
  TableArn: string;
  TableId?: string;
  CreationDateTime?: number;
  KeySchema: KeyElement[];
  AttributeDefinitions: AttributeDefinition[];
  ItemCount?: number;
  TableSizeBytes?: number;
  BillingModeSummary?: { BillingMode?: string };
  ProvisionedThroughput?: Throughput;
  OnDemandThroughput?: OnDemandThroughput;
  WarmThroughput?: WarmThroughput;
  GlobalSecondaryIndexes?: IndexDescription[];
  LocalSecondaryIndexes?: IndexDescription[];
  StreamSpecification?: { StreamEnabled?: boolean; StreamViewType?: string };
  LatestStreamArn?: string;
  LatestStreamLabel?: string;
  TableClassSummary?: { TableClass?: string };
  DeletionProtectionEnabled?: boolean;
}

export interface KeyAttribute {
  name: string;
  type: 'S' | 'N' | 'B';
}

// The key of a table or index: one attribute each for a table, up to four for a global index.
export interface Keys {
  partition: KeyAttribute[];
  sort: KeyAttribute[];
}

export function keysOf(table: TableDescription, index?: string): Keys {
  const schema = (index === undefined ? table : indexOf(table, index))?.KeySchema ?? [];
  const typeOfName = (name: string) =>
    table.AttributeDefinitions.find((one) => one.AttributeName === name)?.AttributeType ?? 'S';
  const of = (kind: 'HASH' | 'RANGE') =>
    schema
      .filter((one) => one.KeyType === kind)
      .map((one) => ({ name: one.AttributeName, type: typeOfName(one.AttributeName) }));
  return { partition: of('HASH'), sort: of('RANGE') };
}

export const keyNames = (keys: Keys): string[] =>
  [...keys.partition, ...keys.sort].map((one) => one.name);

export const indexesOf = (table: TableDescription): IndexDescription[] => [
  ...(table.GlobalSecondaryIndexes ?? []),
  ...(table.LocalSecondaryIndexes ?? []),
];

export const indexOf = (table: TableDescription, name: string): IndexDescription | undefined =>
  indexesOf(table).find((one) => one.IndexName === name);

export const isGlobal = (table: TableDescription, name: string): boolean =>
  (table.GlobalSecondaryIndexes ?? []).some((one) => one.IndexName === name);

export const isOnDemand = (table: TableDescription): boolean =>
  table.BillingModeSummary?.BillingMode === 'PAY_PER_REQUEST';

// The item's primary key, or null where it lacks an attribute of it.
export function keyOf(table: TableDescription, item: Item): Item | null {
  const names = keyNames(keysOf(table));
  if (names.some((name) => member(item, name) === undefined)) return null;
  return itemOf(names.map((name) => [name, item[name] as NonNullable<(typeof item)[string]>]));
}

// A text that is equal for equal keys.
export const keyText = (table: TableDescription, key: Item): string =>
  JSON.stringify(keyNames(keysOf(table)).map((name) => member(key, name) ?? null));

// Types that a condition may use for this key attribute's value.
export const isKeyType = (type: AttributeType): type is 'S' | 'N' | 'B' =>
  type === 'S' || type === 'N' || type === 'B';
