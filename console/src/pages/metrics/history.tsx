// Rates and latencies of the last hours and days, as the server kept them.
import { useEffect, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { management, query as queryText } from '../../api/management.ts';
import { poll } from '../../app/live.ts';
import { href, route, setQuery } from '../../app/router.ts';
import type { Dimension } from '../../model/metrics.ts';
import { allTogether, rowsOf, type SeriesReply } from '../../model/series.ts';
import { Chart } from '../../ui/chart.tsx';
import { amount, count, dateTime, milliseconds } from '../../ui/format.ts';
import { Scroll } from '../../ui/scroll.tsx';
import { Spark } from '../../ui/spark.tsx';
import { ErrorBox } from '../../ui/told.tsx';

export const kHistories = [
  { value: '1h', label: '1 h' },
  { value: '12h', label: '12 h' },
  { value: '14d', label: '14 days' },
] as const;
export type Span = (typeof kHistories)[number]['value'];

export function History({ span, dimension }: { span: Span; dimension: Dimension }) {
  const [reply, setReply] = useState<SeriesReply | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setReply(null);
    return poll(
      async (signal) => {
        try {
          setReply(
            await management<SeriesReply>(`series${queryText({ by: dimension, last: span })}`, {
              signal,
              background: true,
            }),
          );
          setError(null);
        } catch (failure) {
          if (!isStopped(failure)) setError(failure);
          throw failure;
        }
      },
      () => 10_000,
    );
  }, [span, dimension]);
  if (!reply)
    return error !== null ? <ErrorBox error={error} /> : <p class="loading">Asking the server…</p>;
  const wanted = route.value.query.get('name');
  const one = reply.series.find((series) => series.name === wanted);
  const shown = one ?? allTogether(reply);
  const label = one ? one.name : dimension === 'table' ? 'All tables' : 'All operations';
  const from = Date.parse(reply.from);
  const shape = { from, columnSeconds: reply.columnSeconds, limit: null };
  const refused = shown.errors.map((value, i) => value + (shown.throttled[i] ?? 0));
  return (
    <div class="stack">
      <div class="charts">
        <Chart
          {...shape}
          label={`${label}: requests`}
          kind="read"
          used={shown.served}
          refused={refused}
          words={{ used: 'Served a second', refused: 'Failed or throttled' }}
        />
        <Chart
          {...shape}
          label={`${label}: 99% answered within`}
          kind="write"
          used={shown.p99.map((value) => value ?? 0)}
          refused={[]}
          words={{ used: 'Milliseconds', refused: null }}
          unit="ms"
        />
      </div>
      {reply.series.length === 0 ? (
        <p class="muted">No request was made in this time.</p>
      ) : (
        <Rows reply={reply} dimension={dimension} chosen={one?.name ?? null} />
      )}
      <p class="hint">
        Counted every ten seconds since {dateTime(Date.parse(reply.begun))} UTC, when this server
        started. Choose a row to see it above.
      </p>
    </div>
  );
}

interface RowsProps {
  reply: SeriesReply;
  dimension: Dimension;
  chosen: string | null;
}

function Rows({ reply, dimension, chosen }: RowsProps) {
  return (
    <Scroll label={`Requests by ${dimension}`}>
      <table class="plain metrics" aria-label={`Requests by ${dimension}`}>
        <thead>
          <tr>
            <th scope="col">{dimension === 'table' ? 'Table' : 'Operation'}</th>
            <th scope="col" class="num">
              A second
            </th>
            <th scope="col">Over the time</th>
            <th scope="col" class="num">
              p50
            </th>
            <th scope="col" class="num">
              p99, worst
            </th>
            <th scope="col" class="num" title="Wrong requests and errors of the server">
              Errors, not failed conditions
            </th>
            <th scope="col" class="num">
              Throttled
            </th>
            <th scope="col" class="num">
              Served
            </th>
          </tr>
        </thead>
        <tbody>
          {rowsOf(reply).map((row) => (
            <tr key={row.name} class={row.name === chosen ? 'is-open' : ''}>
              <th scope="row">
                <button
                  type="button"
                  class="link"
                  aria-pressed={row.name === chosen}
                  onClick={() => setQuery({ name: row.name === chosen ? undefined : row.name })}
                >
                  {row.name}
                </button>
                {dimension === 'table' && row.name === chosen && (
                  <>
                    {' '}
                    <a class="small" href={href(['tables', row.name, 'heat'])}>
                      heat
                    </a>
                  </>
                )}
              </th>
              <td class="num">
                <strong>{amount(row.mean)}</strong>
              </td>
              <td class="spark-cell">
                <Spark values={row.values} />
              </td>
              <td class="num muted">{milliseconds(row.p50)}</td>
              <td class="num muted">{milliseconds(row.p99)}</td>
              <td class={`num ${row.errors > 0 ? 'bad-text' : 'muted'}`}>{count(row.errors)}</td>
              <td class={`num ${row.throttled > 0 ? 'bad-text' : 'muted'}`}>
                {count(row.throttled)}
              </td>
              <td class="num muted">{count(row.served)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
