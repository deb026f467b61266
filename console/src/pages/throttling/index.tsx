// Why requests were throttled, by limit: how many, where, which keys, and what would cure it.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { management } from '../../api/management.ts';
import {
  type PartitionedResource,
  type PartitionReport,
  partitionsOf,
  type Refused,
} from '../../api/partitions.ts';
import { poll } from '../../app/live.ts';
import { href } from '../../app/router.ts';
import { boot, refresh, watchClosely } from '../../app/state.ts';
import { accessOf, inUnits, reasonWords } from '../../model/reason.ts';
import type { TableDescription } from '../../model/table.ts';
import { Choice } from '../../ui/field.tsx';
import { amount, clock, count, percent, unitRate } from '../../ui/format.ts';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import { Fixes } from '../capacity/fixes.tsx';
import { useKeysOf } from '../heat/keys_of.ts';
import { Past } from './past.tsx';

type Mode = PartitionReport['throttling'];

export default function Throttling({ table }: { table: TableDescription }) {
  useEffect(watchClosely, []);
  const [report, setReport] = useState<PartitionReport | null>(null);
  const [error, setError] = useState<unknown>(null);
  const name = table.TableName;
  const recent = useMemo(() => new Recent(name), [name]);
  useEffect(
    () =>
      poll(
        async (signal) => {
          try {
            setReport(await partitionsOf(name, signal));
            setError(null);
          } catch (failure) {
            if (!isStopped(failure)) setError(failure);
            throw failure;
          }
        },
        () => 2000,
      ),
    [name],
  );
  if (!report)
    return error !== null ? <ErrorBox error={error} /> : <p class="loading">Asking the server…</p>;
  const isActive = (resource: PartitionedResource, one: Refused) =>
    recent.seen(idOf(resource, one), one, Date.parse(report.now));
  const refused = report.resources.flatMap((resource) =>
    resource.refused.map((one) => ({ resource, one })),
  );
  refused.sort(
    (a, b) =>
      Number(isActive(b.resource, b.one)) - Number(isActive(a.resource, a.one)) ||
      Number(b.one.why !== null) - Number(a.one.why !== null) ||
      b.one.units - a.one.units,
  );
  // A limit keeps the place where the page showed it first: text does not move under its reader.
  const places = recent.placesOf(refused.map(({ resource, one }) => idOf(resource, one)));
  refused.sort(
    (a, b) =>
      (places.get(idOf(a.resource, a.one)) ?? 0) - (places.get(idOf(b.resource, b.one)) ?? 0),
  );
  return (
    <>
      <section class="card card-body throttle-mode">
        <ModeChoice
          name={name}
          mode={report.throttling}
          onChanged={(throttling) => setReport({ ...report, throttling })}
        />
        <p class="muted">{kModeWords[report.throttling]}</p>
      </section>
      {report.throttling === 'off' ? (
        <div class="empty">
          <h2>Throughput is not measured</h2>
          <p class="muted">
            Switch to observe: nothing is refused, and this page says what a table of DynamoDB would
            have refused.
          </p>
        </div>
      ) : refused.length === 0 ? (
        <div class="empty">
          <h2>No request was beyond a limit</h2>
          <p class="muted">
            Not of the table and the indexes that it has now, since the server started. What was
            refused of ones that are gone is listed below as earlier.
          </p>
          <a class="button" href={href(['tables', name, 'heat'])}>
            Show the heat
          </a>
        </div>
      ) : (
        refused.map(({ resource, one }) => (
          <Limit
            key={idOf(resource, one)}
            table={table}
            resource={resource}
            refused={one}
            passed={report.throttling !== 'enforce'}
            active={isActive(resource, one)}
          />
        ))
      )}
      <Past table={name} />
    </>
  );
}

const idOf = (resource: PartitionedResource, refused: Refused): string =>
  `${resource.name} ${refused.reason}`;

// Longer than the pauses of a load that is refused again and again.
const kActiveMs = 30_000;

