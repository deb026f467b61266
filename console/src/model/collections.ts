// Rows as item collections: those with one partition key together, and what kind of thing each is.
// Pure.
import { keysOf, type TableDescription } from './table.ts';
import { summary, textOfValue } from './text_value.ts';
import { type Item, member } from './value.ts';

export interface Collection {
  // Text of the partition key.
  key: string;
  rows: Item[];
}

// In the order of the rows; a collection that is met again is the same one.
export function collectionsOf(
  table: TableDescription,
  index: string | undefined,
  rows: readonly Item[],
): Collection[] {
  const names = keysOf(table, index).partition.map((one) => one.name);
  const found = new Map<string, Collection>();
  for (const row of rows) {
    const key = names.map((name) => textOf(row, name)).join(' · ');
    const collection = found.get(key) ?? { key, rows: [] };
    collection.rows.push(row);
    found.set(key, collection);
  }
  return [...found.values()];
}

const textOf = (row: Item, name: string): string => {
  const value = member(row, name);
  return value === undefined ? '' : textOfValue(value);
};

export const sortText = (table: TableDescription, index: string | undefined, row: Item): string =>
  keysOf(table, index)
    .sort.map((one) => textOf(row, one.name))
    .join(' · ');

const kTypeNames = [
  'type',
  'Type',
  'entity',
  'Entity',
  'entityType',
  'EntityType',
  '_type',
  'kind',
];

// What a single-table design calls the item: an attribute that says it, else what its sort key or
// partition key begins with ("ORDER#2026-..." is an ORDER); null: it does not say.
export function entityOf(
  table: TableDescription,
  index: string | undefined,
  row: Item,
): string | null {
  for (const name of kTypeNames) {
    const value = member(row, name);
    if (value && 'S' in value && value.S !== '' && value.S.length <= 40) return value.S;
  }
  const keys = keysOf(table, index);
  for (const { name } of [...keys.sort, ...keys.partition]) {
    const prefix = /^([A-Za-z][\w-]{0,39})(?:#|::)/.exec(textOf(row, name));
    if (prefix?.[1]) return prefix[1];
  }
  return null;
}

// All attributes but the key, on a line.
export function restOf(table: TableDescription, index: string | undefined, row: Item): string {
  const keys = keysOf(table, index);
  const names = new Set([...keys.partition, ...keys.sort].map((one) => one.name));
  return Object.keys(row)
    .filter((name) => !names.has(name))
    .slice(0, 12)
    .map((name) => `${name}: ${summary(row[name] as never).slice(0, 60)}`)
    .join('   ');
}
