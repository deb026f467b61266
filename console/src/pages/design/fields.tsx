// What is designed: capacity, indexes, traffic and how its keys are spread.
import type { ComponentChildren } from 'preact';
import {
  type Design,
  type IndexDesign,
  indexDesign,
  type KeyDesign,
  type KeyKind,
  keysDesign,
  type TrafficDesign,
  trafficDesign,
} from '../../model/scenario.ts';
import { Choice, Field } from '../../ui/field.tsx';
import { focusSoon } from '../../ui/focus.ts';
import { Icon } from '../../ui/icons.tsx';

interface Props {
  design: Design;
  errors: Map<string, string>;
  onChange: (design: Design) => void;
}

const kMostRows = 8;

const replaced = <T,>(all: readonly T[], at: number, one: T): T[] =>
  all.map((old, i) => (i === at ? one : old));
const without = <T,>(all: readonly T[], at: number): T[] => all.filter((_, i) => i !== at);

// A new part takes the focus: its name is the first thing to say.
const toPart = (selector: string): void =>
  focusSoon(() => document.querySelector<HTMLElement>(`${selector} input`));

export function DesignFields({ design, errors, onChange }: Props) {
  const set = (changes: Partial<Design>) => onChange({ ...design, ...changes });
  return (
    <>
      <section class="card card-body stack" aria-label="Table">
        <div class="fields">
          <Text
            label="Table"
            value={design.table}
            error={errors.get('table')}
            onInput={(table) => set({ table })}
          />
          <Text
            label="Minutes to play"
            short
            value={design.minutes}
            error={errors.get('minutes')}
            onInput={(minutes) => set({ minutes })}
          />
          <Text
            label="Data that is there"
            short
            placeholder="none"
            value={design.size}
            error={errors.get('size')}
            onInput={(size) => set({ size })}
          />
        </div>
        <div class="fields">
          <Choice<Design['billing']>
            legend="Paid as"
            value={design.billing}
            options={[
              { value: 'provisioned', label: 'Provisioned' },
              { value: 'on-demand', label: 'On demand' },
            ]}
            onChange={(billing) => set({ billing })}
          />
          {design.billing === 'provisioned' ? (
            <>
              <Text
                label="Read units"
                short
                value={design.read}
                error={errors.get('read')}
                onInput={(read) => set({ read })}
              />
              <Text
                label="Write units"
                short
                value={design.write}
                error={errors.get('write')}
                onInput={(write) => set({ write })}
              />
            </>
          ) : (
            <Text
              label="Warm for writes a second"
              short
              placeholder="4000"
              value={design.warmWrite}
              error={errors.get('warmWrite')}
              onInput={(warmWrite) => set({ warmWrite })}
            />
          )}
        </div>
      </section>
      <div class="stack" role="group" aria-label="Parts">
        {design.traffic.map((one, i) => (
          <Traffic
            key={i}
            traffic={one}
            at={`traffic.${i}`}
            design={design}
            errors={errors}
            onChange={(changed) => set({ traffic: replaced(design.traffic, i, changed) })}
            onRemove={
              design.traffic.length > 1
                ? () => set({ traffic: without(design.traffic, i) })
                : undefined
            }
          />
        ))}
        {design.indexes.map((one, i) => (
          <Index
            key={i}
            index={one}
            at={`index.${i}`}
            provisioned={design.billing === 'provisioned'}
            errors={errors}
            onChange={(changed) => set({ indexes: replaced(design.indexes, i, changed) })}
            onRemove={() => set({ indexes: without(design.indexes, i) })}
          />
        ))}
      </div>
      <div class="row wrap">
        <button
          type="button"
          disabled={design.traffic.length >= kMostRows}
          onClick={() => {
            toPart(`[aria-label="Parts"] > :nth-child(${design.traffic.length + 1})`);
            set({
              traffic: [
                ...design.traffic,
                trafficDesign({ name: 'reads', operation: 'read', rate: '1000' }),
              ],
            });
          }}
        >
          <Icon name="plus" />
          More traffic
        </button>
        <button
          type="button"
          disabled={design.indexes.length >= kMostRows}
          onClick={() => {
            toPart('[aria-label="Parts"] > :last-child');
            set({
              indexes: [
                ...design.indexes,
                indexDesign({
                  name:
                    design.indexes.length === 0
                      ? 'by-status'
                      : `index-${design.indexes.length + 1}`,
                }),
              ],
            });
          }}
        >
          <Icon name="plus" />
          An index
        </button>
      </div>
    </>
  );
}

