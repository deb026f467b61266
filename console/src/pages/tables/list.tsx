// All tables, with what they hold and do now. Thousands of them are windowed.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../app/keys.ts';
import { go, href, route, setQuery } from '../../app/router.ts';
import { store, stored } from '../../app/settings.ts';
import { boot, pulse, type TableRow, tables, watchClosely } from '../../app/state.ts';
import { amount, bytes, compact, count, percent, plural } from '../../ui/format.ts';
import { HeatBar } from '../../ui/heat_bar.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Strip } from '../../ui/strip.tsx';
import { useWindow } from '../../ui/window.ts';
import {
  heatSample,
  LoadButton,
  musicLabel,
  musicSample,
  noLoadBecause,
  SampleButton,
} from '../overview/first_steps.tsx';
import { tableActions } from './actions.ts';

type Sort = 'name' | 'items' | 'bytes' | 'heat' | 'consumed' | 'refused';

const kRow = 40;

export function TableList() {
  useEffect(watchClosely, []);
  const [favourites, setFavourites] = useState<string[]>(stored<string[]>('favourites', []));
  const [sort, setSort] = useState<Sort>(stored<Sort>('tables-sort', 'name'));
  const text = route.value.query.get('q') ?? '';
  const filter = useRef<HTMLInputElement>(null);
  useKeys(
    {
      '/': () => filter.current?.focus(),
      n: () => void go(href(['tables', 'new'])),
    },
    { '/': 'Filter', n: 'New', 'j k': 'Next and previous row', Enter: 'Open' },
  );
  const all = tables.value;
  const rows = useMemo(
    () => arrange([...all.values()], text, sort, favourites),
    [all, text, sort, favourites],
  );
  if (!pulse.value) return <p class="loading">Asking the server…</p>;
  return (
    <>
      <header class="page-head">
        <h1>Tables</h1>
        <span class="muted">{summaryOf(all.size, rows.length)}</span>
        <div class="row">
          <input
            ref={filter}
            type="search"
            aria-label="Filter tables"
            placeholder="Filter  /"
            value={text}
            onInput={(event) => setQuery({ q: event.currentTarget.value || undefined })}
          />
          <a class="button primary" href={href(['tables', 'new'])}>
            <Icon name="plus" />
            Create table
          </a>
          <Menu
            label="More"
            class="square"
            items={[
              {
                label: 'Import a table…',
                icon: 'upload',
                run: () => void go(href(['tables', 'import'])),
              },
              {
                label: musicLabel(),
                icon: 'download',
                disabled: boot.value?.readOnly ? 'This console is read-only' : undefined,
                run: () => void musicSample(),
              },
              ...(boot.value?.production
                ? []
                : [
                    {
                      label: 'Heat a sample table',
                      icon: 'play' as const,
                      disabled: noLoadBecause(),
                      run: () => void heatSample(),
                    },
                  ]),
              null,
              {
                label: 'Reset: delete all tables…',
                icon: 'trash',
                danger: true,
                disabled: boot.value?.readOnly ? 'This console is read-only' : undefined,
                run: () => void import('./actions.ts').then((module) => module.resetAll()),
              },
            ]}
          />
        </div>
      </header>
      {all.size === 0 ? (
        <NoTables />
      ) : (
        <Rows
          rows={rows}
          sort={sort}
          onSort={(chosen) => {
            setSort(chosen);
            store('tables-sort', chosen);
          }}
          favourites={favourites}
          onFavourite={(name) => {
            const next = favourites.includes(name)
              ? favourites.filter((one) => one !== name)
              : [...favourites, name];
            setFavourites(next);
            store('favourites', next);
          }}
        />
      )}
    </>
  );
}

const summaryOf = (all: number, shown: number): string =>
  shown === all ? plural(all, 'table') : `${shown} of ${plural(all, 'table')}`;

function NoTables() {
  return (
    <div class="empty">
      <h2>No tables yet</h2>
      <p class="muted">
        A table holds items; its partition key decides in which partition an item lies.
      </p>
      <div class="row">
        <a class="button primary" href={href(['tables', 'new'])}>
          <Icon name="plus" />
          Create a table
        </a>
        <SampleButton />
        <LoadButton />
      </div>
    </div>
  );
}

function arrange(rows: TableRow[], text: string, sort: Sort, favourites: string[]): TableRow[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter((row) => words.every((word) => row.name.toLowerCase().includes(word)));
  const value = (row: TableRow): number => {
    switch (sort) {
      case 'items':
        return row.items;
      case 'bytes':
        return row.bytes;
      case 'heat':
        return row.hottest?.heat ?? 0;
      case 'consumed':
        return row.consumed.read + row.consumed.write;
      case 'refused':
        return row.refused.read + row.refused.write;
      default:
        return 0;
    }
  };
  const starred = new Set(favourites);
  return found.sort(
    (a, b) =>
      Number(starred.has(b.name)) - Number(starred.has(a.name)) ||
      value(b) - value(a) ||
      (a.name < b.name ? -1 : 1),
  );
}

interface RowsProps {
  rows: TableRow[];
  sort: Sort;
  onSort: (sort: Sort) => void;
  favourites: string[];
  onFavourite: (name: string) => void;
}

