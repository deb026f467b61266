// The servers of one store and what they keep there, as the server that serves this page sees it.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, isStopped } from '../../api/errors.ts';
import { management } from '../../api/management.ts';
import { poll } from '../../app/live.ts';
import {
  type ClusterReport,
  inOrder,
  isAlive,
  isGuess,
  type Process,
  sumsOf,
  type Tablet,
  workOf,
} from '../../model/cluster.ts';
import { bytes, compact, count, dateTime, duration, plural, relative } from '../../ui/format.ts';
import { Scroll } from '../../ui/scroll.tsx';
import { ErrorBox } from '../../ui/told.tsx';

const kShownTablets = 200;

export default function Cluster() {
  const [report, setReport] = useState<ClusterReport | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(
    () =>
      poll(
        async (signal) => {
          try {
            setReport(await management<ClusterReport>('cluster', { signal, background: true }));
            setError(null);
          } catch (failure) {
            if (!isStopped(failure)) setError(failure);
            throw failure;
          }
        },
        // A report waits for every part of every tablet.
        () => 5000,
      ),
    [],
  );
  if (error instanceof ApiError && error.status === 404) {
    return (
      <div class="empty">
        <h1>One server</h1>
        <p class="muted">
          This server has its store to itself. Several servers share one with{' '}
          <code>--engine=rados</code>.
        </p>
      </div>
    );
  }
  if (!report)
    return error !== null ? <ErrorBox error={error} /> : <p class="loading">Asking the server…</p>;
  const sums = sumsOf(report);
  const dead = sums.servers - sums.alive;
  return (
    <>
      <header class="page-head">
        <h1>Cluster</h1>
        <span class={`badge ${dead === 0 ? 'good' : 'bad'}`}>
          {dead === 0
            ? `${plural(sums.alive, 'server')} alive`
            : `${sums.alive} of ${plural(sums.servers, 'server')} alive`}
        </span>
        <span class="muted">as this server sees it; its own traffic is on the other pages</span>
      </header>
      {error !== null && <ErrorBox error={error} />}
      {sums.versions.length > 1 && (
        <p class="note warn">
          The servers have different versions: {sums.versions.join(', ')}. Features of the newer one
          are refused until all have it.
        </p>
      )}
      <dl class="tiles">
        <Tile name="Data" value={bytes(sums.bytes)} unit={`in ${plural(sums.parts, 'part')}`} />
        <Tile
          name="Tablets"
          value={count(report.tablets.length)}
          unit={sums.broken > 0 ? `${sums.broken} cannot be read` : 'all can be read'}
          bad={sums.broken > 0}
        />
        <Tile
          name="Unfinished transactions"
          value={count(report.unfinished)}
          unit={
            report.unfinished > 0
              ? `shares, the oldest for ${duration(report.oldestUnfinishedSeconds)}`
              : 'shares'
          }
          bad={report.oldestUnfinishedSeconds > 100}
        />
      </dl>
      <Servers report={report} />
      <Tablets tablets={report.tablets} />
      <Work report={report} />
    </>
  );
}

interface TileProps {
  name: string;
  value: string;
  unit: string;
  bad?: boolean;
}

function Tile({ name, value, unit, bad }: TileProps) {
  return (
    <div class="card tile">
      <dt class="muted small">{name}</dt>
      <dd>
        <span class={`tile-value ${bad ? 'bad-text' : ''}`}>{value}</span>
        <span class="muted small">{unit}</span>
      </dd>
    </div>
  );
}

