// Makes an item what it was: first what would change, then one write on the condition that the item
// is as it is shown here.
import { useEffect, useState } from 'preact/hooks';
import { boot } from '../../app/state.ts';
import type { Request } from '../../model/code/request.ts';
import { equalItems } from '../../model/equal.ts';
import { changesOf, momentField } from '../../model/past.ts';
import { deleteRequest, saveRequest } from '../../model/save.ts';
import type { TableDescription } from '../../model/table.ts';
import type { Item } from '../../model/value.ts';
import { Changes } from '../../ui/changes.tsx';
import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorBox, say } from '../../ui/told.tsx';
import { readItem, sendSave } from './save.ts';

export interface BringBackProps {
  table: TableDescription;
  itemKey: Item;
  // null: there was none.
  wanted: Item | null;
  // When it was so.
  at: number;
  onClose: () => void;
  onWritten: (before: Item | null, after: Item | null) => void;
}

export function BringBack({ table, itemKey, wanted, at, onClose, onWritten }: BringBackProps) {
  // undefined: not read yet.
  const [now, setNow] = useState<Item | null | undefined>(undefined);
  const [met, setMet] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    readItem(table, itemKey).then(setNow, setError);
  }, []);
  const same =
    now !== undefined &&
    (now === null || wanted === null ? now === wanted : equalItems(now, wanted));
  let request: Request | null = null;
  let impossible: string | null = null;
  if (now !== undefined && !same) {
    try {
      request =
        wanted === null
          ? deleteRequest(table, now as Item)
          : saveRequest(table, { loaded: now, mine: wanted, strict: true });
    } catch (failure) {
      impossible = (failure as Error).message;
    }
  }
  const write = async () => {
    if (!request || busy || now === undefined) return;
    setBusy(true);
    setError(null);
    try {
      const outcome = await sendSave(table, request, wanted, itemKey);
      if (outcome.kind === 'conflict') {
        setNow(outcome.theirs);
        setMet(true);
        return;
      }
      onWritten(now, outcome.item);
      say(wanted === null ? 'Deleted, as it was then' : 'The item is what it was then');
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const readOnly = boot.value?.readOnly ? 'This console is read-only' : undefined;
  return (
    <Dialog
      title={`Bring back ${momentField(at)} UTC`}
      wide
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            {same ? 'Close' : 'Cancel'}
          </button>
          {!same && (
            <button
              type="button"
              class={wanted === null ? 'danger' : 'primary'}
              disabled={busy || !request || readOnly !== undefined}
              title={readOnly}
              onClick={() => void write()}
            >
              {busy ? 'Writing…' : wanted === null ? 'Delete the item' : 'Bring it back'}
            </button>
          )}
        </>
      }
    >
      {met && (
        <p class="note warn" role="alert">
          Another client changed the item meanwhile: nothing was written. Below is what it would be
          now.
        </p>
      )}
      {now === undefined ? (
        error === null && <p class="loading">Reading the item…</p>
      ) : same ? (
        <p>It is as it was then already: there is nothing to do.</p>
      ) : (
        <>
          <p>
            {now === null
              ? 'There is no such item now: it would be created as it was.'
              : wanted === null
                ? 'There was no such item then: it would be deleted.'
                : 'These attributes would be what they were.'}{' '}
            Nothing was written yet. If another client changes the item first, nothing is
            overwritten.
          </p>
          <Changes changes={changesOf(now, wanted)} before="Now" after="Then" />
        </>
      )}
      {impossible && <p class="bad-text">{impossible}</p>}
      {error !== null && <ErrorBox error={error} />}
      {request && (
        <details>
          <summary>The request as code</summary>
          <Code of={{ request }} />
        </details>
      )}
    </Dialog>
  );
}