function Rows({ rows, sort, onSort, favourites, onFavourite }: RowsProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const view = useWindow(scroller, rows.length, kRow, 34);
  const [current, setCurrent] = useState(0);
  const at = Math.min(current, rows.length - 1);
  const focusRow = (to: number) => {
    const row = Math.max(0, Math.min(rows.length - 1, to));
    setCurrent(row);
    view.scrollTo(row);
    requestAnimationFrame(() =>
      scroller.current?.querySelector<HTMLElement>(`[data-row="${row}"] a`)?.focus(),
    );
  };
  useKeys({ j: () => focusRow(at + 1), k: () => focusRow(at - 1) });
  const head = (id: Sort, label: string, number = false) => (
    <span
      role="columnheader"
      class={number ? 'num' : ''}
      aria-sort={sort === id ? (id === 'name' ? 'ascending' : 'descending') : undefined}
    >
      <button type="button" class="sort" onClick={() => onSort(id)}>
        {label}
        {sort === id && <Icon name={id === 'name' ? 'up' : 'down'} />}
      </button>
    </span>
  );
  return (
    <div
      class="rows table-rows"
      ref={scroller}
      role="table"
      aria-label="Tables"
      aria-rowcount={rows.length + 1}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it.
      tabIndex={0}
    >
      <div class="rows-head" role="row" aria-rowindex={1}>
        {head('name', 'Name')}
        <span role="columnheader">Billing</span>
        {head('items', 'Items', true)}
        {head('bytes', 'Size', true)}
        <span role="columnheader">Partitions</span>
        {head('heat', 'Hottest now')}
        {head('consumed', 'Units/s', true)}
        {head('refused', 'Beyond limits', true)}
        <span role="columnheader">Features</span>
        <span role="columnheader">
          <span class="visually-hidden">Actions</span>
        </span>
      </div>
      <div style={{ height: `${view.height}px` }} role="rowgroup">
        {rows.slice(view.first, view.last).map((row, i) => (
          <Row
            key={row.name}
            row={row}
            index={view.first + i}
            top={34 + view.offset + i * kRow}
            favourite={favourites.includes(row.name)}
            onFavourite={onFavourite}
          />
        ))}
      </div>
      {rows.length === 0 && <p class="pad muted">No table has such a name.</p>}
    </div>
  );
}

interface RowProps {
  row: TableRow;
  index: number;
  top: number;
  favourite: boolean;
  onFavourite: (name: string) => void;
}

function Row({ row, index, top, favourite, onFavourite }: RowProps) {
  const refused = row.refused.read + row.refused.write;
  return (
    <div
      class="rows-row"
      role="row"
      aria-rowindex={index + 2}
      data-row={index}
      style={{ top: `${top}px`, height: `${kRow}px` }}
    >
      <span role="cell" class="name-cell">
        <button
          type="button"
          class={`quiet square small star ${favourite ? 'on' : ''}`}
          aria-label={`Favourite: ${row.name}`}
          aria-pressed={favourite}
          onClick={() => onFavourite(row.name)}
        >
          <Icon name="star" />
        </button>
        <a class="cut" href={href(['tables', row.name, 'items'])}>
          {row.name}
        </a>
        {row.status !== 'ACTIVE' && <span class="badge warn">{row.status.toLowerCase()}</span>}
      </span>
      <span role="cell" class="muted">
        {row.provisioned
          ? `${count(row.provisioned.read)} / ${count(row.provisioned.write)}`
          : 'on demand'}
      </span>
      <span role="cell" class="num">
        {compact(row.items)}
      </span>
      <span role="cell" class="num">
        {bytes(row.bytes)}
      </span>
      <span role="cell">
        {row.strip ? (
          <Strip parts={row.strip} label={plural(row.partitions, 'partition')} />
        ) : (
          plural(row.partitions, 'partition')
        )}
      </span>
      <span role="cell">
        {row.hottest && row.hottest.heat >= 0.001 ? (
          <a
            class="plain-link"
            href={href(['tables', row.name, 'heat'])}
            aria-label={`${percent(row.hottest.heat)} heat of ${row.name}`}
          >
            <HeatBar heat={row.hottest.heat} />
          </a>
        ) : (
          <span class="muted">cool</span>
        )}
      </span>
      <span role="cell" class="num">
        {amount(row.consumed.read + row.consumed.write)}
      </span>
      <span role="cell" class={`num ${refused > 0 ? 'bad-text' : 'muted'}`}>
        {amount(refused)}
      </span>
      <span role="cell" class="marks">
        {row.globalIndexes + row.localIndexes > 0 && (
          <span class="badge" title="Secondary indexes">
            {plural(row.globalIndexes + row.localIndexes, 'index', 'indexes')}
          </span>
        )}
        {row.stream && <span class="badge">stream</span>}
        {row.ttl && (
          <span class="badge" title={`Time to live by ${row.ttl}`}>
            TTL
          </span>
        )}
        {row.protected && <span class="badge">protected</span>}
      </span>
      <span role="cell">
        <Menu label={`Actions for ${row.name}`} items={tableActions(row)} />
      </span>
    </div>
  );
}
