// Takes a range of time back: what it would do first, then page by page, with what was left alone.
import { useEffect, useRef, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { undo } from '../../api/past.ts';
import { guard } from '../../app/router.ts';
import { boot, refresh } from '../../app/state.ts';
import {
  emptySums,
  goThrough,
  itemsOf,
  momentField,
  type Outcome,
  type Undone,
  type UndoSums,
} from '../../model/past.ts';
import type { TableDescription } from '../../model/table.ts';
import { Code } from '../../ui/code.tsx';
import { ask } from '../../ui/dialog.tsx';
import { count, plural } from '../../ui/format.ts';
import { say } from '../../ui/told.tsx';
import { historyAddress, keyWords } from './difference.tsx';
import { type KeptPast, PastError } from './kept.tsx';

interface Props {
  table: TableDescription;
  kept: KeptPast;
  from: string;
  to: string;
}

type State =
  | { is: 'idle' }
  // `expected`: how many items a dry run found; null: this is the dry run.
  | { is: 'running'; sums: UndoSums; expected: number | null }
  | { is: 'over'; sums: UndoSums; expected: number | null; applied: boolean; stopped: boolean };

const kPage = 100;
const kDryPage = 1000;
// Above this many, or on a server marked production, the name of the table has to be typed.
const kTypedAbove = 100;

export function Undo({ table, kept, from, to }: Props) {
  const name = table.TableName;
  const [state, setState] = useState<State>({ is: 'idle' });
  const [error, setError] = useState<unknown>(null);
  const abort = useRef<AbortController | null>(null);
  const running = state.is === 'running';
  const applying = running && state.expected !== null;
  useEffect(() => () => abort.current?.abort(), []);
  useEffect(
    () => guard(() => (applying ? 'The undo is under way: it stops between two items.' : null)),
    [applying],
  );

  const run = async (expected: number | null) => {
    const apply = expected !== null;
    abort.current = new AbortController();
    const { signal } = abort.current;
    let sums = emptySums();
    setError(null);
    setState({ is: 'running', sums, expected });
    let stopped = false;
    try {
      await goThrough(
        (start) => undo(name, { from, to, start, apply, limit: apply ? kPage : kDryPage }, signal),
        (known) => {
          sums = known;
          setState({ is: 'running', sums, expected });
        },
      );
    } catch (failure) {
      stopped = true;
      if (!isStopped(failure)) setError(failure);
    }
    setState({ is: 'over', sums, expected, applied: apply, stopped });
    if (!apply) return;
    if (!stopped) say('The range of time was taken back');
    void refresh();
  };

  const apply = async (sums: UndoSums) => {
    const items = sums.counts.put + sums.counts.delete;
    const yes = await ask({
      title: `Undo ${plural(items, 'change')} of ${name}?`,
      body: `${plural(sums.counts.put, 'item')} put back, ${plural(sums.counts.delete, 'item')} deleted. Each is written only if it still is what it was at ${momentField(Date.parse(to))} UTC.`,
      confirm: 'Undo',
      dangerous: true,
      typed: items > kTypedAbove || boot.peek()?.production ? name : undefined,
    });
    if (yes) await run(itemsOf(sums));
  };

  const sums = state.is === 'idle' ? null : state.sums;
  const dry = state.is === 'over' && !state.applied && !state.stopped ? state.sums : null;
  const todo = dry === null ? 0 : dry.counts.put + dry.counts.delete;
  const readOnly = boot.value?.readOnly ? 'This console is read-only' : undefined;
  const past = state.is === 'over' && state.applied;
  return (
    <section class="card" aria-labelledby="undo">
      <header>
        <h2 id="undo">Undo this time</h2>
        {state.is === 'over' && (
          <span class={`badge ${past ? 'good' : ''}`}>{past ? 'done' : 'dry run'}</span>
        )}
      </header>
      <div class="card-body stack tight">
        <p class="muted">
          Makes items what they were at {momentField(Date.parse(from))} UTC. What was written after{' '}
          {momentField(Date.parse(to))} UTC stays: such items are left alone. First it is tried, and
          nothing is written.
        </p>
        {running && (
          <div class="stack tight">
            <p role="status">
              {state.expected === null
                ? `Trying: ${count(itemsOf(state.sums))} items so far`
                : `${count(itemsOf(state.sums))} of ${count(state.expected)} items`}
            </p>
            {state.expected !== null && state.expected > 0 && (
              <progress
                class="undo-progress"
                aria-label="Progress of the undo"
                max={state.expected}
                value={itemsOf(state.sums)}
              />
            )}
          </div>
        )}
        {sums !== null && !running && (
          <dl class="limit-facts" aria-label={past ? 'What was done' : 'What would be done'}>
            {kRows.map(([outcome, would, did]) =>
              outcome === 'failed' && !past ? null : (
                <div key={outcome}>
                  <dt>{past ? did : would}</dt>
                  <dd>{count(sums.counts[outcome])}</dd>
                </div>
              ),
            )}
          </dl>
        )}
        {state.is === 'over' && state.stopped && past && (
          <p class="note warn" role="alert">
            It stopped before the end. What was done stays; the same undo, given again, finds it so
            and goes on.
          </p>
        )}
        {state.is === 'over' && state.stopped && !past && error === null && (
          <p class="muted">It was stopped before the end, and nothing was written.</p>
        )}
        {sums !== null && !running && (
          <>
            <Outcomes
              title={past ? 'Left alone, or failed' : 'Changed later: would be left alone'}
              table={table}
              items={sums.look}
              total={sums.counts.conflict + sums.counts.failed}
              open
            />
            <Outcomes
              title={past ? 'Taken back' : 'Would be taken back'}
              table={table}
              items={sums.rest}
              total={sums.counts.put + sums.counts.delete + sums.counts.already}
            />
          </>
        )}
        {error !== null && <PastError table={name} kept={kept} error={error} />}
        <div class="row">
          {running ? (
            <button type="button" onClick={() => abort.current?.abort()}>
              Stop
            </button>
          ) : (
            <button type="button" onClick={() => void run(null)}>
              {state.is === 'idle' ? 'Try the undo' : 'Try again'}
            </button>
          )}
          {dry !== null && todo > 0 && (
            <button
              type="button"
              class="danger"
              disabled={readOnly !== undefined}
              title={readOnly}
              onClick={() => void apply(dry)}
            >
              Undo {plural(todo, 'change')}…
            </button>
          )}
          {state.is === 'over' && past && state.stopped && (
            <button type="button" class="danger" onClick={() => void run(state.expected)}>
              Go on
            </button>
          )}
          {dry !== null && todo === 0 && <span class="muted">There is nothing to take back.</span>}
        </div>
        {dry !== null && (
          <details>
            <summary>As code</summary>
            <Code
              of={{
                management: {
                  method: 'POST',
                  path: `_stator/tables/${name}/past/undo`,
                  body: { from, to, apply: true },
                },
              }}
            />
          </details>
        )}
      </div>
    </section>
  );
}

const kRows: readonly [Outcome, string, string][] = [
  ['put', 'would be put back', 'put back'],
  ['delete', 'would be deleted', 'deleted'],
  ['already', 'as they were before', 'as they were before'],
  ['conflict', 'changed later, left alone', 'changed later, left alone'],
  ['failed', 'failed', 'failed'],
];

const kWords: Record<Outcome, [string, string]> = {
  put: ['put back', 'good'],
  delete: ['deleted', 'bad'],
  already: ['as before', ''],
  conflict: ['changed later', 'warn'],
  failed: ['failed', 'bad'],
};

interface OutcomesProps {
  title: string;
  table: TableDescription;
  items: readonly Undone[];
  total: number;
  open?: boolean;
}

const kMostShown = 200;

function Outcomes({ title, table, items, total, open = false }: OutcomesProps) {
  if (total === 0) return null;
  return (
    <details open={open}>
      <summary>
        {title}: {count(total)}
      </summary>
      <ul class="versions" aria-label={title}>
        {items.slice(0, kMostShown).map((one) => (
          <li key={JSON.stringify(one.key)} class="outcome">
            <span class={`badge ${kWords[one.outcome][1]}`}>{kWords[one.outcome][0]}</span>
            <a class="cut" href={historyAddress(table, one.key)}>
              {keyWords(table, one.key)}
            </a>
            {one.error && <span class="bad-text">{one.error}</span>}
          </li>
        ))}
      </ul>
      {total > kMostShown && <p class="hint">and {count(total - kMostShown)} more</p>}
    </details>
  );
}
