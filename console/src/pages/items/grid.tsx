// The rows that were read: keys first, then the attributes that were seen. Only the rows in view
// are in the document.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../app/keys.ts';
import type { Rows } from '../../model/rows.ts';
import { keyNames, keysOf, keyText, type TableDescription } from '../../model/table.ts';
import { summary } from '../../model/text_value.ts';
import { type Item, member, typeOf } from '../../model/value.ts';
import { useWindow } from '../../ui/window.ts';

export interface GridProps {
  table: TableDescription;
  index: string | undefined;
  rows: Rows;
  // Rises when the rows have changed.
  version: number;
  atEnd: boolean;
  // By the text of the key.
  selected: ReadonlyMap<string, Item>;
  open: string | null;
  onSelect: (items: ReadonlyMap<string, Item>) => void;
  onOpen: (item: Item) => void;
  onNearEnd: () => void;
  // Rows in view were dropped.
  onMissing: (from: number, to: number) => void;
}

const kRow = 34;
const kHead = 34;
const kMostColumns = 60;

// Key attributes first, then others by how often they were seen.
export function columnsOf(
  table: TableDescription,
  index: string | undefined,
  rows: readonly Item[],
): string[] {
  const keys = [
    ...new Set([...keyNames(keysOf(table)), ...(index ? keyNames(keysOf(table, index)) : [])]),
  ];
  const seen = new Map<string, number>();
  for (const row of rows.slice(0, 2000))
    for (const name of Object.keys(row)) seen.set(name, (seen.get(name) ?? 0) + 1);
  const others = [...seen]
    .filter(([name]) => !keys.includes(name))
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .map(([name]) => name);
  return [...keys, ...others].slice(0, kMostColumns);
}

