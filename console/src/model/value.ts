// DynamoDB's values as they stand on the wire. The console never turns a number into a JavaScript
// number and a binary into anything but its base64: what was received is what is sent.

export type AttributeType = 'S' | 'N' | 'B' | 'BOOL' | 'NULL' | 'M' | 'L' | 'SS' | 'NS' | 'BS';

export type AttributeValue =
  | { S: string }
  | { N: string }
  | { B: string }
  | { BOOL: boolean }
  | { NULL: true }
  | { M: Item }
  | { L: AttributeValue[] }
  | { SS: string[] }
  | { NS: string[] }
  | { BS: string[] };

// Attribute names are any text, `__proto__` and `constructor` included: read members with `member`
// and make items with `emptyItem`.
export type Item = { [name: string]: AttributeValue };

export const kTypes: readonly AttributeType[] = [
  'S',
  'N',
  'B',
  'BOOL',
  'NULL',
  'M',
  'L',
  'SS',
  'NS',
  'BS',
];

export const kTypeWords: Record<AttributeType, string> = {
  S: 'text',
  N: 'number',
  B: 'binary',
  BOOL: 'true or false',
  NULL: 'null',
  M: 'map',
  L: 'list',
  SS: 'set of texts',
  NS: 'set of numbers',
  BS: 'set of binaries',
};

export const emptyItem = (): Item => Object.create(null) as Item;

// The member, or undefined; never what an object inherits.
export const member = (item: Item, name: string): AttributeValue | undefined =>
  Object.hasOwn(item, name) ? item[name] : undefined;

export const itemOf = (entries: Iterable<readonly [string, AttributeValue]>): Item => {
  const item = emptyItem();
  for (const [name, value] of entries) item[name] = value;
  return item;
};

export function typeOf(value: AttributeValue): AttributeType {
  for (const name in value) return name as AttributeType;
  throw new Error('a value without a type');
}

// What stands behind the type, for callers that know it.
export const payload = (value: AttributeValue): unknown =>
  (value as unknown as Record<string, unknown>)[typeOf(value)];

// Whether a JSON value is an AttributeValue all the way down.
export function isAttributeValue(json: unknown): json is AttributeValue {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return false;
  const names = Object.keys(json);
  if (names.length !== 1) return false;
  const [name] = names as [string];
  const inner = (json as Record<string, unknown>)[name];
  const texts = () => Array.isArray(inner) && inner.every((one) => typeof one === 'string');
  switch (name) {
    case 'S':
    case 'N':
    case 'B':
      return typeof inner === 'string';
    case 'BOOL':
      return typeof inner === 'boolean';
    case 'NULL':
      return inner === true;
    case 'SS':
    case 'NS':
    case 'BS':
      return texts() && (inner as string[]).length > 0;
    case 'L':
      return Array.isArray(inner) && inner.every(isAttributeValue);
    case 'M':
      return isItem(inner);
    default:
      return false;
  }
}

export function isItem(json: unknown): json is Item {
  return (
    typeof json === 'object' &&
    json !== null &&
    !Array.isArray(json) &&
    Object.values(json).every(isAttributeValue)
  );
}

// A deep copy whose maps inherit nothing.
export function copyItem(item: Item): Item {
  const copy = emptyItem();
  for (const name of Object.keys(item)) copy[name] = copyValue(item[name] as AttributeValue);
  return copy;
}

export function copyValue(value: AttributeValue): AttributeValue {
  if ('M' in value) return { M: copyItem(value.M) };
  if ('L' in value) return { L: value.L.map(copyValue) };
  if ('SS' in value) return { SS: [...value.SS] };
  if ('NS' in value) return { NS: [...value.NS] };
  if ('BS' in value) return { BS: [...value.BS] };
  return { ...value };
}
