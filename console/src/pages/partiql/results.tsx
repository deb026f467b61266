// What came of a statement: rows, or that it was done, or the error with its place.
import { useMemo, useState } from 'preact/hooks';
import { href } from '../../app/router.ts';
import type { Request } from '../../model/code/request.ts';
import { factsOf } from '../../model/statement.ts';
import { keyNames, keyOf, keysOf, type TableDescription } from '../../model/table.ts';
import { summary, tagged } from '../../model/text_value.ts';
import { printTyped } from '../../model/typed.ts';
import { type Item, member, typeOf } from '../../model/value.ts';
import { Choice } from '../../ui/field.tsx';
import { saveFile } from '../../ui/file.ts';
import { amount, milliseconds, plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import { more, type Outcome } from './run.ts';

export interface ResultsProps {
  outcome: Outcome;
  number: number | null;
  request: Request | undefined;
  described: ReadonlyMap<string, TableDescription>;
  onMore: (next: Outcome) => void;
  onShowError: (() => void) | undefined;
}

const kShown = 500;
const kMostColumns = 40;

export function Results({
  outcome,
  number,
  request,
  described,
  onMore,
  onShowError,
}: ResultsProps) {
  const [view, setView] = useState<'grid' | 'json'>('grid');
  const [busy, setBusy] = useState(false);
  const { items } = outcome;
  const table = described.get(factsOf(outcome.statement).table ?? '');
  const columns = useMemo(() => columnsOf(items, table), [items, table]);
  const units = [
    outcome.read > 0 ? `${amount(outcome.read)} RCU` : '',
    outcome.write > 0 ? `${amount(outcome.write)} WCU` : '',
  ].filter(Boolean);
  const readMore = async () => {
    if (!request) return;
    setBusy(true);
    try {
      onMore(await more(outcome, request));
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  };
  const title = number === null ? 'Result' : `Statement ${number}`;
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class="muted small" aria-live="polite">
          {[
            outcome.error === null
              ? items.length > 0
                ? plural(items.length, 'row')
                : 'done'
              : 'failed',
            ...units,
            milliseconds(outcome.ms),
          ].join(' · ')}
        </span>
        {items.length > 0 && (
          <>
            <Choice<'grid' | 'json'>
              legend="View of the result"
              hideLegend
              value={view}
              options={[
                { value: 'grid', label: 'Grid' },
                { value: 'json', label: 'JSON' },
              ]}
              onChange={setView}
            />
            <button
              type="button"
              class="quiet square"
              aria-label="Save the rows as JSON lines"
              title="Save as DynamoDB JSON lines"
              onClick={() => {
                const lines = items.map((item) => `${JSON.stringify({ Item: item })}\n`);
                saveFile('result.jsonl', lines, 'application/x-ndjson');
                say(
                  `Saved ${plural(items.length, 'row')}${outcome.next ? ': those that were read so far' : ''}`,
                );
              }}
            >
              <Icon name="download" />
            </button>
          </>
        )}
      </header>
      <div class="card-body stack tight">
        {outcome.error !== null && (
          <ErrorBox error={outcome.error}>
            {onShowError && (
              <button type="button" class="small" onClick={onShowError}>
                Show the place
              </button>
            )}
          </ErrorBox>
        )}
        {outcome.error === null && items.length === 0 && <p class="muted">No rows.</p>}
        {items.length > 0 && view === 'json' && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it.
          <pre tabIndex={0} role="region" aria-label="Rows as DynamoDB JSON">
            <code>{items.slice(0, kShown).map(printTyped).join('\n')}</code>
          </pre>
        )}
        {items.length > 0 && view === 'grid' && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it.
          <div class="scroll-x result-rows" tabIndex={0} role="region" aria-label="Rows">
            <table class="plain">
              <thead>
                <tr>
                  {columns.map((name) => (
                    <th scope="col" key={name}>
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {items.slice(0, kShown).map((item, i) => (
                  <tr key={i}>
                    {columns.map((name, c) => (
                      <td key={name}>
                        <Cell item={item} name={name} table={c === 0 ? table : undefined} />
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {items.length > kShown && (
          <p class="muted small">
            The first {kShown} rows are shown; the file has all that were read.
          </p>
        )}
        {outcome.next !== null && outcome.error === null && (
          <div>
            <button type="button" disabled={busy} onClick={() => void readMore()}>
              {busy ? 'Reading…' : items.length === 0 ? 'Nothing yet: go on reading' : 'Read more'}
            </button>
          </div>
        )}
      </div>
    </section>
  );
}

function columnsOf(items: readonly Item[], table: TableDescription | undefined): string[] {
  const seen = new Set<string>();
  const keys = table ? keyNames(keysOf(table)) : [];
  for (const name of keys) if (items.some((item) => member(item, name))) seen.add(name);
  for (const item of items.slice(0, kShown)) for (const name of Object.keys(item)) seen.add(name);
  return [...seen].slice(0, kMostColumns);
}

// The first column leads to the item where the row has its whole key.
function Cell({
  item,
  name,
  table,
}: {
  item: Item;
  name: string;
  table: TableDescription | undefined;
}) {
  const value = member(item, name);
  if (!value) return null;
  const type = typeOf(value);
  const key = table && keyOf(table, item);
  const text = summary(value).slice(0, 200);
  if (table && key) {
    return (
      <a
        href={href(['tables', table.TableName, 'items'], {
          item: JSON.stringify(Object.values(key).map(tagged)),
        })}
      >
        {text}
      </a>
    );
  }
  return (
    <>
      {type !== 'S' && type !== 'N' && <span class="type">{type}</span>}
      <span class={type === 'N' ? 'mono' : undefined}>{text}</span>
    </>
  );
}
