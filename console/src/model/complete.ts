// What may follow at a place of a PartiQL text: tables, their attributes (keys first), functions and
// words of the language. Names are quoted where the language wants it. Pure.

export interface KnownTable {
  name: string;
  // Keys first.
  attributes: readonly string[];
  keys: ReadonlySet<string>;
  indexes: readonly string[];
}

export interface Option {
  text: string;
  kind: 'table' | 'index' | 'key' | 'attribute' | 'function' | 'word';
}

export interface Completion {
  // The part of the text that an option replaces.
  from: number;
  to: number;
  options: Option[];
}

const kMost = 12;
const kFunctions = [
  'attribute_type(',
  'begins_with(',
  'contains(',
  'size(',
  'list_append(',
  'set_add(',
  'set_delete(',
];
const kWords: Record<string, readonly string[]> = {
  start: ['SELECT', 'INSERT INTO', 'UPDATE', 'DELETE FROM', 'EXISTS('],
  select: [
    'FROM',
    'WHERE',
    'AND',
    'OR',
    'NOT',
    'IN',
    'BETWEEN',
    'ORDER BY',
    'IS MISSING',
    'IS NULL',
  ],
  insert: ['VALUE', 'IF NOT EXISTS'],
  update: ['SET', 'REMOVE', 'WHERE', 'AND', 'OR', 'RETURNING ALL NEW *', 'RETURNING ALL OLD *'],
  delete: ['WHERE', 'AND', 'OR', 'RETURNING ALL OLD *'],
};
// Words that a name must be quoted for; quoting more of them than needed is harmless.
const kReserved = new Set(
  `select from where and or not in between order by is missing null insert into value update set
   remove delete returning all old new exists if as asc desc true false group having limit table index
   values user date time timestamp year month day hour key count size name type status state data
   case when then else end like join on using union distinct avg sum min max`.split(/\s+/),
);

const isPlain = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !kReserved.has(name.toLowerCase());

export const quotedName = (name: string, always = false): string =>
  !always && isPlain(name) ? name : `"${name.replaceAll('"', '""')}"`;

interface Around {
  // Where the statement of the caret begins.
  begin: number;
  // Whether the caret lies inside a text or comment.
  inside: boolean;
  // The quote that opens the name that the caret lies in; -1: it lies in none.
  open: number;
}

function around(text: string, caret: number): Around {
  let begin = 0;
  let open = -1;
  for (const match of text.matchAll(/--[^\n]*|"(?:[^"]|"")*"?|'(?:[^']|'')*'?|;/g)) {
    const end = match.index + match[0].length;
    if (match.index >= caret) break;
    if (match[0] === ';') begin = end;
    else if (match[0].startsWith('--') && end >= caret) return { begin, inside: true, open };
    else if (match[0].startsWith("'")) {
      const closed = match[0].length > 1 && match[0].endsWith("'");
      if (end > caret || (end === caret && !closed)) return { begin, inside: true, open };
    } else if (match[0].startsWith('"')) {
      const closed = match[0].length > 1 && match[0].endsWith('"');
      if (end > caret || (end === caret && !closed)) open = match.index;
    }
  }
  return { begin, inside: false, open };
}

// null: nothing is to be offered there.
export function completionAt(
  text: string,
  caret: number,
  tables: readonly KnownTable[],
): Completion | null {
  const { begin, inside, open } = around(text, caret);
  if (inside) return null;
  const before = text.slice(begin, caret);
  const token = open >= 0 ? text.slice(open, caret) : (/[\w-]*$/.exec(before)?.[0] ?? '');
  const from = caret - token.length;
  const typed = token.replace(/^"/, '').toLowerCase();
  const isQuoted = token.startsWith('"');
  const head = before.slice(0, before.length - token.length);
  const words = head.toLowerCase().match(/[a-z_]+|\S/g) ?? [];
  const last = words.at(-1) ?? '';
  const kind = ['select', 'insert', 'update', 'delete'].find((one) => one === words[0]) ?? 'start';
  const matching = (options: Option[]): Completion | null => {
    const found = options
      .filter((one) => one.text.replace(/^"/, '').toLowerCase().startsWith(typed))
      .filter((one) => one.text.toLowerCase() !== token.toLowerCase());
    if (found.length === 0 || (typed === '' && !isQuoted && head === '')) return null;
    return { from, to: caret, options: found.slice(0, kMost) };
  };
  // "table"."index"
  const table = tables.find(
    (one) => head.endsWith(`"${one.name}".`) || head.endsWith(`${one.name}.`),
  );
  if (table && table.indexes.length > 0)
    return matching(table.indexes.map((one) => ({ text: quotedName(one, true), kind: 'index' })));
  if (['from', 'into'].includes(last) || (last === 'update' && words.length === 1)) {
    return matching(
      tables.map((one) => ({
        text: quotedName(one.name, isQuoted || !isPlain(one.name)),
        kind: 'table',
      })),
    );
  }
  const used = tableOf(text.slice(begin), tables);
  const names = (used ? [used] : []).flatMap((one) =>
    one.attributes.map(
      (name): Option => ({
        text: quotedName(name, isQuoted),
        kind: one.keys.has(name) ? 'key' : 'attribute',
      }),
    ),
  );
  if (isQuoted) return matching(names);
  const language = (kWords[words.length === 0 ? 'start' : kind] ?? []).map(
    (one): Option => ({ text: one, kind: 'word' }),
  );
  if (words.length === 0) return matching(language);
  // Behind a word that wants a name, names come first; behind a value, words.
  const wantsName = /^(select|where|and|or|not|set|remove|by|,|\(|=|<|>|by)$/.test(last);
  const calls = kFunctions.map((one): Option => ({ text: one, kind: 'function' }));
  if (typed === '' && !wantsName) return null;
  return matching(
    wantsName ? [...names, ...calls, ...language] : [...language, ...names, ...calls],
  );
}

function tableOf(statement: string, tables: readonly KnownTable[]): KnownTable | undefined {
  const name = /\b(?:from|into|update)\s+(?:"([^"]+)"|([\w.-]+))/i.exec(statement);
  const wanted = name?.[1] ?? name?.[2];
  return tables.find((one) => one.name === wanted);
}

// The text with the option in place, and where the caret goes.
export function completed(
  text: string,
  completion: Completion,
  option: Option,
): { text: string; caret: number } {
  const space = option.kind === 'word' && !option.text.endsWith('(') ? ' ' : '';
  // A quote that closes the name may stand there already.
  const rest = text.slice(completion.to).replace(option.text.endsWith('"') ? /^"/ : /^$/, '');
  const put = option.text + (rest.startsWith(' ') ? '' : space);
  return { text: text.slice(0, completion.from) + put + rest, caret: completion.from + put.length };
}