export function Grid(props: GridProps) {
  const { table, index, rows, selected, onSelect, onOpen } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const view = useWindow(scroller, rows.length, kRow, kHead);
  const [at, setAt] = useState<[number, number]>([0, 0]);
  const columns = useMemo(
    () => columnsOf(table, index, rows.held()),
    [table, index, rows, props.version],
  );
  const keys = useMemo(() => new Set(keyNames(keysOf(table))), [table]);
  const current = Math.max(0, Math.min(at[0], rows.length - 1));
  const nearEnd = !props.atEnd && view.last >= rows.length - 20 && rows.length > 0;
  const asked = useRef(-1);
  if (nearEnd && asked.current !== rows.length && view.first > 0) {
    asked.current = rows.length;
    queueMicrotask(props.onNearEnd);
  }

  const moveTo = (row: number, column: number) => {
    const r = Math.max(0, Math.min(rows.length - 1, row));
    const c = Math.max(0, Math.min(columns.length, column));
    setAt([r, c]);
    view.scrollTo(r);
    requestAnimationFrame(() => {
      const cell = scroller.current?.querySelector<HTMLElement>(`[data-cell="${r}.${c}"]`);
      cell?.focus({ preventScroll: false });
    });
  };
  const toggle = (row: number) => {
    const item = rows.at(row);
    if (!item) return;
    const key = keyText(table, item);
    const next = new Map(selected);
    if (!next.delete(key)) next.set(key, item);
    onSelect(next);
  };
  useKeys(
    {
      j: () => moveTo(current + 1, at[1]),
      k: () => moveTo(current - 1, at[1]),
      x: () => toggle(current),
      e: () => {
        const item = rows.at(current);
        if (item) onOpen(item);
      },
    },
    { 'j k': 'Next and previous row', Enter: 'Open', e: 'Edit', x: 'Select the row' },
  );
  const onKeyDown = (event: KeyboardEvent) => {
    const [row, column] = [current, at[1]];
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 600) / kRow) - 2);
    if (event.key === 'ArrowDown') moveTo(row + 1, column);
    else if (event.key === 'ArrowUp') moveTo(row - 1, column);
    else if (event.key === 'ArrowRight') moveTo(row, column + 1);
    else if (event.key === 'ArrowLeft') moveTo(row, column - 1);
    else if (event.key === 'PageDown') moveTo(row + page, column);
    else if (event.key === 'PageUp') moveTo(row - page, column);
    else if (event.key === 'Home') moveTo(event.ctrlKey ? 0 : row, 0);
    else if (event.key === 'End')
      moveTo(event.ctrlKey ? rows.length - 1 : row, event.ctrlKey ? column : columns.length);
    else if (event.key === 'Enter' && at[1] > 0) {
      const item = rows.at(row);
      if (item) onOpen(item);
    } else if (event.key === ' ' && at[1] === 0) toggle(row);
    else return;
    event.preventDefault();
  };

  const template = `40px ${columns.map((name) => (keys.has(name) ? '200px' : '170px')).join(' ')}`;
  const all = rows.length > 0 && selected.size >= rows.length;
  const seen = rows.slice(view.first, view.last);
  useEffect(() => {
    if (seen.includes(null)) props.onMissing(view.first, view.last);
  });
  return (
    <div
      class="rows grid"
      ref={scroller}
      role="grid"
      aria-label={`Items of ${table.TableName}`}
      aria-rowcount={props.atEnd ? rows.length + 1 : -1}
      aria-colcount={columns.length + 1}
      aria-multiselectable="true"
      onKeyDown={onKeyDown}
    >
      <div class="rows-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
        <span role="columnheader">
          <input
            type="checkbox"
            aria-label="Select all rows that were read"
            checked={all}
            onChange={() =>
              onSelect(new Map(all ? [] : rows.held().map((row) => [keyText(table, row), row])))
            }
          />
        </span>
        {columns.map((name) => (
          <span role="columnheader" class={keys.has(name) ? 'key-head cut' : 'cut'} key={name}>
            {name}
          </span>
        ))}
      </div>
      <div role="rowgroup" style={{ height: `${view.height}px` }}>
        {seen.map((item, i) => {
          const row = view.first + i;
          const place = {
            top: `${kHead + view.offset + i * kRow}px`,
            height: `${kRow}px`,
            gridTemplateColumns: template,
          };
          if (!item) {
            return (
              <div key={row} class="rows-row" role="row" aria-rowindex={row + 2} style={place}>
                <span role="gridcell" class="muted">
                  …
                </span>
              </div>
            );
          }
          const key = keyText(table, item);
          const tab = (column: number) => (row === current && column === at[1] ? 0 : -1);
          return (
            <div
              key={`${row} ${key}`}
              class={`rows-row ${props.open === key ? 'is-open' : ''}`}
              role="row"
              aria-rowindex={row + 2}
              aria-selected={selected.has(key)}
              style={place}
            >
              <span role="gridcell">
                <input
                  type="checkbox"
                  aria-label={`Select row ${row + 1}`}
                  tabIndex={tab(0)}
                  data-cell={`${row}.0`}
                  checked={selected.has(key)}
                  onFocus={() => setAt([row, 0])}
                  onChange={() => toggle(row)}
                />
              </span>
              {columns.map((name, c) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys.
                <span
                  key={name}
                  role="gridcell"
                  class="cell cut"
                  tabIndex={tab(c + 1)}
                  data-cell={`${row}.${c + 1}`}
                  onFocus={() => setAt([row, c + 1])}
                  onClick={() => onOpen(item)}
                >
                  <Cell item={item} name={name} />
                </span>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function Cell({ item, name }: { item: Item; name: string }) {
  const value = member(item, name);
  if (!value) return null;
  const type = typeOf(value);
  return (
    <>
      {type !== 'S' && type !== 'N' && (
        <span class="type" aria-hidden="true">
          {type}
        </span>
      )}
      <span class={type === 'N' ? 'mono' : type === 'NULL' ? 'muted' : undefined}>
        {summary(value)}
      </span>
    </>
  );
}
