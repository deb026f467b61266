// A list of backups: when each was taken, of what, and what can be done with it.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isUnsupported, listBackups } from '../../api/backups.ts';
import { dynamodb } from '../../api/dynamodb.ts';
import { ApiError, isStopped } from '../../api/errors.ts';
import { management } from '../../api/management.ts';
import { lookNow, poll } from '../../app/live.ts';
import { href } from '../../app/router.ts';
import { boot, serverNow, tables } from '../../app/state.ts';
import type { Backup } from '../../model/backups.ts';
import type { ServerEvent } from '../../model/events.ts';
import { copyText } from '../../ui/copy.tsx';
import { ask } from '../../ui/dialog.tsx';
import { bytes, dateTime, relative } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Scroll } from '../../ui/scroll.tsx';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import { Restore } from './restore.tsx';

export interface Known {
  // null: not asked yet.
  backups: readonly Backup[] | null;
  error: unknown;
  // What the server says where it makes no backups at all.
  unsupported: string | null;
  look: () => void;
}

// Those of one table, or of all. Asked for again while one is being made.
export function useBackups(table: string | undefined): Known {
  const [backups, setBackups] = useState<readonly Backup[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [unsupported, setUnsupported] = useState<string | null>(null);
  const before = useRef<readonly Backup[]>([]);
  useEffect(() => {
    before.current = [];
    return poll(
      async (signal) => {
        try {
          const found = await listBackups(table, signal);
          void tellOfLost(before.current, found);
          before.current = found;
          setBackups(found);
          setError(null);
        } catch (failure) {
          if (isUnsupported(failure)) setUnsupported(failure.message);
          else if (!isStopped(failure)) setError(failure);
          throw failure;
        }
      },
      () => (before.current.some((one) => one.status === 'CREATING') ? 500 : 10_000),
    );
  }, [table]);
  const look = useCallback(lookNow, []);
  return { backups, error, unsupported, look };
}

// A backup that could not be made disappears; an event says why.
async function tellOfLost(before: readonly Backup[], now: readonly Backup[]): Promise<void> {
  const lost = before.filter(
    (one) => one.status === 'CREATING' && !now.some((other) => other.arn === one.arn),
  );
  for (const one of lost) {
    const { events } = await management<{ events: ServerEvent[] }>('events?limit=100', {
      background: true,
    }).catch(() => ({ events: [] as ServerEvent[] }));
    const id = one.arn.split('/').at(-1) ?? '';
    const why = events.find((event) => event.kind === 'backup_failed' && event.text.includes(id));
    say(why?.text ?? `The backup ${one.name} of ${one.table} could not be made`, 'bad');
  }
}

export function Backups({ known, of }: { known: Known; of?: string }) {
  const [restored, setRestored] = useState<Backup | null>(null);
  const { backups, error, unsupported } = known;
  if (unsupported !== null) {
    return (
      <div class="empty">
        <h2>This server makes no backups</h2>
        <p class="muted">{unsupported}</p>
        <p class="muted">
          Export the items of a table to a file, or save the table as a seed: both are in the menu
          of the table.
        </p>
      </div>
    );
  }
  if (error !== null && backups === null) return <ErrorBox error={error} />;
  if (backups === null) return <p class="loading">Asking for the backups…</p>;
  if (backups.length === 0) {
    return (
      <div class="empty">
        <h2>No backups{of === undefined ? '' : ` of ${of}`}</h2>
        <p class="muted">
          A backup holds every item of a table as it was at one moment, with the definition of its
          keys and indexes. The table goes on meanwhile. A backup is restored as a new table, so
          nothing is overwritten.
        </p>
      </div>
    );
  }
  return (
    <section class="card" aria-label="Backups">
      <div class="card-body">
        <Scroll label="List of backups">
          <table class="plain backups">
            <thead>
              <tr>
                <th scope="col">Backup</th>
                {of === undefined && <th scope="col">Table</th>}
                <th scope="col">Taken</th>
                <th scope="col" class="num">
                  Size
                </th>
                <th scope="col">
                  <span class="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {backups.map((one) => (
                <Row
                  key={one.arn}
                  backup={one}
                  withTable={of === undefined}
                  onRestore={() => setRestored(one)}
                  onChanged={known.look}
                />
              ))}
            </tbody>
          </table>
        </Scroll>
      </div>
      {restored && (
        <Restore
          from={{ backup: restored }}
          source={restored.table}
          onClose={() => setRestored(null)}
        />
      )}
    </section>
  );
}

interface RowProps {
  backup: Backup;
  withTable: boolean;
  onRestore: () => void;
  onChanged: () => void;
}

function Row({ backup, withTable, onRestore, onChanged }: RowProps) {
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  const making = backup.status === 'CREATING';
  return (
    <tr>
      <th scope="row">
        <strong>{backup.name}</strong>{' '}
        {making && (
          <span class="badge blue" role="status">
            being made
          </span>
        )}
      </th>
      {withTable && (
        <td>
          {tables.value.has(backup.table) ? (
            <a href={href(['tables', backup.table, 'backups'])}>{backup.table}</a>
          ) : (
            <>
              {backup.table} <span class="badge">deleted</span>
            </>
          )}
        </td>
      )}
      <td>
        <time dateTime={new Date(backup.at).toISOString()} title={`${dateTime(backup.at)} UTC`}>
          {relative(backup.at, serverNow())}
        </time>
      </td>
      <td class="num">{backup.bytes === null ? '–' : bytes(backup.bytes)}</td>
      <td>
        <div class="row end nowrap">
          <button
            type="button"
            class="small"
            disabled={why !== undefined || making}
            title={why ?? (making ? 'It is being made' : undefined)}
            aria-label={`Restore ${backup.name}`}
            onClick={onRestore}
          >
            <Icon name="refresh" />
            Restore…
          </button>
          <Menu
            label={`Actions for ${backup.name}`}
            class="quiet square small"
            items={[
              {
                label: 'Copy the ARN',
                icon: 'copy',
                run: () => void copyText(backup.arn).then((done) => done && say('ARN copied')),
              },
              null,
              {
                label: 'Delete…',
                icon: 'trash',
                danger: true,
                disabled: why ?? (making ? 'It is being made' : undefined),
                run: () => void remove(backup, onChanged),
              },
            ]}
          />
        </div>
      </td>
    </tr>
  );
}

async function remove(backup: Backup, onChanged: () => void): Promise<void> {
  const lastCopy = !tables.peek().has(backup.table);
  const yes = await ask({
    title: `Delete the backup ${backup.name}?`,
    body: lastCopy
      ? `The table ${backup.table} is gone: this may be the last copy of its items. This cannot be undone.`
      : `The table ${backup.table} stays as it is. This cannot be undone.`,
    confirm: 'Delete the backup',
    dangerous: true,
    typed: lastCopy || boot.peek()?.production ? backup.name : undefined,
  });
  if (!yes) return;
  try {
    await dynamodb('DeleteBackup', { BackupArn: backup.arn });
    say(`The backup ${backup.name} was deleted`);
  } catch (error) {
    if (error instanceof ApiError && error.type === 'BackupNotFoundException')
      say(`The backup ${backup.name} was deleted already`, 'plain');
    else sayError(error);
  }
  onChanged();
}
