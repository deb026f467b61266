// DynamoDB JSON as text: `{"year": {"N": "1965"}}`, checked all the way down.
import { bytesOf } from './binary.ts';
import { type Json, JsonError, parseJson } from './json.ts';
import { canonical, numberError } from './number.ts';
import { type AttributeValue, emptyItem, type Item, kTypes } from './value.ts';

// Indented, one attribute a line where it fits.
export function printTyped(item: Item): string {
  return printMap(item, '');
}

function printMap(item: Item, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.keys(item).map(
    (name) => `${inner}${JSON.stringify(name)}: ${print(item[name] as AttributeValue, inner)}`,
  );
  return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${indent}}`;
}

function print(value: AttributeValue, indent: string): string {
  if ('M' in value) return `{ "M": ${printMap(value.M, indent)} }`;
  if ('L' in value) {
    if (value.L.length === 0) return '{ "L": [] }';
    const inner = `${indent}  `;
    const lines = value.L.map((one) => inner + print(one, inner));
    return `{ "L": [\n${lines.join(',\n')}\n${indent}] }`;
  }
  const [type, inside] = Object.entries(value)[0] as [string, unknown];
  return `{ "${type}": ${JSON.stringify(inside)} }`;
}

// Throws JsonError with the place of what is wrong.
export function readTyped(text: string): Item {
  return itemFrom(parseJson(text));
}

function itemFrom(json: Json): Item {
  if (json.kind !== 'object') throw new JsonError('An item is an object {...}', json.at);
  const item = emptyItem();
  for (const [name, value] of json.members) {
    if (name === '') throw new JsonError('An attribute needs a name', value.at);
    item[name] = valueFrom(value);
  }
  return item;
}

// The value of {"TYPE": ...}. Throws JsonError.
export function valueFrom(json: Json): AttributeValue {
  if (json.kind !== 'object' || json.members.size !== 1)
    throw new JsonError('A value is an object with one type, such as {"S": "text"}', json.at);
  const [[type, inner]] = [...json.members] as [[string, Json]];
  switch (type) {
    case 'S':
      return { S: textIn(inner, type) };
    case 'N':
      return { N: numberIn(inner) };
    case 'B':
      return { B: base64In(inner) };
    case 'BOOL':
      if (inner.kind !== 'true' && inner.kind !== 'false')
        throw new JsonError('BOOL is true or false, without quotes', inner.at);
      return { BOOL: inner.kind === 'true' };
    case 'NULL':
      if (inner.kind !== 'true') throw new JsonError('NULL is always true', inner.at);
      return { NULL: true };
    case 'M':
      return { M: itemFrom(inner) };
    case 'L':
      if (inner.kind !== 'array') throw new JsonError('L is a list [...]', inner.at);
      return { L: inner.elements.map(valueFrom) };
    case 'SS':
      return { SS: setIn(inner, type, (one) => textIn(one, type), String) };
    case 'NS':
      return { NS: setIn(inner, type, numberIn, canonical) };
    case 'BS':
      return { BS: setIn(inner, type, base64In, String) };
    default:
      throw new JsonError(
        `${JSON.stringify(type)} is not a type: they are ${kTypes.join(', ')}`,
        json.at,
      );
  }
}

function textIn(json: Json, type: string): string {
  if (json.kind !== 'string') throw new JsonError(`${type} holds text in quotes`, json.at);
  return json.text;
}

function numberIn(json: Json): string {
  if (json.kind !== 'string')
    throw new JsonError('Numbers stand in quotes, so that no digit is lost: "1965"', json.at);
  const error = numberError(json.text);
  if (error) throw new JsonError(`${json.text}: ${error}`, json.at);
  return json.text;
}

function base64In(json: Json): string {
  const text = textIn(json, 'B');
  if (bytesOf(text) === null) throw new JsonError('This is not base64', json.at);
  return text;
}

function setIn(
  json: Json,
  type: string,
  read: (json: Json) => string,
  key: (text: string) => string,
): string[] {
  if (json.kind !== 'array') throw new JsonError(`${type} is a list [...]`, json.at);
  if (json.elements.length === 0) throw new JsonError('A set cannot be empty', json.at);
  const seen = new Set<string>();
  return json.elements.map((one) => {
    const text = read(one);
    if (seen.has(key(text))) throw new JsonError('A set has each element once', one.at);
    seen.add(key(text));
    return text;
  });
}
