// What a design would do: served or not, heat of its partitions over time, why, and what cures it.
import type { Prices } from '../../model/cost.ts';
import { accessOf, inUnits, reasonWords } from '../../model/reason.ts';
import {
  costsOf,
  type Design,
  type Outcome,
  type OutcomeResource,
  partsOf,
  served,
  type Tried,
  type Trouble,
} from '../../model/scenario.ts';
import { bytes, count, duration, percent, plural, unitRate } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { heatStep } from '../../ui/strip.tsx';
import { MissingPrices } from '../capacity/prices.tsx';

interface Props {
  design: Design;
  outcome: Outcome;
  before: { design: Design; outcome: Outcome } | null;
  prices: Prices;
  // null: they are being played.
  cures: readonly Tried[] | null;
  // It is the outcome of the design before the last change.
  stale: boolean;
  onApply: (design: Design) => void;
  onKeep: () => void;
  onBack: () => void;
}

const money = (n: number): string =>
  `$${n.toLocaleString('en-US', { maximumFractionDigits: n < 100 ? 2 : 0 })}`;

// A month of capacity or requests and of what is stored, in words.
function monthText(design: Design, outcome: Outcome, prices: Prices): string {
  const costs = costsOf(design, outcome, prices);
  if (costs.capacity !== null) return money(costs.capacity + costs.storage);
  return costs.storage < 0.005
    ? 'price of requests needed'
    : `${money(costs.storage)} of storage; price of requests needed`;
}

export function OutcomeView(props: Props) {
  const { design, outcome, before, prices, cures, stale, onApply, onKeep, onBack } = props;
  const part = served(outcome);
  const parts = partsOf(outcome);
  const costs = costsOf(design, outcome, prices);
  return (
    <>
      <section class="card" aria-labelledby="outcome-title">
        <header>
          <h2 id="outcome-title" tabIndex={-1}>
            {stale
              ? 'Computing…'
              : part >= 1
                ? 'Everything is served'
                : `${parts.refused} of the requests are refused`}
          </h2>
          {!stale && (
            <span class={`badge ${part >= 1 ? 'good' : 'bad'}`}>{parts.served} served</span>
          )}
        </header>
        <div class={`card-body stack ${stale ? 'stale' : ''}`}>
          <dl class="limit-facts" aria-live="polite">
            <Fact
              name="Served"
              now={parts.served}
              before={before && partsOf(before.outcome).served}
              bad={part < 1}
            />
            <Fact
              name={
                design.billing === 'on-demand'
                  ? 'A month, requests and storage'
                  : 'A month, capacity and storage'
              }
              now={monthText(design, outcome, prices)}
              before={before && monthText(before.design, before.outcome, prices)}
            />
            <Fact
              name="Partitions"
              now={partitions(outcome)}
              before={before && partitions(before.outcome)}
            />
          </dl>
          {costs.capacity === null && <MissingPrices prices={prices} of="A month of requests" />}
          {costs.growthBytes > 0 && (
            <p class="hint">
              New items: a month of this adds {bytes(costs.growthBytes)}, and with it{' '}
              {money(costs.growth)} to what storage costs each month.
            </p>
          )}
          {part < 1 && (
            <div aria-live="polite">
              {cures === null ? (
                <p class="small muted">Trying what would cure it…</p>
              ) : cures.length === 0 ? (
                <p class="small muted">
                  Neither capacity nor suffixes help here: change the keys or the traffic.
                </p>
              ) : (
                <>
                  <h3 class="small muted">Try a cure; the outcome of now stays beside it</h3>
                  <div class="cures">
                    {cures.map((one) => (
                      <button
                        key={one.label}
                        type="button"
                        class="small"
                        disabled={stale}
                        onClick={() => onApply(one.design)}
                      >
                        <Icon name="check" />
                        <span>
                          {one.label}
                          {one.outcome && (
                            <span class="muted">
                              : {partsOf(one.outcome).served} served,{' '}
                              {costsOf(one.design, one.outcome, prices).capacity === null
                                ? 'price needed'
                                : `${monthText(one.design, one.outcome, prices)} a month`}
                            </span>
                          )}
                        </span>
                      </button>
                    ))}
                  </div>
                </>
              )}
            </div>
          )}
          <div class="row wrap">
            {before === null ? (
              <button type="button" class="small quiet" onClick={onKeep}>
                <Icon name="pin" />
                Compare later changes with this
              </button>
            ) : (
              <button type="button" class="small quiet" onClick={onBack}>
                <Icon name="left" />
                Back to the one before
              </button>
            )}
          </div>
        </div>
      </section>
      {outcome.resources.map((one) => (
        <div key={`${one.kind} ${one.name}`} class={stale ? 'stale' : ''}>
          <Resource resource={one} outcome={outcome} />
        </div>
      ))}
      <details class="card card-body">
        <summary>The whole report</summary>
        <pre class="report">{outcome.summary}</pre>
      </details>
    </>
  );
}

