// What a table and its indexes consume, have and cost, and the rules that change it.
import { useEffect, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { management, query as queryText } from '../../api/management.ts';
import { type PartitionReport, partitionsOf } from '../../api/partitions.ts';
import { poll } from '../../app/live.ts';
import { href, route, setQuery } from '../../app/router.ts';
import { tables } from '../../app/state.ts';
import type { HeatReply, HeatResource } from '../../model/heat.ts';
import type { TableDescription } from '../../model/table.ts';
import { Chart } from '../../ui/chart.tsx';
import { Choice } from '../../ui/field.tsx';
import { amount, plural } from '../../ui/format.ts';
import { ErrorBox } from '../../ui/told.tsx';
import { Cost } from './cost.tsx';
import { Fixes } from './fixes.tsx';
import { Rules } from './rules.tsx';

const kSpans = [
  { value: '9m', label: '9 min', step: '3s' },
  { value: '3h', label: '3 h', step: '60s' },
  { value: '24h', label: '24 h', step: '1h' },
  { value: '14d', label: '14 days', step: '3h' },
] as const;
type Span = (typeof kSpans)[number]['value'];

export default function Capacity({ table }: { table: TableDescription }) {
  const name = table.TableName;
  const span = (kSpans.find((one) => one.value === route.value.query.get('last')) ??
    kSpans[1]) as (typeof kSpans)[number];
  const [heat, setHeat] = useState<HeatReply | null>(null);
  const [report, setReport] = useState<PartitionReport | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(
    () =>
      poll(
        async (signal) => {
          const path = `tables/${encodeURIComponent(name)}/heat`;
          try {
            const [history, now] = await Promise.all([
              management<HeatReply>(path + queryText({ last: span.value, step: span.step }), {
                table: name,
                signal,
                background: true,
              }),
              partitionsOf(name, signal),
            ]);
            setHeat(history);
            setReport(now);
            setError(null);
          } catch (failure) {
            if (!isStopped(failure)) setError(failure);
            throw failure;
          }
        },
        () => (span.value === '9m' ? 2000 : 10_000),
      ),
    [name, span],
  );
  if (!heat || !report)
    return error !== null ? <ErrorBox error={error} /> : <p class="loading">Asking the server…</p>;
  return (
    <>
      <div class="row spread">
        <Choice<Span>
          legend="Time"
          hideLegend
          value={span.value}
          options={kSpans}
          onChange={(value) => setQuery({ last: value }, false)}
        />
        {report.throttling === 'off' && (
          <span class="badge warn">throughput is not measured: throttling is off</span>
        )}
      </div>
      {heat.resources.map((resource) => (
        <Used
          key={`${resource.type} ${resource.name}`}
          table={table}
          resource={resource}
          now={report.resources.find(
            (one) => one.name === resource.name && one.type === resource.type,
          )}
        />
      ))}
      <Cost table={table} bytes={tables.value.get(name)?.bytes ?? table.TableSizeBytes ?? 0} />
      <Rules table={table} />
    </>
  );
}

const indexName = (resource: HeatResource): string | undefined =>
  resource.type === 'index' ? resource.name.split('/').at(-1) : undefined;

interface UsedProps {
  table: TableDescription;
  resource: HeatResource;
  now: PartitionReport['resources'][number] | undefined;
}

function Used({ table, resource, now }: UsedProps) {
  const index = indexName(resource);
  const burst = now?.tokens;
  const decreases =
    (index === undefined
      ? table.ProvisionedThroughput
      : table.GlobalSecondaryIndexes?.find((one) => one.IndexName === index)?.ProvisionedThroughput
    )?.NumberOfDecreasesToday ?? 0;
  const from = Date.parse(resource.from);
  return (
    <section class="card" aria-label={index ?? table.TableName}>
      <header>
        <h2>{index === undefined ? 'Table' : `Index ${index}`}</h2>
        <a
          class="small"
          href={href(['tables', table.TableName, 'heat'], index === undefined ? {} : { index })}
        >
          {plural(now?.partitions.length ?? 0, 'partition')}
        </a>
      </header>
      <div class="card-body stack">
        <div class="charts">
          {(['read', 'write'] as const).map((kind) => (
            <Chart
              key={kind}
              label={kind === 'read' ? 'Read units' : 'Write units'}
              kind={kind}
              from={from}
              columnSeconds={resource.columnSeconds}
              used={resource.consumed[kind]}
              refused={resource.refused[kind]}
              limit={now?.provisioned?.[kind] ?? null}
            />
          ))}
        </div>
        {now && (
          <dl class="limit-facts">
            {now.provisioned && burst && (
              <div>
                <dt>Burst capacity: unused units kept for 5 minutes</dt>
                <dd>
                  <strong>{amount(Math.max(0, burst.read ?? 0))}</strong> read,{' '}
                  <strong>{amount(Math.max(0, burst.write ?? 0))}</strong> write units
                </dd>
              </div>
            )}
            <div>
              <dt>Warm: ready at once for</dt>
              <dd>
                <strong>{amount(now.warm.read)}</strong> read,{' '}
                <strong>{amount(now.warm.write)}</strong> write units a second
              </dd>
            </div>
            {now.provisioned && (
              <div>
                <dt>Decreases today</dt>
                <dd>
                  <strong>{decreases}</strong>
                </dd>
              </div>
            )}
          </dl>
        )}
        <Fixes
          table={table}
          index={index}
          calm={!resource.refused.read.concat(resource.refused.write).some((one) => one > 0)}
        />
      </div>
    </section>
  );
}
