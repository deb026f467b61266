// A new rule of the fault dial: only the settings that its kind has.
import { useState } from 'preact/hooks';
import { tables } from '../../app/state.ts';
import {
  asSent,
  type FaultKind,
  inWords,
  kFaults,
  kKinds,
  type Rule,
  type Setting,
  wrongIn,
} from '../../model/fault.ts';
import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { ErrorBox } from '../../ui/told.tsx';

interface Props {
  // The rules that a table has.
  known: (table: string) => readonly Rule[];
  onClose: () => void;
  onAdd: (table: string, rule: Rule) => Promise<void>;
}

const kDefaults: Partial<Record<Setting, string | number>> = { age: '1s', delay: '1s', share: 0.5 };

export function RuleDialog({ known, onClose, onAdd }: Props) {
  const [kind, setKind] = useState<FaultKind>('throttle');
  const [table, setTable] = useState('*');
  const [percentText, setPercent] = useState('10');
  const [times, setTimes] = useState('');
  const [operations, setOperations] = useState<string[]>([]);
  const [own, setOwn] = useState<Partial<Rule>>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const says = kKinds[kind];
  const rule = ruleOf(kind, percentText, times, operations, own);
  const wrong = wrongIn(rule);
  const bad = Object.keys(wrong).length > 0;
  const add = async () => {
    setBusy(true);
    setError(null);
    try {
      await onAdd(table, rule);
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const text = (setting: 'age' | 'delay' | 'index', label: string, placeholder = '') =>
    says.own.includes(setting) && (
      <Field label={label} error={wrong[setting]}>
        {(ids) => (
          <input
            {...ids}
            class="short"
            placeholder={placeholder}
            value={own[setting] ?? kDefaults[setting] ?? ''}
            onInput={(event) => setOwn({ ...own, [setting]: event.currentTarget.value })}
          />
        )}
      </Field>
    );
  const choice = (
    setting: 'cause' | 'when',
    label: string,
    options: readonly (readonly [string, string])[],
  ) =>
    says.own.includes(setting) && (
      <Field label={label}>
        {(ids) => (
          <select
            {...ids}
            value={own[setting] ?? ''}
            onChange={(event) =>
              setOwn({ ...own, [setting]: event.currentTarget.value || undefined })
            }
          >
            {options.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
    );
  return (
    <Dialog
      title="Add a fault rule"
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="primary" disabled={busy || bad} onClick={() => void add()}>
            Set the rule
          </button>
        </>
      }
    >
      <div class="fields">
        <Field label="What goes wrong">
          {(ids) => (
            <select
              {...ids}
              value={kind}
              onChange={(event) => {
                setKind(event.currentTarget.value as FaultKind);
                setOperations([]);
                setOwn({});
              }}
            >
              {kFaults.map((one) => (
                <option key={one} value={one}>
                  {kKinds[one].name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Of">
          {(ids) => (
            <select
              {...ids}
              value={table}
              onChange={(event) => setTable(event.currentTarget.value)}
            >
              <option value="*">every table</option>
              {[...tables.value.keys()].sort().map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="How often, percent" error={wrong.probability}>
          {(ids) => (
            <input
              {...ids}
              class="short"
              inputMode="decimal"
              value={percentText}
              onInput={(event) => setPercent(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="At most, times" error={wrong.count}>
          {(ids) => (
            <input
              {...ids}
              class="short"
              inputMode="numeric"
              placeholder="no end"
              value={times}
              onInput={(event) => setTimes(event.currentTarget.value)}
            />
          )}
        </Field>
        {text('age', 'How old')}
        {text('delay', 'How late')}
        {says.own.includes('share') && (
          <Field label="Left undone, percent" error={wrong.share}>
            {(ids) => (
              <input
                {...ids}
                class="short"
                inputMode="decimal"
                value={String((own.share ?? 0.5) * 100)}
                onChange={(event) =>
                  setOwn({ ...own, share: Number(event.currentTarget.value) / 100 })
                }
              />
            )}
          </Field>
        )}
        {choice('when', 'When', [
          ['', 'before anything is done'],
          ['after', 'after all is done'],
        ])}
        {choice('cause', 'Cause', [
          ['', 'as the table’s billing'],
          ['provisioned', 'provisioned capacity'],
          ['key-range', 'a partition'],
          ['on-demand-maximum', 'the maximum on demand'],
          ['account', 'the account’s quota'],
        ])}
        {text('index', 'Only of index', 'any')}
      </div>
      {says.own.includes('random') && (
        <label class="check">
          <input
            type="checkbox"
            checked={own.random ?? false}
            onChange={(event) => setOwn({ ...own, random: event.currentTarget.checked })}
          />
          each time another duration, up to that one
        </label>
      )}
      <fieldset class="stack tight">
        <legend>Operations; none chosen: all that it can strike</legend>
        <div class="row wrap">
          {says.operations.map((one) => (
            <label class="check small" key={one}>
              <input
                type="checkbox"
                checked={operations.includes(one)}
                onChange={(event) =>
                  setOperations(
                    event.currentTarget.checked
                      ? [...operations, one]
                      : operations.filter((other) => other !== one),
                  )
                }
              />
              {one}
            </label>
          ))}
        </div>
      </fieldset>
      {!bad && (
        <p class="note">
          {says.says}: {inWords(rule)}.
        </p>
      )}
      {error !== null && <ErrorBox error={error} />}
      {!bad && (
        <Code
          of={{
            management: {
              method: 'PUT',
              path: `_stator/faults/${encodeURIComponent(table)}`,
              body: { faults: [...known(table).map(asSent), rule] },
            },
          }}
        />
      )}
    </Dialog>
  );
}

function ruleOf(
  kind: FaultKind,
  percentText: string,
  times: string,
  operations: readonly string[],
  own: Partial<Rule>,
): Rule {
  const rule: Rule = { fault: kind, probability: Number(percentText) / 100 };
  if (times.trim() !== '') rule.count = Number(times);
  if (operations.length > 0) rule.operations = [...operations];
  for (const setting of kKinds[kind].own) {
    const value = own[setting] ?? kDefaults[setting];
    if (value === undefined || value === '' || value === false) continue;
    Object.assign(rule, { [setting]: value });
  }
  return rule;
}
