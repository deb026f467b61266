// What goes wrong on purpose, and the product's clock.
import { useEffect, useRef, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { management } from '../../api/management.ts';
import { poll } from '../../app/live.ts';
import { boot, refresh, tableNames } from '../../app/state.ts';
import { asSent, inWords, kKinds, kPresets, type Rule } from '../../model/fault.ts';
import { ask } from '../../ui/dialog.tsx';
import { focusIfLost } from '../../ui/focus.ts';
import { count, percent } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import { ClockCard } from './clock.tsx';
import { RuleDialog } from './rule.tsx';

export type Dial = Record<string, { faults: Rule[] }>;

export const tableWords = (table: string): string => (table === '*' ? 'every table' : table);

// Replaces the rules of one table.
export async function setRules(table: string, rules: readonly Rule[]): Promise<void> {
  const path = `faults/${encodeURIComponent(table)}`;
  if (rules.length === 0) await management(path, { method: 'DELETE' });
  else await management(path, { method: 'PUT', body: { faults: rules.map(asSent) } });
  await refresh();
}

export default function Faults() {
  const [dial, setDial] = useState<Dial | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [adding, setAdding] = useState(false);
  const [table, setTable] = useState('*');
  const addButton = useRef<HTMLButtonElement>(null);
  const readOnly = boot.value?.readOnly ?? false;
  const why = readOnly ? 'This console is read-only' : undefined;
  const look = async (signal?: AbortSignal) => {
    setDial(await management<Dial>('faults', { signal, background: true }));
    setError(null);
  };
  useEffect(
    () =>
      poll(
        async (signal) => {
          try {
            await look(signal);
          } catch (failure) {
            if (!isStopped(failure)) setError(failure);
            throw failure;
          }
        },
        () => 2000,
      ),
    [],
  );
  const known = Object.entries(dial ?? {}).filter(([, one]) => one.faults.length > 0);
  const rulesOf = (name: string) => dial?.[name]?.faults ?? [];
  const change = async (name: string, rules: readonly Rule[], done: string) => {
    try {
      await setRules(name, rules);
      await look();
      say(done);
      focusIfLost(() => addButton.current);
    } catch (failure) {
      sayError(failure);
    }
  };
  const clear = async () => {
    const yes = await ask({
      title: 'Remove all fault rules?',
      body: 'No fault is made any more, in any table.',
      confirm: 'Remove all',
    });
    if (!yes) return;
    try {
      await management('faults', { method: 'DELETE' });
      await Promise.all([look(), refresh()]);
      say('No faults are set any more');
      focusIfLost(() => addButton.current);
    } catch (failure) {
      sayError(failure);
    }
  };
  return (
    <>
      <header class="page-head">
        <h1>Faults and clock</h1>
        <div class="row">
          {known.length > 0 && (
            <button type="button" disabled={readOnly} title={why} onClick={() => void clear()}>
              Remove all
            </button>
          )}
          <button
            ref={addButton}
            type="button"
            class="primary"
            disabled={readOnly}
            title={why}
            onClick={() => setAdding(true)}
          >
            <Icon name="plus" />
            Add a rule
          </button>
        </div>
      </header>
      {error !== null && dial === null && <ErrorBox error={error} />}
      {dial && known.length === 0 && (
        <section class="card card-body stack tight">
          <h2>No faults are set</h2>
          <p class="muted">
            In the cloud a read may be stale, a batch half done, a request throttled, an answer
            lost. A rule makes these happen here, as often as you say, so that your code meets them
            before production.
          </p>
        </section>
      )}
      {known.map(([name, { faults }]) => (
        <section class="card" key={name} aria-label={`Faults of ${tableWords(name)}`}>
          <header>
            <h2>{tableWords(name)}</h2>
          </header>
          <ul class="card-body stack tight">
            {faults.map((rule, i) => (
              <li class="rule" key={i}>
                <div>
                  <strong>{kKinds[rule.fault]?.name ?? rule.fault}</strong>{' '}
                  <span class="muted">{inWords(rule)}</span>
                  <p class="small">
                    Struck <strong class="num">{count(rule.struck ?? 0)}</strong> of{' '}
                    <span class="num">{count(rule.asked ?? 0)}</span> requests
                    {(rule.asked ?? 0) > 0 &&
                      `, ${percent((rule.struck ?? 0) / (rule.asked ?? 1))}`}
                    {rule.count !== undefined &&
                      (rule.struck ?? 0) >= rule.count &&
                      ': this rule is over'}
                  </p>
                </div>
                <button
                  type="button"
                  class="quiet square"
                  aria-label={`Remove ${kKinds[rule.fault]?.name ?? rule.fault} of ${tableWords(name)}`}
                  disabled={readOnly}
                  title={why}
                  onClick={() =>
                    void change(
                      name,
                      faults.filter((_, k) => k !== i),
                      'The rule is gone',
                    )
                  }
                >
                  <Icon name="trash" />
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <section class="card" aria-labelledby="presets-title">
        <header>
          <h2 id="presets-title">Try one of these</h2>
          <div class="row small">
            <span>on</span>
            <select
              aria-label="Tables of the preset"
              value={table}
              onChange={(event) => setTable(event.currentTarget.value)}
            >
              <option value="*">every table</option>
              {tableNames.value.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </div>
        </header>
        <ul class="card-body presets">
          {kPresets.map((preset) => (
            <li key={preset.name}>
              <button
                type="button"
                class="preset"
                disabled={readOnly || dial === null}
                title={why}
                onClick={() =>
                  void change(
                    table,
                    [...rulesOf(table), ...preset.rules],
                    `${preset.name}: set for ${tableWords(table)}`,
                  )
                }
              >
                <strong>{preset.name}</strong>
                <span class="muted small">{preset.says}</span>
              </button>
            </li>
          ))}
        </ul>
      </section>
      <ClockCard />
      {adding && (
        <RuleDialog
          known={rulesOf}
          onClose={() => setAdding(false)}
          onAdd={async (name, rule) => {
            await setRules(name, [...rulesOf(name), rule]);
            await look();
            say(`${kKinds[rule.fault].name}: set for ${tableWords(name)}`);
          }}
        />
      )}
    </>
  );
}
