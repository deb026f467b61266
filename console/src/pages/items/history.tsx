// The versions of one item: when, what changed, as it was, and the way back.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { historyOf } from '../../api/past.ts';
import { useKeys } from '../../app/keys.ts';
import { href, setQuery } from '../../app/router.ts';
import { boot, serverNow } from '../../app/state.ts';
import { History, kindOf, momentText, secondText, type WireChange } from '../../model/past.ts';
import type { TableDescription } from '../../model/table.ts';
import { textOfValue } from '../../model/text_value.ts';
import type { AttributeValue, Item } from '../../model/value.ts';
import { ChangeRow } from '../../ui/change_row.tsx';
import { relative } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { isKept, NotKept, PastError, useKept } from '../time/kept.tsx';
import { BringBack } from './bring_back.tsx';
import { ItemText } from './past_item.tsx';

export interface HistoryProps {
  table: TableDescription;
  itemKey: Item;
  // Another number: everything is read again.
  asked: number;
  onClose: () => void;
  onWritten: (before: Item | null, after: Item | null) => void;
}

interface Back {
  wanted: Item | null;
  at: number;
}

export function HistoryPanel({ table, itemKey, asked, onClose, onWritten }: HistoryProps) {
  const name = table.TableName;
  const kept = useKept(name);
  const ready = isKept(kept);
  const [round, setRound] = useState(0);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [bringing, setBringing] = useState<Back | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const abort = useRef(new AbortController());
  const history = useMemo(
    () =>
      ready
        ? new History(
            (range) => historyOf(name, itemKey, range, abort.current.signal),
            kept.known ?? { earliest: null, latest: null },
          )
        : null,
    [ready, round, asked],
  );
  // What was written here can be read as history only a little later: it is read again then.
  const [written, setWritten] = useState<number | null>(null);
  const latest = kept.known?.latest ?? null;
  useEffect(() => {
    if (written === null || latest === null || latest < written) return;
    setWritten(null);
    setRound(round + 1);
  }, [latest, written]);
  const more = async (wanted: History) => {
    setBusy(true);
    setError(null);
    try {
      await wanted.more();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  useEffect(() => {
    if (history) void more(history);
  }, [history]);
  useEffect(() => {
    heading.current?.focus();
    return () => abort.current.abort();
  }, []);
  const toItem = () => setQuery({ panel: undefined });
  // A dialog has its own Escape.
  useKeys(bringing ? {} : { escape: onClose, h: toItem }, {
    Esc: 'Close the panel',
    h: 'Back to the item',
  });
  const shown = history?.changes ?? [];
  const oldest = shown.at(-1);
  const readOnly = boot.value?.readOnly ? 'This console is read-only' : undefined;
  return (
    <aside class="drawer editor" aria-label="History of the item">
      <header>
        <h2 ref={heading} tabIndex={-1}>
          History
        </h2>
        <button
          type="button"
          class="quiet square"
          aria-label="Read the changes again"
          title="Read again"
          disabled={busy}
          onClick={() => setRound(round + 1)}
        >
          <Icon name="refresh" />
        </button>
        <button type="button" class="quiet" onClick={toItem}>
          <Icon name="left" />
          The item
        </button>
        <button type="button" class="quiet square" aria-label="Close the item" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="editor-body stack">
        <p class="mono cut">
          {Object.values(itemKey)
            .map((one: AttributeValue) => textOfValue(one))
            .join(' · ')}
        </p>
        <NotKept table={name} kept={kept} />
        {error !== null && <PastError table={name} kept={kept} error={error} />}
        {history && history.from !== null && history.to !== null && (
          <p class="muted" role="status">
            {shown.length === 0
              ? 'No change'
              : `${shown.length} ${shown.length === 1 ? 'change' : 'changes'}`}{' '}
            between {secondText(history.from)} and {secondText(history.to)} UTC
            {history.complete ? ', all that is kept.' : '.'}
            {history.cut && ' Some hours had too many changes, and their latest ones are left out.'}
          </p>
        )}
        {written !== null && (
          <p class="note" role="status">
            The change that you just made appears here in a moment.
          </p>
        )}
        {shown.length > 0 && (
          <ul class="versions" aria-label="Versions, newest first">
            {shown.map((change, i) => (
              <Version
                key={`${change.time} ${shown.length - i}`}
                table={name}
                change={change}
                isLatest={i === 0}
                why={readOnly}
                onBringBack={setBringing}
              />
            ))}
          </ul>
        )}
        {history?.complete && oldest && kindOf(oldest) === 'changed' && (
          <div class="row">
            <span class="muted">Before {secondText(oldest.time)} UTC it was another.</span>
            <button
              type="button"
              class="small"
              disabled={readOnly !== undefined}
              title={readOnly}
              onClick={() =>
                setBringing({ wanted: oldest.before, at: Date.parse(oldest.time) - 1 })
              }
            >
              Bring that back…
            </button>
          </div>
        )}
        {busy && <p class="loading">Reading changes…</p>}
        {history && !history.complete && !busy && (
          <div class="row">
            <button type="button" onClick={() => void more(history)}>
              Earlier changes
            </button>
          </div>
        )}
      </div>
      {bringing && (
        <BringBack
          table={table}
          itemKey={itemKey}
          wanted={bringing.wanted}
          at={bringing.at}
          onClose={() => setBringing(null)}
          onWritten={(before, after) => {
            onWritten(before, after);
            setWritten(serverNow());
          }}
        />
      )}
    </aside>
  );
}

interface VersionProps {
  table: string;
  change: WireChange;
  isLatest: boolean;
  why: string | undefined;
  onBringBack: (back: Back) => void;
}

function Version({ table, change, isLatest, why, onBringBack }: VersionProps) {
  const [whole, setWhole] = useState(false);
  const at = Date.parse(change.time);
  // What is wanted back of a deletion is the item, and that was there the moment before.
  const back: Back = change.after
    ? { wanted: change.after, at }
    : { wanted: change.before, at: at - 1 };
  return (
    <ChangeRow
      change={change}
      about={<span class="muted">{relative(at, serverNow())}</span>}
      isOpen={isLatest}
    >
      {whole && change.after && <ItemText item={change.after} />}
      <div class="row">
        {change.after && (
          <button
            type="button"
            class="small"
            aria-expanded={whole}
            onClick={() => setWhole(!whole)}
          >
            As it was
          </button>
        )}
        <button
          type="button"
          class="small"
          disabled={why !== undefined}
          title={why}
          onClick={() => onBringBack(back)}
        >
          Bring back…
        </button>
        <a class="small" href={href(['tables', table, 'items'], { asof: momentText(at) })}>
          The table then
        </a>
      </div>
    </ChangeRow>
  );
}
