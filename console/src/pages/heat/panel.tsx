// What lies under a selected rectangle: how much, which keys, what kind of heat, what cures it.
import type { PartitionedResource, PartitionReport } from '../../api/partitions.ts';
import {
  columnTime,
  type HeatResource,
  kindOf,
  type Selection,
  summarize,
} from '../../model/heat.ts';
import { accessOf, inUnits, reasonWords } from '../../model/reason.ts';
import type { TableDescription } from '../../model/table.ts';
import { amount, clock, count, duration, percent, unitRate } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Fixes } from '../capacity/fixes.tsx';
import { Keys } from '../throttling/index.tsx';
import { useKeysOf } from './keys_of.ts';

export interface PanelProps {
  table: TableDescription;
  index: string | undefined;
  resource: HeatResource;
  selection: Selection;
  report: PartitionReport | null;
  onClose: () => void;
  onZoom: () => void;
}

export function HeatPanel({
  table,
  index,
  resource,
  selection,
  report,
  onClose,
  onZoom,
}: PanelProps) {
  const found = summarize(resource, selection);
  const from = columnTime(resource, selection.fromColumn);
  const to = columnTime(resource, selection.toColumn + 1);
  const first = resource.ranges[selection.fromRange];
  const last = resource.ranges[selection.toRange];
  const known = report?.resources.find(
    (one) => one.name === resource.name && one.type === resource.type,
  );
  const lowest = first?.from.hash ?? '0000000000000000';
  const highest = last?.to?.hash ?? null;
  const partitions = (known?.partitions ?? []).filter(
    (one) =>
      (highest === null || one.from.hash < highest || one.from.hash === lowest) &&
      (one.to === null || one.to.hash > lowest),
  );
  const hottest = [...partitions].sort((a, b) => heatNow(b) - heatNow(a))[0];
  const past = useKeysOf(table.TableName, index, {
    from: String(Math.floor(from / 1000)),
    to: String(Math.ceil(to / 1000)),
    fromHash: lowest,
    ...(highest === null ? {} : { toHash: highest }),
  });
  const keys = past ?? hottest?.hottest ?? [];
  const refused = found.refused.read + found.refused.write;
  const active = reasons(
    known,
    partitions.map((one) => one.id),
  );
  return (
    <section class="card heat-panel" aria-labelledby="heat-panel-title">
      <header>
        <h2 id="heat-panel-title">
          {clock(from)} – {clock(to)} UTC
        </h2>
        <button type="button" class="small" onClick={onZoom}>
          <Icon name="search" />
          Zoom in
        </button>
        <button
          type="button"
          class="quiet square"
          aria-label="Close the selection"
          onClick={onClose}
        >
          <Icon name="close" />
        </button>
      </header>
      <div class="card-body stack">
        <dl class="limit-facts">
          <div>
            <dt>Highest heat in this time</dt>
            <dd>
              <strong class={found.most >= 0.9 ? 'bad-text' : ''}>{percent(found.most)}</strong> of
              a partition
            </dd>
          </div>
          <div>
            <dt>Consumed in {duration(found.seconds)}</dt>
            <dd>
              <strong>{amount(found.consumed.read)}</strong> read,{' '}
              <strong>{amount(found.consumed.write)}</strong> write units
            </dd>
          </div>
          <div>
            <dt>Beyond limits in this time</dt>
            <dd>
              <strong class={refused > 0 ? 'bad-text' : ''}>{amount(refused)}</strong> units
            </dd>
          </div>
          <div>
            <dt>Keys</dt>
            <dd>
              {partitions.length === 1
                ? `partition ${partitions[0]?.id}`
                : `${count(partitions.length)} partitions`}
              <br />
              <span class="small muted mono">
                hash {lowest.slice(0, 4)}… – {highest === null ? 'end' : `${highest.slice(0, 4)}…`}
              </span>
            </dd>
          </div>
        </dl>
        <p>
          {keys[0] && keys[0].share >= 0.5 ? (
            <>
              One key has {percent(keys[0].share)} of it:{' '}
              <code class="key">{keys[0].partitionKey}</code>.
            </>
          ) : (
            kindOf(resource, selection)
          )}
        </p>
        {active.map((one) => (
          <div class="note warn" key={one.reason}>
            <p>
              <strong>{reasonWords(one.reason)}.</strong> Its busiest second
              {one.at === null ? '' : `, at ${clock(Date.parse(one.at))} UTC,`} asked for{' '}
              {unitRate(one.demand, accessOf(one.reason))}; the limit is {amount(one.limit)}. What
              follows is for that second.
            </p>
            {one.advice.map((sentence) => (
              <p key={sentence}>{inUnits(sentence)}</p>
            ))}
          </div>
        ))}
        {keys.length > 0 && (
          <>
            <Keys table={table} index={index} keys={keys} title="Hottest keys there" />
            <p class="hint">
              {past !== null
                ? 'Of all units in the partitions selected, then. Keys are counted by the minute.'
                : `Keys are counted for this minute and the last, in partition ${hottest?.id}: the busiest one here.`}
            </p>
          </>
        )}
        {hottest?.notSplit && (found.most < kHot || index !== undefined) && (
          <p class="note">Not split, because {hottest.notSplit}.</p>
        )}
        <Fixes
          table={table}
          index={index}
          partition={found.most >= kHot ? hottest : undefined}
          keys={keys}
          window={{ from, to }}
        />
      </div>
    </section>
  );
}

// A split is offered from this part of what a partition can do on.
const kHot = 0.5;

const heatNow = (one: { heat: number; refused: { read: number; write: number } }): number =>
  one.heat + (one.refused.read + one.refused.write > 0 ? 1 : 0);

const reasons = (known: PartitionedResource | undefined, ids: number[]) =>
  (known?.refused ?? []).filter(
    (one) => one.why !== null && (ids.includes(one.partition) || !/KeyRange/.test(one.reason)),
  );
