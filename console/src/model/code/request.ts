// A request as the console sent it, for the writers of code.
import type { AttributeValue, Item } from '../value.ts';

export interface Request {
  service: 'DynamoDB' | 'DynamoDBStreams';
  operation: string;
  input: Record<string, unknown>;
  // The moment that is read, which a header of Stator's carries; absent: now.
  asOf?: string | undefined;
}

export const kAsOfHeader = 'X-Stator-As-Of';

export interface Where {
  // The endpoint of this server; null: the code leaves it out.
  endpoint: string | null;
  region: string;
}

export type Language =
  | 'js'
  | 'js-document'
  | 'boto3'
  | 'boto3-resource'
  | 'cli'
  | 'partiql'
  | 'curl';

export const kLanguages: readonly { id: Language; name: string }[] = [
  { id: 'js', name: 'JavaScript' },
  { id: 'js-document', name: 'JavaScript, documents' },
  { id: 'boto3', name: 'Python' },
  { id: 'boto3-resource', name: 'Python, resource' },
  { id: 'cli', name: 'AWS CLI' },
  { id: 'partiql', name: 'PartiQL' },
  { id: 'curl', name: 'curl' },
];

// How a language writes what JSON and attribute values have.
export interface Dialect {
  text(text: string): string;
  bool(value: boolean): string;
  none: string;
  // An attribute value in a position where DynamoDB wants one.
  value(value: AttributeValue, print: (json: unknown) => string): string;
  object(entries: [string, string][]): string;
  list(elements: string[]): string;
}

const kItems = new Set(['Key', 'Item', 'ExclusiveStartKey', 'ExpressionAttributeValues']);
const kItemLists = new Set(['Keys']);
const kValueLists = new Set(['Parameters']);

// The input in the dialect, one member after the other: name and text. Attribute values are found
// by the members that hold them, not by their looks: an attribute may be named S.
export function members(input: Record<string, unknown>, dialect: Dialect): [string, string][] {
  return Object.entries(input)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, printMember(name, value, dialect)]);
}

function printMember(name: string, value: unknown, dialect: Dialect): string {
  if (kItems.has(name)) return printItem(value as Item, dialect);
  if (kItemLists.has(name))
    return dialect.list((value as Item[]).map((one) => printItem(one, dialect)));
  if (kValueLists.has(name))
    return dialect.list((value as AttributeValue[]).map((one) => printValue(one, dialect)));
  return printJson(value, dialect);
}

function printItem(item: Item, dialect: Dialect): string {
  return dialect.object(
    Object.keys(item).map((name) => [name, printValue(item[name] as AttributeValue, dialect)]),
  );
}

function printValue(value: AttributeValue, dialect: Dialect): string {
  return dialect.value(value, (json) => printJson(json, dialect));
}

function printJson(json: unknown, dialect: Dialect): string {
  if (typeof json === 'string') return dialect.text(json);
  if (typeof json === 'number') return String(json);
  if (typeof json === 'boolean') return dialect.bool(json);
  if (json === null || json === undefined) return dialect.none;
  if (Array.isArray(json)) return dialect.list(json.map((one) => printJson(one, dialect)));
  return dialect.object(members(json as Record<string, unknown>, dialect));
}

// Puts lines into brackets, on one line where they fit.
export function bracketed(open: string, lines: string[], close: string, space = ' '): string {
  if (lines.length === 0) return open + close;
  const flat = `${open}${space}${lines.join(', ')}${space}${close}`;
  if (flat.length <= 72 && !flat.includes('\n')) return flat;
  const indented = lines.map((line) => `  ${line.replaceAll('\n', '\n  ')}`);
  return `${open}\n${indented.join(',\n')},\n${close}`;
}
