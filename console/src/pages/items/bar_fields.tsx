// The bar: index, keys, filters. It says which operation it makes of them.
import { useMemo } from 'preact/hooks';
import {
  type Bar,
  type Filter,
  type FilterOperator,
  kFilterOperators,
  kOperatorWords,
  kSortOperators,
  operandsOf,
  type Plan,
  type SortOperator,
} from '../../model/bar.ts';
import { indexesOf, isGlobal, keysOf, type TableDescription } from '../../model/table.ts';
import { type AttributeType, kTypes } from '../../model/value.ts';
import { Icon } from '../../ui/icons.tsx';

export interface BarProps {
  table: TableDescription;
  bar: Bar;
  plan: Plan;
  running: boolean;
  // The past is read: indexes have none.
  past: boolean;
  onChange: (bar: Bar) => void;
  onRun: () => void;
  onStop: () => void;
}

export function BarFields({ table, bar, plan, running, past, onChange, onRun, onStop }: BarProps) {
  const set = (changes: Partial<Bar>) => onChange({ ...bar, ...changes });
  const keys = keysOf(table, bar.index);
  const indexes = useMemo(() => indexesOf(table), [table]);
  const error = (field: string) => plan.errors.get(field);
  return (
    <form
      class="card bar"
      aria-label="What to read"
      onSubmit={(event) => {
        event.preventDefault();
        onRun();
      }}
    >
      <div class="bar-row">
        {indexes.length > 0 && (
          <label class="bar-field">
            <span>From</span>
            <select
              value={bar.index ?? ''}
              onChange={(event) =>
                set({ index: event.currentTarget.value || undefined, partition: [], sort: [] })
              }
            >
              <option value="">{table.TableName}</option>
              {indexes.map((one) => (
                <option key={one.IndexName} value={one.IndexName} disabled={past}>
                  {one.IndexName} ({isGlobal(table, one.IndexName) ? 'global' : 'local'} index)
                </option>
              ))}
            </select>
          </label>
        )}
        {keys.partition.map((key, i) => (
          <label class="bar-field grow" key={key.name}>
            <span>
              {key.name} <span class="muted">partition key, {key.type}</span>
            </span>
            <input
              value={bar.partition[i] ?? ''}
              placeholder="any"
              autocomplete="off"
              spellcheck={false}
              aria-invalid={error(`partition.${i}`) !== undefined}
              data-first={i === 0 ? '' : undefined}
              onInput={(event) => {
                const partition = keys.partition.map((_, j) => bar.partition[j] ?? '');
                partition[i] = event.currentTarget.value;
                set({ partition });
              }}
            />
            <Wrong text={error(`partition.${i}`)} />
          </label>
        ))}
        {keys.sort.map((key, i) => (
          <SortFields
            key={key.name}
            name={key.name}
            type={key.type}
            bar={bar}
            at={i}
            error={error(`sort.${i}`)}
            set={set}
          />
        ))}
      </div>
      {bar.filters.map((filter, i) => (
        <FilterFields
          key={i}
          filter={filter}
          at={i}
          error={error(`filter.${i}`)}
          onChange={(next) => set({ filters: bar.filters.with(i, next) })}
          onRemove={() => set({ filters: bar.filters.filter((_, j) => j !== i) })}
        />
      ))}
      <div class="row">
        {running ? (
          <button type="button" onClick={onStop}>
            <Icon name="stop" />
            Stop
          </button>
        ) : (
          <button type="submit" class="primary" disabled={plan.errors.size > 0}>
            <Icon name="play" />
            {plan.operation === 'GetItem' ? 'Get' : plan.operation}
          </button>
        )}
        <button
          type="button"
          class="quiet"
          onClick={() =>
            set({
              filters: [...bar.filters, { path: '', operator: '=', type: 'S', values: [''] }],
            })
          }
        >
          <Icon name="filter" />
          Add a filter
        </button>
        {bar.filters.length > 1 && (
          <label class="check small">
            <input
              type="checkbox"
              checked={bar.any}
              onChange={(event) => set({ any: event.currentTarget.checked })}
            />
            one of them is enough
          </label>
        )}
        {plan.operation === 'Query' && (
          <label class="check small">
            <input
              type="checkbox"
              checked={bar.descending}
              onChange={(event) => set({ descending: event.currentTarget.checked })}
            />
            descending
          </label>
        )}
        {!(bar.index !== undefined && isGlobal(table, bar.index)) && (
          <label class="check small">
            <input
              type="checkbox"
              checked={bar.consistent}
              onChange={(event) => set({ consistent: event.currentTarget.checked })}
            />
            strongly consistent
          </label>
        )}
        <span class="muted small bar-words">{words(plan, bar)}</span>
      </div>
    </form>
  );
}