function Servers({ report }: { report: ClusterReport }) {
  const now = Date.parse(report.at);
  const newest = sumsOf(report).versions.at(-1);
  return (
    <section class="card" aria-labelledby="servers-title">
      <header>
        <h2 id="servers-title">Servers</h2>
      </header>
      <div class="card-body">
        <Scroll label="List of servers">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Endpoint</th>
                <th scope="col">State</th>
                <th scope="col" class="num">
                  Last beat
                </th>
                <th scope="col">Up for</th>
                <th scope="col">Version</th>
                <th scope="col">Clock</th>
                <th scope="col" class="num">
                  Background work
                </th>
              </tr>
            </thead>
            <tbody>
              {report.processes.map((one) => (
                <tr key={one.id}>
                  <th scope="row">
                    <strong>{one.endpoint}</strong>{' '}
                    {one.id === report.by && <span class="badge blue">this one</span>}
                    <span class="small muted mono how">{one.id}</span>
                  </th>
                  <td>
                    <span class={`badge ${isAlive(one) ? 'good' : 'bad'}`}>{one.state}</span>
                  </td>
                  <td class={`num ${one.beatSecondsAgo > 3 ? 'bad-text' : ''}`}>
                    {one.beatSecondsAgo.toFixed(1)} s ago
                  </td>
                  <td title={`since ${dateTime(Date.parse(one.started))} UTC`}>
                    {upFor(one, now)}
                  </td>
                  <td>
                    {one.version}{' '}
                    {isAlive(one) && one.version !== newest && (
                      <span class="badge warn">older</span>
                    )}
                  </td>
                  <td class="muted">{one.clock}</td>
                  <td class="num">{count(one.leases)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
        <p class="hint">
          A server beats once a second; one that is silent for five is dead, and the others take
          over its work. The dead are listed for ten minutes.
        </p>
      </div>
    </section>
  );
}

const upFor = (one: Process, now: number): string =>
  isAlive(one)
    ? duration((now - Date.parse(one.started)) / 1000)
    : `until ${relative(now - one.beatSecondsAgo * 1000, now)}`;

function Tablets({ tablets }: { tablets: readonly Tablet[] }) {
  const shown = inOrder(tablets).slice(0, kShownTablets);
  const figure = (tablet: Tablet, value: number | undefined, text: (n: number) => string) =>
    value === undefined ? '–' : `${isGuess(tablet) ? '~' : ''}${text(value)}`;
  return (
    <section class="card" aria-labelledby="tablets-title">
      <header>
        <h2 id="tablets-title">
          Tablets <span class="muted num">{count(tablets.length)}</span>
        </h2>
      </header>
      <div class="card-body stack tight">
        <p class="muted">
          A tablet is what one table, index or stream stores together. It lies in parts, each an
          object of the pool; a part that grows is split.
        </p>
        <Scroll label="List of tablets">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Of</th>
                <th scope="col" class="num">
                  Parts
                </th>
                <th scope="col" class="num">
                  Keys
                </th>
                <th scope="col" class="num">
                  Size
                </th>
                <th scope="col" class="num">
                  Unfinished
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((one) => (
                <tr key={one.tablet}>
                  <th scope="row">
                    {one.purpose} <span class="small muted mono">{one.tablet}</span>
                  </th>
                  {one.error !== undefined ? (
                    <td colSpan={4} class="bad-text">
                      {one.error}
                    </td>
                  ) : (
                    <>
                      <td class="num">{count(one.parts ?? 0)}</td>
                      <td class="num">{figure(one, one.keys, compact)}</td>
                      <td class="num">{figure(one, one.bytes, bytes)}</td>
                      <td class={`num ${(one.unfinished ?? 0) > 0 ? '' : 'muted'}`}>
                        {count(one.unfinished ?? 0)}
                      </td>
                    </>
                  )}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
        {tablets.length > shown.length && (
          <p class="hint">
            The {count(shown.length)} largest of {count(tablets.length)}.
          </p>
        )}
      </div>
    </section>
  );
}

function Work({ report }: { report: ClusterReport }) {
  const work = workOf(report);
  const settings = Object.entries(report.settings);
  const endpoint = (id: string) =>
    report.processes.find((one) => one.id === id)?.endpoint ?? `${id}, which is gone`;
  return (
    <section class="card" aria-labelledby="work-title">
      <header>
        <h2 id="work-title">Background work and settings</h2>
      </header>
      <div class="card-body stack tight">
        {work.length === 0 && <p class="muted">No server has work that others may not do.</p>}
        <dl class="facts">
          {work.map(({ owner, names }) => (
            <>
              <dt>{endpoint(owner)}</dt>
              <dd>{names.join(', ')}</dd>
            </>
          ))}
          {settings.map(([name, value]) => (
            <>
              <dt>{name}, for all</dt>
              <dd class="mono small">{value}</dd>
            </>
          ))}
        </dl>
      </div>
    </section>
  );
}
