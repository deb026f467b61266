// The rows as item collections: one head for each partition key, its items below, each with the kind
// of thing that it is. Only the lines in view are in the document.
import { useMemo, useRef, useState } from 'preact/hooks';
import { collectionsOf, entityOf, restOf, sortText } from '../../model/collections.ts';
import { itemBytes } from '../../model/size.ts';
import { keyText, type TableDescription } from '../../model/table.ts';
import type { Item } from '../../model/value.ts';
import { bytes, plural } from '../../ui/format.ts';
import { useWindow } from '../../ui/window.ts';

export interface CollectionsProps {
  table: TableDescription;
  index: string | undefined;
  rows: readonly Item[];
  atEnd: boolean;
  open: string | null;
  onOpen: (item: Item) => void;
  onNearEnd: () => void;
}

const kLine = 34;

type Line =
  | { head: true; key: string; items: number; bytes: number }
  | { head: false; item: Item; key: string };

export function Collections(props: CollectionsProps) {
  const { table, index, rows, onOpen } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(1);
  const lines = useMemo(
    () =>
      collectionsOf(table, index, rows).flatMap((one): Line[] => [
        {
          head: true,
          key: one.key,
          items: one.rows.length,
          bytes: one.rows.reduce((sum, row) => sum + itemBytes(row), 0),
        },
        ...one.rows.map((item): Line => ({ head: false, item, key: one.key })),
      ]),
    [table, index, rows],
  );
  const kinds = useMemo(() => {
    const found = new Map<string, number>();
    for (const row of rows) {
      const entity = entityOf(table, index, row);
      if (entity !== null && !found.has(entity)) found.set(entity, found.size % 6);
    }
    return found;
  }, [table, index, rows]);
  const view = useWindow(scroller, lines.length, kLine);
  const asked = useRef(-1);
  if (!props.atEnd && view.last >= lines.length - 20 && asked.current !== rows.length) {
    asked.current = rows.length;
    if (view.first > 0) queueMicrotask(props.onNearEnd);
  }
  const current = Math.min(at, lines.length - 1);
  const move = (by: number) => {
    let to = current + by;
    if (lines[to]?.head) to += Math.sign(by);
    if (to < 1 || to >= lines.length) return;
    setAt(to);
    view.scrollTo(to);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const line = lines[current];
    if (event.key === 'ArrowDown' || event.key === 'j') move(1);
    else if (event.key === 'ArrowUp' || event.key === 'k') move(-1);
    else if (event.key === 'PageDown') move(20);
    else if (event.key === 'PageUp') move(-Math.min(20, current - 1));
    else if ((event.key === 'Enter' || event.key === 'e') && line && !line.head) onOpen(line.item);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={scroller}
      class={`rows collections ${kinds.size === 0 ? 'no-kinds' : ''}`}
      role="listbox"
      aria-label={`Item collections of ${table.TableName}`}
      aria-activedescendant={lines[current]?.head === false ? `collection-${current}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div style={{ height: `${view.height}px` }} role="presentation">
        {lines.slice(view.first, view.last).map((line, i) => {
          const row = view.first + i;
          const top = { top: `${view.offset + i * kLine}px`, height: `${kLine}px` };
          return line.head ? (
            <div key={row} class="rows-row collection-head" style={top} role="presentation">
              <strong class="cut">{line.key}</strong>
              <span class="muted small">
                {plural(line.items, 'item')} · {bytes(line.bytes)}
              </span>
            </div>
          ) : (
            <ItemLine
              key={row}
              id={`collection-${row}`}
              {...props}
              line={line}
              top={top}
              kinds={kinds}
              current={row === current}
              onOpen={() => {
                setAt(row);
                onOpen(line.item);
              }}
            />
          );
        })}
      </div>
    </div>
  );
}

interface ItemLineProps {
  id: string;
  table: TableDescription;
  index: string | undefined;
  line: Extract<Line, { head: false }>;
  top: { top: string; height: string };
  kinds: ReadonlyMap<string, number>;
  current: boolean;
  open: string | null;
  onOpen: () => void;
}

function ItemLine({ id, table, index, line, top, kinds, current, open, onOpen }: ItemLineProps) {
  const entity = entityOf(table, index, line.item);
  const sort = sortText(table, index, line.item);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the list's.
    <div
      id={id}
      class={`rows-row collection-item ${open === keyText(table, line.item) ? 'is-open' : ''}`}
      style={top}
      role="option"
      aria-selected={current}
      onClick={onOpen}
    >
      <span class="visually-hidden">{line.key}, </span>
      <span class={`entity ${entity === null ? '' : `entity-${kinds.get(entity) ?? 0}`}`}>
        {entity ?? ''}
      </span>
      <span class="cut">{sort}</span>
      <span class="cut muted small">{restOf(table, index, line.item)}</span>
    </div>
  );
}
