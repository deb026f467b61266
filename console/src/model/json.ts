// JSON that loses nothing: numbers keep their text, objects keep names such as __proto__, and
// errors and values know where they stand. JSON.parse gives numbers as doubles, and its reviver's
// source text is not in every browser yet.

export type Json =
  | { kind: 'null' | 'true' | 'false'; at: number; end: number }
  | { kind: 'number'; text: string; at: number; end: number }
  | { kind: 'string'; text: string; at: number; end: number }
  | { kind: 'array'; elements: Json[]; at: number; end: number }
  | { kind: 'object'; members: Map<string, Json>; at: number; end: number };

export class JsonError extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

const kMostDepth = 200;

// The one value in `text`. Throws JsonError with the offset of what is wrong.
export function parseJson(text: string): Json {
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.blanks();
  if (reader.at < text.length) throw new JsonError('Nothing may follow the value', reader.at);
  return value;
}

class Reader {
  at = 0;
  constructor(readonly text: string) {}

  blanks(): void {
    while (/[ \t\n\r]/.test(this.text[this.at] ?? '')) ++this.at;
  }

  value(depth: number): Json {
    this.blanks();
    const at = this.at;
    if (depth > kMostDepth) throw new JsonError('This is nested too deeply', at);
    const c = this.text[at];
    if (c === undefined) throw new JsonError('A value is missing at the end', at);
    if (c === '"') return { kind: 'string', text: this.string(), at, end: this.at };
    if (c === '{') return this.object(depth);
    if (c === '[') return this.array(depth);
    for (const word of ['true', 'false', 'null'] as const) {
      if (this.text.startsWith(word, at)) {
        this.at += word.length;
        return { kind: word, at, end: this.at };
      }
    }
    const number = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
    number.lastIndex = at;
    const match = number.exec(this.text);
    if (!match) throw new JsonError(`${JSON.stringify(c)} does not begin a value`, at);
    this.at += match[0].length;
    if (/[\w.]/.test(this.text[this.at] ?? '')) throw new JsonError('This is not a number', at);
    return { kind: 'number', text: match[0], at, end: this.at };
  }

  private object(depth: number): Json {
    const at = this.at++;
    const members = new Map<string, Json>();
    this.blanks();
    if (this.text[this.at] === '}') {
      ++this.at;
      return { kind: 'object', members, at, end: this.at };
    }
    for (;;) {
      this.blanks();
      const nameAt = this.at;
      if (this.text[nameAt] !== '"') throw new JsonError('A name in quotes belongs here', nameAt);
      const name = this.string();
      if (members.has(name))
        throw new JsonError(`The name ${JSON.stringify(name)} stands here twice`, nameAt);
      this.blanks();
      if (this.text[this.at] !== ':') throw new JsonError('A colon belongs here', this.at);
      ++this.at;
      members.set(name, this.value(depth + 1));
      this.blanks();
      const c = this.text[this.at];
      if (c === ',') ++this.at;
      else if (c === '}') {
        ++this.at;
        return { kind: 'object', members, at, end: this.at };
      } else throw new JsonError('A comma or } belongs here', this.at);
    }
  }

  private array(depth: number): Json {
    const at = this.at++;
    const elements: Json[] = [];
    this.blanks();
    if (this.text[this.at] === ']') {
      ++this.at;
      return { kind: 'array', elements, at, end: this.at };
    }
    for (;;) {
      elements.push(this.value(depth + 1));
      this.blanks();
      const c = this.text[this.at];
      if (c === ',') ++this.at;
      else if (c === ']') {
        ++this.at;
        return { kind: 'array', elements, at, end: this.at };
      } else throw new JsonError('A comma or ] belongs here', this.at);
    }
  }

  private string(): string {
    const at = this.at;
    let end = at + 1;
    for (;;) {
      const c = this.text.charCodeAt(end);
      if (Number.isNaN(c)) throw new JsonError('This text does not end', at);
      if (c === 0x22) break;
      if (c < 0x20) throw new JsonError('A line break in a text is written \\n', end);
      end += c === 0x5c ? 2 : 1;
    }
    this.at = end + 1;
    const raw = this.text.slice(at, this.at);
    if (!raw.includes('\\')) return raw.slice(1, -1);
    try {
      return JSON.parse(raw) as string;
    } catch {
      throw new JsonError('This text has an escape that does not exist', at);
    }
  }
}

// Line and column, from 1, of an offset.
export function placeOf(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
}
