// Recovery of a table to any second of the last days: on, off, and restored.
import { useEffect, useState } from 'preact/hooks';
import { continuousBackups, setContinuous } from '../../api/backups.ts';
import { poll } from '../../app/live.ts';
import { href } from '../../app/router.ts';
import { boot, has, serverNow } from '../../app/state.ts';
import type { Continuous } from '../../model/backups.ts';
import type { TableDescription } from '../../model/table.ts';
import { ask } from '../../ui/dialog.tsx';
import { dateTime, relative } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { say, sayError } from '../../ui/told.tsx';
import { Restore } from './restore.tsx';

// Nothing is shown of a server that does not have it: that it is disabled would be half the truth.
export function PointInTime({ table }: { table: TableDescription }) {
  const name = table.TableName;
  const [known, setKnown] = useState<Continuous | null>(null);
  const [restoring, setRestoring] = useState(false);
  useEffect(
    () =>
      poll(
        async (signal) => {
          setKnown(await continuousBackups(name, signal));
        },
        () => 10_000,
      ),
    [name],
  );
  if (known === null || (!known.on && !has('point-in-time'))) return null;
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  const set = async (on: boolean) => {
    if (
      !on &&
      !(await ask({
        title: `Keep no history of ${name}?`,
        body: 'The table can then be restored to no moment of the past, also when it is switched on again later. Backups stay.',
        confirm: 'Switch it off',
        dangerous: true,
        typed: boot.peek()?.production ? name : undefined,
      }))
    )
      return;
    try {
      setKnown(await setContinuous(name, on));
      say(
        on ? `From now on ${name} can be restored to any second` : `No history of ${name} is kept`,
      );
    } catch (error) {
      sayError(error);
    }
  };
  return (
    <section class="card" aria-labelledby="point-in-time">
      <header>
        <h2 id="point-in-time">Point-in-time recovery</h2>
        <span class={`badge ${known.on ? 'good' : ''}`}>{known.on ? 'on' : 'off'}</span>
      </header>
      <div class="card-body stack tight">
        {known.on ? (
          <>
            {known.earliest !== null && known.latest !== null ? (
              <dl class="limit-facts">
                <div>
                  <dt>From</dt>
                  <dd title={relative(known.earliest, serverNow())}>
                    {dateTime(known.earliest)} UTC
                  </dd>
                </div>
                <div>
                  <dt>To</dt>
                  <dd title={relative(known.latest, serverNow())}>{dateTime(known.latest)} UTC</dd>
                </div>
                {known.days !== null && (
                  <div>
                    <dt>Kept for</dt>
                    <dd>{known.days} days</dd>
                  </div>
                )}
              </dl>
            ) : (
              <p class="muted">It was switched on just now: no moment can be restored yet.</p>
            )}
            <p class="muted">
              <a href={href(['tables', name, 'time'])}>Time</a> shows what changed between two
              moments, and takes a range back.
            </p>
            <div class="row">
              <button
                type="button"
                disabled={why !== undefined || known.latest === null}
                title={why}
                onClick={() => setRestoring(true)}
              >
                <Icon name="clock" />
                Restore to a moment…
              </button>
              <button
                type="button"
                class="quiet"
                disabled={why !== undefined}
                title={why}
                onClick={() => void set(false)}
              >
                Switch off…
              </button>
            </div>
          </>
        ) : (
          <>
            <p class="muted">
              While it is on, the server keeps what changes: the table can be restored to any second
              of the last days, as a new table.
            </p>
            <div class="row">
              <button
                type="button"
                disabled={why !== undefined}
                title={why}
                onClick={() => void set(true)}
              >
                Switch on
              </button>
            </div>
          </>
        )}
      </div>
      {restoring && known.on && (
        <Restore
          from={{ table, continuous: known }}
          source={name}
          onClose={() => setRestoring(false)}
        />
      )}
    </section>
  );
}
