// The form of an item: one row for each attribute, a tree for maps and lists. Numbers and binaries
// stay text.
import { useRef, useState } from 'preact/hooks';
import { parseText, textOfValue } from '../../model/text_value.ts';
import {
  type AttributeType,
  type AttributeValue,
  type Item,
  itemOf,
  kTypes,
  kTypeWords,
  member,
  typeOf,
} from '../../model/value.ts';
import { Icon } from '../../ui/icons.tsx';

export interface FormProps {
  item: Item;
  // Attributes that are part of the key: they keep their type and cannot be removed.
  keys: ReadonlySet<string>;
  onChange: (item: Item) => void;
  // Tells that a field holds text that is no value of its type, or no longer does.
  onProblem: (field: string, text: string | null) => void;
}

export function ItemForm({ item, keys, onChange, onProblem }: FormProps) {
  return <MapFields item={item} keys={keys} path="" onChange={onChange} onProblem={onProblem} />;
}

interface MapProps extends FormProps {
  path: string;
}

function MapFields({ item, keys, path, onChange, onProblem }: MapProps) {
  // The key comes first.
  const names = [
    ...[...keys].filter((name) => member(item, name) !== undefined),
    ...Object.keys(item).filter((name) => !keys.has(name)),
  ];
  const replace = (name: string, value: AttributeValue | null, renamed = name) =>
    onChange(
      itemOf(
        names.flatMap((one): [string, AttributeValue][] =>
          one !== name
            ? [[one, item[one] as AttributeValue]]
            : value === null
              ? []
              : [[renamed, value]],
        ),
      ),
    );
  return (
    <div class="form-map">
      {names.map((name) => (
        <Entry
          key={name}
          name={name}
          path={path === '' ? name : `${path}.${name}`}
          value={item[name] as AttributeValue}
          isKey={keys.has(name)}
          onChange={(value) => replace(name, value)}
          onProblem={onProblem}
        />
      ))}
      <AddAttribute
        taken={(name) => member(item, name) !== undefined}
        where={path}
        onAdd={(name) =>
          onChange(
            itemOf([
              ...names.map((one): [string, AttributeValue] => [one, item[one] as AttributeValue]),
              [name, { S: '' }],
            ]),
          )
        }
      />
    </div>
  );
}

function AddAttribute({
  taken,
  where,
  onAdd,
}: {
  taken: (name: string) => boolean;
  where: string;
  onAdd: (name: string) => void;
}) {
  const [name, setName] = useState('');
  const row = useRef<HTMLDivElement>(null);
  const add = () => {
    if (name === '' || taken(name)) return;
    onAdd(name);
    setName('');
    // Its value is what is typed next.
    const label = `Value of ${where === '' ? name : `${where}.${name}`}`;
    requestAnimationFrame(() => {
      const fields = row.current?.parentElement?.querySelectorAll<HTMLElement>('textarea') ?? [];
      [...fields].find((one) => one.getAttribute('aria-label') === label)?.focus();
    });
  };
  return (
    <div class="row form-add" ref={row}>
      <input
        aria-label={where === '' ? 'Name of a new attribute' : `Name of a new member of ${where}`}
        placeholder={where === '' ? 'new attribute' : 'new member'}
        autocomplete="off"
        spellcheck={false}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return;
          event.preventDefault();
          add();
        }}
      />
      <button type="button" class="quiet small" disabled={name === '' || taken(name)} onClick={add}>
        <Icon name="plus" />
        Add
      </button>
      {taken(name) && <span class="field-error">There is one already</span>}
    </div>
  );
}

interface EntryProps {
  name: string;
  path: string;
  value: AttributeValue;
  isKey?: boolean;
  // null: removed.
  onChange: (value: AttributeValue | null) => void;
  onProblem: (field: string, text: string | null) => void;
}

