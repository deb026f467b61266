// One secondary index in the form of a new table. Global indexes have up to four partition and four
// sort attributes.
import type { IndexForm, KeyField } from '../../model/create.ts';
import { Choice, Field } from '../../ui/field.tsx';
import { Icon } from '../../ui/icons.tsx';
import { KeyInput, NumberInput } from './fields.tsx';

export interface IndexFieldsProps {
  index: IndexForm;
  at: number;
  provisioned: boolean;
  errors: Map<string, string>;
  onChange: (index: IndexForm) => void;
  onRemove?: () => void;
}

const kMostAttributes = 4;

export function IndexFields(props: IndexFieldsProps) {
  const { index, at, provisioned, errors, onChange, onRemove } = props;
  const set = (changes: Partial<IndexForm>) => onChange({ ...index, ...changes });
  const error = (field: string) => errors.get(`index.${at}.${field}`);
  return (
    <fieldset class="sub stack">
      <legend class="visually-hidden">
        {index.kind === 'global' ? 'Global' : 'Local'} index {at + 1}
      </legend>
      <div class="fields">
        <Field
          label={index.kind === 'global' ? 'Name of the global index' : 'Name of the local index'}
          error={error('name')}
        >
          {(ids) => (
            <input
              {...ids}
              value={index.name}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => set({ name: event.currentTarget.value })}
            />
          )}
        </Field>
        {onRemove && (
          <button type="button" class="quiet at-end" onClick={onRemove}>
            <Icon name="trash" />
            Remove
          </button>
        )}
      </div>
      {index.kind === 'global' && (
        <Keys
          label="Partition key"
          least={1}
          fields={index.partition}
          error={(i) => error(`partition.${i}`)}
          onChange={(partition) => set({ partition })}
        />
      )}
      <Keys
        label="Sort key"
        least={index.kind === 'local' ? 1 : 0}
        most={index.kind === 'local' ? 1 : kMostAttributes}
        fields={index.sort}
        error={(i) => error(`sort.${i}`)}
        onChange={(sort) => set({ sort })}
      />
      <Choice
        legend="Attributes in the index"
        value={index.projection}
        options={[
          { value: 'ALL', label: 'All' },
          { value: 'KEYS_ONLY', label: 'Keys only' },
          { value: 'INCLUDE', label: 'Keys and…' },
        ]}
        onChange={(projection) => set({ projection })}
      />
      {index.entryBytes !== undefined && (
        <p class="hint">
          It was simulated with entries of {index.entryBytes}: with more attributes they are larger,
          and each write costs more.
        </p>
      )}
      {index.projection === 'INCLUDE' && (
        <Field label="Attributes" hint="Names, separated by commas" error={error('include')}>
          {(ids) => (
            <input
              {...ids}
              value={index.include}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => set({ include: event.currentTarget.value })}
            />
          )}
        </Field>
      )}
      {index.kind === 'global' && (
        <div class="fields">
          <NumberInput
            label={provisioned ? 'Read units per second' : 'At most, reads per second'}
            value={provisioned ? index.read : index.maxRead}
            error={error('read')}
            onChange={(text) => set(provisioned ? { read: text } : { maxRead: text })}
          />
          <NumberInput
            label={provisioned ? 'Write units per second' : 'At most, writes per second'}
            value={provisioned ? index.write : index.maxWrite}
            error={error('write')}
            onChange={(text) => set(provisioned ? { write: text } : { maxWrite: text })}
          />
        </div>
      )}
    </fieldset>
  );
}

interface KeysProps {
  label: string;
  least: number;
  most?: number;
  fields: KeyField[];
  error: (i: number) => string | undefined;
  onChange: (fields: KeyField[]) => void;
}

function Keys({ label, least, most = kMostAttributes, fields, error, onChange }: KeysProps) {
  return (
    <div class="fields">
      {fields.map((field, i) => (
        <div class="row nowrap-row" key={i}>
          <KeyInput
            label={fields.length > 1 ? `${label}, attribute ${i + 1}` : label}
            field={field}
            error={error(i)}
            onChange={(next) => onChange(fields.map((one, j) => (j === i ? next : one)))}
          />
          {fields.length > least && (
            <button
              type="button"
              class="quiet square"
              aria-label={`Remove attribute ${i + 1} of the ${label.toLowerCase()}`}
              onClick={() => onChange(fields.filter((_, j) => j !== i))}
            >
              <Icon name="close" />
            </button>
          )}
        </div>
      ))}
      {fields.length < most && (
        <div class="field">
          {fields.length === 0 && <span class="field-label">{label}</span>}
          <button
            type="button"
            class={`quiet ${fields.length > 0 ? 'at-end' : ''}`}
            onClick={() => onChange([...fields, { name: '', type: 'S' }])}
          >
            <Icon name="plus" />
            {fields.length === 0 ? 'Add' : 'Another attribute'}
          </button>
        </div>
      )}
    </div>
  );
}
