// Auto scaling: the rules of a table and its indexes, and what they did.
import { useEffect, useState } from 'preact/hooks';
import { isStopped } from '../../api/errors.ts';
import { management } from '../../api/management.ts';
import { boot, refresh } from '../../app/state.ts';
import { isOnDemand, type TableDescription } from '../../model/table.ts';
import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { dateTime } from '../../ui/format.ts';
import { Scroll } from '../../ui/scroll.tsx';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';

interface Rule {
  min: number;
  max: number;
  target: number;
  raise_cooldown?: number;
  lower_cooldown?: number;
  lower_margin?: number;
  lower_when_idle?: boolean;
  from?: string;
}
interface Pair {
  read?: Rule;
  write?: Rule;
}
interface Activity {
  at: string;
  index?: string;
  access: 'read' | 'write';
  from: number;
  to: number;
  refusal?: string;
}
interface Scaling extends Pair {
  indexes: Record<string, Pair>;
  activities: Activity[];
}

type Access = 'read' | 'write';
interface Edited {
  index: string | undefined;
  access: Access;
}

const pathOf = (table: string) => `tables/${encodeURIComponent(table)}/auto-scaling`;

export function Rules({ table }: { table: TableDescription }) {
  const name = table.TableName;
  const [scaling, setScaling] = useState<Scaling | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [edited, setEdited] = useState<Edited | null>(null);
  useEffect(() => {
    const abort = new AbortController();
    management<Scaling>(pathOf(name), { table: name, signal: abort.signal, background: true }).then(
      setScaling,
      (failure) => {
        if (!isStopped(failure)) setError(failure);
      },
    );
    return () => abort.abort();
  }, [name]);
  const resources = [
    undefined,
    ...(table.GlobalSecondaryIndexes ?? []).map((one) => one.IndexName),
  ];
  const readOnly = boot.value?.readOnly ?? false;
  const activities = [...(scaling?.activities ?? [])].reverse();
  return (
    <section class="card" aria-labelledby="rules-title">
      <header>
        <h2 id="rules-title">Auto scaling</h2>
      </header>
      <div class="card-body stack">
        {error !== null && <ErrorBox error={error} />}
        {isOnDemand(table) && (
          <p class="muted">Rules sleep while the table is on demand: there is nothing to scale.</p>
        )}
        {scaling && (
          <Scroll label="Rules">
            <table class="plain">
              <thead>
                <tr>
                  <th scope="col">Capacity of</th>
                  <th scope="col">Rule</th>
                  <th scope="col">
                    <span class="visually-hidden">Change</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {resources.flatMap((index) =>
                  (['read', 'write'] as const).map((access) => {
                    const rule = ruleOf(scaling, index, access);
                    const what = `${index ?? 'table'}, ${access}`;
                    return (
                      <tr key={what}>
                        <th scope="row">{what}</th>
                        <td>
                          {rule ? (
                            <>
                              {rule.min} to {rule.max} units, {Math.round(rule.target * 100)}% used
                              {rule.from && rule.from !== 'table' && (
                                <span class="muted"> (from {rule.from})</span>
                              )}
                            </>
                          ) : (
                            <span class="muted">none: it stays as it is</span>
                          )}
                        </td>
                        <td>
                          <button
                            type="button"
                            class="small"
                            disabled={readOnly}
                            aria-label={`Change the rule of ${what}`}
                            onClick={() => setEdited({ index, access })}
                          >
                            Change…
                          </button>
                        </td>
                      </tr>
                    );
                  }),
                )}
              </tbody>
            </table>
          </Scroll>
        )}
        {activities.length > 0 && (
          <div>
            <h3 class="small muted">What the rules did</h3>
            <ul class="activities">
              {activities.slice(0, 20).map((one) => (
                <li key={`${one.at} ${one.index} ${one.access}`}>
                  <span class="num muted">{dateTime(Date.parse(one.at))}</span>{' '}
                  {one.index ?? 'table'}, {one.access}: {one.from} → {one.to}
                  {one.refusal && <span class="bad-text"> refused: {one.refusal}</span>}
                </li>
              ))}
            </ul>
          </div>
        )}
        {edited && scaling && (
          <RuleDialog
            table={table}
            scaling={scaling}
            edited={edited}
            onClose={() => setEdited(null)}
            onSaved={setScaling}
          />
        )}
      </div>
    </section>
  );
}

const ruleOf = (scaling: Scaling, index: string | undefined, access: Access): Rule | undefined =>
  (index === undefined ? scaling : scaling.indexes[index])?.[access];

