// PartiQL: statements, their parameters, what they will do, and what came of them.
import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, isStopped } from '../../api/errors.ts';
import { describe } from '../../api/tables.ts';
import { useKeys } from '../../app/keys.ts';
import { route, setQuery } from '../../app/router.ts';
import { store, stored } from '../../app/settings.ts';
import { boot, refresh, tables } from '../../app/state.ts';
import type { KnownTable } from '../../model/complete.ts';
import {
  factsOf,
  isScan,
  parametersIn,
  placeInError,
  statementsOf,
} from '../../model/statement.ts';
import { keyNames, keysOf, type TableDescription } from '../../model/table.ts';
import { parseText } from '../../model/text_value.ts';
import { type AttributeType, type AttributeValue, kTypes } from '../../model/value.ts';
import { Code } from '../../ui/code.tsx';
import { ask, Dialog } from '../../ui/dialog.tsx';
import { Choice } from '../../ui/field.tsx';
import { amount, count, plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Menu } from '../../ui/menu.tsx';
import { say } from '../../ui/told.tsx';
import { Results } from './results.tsx';
import { type Mode, type Outcome, requestsOf, run, type Wanted } from './run.ts';
import { StatementField } from './statement_field.tsx';

interface Parameter {
  type: AttributeType;
  text: string;
}

// Statements of this visit; they hold keys, so that the browser does not keep them.
const history = signal<readonly string[]>([]);
const kMostHistory = 50;
// A SELECT that reads more than this asks first: 500 read units.
const kGuardBytes = 500 * 8192;

// What completion offers of a table: its keys, those of its indexes, and what rows of it had.
function knownTable(
  name: string,
  table: TableDescription | undefined,
  outcomes: readonly Outcome[],
): KnownTable {
  const keys = table ? keyNames(keysOf(table)) : [];
  const names = new Set([
    ...keys,
    ...(table?.AttributeDefinitions ?? []).map((one) => one.AttributeName),
  ]);
  for (const outcome of outcomes)
    if (factsOf(outcome.statement).table === name)
      for (const item of outcome.items.slice(0, 100))
        for (const attribute of Object.keys(item)) names.add(attribute);
  return {
    name,
    attributes: [...names],
    keys: new Set(keys),
    indexes: [
      ...(table?.GlobalSecondaryIndexes ?? []),
      ...(table?.LocalSecondaryIndexes ?? []),
    ].map((one) => one.IndexName),
  };
}

