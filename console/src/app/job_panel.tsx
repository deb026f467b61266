// The long job that is under way, or how the last one ended.
import { useEffect, useRef, useState } from 'preact/hooks';
import { tell } from '../api/errors.ts';
import { focusIfLost, focusPage } from '../ui/focus.ts';
import { amount, duration, plural, unitRate } from '../ui/format.ts';
import { Icon } from '../ui/icons.tsx';
import { type Cure, closeJob, type Job, job } from '../ui/jobs.ts';
import { sayError } from '../ui/told.tsx';
import { tables } from './state.ts';

export default function JobPanel() {
  const now = job.value;
  return now ? <Panel job={now} /> : null;
}

function Panel({ job: now }: { job: Job }) {
  const [showFailures, setShowFailures] = useState(false);
  const { progress, outcome, total } = now;
  const section = useRef<HTMLElement>(null);
  const ended = outcome !== null;
  // The pressed button is gone: what stands in its place is next.
  useEffect(
    () => focusIfLost(() => section.current?.querySelector<HTMLElement>('.row button, button')),
    [ended],
  );
  const over = progress.done + progress.skipped + progress.failed;
  const rate = progress.seconds > 0 ? over / progress.seconds : 0;
  const left = total !== null && rate > 0 ? Math.max(0, total - over) / rate : null;
  const close = () => {
    closeJob();
    focusPage();
  };
  return (
    <section ref={section} class={`job card ${now.load ? 'load' : ''}`} aria-label={now.title}>
      <header>
        <h2>{now.title}</h2>
        {outcome && (
          <button type="button" class="quiet square" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        )}
      </header>
      <div class="card-body stack tight">
        {total !== null && (
          <div
            class="progress"
            role="progressbar"
            aria-label="Progress"
            aria-valuemin={0}
            aria-valuemax={total}
            aria-valuenow={over}
          >
            <span style={{ width: `${Math.min(100, (over / Math.max(1, total)) * 100)}%` }} />
          </div>
        )}
        <p class="num-line">
          <strong>{plural(progress.done, now.load ? 'write' : 'item')}</strong> done
          {progress.skipped > 0 && ` · ${progress.skipped} left alone`}
          {progress.failed > 0 && (
            <span class="bad-text">
              {' '}
              · {progress.failed} {now.load ? 'throttled' : 'failed'}
            </span>
          )}
          {` · ${amount(progress.units)} WCU · ${amount(rate)} a second`}
          {!outcome && left !== null && ` · ${duration(left)} left`}
        </p>
        {progress.retries > 0 && (
          <p class="small muted">{plural(progress.retries, 'write')} sent again after a pause</p>
        )}
        {!outcome && now.cure && <Tried cure={now.cure} since={progress.since} />}
        {outcome && <p>{ending(now)}</p>}
        {outcome && now.again && (
          <div class="row">
            <button type="button" onClick={now.again}>
              <Icon name="play" />
              Run it again
            </button>
          </div>
        )}
        {outcome && outcome.failures.length > 0 && (
          <div class="row">
            <button type="button" class="small" onClick={() => setShowFailures(!showFailures)}>
              {showFailures ? 'Hide' : 'Show'} what failed
            </button>
            {now.retry && (
              <button type="button" class="small" onClick={now.retry}>
                <Icon name="refresh" />
                Try those again
              </button>
            )}
          </div>
        )}
        {showFailures && outcome && (
          <ul class="failures">
            {outcome.failures.slice(0, 100).map((failure) => (
              <li key={JSON.stringify(failure.write.key)}>
                <code>{JSON.stringify(failure.write.key)}</code>
                <p class="small bad-text">
                  {failure.type}: {failure.message}
                </p>
              </li>
            ))}
          </ul>
        )}
        {!outcome && (
          <div class="row">
            {progress.state === 'paused' ? (
              <button type="button" onClick={() => now.bulk.goOn()}>
                <Icon name="play" />
                Go on
              </button>
            ) : (
              <button type="button" onClick={() => now.bulk.pause()}>
                <Icon name="pause" />
                Pause
              </button>
            )}
            <button type="button" onClick={() => now.bulk.cancel()}>
              <Icon name="stop" />
              Stop
            </button>
            {now.cure && <CureButton cure={now.cure} />}
          </div>
        )}
      </div>
    </section>
  );
}

function CureButton({ cure }: { cure: Cure }) {
  return (
    <button
      type="button"
      class={cure.tried === null ? 'primary' : ''}
      aria-disabled={cure.busy}
      onClick={() => void cure.flip().catch(sayError)}
    >
      <Icon name={cure.tried === null ? 'check' : 'left'} />
      {cure.busy ? 'Asking the server…' : cure.tried === null ? cure.label : 'Back to one key'}
    </button>
  );
}

// Writes since the cure is tried, and the units that are beyond limits now: where a table is only
// observed, no write is throttled.
function Tried({ cure, since }: { cure: Cure; since: Job['progress']['since'] }) {
  const row = tables.value.get(cure.table);
  const beyond = row ? row.refused.read + row.refused.write : 0;
  return (
    <div class="stack tight">
      <p role="status">{cure.tried !== null && `${cure.tried}.`}</p>
      {cure.tried !== null && since && (
        <p class="small">
          {plural(since.done, 'write')} since then
          {row?.throttling === 'enforce' && ', '}
          {row?.throttling === 'enforce' &&
            (since.failed === 0 ? (
              <strong class="good-text">none throttled</strong>
            ) : (
              <span class="bad-text">{since.failed} throttled</span>
            ))}
        </p>
      )}
      <p class="small">
        Beyond limits now:{' '}
        <strong class={beyond > 0 ? 'bad-text' : 'good-text'}>{unitRate(beyond)}</strong>
      </p>
    </div>
  );
}

function ending({ progress, outcome, load }: Job): string {
  if (load && progress.state === 'done') return 'Over.';
  if (progress.state === 'done')
    return progress.failed > 0 ? 'Over, but not everything worked.' : 'Complete.';
  if (progress.state === 'stopped') return 'Stopped. What was done stays done.';
  return `Ended early: ${tell(outcome?.error).message}`;
}