// Which limits refuse now: those whose count rises from look to look.
class Recent {
  private readonly counts = new Map<string, { requests: number; at: number }>();
  private readonly places = new Map<string, number>();
  constructor(readonly table: string) {}

  seen(id: string, refused: Refused, now: number): boolean {
    const known = this.counts.get(id);
    const since = known?.at ?? (refused.at === null ? 0 : Date.parse(refused.at));
    const at = known !== undefined && refused.requests > known.requests ? now : since;
    this.counts.set(id, { requests: refused.requests, at });
    return now - at < kActiveMs;
  }

  // Newcomers come last.
  placesOf(ids: readonly string[]): ReadonlyMap<string, number> {
    for (const id of ids) if (!this.places.has(id)) this.places.set(id, this.places.size);
    return this.places;
  }
}

const kModeWords: Record<Mode, string> = {
  enforce: 'Requests beyond a limit are refused, as by the service.',
  observe: 'Requests beyond a limit are counted and let pass.',
  off: 'Nothing is measured.',
};

function ModeChoice({
  name,
  mode,
  onChanged,
}: {
  name: string;
  mode: Mode;
  onChanged: (mode: Mode) => void;
}) {
  const change = async (wanted: Mode) => {
    if (boot.peek()?.readOnly) {
      say('This console is read-only', 'bad');
      return;
    }
    try {
      await management(`tables/${encodeURIComponent(name)}/throttling`, {
        method: 'PUT',
        body: { mode: wanted },
        table: name,
      });
      onChanged(wanted);
      await refresh();
    } catch (error) {
      sayError(error);
    }
  };
  return (
    <Choice<Mode>
      legend="Throttling of this table"
      value={mode}
      options={[
        { value: 'observe', label: 'Observe' },
        { value: 'enforce', label: 'Enforce' },
        { value: 'off', label: 'Off' },
      ]}
      onChange={(wanted) => void change(wanted)}
    />
  );
}

interface LimitProps {
  table: TableDescription;
  resource: PartitionedResource;
  refused: Refused;
  passed: boolean;
  // Whether requests are beyond the limit now.
  active: boolean;
}