function words(plan: Plan, bar: Bar): string {
  if (plan.operation === 'GetItem') return 'GetItem reads this one item.';
  if (plan.operation === 'Query')
    return bar.filters.length > 0
      ? 'Query reads one partition key; filters are applied to what was read.'
      : 'Query reads the items of one partition key.';
  const name = plan.asFilters[0];
  if (name !== undefined)
    return `Scan: without the whole partition key, ${name} can only filter. Every item is read.`;
  return plan.input.FilterExpression
    ? 'Scan reads every item and keeps those that match.'
    : 'Scan reads item after item, from every partition.';
}

const Wrong = ({ text }: { text: string | undefined }) =>
  text === undefined ? null : <span class="field-error">{text}</span>;

interface SortProps {
  name: string;
  type: string;
  bar: Bar;
  at: number;
  error: string | undefined;
  set: (changes: Partial<Bar>) => void;
}

function SortFields({ name, type, bar, at, error, set }: SortProps) {
  const condition = bar.sort[at] ?? { operator: '=' as SortOperator, values: [''] };
  const put = (changes: Partial<typeof condition>) => {
    const sort = [...bar.sort];
    while (sort.length <= at) sort.push(null);
    sort[at] = { ...condition, ...changes };
    set({ sort });
  };
  return (
    <div class="bar-field grow" role="group" aria-label={`Sort key ${name}`}>
      <span>
        {name} <span class="muted">sort key, {type}</span>
      </span>
      <span class="bar-inputs">
        <select
          aria-label={`Comparison of ${name}`}
          value={condition.operator}
          onChange={(event) => put({ operator: event.currentTarget.value as SortOperator })}
        >
          {kSortOperators
            .filter((one) => one !== 'begins_with' || type !== 'N')
            .map((one) => (
              <option key={one} value={one}>
                {kOperatorWords[one]}
              </option>
            ))}
        </select>
        <input
          aria-label={`Value of ${name}`}
          placeholder="any"
          autocomplete="off"
          spellcheck={false}
          aria-invalid={error !== undefined}
          value={condition.values[0] ?? ''}
          onInput={(event) =>
            put({ values: [event.currentTarget.value, ...condition.values.slice(1)] })
          }
        />
        {condition.operator === 'between' && (
          <input
            aria-label={`Upper value of ${name}`}
            placeholder="and"
            autocomplete="off"
            spellcheck={false}
            value={condition.values[1] ?? ''}
            onInput={(event) =>
              put({ values: [condition.values[0] ?? '', event.currentTarget.value] })
            }
          />
        )}
      </span>
      <Wrong text={error} />
    </div>
  );
}

interface FilterProps {
  filter: Filter;
  at: number;
  error: string | undefined;
  onChange: (filter: Filter) => void;
  onRemove: () => void;
}

function FilterFields({ filter, at, error, onChange, onRemove }: FilterProps) {
  const label = `of filter ${at + 1}`;
  const operands = operandsOf(filter.operator);
  const isSize = filter.operator.startsWith('size');
  const put = (changes: Partial<Filter>) => onChange({ ...filter, ...changes });
  return (
    <div class="bar-filter" role="group" aria-label={`Filter ${at + 1}`}>
      <input
        aria-label={`Attribute ${label}`}
        placeholder="attribute or a.b[0]"
        autocomplete="off"
        spellcheck={false}
        value={filter.path}
        onInput={(event) => put({ path: event.currentTarget.value })}
      />
      <select
        aria-label={`Comparison ${label}`}
        value={filter.operator}
        onChange={(event) => put({ operator: event.currentTarget.value as FilterOperator })}
      >
        {kFilterOperators.map((one) => (
          <option key={one} value={one}>
            {kOperatorWords[one]}
          </option>
        ))}
      </select>
      {operands !== 0 && !isSize && (
        <select
          aria-label={`Type ${label}`}
          value={filter.type}
          onChange={(event) => put({ type: event.currentTarget.value as AttributeType })}
        >
          {kTypes.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      )}
      {operands === 'many' ? (
        <textarea
          aria-label={`Values ${label}, one a line`}
          placeholder="one a line"
          rows={2}
          value={filter.values.join('\n')}
          onInput={(event) => put({ values: event.currentTarget.value.split('\n') })}
        />
      ) : (
        operands !== 0 &&
        filter.operator !== 'type' &&
        Array.from({ length: operands }, (_, i) => (
          <input
            key={i}
            aria-label={`${i === 0 ? 'Value' : 'Upper value'} ${label}`}
            placeholder={isSize ? 'bytes or elements' : 'value'}
            autocomplete="off"
            spellcheck={false}
            value={filter.values[i] ?? ''}
            onInput={(event) => {
              const values = [...filter.values];
              while (values.length <= i) values.push('');
              values[i] = event.currentTarget.value;
              put({ values });
            }}
          />
        ))
      )}
      <button
        type="button"
        class="quiet square"
        aria-label={`Remove filter ${at + 1}`}
        onClick={onRemove}
      >
        <Icon name="close" />
      </button>
      <Wrong text={error} />
    </div>
  );
}
