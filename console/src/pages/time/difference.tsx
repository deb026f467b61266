// The items that differ between two moments, page by page.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { differenceOf } from '../../api/past.ts';
import { href } from '../../app/router.ts';
import { type ChangesPage, countsOf, momentField, type WireChange } from '../../model/past.ts';
import { keyNames, keysOf, type TableDescription } from '../../model/table.ts';
import { tagged, textOfValue } from '../../model/text_value.ts';
import { type AttributeValue, type Item, member } from '../../model/value.ts';
import { ChangeRow } from '../../ui/change_row.tsx';
import { count, plural } from '../../ui/format.ts';
import { type KeptPast, PastError } from './kept.tsx';

interface Props {
  table: TableDescription;
  kept: KeptPast;
  from: string;
  // null: the latest moment that can be read.
  to: string | null;
  onEnd: (to: string) => void;
}

// Read on by itself up to here, so that the counts of a small difference are whole.
const kByItself = 500;
const kPage = 100;
const kMostKept = 10_000;

export function Difference({ table, kept, from, to, onEnd }: Props) {
  const name = table.TableName;
  const [changes, setChanges] = useState<readonly WireChange[]>([]);
  const [page, setPage] = useState<ChangesPage | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const abort = useRef(new AbortController());
  const more = async () => {
    setBusy(true);
    setError(null);
    try {
      let all = changes;
      let last = page;
      const had = all.length;
      do {
        last = await differenceOf(
          name,
          last === null
            ? { from, to: to ?? undefined, limit: kPage }
            : { from: last.from, to: last.to, start: last.next ?? undefined, limit: kPage },
          abort.current.signal,
        );
        all = [...all, ...last.changes];
        setChanges(all);
        setPage(last);
        onEnd(last.to);
      } while (last.next !== null && all.length - had < kByItself);
    } catch (failure) {
      if (!isStopped(failure)) setError(failure);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    void more();
    return () => abort.current.abort();
  }, []);
  const counts = useMemo(() => countsOf(changes), [changes]);
  // The server tells them by key.
  const newest = useMemo(
    () => [...changes].sort((a, b) => Date.parse(b.time) - Date.parse(a.time)),
    [changes],
  );
  const soFar = page !== null && page.next !== null;
  return (
    <section class="card" aria-labelledby="difference">
      <header>
        <h2 id="difference" aria-live="polite">
          {page === null
            ? 'The difference'
            : `${plural(changes.length, 'item')} ${changes.length === 1 ? 'differs' : 'differ'}${soFar ? ' so far' : ''}`}
        </h2>
      </header>
      <div class="card-body stack tight">
        {page && (
          <>
            <p class="muted">
              From {momentField(Date.parse(page.from))} to {momentField(Date.parse(page.to))} UTC
            </p>
            {changes.length > 0 && (
              <dl class="limit-facts">
                {(['created', 'changed', 'deleted'] as const).map((kind) => (
                  <div key={kind}>
                    <dt>{kind}</dt>
                    <dd>{count(counts[kind])}</dd>
                  </div>
                ))}
              </dl>
            )}
          </>
        )}
        {changes.length > 0 && (
          <ul class="versions" aria-label="Items that differ, newest first">
            {newest.map((one) => (
              <Row key={JSON.stringify(one.key)} table={table} change={one} />
            ))}
          </ul>
        )}
        {busy && <p class="loading">Reading the difference…</p>}
        {error !== null && <PastError table={name} kept={kept} error={error} />}
        {!busy && (soFar || error !== null) && changes.length < kMostKept && (
          <div class="row">
            <button type="button" onClick={() => void more()}>
              {error === null ? 'Read on' : 'Try again'}
            </button>
          </div>
        )}
        {changes.length >= kMostKept && (
          <p class="hint">This is where the page stops. `stator difference` goes on.</p>
        )}
      </div>
    </section>
  );
}

export const keyWords = (table: TableDescription, key: Item): string =>
  keyNames(keysOf(table))
    .map((name) => {
      const value = member(key, name);
      return value === undefined ? '–' : textOfValue(value);
    })
    .join(' · ');

// The address of the versions of an item.
export const historyAddress = (table: TableDescription, key: Item): string =>
  href(['tables', table.TableName, 'items'], {
    item: JSON.stringify(
      keyNames(keysOf(table)).map((name) => tagged(member(key, name) as AttributeValue)),
    ),
    panel: 'history',
  });

function Row({ table, change }: { table: TableDescription; change: WireChange }) {
  const key = change.key as Item;
  return (
    <ChangeRow change={change} about={<span class="cut">{keyWords(table, key)}</span>} quiet>
      <p>
        <a href={historyAddress(table, key)}>History of this item</a>
      </p>
    </ChangeRow>
  );
}