function Limit({ table, resource, refused, passed, active }: LimitProps) {
  const index =
    resource.type === 'index' ? (resource.name.split('/').at(-1) ?? resource.name) : undefined;
  const partition = resource.partitions.find((one) => one.id === refused.partition);
  const perPartition = /KeyRange/.test(refused.reason);
  const sentences = inUnits(refused.why ?? '').split(/(?<=\.) (?=[A-Z])/);
  const kind = accessOf(refused.reason);
  const at = refused.at === null ? null : Date.parse(refused.at) / 1000;
  // When it is over, the keys of then: those of now are others.
  const then = useKeysOf(
    table.TableName,
    index,
    active || at === null || !partition
      ? null
      : {
          from: String(Math.floor(at) - 60),
          to: String(Math.floor(at) + 60),
          fromHash: partition.from.hash,
          ...(partition.to === null ? {} : { toHash: partition.to.hash }),
        },
  );
  const keys = (active ? partition?.hottest : then) ?? [];
  const title = (
    <>
      {reasonWords(refused.reason)}
      {index !== undefined && <span class="muted"> · {index}</span>}
    </>
  );
  const now = refused.asked;
  const within = now !== undefined && now <= refused.limit;
  const split = perPartition ? partition : undefined;
  // A limit that is over when the page opens is one line. An open one stays open until the user
  // folds it, also when it ends or refuses again.
  const opened = useRef(active);
  const byHand = useRef(false);
  if (active && !byHand.current) opened.current = true;
  const body = (
    <div class="card-body stack">
      <dl class="limit-facts">
        <div>
          <dt>{passed ? 'Beyond the limit, let pass' : 'Refused'}, since the server started</dt>
          <dd>
            <strong>{count(refused.requests)}</strong> requests, {amount(refused.units)} {kind}{' '}
            units
          </dd>
        </div>
        <div>
          <dt>Limit</dt>
          <dd>
            <strong>{unitRate(refused.limit, kind)}</strong>
          </dd>
        </div>
        {now !== undefined && (
          <div>
            <dt>Asked for now</dt>
            <dd>
              <strong class={now > refused.limit ? 'bad-text' : ''}>{unitRate(now, kind)}</strong>
            </dd>
          </div>
        )}
        {refused.demand > 0 && (
          <div>
            <dt>Busiest second{at === null ? '' : `, at ${clock(at * 1000)} UTC`}</dt>
            <dd>
              <strong>{unitRate(refused.demand, kind)}</strong>
            </dd>
          </div>
        )}
        <div>
          <dt>Most in</dt>
          <dd>
            <a
              href={href(['tables', table.TableName, 'heat'], {
                partition: String(refused.partition),
                index,
              })}
            >
              partition {refused.partition}
            </a>
            {!partition && <span class="small muted"> split since</span>}
          </dd>
        </div>
      </dl>
      {refused.why !== null ? (
        <p class="why">
          {now !== undefined && refused.demand > kPeak * now && (
            <span class="muted">In its busiest second: </span>
          )}
          {sentences[0]}
        </p>
      ) : (
        <p class="muted">The demand is below the limit again. Below is what was asked for then.</p>
      )}
      {keys.length > 0 && (
        <Keys table={table} index={index} keys={keys} title={active ? undefined : kThen} />
      )}
      {(split === undefined || index !== undefined) && partition?.notSplit && (
        <p class="note">Not split, because {partition.notSplit}.</p>
      )}
      {refused.advice.length > 0 && (
        <ul class="advice">
          {refused.advice.map((one) => (
            <li key={one}>{inUnits(one)}</li>
          ))}
        </ul>
      )}
      <Fixes table={table} index={index} partition={split} keys={keys} calm={!active} />
    </div>
  );
  return (
    <section aria-label={reasonWords(refused.reason)}>
      <details
        class={`card limit ${active ? '' : 'ended'}`}
        open={opened.current}
        onToggle={(event) => {
          const { open } = event.currentTarget;
          if (open === opened.current) return;
          byHand.current = true;
          opened.current = open;
        }}
      >
        <summary class="pad">
          <h2>{title}</h2>
          <span class={`badge ${active && !within ? 'bad' : ''}`}>
            {!active ? 'ended' : within ? 'within the limit now' : 'now'}
          </span>
          {!active && (
            <span class="small muted">
              {count(refused.requests)} requests
              {at === null ? '' : `, the most at ${clock(at * 1000)} UTC`}
            </span>
          )}
        </summary>
        {body}
      </details>
    </section>
  );
}

// A peak is told as one where it is so many times what is asked for now.
const kPeak = 1.1;
const kLeastShare = 0.01;
const kThen = 'Hottest keys there, then';

export function Keys({
  table,
  index,
  keys,
  title = 'Hottest keys there, in the last two minutes',
}: {
  table: TableDescription;
  index: string | undefined;
  keys: readonly { partitionKey: string; share: number }[];
  title?: string | undefined;
}) {
  // Keys that have next to nothing beside a hot one are noise.
  const busy = keys.filter((one) => one.share >= kLeastShare);
  const known = busy.length > 0 ? busy : keys;
  return (
    <div class="hot-keys">
      <h3 class="small muted">{title}</h3>
      <ul>
        {known.slice(0, 5).map((one) => (
          <li key={one.partitionKey}>
            {one.partitionKey === '' ? (
              <span class="muted">keys that are not known</span>
            ) : (
              <a
                class="cut"
                href={href(
                  ['tables', table.TableName, 'items'],
                  [
                    ...(index === undefined ? [] : ([['index', index]] as const)),
                    ['pk', one.partitionKey],
                  ],
                )}
              >
                {one.partitionKey}
              </a>
            )}
            <span class="share">
              <span style={{ width: `${Math.min(100, one.share * 100)}%` }} />
            </span>
            <span class="num muted">{percent(one.share)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
