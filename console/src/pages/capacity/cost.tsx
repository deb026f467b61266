// What the last days would cost a month, in each of the ways to pay.
import { useEffect, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { management, query as queryText } from '../../api/management.ts';
import { has } from '../../app/state.ts';
import { coveredSeconds, type Prices, storageMonth, type Way, ways } from '../../model/cost.ts';
import type { HeatReply, HeatResource } from '../../model/heat.ts';
import { isOnDemand, type TableDescription } from '../../model/table.ts';
import { duration } from '../../ui/format.ts';
import { Scroll } from '../../ui/scroll.tsx';
import { ErrorBox } from '../../ui/told.tsx';
import { MissingPrices, PriceFields, usePrices } from './prices.tsx';

const money = (n: number): string =>
  `$${n.toLocaleString('en-US', { maximumFractionDigits: n < 100 ? 2 : 0 })}`;

// What the server found out itself: auto scaling followed minute by minute.
interface Told {
  resources: { type: string; name: string; autoScaled: { read: number; write: number } }[];
}

const kFine = [
  { last: '3m', step: '1s' },
  { last: '9m', step: '3s' },
  { last: '3h', step: '60s' },
] as const;

export function Cost({ table, bytes }: { table: TableDescription; bytes: number }) {
  const name = table.TableName;
  const [history, setHistory] = useState<HeatReply | null>(null);
  const [fine, setFine] = useState<readonly HeatReply[]>([]);
  const [error, setError] = useState<unknown>(null);
  const [told, setTold] = useState<Told | null>(null);
  const own = usePrices();
  useEffect(() => {
    const abort = new AbortController();
    management<HeatReply>(
      `tables/${encodeURIComponent(name)}/heat${queryText({ last: '7d', step: '1h' })}`,
      { table: name, signal: abort.signal, background: true },
    ).then(setHistory, (failure) => {
      if (!isStopped(failure)) setError(failure);
    });
    // Hours hide the busiest second: finer series have it while the server keeps them.
    Promise.all(
      kFine.map((window) =>
        management<HeatReply>(`tables/${encodeURIComponent(name)}/heat${queryText(window)}`, {
          table: name,
          signal: abort.signal,
          background: true,
        }),
      ),
    ).then(setFine, () => setFine([]));
    if (has('cost'))
      management<Told>(`tables/${encodeURIComponent(name)}/cost?last=7d`, {
        table: name,
        signal: abort.signal,
        background: true,
      }).then(setTold, () => setTold(null));
    return () => abort.abort();
  }, [name]);
  const { prices } = own;
  return (
    <section class="card" aria-labelledby="cost-title">
      <header>
        <h2 id="cost-title">A month of this</h2>
        <span class="muted small">{coveredWords(table, history)}</span>
      </header>
      <div class="card-body stack">
        {error !== null && <ErrorBox error={error} />}
        {history && (
          <Scroll label="Prices of a month">
            <table class="plain cost">
              <thead>
                <tr>
                  <th scope="col">Paid as</th>
                  {several(history.resources).map((one) => (
                    <th scope="col" class="num" key={`${one.type} ${one.name}`}>
                      {one.type === 'index' ? one.name.split('/').at(-1) : 'table'}
                    </th>
                  ))}
                  <th scope="col" class="num">
                    {history.resources.length > 1 ? 'all' : 'a month'}
                  </th>
                </tr>
              </thead>
              <tbody>
                <WayRows
                  table={table}
                  now={Date.parse(history.now) / 1000}
                  resources={history.resources}
                  fine={fine}
                  prices={prices}
                  told={told}
                />
                <tr>
                  <th scope="row">Storage</th>
                  {history.resources.length > 1 && (
                    <td class="num" colSpan={history.resources.length}>
                      <span class="muted">in each of these</span>
                    </td>
                  )}
                  <td class="num">{money(storageMonth(bytes, prices))}</td>
                </tr>
              </tbody>
            </table>
          </Scroll>
        )}
        <MissingPrices prices={prices} of="On demand" />
        <PriceFields {...own} />
      </div>
    </section>
  );
}

interface WayProps {
  table: TableDescription;
  now: number;
  resources: readonly HeatResource[];
  // The same in finer columns, of a shorter time.
  fine: readonly HeatReply[];
  prices: Prices;
  told: Told | null;
}

// A table without global indexes is all that there is: one column does.
const several = <T,>(all: readonly T[]): readonly T[] => (all.length > 1 ? all : []);

const asked = (of: HeatResource, kind: 'read' | 'write') =>
  of.consumed[kind].map((one, i) => one + (of.refused[kind][i] ?? 0));

function WayRows({ table, now, resources, fine, prices, told }: WayProps) {
  const onDemand = isOnDemand(table);
  const of = resources.map((resource) => {
    const index =
      resource.type === 'index'
        ? table.GlobalSecondaryIndexes?.find((one) => resource.name.endsWith(one.IndexName))
        : undefined;
    const units = (resource.type === 'index' ? index : table)?.ProvisionedThroughput;
    const sum = (kind: 'read' | 'write') => asked(resource, kind);
    const finer = fine.flatMap((reply) =>
      reply.resources.filter((one) => one.type === resource.type && one.name === resource.name),
    );
    const peak = (kind: 'read' | 'write') =>
      Math.max(0, ...finer.map((one) => Math.max(0, ...asked(one, kind))));
    return ways(
      {
        columnSeconds: resource.columnSeconds,
        scaled: told?.resources.find(
          (one) => one.type === resource.type && resource.name.split('/').at(-1) === one.name,
        )?.autoScaled,
        read: sum('read'),
        write: sum('write'),
        seconds: coveredSeconds(resource, table.CreationDateTime ?? 0, now),
        bytes: 0,
        peak: { read: peak('read'), write: peak('write') },
        provisioned:
          onDemand || !units
            ? null
            : { read: units.ReadCapacityUnits, write: units.WriteCapacityUnits },
      },
      prices,
    );
  });
  const first = of[0] ?? [];
  const totals = first.map((_, i) => sumOf(of.map((one) => one[i] as Way)));
  const throttles = first.map((_, i) => of.some((one) => one[i]?.throttles));
  const known = totals.filter((one): one is number => one !== null);
  // Without a load, what costs least says nothing.
  const hasLoad = resources.some((one) =>
    (['read', 'write'] as const).some((kind) => asked(one, kind).some((units) => units > 0)),
  );
  const least = Math.min(
    ...totals.filter((one, i): one is number => one !== null && !throttles[i]),
  );
  return (
    <>
      {first.map((way, i) => {
        const total = totals[i] ?? null;
        return (
          <tr key={way.id}>
            <th scope="row">
              {way.name} {way.isNow && <span class="badge blue">now</span>}{' '}
              {throttles[i] && <span class="badge warn">would throttle</span>}
              {total !== null &&
                total === least &&
                hasLoad &&
                !throttles[i] &&
                known.length > 1 && <span class="badge good">least</span>}
              <span class="small muted how">{way.how}</span>
            </th>
            {several(of).map((one, k) => (
              <td class="num" key={resources[k]?.name}>
                {cell(one[i]?.capacity ?? null)}
              </td>
            ))}
            <td class="num">
              <strong>{cell(total)}</strong>
            </td>
          </tr>
        );
      })}
    </>
  );
}

// The time whose load is reckoned with.
function coveredWords(table: TableDescription, history: HeatReply | null): string {
  const age =
    history === null ? null : Date.parse(history.now) / 1000 - (table.CreationDateTime ?? 0);
  return age === null || age >= kWeek
    ? 'by the load of the last seven days'
    : `by the load since the table was made, ${duration(Math.max(1, Math.round(age)))} ago`;
}

const kWeek = 7 * 86_400;

const sumOf = (all: readonly Way[]): number | null =>
  all.some((one) => one.capacity === null)
    ? null
    : all.reduce((sum, one) => sum + (one.capacity ?? 0), 0);

const cell = (n: number | null) =>
  n === null ? <span class="muted small">price needed</span> : money(n);
