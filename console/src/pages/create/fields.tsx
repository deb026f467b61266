// The fields of a new table. Each change hands on a new form.
import {
  type CreateForm,
  emptyIndex,
  emptyScaling,
  type KeyField,
  type ScalingForm,
} from '../../model/create.ts';
import { Choice, Field } from '../../ui/field.tsx';
import { focusSoon } from '../../ui/focus.ts';
import { Icon } from '../../ui/icons.tsx';
import { IndexFields } from './index_fields.tsx';

export interface FieldsProps {
  form: CreateForm;
  errors: Map<string, string>;
  onChange: (form: CreateForm) => void;
}

export function CreateFields({ form, errors, onChange }: FieldsProps) {
  const set = (changes: Partial<CreateForm>) => onChange({ ...form, ...changes });
  return (
    <>
      <section class="card pad stack">
        <Field label="Name" error={errors.get('name')}>
          {(ids) => (
            <input
              {...ids}
              value={form.name}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => set({ name: event.currentTarget.value })}
            />
          )}
        </Field>
        <div class="fields">
          <KeyInput
            label="Partition key"
            hint="Decides in which partition an item lies. Many values, asked for evenly."
            field={form.partition}
            error={errors.get('partition')}
            onChange={(partition) => set({ partition })}
          />
          {form.sort ? (
            <div class="row nowrap-row">
              <KeyInput
                label="Sort key"
                hint="Orders the items of one partition key."
                field={form.sort}
                error={errors.get('sort')}
                onChange={(sort) => set({ sort })}
              />
              <button
                type="button"
                class="quiet square"
                aria-label="Without a sort key"
                onClick={() => set({ sort: null })}
              >
                <Icon name="close" />
              </button>
            </div>
          ) : (
            <div class="field">
              <span class="field-label">Sort key</span>
              <button
                type="button"
                onClick={() => {
                  set({ sort: { name: '', type: 'S' } });
                  focusSoon(() => document.querySelector<HTMLElement>('.nowrap-row input'));
                }}
              >
                <Icon name="plus" />
                Add a sort key
              </button>
              {errors.has('sort') && <p class="field-error">{errors.get('sort')}</p>}
            </div>
          )}
        </div>
      </section>

      <section class="card pad stack">
        <h2>Capacity</h2>
        <Choice
          legend="Billing mode"
          value={form.billing}
          options={[
            { value: 'PAY_PER_REQUEST', label: 'On demand' },
            { value: 'PROVISIONED', label: 'Provisioned' },
          ]}
          onChange={(billing) => set({ billing })}
        />
        {form.billing === 'PROVISIONED' ? (
          <>
            <div class="fields">
              <NumberInput
                label="Read units per second"
                value={form.read}
                error={errors.get('read')}
                onChange={(read) => set({ read })}
              />
              <NumberInput
                label="Write units per second"
                value={form.write}
                error={errors.get('write')}
                onChange={(write) => set({ write })}
              />
            </div>
            <Scaling
              label="reads"
              rule={form.scaleRead}
              error={errors.get('scaleRead')}
              onChange={(scaleRead) => set({ scaleRead })}
            />
            <Scaling
              label="writes"
              rule={form.scaleWrite}
              error={errors.get('scaleWrite')}
              onChange={(scaleWrite) => set({ scaleWrite })}
            />
          </>
        ) : (
          <div class="fields">
            <NumberInput
              label="At most, reads per second"
              hint="Empty: the quota"
              value={form.maxRead}
              error={errors.get('read')}
              onChange={(maxRead) => set({ maxRead })}
            />
            <NumberInput
              label="At most, writes per second"
              hint="Empty: the quota"
              value={form.maxWrite}
              error={errors.get('write')}
              onChange={(maxWrite) => set({ maxWrite })}
            />
          </div>
        )}
        <details>
          <summary>Warm throughput</summary>
          <p class="hint">What the table can serve at once, before it has grown with its load.</p>
          <div class="fields">
            <NumberInput
              label="Reads per second"
              value={form.warmRead}
              error={errors.get('warmRead')}
              onChange={(warmRead) => set({ warmRead })}
            />
            <NumberInput
              label="Writes per second"
              value={form.warmWrite}
              error={errors.get('warmWrite')}
              onChange={(warmWrite) => set({ warmWrite })}
            />
          </div>
        </details>
      </section>

      <section class="card pad stack">
        <div class="row wrap">
          <h2 class="grow">Secondary indexes</h2>
          <button
            type="button"
            onClick={() => set({ indexes: [...form.indexes, emptyIndex('global')] })}
          >
            <Icon name="plus" />
            Global index
          </button>
          <button
            type="button"
            onClick={() => set({ indexes: [...form.indexes, emptyIndex('local')] })}
          >
            <Icon name="plus" />
            Local index
          </button>
        </div>
        {form.indexes.length === 0 && (
          <p class="muted">
            An index finds items by other attributes. A global one has its own partitions; a local
            one orders the items of a partition key in another way.
          </p>
        )}
        {form.indexes.map((index, i) => (
          <IndexFields
            key={i}
            index={index}
            at={i}
            provisioned={form.billing === 'PROVISIONED'}
            errors={errors}
            onChange={(next) =>
              set({ indexes: form.indexes.map((one, j) => (j === i ? next : one)) })
            }
            onRemove={() => set({ indexes: form.indexes.filter((_, j) => j !== i) })}
          />
        ))}
      </section>

      <More form={form} errors={errors} onChange={onChange} />
    </>
  );
}