interface TextProps {
  label: string;
  value: string;
  error: string | undefined;
  placeholder?: string;
  short?: boolean;
  onInput: (value: string) => void;
}

function Text({ label, value, error, placeholder, short, onInput }: TextProps) {
  return (
    <Field label={label} error={error}>
      {(ids) => (
        <input
          {...ids}
          class={short ? 'short' : ''}
          autocomplete="off"
          spellcheck={false}
          placeholder={placeholder}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

function Part({
  title,
  onRemove,
  children,
}: {
  title: string;
  onRemove: (() => void) | undefined;
  children: ComponentChildren;
}) {
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {onRemove && (
          <button
            type="button"
            class="quiet square small"
            aria-label={`Remove ${title}`}
            onClick={onRemove}
          >
            <Icon name="trash" />
          </button>
        )}
      </header>
      <div class="card-body stack">{children}</div>
    </section>
  );
}

function Traffic({
  traffic,
  at,
  design,
  errors,
  onChange,
  onRemove,
}: {
  traffic: TrafficDesign;
  at: string;
  design: Design;
  errors: Map<string, string>;
  onChange: (traffic: TrafficDesign) => void;
  onRemove: (() => void) | undefined;
}) {
  const set = (changes: Partial<TrafficDesign>) => onChange({ ...traffic, ...changes });
  const error = (field: string) => errors.get(`${at}.${field}`);
  const reads = traffic.operation === 'read';
  return (
    <Part title={`Traffic: ${traffic.name}`} onRemove={onRemove}>
      <div class="fields">
        <Text
          label="Called"
          value={traffic.name}
          error={error('name')}
          onInput={(name) => set({ name })}
        />
        <Choice<TrafficDesign['operation']>
          legend="Does"
          value={traffic.operation}
          options={[
            { value: 'read', label: 'Read' },
            { value: 'write', label: 'Write' },
          ]}
          onChange={(operation) => set({ operation })}
        />
        <Text
          label="Requests a second"
          short
          value={traffic.rate}
          error={error('rate')}
          onInput={(rate) => set({ rate })}
        />
        <Text
          label="Size of an item"
          short
          value={traffic.itemBytes}
          error={error('itemBytes')}
          onInput={(itemBytes) => set({ itemBytes })}
        />
        {reads && design.indexes.length > 0 && (
          <Field label="Of" error={error('index')}>
            {(ids) => (
              <select
                {...ids}
                value={traffic.index}
                onChange={(event) => set({ index: event.currentTarget.value })}
              >
                <option value="">the table</option>
                {design.indexes.map((one) => (
                  <option key={one.name} value={one.name}>
                    {one.name}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
      </div>
      {reads ? (
        traffic.index === '' && (
          <label class="check">
            <input
              type="checkbox"
              checked={traffic.strong}
              onChange={(event) => set({ strong: event.currentTarget.checked })}
            />
            strongly consistent: twice the units
          </label>
        )
      ) : (
        <label class="check">
          <input
            type="checkbox"
            checked={traffic.newItems}
            onChange={(event) => set({ newItems: event.currentTarget.checked })}
          />
          new items: the data grows
        </label>
      )}
      <KeysFields
        keys={traffic.keys}
        at={`${at}.keys`}
        errors={errors}
        onChange={(keys) => set({ keys })}
      />
    </Part>
  );
}

function Index({
  index,
  at,
  provisioned,
  errors,
  onChange,
  onRemove,
}: {
  index: IndexDesign;
  at: string;
  provisioned: boolean;
  errors: Map<string, string>;
  onChange: (index: IndexDesign) => void;
  onRemove: () => void;
}) {
  const set = (changes: Partial<IndexDesign>) => onChange({ ...index, ...changes });
  const error = (field: string) => errors.get(`${at}.${field}`);
  return (
    <Part title={`Index: ${index.name}`} onRemove={onRemove}>
      <div class="fields">
        <Text
          label="Called"
          value={index.name}
          error={error('name')}
          onInput={(name) => set({ name })}
        />
        {provisioned && (
          <>
            <Text
              label="Read units"
              short
              value={index.read}
              error={error('read')}
              onInput={(read) => set({ read })}
            />
            <Text
              label="Write units"
              short
              value={index.write}
              error={error('write')}
              onInput={(write) => set({ write })}
            />
          </>
        )}
        <Text
          label="Size of an entry"
          short
          value={index.entryBytes}
          error={error('entryBytes')}
          onInput={(entryBytes) => set({ entryBytes })}
        />
        <Text
          label="Of the writes, percent"
          short
          value={index.percent}
          error={error('percent')}
          onInput={(percent) => set({ percent })}
        />
      </div>
      <KeysFields
        keys={index.keys}
        at={`${at}.keys`}
        errors={errors}
        onChange={(keys) => set({ keys })}
      />
    </Part>
  );
}

const kKinds: readonly { value: KeyKind; label: string }[] = [
  { value: 'uniform', label: 'all alike' },
  { value: 'zipf', label: 'some far more popular (power law)' },
  { value: 'single', label: 'one' },
  { value: 'date', label: 'the date of today' },
  { value: 'weighted', label: 'a few, with shares' },
];

function KeysFields({
  keys,
  at,
  errors,
  onChange,
}: {
  keys: KeyDesign;
  at: string;
  errors: Map<string, string>;
  onChange: (keys: KeyDesign) => void;
}) {
  const set = (changes: Partial<KeyDesign>) => onChange({ ...keys, ...changes });
  const error = (field: string) => errors.get(`${at}.${field}`);
  return (
    <div class="fields">
      <Field label="Partition keys">
        {(ids) => (
          <select
            {...ids}
            value={keys.kind}
            onChange={(event) =>
              onChange(
                keysDesign({
                  ...keys,
                  kind: event.currentTarget.value as KeyKind,
                }),
              )
            }
          >
            {kKinds.map((one) => (
              <option key={one.value} value={one.value}>
                {one.label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {(keys.kind === 'uniform' || keys.kind === 'zipf') && (
        <Text
          label="How many"
          short
          value={keys.count}
          error={error('count')}
          onInput={(count) => set({ count })}
        />
      )}
      {keys.kind === 'zipf' && (
        <Text
          label="Exponent"
          short
          value={keys.exponent}
          error={error('exponent')}
          onInput={(exponent) => set({ exponent })}
        />
      )}
      {keys.kind === 'single' && (
        <Text label="Key" value={keys.key} error={error('key')} onInput={(key) => set({ key })} />
      )}
      {keys.kind === 'weighted' && (
        <Text
          label="Keys and shares"
          value={keys.weights}
          error={error('weights')}
          onInput={(weights) => set({ weights })}
        />
      )}
      <Text
        label="Suffixes of each"
        short
        value={keys.suffixes}
        error={error('suffixes')}
        onInput={(suffixes) => set({ suffixes })}
      />
      {keys.suffixes.trim() !== '1' && (
        <Field label="Suffix is">
          {(ids) => (
            <select
              {...ids}
              value={keys.suffix}
              onChange={(event) =>
                set({ suffix: event.currentTarget.value as KeyDesign['suffix'] })
              }
            >
              <option value="random">random: reads ask all</option>
              <option value="computed">computed: reads know it</option>
            </select>
          )}
        </Field>
      )}
    </div>
  );
}
