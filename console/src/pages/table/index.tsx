// One table: its name, what it is, and its tabs.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, isStopped } from '../../api/errors.ts';
import { describe } from '../../api/tables.ts';
import { Lazy } from '../../app/lazy.tsx';
import { kTabs } from '../../app/pages.ts';
import { href, route } from '../../app/router.ts';
import { tables } from '../../app/state.ts';
import type { TableDescription } from '../../model/table.ts';
import { bytes, count } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import { ErrorBox } from '../../ui/told.tsx';
import { tableActions } from '../tables/actions.ts';

export default function Table({ name }: { name: string }) {
  const row = tables.value.get(name);
  const [table, setTable] = useState<TableDescription | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [again, setAgain] = useState(0);
  // What others change about the table shows up in the pulse: then its description is read again.
  const version = useMemo(
    () =>
      row
        ? JSON.stringify([
            row.status,
            row.billing,
            row.provisioned,
            row.globalIndexes,
            row.stream,
            row.protected,
          ])
        : '',
    [row],
  );
  useEffect(() => {
    const abort = new AbortController();
    describe(name, abort.signal).then(
      (described) => {
        setTable(described);
        setError(null);
      },
      (failure) => {
        if (!isStopped(failure)) setError(failure);
      },
    );
    return () => abort.abort();
  }, [name, version, again]);
  const chosen = route.value.path[2] ?? 'items';
  const tab = kTabs.find((one) => one.id === chosen) ?? kTabs[0];
  // Where the tabs do not all fit, the one that is shown is in view.
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    tabs.current
      ?.querySelector('[aria-current]')
      ?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [tab]);
  const gone = error instanceof ApiError && error.type === 'ResourceNotFoundException';
  return (
    <>
      <header class="page-head table-head">
        <nav aria-label="Path" class="path">
          <a href={href(['tables'])}>Tables</a>
          <Icon name="right" />
        </nav>
        <h1 class="cut">{name}</h1>
        {row && row.status !== 'ACTIVE' && (
          <span class="badge warn">{row.status.toLowerCase()}</span>
        )}
        {row && (
          <span class="muted">
            {count(row.items)} {row.items === 1 ? 'item' : 'items'} · {bytes(row.bytes)} ·{' '}
            {row.provisioned
              ? `${count(row.provisioned.read)} read, ${count(row.provisioned.write)} write units`
              : 'on demand'}
          </span>
        )}
        {row && (
          <div class="row">
            <Menu label={`Actions for ${name}`} class="square" items={tableActions(row)} />
          </div>
        )}
      </header>
      <nav class="tabs" ref={tabs} aria-label={`Parts of ${name}`} onKeyDown={alongTabs}>
        {kTabs.map((one) => (
          <a
            key={one.id}
            href={href(['tables', name, one.id])}
            aria-current={one === tab ? 'page' : undefined}
          >
            {one.name}
          </a>
        ))}
      </nav>
      {gone ? (
        <div class="empty">
          <h2>There is no table {name}</h2>
          <p class="muted">It was deleted, or never was.</p>
          <a class="button" href={href(['tables'])}>
            All tables
          </a>
        </div>
      ) : error !== null && table === null ? (
        <ErrorBox error={error}>
          <button type="button" onClick={() => setAgain(again + 1)}>
            Try again
          </button>
        </ErrorBox>
      ) : table === null || !tab ? (
        <p class="loading">Asking the server…</p>
      ) : (
        <Lazy key={tab.id} load={tab.load} props={{ table }} />
      )}
    </>
  );
}

// Arrows lead along the tabs, Enter opens one.
function alongTabs(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  const all = [...event.currentTarget.querySelectorAll('a')];
  const at = all.indexOf(document.activeElement as HTMLAnchorElement);
  if (step === 0 || at < 0) return;
  event.preventDefault();
  all[(at + step + all.length) % all.length]?.focus();
}
