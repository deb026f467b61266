// What the server does now: is it well, what is hot, what happened, how to connect.
import { useEffect } from 'preact/hooks';
import { href } from '../../app/router.ts';
import {
  boot,
  moments,
  pulse,
  type TableRow,
  tableMoments,
  tables,
  watchClosely,
} from '../../app/state.ts';
import {
  amount,
  bytes,
  compact,
  duration,
  milliseconds,
  plural,
  unitRate,
} from '../../ui/format.ts';
import { HeatBar } from '../../ui/heat_bar.tsx';
import { Spark } from '../../ui/spark.tsx';
import { placeOfHash, Strip } from '../../ui/strip.tsx';
import { Events } from './events.tsx';
import { FirstSteps, LoadButton, SampleButton } from './first_steps.tsx';

export default function Overview() {
  useEffect(watchClosely, []);
  const server = boot.value;
  const now = pulse.value;
  if (!server || !now) return <p class="loading">Asking the server…</p>;
  const rows = [...tables.value.values()];
  return (
    <>
      <header class="page-head">
        <h1>Overview</h1>
        <span class={`badge ${now.ready && now.writable ? 'good' : 'bad'}`}>
          {now.ready && now.writable ? 'ready, takes writes' : (now.notReady ?? 'takes no writes')}
        </span>
        <span class="muted">
          {plural(rows.length, 'table')} · up {duration(now.uptimeSeconds)}
        </span>
      </header>
      {rows.length === 0 ? (
        <FirstSteps />
      ) : (
        <>
          <Tiles />
          <div class="columns">
            <HotSpots rows={rows} />
            <Events />
          </div>
          <Busy rows={rows} />
          <FirstSteps compact />
        </>
      )}
    </>
  );
}

function Tiles() {
  const all = moments.value;
  const now = all.at(-1);
  if (!now) return null;
  const { requests } = now.server;
  const errors = requests.userErrors + requests.systemErrors;
  const refused = now.refused.read + now.refused.write;
  const enforced = [...tables.value.values()].some((row) => row.throttling === 'enforce');
  return (
    <dl class="tiles">
      <Tile name="Requests" value={amount(requests.perSecond)} unit="per second">
        <Spark values={all.map((one) => one.server.requests.perSecond)} top={1} />
      </Tile>
      <Tile
        name="Answered within"
        value={milliseconds(requests.p50)}
        unit={requests.p99 === null ? 'median' : `median, 99%: ${milliseconds(requests.p99)}`}
      >
        <Spark values={all.map((one) => one.server.requests.p99)} />
      </Tile>
      <Tile
        name="Consumed"
        value={`${amount(now.consumed.read)} · ${amount(now.consumed.write)}`}
        unit="read · write units per second"
      >
        <Spark
          kind="read"
          values={all.map((one) => one.consumed.read + one.consumed.write)}
          top={1}
        />
      </Tile>
      <Tile
        name={enforced ? 'Throttled' : 'Beyond limits'}
        value={amount(refused)}
        unit={enforced ? 'units per second' : 'units per second, let pass'}
        bad={refused > 0}
      >
        <Spark kind="bad" values={all.map((one) => one.refused.read + one.refused.write)} top={1} />
      </Tile>
      <Tile
        name="Errors"
        value={amount(errors)}
        unit={requests.systemErrors > 0 ? 'per second, of the server too' : 'per second'}
        bad={requests.systemErrors > 0}
      >
        <Spark
          kind="bad"
          values={all.map(
            (one) => one.server.requests.userErrors + one.server.requests.systemErrors,
          )}
          top={1}
        />
      </Tile>
    </dl>
  );
}

interface TileProps {
  name: string;
  value: string;
  unit: string;
  bad?: boolean;
  children: preact.ComponentChildren;
}

function Tile({ name, value, unit, bad, children }: TileProps) {
  return (
    <div class="card tile">
      <dt class="muted small">{name}</dt>
      <dd>
        <span class={`tile-value ${bad ? 'bad-text' : ''}`}>{value}</span>
        <span class="muted small">{unit}</span>
        {children}
      </dd>
    </div>
  );
}

