// A key design is played on the partition model before its table exists: left what is designed,
// right what would happen, with cures to apply and the outcome before beside the one of now.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { management, query as queryText } from '../../api/management.ts';
import { partitionsOf } from '../../api/partitions.ts';
import { describe } from '../../api/tables.ts';
import { useKeys } from '../../app/keys.ts';
import { go, href, route } from '../../app/router.ts';
import { boot } from '../../app/state.ts';
import { emptyForm, emptyIndex } from '../../model/create.ts';
import { columnTime, type HeatReply } from '../../model/heat.ts';
import {
  type Advised,
  bytesOf,
  cures,
  type Design,
  emptyDesign,
  helpful,
  isTooLong,
  kExamples,
  type Outcome,
  scenarioOf,
  shorter,
  type Tried,
  withAdvice,
} from '../../model/scenario.ts';
import { isOnDemand, keyNames, keysOf, type TableDescription } from '../../model/table.ts';
import { CodeText } from '../../ui/code.tsx';
import { saveFile } from '../../ui/file.ts';
import { clock } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox } from '../../ui/told.tsx';
import { CapacityDialog } from '../capacity/fixes.tsx';
import { PriceFields, usePrices } from '../capacity/prices.tsx';
import { handedOver } from '../create/handed_over.ts';
import { CapacityAlone } from './alone.tsx';
import { DesignFields } from './fields.tsx';
import { OutcomeView } from './outcome.tsx';

const kDelayMs = 300;

const played = (scenario: string, signal: AbortSignal): Promise<Outcome> =>
  management<Outcome>('simulate', {
    method: 'POST',
    body: { scenario },
    signal,
    background: true,
  });

// The cures of what was played, each played as well, one after the other; null: not yet.
function useTried(
  now: Played | null,
  play: (design: Design, signal: AbortSignal) => Promise<Outcome>,
  onTooLong: () => void,
): Tried[] | null {
  const [tried, setTried] = useState<{ of: Played; cures: Tried[] } | null>(null);
  useEffect(() => {
    if (!now) return;
    const abort = new AbortController();
    void (async () => {
      const found: Tried[] = [];
      for (const cure of cures(now.design, now.outcome)) {
        let tooLong = false;
        const outcome = await play(cure.design, abort.signal).catch((failure) => {
          tooLong = isTooLong(failure);
          return null;
        });
        if (abort.signal.aborted) return;
        if (tooLong && shorter(now.design.minutes) !== null) return onTooLong();
        found.push({ ...cure, outcome });
      }
      setTried({ of: now, cures: helpful(now.outcome, found) });
    })();
    return () => abort.abort();
  }, [now]);
  return tried?.of === now ? tried.cures : null;
}

// Whether only the time to play was changed.
const isAsItWas = (was: Design, now: Design): boolean =>
  JSON.stringify({ ...was, minutes: '' }) === JSON.stringify({ ...now, minutes: '' });

interface Played {
  design: Design;
  outcome: Outcome;
}

// What was designed stays while the page is left and come back to.
let last: Design = kExamples[0]?.design ?? emptyDesign();
// The example, or the table's own design, that it began with.
let given: Design = last;
// A design of the user that another one took the place of; null: none.
let mine: Design | null = null;
const isEdited = (): boolean => JSON.stringify(last) !== JSON.stringify(given);
// Begins with another design.
function give(next: Design): void {
  if (isEdited()) mine = last;
  given = next;
  last = next;
}

// The table and the time that the address names: what it was asked for is the design to begin with.
interface Origin {
  table: TableDescription;
  from: number;
  to: number;
  design: Design;
  advised: readonly Advised[];
}

async function loadOrigin(name: string, from: string | null, to: string | null): Promise<Origin> {
  const window = from !== null && to !== null ? { from, to } : { last: '3m', step: '1s' };
  const [table, heat, report] = await Promise.all([
    describe(name),
    management<HeatReply>(`tables/${encodeURIComponent(name)}/heat${queryText(window)}`, {
      table: name,
      background: true,
    }),
    partitionsOf(name),
  ]);
  const { designOf } = await import('../../model/from_table.ts');
  const first = heat.resources[0];
  return {
    table,
    from: first ? columnTime(first, 0) : 0,
    to: first ? columnTime(first, first.columns) : 0,
    design: designOf(table, heat, report),
    advised:
      report.resources
        .find((one) => one.type === 'table')
        ?.refused.filter((one) => one.why !== null) ?? [],
  };
}

