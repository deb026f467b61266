// Values typed into one line of text, and the short form of values in lists.
import { base64Bytes, bytesOf } from './binary.ts';
import { JsonError, parseJson } from './json.ts';
import { numberError } from './number.ts';
import { valueFrom } from './typed.ts';
import { type AttributeType, type AttributeValue, typeOf } from './value.ts';

export type Parsed = { value: AttributeValue } | { error: string };

const kNumberErrors = {
  'not a number': 'is not a number',
  'too large': 'is larger than 9.99E+125',
  'too small': 'is closer to zero than 1E-130',
  'more than 38 digits': 'has more than 38 digits',
} as const;

// The value that `text` stands for in the type. Of maps, lists and sets the text is what stands
// behind the type in DynamoDB JSON: `["a", "b"]` for SS.
export function parseText(type: AttributeType, text: string): Parsed {
  switch (type) {
    case 'S':
      return { value: { S: text } };
    case 'N': {
      const error = numberError(text.trim());
      if (error === null) return { value: { N: text.trim() } };
      return {
        error: text.trim() === '' ? 'A number is missing' : `${text} ${kNumberErrors[error]}`,
      };
    }
    case 'B':
      return bytesOf(text.trim()) === null
        ? { error: 'Binaries are written in base64, such as AAEC' }
        : { value: { B: text.trim() } };
    case 'BOOL':
      return text === 'true' || text === 'false'
        ? { value: { BOOL: text === 'true' } }
        : { error: 'true or false' };
    case 'NULL':
      return { value: { NULL: true } };
    default:
      try {
        const inner = parseJson(text);
        return {
          value: valueFrom({
            kind: 'object',
            members: new Map([[type, inner]]),
            at: 0,
            end: text.length,
          }),
        };
      } catch (error) {
        if (error instanceof JsonError) return { error: error.message };
        throw error;
      }
  }
}

// The text that parseText reads as this value.
export function textOfValue(value: AttributeValue): string {
  if ('S' in value) return value.S;
  if ('N' in value) return value.N;
  if ('B' in value) return value.B;
  if ('BOOL' in value) return String(value.BOOL);
  if ('NULL' in value) return '';
  return JSON.stringify(Object.values(value)[0]);
}

// `S:text`, as keys stand in addresses.
export const tagged = (value: AttributeValue): string => `${typeOf(value)}:${textOfValue(value)}`;

export function untagged(text: string): AttributeValue | null {
  const match = /^(S|N|B|BOOL|NULL|M|L|SS|NS|BS):([\s\S]*)$/.exec(text);
  if (!match) return null;
  const parsed = parseText(match[1] as AttributeType, match[2] ?? '');
  return 'value' in parsed ? parsed.value : null;
}

const kMostSummary = 2048;

// One line of at most 2 KB for a cell. Nothing in it is markup.
export function summary(value: AttributeValue): string {
  return short(value, kMostSummary);
}

function short(value: AttributeValue, room: number): string {
  if ('S' in value) return cut(value.S, room);
  if ('N' in value) return value.N;
  if ('B' in value) {
    const bytes = base64Bytes(value.B);
    return `${cut(value.B, Math.min(room, 64))} (${bytes} ${bytes === 1 ? 'byte' : 'bytes'})`;
  }
  if ('BOOL' in value) return String(value.BOOL);
  if ('NULL' in value) return 'null';
  if ('M' in value) {
    const parts = [];
    let left = room;
    for (const name of Object.keys(value.M)) {
      if (left <= 0) break;
      const part = `${cut(name, 60)}: ${short(value.M[name] as AttributeValue, Math.min(left, 200))}`;
      parts.push(part);
      left -= part.length + 2;
    }
    return `{${parts.join(', ')}${left <= 0 ? ' …' : ''}}`;
  }
  const elements: AttributeValue[] =
    'L' in value
      ? value.L
      : 'SS' in value
        ? value.SS.map((S) => ({ S }))
        : 'NS' in value
          ? value.NS.map((N) => ({ N }))
          : value.BS.map((B) => ({ B }));
  const parts = [];
  let left = room;
  for (const element of elements) {
    if (left <= 0) break;
    const part = short(element, Math.min(left, 200));
    parts.push(part);
    left -= part.length + 2;
  }
  return `[${parts.join(', ')}${left <= 0 ? ' …' : ''}]`;
}

const cut = (text: string, room: number): string =>
  text.length <= room ? text : `${text.slice(0, Math.max(1, room))}…`;