function HotSpots({ rows }: { rows: TableRow[] }) {
  // A table whose capacity is small refuses while its partitions are nearly idle.
  const hot = rows
    .filter((row) => row.hottest !== null && (row.hottest.heat >= 0.01 || refuses(row)))
    .sort((a, b) => weight(b) - weight(a))
    .slice(0, 6);
  return (
    <section class="card" aria-labelledby="hot-title">
      <header>
        <h2 id="hot-title">Hottest partitions now</h2>
      </header>
      <div class="card-body">
        {hot.length === 0 ? (
          <NothingHot rows={rows} />
        ) : (
          <ul class="hot-list">
            {hot.map((row) => (
              <HotSpotRow key={row.name} row={row} />
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

// Refused units weigh more than heat: that is where somebody waits.
const weight = (row: TableRow): number => (row.hottest?.heat ?? 0) + (refuses(row) ? 10 : 0);

const refuses = (row: TableRow): boolean => row.refused.read + row.refused.write > 0;

function HotSpotRow({ row }: { row: TableRow }) {
  const hottest = row.hottest;
  if (!hottest) return null;
  const refused = row.refused.read + row.refused.write;
  const from = placeOfHash(hottest.from);
  const to = hottest.to === null ? 1 : placeOfHash(hottest.to);
  const where = hottest.index === null ? row.name : `${row.name} · index ${hottest.index}`;
  const number =
    typeof hottest.partition !== 'number'
      ? ''
      : hottest.index === null && row.partitions > 1
        ? `partition ${hottest.partition}, one of ${row.partitions}`
        : `partition ${hottest.partition}`;
  return (
    <li>
      <a class="hot-row" href={href(['tables', row.name, 'heat'])}>
        <span class="hot-name cut">
          <strong>{where}</strong> <span class="muted">{number}</span>
        </span>
        <HeatBar heat={hottest.heat} of="of what one partition can do, now" />
        <span class="hot-strip">
          {row.strip && hottest.index === null ? (
            <Strip
              parts={row.strip}
              label={`The partitions of ${row.name}; the hottest is ${number}`}
            />
          ) : (
            <Strip
              parts={[[0, 0], [from, hottest.heat], ...(to < 1 ? [[to, 0] as const] : [])]}
              label="Where the hottest partition lies"
            />
          )}
        </span>
        <span class="small muted hot-why">
          {hottest.key !== null && (
            <>
              hottest key <code class="key">{shorten(hottest.key)}</code>
              {hottest.keyShare !== null && ` has ${Math.round(hottest.keyShare * 100)}% of it`}
              {'. '}
            </>
          )}
          {refused > 0 && (row.use ?? 0) > 1 && hottest.index === null && (
            <>The table is asked for {amount(row.use ?? 0)} times what is provisioned: </>
          )}
          {refused > 0 && (
            <span class="bad-text">
              {unitRate(refused)} {row.throttling === 'enforce' ? 'refused' : 'beyond limits'} now.
            </span>
          )}
        </span>
      </a>
    </li>
  );
}

const shorten = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

function NothingHot({ rows }: { rows: TableRow[] }) {
  const widest = rows.reduce<TableRow | null>(
    (best, row) =>
      row.strip && (!best?.strip || row.strip.length > best.strip.length) ? row : best,
    null,
  );
  return (
    <div class="stack tight">
      {widest?.strip && (
        <figure class="stack tight">
          <Strip
            parts={widest.strip}
            label={`The ${widest.partitions} partitions of ${widest.name}`}
          />
          <figcaption class="small muted">
            {widest.name}: {plural(widest.partitions, 'partition')}, all cool
          </figcaption>
        </figure>
      )}
      <p>
        A table is cut into partitions by a hash of the partition key. One partition serves{' '}
        {compact(boot.value?.partition.read ?? 3000)} read and{' '}
        {compact(boot.value?.partition.write ?? 1000)} write units a second; a key that is asked for
        more than that throttles while the rest of the table idles.
      </p>
      <div class="row">
        <LoadButton small />
        <SampleButton small />
      </div>
    </div>
  );
}

function Busy({ rows }: { rows: TableRow[] }) {
  const busy = rows.sort((a, b) => total(b) - total(a) || b.items - a.items).slice(0, 8);
  return (
    <section class="card" aria-labelledby="busy-title">
      <header>
        <h2 id="busy-title">Tables</h2>
        <a href={href(['tables'])}>All {rows.length}</a>
      </header>
      <div class="card-body scroll-x">
        <table class="plain busy">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col" class="num">
                Items
              </th>
              <th scope="col" class="num">
                Size
              </th>
              <th scope="col">Partitions</th>
              <th scope="col" class="num">
                Reads
              </th>
              <th scope="col" class="num">
                Writes
              </th>
              <th scope="col">Last two minutes</th>
            </tr>
          </thead>
          <tbody>
            {busy.map((row) => (
              <tr key={row.name}>
                <th scope="row">
                  <a href={href(['tables', row.name, 'items'])}>{row.name}</a>
                </th>
                <td class="num">{compact(row.items)}</td>
                <td class="num">{bytes(row.bytes)}</td>
                <td class="strip-cell">
                  {row.strip ? (
                    <Strip parts={row.strip} label={plural(row.partitions, 'partition')} />
                  ) : (
                    plural(row.partitions, 'partition')
                  )}
                </td>
                <td class="num">{amount(row.consumed.read)}</td>
                <td class="num">{amount(row.consumed.write)}</td>
                <td class="spark-cell">
                  <Spark values={tableMoments.get(row.name) ?? []} top={1} kind="read" />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const total = (row: TableRow): number => row.consumed.read + row.consumed.write;
