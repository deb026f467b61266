// The items of a table: the bar says what to read, the grid shows it, the panel edits one.
import { signal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../app/keys.ts';
import { go, href, route, setQuery } from '../../app/router.ts';
import { boot, refresh, tables } from '../../app/state.ts';
import { type Bar, barFromQuery, barToQuery, planOf } from '../../model/bar.ts';
import type { Request } from '../../model/code/request.ts';
import { momentText } from '../../model/past.ts';
import { Rows } from '../../model/rows.ts';
import { keyNames, keyOf, keysOf, keyText, type TableDescription } from '../../model/table.ts';
import { tagged, untagged } from '../../model/text_value.ts';
import { printTyped } from '../../model/typed.ts';
import { type AttributeValue, type Item, itemOf } from '../../model/value.ts';
import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Choice } from '../../ui/field.tsx';
import { amount, count, plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import { ErrorBox } from '../../ui/told.tsx';
import { AsOf } from './as_of.tsx';
import { BarFields } from './bar_fields.tsx';
import { deleteMatching, deleteRows, exportRows, importFile } from './bulk_actions.ts';
import { Collections } from './collections.tsx';
import { Editor } from './editor.tsx';
import { Grid } from './grid.tsx';
import { HistoryPanel } from './history.tsx';
import { PastItem } from './past_item.tsx';
import { Reader, type Reading } from './reader.ts';

type View = 'grid' | 'collections' | 'json';

// Parameters of the address that are not of the bar.
const kOwn = ['item', 'view', 'panel', 'asof'] as const;

const kNoRows = new Rows();

// What the next new item begins with.
const duplicated = signal<Item | undefined>(undefined);

export default function Items({ table }: { table: TableDescription }) {
  const query = route.value.query;
  const applied = useMemo(() => {
    const own = new URLSearchParams(query);
    for (const name of [...kOwn, 'run']) own.delete(name);
    return own.toString();
  }, [query]);
  const [bar, setBar] = useState<Bar>(() => barFromQuery(query));
  const view: View =
    (['collections', 'json'] as const).find((one) => one === query.get('view')) ?? 'grid';
  const [selected, setSelected] = useState<ReadonlyMap<string, Item>>(new Map());
  const [showCode, setShowCode] = useState(false);
  const reader = useSignal<Reader | null>(null);
  const [round, setRound] = useState(0);
  const barElement = useRef<HTMLDivElement>(null);
  const plan = useMemo(() => planOf(bar, table), [bar, table]);
  // The moment that is read, in milliseconds; null: now.
  const at = momentFrom(query.get('asof'));
  const asOf = at === null ? undefined : momentText(at);
  const [choosing, setChoosing] = useState(false);

  // The address was changed, by a run or by going back: what it says is read.
  useEffect(() => {
    const wanted = barFromQuery(new URLSearchParams(applied));
    setBar(wanted);
    const next = planOf(wanted, table);
    setSelected(new Map());
    if (next.errors.size > 0) return;
    const made = new Reader(table, next, asOf);
    reader.value = made;
    void made.more();
    return () => made.stop();
  }, [applied, table, round, asOf]);

  const run = () => {
    const text = new URLSearchParams(barToQuery(bar).map(([name, value]) => [name, value]));
    if (text.toString() === applied) setRound(round + 1);
    else
      void go(
        href(
          ['tables', table.TableName, 'items'],
          [...barToQuery(bar), ...(asOf === undefined ? [] : [['asof', asOf] as const])],
        ),
      );
  };
  const readOnly = boot.value?.readOnly
    ? 'This console is read-only'
    : at !== null
      ? 'This is the past: go back to now to change items'
      : undefined;
  const openKey = keyFrom(table, query.get('item'));
  const isNew = query.get('item') === 'new';
  const open = (item: Item) => {
    const key = keyOf(table, item);
    if (key) setQuery({ item: JSON.stringify(Object.values(key).map(tagged)) }, false);
  };
  const create = () => {
    duplicated.value = undefined;
    setQuery({ item: 'new' }, false);
  };
  const close = () => {
    setQuery({ item: undefined, panel: undefined });
    requestAnimationFrame(() =>
      document.querySelector<HTMLElement>('.grid [tabindex="0"]')?.focus(),
    );
  };

  useKeys(
    {
      '/': () => barElement.current?.querySelector<HTMLElement>('[data-first]')?.focus(),
      n: () => readOnly === undefined && create(),
      r: () => setRound(round + 1),
      c: () => setShowCode(true),
      a: () => (at === null ? setChoosing(!choosing) : toNow()),
      'ctrl+enter': run,
    },
    {
      '/': 'Partition key',
      n: 'New item',
      r: 'Read again',
      c: 'Code',
      a: 'As of a moment, and back',
      'Ctrl Enter': 'Run',
    },
  );

  const toNow = () => {
    setChoosing(false);
    if (at !== null) setQuery({ asof: undefined }, false);
  };
  const written = (before: Item | null, after: Item | null) => {
    const old = before && keyText(table, keyOf(table, before) as Item);
    const next = after && keyText(table, keyOf(table, after) as Item);
    // What is written is of now.
    if (at === null && old !== null && old !== next) reader.peek()?.replace(old, null);
    if (at === null && after && next !== null) reader.peek()?.replace(next, after);
    // What was selected is deleted only as it was seen.
    if (old !== null && selected.has(old)) {
      const left = new Map(selected);
      left.delete(old);
      setSelected(left);
    }
    void refresh();
  };

  const now: Reading | null = reader.value?.now.value ?? null;
  const rows = now?.rows ?? kNoRows;
  const ranPlan = reader.value?.plan ?? plan;
  const request: Request = {
    service: 'DynamoDB',
    operation: ranPlan.operation,
    input: ranPlan.input as unknown as Record<string, unknown>,
    asOf: reader.value ? reader.value.asOf : asOf,
  };
  const chosen = [...selected.values()];
  const held = useMemo(() => (view === 'grid' ? [] : rows.held()), [view, rows, now?.version]);
  const total = tables.value.get(table.TableName)?.items ?? 0;

  return (
    <>
      {(choosing || at !== null) && (
        <AsOf
          table={table}
          at={at}
          onChange={(moment) => setQuery({ asof: momentText(moment) }, at !== null)}
          onClose={toNow}
        />
      )}
      <div ref={barElement}>
        <BarFields
          table={table}
          bar={bar}
          plan={plan}
          running={now?.state === 'running'}
          past={at !== null}
          onChange={setBar}
          onRun={run}
          onStop={() => reader.peek()?.stop()}
        />
      </div>
      {now?.error ? (
        <ErrorBox error={now.error}>
          <button type="button" onClick={() => void reader.peek()?.more()}>
            <Icon name="refresh" />
            Go on
          </button>
        </ErrorBox>
      ) : null}
      <div class="row">
        {chosen.length > 0 ? (
          <>
            <strong>{plural(chosen.length, 'item')} selected</strong>
            <button
              type="button"
              class="small"
              onClick={() => void exportRows(table, chosen, 'jsonl', asOf)}
            >
              <Icon name="download" />
              Export
            </button>
            <button
              type="button"
              class="small danger-text"
              disabled={readOnly !== undefined}
              title={readOnly}
              onClick={() =>
                void deleteRows(table, chosen).then((gone) => {
                  reader.peek()?.forget(gone);
                  setSelected(new Map());
                  void refresh();
                })
              }
            >
              <Icon name="trash" />
              Delete
            </button>
            <button type="button" class="small quiet" onClick={() => setSelected(new Map())}>
              Unselect
            </button>
          </>
        ) : (
          <Progress
            reading={now}
            filtered={ranPlan.input.FilterExpression !== undefined}
            onMore={() => void reader.peek()?.more()}
          />
        )}
        <span class="grow" />
        <Choice<View>
          legend="View of the items"
          hideLegend
          value={view}
          options={[
            { value: 'grid', label: 'Grid' },
            { value: 'collections', label: 'Collections' },
            { value: 'json', label: 'JSON' },
          ]}
          onChange={(chosen) => setQuery({ view: chosen === 'grid' ? undefined : chosen })}
        />
        {at === null && (
          <button
            type="button"
            class="quiet"
            aria-expanded={choosing}
            onClick={() => setChoosing(!choosing)}
          >
            <Icon name="clock" />
            As of…
          </button>
        )}
        <button type="button" class="quiet" onClick={() => setShowCode(true)}>
          <Icon name="code" />
          Code
        </button>
        <Menu
          label="More"
          class="square"
          items={[
            ...(['jsonl', 'csv', 'json'] as const).map((format) => ({
              label: `Export all that match, ${{ jsonl: 'DynamoDB JSON lines', csv: 'CSV', json: 'plain JSON' }[format]}`,
              icon: 'download' as const,
              run: () => void exportRows(table, ranPlan, format, asOf),
            })),
            {
              label: 'Import items…',
              icon: 'upload',
              disabled: readOnly,
              run: () => void importFile(table).then((did) => did && setRound(round + 1)),
            },
            null,
            {
              label: 'Delete all that match…',
              icon: 'trash',
              danger: true,
              disabled: readOnly,
              run: () =>
                void deleteMatching(table, ranPlan).then((did) => did && setRound(round + 1)),
            },
          ]}
        />
        <button
          type="button"
          class="primary"
          disabled={readOnly !== undefined}
          title={readOnly}
          onClick={create}
        >
          <Icon name="plus" />
          New item
        </button>
      </div>
      {now && now.state !== 'running' && rows.length === 0 && !now.error ? (
        <Nothing
          empty={total === 0 && now.read === 0}
          past={at !== null}
          reading={now}
          onMore={() => void reader.peek()?.more()}
          onNew={readOnly === undefined ? create : null}
        />
      ) : view === 'grid' ? (
        <Grid
          table={table}
          index={ranPlan.input.IndexName}
          rows={rows}
          version={now?.version ?? 0}
          atEnd={now?.state === 'end'}
          selected={selected}
          open={openKey ? keyText(table, openKey) : null}
          onSelect={setSelected}
          onOpen={open}
          onNearEnd={() => void reader.peek()?.more()}
          onMissing={(from, to) => void reader.peek()?.reload(from, to)}
        />
      ) : view === 'collections' ? (
        <Collections
          table={table}
          index={ranPlan.input.IndexName}
          rows={held}
          atEnd={now?.state === 'end'}
          open={openKey ? keyText(table, openKey) : null}
          onOpen={open}
          onNearEnd={() => void reader.peek()?.more()}
        />
      ) : (
        <JsonView rows={held} />
      )}
      {openKey && query.get('panel') === 'history' ? (
        <HistoryPanel
          key={query.get('item')}
          table={table}
          itemKey={openKey}
          asked={round}
          onClose={close}
          onWritten={written}
        />
      ) : openKey && at !== null ? (
        <PastItem
          key={query.get('item')}
          table={table}
          itemKey={openKey}
          at={at}
          onClose={close}
          onWritten={written}
        />
      ) : (
        at === null &&
        (isNew || openKey) && (
          <Editor
            key={query.get('item')}
            table={table}
            itemKey={isNew ? null : openKey}
            from={isNew ? duplicated.value : undefined}
            onClose={close}
            onDuplicate={(item) => {
              duplicated.value = item;
              setQuery({ item: 'new' }, false);
            }}
            onHistory={() => setQuery({ panel: 'history' }, false)}
            onWritten={written}
          />
        )
      )}
      {showCode && (
        <Dialog title={`${request.operation} as code`} wide onClose={() => setShowCode(false)}>
          <Code of={{ request, sort: keysOf(table, ranPlan.input.IndexName).sort[0]?.name }} />
        </Dialog>
      )}
    </>
  );
}

// The moment that stands in the address, or null.
function momentFrom(text: string | null): number | null {
  const at = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

// The key that stands in the address, or null.
function keyFrom(table: TableDescription, text: string | null): Item | null {
  if (text === null || text === 'new') return null;
  try {
    const values = (JSON.parse(text) as string[]).map(untagged);
    const names = keyNames(keysOf(table));
    if (values.length !== names.length || values.includes(null)) return null;
    return itemOf(names.map((name, i) => [name, values[i] as AttributeValue]));
  } catch {
    return null;
  }
}

function Progress({
  reading,
  filtered,
  onMore,
}: {
  reading: Reading | null;
  filtered: boolean;
  onMore: () => void;
}) {
  if (!reading) return null;
  const { rows, read, units, state } = reading;
  return (
    <>
      <span class="muted" aria-live="polite">
        {filtered
          ? `${count(read)} read, ${count(rows.length)} matched`
          : plural(rows.length, 'item')}
        {` · ${amount(units)} RCU`}
        {state === 'running' && ' · reading…'}
        {state === 'end' && ' · that is all'}
      </span>
      {state === 'paused' && (
        <button type="button" class="small" onClick={onMore}>
          {filtered ? 'Go on reading' : 'Read more'}
        </button>
      )}
    </>
  );
}

function Nothing({
  empty,
  past,
  reading,
  onMore,
  onNew,
}: {
  empty: boolean;
  past: boolean;
  reading: Reading;
  onMore: () => void;
  // null: the page may not.
  onNew: (() => void) | null;
}) {
  return (
    <div class="empty">
      <h2>{past ? 'No item matched then' : empty ? 'No items yet' : 'No item matches'}</h2>
      <p class="muted">
        {empty && !past
          ? 'Add one, import a file, or write from your program: Code has the request.'
          : `${plural(reading.read, 'item')} read for ${amount(reading.units)} read units.`}
      </p>
      <div class="row">
        {reading.state === 'paused' && (
          <button type="button" class="primary" onClick={onMore}>
            Go on reading
          </button>
        )}
        {onNew && (
          <button type="button" onClick={onNew}>
            <Icon name="plus" />
            New item
          </button>
        )}
      </div>
    </div>
  );
}

const kMostJson = 200;

function JsonView({ rows }: { rows: readonly Item[] }) {
  return (
    <div class="stack tight">
      {rows.length > kMostJson && (
        <p class="muted">The first {kMostJson} rows. Export has all of them.</p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it. */}
      <pre class="json-view" tabIndex={0} role="region" aria-label="Items as DynamoDB JSON">
        <code>{rows.slice(0, kMostJson).map(printTyped).join('\n')}</code>
      </pre>
    </div>
  );
}
