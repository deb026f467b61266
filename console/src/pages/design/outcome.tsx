// What a design would do: served or not, heat of its partitions over time, why, and what cures it.
import { reasonWords } from '../../model/reason.ts';
import {
  type Cure,
  type Design,
  monthOf,
  type Outcome,
  type OutcomeResource,
  served,
  type Trouble,
} from '../../model/scenario.ts';
import { amount, count, duration, percent, plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { heatStep } from '../../ui/strip.tsx';

interface Props {
  design: Design;
  outcome: Outcome;
  before: Outcome | null;
  cures: readonly Cure[];
  onApply: (design: Design) => void;
  onKeep: () => void;
  onBack: () => void;
}

const money = (n: number): string =>
  `$${n.toLocaleString('en-US', { maximumFractionDigits: n < 100 ? 2 : 0 })}`;
const onDemand = (design: Design) => design.billing === 'on-demand';

export function OutcomeView({ design, outcome, before, cures, onApply, onKeep, onBack }: Props) {
  const part = served(outcome);
  return (
    <>
      <section class="card" aria-labelledby="outcome-title">
        <header>
          <h2 id="outcome-title" tabIndex={-1}>
            {part >= 1
              ? 'Everything is served'
              : `${percent(1 - part)} of the requests are refused`}
          </h2>
          <span class={`badge ${part >= 1 ? 'good' : 'bad'}`}>{percent(part)} served</span>
        </header>
        <div class="card-body stack">
          <dl class="limit-facts" aria-live="polite">
            <Fact
              name="Served"
              now={percent(part)}
              before={before && percent(served(before))}
              bad={part < 1}
            />
            <Fact
              name="A month, capacity and storage"
              now={onDemand(design) ? 'by request' : money(monthOf(outcome))}
              before={before && (monthOf(before) > 0 ? money(monthOf(before)) : 'by request')}
            />
            <Fact
              name="Partitions"
              now={partitions(outcome)}
              before={before && partitions(before)}
            />
          </dl>
          {cures.length > 0 && (
            <div>
              <h3 class="small muted">Try a cure; the outcome of now stays beside it</h3>
              <div class="row wrap">
                {cures.map((one) => (
                  <button
                    key={one.label}
                    type="button"
                    class="small"
                    onClick={() => onApply(one.design)}
                  >
                    <Icon name="check" />
                    {one.label}
                  </button>
                ))}
              </div>
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
        <Resource key={`${one.kind} ${one.name}`} resource={one} outcome={outcome} />
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
        <strong>{reasonWords(trouble.reason)}.</strong> {count(trouble.requests)} requests; at worst{' '}
        {amount(trouble.demand)} units a second were asked for, and {amount(trouble.limit)} are the
        limit.
      </p>
      {trouble.advice.map((one) => (
        <p key={one}>{one}</p>
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
