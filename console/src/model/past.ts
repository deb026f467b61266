// The past of a table: moments as people write them, the changes of an item, an undo page by page.
// Pure.
import { type Change, difference } from './difference.ts';
import { emptyItem, type Item } from './value.ts';

// ---- moments -----------------------------------------------------------------------------------

const kUnits: readonly [RegExp, number][] = [
  [/^(s|secs?|seconds?)$/, 1000],
  [/^(m|mins?|minutes?)$/, 60_000],
  [/^(h|hours?)$/, 3_600_000],
  [/^(d|days?)$/, 86_400_000],
];

// The milliseconds of a span such as "5 min" or "1 h 30 min"; null: it is none.
function spanOf(text: string): number | null {
  let sum = 0;
  const parts = /^(\d{1,6}(?:\.\d{1,3})?)\s*([a-z]+)\s*/;
  let rest = text;
  do {
    const match = parts.exec(rest);
    const unit = kUnits.find(([name]) => name.test(match?.[2] ?? ''));
    if (!match || !unit) return null;
    sum += Number(match[1]) * unit[1];
    rest = rest.slice(match[0].length);
  } while (rest !== '');
  return Math.round(sum);
}

// The moment that the text means, in milliseconds: "5 min ago", "14:03", "2026-11-26 14:03:00.123",
// all in UTC, or seconds or milliseconds since 1970. null: it means none.
export function parseMoment(text: string, now: number): number | null {
  const lower = text.trim().toLowerCase();
  if (lower === 'now') return Math.floor(now);
  if (/^\d{9,10}$/.test(lower)) return Number(lower) * 1000;
  if (/^\d{12,13}$/.test(lower)) return Number(lower);
  const span = spanOf(lower.replace(/\s+ago$/, ''));
  if (span !== null) return Math.floor(now) - span;
  const time = /^(\d{1,2}):(\d\d)(?::(\d\d(?:\.\d{1,3})?))?$/.exec(lower);
  if (time) {
    const [hour, minute, second] = [Number(time[1]), Number(time[2]), Number(time[3] ?? 0)];
    if (hour > 23 || minute > 59 || second >= 60) return null;
    const today = new Date(now).setUTCHours(0, 0, 0, 0);
    const at = today + hour * 3_600_000 + minute * 60_000 + Math.round(second * 1000);
    return at <= now ? at : at - 86_400_000;
  }
  const whole = /^(\d{4}-\d\d-\d\d)(?:[t ](\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?)?\s*(z|utc)?$/.exec(
    lower,
  );
  if (!whole) return null;
  const at = Date.parse(`${whole[1]}T${whole[2] ?? '00:00'}${whole[3] ?? ':00'}Z`);
  return Number.isNaN(at) ? null : at;
}

// As the server takes it, and as it stands in an address.
export const momentText = (at: number): string => new Date(at).toISOString();

// As a field has it: without milliseconds where there are none.
export const momentField = (at: number): string =>
  momentText(at)
    .replace('T', ' ')
    .replace(/(\.000)?Z$/, '');

// The same without the part of a second, for sentences.
export const secondText = (moment: string): string =>
  momentField(Math.floor(Date.parse(moment) / 1000) * 1000);

export const kWrongMoment = 'A time such as 14:03, 5 min ago or 2026-11-26 14:03:20';

export interface Kept {
  // Milliseconds.
  earliest: number | null;
  latest: number | null;
}

// Says why the table cannot be read as of the moment; null: it can, as far as the page knows.
// `latest` moves on while the page is open, so only what is not over yet is refused here.
export function wrongMoment(at: number | null, kept: Kept, now: number): string | null {
  if (at === null) return kWrongMoment;
  if (kept.earliest !== null && at < Math.floor(kept.earliest))
    return `Nothing before ${momentField(Math.ceil(kept.earliest))} is kept`;
  return at > now ? 'This moment is yet to come' : null;
}

// ---- changes -----------------------------------------------------------------------------------

// As the calls answer them; null: there was no item.
export interface WireChange {
  time: string;
  before: Item | null;
  after: Item | null;
  key?: Item;
}

export type Kind = 'created' | 'changed' | 'deleted';

export const kindOf = (change: WireChange): Kind =>
  change.before === null ? 'created' : change.after === null ? 'deleted' : 'changed';

export const changesOf = (before: Item | null, after: Item | null): Change[] =>
  difference(before ?? emptyItem(), after ?? emptyItem());

export type Counts = Record<Kind, number>;

export function countsOf(changes: readonly WireChange[]): Counts {
  const counts: Counts = { created: 0, changed: 0, deleted: 0 };
  for (const change of changes) ++counts[kindOf(change)];
  return counts;
}

// ---- history of one item -----------------------------------------------------------------------

export interface ChangesPage {
  from: string;
  to: string;
  changes: WireChange[];
  next: string | null;
}

export interface Range {
  from?: string | undefined;
  to?: string | undefined;
  start?: string | undefined;
  limit: number;
}

// Stretches of time that are asked for, from now backwards; then everything.
const kStretches = [3_600_000, 86_400_000];
const kEnough = 20;
const kMostOfStretch = 2000;

// The versions of an item, newest first. The server tells them oldest first, so stretches of time
// are read from the latest one back, until there are some to show.
export class History {
  // Newest first.
  readonly changes: WireChange[] = [];
  // Where what was read begins and ends; null: nothing was read yet.
  from: string | null = null;
  to: string | null = null;
  // Whether everything that is kept was read.
  complete = false;
  // Changes of a stretch that were left out, because there were too many.
  cut = false;
  private stretch = 0;

  constructor(
    private readonly ask: (range: Range) => Promise<ChangesPage>,
    private readonly kept: Kept,
  ) {}

  async more(): Promise<void> {
    const had = this.changes.length;
    while (!this.complete && this.changes.length - had < kEnough) await this.read();
  }

  private async read(): Promise<void> {
    const end = this.from === null ? this.kept.latest : Date.parse(this.from);
    const width = kStretches[this.stretch++];
    const begin = width === undefined || end === null ? null : end - width;
    const whole = begin === null || begin <= (this.kept.earliest ?? 0);
    const range: Range = {
      from: whole ? undefined : momentText(begin),
      to: this.from ?? undefined,
      limit: 500,
    };
    const found: WireChange[] = [];
    let page = await this.ask(range);
    found.push(...page.changes);
    const { from, to } = page;
    while (page.next !== null && found.length < kMostOfStretch) {
      page = await this.ask({ from, to, start: page.next, limit: range.limit });
      found.push(...page.changes);
    }
    this.cut ||= page.next !== null;
    this.changes.push(...found.reverse());
    this.from = from;
    this.to ??= to;
    this.complete = whole;
  }
}

// ---- undo --------------------------------------------------------------------------------------

export type Outcome = 'put' | 'delete' | 'already' | 'conflict' | 'failed';

export interface Undone {
  key: Item;
  outcome: Outcome;
  error?: string;
}

export interface UndoPage {
  from: string;
  to: string;
  applied: boolean;
  items: Undone[];
  next: string | null;
}

export interface UndoSums {
  counts: Record<Outcome, number>;
  // What a user has to look at: conflicts and failures; the first thousand.
  look: Undone[];
  // The first of the others.
  rest: Undone[];
  // Whether the whole range was gone through.
  complete: boolean;
}

const kMostListed = 1000;

export const emptySums = (): UndoSums => ({
  counts: { put: 0, delete: 0, already: 0, conflict: 0, failed: 0 },
  look: [],
  rest: [],
  complete: false,
});

export const itemsOf = (sums: UndoSums): number =>
  Object.values(sums.counts).reduce((sum, one) => sum + one, 0);

export function addPage(sums: UndoSums, page: UndoPage): UndoSums {
  const next: UndoSums = {
    counts: { ...sums.counts },
    look: [...sums.look],
    rest: [...sums.rest],
    complete: page.next === null,
  };
  for (const item of page.items) {
    ++next.counts[item.outcome];
    const list = item.outcome === 'conflict' || item.outcome === 'failed' ? next.look : next.rest;
    if (list.length < kMostListed) list.push(item);
  }
  return next;
}

// Goes through the range page by page. `report` hears what came of it so far; a page that does not
// come throws, and everything before it is done: the same undo, given again, finds it so.
export async function goThrough(
  ask: (start: string | undefined) => Promise<UndoPage>,
  report: (sums: UndoSums) => void,
): Promise<UndoSums> {
  let sums = emptySums();
  let start: string | undefined;
  do {
    const page = await ask(start);
    sums = addPage(sums, page);
    report(sums);
    start = page.next ?? undefined;
  } while (start !== undefined);
  return sums;
}
