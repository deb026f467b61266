// Sizes by DynamoDB's rules: what the 400 KB limit and capacity units go by.
import { base64Bytes } from './binary.ts';
import { numberBytes } from './number.ts';
import type { AttributeValue, Item } from './value.ts';

export const kMostItemBytes = 400 * 1024;
export const kMostLevels = 32;

// Bytes of the text as UTF-8.
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; ++i) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit < 0xdc00 && i + 1 < text.length) {
      bytes += 4;
      ++i;
    } else bytes += 3;
  }
  return bytes;
}

export function valueBytes(value: AttributeValue): number {
  if ('S' in value) return utf8Bytes(value.S);
  if ('N' in value) return numberBytes(value.N);
  if ('B' in value) return base64Bytes(value.B);
  if ('M' in value) {
    let bytes = 3;
    for (const name of Object.keys(value.M))
      bytes += utf8Bytes(name) + 1 + valueBytes(value.M[name] as AttributeValue);
    return bytes;
  }
  const sum = (sizes: number[]) => sizes.reduce((all, one) => all + one, 0);
  if ('L' in value) return 3 + sum(value.L.map((element) => 1 + valueBytes(element)));
  if ('SS' in value) return sum(value.SS.map(utf8Bytes));
  if ('NS' in value) return sum(value.NS.map(numberBytes));
  if ('BS' in value) return sum(value.BS.map(base64Bytes));
  return 1;
}

export function itemBytes(item: Item): number {
  let bytes = 0;
  for (const name of Object.keys(item))
    bytes += utf8Bytes(name) + valueBytes(item[name] as AttributeValue);
  return bytes;
}

// Levels of nesting, the item itself counted as one.
export function levels(item: Item): number {
  let deepest = 0;
  for (const name of Object.keys(item))
    deepest = Math.max(deepest, levelsOf(item[name] as AttributeValue));
  return 1 + deepest;
}

function levelsOf(value: AttributeValue): number {
  if ('M' in value) return levels(value.M);
  if ('L' in value) return 1 + value.L.reduce((most, one) => Math.max(most, levelsOf(one)), 0);
  return 0;
}

export const readUnits = (bytes: number, consistent: boolean): number =>
  Math.max(1, Math.ceil(bytes / 4096)) * (consistent ? 1 : 0.5);
export const writeUnits = (bytes: number): number => Math.max(1, Math.ceil(bytes / 1024));