const partitions = (outcome: Outcome): string =>
  count(outcome.resources.reduce((all, one) => all + one.partitions_after, 0));

function Fact({
  name,
  now,
  before,
  bad,
}: {
  name: string;
  now: string;
  before: string | null;
  bad?: boolean;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <strong class={bad ? 'bad-text' : ''}>{now}</strong>
        {before !== null && before !== now && <span class="muted"> before: {before}</span>}
      </dd>
    </div>
  );
}

function Resource({ resource, outcome }: { resource: OutcomeResource; outcome: Outcome }) {
  const name = resource.kind === 'index' ? `Index ${resource.name.split('/').at(-1)}` : 'Table';
  const split = resource.partitions_after - resource.partitions_before;
  return (
    <section class="card" aria-label={`${name}: outcome`}>
      <header>
        <h2>{name}</h2>
        <span class="muted small">
          {plural(resource.partitions_after, 'partition')}
          {split > 0 && `, ${plural(split, 'split')}`}
        </span>
      </header>
      <div class="card-body stack">
        <Heat resource={resource} outcome={outcome} />
        {resource.hottest[0] && (
          <p class="small">
            Hottest key <code class="key">{resource.hottest[0].key}</code> has{' '}
            {percent(resource.hottest[0].share)} of the heat.
          </p>
        )}
        {resource.throttled.map((one) => (
          <Why key={one.reason} trouble={one} />
        ))}
      </div>
    </section>
  );
}

function Why({ trouble }: { trouble: Trouble }) {
  return (
    <div class="note warn">
      <p>
        <strong>{reasonWords(trouble.reason)}.</strong> {count(trouble.requests)} requests; the
        busiest second asked for {unitRate(trouble.demand, accessOf(trouble.reason))}; the limit is{' '}
        {unitRate(trouble.limit, accessOf(trouble.reason))}. What follows is for that second.
      </p>
      {trouble.advice.map((one) => (
        <p key={one}>{inUnits(one)}</p>
      ))}
    </div>
  );
}

// Each line is a partition, from the first hash to the last; time to the right.
function Heat({ resource, outcome }: { resource: OutcomeResource; outcome: Outcome }) {
  const rows = resource.heat.slice(0, 256);
  const columns = rows[0]?.heat.length ?? 0;
  if (columns === 0) return null;
  const height = Math.max(8, Math.min(120, rows.length * 14));
  const most = Math.max(0, ...rows.map((row) => Math.max(0, ...row.heat)));
  const line = height / rows.length;
  return (
    <figure class="design-heat">
      <svg
        viewBox={`0 0 ${columns} ${height}`}
        preserveAspectRatio="none"
        style={{ height: `${Math.max(36, height)}px` }}
        role="img"
        aria-label={`Heat of ${plural(rows.length, 'partition')} over ${duration(outcome.duration_seconds)}: at most ${percent(most)} of what one can do`}
      >
        {rows.map((row, i) =>
          runs(row.heat).map((run) => (
            <rect
              key={`${row.partition} ${run.from}`}
              class={`h${run.step}`}
              x={run.from}
              y={i * line}
              width={run.to - run.from}
              height={Math.max(0.2, line - (rows.length > 60 ? 0 : 0.6))}
            />
          )),
        )}
      </svg>
      <figcaption class="small muted chart-foot">
        <span>
          {plural(rows.length, 'partition')}, the hottest at {percent(most)} of what one can do
        </span>
        <span>{duration(outcome.duration_seconds)}</span>
      </figcaption>
    </figure>
  );
}

// Neighbours of the same colour are one rectangle.
function runs(heat: readonly number[]): { from: number; to: number; step: number }[] {
  const found: { from: number; to: number; step: number }[] = [];
  heat.forEach((one, i) => {
    const step = heatStep(one);
    const open = found.at(-1);
    if (open && open.step === step) open.to = i + 1;
    else found.push({ from: i, to: i + 1, step });
  });
  return found;
}
