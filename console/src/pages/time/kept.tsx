// What is kept of the past of a table; where nothing is, the sentence and its cure.
import { useEffect, useState } from 'preact/hooks';
import { continuousBackups, setContinuous } from '../../api/backups.ts';
import { isStopped } from '../../api/errors.ts';
import { isNotKept, isOutside } from '../../api/past.ts';
import { poll } from '../../app/live.ts';
import { boot, has, limited, serverNow } from '../../app/state.ts';
import type { Continuous } from '../../model/backups.ts';
import { momentField } from '../../model/past.ts';
import { relative } from '../../ui/format.ts';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';

export interface KeptPast {
  // null: not known yet, or the user may not ask.
  known: Continuous | null;
  error: unknown;
  take: (known: Continuous) => void;
}

export function useKept(table: string): KeptPast {
  const [known, take] = useState<Continuous | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(
    () =>
      poll(
        async (signal) => {
          try {
            take(await continuousBackups(table, signal));
            setError(null);
          } catch (failure) {
            if (!isStopped(failure)) setError(failure);
            throw failure;
          }
        },
        () => 5000,
      ),
    [table],
  );
  return { known, error, take };
}

// Whether the past can be asked for: it is kept, or the page cannot know.
export const isKept = ({ known, error }: KeptPast): boolean =>
  known === null ? error !== null : known.on && known.latest !== null;

// Says why there is no past to read, and what helps.
export function NotKept({ table, kept }: { table: string; kept: KeptPast }) {
  const { known, take } = kept;
  const [busy, setBusy] = useState(false);
  if (known === null || (known.on && known.latest !== null)) return null;
  const readOnly = boot.value?.readOnly ? 'This console is read-only' : undefined;
  const switchOn = async () => {
    setBusy(true);
    try {
      take(await setContinuous(table, true));
      say(`From now on the past of ${table} is kept`);
    } catch (failure) {
      sayError(failure);
    } finally {
      setBusy(false);
    }
  };
  if (known.on)
    return (
      <p class="note" role="status">
        Point-in-time recovery was switched on just now: the past of {table} begins here, and can be
        read in a moment.
      </p>
    );
  if (!has('point-in-time') && limited.value === null)
    return (
      <p class="note" role="status">
        This server keeps no past of its tables: point-in-time recovery is there on RocksDB and in
        memory, and not for a store on a cluster.
      </p>
    );
  return (
    <div class="note row" role="status">
      <span class="grow">
        The past of {table} is not kept: point-in-time recovery is off. From the moment when it is
        on, the table can be read as it was, and changes can be taken back.
      </span>
      <button
        type="button"
        class="primary"
        disabled={busy || readOnly !== undefined}
        title={readOnly}
        onClick={() => void switchOn()}
      >
        {busy ? 'Asking…' : 'Switch it on'}
      </button>
    </div>
  );
}

// "Kept from ... to ...".
export function KeptWords({ known }: { known: Continuous | null }) {
  if (known?.earliest == null || known.latest === null) return null;
  return (
    <>
      Kept from {momentField(Math.ceil(known.earliest / 1000) * 1000)} UTC (
      {relative(known.earliest, serverNow())}) to now.
    </>
  );
}

// A refusal of a read of the past.
export function PastError({
  table,
  kept,
  error,
}: {
  table: string;
  kept: KeptPast;
  error: unknown;
}) {
  if (isNotKept(error) && kept.known !== null && !kept.known.on)
    return <NotKept table={table} kept={kept} />;
  return (
    <>
      <ErrorBox error={error} />
      {isOutside(error) && (
        <p class="note">
          <KeptWords known={kept.known} />
        </p>
      )}
    </>
  );
}
