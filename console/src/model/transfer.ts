// Items as files and back. A file says that it is complete or where it stopped; nothing is cut
// silently.
//
//   jsonl   {"Item": {...}} a line, DynamoDB JSON: exact, what --init loads
//   csv     a column for each attribute, `name:TYPE` at its head, and a last column `*` with
//           DynamoDB JSON of what fits no column: exact too. A cell without quotes is absent,
//           "" is an empty text
//   json    plain JSON for reading: loses types, and says which
import { bytesOf } from './binary.ts';
import { JsonError, parseJson } from './json.ts';
import { plain } from './plain.ts';
import type { TableDescription } from './table.ts';
import { keyNames, keysOf } from './table.ts';
import { parseText, textOfValue } from './text_value.ts';
import { readTyped, valueFrom } from './typed.ts';
import {
  type AttributeType,
  type AttributeValue,
  emptyItem,
  type Item,
  member,
  typeOf,
} from './value.ts';

export type Format = 'jsonl' | 'csv' | 'json';

export const kFormats: Record<Format, { name: string; suffix: string; type: string }> = {
  jsonl: { name: 'DynamoDB JSON lines', suffix: 'items.jsonl', type: 'application/x-ndjson' },
  csv: { name: 'CSV', suffix: 'csv', type: 'text/csv' },
  json: { name: 'Plain JSON', suffix: 'json', type: 'application/json' },
};

export interface Column {
  name: string;
  type: AttributeType;
}

// The end of an export that did not come to its end.
export interface Stop {
  reason: string;
  // Key of the last item in the file; absent: there is none.
  after?: Item;
}

export interface ExportOptions {
  table: string;
  // Only with csv.
  columns?: readonly Column[];
}

export class Exporter {
  items = 0;
  // Only with json: the types that plain JSON cannot tell.
  readonly lost = new Set<AttributeType>();

  constructor(
    readonly format: Format,
    readonly options: ExportOptions,
  ) {}

  head(): string {
    if (this.format === 'jsonl') return '';
    if (this.format === 'json')
      return `{"table": ${JSON.stringify(this.options.table)}, "items": [`;
    const names = this.columns().map(({ name, type }) => quoteCell(`${name}:${type}`));
    return `${[...names, '*'].join(',')}\r\n`;
  }

  item(item: Item): string {
    const first = this.items++ === 0;
    if (this.format === 'jsonl') return `${JSON.stringify({ Item: item })}\n`;
    if (this.format === 'csv') return this.row(item);
    for (const name of Object.keys(item)) this.note(item[name] as AttributeValue);
    return `${first ? '' : ','}\n${plain({ M: item }).replaceAll(/\n\s*/g, ' ')}`;
  }

  tail(stop: Stop | null): string {
    if (this.format === 'jsonl') return stop ? `${JSON.stringify({ Stopped: stop })}\n` : '';
    if (this.format === 'csv')
      return stop ? `${quoteCell(`# stopped: ${JSON.stringify(stop)}`)}\r\n` : '';
    const end = { complete: stop === null, stopped: stop ?? undefined, typesLost: [...this.lost] };
    return `\n], ${JSON.stringify(end).slice(1)}\n`;
  }

  private columns(): readonly Column[] {
    return this.options.columns ?? [];
  }

  private row(item: Item): string {
    const rest = emptyItem();
    for (const name of Object.keys(item)) rest[name] = item[name] as AttributeValue;
    const cells = this.columns().map(({ name, type }) => {
      const value = member(item, name);
      if (value === undefined || typeOf(value) !== type) return '';
      delete rest[name];
      return quoteCell(textOfValue(value));
    });
    const others = Object.keys(rest).length > 0 ? quoteCell(JSON.stringify(rest)) : '';
    return `${[...cells, others].join(',')}\r\n`;
  }

  private note(value: AttributeValue): void {
    const type = typeOf(value);
    if (type === 'B' || type === 'SS' || type === 'NS' || type === 'BS') this.lost.add(type);
    if ('M' in value) for (const one of Object.values(value.M)) this.note(one);
    if ('L' in value) for (const one of value.L) this.note(one);
  }
}

const quoteCell = (text: string): string => `"${text.replaceAll('"', '""')}"`;

// The whole export as pieces of text. Throws what the source throws: the caller decides how to end.
export async function* exportItems(
  format: Format,
  source: AsyncIterable<Item> | Iterable<Item>,
  options: ExportOptions,
): AsyncGenerator<{ text: string; items: number }> {
  const exporter = new Exporter(format, options);
  let text = exporter.head();
  for await (const item of source) {
    text += exporter.item(item);
    if (text.length < 256 * 1024) continue;
    yield { text, items: exporter.items };
    text = '';
  }
  text += exporter.tail(null);
  if (text !== '') yield { text, items: exporter.items };
}

// A line of a file that is not an item.
export interface LineError {
  line: number;
  message: string;
}

export type Line = { line: number; item: Item } | { line: number; error: string };

// Reads items of any of the formats. What is wrong with a line is told with its number; a file that
// says that it stopped is told by `stopped`.
export class Importer {
  stopped: string | null = null;
  private columns: (Column | { name: string; type: null } | '*')[] | null = null;

  constructor(
    readonly format: 'jsonl' | 'csv',
    readonly table: TableDescription,
  ) {}

