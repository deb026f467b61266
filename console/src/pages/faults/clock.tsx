// The product's clock: what time it is, and a hand on it where it is manual.
import { useEffect, useState } from 'preact/hooks';
import { management } from '../../api/management.ts';
import { boot, pulse, refresh, serverNow } from '../../app/state.ts';
import { Field } from '../../ui/field.tsx';
import { dateTime } from '../../ui/format.ts';
import { say, sayError } from '../../ui/told.tsx';

const kSteps = [
  ['1s', '+1 s'],
  ['1m', '+1 min'],
  ['5m', '+5 min'],
  ['1h', '+1 h'],
  ['24h', '+24 h'],
] as const;

export function ClockCard() {
  const manual = pulse.value?.clock === 'manual';
  const [, tick] = useState(0);
  const [until, setUntil] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    if (manual) return;
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, [manual]);
  const readOnly = boot.value?.readOnly ?? false;
  const move = async (body: object) => {
    setBusy(true);
    try {
      const { now } = await management<{ now: string }>('clock', { method: 'POST', body });
      await refresh();
      say(`It is ${dateTime(Date.parse(now))} UTC, and what was due by then is done`);
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  };
  const at = Date.parse(`${until.replace(' ', 'T')}Z`);
  return (
    <section class="card" aria-labelledby="clock-title">
      <header>
        <h2 id="clock-title">Clock</h2>
        <span class={`badge ${manual ? 'warn' : ''}`}>{manual ? 'manual' : 'the system’s'}</span>
      </header>
      <div class="card-body stack tight">
        <p class="clock-now num">
          {dateTime(serverNow())} <span class="muted small">UTC</span>
        </p>
        {manual ? (
          <>
            <p class="muted">
              It stands still until it is moved. Then everything that is due by the new time is
              done: items expire, streams are trimmed, bursts refill, capacity is scaled.
            </p>
            <div class="row wrap">
              {kSteps.map(([advance, label]) => (
                <button
                  key={advance}
                  type="button"
                  disabled={busy || readOnly}
                  onClick={() => void move({ advance })}
                >
                  {label}
                </button>
              ))}
            </div>
            <div class="fields end">
              <Field
                label="To a moment, UTC"
                error={until !== '' && Number.isNaN(at) ? 'Such as 2026-12-01 00:00:00' : null}
              >
                {(ids) => (
                  <input
                    {...ids}
                    placeholder={dateTime(serverNow())}
                    value={until}
                    onInput={(event) => setUntil(event.currentTarget.value)}
                  />
                )}
              </Field>
              <button
                type="button"
                disabled={busy || readOnly || until === '' || Number.isNaN(at)}
                onClick={() => void move({ set: new Date(at).toISOString() })}
              >
                Move there
              </button>
            </div>
          </>
        ) : (
          <p class="muted">
            A server that is started with <code>--clock=manual</code> has a clock that stands still
            until you move it: expiry, bursts and streams of a day in a second.
          </p>
        )}
      </div>
    </section>
  );
}
