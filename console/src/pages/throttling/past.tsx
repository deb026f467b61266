// Throttling of this table that the server remembers, also when it is over: when, how much, why.
import { useEffect, useState } from 'preact/hooks';
import { management, query as queryText } from '../../api/management.ts';
import { eventSeq, has } from '../../app/state.ts';
import { firstSentence, type ServerEvent } from '../../model/events.ts';
import { inUnits, reasonWords } from '../../model/reason.ts';
import { count, dateTime } from '../../ui/format.ts';

const kAsked = 1000;
const kShown = 100;

export function Past({ table }: { table: string }) {
  const [events, setEvents] = useState<readonly ServerEvent[]>([]);
  const latest = eventSeq.value;
  useEffect(() => {
    if (!has('events') || latest === 0) return;
    const abort = new AbortController();
    management<{ events: ServerEvent[] }>(`events${queryText({ table, limit: kAsked })}`, {
      background: true,
      signal: abort.signal,
    }).then(
      (reply) => setEvents(reply.events.filter((one) => one.kind === 'throttled').reverse()),
      () => {},
    );
    return () => abort.abort();
  }, [table, latest]);
  if (events.length === 0) return null;
  return (
    <section class="card" aria-labelledby="past-title">
      <header>
        <h2 id="past-title">Earlier</h2>
        <span class="muted small">since the server started</span>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it. */}
      <div class="card-body scroll past" tabIndex={0} role="region" aria-label="Earlier throttling">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">When (UTC)</th>
              <th scope="col" class="num">
                Requests
              </th>
              <th scope="col">Why, in the busiest second</th>
            </tr>
          </thead>
          <tbody>
            {events.slice(0, kShown).map((one) => (
              <tr key={one.seq}>
                <td class="num">{dateTime(Date.parse(one.at))}</td>
                <td class="num">{count(one.requests ?? 0)}</td>
                <td>
                  {one.index !== null && <span class="muted">{one.index}: </span>}
                  {one.text === one.reason
                    ? reasonWords(one.reason ?? '')
                    : inUnits(firstSentence(one.text))}
                  {one.key && !firstSentence(one.text).includes(one.key) && (
                    <span class="muted"> Hottest key: {one.key}.</span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
