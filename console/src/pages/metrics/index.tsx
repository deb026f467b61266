// Rates, latencies and errors, by operation or by table, under the names that Prometheus and
// CloudWatch know.
import { useEffect, useState } from 'preact/hooks';
import { kBase } from '../../api/http.ts';
import { href, route, setQuery } from '../../app/router.ts';
import { has, pulse } from '../../app/state.ts';
import { type Dimension, errorsOf, gaugeOf, totalsBy } from '../../model/metrics.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { Choice } from '../../ui/field.tsx';
import { amount, bytes, count, duration, milliseconds } from '../../ui/format.ts';
import { Scroll } from '../../ui/scroll.tsx';
import { Spark } from '../../ui/spark.tsx';
import { ErrorBox } from '../../ui/told.tsx';
import { History, kHistories, type Span } from './history.tsx';
import { failure, looks, samples, startLooking } from './looks.ts';

const kLive = { value: 'now', label: 'Now' } as const;

export default function Metrics() {
  useEffect(startLooking, []);
  const dimension: Dimension = route.value.query.get('by') === 'table' ? 'table' : 'operation';
  const known = samples.value;
  const errors = errorsOf(known);
  // An older server has no history: the page shows what it sees itself.
  const spans = has('series') ? [kLive, ...kHistories] : [];
  const asked = route.value.query.get('last');
  // A server that just began has no history worth looking at.
  const [first] = useState<Span | 'now'>(() =>
    (pulse.peek()?.uptimeSeconds ?? 0) < 120 ? 'now' : '1h',
  );
  const span: Span | 'now' =
    spans.length === 0 ? 'now' : (spans.find((one) => one.value === asked)?.value ?? first);
  return (
    <>
      <header class="page-head">
        <h1>Metrics</h1>
        <span class="muted">of this server</span>
        <div class="row">
          <CopyButton text={() => `${kBase}metrics`} label="Copy the address for Prometheus" />
        </div>
      </header>
      {failure.value !== null && <ErrorBox error={failure.value} />}
      <section class="card" aria-labelledby="requests-title">
        <header class="wrap">
          <h2 id="requests-title">Requests</h2>
          <Choice<Dimension>
            legend="Rows"
            hideLegend
            value={dimension}
            options={[
              { value: 'operation', label: 'By operation' },
              { value: 'table', label: 'By table' },
            ]}
            onChange={(chosen) =>
              setQuery({ by: chosen === 'operation' ? undefined : chosen, name: undefined })
            }
          />
          {spans.length > 0 && (
            <Choice<Span | 'now'>
              legend="Time"
              hideLegend
              value={span}
              options={spans}
              onChange={(chosen) => setQuery({ last: chosen })}
            />
          )}
        </header>
        <div class="card-body">
          {span === 'now' ? (
            <Rates dimension={dimension} />
          ) : (
            <History span={span} dimension={dimension} />
          )}
        </div>
      </section>
      <div class="columns">
        <section class="card" aria-labelledby="errors-title">
          <header>
            <h2 id="errors-title">Errors since the server began</h2>
          </header>
          <div class="card-body">
            {errors.length === 0 ? (
              <p class="muted">None.</p>
            ) : (
              <Scroll label="Errors">
                <table class="plain">
                  <thead>
                    <tr>
                      <th scope="col">Error</th>
                      <th scope="col">Of</th>
                      <th scope="col" class="num">
                        Requests
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {errors.map((one) => (
                      <tr key={`${one.kind} ${one.error}`}>
                        <th scope="row">{one.error}</th>
                        <td class="muted">{one.kind === 'user' ? 'the client' : 'the server'}</td>
                        <td class="num">{count(one.count)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
            )}
          </div>
        </section>
        <Server />
      </div>
    </>
  );
}

function Rates({ dimension }: { dimension: Dimension }) {
  const all = looks.value;
  const last = all.at(-1);
  if (!last) return <p class="loading">Two looks make a rate…</p>;
  const totals = totalsBy(samples.value, dimension);
  const rows = [...totals]
    .map(([name, total]) => ({ name, total, rate: last.rates[dimension].get(name) }))
    .sort((a, b) => b.total.served - a.total.served || (a.name < b.name ? -1 : 1));
  if (rows.length === 0) return <p class="muted">No request was made yet.</p>;
  return (
    <Scroll label={`Rates by ${dimension}`}>
      <table class="plain metrics" aria-label={`Requests by ${dimension}`}>
        <thead>
          <tr>
            <th scope="col">{dimension === 'table' ? 'Table' : 'Operation'}</th>
            <th scope="col" class="num">
              A second
            </th>
            <th scope="col">Since the page was opened</th>
            <th scope="col" class="num">
              p50
            </th>
            <th scope="col" class="num">
              p99
            </th>
            <th scope="col" class="num">
              Errors/s
            </th>
            <th scope="col" class="num">
              Throttled/s
            </th>
            <th scope="col" class="num">
              Served in all
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, total, rate }) => (
            <tr key={name}>
              <th scope="row">
                {dimension === 'table' && name !== '' ? (
                  <a href={href(['tables', name, 'capacity'])}>{name}</a>
                ) : (
                  name || <span class="muted">no table</span>
                )}
              </th>
              <td class="num">
                <strong>{amount(rate?.served ?? 0)}</strong>
              </td>
              <td class="spark-cell">
                <Spark values={all.map((one) => one.rates[dimension].get(name)?.served ?? 0)} />
              </td>
              <td class="num muted">{latency(rate?.p50)}</td>
              <td class="num muted">{latency(rate?.p99)}</td>
              <td class={`num ${(rate?.errors ?? 0) > 0 ? 'bad-text' : 'muted'}`}>
                {amount(rate?.errors ?? 0)}
              </td>
              <td class={`num ${(rate?.throttled ?? 0) > 0 ? 'bad-text' : 'muted'}`}>
                {amount(rate?.throttled ?? 0)}
              </td>
              <td class="num muted">{count(total.served)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

const latency = (seconds: number | null | undefined): string =>
  milliseconds(seconds === null || seconds === undefined ? null : seconds * 1000);

function Server() {
  const known = samples.value;
  const gauge = (name: string) => gaugeOf(known, `stator_${name}`);
  const rows: [string, string | null][] = [
    ['Up', text(gauge('uptime_seconds'), duration)],
    [
      'Connections',
      both(gauge('connections'), gauge('connections_limit'), gauge('connections_refused')),
    ],
    [
      'Memory of requests under way',
      gauge('inflight_bytes') === null
        ? null
        : `${bytes(gauge('inflight_bytes') ?? 0)} of ${bytes(gauge('inflight_limit_bytes') ?? 0)}`,
    ],
    ['Requests refused for memory', text(gauge('inflight_refused'), count)],
    ['Tables', text(gauge('tables'), count)],
    ['Tables with damaged items', text(gauge('damaged_tables'), count)],
    ['Signatures that did not verify', text(gauge('unverified_signatures'), count)],
    ['Requests that policies refused', text(gauge('denied_requests'), count)],
    [
      'Oldest unfinished transaction',
      text(gauge('oldest_unfinished_transaction_seconds'), duration),
    ],
  ];
  return (
    <section class="card" aria-labelledby="server-title">
      <header>
        <h2 id="server-title">The server</h2>
      </header>
      <div class="card-body">
        <dl class="facts">
          {rows
            .filter(([, value]) => value !== null)
            .map(([name, value]) => (
              <>
                <dt>{name}</dt>
                <dd class="num">{value}</dd>
              </>
            ))}
        </dl>
      </div>
    </section>
  );
}

const text = (value: number | null, format: (n: number) => string): string | null =>
  value === null ? null : format(value);

const both = (now: number | null, most: number | null, refused: number | null): string | null =>
  now === null
    ? null
    : `${count(now)} of ${count(most ?? 0)}${(refused ?? 0) > 0 ? `, ${count(refused ?? 0)} refused` : ''}`;
