// Plain JSON of values and back. Plain JSON knows texts, numbers, true, false, null, lists and
// maps; an attribute keeps the type that it had where the plain form still fits, and what changes
// its type is listed, so that nothing becomes another type silently.
import { bytesOf } from './binary.ts';
import { type Json, parseJson } from './json.ts';
import { canonical, numberError } from './number.ts';
import {
  type AttributeType,
  type AttributeValue,
  emptyItem,
  type Item,
  member,
  typeOf,
} from './value.ts';

export interface TypeChange {
  path: string;
  from: AttributeType;
  to: AttributeType;
}

export interface PlainResult {
  item: Item;
  // Attributes whose type would change, against the item that the text was made from.
  changes: TypeChange[];
}

// Plain JSON, indented. Numbers are printed with all their digits.
export function printPlain(item: Item): string {
  return plainMap(item, '');
}

function plainMap(item: Item, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.keys(item).map(
    (name) => `${inner}${JSON.stringify(name)}: ${plain(item[name] as AttributeValue, inner)}`,
  );
  return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${indent}}`;
}

function plainList(elements: string[], indent: string): string {
  if (elements.length === 0) return '[]';
  const flat = `[${elements.join(', ')}]`;
  if (flat.length + indent.length < 80 && !flat.includes('\n')) return flat;
  return `[\n${elements.map((one) => `${indent}  ${one}`).join(',\n')}\n${indent}]`;
}

export function plain(value: AttributeValue, indent = ''): string {
  if ('S' in value) return JSON.stringify(value.S);
  if ('N' in value) return jsonNumber(value.N);
  if ('B' in value) return JSON.stringify(value.B);
  if ('BOOL' in value) return String(value.BOOL);
  if ('NULL' in value) return 'null';
  if ('M' in value) return plainMap(value.M, indent);
  if ('L' in value)
    return plainList(
      value.L.map((one) => plain(one, `${indent}  `)),
      indent,
    );
  if ('SS' in value)
    return plainList(
      value.SS.map((one) => JSON.stringify(one)),
      indent,
    );
  if ('NS' in value) return plainList(value.NS.map(jsonNumber), indent);
  return plainList(
    value.BS.map((one) => JSON.stringify(one)),
    indent,
  );
}

const jsonNumber = (text: string): string =>
  numberError(text) === null ? canonical(text) : JSON.stringify(text);

// Reads what printPlain wrote, edited. `before` gives the types. Throws JsonError.
export function readPlain(text: string, before: Item): PlainResult {
  const json = parseJson(text);
  const changes: TypeChange[] = [];
  const value = fromJson(json, { M: before }, '', changes);
  if (!('M' in value)) {
    return { item: emptyItem(), changes: [{ path: '', from: 'M', to: typeOf(value) }] };
  }
  return { item: value.M, changes };
}

// The value of `json` in the type that `before` has, where it fits. Without `before`: the type that
// JSON has by itself.
export function fromJson(
  json: Json,
  before: AttributeValue | undefined,
  path: string,
  changes: TypeChange[],
): AttributeValue {
  const value = convert(json, before, path, changes);
  if (before !== undefined && typeOf(before) !== typeOf(value))
    changes.push({ path, from: typeOf(before), to: typeOf(value) });
  return value;
}

function convert(
  json: Json,
  before: AttributeValue | undefined,
  path: string,
  changes: TypeChange[],
): AttributeValue {
  switch (json.kind) {
    case 'null':
      return { NULL: true };
    case 'true':
    case 'false':
      return { BOOL: json.kind === 'true' };
    case 'number':
      return { N: json.text };
    case 'string':
      if (before && 'B' in before && bytesOf(json.text) !== null) return { B: json.text };
      if (before && 'N' in before && numberError(json.text) === null) return { N: json.text };
      return { S: json.text };
    case 'array': {
      const set = asSet(json.elements, before);
      if (set) return set;
      const old = before && 'L' in before ? before.L : [];
      return { L: json.elements.map((one, i) => fromJson(one, old[i], `${path}[${i}]`, changes)) };
    }
    case 'object': {
      const old = before && 'M' in before ? before.M : emptyItem();
      const item = emptyItem();
      for (const [name, inner] of json.members) {
        const inside = path === '' ? name : `${path}.${name}`;
        item[name] = fromJson(inner, member(old, name), inside, changes);
      }
      return { M: item };
    }
  }
}

// A set, if the attribute was one and the elements still make one.
function asSet(elements: Json[], before: AttributeValue | undefined): AttributeValue | null {
  if (!before || elements.length === 0) return null;
  const texts = elements.flatMap((one) => (one.kind === 'string' ? [one.text] : []));
  const numbers = elements.flatMap((one) => (one.kind === 'number' ? [one.text] : []));
  const distinct = (all: string[]) => new Set(all).size === elements.length;
  if ('SS' in before && distinct(texts)) return { SS: texts };
  if ('NS' in before && distinct(numbers.map(canonical))) return { NS: numbers };
  if ('BS' in before && distinct(texts) && texts.every((one) => bytesOf(one) !== null))
    return { BS: texts };
  return null;
}