// The rules of the table's own, with one of them replaced, as PUT takes them.
function replaced(scaling: Scaling, edited: Edited, rule: Rule | null): object {
  const own = (pair: Pair | undefined): Pair => {
    const out: Pair = {};
    for (const access of ['read', 'write'] as const) {
      const known = pair?.[access];
      if (!known || (known.from !== undefined && known.from !== 'table')) continue;
      const { from: _, ...settings } = known;
      out[access] = settings;
    }
    return out;
  };
  const all = own(scaling);
  const indexes: Record<string, Pair> = {};
  for (const [name, pair] of Object.entries(scaling.indexes)) indexes[name] = own(pair);
  const target = edited.index === undefined ? all : (indexes[edited.index] ?? {});
  if (rule) target[edited.access] = rule;
  else delete target[edited.access];
  if (edited.index !== undefined) indexes[edited.index] = target;
  return { ...all, indexes };
}

interface RuleProps {
  table: TableDescription;
  scaling: Scaling;
  edited: Edited;
  onClose: () => void;
  onSaved: (scaling: Scaling) => void;
}

function RuleDialog({ table, scaling, edited, onClose, onSaved }: RuleProps) {
  const known = ruleOf(scaling, edited.index, edited.access);
  const units = (
    edited.index === undefined
      ? table
      : table.GlobalSecondaryIndexes?.find((one) => one.IndexName === edited.index)
  )?.ProvisionedThroughput;
  const now =
    (edited.access === 'read' ? units?.ReadCapacityUnits : units?.WriteCapacityUnits) ?? 5;
  const [min, setMin] = useState(String(known?.min ?? Math.max(1, now)));
  const [max, setMax] = useState(String(known?.max ?? Math.max(100, now * 10)));
  const [target, setTarget] = useState(String(Math.round((known?.target ?? 0.7) * 100)));
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const whole = (text: string) => /^[1-9]\d{0,8}$/.test(text.trim());
  const badMin = whole(min) ? null : 'A whole number, at least 1';
  const badMax = !whole(max)
    ? 'A whole number, at least 1'
    : Number(max) < Number(min)
      ? 'At least as many as the least'
      : null;
  const badTarget =
    whole(target) && Number(target) >= 20 && Number(target) <= 90 ? null : 'From 20 to 90';
  const wrong = badMin ?? badMax ?? badTarget;
  const body = (rule: Rule | null) => replaced(scaling, edited, rule);
  const rule: Rule = {
    ...(known ? without(known) : {}),
    min: Number(min),
    max: Number(max),
    target: Number(target) / 100,
  };
  const put = async (wanted: Rule | null) => {
    setBusy(true);
    setError(null);
    try {
      const saved = await management<Scaling>(pathOf(table.TableName), {
        method: 'PUT',
        body: body(wanted),
        table: table.TableName,
      });
      onSaved(saved);
      say(wanted ? 'The rule is set' : 'The rule is gone');
      onClose();
      await refresh();
    } catch (failure) {
      setError(failure);
      sayError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`Auto scaling: ${edited.index ?? table.TableName}, ${edited.access}`}
      onClose={onClose}
      footer={
        <>
          {known && (
            <button type="button" disabled={busy} onClick={() => void put(null)}>
              Remove the rule
            </button>
          )}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            class="primary"
            disabled={busy || wrong !== null}
            onClick={() => void put(rule)}
          >
            Set the rule
          </button>
        </>
      }
    >
      <p class="muted">
        Capacity follows what is consumed, so that this part of it is used: up after two minutes
        above, down after fifteen below.
      </p>
      <div class="fields">
        {(
          [
            ['At least, units a second', min, setMin, badMin],
            ['At most, units a second', max, setMax, badMax],
            ['Used, percent', target, setTarget, badTarget],
          ] as const
        ).map(([label, value, set, bad]) => (
          <Field key={label} label={label} error={bad}>
            {(ids) => (
              <input
                {...ids}
                class="short"
                inputMode="numeric"
                value={value}
                onInput={(event) => set(event.currentTarget.value)}
              />
            )}
          </Field>
        ))}
      </div>
      {error !== null && <ErrorBox error={error} />}
      {wrong === null && (
        <Code
          of={{
            management: {
              method: 'PUT',
              path: `_stator/${pathOf(table.TableName)}`,
              body: body(rule),
            },
          }}
        />
      )}
    </Dialog>
  );
}

function without(rule: Rule): Omit<Rule, 'from'> {
  const { from: _, ...rest } = rule;
  return rest;
}