export default function DesignPage() {
  const { query } = route.value;
  const of = query.get('of');
  const from = query.get('from');
  const to = query.get('to');
  const [origin, setOrigin] = useState<Origin | null>(null);
  const [failed, setFailed] = useState<unknown>(null);
  useEffect(() => {
    setOrigin(null);
    setFailed(null);
    if (of === null) return;
    let wanted = true;
    loadOrigin(of, from, to).then(
      (found) => {
        if (!wanted) return;
        give(found.design);
        setOrigin(found);
      },
      (error) => wanted && setFailed(error),
    );
    return () => {
      wanted = false;
    };
  }, [of, from, to]);
  if (failed !== null) return <ErrorBox error={failed} />;
  if (of !== null && origin === null) return <p class="loading">Asking what {of} was asked for…</p>;
  return <Designer key={`${of} ${from} ${to}`} origin={origin} />;
}

function Designer({ origin }: { origin: Origin | null }) {
  const [changing, setChanging] = useState(false);
  const [design, setDesignState] = useState<Design>(last);
  const [now, setNow] = useState<Played | null>(null);
  const [before, setBefore] = useState<Played | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  // The next outcome gets the focus: a cure was chosen, or the page was opened for its outcome.
  const toOutcome = useRef(origin !== null);
  const [again, setAgain] = useState(0);
  const own = usePrices();
  const { prices } = own;
  const build = (of: Design) => scenarioOf(of, boot.value?.prices ? prices : undefined);
  const built = useMemo(() => build(design), [design, own.own]);
  // The minutes that were designed, while fewer are played.
  const [asked, setAsked] = useState<string | null>(null);
  const lower = (of: Design): boolean => {
    const minutes = shorter(of.minutes);
    if (minutes === null) return false;
    setAsked((before) => before ?? of.minutes);
    setDesign({ ...of, minutes });
    return true;
  };
  const tried = useTried(
    now,
    (of, signal) => played(build(of).toml, signal),
    () => now && lower(now.design),
  );
  // What is shown is not yet the outcome of what is designed.
  const waits = error === null && built.errors.size === 0 && now?.design !== design;
  const setDesign = (next: Design) => {
    last = next;
    setDesignState(next);
  };
  useEffect(() => {
    if (built.errors.size > 0) return;
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      setBusy(true);
      try {
        const outcome = await played(built.toml, abort.signal);
        // As long as the table is as it is, the server's advice for it holds.
        const advised = origin && isAsItWas(origin.design, design) ? origin.advised : [];
        setNow({ design, outcome: withAdvice(outcome, advised) });
        setError(null);
      } catch (failure) {
        if (isStopped(failure)) return;
        if (!isTooLong(failure) || !lower(design)) setError(failure);
      } finally {
        setBusy(false);
      }
    }, kDelayMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [built, design, again]);
  useEffect(() => {
    if (!now || !toOutcome.current) return;
    toOutcome.current = false;
    const at = document.activeElement;
    // Whoever went on meanwhile is left alone.
    if (at === null || at === document.body || at.matches('main, main *:disabled'))
      document.getElementById('outcome-title')?.focus({ preventScroll: true });
  }, [now]);
  useKeys(
    { 'ctrl+enter': () => document.getElementById('outcome-title')?.focus() },
    { 'Ctrl Enter': 'To the outcome' },
  );
  const change = (changed: Design) => {
    if (changed.minutes !== design.minutes) setAsked(null);
    setDesign(changed);
  };
  const apply = (changed: Design) => {
    toOutcome.current = true;
    setBefore(now);
    setDesign(changed);
  };
  return (
    <>
      <header class="page-head">
        <h1>Design</h1>
        <span class="muted">
          {origin ? (
            <>
              what{' '}
              <a href={href(['tables', origin.table.TableName, 'heat'])}>
                {origin.table.TableName}
              </a>{' '}
              was asked for from {clock(origin.from)} to {clock(origin.to)} UTC, played again
            </>
          ) : (
            'what a table would do, before it exists'
          )}
        </span>
        <div class="row">
          <button
            type="button"
            disabled={built.errors.size > 0}
            onClick={() => saveFile(`${design.table}.toml`, [built.toml], 'text/plain')}
          >
            <Icon name="download" />
            Scenario
          </button>
          {origin && !isOnDemand(origin.table) && design.billing === 'provisioned' && (
            <button
              type="button"
              class="primary"
              disabled={built.errors.size > 0 || boot.value?.readOnly}
              onClick={() => setChanging(true)}
            >
              Give {origin.table.TableName} this capacity…
            </button>
          )}
          <button
            type="button"
            class={origin ? '' : 'primary'}
            disabled={built.errors.size > 0 || boot.value?.readOnly}
            onClick={() => {
              handedOver.put(formFrom(design));
              void go(href(['tables', 'new']));
            }}
          >
            Create this table…
          </button>
        </div>
      </header>
      {origin && (
        <p class="hint">
          Played is the mean of that time. The advice is that of Throttling: its numbers are for the
          busiest second, as the sentence says.
        </p>
      )}
      {changing && origin && (
        <CapacityDialog
          table={origin.table}
          index={undefined}
          wanted={{ read: design.read, write: design.write }}
          onClose={() => setChanging(false)}
        >
          <CapacityAlone
            was={origin.design}
            design={design}
            attribute={keyNames(keysOf(origin.table))[0] ?? 'pk'}
            play={played}
          />
        </CapacityDialog>
      )}
      <div class="row wrap" role="group" aria-label="Examples">
        {kExamples.map((one) => (
          <button
            key={one.name}
            type="button"
            class="small"
            title={one.says}
            onClick={() => {
              give(one.design);
              setBefore(null);
              change(one.design);
            }}
          >
            {one.name}
          </button>
        ))}
        <button
          type="button"
          class="small quiet"
          onClick={() => {
            const empty = emptyDesign({ table: 'new-table' });
            give(empty);
            setBefore(null);
            change(empty);
          }}
        >
          New design
        </button>
        {mine !== null && mine !== design && (
          <button
            type="button"
            class="small"
            onClick={() => {
              const back = mine as Design;
              mine = isEdited() ? design : null;
              setBefore(null);
              change(back);
            }}
          >
            Back to your design of {mine.table}
          </button>
        )}
      </div>
      <div class="design">
        <div class="stack">
          <DesignFields design={design} errors={built.errors} onChange={change} />
          <section class="card card-body" aria-label="Prices">
            <PriceFields {...own} />
          </section>
          <details class="card card-body">
            <summary>The scenario, as stator simulate plays it</summary>
            <CodeText text={built.toml} label="TOML" />
          </details>
        </div>
        <div class="stack design-outcome" aria-busy={busy || waits}>
          {asked !== null && (
            <p class="note warn" role="status">
              {asked} minutes take too long to play here: “Minutes to play” was lowered to{' '}
              {design.minutes}.
            </p>
          )}
          {error !== null && (
            <ErrorBox error={error}>
              <button
                type="button"
                onClick={() => {
                  setError(null);
                  setAgain(again + 1);
                }}
              >
                <Icon name="refresh" />
                Try again
              </button>
              {before && (
                <button
                  type="button"
                  onClick={() => {
                    setError(null);
                    setDesign(before.design);
                    setBefore(null);
                  }}
                >
                  Back to the one before
                </button>
              )}
            </ErrorBox>
          )}
          {error === null && now && built.errors.size > 0 && (
            <p class="note warn">
              A field is wrong: what is below is the outcome before that change.
            </p>
          )}
          {now && error === null ? (
            <OutcomeView
              design={now.design}
              outcome={now.outcome}
              before={before}
              prices={prices}
              cures={tried}
              stale={waits}
              onApply={apply}
              onKeep={() => setBefore(now)}
              onBack={() => {
                if (before) setDesign(before.design);
                setBefore(null);
              }}
            />
          ) : (
            error === null && <p class="loading">Playing…</p>
          )}
        </div>
      </div>
    </>
  );
}

// The form of a new table with this capacity and these indexes. Names of attributes are the user's
// to give: a scenario knows only how keys are spread.
function formFrom(design: Design) {
  const form = emptyForm();
  form.name = /^[A-Za-z0-9_.-]{3,255}$/.test(design.table) ? design.table : '';
  form.billing = design.billing === 'on-demand' ? 'PAY_PER_REQUEST' : 'PROVISIONED';
  form.read = design.read;
  form.write = design.write;
  if (design.billing === 'on-demand' && design.warmWrite !== '') {
    form.warmRead = '12000';
    form.warmWrite = design.warmWrite;
  }
  const items = Math.max(...design.traffic.map((one) => bytesOf(one.itemBytes)), 0);
  form.indexes = design.indexes.map((one) => ({
    ...emptyIndex('global'),
    name: one.name,
    // Entries that were played smaller than the items hold less than all attributes.
    projection: bytesOf(one.entryBytes) < items ? 'KEYS_ONLY' : 'ALL',
    entryBytes: one.entryBytes,
    read: one.read,
    write: one.write,
  }));
  return form;
}
