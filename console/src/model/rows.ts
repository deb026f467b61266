// Rows that were read page by page, of which only some pages are held: a million rows take the
// memory of the last pages that were seen. A page that was dropped is read again by its start key.
import type { Item } from './value.ts';

export interface RowPage {
  // ExclusiveStartKey of the page; undefined: it is the first.
  readonly start: Item | undefined;
  readonly limit: number | undefined;
  first: number;
  count: number;
  // null: dropped.
  items: Item[] | null;
}

// Pages that are held. A page has 1 MB at most.
export const kMostHeldPages = 40;

export class Rows {
  private readonly pages: RowPage[] = [];
  private total = 0;

  get length(): number {
    return this.total;
  }

  // Adds a page at the end.
  add(start: Item | undefined, limit: number | undefined, items: Item[]): void {
    if (items.length === 0) return;
    this.pages.push({ start, limit, first: this.total, count: items.length, items });
    this.total += items.length;
    this.drop(this.total - 1, this.total);
  }

  // The item of a row; null: its page was dropped, or there is no such row.
  at(row: number): Item | null {
    const page = this.pageOf(row);
    return page?.items?.[row - page.first] ?? null;
  }

  slice(from: number, to: number): (Item | null)[] {
    const out: (Item | null)[] = [];
    for (let row = Math.max(0, from); row < Math.min(to, this.total); ++row) out.push(this.at(row));
    return out;
  }

  // The rows that are held, in order.
  held(): Item[] {
    return this.pages.flatMap((page) => page.items ?? []);
  }

  // Dropped pages with rows in [from, to).
  missing(from: number, to: number): RowPage[] {
    return this.pages.filter(
      (page) => page.items === null && page.first < to && page.first + page.count > from,
    );
  }

  // A dropped page was read again. It may have more or fewer rows than before.
  put(page: RowPage, items: Item[]): void {
    page.items = items;
    page.count = items.length;
    this.count();
    this.drop(page.first, page.first + page.count);
  }

  // Changes the row for which `is` holds, or removes it where `item` is null. Returns whether it is
  // held.
  replace(is: (item: Item) => boolean, item: Item | null): boolean {
    for (const page of this.pages) {
      const at = page.items?.findIndex(is) ?? -1;
      if (at < 0 || !page.items) continue;
      page.items = item ? page.items.with(at, item) : page.items.filter((_, i) => i !== at);
      page.count = page.items.length;
      this.count();
      return true;
    }
    return false;
  }

  // A row that this page wrote stands first until the rows are read again.
  addFirst(item: Item): void {
    const first = this.pages[0];
    if (first?.items && first.first === 0) {
      first.items = [item, ...first.items];
      first.count = first.items.length;
    } else
      this.pages.unshift({ start: undefined, limit: undefined, first: 0, count: 1, items: [item] });
    this.count();
  }

  remove(is: (item: Item) => boolean): void {
    for (const page of this.pages) {
      if (!page.items) continue;
      page.items = page.items.filter((item) => !is(item));
      page.count = page.items.length;
    }
    this.count();
  }

  private pageOf(row: number): RowPage | undefined {
    let low = 0;
    let high = this.pages.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const page = this.pages[middle] as RowPage;
      if (page.first + page.count <= row) low = middle + 1;
      else high = middle;
    }
    const page = this.pages[low];
    return page && page.first <= row ? page : undefined;
  }

  private count(): void {
    let first = 0;
    for (const page of this.pages) {
      page.first = first;
      first += page.count;
    }
    this.total = first;
  }

  // Drops the pages that are furthest from [from, to) above the number that is held.
  private drop(from: number, to: number): void {
    const held = this.pages.filter((page) => page.items !== null);
    const over = held.length - kMostHeldPages;
    if (over <= 0) return;
    const distance = (page: RowPage) =>
      page.first >= to ? page.first - to : Math.max(0, from - (page.first + page.count));
    held.sort((a, b) => distance(b) - distance(a));
    for (const page of held.slice(0, over)) page.items = null;
  }
}
