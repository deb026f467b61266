// What can be told of a PartiQL statement without running it: where it ends, which table it is for,
// how many parameters it has, whether it fixes the partition key. A lexer, no parser: the server is
// the one that decides.
import { keysOf, type TableDescription } from './table.ts';

type Token = { kind: 'word' | 'name' | 'text' | 'sign' | 'end'; text: string; at: number };

function* tokens(statement: string): Generator<Token> {
  const pattern =
    /\s+|--[^\n]*|"(?:[^"]|"")*"?|'(?:[^']|'')*'?|[\p{L}_$][\p{L}\p{N}_$]*|[\d.]+|<>|<=|>=|./gsu;
  for (const match of statement.matchAll(pattern)) {
    const text = match[0];
    const at = match.index;
    if (/^\s|^--/.test(text)) continue;
    if (text.startsWith('"')) yield { kind: 'name', text: unquote(text), at };
    else if (text.startsWith("'")) yield { kind: 'text', text, at };
    else if (text === ';') yield { kind: 'end', text, at };
    else if (/^[\p{L}_$]/u.test(text)) yield { kind: 'word', text, at };
    else yield { kind: 'sign', text, at };
  }
}

const unquote = (text: string): string =>
  text.slice(1, text.length > 1 && text.endsWith('"') ? -1 : undefined).replaceAll('""', '"');

// The statements that the text has, divided at semicolons, without blank ones.
export function statementsOf(text: string): string[] {
  const out: string[] = [];
  let begin = 0;
  for (const token of tokens(text)) {
    if (token.kind !== 'end') continue;
    out.push(text.slice(begin, token.at));
    begin = token.at + 1;
  }
  out.push(text.slice(begin));
  return out.map((one) => one.trim()).filter((one) => [...tokens(one)].length > 0);
}

export const parametersIn = (statement: string): number =>
  [...tokens(statement)].filter((one) => one.kind === 'sign' && one.text === '?').length;

export type StatementKind = 'select' | 'insert' | 'update' | 'delete' | 'other';

export interface StatementFacts {
  kind: StatementKind;
  table: string | null;
  index: string | null;
  // Attributes that WHERE compares with `=` or IN, outside OR.
  fixed: string[];
}

export function factsOf(statement: string): StatementFacts {
  const all = [...tokens(statement)];
  const word = (i: number) => (all[i]?.kind === 'word' ? all[i].text.toLowerCase() : '');
  const first = word(0);
  const kind: StatementKind = ['select', 'insert', 'update', 'delete'].includes(first)
    ? (first as StatementKind)
    : 'other';
  const before = { select: 'from', insert: 'into', update: 'update', delete: 'from', other: '' }[
    kind
  ];
  const at = all.findIndex((_, i) => before !== '' && word(i) === before);
  const isName = (i: number) => all[i]?.kind === 'name' || all[i]?.kind === 'word';
  const table = at >= 0 && isName(at + 1) ? (all[at + 1]?.text ?? null) : null;
  const index =
    table !== null && all[at + 2]?.text === '.' && isName(at + 3)
      ? (all[at + 3]?.text ?? null)
      : null;
  const where = all.findIndex((_, i) => word(i) === 'where');
  const fixed: string[] = [];
  if (where >= 0 && !all.slice(where).some((_, i) => word(where + i) === 'or')) {
    for (let i = where + 1; i < all.length; ++i) {
      const next = all[i + 1];
      if (!isName(i) || !next) continue;
      if (next.text === '=' || word(i + 1) === 'in') fixed.push(all[i]?.text ?? '');
    }
  }
  return { kind, table, index, fixed };
}

// Whether a SELECT has to read the whole table or index: its partition key is not given.
export function isScan(facts: StatementFacts, table: TableDescription): boolean {
  if (facts.kind !== 'select') return false;
  const keys = keysOf(table, facts.index ?? undefined);
  return !keys.partition.every((key) => facts.fixed.includes(key.name));
}

// The place that the server's message names, line:column:length, as offsets into the statement.
export function placeInError(
  message: string,
  statement: string,
): { from: number; to: number } | null {
  const match = /(\d+):(\d+)(?::(\d+))?/.exec(message);
  if (!match) return null;
  const lines = statement.split('\n');
  const line = Number(match[1]);
  if (line < 1 || line > lines.length) return null;
  const from =
    lines.slice(0, line - 1).reduce((all, one) => all + one.length + 1, 0) + Number(match[2]) - 1;
  if (from < 0 || from > statement.length) return null;
  return { from, to: Math.min(statement.length, from + Math.max(1, Number(match[3] ?? 1))) };
}