function More({ form, errors, onChange }: FieldsProps) {
  const set = (changes: Partial<CreateForm>) => onChange({ ...form, ...changes });
  return (
    <section class="card pad stack">
      <h2>More</h2>
      <div class="fields">
        <Field label="Stream" hint="Changes of items, for 24 hours">
          {(ids) => (
            <select
              {...ids}
              value={form.stream}
              onChange={(event) =>
                set({ stream: event.currentTarget.value as CreateForm['stream'] })
              }
            >
              <option value="">none</option>
              <option value="NEW_AND_OLD_IMAGES">new and old images</option>
              <option value="NEW_IMAGE">new images</option>
              <option value="OLD_IMAGE">old images</option>
              <option value="KEYS_ONLY">keys only</option>
            </select>
          )}
        </Field>
        <Field label="Time to live by" hint="Attribute with seconds since 1970; empty: off">
          {(ids) => (
            <input
              {...ids}
              value={form.ttl}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => set({ ttl: event.currentTarget.value })}
            />
          )}
        </Field>
        <Field label="Class">
          {(ids) => (
            <select
              {...ids}
              value={form.tableClass}
              onChange={(event) =>
                set({ tableClass: event.currentTarget.value as CreateForm['tableClass'] })
              }
            >
              <option value="STANDARD">standard</option>
              <option value="STANDARD_INFREQUENT_ACCESS">infrequent access</option>
            </select>
          )}
        </Field>
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={form.isProtected}
          onChange={(event) => set({ isProtected: event.currentTarget.checked })}
        />
        Deletion protection
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={form.insights}
          onChange={(event) => set({ insights: event.currentTarget.checked })}
        />
        Contributor Insights: count the hottest keys
      </label>
      <div class="stack tight">
        {form.tags.map((tag, i) => (
          <div class="row" key={i}>
            <input
              aria-label={`Name of tag ${i + 1}`}
              placeholder="tag"
              value={tag.Key}
              onInput={(event) =>
                set({
                  tags: form.tags.map((one, j) =>
                    j === i ? { ...one, Key: event.currentTarget.value } : one,
                  ),
                })
              }
            />
            <input
              aria-label={`Value of tag ${i + 1}`}
              placeholder="value"
              value={tag.Value}
              onInput={(event) =>
                set({
                  tags: form.tags.map((one, j) =>
                    j === i ? { ...one, Value: event.currentTarget.value } : one,
                  ),
                })
              }
            />
            <button
              type="button"
              class="quiet square"
              aria-label={`Remove tag ${i + 1}`}
              onClick={() => set({ tags: form.tags.filter((_, j) => j !== i) })}
            >
              <Icon name="close" />
            </button>
          </div>
        ))}
        {errors.has('tags') && <p class="field-error">{errors.get('tags')}</p>}
        <div>
          <button
            type="button"
            class="quiet small"
            onClick={() => set({ tags: [...form.tags, { Key: '', Value: '' }] })}
          >
            <Icon name="plus" />
            Tag
          </button>
        </div>
      </div>
    </section>
  );
}

export interface KeyInputProps {
  label: string;
  hint?: string;
  field: KeyField;
  error?: string | undefined;
  onChange: (field: KeyField) => void;
}

// A key attribute: its name and its type.
export function KeyInput({ label, hint, field, error, onChange }: KeyInputProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <span class="joined">
          <input
            {...ids}
            value={field.name}
            placeholder="attribute"
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => onChange({ ...field, name: event.currentTarget.value })}
          />
          <select
            aria-label={`Type of ${label.toLowerCase()}`}
            value={field.type}
            onChange={(event) =>
              onChange({ ...field, type: event.currentTarget.value as KeyField['type'] })
            }
          >
            <option value="S">text (S)</option>
            <option value="N">number (N)</option>
            <option value="B">binary (B)</option>
          </select>
        </span>
      )}
    </Field>
  );
}

export interface NumberInputProps {
  label: string;
  hint?: string;
  value: string;
  error?: string | undefined;
  onChange: (text: string) => void;
}

export function NumberInput({ label, hint, value, error, onChange }: NumberInputProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <input
          {...ids}
          class="short"
          inputMode="numeric"
          value={value}
          autocomplete="off"
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface ScalingProps {
  label: string;
  rule: ScalingForm | null;
  error?: string | undefined;
  onChange: (rule: ScalingForm | null) => void;
}

function Scaling({ label, rule, error, onChange }: ScalingProps) {
  return (
    <div class="stack tight">
      <label class="check">
        <input
          type="checkbox"
          checked={rule !== null}
          onChange={(event) => onChange(event.currentTarget.checked ? emptyScaling() : null)}
        />
        Auto scaling of {label}
      </label>
      {rule && (
        <div class="fields indent">
          <NumberInput
            label={`Minimum of ${label}`}
            value={rule.min}
            onChange={(min) => onChange({ ...rule, min })}
          />
          <NumberInput
            label={`Maximum of ${label}`}
            value={rule.max}
            error={error}
            onChange={(max) => onChange({ ...rule, max })}
          />
          <NumberInput
            label="Target, percent used"
            value={rule.target}
            onChange={(target) => onChange({ ...rule, target })}
          />
        </div>
      )}
    </div>
  );
}