function Entry({ name, path, value, isKey = false, onChange, onProblem }: EntryProps) {
  const type = typeOf(value);
  const nested = type === 'M' || type === 'L';
  return (
    <div class={`form-entry ${nested ? 'nested' : ''}`}>
      <div class="form-head">
        <span class="form-name cut" title={name}>
          {name}
          {isKey && <span class="badge blue">key</span>}
        </span>
        <select
          aria-label={`Type of ${path}`}
          value={type}
          disabled={isKey}
          onChange={(event) => {
            onProblem(path, null);
            onChange(changeType(value, event.currentTarget.value as AttributeType));
          }}
        >
          {kTypes.map((one) => (
            <option key={one} value={one}>
              {one} · {kTypeWords[one]}
            </option>
          ))}
        </select>
        <button
          type="button"
          class="quiet square small"
          aria-label={`Remove ${path}`}
          disabled={isKey}
          onClick={() => {
            onProblem(path, null);
            onChange(null);
          }}
        >
          <Icon name="trash" />
        </button>
      </div>
      <ValueField path={path} value={value} onChange={onChange} onProblem={onProblem} />
    </div>
  );
}

// The value in another type: where the text fits it is kept.
function changeType(value: AttributeValue, type: AttributeType): AttributeValue {
  const from = typeOf(value);
  const old = value as { L?: AttributeValue[]; SS?: string[]; NS?: string[]; BS?: string[] };
  const elements = old.SS ?? old.NS ?? old.BS ?? old.L?.map(textOfValue);
  const text = elements?.[0] ?? (from === 'M' ? '' : textOfValue(value));
  const one = (scalar: 'S' | 'N' | 'B', fallback: string): string[] => {
    const fitting = (elements ?? [text]).filter(
      (each) => each !== '' && 'value' in parseText(scalar, each),
    );
    return fitting.length > 0 ? [...new Set(fitting)] : [fallback];
  };
  switch (type) {
    case 'S':
      return { S: text };
    case 'N':
      return { N: one('N', '0')[0] as string };
    case 'B':
      return { B: one('B', '')[0] as string };
    case 'BOOL':
      return { BOOL: text === 'true' };
    case 'NULL':
      return { NULL: true };
    case 'M':
      return { M: itemOf([]) };
    case 'L':
      return {
        L:
          from === 'NULL' || from === 'M'
            ? []
            : old.SS || old.NS || old.BS
              ? listOf(value)
              : [value],
      };
    case 'SS':
      return { SS: one('S', 'text') };
    case 'NS':
      return { NS: one('N', '0') };
    case 'BS':
      return { BS: one('B', 'AA==') };
  }
}

function listOf(value: AttributeValue): AttributeValue[] {
  if ('SS' in value) return value.SS.map((S) => ({ S }));
  if ('NS' in value) return value.NS.map((N) => ({ N }));
  return 'BS' in value ? value.BS.map((B) => ({ B })) : [];
}

interface ValueProps {
  path: string;
  value: AttributeValue;
  onChange: (value: AttributeValue) => void;
  onProblem: (field: string, text: string | null) => void;
}

function ValueField({ path, value, onChange, onProblem }: ValueProps) {
  if ('BOOL' in value) {
    return (
      <label class="check">
        <input
          type="checkbox"
          aria-label={`Value of ${path}`}
          checked={value.BOOL}
          onChange={(event) => onChange({ BOOL: event.currentTarget.checked })}
        />
        {String(value.BOOL)}
      </label>
    );
  }
  if ('NULL' in value) return <p class="muted small">null: there, and without a value</p>;
  if ('M' in value) {
    return (
      <MapFields
        item={value.M}
        keys={kNoKeys}
        path={path}
        onChange={(M) => onChange({ M })}
        onProblem={onProblem}
      />
    );
  }
  if ('L' in value)
    return <ListFields path={path} value={value} onChange={onChange} onProblem={onProblem} />;
  if ('SS' in value || 'NS' in value || 'BS' in value)
    return <SetField path={path} value={value} onChange={onChange} onProblem={onProblem} />;
  return <ScalarField path={path} value={value} onChange={onChange} onProblem={onProblem} />;
}

