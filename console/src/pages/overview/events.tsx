// What happened, newest first: throttled, split, scaled, created, faults, clock.
import { useEffect, useState } from 'preact/hooks';
import { management } from '../../api/management.ts';
import { href } from '../../app/router.ts';
import { eventSeq, serverNow } from '../../app/state.ts';
import {
  firstSentence,
  type Happened,
  happened,
  recent,
  type ServerEvent,
} from '../../model/events.ts';
import { inUnits, reasonWords } from '../../model/reason.ts';
import { clock, dateTime, duration, plural, relative } from '../../ui/format.ts';
import { Icon, type IconName } from '../../ui/icons.tsx';

const kIcons: Record<string, IconName> = {
  throttled: 'warn',
  split: 'heat',
  created: 'plus',
  dropped: 'trash',
  altered: 'edit',
  scaled: 'up',
  index: 'tables',
  faults: 'faults',
  clock: 'clock',
  reset: 'trash',
  restart: 'refresh',
  backup_made: 'backup',
  backup_failed: 'warn',
  table_restored: 'refresh',
  restore_failed: 'warn',
};

const kShown = 100;

export function Events() {
  const [events, setEvents] = useState<ServerEvent[]>([]);
  const latest = eventSeq.value;
  const known = events.at(-1)?.seq ?? 0;
  useEffect(() => {
    if (latest === known) return;
    const controller = new AbortController();
    // After a restart the numbers begin again.
    const since = latest < known ? 0 : known;
    management<{ events: ServerEvent[] }>(`events?since=${since}&limit=${kShown}&brief=true`, {
      background: true,
      signal: controller.signal,
    }).then(
      ({ events: more }) =>
        setEvents((old) => recent([...(since === 0 ? [] : old), ...more], kShown)),
      () => {},
    );
    return () => controller.abort();
  }, [latest, known]);
  return (
    <section class="card" aria-labelledby="events-title">
      <header>
        <h2 id="events-title">What happened</h2>
      </header>
      <div class="card-body">
        {events.length === 0 ? (
          <p class="muted">
            Nothing yet. Throttled requests, splits of partitions, scaling, changes of tables,
            faults and moves of the clock are listed here.
          </p>
        ) : (
          <ol class="events">
            {happened(events).map((event) => (
              <EventRow key={event.seq} event={event} />
            ))}
          </ol>
        )}
      </div>
    </section>
  );
}

function EventRow({ event }: { event: Happened }) {
  const at = Date.parse(event.at);
  const lasted = (at - Date.parse(event.since)) / 1000;
  const bad = event.kind === 'throttled';
  const failed = event.kind.endsWith('_failed');
  const first =
    event.text === event.reason
      ? `${reasonWords(event.reason)}.`
      : bad
        ? `${inUnits(firstSentence(event.text)).replace(/\.$/, '')} in the busiest second.`
        : inUnits(firstSentence(event.text));
  const where =
    event.table === null ? null : (
      <a href={href(['tables', event.table, bad ? 'throttling' : 'items'])}>
        {event.table}
        {event.index !== null && ` · ${event.index}`}
      </a>
    );
  return (
    <li class="event">
      <span class={bad || failed ? 'bad-text' : 'muted'}>
        <Icon name={kIcons[event.kind] ?? 'log'} />
      </span>
      <div class="grow">
        <p class="event-text">
          {where && event.kind !== 'dropped' && event.kind !== 'created' && <>{where} </>}
          {bad && event.requests !== undefined
            ? `${plural(event.requests, 'request')} ${event.requests === 1 ? 'was' : 'were'} ${event.passed ? 'beyond a limit and let pass' : 'throttled'}${lasted > 1 ? ` since ${clock(Date.parse(event.since))} UTC (${duration(lasted)})` : ''}: `
            : ''}
          {first}
        </p>
        {event.advice?.[0] && <p class="small muted">{firstSentence(event.advice[0])}</p>}
      </div>
      <time class="small muted nowrap" dateTime={event.at} title={`${dateTime(at)} UTC`}>
        {serverNow() - at < 3_600_000 ? relative(at, serverNow()) : clock(at)}
      </time>
    </li>
  );
}
