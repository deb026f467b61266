// An item as it was at the moment that the page shows: read, never edited.
import { useEffect, useRef, useState } from 'preact/hooks';
import { dynamodb } from '../../api/dynamodb.ts';
import { isStopped } from '../../api/errors.ts';
import { useKeys } from '../../app/keys.ts';
import { setQuery } from '../../app/router.ts';
import { boot } from '../../app/state.ts';
import type { Request } from '../../model/code/request.ts';
import { momentField, momentText } from '../../model/past.ts';
import { printPlain } from '../../model/plain.ts';
import type { TableDescription } from '../../model/table.ts';
import { printTyped } from '../../model/typed.ts';
import type { Item } from '../../model/value.ts';
import { Code } from '../../ui/code.tsx';
import { Choice } from '../../ui/field.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Scroll } from '../../ui/scroll.tsx';
import { ErrorBox } from '../../ui/told.tsx';
import { BringBack } from './bring_back.tsx';

export interface PastItemProps {
  table: TableDescription;
  itemKey: Item;
  at: number;
  onClose: () => void;
  onWritten: (before: Item | null, after: Item | null) => void;
}

export function PastItem({ table, itemKey, at, onClose, onWritten }: PastItemProps) {
  const [item, setItem] = useState<Item | null | undefined>(undefined);
  const [error, setError] = useState<unknown>(null);
  const [view, setView] = useState<'typed' | 'plain'>('typed');
  const [bringing, setBringing] = useState(false);
  const [showCode, setShowCode] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const request: Request = {
    service: 'DynamoDB',
    operation: 'GetItem',
    input: { TableName: table.TableName, Key: itemKey },
    asOf: momentText(at),
  };
  useEffect(() => {
    const abort = new AbortController();
    setItem(undefined);
    setError(null);
    dynamodb<{ Item?: Item }>('GetItem', request.input, {
      asOf: request.asOf,
      signal: abort.signal,
    }).then(
      (reply) => setItem(reply.Item ?? null),
      (failure) => {
        if (!isStopped(failure)) setError(failure);
      },
    );
    return () => abort.abort();
  }, [at]);
  useEffect(() => heading.current?.focus(), []);
  useKeys(
    // A dialog has its own Escape.
    bringing
      ? {}
      : {
          escape: onClose,
          c: () => setShowCode(!showCode),
          h: () => setQuery({ panel: 'history' }, false),
        },
    { Esc: 'Close the panel', c: 'Code', h: 'History' },
  );
  const readOnly = boot.value?.readOnly ? 'This console is read-only' : undefined;
  return (
    <aside class="drawer editor" aria-label="Item as it was">
      <header>
        <h2 ref={heading} tabIndex={-1}>
          Item as it was
        </h2>
        <HistoryButton />
        <button type="button" class="quiet square" aria-label="Close the item" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="editor-body stack">
        <p class="note">{momentField(at)} UTC</p>
        {error !== null ? (
          <ErrorBox error={error} />
        ) : item === undefined ? (
          <p class="loading">Reading the item…</p>
        ) : item === null ? (
          <p>There was no such item then.</p>
        ) : (
          <>
            <Choice<'typed' | 'plain'>
              legend="View"
              hideLegend
              value={view}
              options={[
                { value: 'typed', label: 'DynamoDB JSON' },
                { value: 'plain', label: 'Plain JSON' },
              ]}
              onChange={setView}
            />
            <ItemText item={item} view={view} />
          </>
        )}
        {showCode && <Code of={{ request }} />}
      </div>
      <footer class="editor-foot">
        <button
          type="button"
          class="quiet"
          aria-pressed={showCode}
          onClick={() => setShowCode(!showCode)}
        >
          <Icon name="code" />
          Code
        </button>
        <span class="grow" />
        <button
          type="button"
          disabled={item === undefined || readOnly !== undefined}
          title={readOnly}
          onClick={() => setBringing(true)}
        >
          Bring back…
        </button>
      </footer>
      {bringing && item !== undefined && (
        <BringBack
          table={table}
          itemKey={itemKey}
          wanted={item}
          at={at}
          onClose={() => setBringing(false)}
          onWritten={onWritten}
        />
      )}
    </aside>
  );
}

export const ItemText = ({ item, view = 'typed' }: { item: Item; view?: 'typed' | 'plain' }) => (
  <Scroll label="The item" class="record-item">
    <pre>{(view === 'typed' ? printTyped(item) : printPlain(item)).slice(0, 100_000)}</pre>
  </Scroll>
);

export const HistoryButton = ({ onOpen }: { onOpen?: () => void }) => (
  <button
    type="button"
    class="quiet"
    onClick={() => (onOpen ? onOpen() : setQuery({ panel: 'history' }, false))}
  >
    <Icon name="clock" />
    History
  </button>
);