  async *items(lines: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Line> {
    const source = this.format === 'csv' ? csvRecords(lines) : numbered(lines);
    for await (const { line, text, cells } of source) {
      if (text.trim() === '') continue;
      try {
        const item = cells ? this.fromCells(cells, text) : this.fromLine(text);
        if (item) yield { line, item: this.checked(item) };
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        yield { line, error: message };
      }
    }
  }

  private fromLine(text: string): Item | null {
    const json = parseJson(text);
    if (json.kind !== 'object') throw new JsonError('A line is an object {...}', json.at);
    const stopped = json.members.get('Stopped');
    if (stopped && json.members.size === 1) {
      this.stopped = text;
      return null;
    }
    const inner = json.members.get('Item');
    const source = inner && json.members.size === 1 ? text.slice(inner.at, inner.end) : text;
    try {
      return readTyped(source);
    } catch (error) {
      throw new Error(
        `${(error as Error).message} (an item is DynamoDB JSON: {"name": {"S": "text"}})`,
      );
    }
  }

  private fromCells(cells: Cell[], text: string): Item | null {
    if (this.columns === null) {
      this.columns = cells.map((cell) => {
        if (cell.text === '*') return '*';
        const match = /^(.*):(S|N|B|BOOL|NULL|M|L|SS|NS|BS)$/.exec(cell.text);
        if (match) return { name: match[1] as string, type: match[2] as AttributeType };
        return { name: cell.text, type: null };
      });
      return null;
    }
    if (cells.length === 1 && cells[0]?.text.startsWith('# stopped: ')) {
      this.stopped = cells[0].text;
      return null;
    }
    if (cells.length > this.columns.length)
      throw new Error(`${cells.length} cells, but ${this.columns.length} columns`);
    const item = emptyItem();
    cells.forEach((cell, i) => {
      const column = this.columns?.[i];
      if (column === undefined || (cell.text === '' && !cell.quoted)) return;
      if (column === '*') Object.assign(item, readTyped(cell.text));
      else item[column.name] = this.cellValue(column.name, column.type, cell);
    });
    if (Object.keys(item).length === 0) throw new Error(`An empty row: ${text.slice(0, 60)}`);
    return item;
  }

  // Columns without a type: keys by the table, else text.
  private cellValue(name: string, type: AttributeType | null, cell: Cell): AttributeValue {
    const defined = this.table.AttributeDefinitions.find((one) => one.AttributeName === name);
    const wanted = type ?? defined?.AttributeType ?? 'S';
    const parsed = parseText(wanted, cell.text);
    if ('error' in parsed) throw new Error(`${name}: ${parsed.error}`);
    return parsed.value;
  }

  // The item, if it has the table's key in the right types.
  private checked(item: Item): Item {
    const keys = keysOf(this.table);
    for (const key of [...keys.partition, ...keys.sort]) {
      const value = member(item, key.name);
      if (value === undefined) throw new Error(`The key attribute ${key.name} is missing`);
      if (typeOf(value) !== key.type)
        throw new Error(
          `The key attribute ${key.name} is ${typeOf(value)}, and has to be ${key.type}`,
        );
      if (Object.values(value)[0] === '') throw new Error(`The key attribute ${key.name} is empty`);
    }
    return item;
  }
}

// The format that a file seems to have.
export const formatOf = (name: string): 'jsonl' | 'csv' =>
  /\.(csv|tsv)$/i.test(name) ? 'csv' : 'jsonl';

interface Cell {
  text: string;
  quoted: boolean;
}

interface Numbered {
  line: number;
  text: string;
  cells: Cell[] | null;
}

async function* numbered(
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Numbered> {
  let line = 0;
  for await (const text of lines) yield { line: ++line, text, cells: null };
}

// RFC 4180: cells in quotes may hold commas, quotes (doubled) and line breaks.
async function* csvRecords(
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<Numbered> {
  let line = 0;
  let begun = 0;
  let text = '';
  for await (const next of lines) {
    ++line;
    if (text === '') begun = line;
    text += (text === '' ? '' : '\n') + next;
    // An odd number of quotes: the record goes on in the next line.
    if ((text.split('"').length - 1) % 2 === 1) continue;
    const whole = text.replace(/\r$/, '');
    text = '';
    yield { line: begun, text: whole, cells: cellsOf(whole) };
  }
  if (text !== '') yield { line: begun, text, cells: cellsOf(text) };
}

export function cellsOf(record: string): Cell[] {
  const cells: Cell[] = [];
  let at = 0;
  for (;;) {
    if (record[at] === '"') {
      let end = at + 1;
      while (end < record.length) {
        if (record[end] === '"' && record[end + 1] === '"') end += 2;
        else if (record[end] === '"') break;
        else ++end;
      }
      cells.push({ text: record.slice(at + 1, end).replaceAll('""', '"'), quoted: true });
      at = end + 1;
    } else {
      const comma = record.indexOf(',', at);
      const end = comma < 0 ? record.length : comma;
      cells.push({ text: record.slice(at, end), quoted: false });
      at = end;
    }
    if (record[at] !== ',') return cells;
    ++at;
  }
}

// Values of plain JSON lines, for imports of files that no DynamoDB tool made.
export function looksTyped(text: string): boolean {
  try {
    const json = parseJson(text);
    if (json.kind !== 'object') return false;
    const inner = json.members.get('Item') ?? json;
    return (
      inner.kind === 'object' &&
      [...inner.members.values()].every((one) => {
        try {
          valueFrom(one);
          return true;
        } catch {
          return false;
        }
      })
    );
  } catch {
    return false;
  }
}

export const isBase64 = (text: string): boolean => bytesOf(text) !== null;
export const primaryKeyNames = (table: TableDescription): string[] => keyNames(keysOf(table));