export default function Partiql() {
  const [text, setText] = useState(() => route.peek().query.get('q') ?? '');
  const [parameters, setParameters] = useState<Parameter[]>([]);
  const [mode, setMode] = useState<Mode>('single');
  const [consistent, setConsistent] = useState(false);
  const [outcomes, setOutcomes] = useState<Outcome[]>([]);
  const [running, setRunning] = useState<AbortController | null>(null);
  const [showCode, setShowCode] = useState(false);
  const [saved, setSaved] = useState<string[]>(stored<string[]>('statements', []));
  const area = useRef<HTMLTextAreaElement>(null);
  const statements = useMemo(() => statementsOf(text), [text]);
  const wantedCount = statements.reduce((all, one) => all + parametersIn(one), 0);
  const facts = useMemo(() => statements.map(factsOf), [statements]);
  const described = useDescriptions(facts.flatMap((one) => (one.table ? [one.table] : [])));
  const known = useMemo(
    () =>
      [...tables.value.keys()]
        .sort()
        .map((name) => knownTable(name, described.get(name), outcomes)),
    [tables.value, described, outcomes],
  );
  const shown = Array.from(
    { length: wantedCount },
    (_, i): Parameter => parameters[i] ?? { type: 'S', text: '' },
  );
  const parsed = shown.map((one) => parseText(one.type, one.text));
  const problem = parsed.find((one) => 'error' in one);
  const wanted: Wanted = useMemo(() => {
    const values = parsed.map(
      (one): AttributeValue => ('value' in one ? one.value : { NULL: true }),
    );
    let used = 0;
    return {
      statements,
      parameters: statements.map((one) => {
        const begin = used;
        used += parametersIn(one);
        return values.slice(begin, used);
      }),
      consistent,
    };
  }, [statements, JSON.stringify(shown), consistent]);
  const writes = facts.some((one) => one.kind !== 'select');
  const readOnly = boot.value?.readOnly ?? false;
  const scans = facts.flatMap((one) => {
    const table = one.table ? described.get(one.table) : undefined;
    const row = one.table ? tables.value.get(one.table) : undefined;
    return table && row && isScan(one, table) ? [row] : [];
  });
  const manyMode: Mode = statements.length > 1 ? mode : 'single';
  const mayRun = statements.length > 0 && !problem && !(writes && readOnly);

  const start = async () => {
    if (!mayRun || running) return;
    const dear = scans.find((row) => row.bytes > kGuardBytes);
    if (
      dear &&
      !(await ask({
        title: `Read all of ${dear.name}?`,
        body: `The statement does not give the partition key: it reads up to ${plural(dear.items, 'item')}, about ${amount(dear.bytes / 8192)} read units.`,
        confirm: 'Run it',
      }))
    )
      return;
    history.value = [text, ...history.value.filter((one) => one !== text)].slice(0, kMostHistory);
    setQuery({ q: text });
    const abort = new AbortController();
    setRunning(abort);
    setOutcomes([]);
    try {
      await run(wanted, manyMode, abort.signal, (outcome) => {
        if (!isStopped(outcome.error)) setOutcomes((all) => [...all, outcome]);
      });
      if (writes) void refresh();
    } finally {
      setRunning(null);
    }
  };
  useKeys(
    {
      'ctrl+enter': () => void start(),
      '/': () => area.current?.focus(),
      c: () => mayRun && setShowCode(true),
    },
    { 'Ctrl Enter': 'Run', '/': 'To the statement', c: 'Code' },
  );
  const failed = outcomes.find((one) => one.error !== null);
  const place =
    failed?.error instanceof ApiError ? placeInError(failed.error.message, failed.statement) : null;
  const goToError = () => {
    const begin = failed ? text.indexOf(failed.statement) : -1;
    if (!place || begin < 0) return;
    area.current?.focus();
    area.current?.setSelectionRange(begin + place.from, begin + place.to);
  };
  const insert = (statement: string) => {
    setText(statement);
    area.current?.focus();
  };

  return (
    <>
      <header class="page-head">
        <h1>PartiQL</h1>
        <div class="row">
          <Menu
            label="Statements"
            class=""
            items={[
              ...[...tables.value.keys()]
                .sort()
                .slice(0, 12)
                .map((name) => ({
                  label: `SELECT from ${name}`,
                  icon: 'tables' as const,
                  run: () => insert(selectFrom(name, described.get(name))),
                })),
              ...(saved.length > 0 ? [null] : []),
              ...saved.map((one) => ({
                label: oneLine(one),
                icon: 'star' as const,
                run: () => insert(one),
              })),
              ...(history.value.length > 0 ? [null] : []),
              ...history.value
                .slice(0, 10)
                .filter((one) => !saved.includes(one))
                .map((one) => ({
                  label: oneLine(one),
                  icon: 'clock' as const,
                  run: () => insert(one),
                })),
            ]}
          >
            Statements
            <Icon name="down" />
          </Menu>
        </div>
      </header>
      <section class="card statement" aria-label="Statement">
        <StatementField area={area} text={text} tables={known} onInput={setText} />
        {shown.length > 0 && (
          <div class="parameters">
            {shown.map((one, i) => {
              const result = parsed[i];
              const put = (changes: Partial<Parameter>) =>
                setParameters(shown.map((each, j) => (j === i ? { ...each, ...changes } : each)));
              return (
                <div key={i} class="bar-filter" role="group" aria-label={`Parameter ${i + 1}`}>
                  <code>?{shown.length > 1 ? i + 1 : ''}</code>
                  <select
                    aria-label={`Type of parameter ${i + 1}`}
                    value={one.type}
                    onChange={(event) => put({ type: event.currentTarget.value as AttributeType })}
                  >
                    {kTypes.map((type) => (
                      <option key={type} value={type}>
                        {type}
                      </option>
                    ))}
                  </select>
                  <input
                    class="grow"
                    aria-label={`Value of parameter ${i + 1}`}
                    aria-invalid={result !== undefined && 'error' in result}
                    value={one.text}
                    autocomplete="off"
                    spellcheck={false}
                    onInput={(event) => put({ text: event.currentTarget.value })}
                  />
                  {result && 'error' in result && one.text !== '' && (
                    <span class="field-error">{result.error}</span>
                  )}
                </div>
              );
            })}
          </div>
        )}
        <div class="row">
          {running ? (
            <button type="button" onClick={() => running.abort()}>
              <Icon name="stop" />
              Stop
            </button>
          ) : (
            <button type="button" class="primary" disabled={!mayRun} onClick={() => void start()}>
              <Icon name="play" />
              Run
              <kbd>Ctrl ↵</kbd>
            </button>
          )}
          {statements.length > 1 && (
            <Choice<Mode>
              legend="How to run them"
              hideLegend
              value={mode}
              options={[
                { value: 'single', label: 'One by one' },
                { value: 'batch', label: 'Batch' },
                { value: 'transaction', label: 'Transaction' },
              ]}
              onChange={setMode}
            />
          )}
          <label class="check small">
            <input
              type="checkbox"
              checked={consistent}
              onChange={(event) => setConsistent(event.currentTarget.checked)}
            />
            strongly consistent
          </label>
          <button type="button" class="quiet" disabled={!mayRun} onClick={() => setShowCode(true)}>
            <Icon name="code" />
            Code
          </button>
          <button
            type="button"
            class="quiet"
            disabled={statements.length === 0 || saved.includes(text)}
            onClick={() => {
              const next = [text, ...saved].slice(0, 30);
              setSaved(next);
              store('statements', next);
              say('The statement is kept in this browser');
            }}
          >
            <Icon name="star" />
            Keep
          </button>
          {saved.includes(text) && (
            <button
              type="button"
              class="quiet"
              onClick={() => {
                const next = saved.filter((one) => one !== text);
                setSaved(next);
                store('statements', next);
              }}
            >
              Forget
            </button>
          )}
          <span class="muted small bar-words">
            {readOnly && writes
              ? 'This console is read-only.'
              : scans[0]
                ? `Reads all of ${scans[0].name}: ${count(scans[0].items)} items, the partition key is not given.`
                : facts[0] &&
                    facts[0].kind === 'select' &&
                    facts[0].table &&
                    described.has(facts[0].table)
                  ? 'Reads by the partition key.'
                  : statements.length > 1
                    ? plural(statements.length, 'statement')
                    : ''}
          </span>
        </div>
      </section>
      {outcomes.map((outcome, i) => (
        <Results
          key={i}
          outcome={outcome}
          number={outcomes.length > 1 ? i + 1 : null}
          request={requestsOf(wanted, manyMode)[i]}
          described={described}
          onMore={(next) => setOutcomes((all) => all.with(i, next))}
          onShowError={outcome === failed && place ? goToError : undefined}
        />
      ))}
      {outcomes.length === 0 && !running && statements.length === 0 && <Help />}
      {showCode && (
        <Dialog title="As code" wide onClose={() => setShowCode(false)}>
          {requestsOf(wanted, manyMode).map((request, i) => (
            <Code key={i} of={{ request }} />
          ))}
        </Dialog>
      )}
    </>
  );
}