const kNoKeys: ReadonlySet<string> = new Set();

function ListFields({
  path,
  value,
  onChange,
  onProblem,
}: ValueProps & { value: { L: AttributeValue[] } }) {
  return (
    <div class="form-map">
      {value.L.map((element, i) => (
        <Entry
          key={i}
          name={`[${i}]`}
          path={`${path}[${i}]`}
          value={element}
          onChange={(next) =>
            onChange({ L: next ? value.L.with(i, next) : value.L.filter((_, j) => j !== i) })
          }
          onProblem={onProblem}
        />
      ))}
      <div>
        <button
          type="button"
          class="quiet small"
          onClick={() => onChange({ L: [...value.L, { S: '' }] })}
        >
          <Icon name="plus" />
          Element of {path}
        </button>
      </div>
    </div>
  );
}

type Scalar = { S: string } | { N: string } | { B: string };

// A text of several lines grows into more of them.
function ScalarField({ path, value, onChange, onProblem }: ValueProps & { value: Scalar }) {
  const type = typeOf(value) as 'S' | 'N' | 'B';
  const held = textOfValue(value);
  // What is typed while it is no number or base64 yet.
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? held;
  const parsed = parseText(type, text);
  const error = 'error' in parsed ? parsed.error : null;
  const input = (next: string) => {
    const result = parseText(type, next);
    if ('value' in result) {
      setTyped(null);
      onProblem(path, null);
      onChange(result.value);
    } else {
      setTyped(next);
      onProblem(path, result.error);
    }
  };
  const lines =
    type === 'S' ? Math.min(12, Math.max(text.split('\n').length, Math.ceil(text.length / 60))) : 1;
  return (
    <>
      {type === 'N' ? (
        <input
          class="mono"
          inputMode="decimal"
          aria-label={`Value of ${path}`}
          aria-invalid={error !== null}
          value={text}
          autocomplete="off"
          onInput={(event) => input(event.currentTarget.value)}
        />
      ) : (
        <textarea
          class={type === 'B' ? 'mono' : undefined}
          aria-label={`Value of ${path}`}
          aria-invalid={error !== null}
          rows={Math.max(1, lines)}
          value={text}
          spellcheck={false}
          onInput={(event) => input(event.currentTarget.value)}
        />
      )}
      {error && <p class="field-error">{error}</p>}
    </>
  );
}

type SetValue = { SS: string[] } | { NS: string[] } | { BS: string[] };

// One element a line: never empty, none twice.
function SetField({ path, value, onChange, onProblem }: ValueProps & { value: SetValue }) {
  const type = typeOf(value) as 'SS' | 'NS' | 'BS';
  const held = (Object.values(value)[0] as string[]).map((one) => one.replaceAll('\n', '\\n'));
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? held.join('\n');
  const input = (next: string) => {
    const lines = next.split('\n').map((line) => line.replaceAll('\\n', '\n'));
    const result = parseText(type, JSON.stringify(lines));
    setTyped(next);
    if ('value' in result) onChange(result.value);
    onProblem(path, 'error' in result ? result.error : null);
  };
  const result = parseText(
    type,
    JSON.stringify(text.split('\n').map((line) => line.replaceAll('\\n', '\n'))),
  );
  return (
    <>
      <textarea
        aria-label={`Elements of ${path}, one a line`}
        aria-invalid={'error' in result}
        class={type === 'SS' ? undefined : 'mono'}
        rows={Math.min(8, Math.max(2, text.split('\n').length))}
        value={text}
        spellcheck={false}
        onInput={(event) => input(event.currentTarget.value)}
      />
      {'error' in result ? (
        <p class="field-error">{result.error}</p>
      ) : (
        <p class="hint">one element a line</p>
      )}
    </>
  );
}
