// Reads what the bar asks for, page by page, until there is enough to show, the budget is used up
// or the user stops it.
import { signal } from '@preact/signals';
import { dynamodb } from '../../api/dynamodb.ts';
import { isStopped } from '../../api/errors.ts';
import { unitsOf } from '../../api/log.ts';
import type { Plan } from '../../model/bar.ts';
import { Rows } from '../../model/rows.ts';
import { keyText, type TableDescription } from '../../model/table.ts';
import type { Item } from '../../model/value.ts';

export interface Reading {
  state: 'running' | 'paused' | 'end';
  // The same object all the time; `version` rises when it has changed.
  rows: Rows;
  version: number;
  // Items that the server looked at.
  read: number;
  pages: number;
  units: number;
  error: unknown;
}

// A step of reading ends with this many new rows, or when it has cost this much.
const kRows = 100;
const kUnits = 500;
// Rows of a request: few at first, more for a user who scrolls on.
const kFirstLimit = 100;
const kMostLimit = 2000;

interface Page {
  Item?: Item;
  Items?: Item[];
  Count?: number;
  ScannedCount?: number;
  LastEvaluatedKey?: Item;
}

export class Reader {
  readonly now = signal<Reading>({
    state: 'running',
    rows: new Rows(),
    version: 0,
    read: 0,
    pages: 0,
    units: 0,
    error: null,
  });
  private limit = kFirstLimit;
  private again: AbortController | null = null;
  private start: Item | undefined;
  private abort: AbortController | null = null;

  constructor(
    readonly table: TableDescription,
    readonly plan: Plan,
    // The moment that is read; undefined: now.
    readonly asOf?: string,
  ) {}

  // Reads on until there are some more rows. Does nothing while it is reading or at the end.
  async more(): Promise<void> {
    const { state, pages } = this.now.peek();
    if (this.abort !== null || state === 'end') return;
    if (state === 'running' && pages > 0) return;
    const abort = new AbortController();
    this.abort = abort;
    this.set({ state: 'running', error: null });
    const had = this.now.peek().rows.length;
    const spent = this.now.peek().units;
    try {
      do {
        await this.page(abort.signal);
      } while (
        this.start !== undefined &&
        this.now.peek().rows.length - had < kRows &&
        this.now.peek().units - spent < kUnits
      );
      this.limit = Math.min(kMostLimit, this.limit * 2);
      this.set({ state: this.start === undefined ? 'end' : 'paused' });
    } catch (error) {
      this.set({ state: 'paused', error: isStopped(error) ? null : error });
    } finally {
      this.abort = null;
    }
  }

  stop(): void {
    this.abort?.abort();
    this.again?.abort();
  }

  // Reads pages again that were dropped and have rows in [from, to).
  async reload(from: number, to: number): Promise<void> {
    if (this.again !== null) return;
    const abort = new AbortController();
    this.again = abort;
    const { rows } = this.now.peek();
    try {
      for (const page of rows.missing(from, to)) {
        const reply = await this.ask(page.start, page.limit, abort.signal);
        rows.put(page, reply.Items ?? []);
        this.count(reply);
      }
    } catch (error) {
      if (!isStopped(error)) this.set({ error });
    } finally {
      this.again = null;
    }
  }

  // The row of an item that was written or, without `item`, deleted by this page.
  replace(key: string, item: Item | null): void {
    const { rows } = this.now.peek();
    const held = rows.replace((one) => keyText(this.table, one) === key, item);
    if (!held && item) rows.addFirst(item);
    this.changed();
  }

  forget(keys: ReadonlySet<string>): void {
    this.now.peek().rows.remove((one) => keys.has(keyText(this.table, one)));
    this.changed();
  }

  private async page(abort: AbortSignal): Promise<void> {
    const { operation, input } = this.plan;
    const start = this.start;
    const limit =
      operation === 'GetItem' || input.FilterExpression !== undefined ? undefined : this.limit;
    const reply = await this.ask(start, limit, abort);
    const items = operation === 'GetItem' ? (reply.Item ? [reply.Item] : []) : (reply.Items ?? []);
    this.start = reply.LastEvaluatedKey;
    this.now.peek().rows.add(start, limit, items);
    this.set({
      read: this.now.peek().read + (reply.ScannedCount ?? items.length),
      pages: this.now.peek().pages + 1,
    });
    this.count(reply);
  }

  private ask(
    start: Item | undefined,
    limit: number | undefined,
    signal: AbortSignal,
  ): Promise<Page> {
    const { operation, input } = this.plan;
    const whole: Record<string, unknown> = { ...input, ReturnConsumedCapacity: 'TOTAL' };
    if (operation !== 'GetItem') {
      whole.ExclusiveStartKey = start;
      if (limit !== undefined) whole.Limit = limit;
    }
    return dynamodb<Page>(operation, whole, { signal, asOf: this.asOf });
  }

  private count(reply: Page): void {
    const units = this.now.peek().units + unitsOf(reply, this.plan.operation).read;
    this.set({ units });
    this.changed();
  }

  private changed(): void {
    this.set({ version: this.now.peek().version + 1 });
  }

  private set(changes: Partial<Reading>): void {
    this.now.value = { ...this.now.peek(), ...changes };
  }
}

// Everything that the plan finds, for exports and bulk jobs.
export async function* everything(
  plan: Plan,
  onPage: (read: number) => void = () => {},
  asOf?: string,
): AsyncGenerator<Item> {
  if (plan.operation === 'GetItem') {
    const { Item: item } = await dynamodb<Page>('GetItem', plan.input, {
      background: true,
      asOf,
    });
    if (item) yield item;
    return;
  }
  let start: Item | undefined;
  let read = 0;
  do {
    const page: Page = await dynamodb<Page>(
      plan.operation,
      { ...plan.input, ExclusiveStartKey: start },
      { background: true, asOf },
    );
    read += page.ScannedCount ?? 0;
    onPage(read);
    yield* page.Items ?? [];
    start = page.LastEvaluatedKey;
  } while (start);
}