function Help() {
  return (
    <div class="empty">
      <h2>Ask in PartiQL</h2>
      <p class="muted">
        Names with capitals, dots or dashes stand in double quotes, texts in single ones. An index
        is <code>"table"."index"</code>. A question mark is a parameter with a type of its own.
        Several statements are divided by semicolons.
      </p>
    </div>
  );
}

const oneLine = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 60 ? `${line.slice(0, 60)}…` : line;
};

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function selectFrom(name: string, table: TableDescription | undefined): string {
  const hash = table?.KeySchema.find((one) => one.KeyType === 'HASH')?.AttributeName;
  return hash === undefined
    ? `SELECT * FROM ${quoted(name)}`
    : `SELECT * FROM ${quoted(name)} WHERE ${quoted(hash)} = ?`;
}

// The descriptions of the tables that the statements name, as far as they are there.
function useDescriptions(names: string[]): ReadonlyMap<string, TableDescription> {
  const [known, setKnown] = useState<ReadonlyMap<string, TableDescription>>(new Map());
  const wanted = [...new Set(names)].filter((name) => tables.value.has(name)).sort();
  const text = wanted.join('\n');
  useEffect(() => {
    const abort = new AbortController();
    for (const name of wanted) {
      if (known.has(name)) continue;
      describe(name, abort.signal).then(
        (table) => setKnown((old) => new Map([...old, [name, table]])),
        () => {},
      );
    }
    return () => abort.abort();
  }, [text]);
  return known;
}
