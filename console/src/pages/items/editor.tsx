// One item in a panel at the side: form, DynamoDB JSON and plain JSON of the same value. What is
// saved are the touched attributes, on the condition that they are as they were loaded.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../app/keys.ts';
import { guard } from '../../app/router.ts';
import { boot } from '../../app/state.ts';
import type { Request } from '../../model/code/request.ts';
import { difference } from '../../model/difference.ts';
import { JsonError, placeOf } from '../../model/json.ts';
import { printPath } from '../../model/path.ts';
import { printPlain, readPlain, type TypeChange } from '../../model/plain.ts';
import { deleteRequest, saveRequest } from '../../model/save.ts';
import { itemBytes, kMostItemBytes, writeUnits } from '../../model/size.ts';
import { keyNames, keyOf, keysOf, type TableDescription } from '../../model/table.ts';
import { printTyped, readTyped } from '../../model/typed.ts';
import { type AttributeValue, type Item, itemOf } from '../../model/value.ts';
import { Code } from '../../ui/code.tsx';
import { ask } from '../../ui/dialog.tsx';
import { Choice } from '../../ui/field.tsx';
import { takesFocus } from '../../ui/focus.ts';
import { bytes, plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import { ItemForm } from './form.tsx';
import { MergeView } from './merge_view.tsx';
import { HistoryButton } from './past_item.tsx';
import { readItem, sendSave } from './save.ts';

export interface EditorProps {
  table: TableDescription;
  // Key of the item; null: a new one.
  itemKey: Item | null;
  // What a new one begins with: a duplicate.
  from?: Item | undefined;
  onClose: () => void;
  onWritten: (before: Item | null, after: Item | null) => void;
  onDuplicate: (item: Item) => void;
  // Leads to the versions of the item.
  onHistory: () => void;
}

type View = 'form' | 'typed' | 'plain';

export function Editor(props: EditorProps) {
  const { table, itemKey } = props;
  const [loaded, setLoaded] = useState<Item | null | undefined>(
    itemKey === null ? null : undefined,
  );
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (itemKey === null) return;
    readItem(table, itemKey).then(setLoaded, setError);
  }, []);
  useKeys({ escape: props.onClose });
  return (
    <aside class="drawer editor" aria-label={itemKey === null ? 'New item' : 'Item'}>
      {error !== null ? (
        <div class="pad">
          <ErrorBox error={error}>
            <button type="button" onClick={props.onClose}>
              Close
            </button>
          </ErrorBox>
        </div>
      ) : loaded === undefined ? (
        <p class="loading">Reading the item…</p>
      ) : loaded === null && itemKey !== null ? (
        <div class="empty">
          <h2>This item is gone</h2>
          <p class="muted">It was deleted, or its key was changed.</p>
          <div class="row">
            <HistoryButton onOpen={props.onHistory} />
            <button type="button" onClick={props.onClose}>
              Close
            </button>
          </div>
        </div>
      ) : (
        <Editing {...props} first={loaded} />
      )}
    </aside>
  );
}

function emptyItemOf(table: TableDescription): Item {
  const keys = keysOf(table);
  return itemOf(
    [...keys.partition, ...keys.sort].map((key): [string, AttributeValue] => [
      key.name,
      key.type === 'N' ? { N: '0' } : key.type === 'B' ? { B: '' } : { S: '' },
    ]),
  );
}

function Editing({
  table,
  first,
  from,
  onClose,
  onWritten,
  onDuplicate,
  onHistory,
}: EditorProps & { first: Item | null }) {
  const [loaded, setLoaded] = useState(first);
  const [mine, setMine] = useState<Item>(() => first ?? from ?? emptyItemOf(table));
  const [view, setView] = useState<View>('form');
  const [text, setText] = useState('');
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map());
  const [typeChanges, setTypeChanges] = useState<TypeChange[]>([]);
  const [strict, setStrict] = useState(false);
  const [showCode, setShowCode] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [theirs, setTheirs] = useState<Item | null | undefined>(undefined);
  // Counted up when the form has to begin anew with another item.
  const [round, setRound] = useState(0);
  const keys = useMemo(() => new Set(keyNames(keysOf(table))), [table]);
  const heading = useRef<HTMLHeadingElement>(null);
  const isNew = loaded === null;
  const changes = useMemo(() => difference(loaded ?? itemOf([]), mine), [loaded, mine]);
  const isDirty =
    problems.size > 0 || (isNew ? from === undefined || changes.length > 0 : changes.length > 0);
  const unsaved = isNew ? !keysEmpty(table, mine) : isDirty;
  const size = itemBytes(mine);
  const readOnly = boot.value?.readOnly ?? false;

  let request: Request | null = null;
  let impossible: string | null = null;
  try {
    request = saveRequest(table, { loaded, mine, strict });
  } catch (failure) {
    impossible = (failure as Error).message;
  }

  useEffect(() => heading.current?.focus(), []);
  useEffect(
    () => guard(() => (unsaved ? 'The changes of this item are not saved.' : null)),
    [unsaved],
  );

  const leave = async (then: () => void) => {
    if (
      unsaved &&
      !(await ask({
        title: 'Close without saving?',
        body: 'The changes of this item are not saved.',
        confirm: 'Drop the changes',
        dangerous: true,
      }))
    )
      return;
    then();
  };
  const close = () => leave(onClose);
  const begin = (item: Item | null, edited: Item) => {
    setLoaded(item);
    setMine(edited);
    setTheirs(undefined);
    setProblems(new Map());
    setTypeChanges([]);
    setError(null);
    setRound((n) => n + 1);
    heading.current?.focus();
    if (view !== 'form') setText(view === 'typed' ? printTyped(edited) : printPlain(edited));
  };

  const save = async () => {
    if (!request || busy || problems.size > 0 || readOnly) return;
    if (typeChanges.length > 0) {
      const yes = await ask({
        title: 'Change types?',
        body: (
          <ul>
            {typeChanges.map((one) => (
              <li key={one.path}>
                <code>{one.path}</code>: {one.from} becomes {one.to}
              </li>
            ))}
          </ul>
        ),
        confirm: 'Save with these types',
      });
      if (!yes) return;
    }
    setBusy(true);
    setError(null);
    try {
      const key = keyOf(table, loaded ?? mine) as Item;
      const outcome = await sendSave(table, request, mine, key);
      if (outcome.kind === 'conflict') {
        setTheirs(outcome.theirs);
        return;
      }
      const stored = outcome.item ?? mine;
      onWritten(loaded, stored);
      const before = loaded;
      begin(stored, stored);
      say('Saved', 'good', {
        label: 'Undo',
        run: () => void undo(table, stored, before, onWritten),
      });
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };

  const remove = async () => {
    if (!loaded || readOnly) return;
    const yes = await ask({
      title: 'Delete this item?',
      body: 'It is deleted only if it still is as it was loaded.',
      confirm: 'Delete',
      dangerous: true,
    });
    if (!yes) return;
    try {
      const outcome = await sendSave(
        table,
        deleteRequest(table, loaded),
        null,
        keyOf(table, loaded) as Item,
      );
      if (outcome.kind === 'conflict') {
        setTheirs(outcome.theirs);
        return;
      }
      onWritten(loaded, null);
      const before = loaded;
      say('Deleted', 'good', {
        label: 'Undo',
        run: () => void undo(table, null, before, onWritten),
      });
      onClose();
    } catch (failure) {
      setError(failure);
    }
  };

  useKeys(
    {
      'ctrl+s': () => void save(),
      'ctrl+enter': () => void save(),
      escape: () => void close(),
      c: () => setShowCode(!showCode),
      h: () => !isNew && void leave(onHistory),
    },
    {
      'Ctrl S': 'Save the item',
      'Ctrl Enter': 'Save the item',
      Esc: 'Close the panel',
      c: 'Code',
      h: 'History',
    },
  );

  const show = (next: View) => {
    if (problems.size > 0) return;
    if (next !== 'form') setText(next === 'typed' ? printTyped(mine) : printPlain(mine));
    setView(next);
  };
  const edit = (next: string) => {
    setText(next);
    try {
      if (view === 'typed') {
        setMine(readTyped(next));
        setTypeChanges([]);
      } else {
        const read = readPlain(next, loaded ?? mine);
        setMine(read.item);
        setTypeChanges(read.changes);
      }
      setProblems(new Map());
    } catch (failure) {
      if (!(failure instanceof JsonError)) throw failure;
      const { line, column } = placeOf(next, failure.at);
      setProblems(new Map([['json', `Line ${line}, column ${column}: ${failure.message}`]]));
    }
  };

  return (
    <>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {isNew ? 'New item' : 'Item'}
        </h2>
        {!isNew && (
          <>
            <HistoryButton onOpen={() => void leave(onHistory)} />
            <button
              type="button"
              class="quiet square"
              aria-label="Duplicate the item"
              title="Duplicate"
              disabled={readOnly}
              onClick={() => onDuplicate(mine)}
            >
              <Icon name="copy" />
            </button>
            <button
              type="button"
              class="quiet square"
              aria-label="Delete the item"
              title="Delete"
              disabled={readOnly}
              onClick={() => void remove()}
            >
              <Icon name="trash" />
            </button>
          </>
        )}
        <button
          type="button"
          class="quiet square"
          aria-label="Close the item"
          onClick={() => void close()}
        >
          <Icon name="close" />
        </button>
      </header>
      <div class="editor-body stack">
        {theirs !== undefined && loaded !== null ? (
          theirs === null ? (
            <div class="error-box" role="alert" tabIndex={-1} ref={takesFocus}>
              <p>
                <strong>The item was deleted meanwhile</strong>
              </p>
              <p>Nothing was written.</p>
              <div class="row">
                <button type="button" onClick={() => begin(null, mine)}>
                  Create it again
                </button>
                <button
                  type="button"
                  onClick={() => {
                    onWritten(loaded, null);
                    onClose();
                  }}
                >
                  Drop my changes
                </button>
              </div>
            </div>
          ) : (
            <MergeView
              loaded={loaded}
              theirs={theirs}
              mine={mine}
              onMerged={(item) => begin(theirs, item)}
              onDrop={() => {
                onWritten(loaded, theirs);
                begin(theirs, theirs);
              }}
            />
          )
        ) : (
          <>
            {theirs !== undefined && loaded === null && (
              <div class="error-box" role="alert" tabIndex={-1} ref={takesFocus}>
                <p>
                  <strong>There is an item with this key already</strong>
                </p>
                <p>Nothing was written: choose another key, or open that item.</p>
              </div>
            )}
            <Choice<View>
              legend="View"
              hideLegend
              value={view}
              options={[
                { value: 'form', label: 'Form' },
                { value: 'typed', label: 'DynamoDB JSON' },
                { value: 'plain', label: 'Plain JSON' },
              ]}
              onChange={show}
            />
            {view === 'form' ? (
              <ItemForm
                key={round}
                item={mine}
                keys={keys}
                onChange={setMine}
                onProblem={(field, sentence) =>
                  setProblems((old) => {
                    const next = new Map(old);
                    if (sentence === null) next.delete(field);
                    else next.set(field, sentence);
                    return next;
                  })
                }
              />
            ) : (
              <textarea
                class="mono editor-text"
                aria-label={
                  view === 'typed' ? 'The item as DynamoDB JSON' : 'The item as plain JSON'
                }
                aria-invalid={problems.size > 0}
                aria-describedby="editor-problem"
                spellcheck={false}
                value={text}
                onInput={(event) => edit(event.currentTarget.value)}
              />
            )}
            <div id="editor-problem" aria-live="polite">
              {view !== 'form' && problems.has('json') && (
                <p class="field-error">{problems.get('json')}</p>
              )}
              {typeChanges.length > 0 && (
                <p class="note warn">
                  {typeChanges
                    .map((one) => `${one.path}: ${one.from} becomes ${one.to}`)
                    .join('. ')}
                  .
                </p>
              )}
            </div>
          </>
        )}
        {error !== null && <ErrorBox error={error} />}
        {showCode && request && <Code of={{ request }} />}
      </div>
      <footer class="editor-foot">
        <div class="grow small">
          <p class={size > kMostItemBytes ? 'bad-text' : 'muted'}>
            {bytes(size)} of 400 KB · {plural(writeUnits(size), 'write unit')}
          </p>
          {!isNew && (
            <p class="muted cut" title={changes.map((one) => printPath(one.path)).join(', ')}>
              {changes.length === 0
                ? 'nothing changed'
                : `changed: ${changes.map((one) => printPath(one.path)).join(', ')}`}
            </p>
          )}
          {impossible && <p class="bad-text">{impossible}</p>}
        </div>
        {!isNew && (
          <label
            class="check small"
            title="Save only if no attribute of the item was changed by others"
          >
            <input
              type="checkbox"
              checked={strict}
              onChange={(event) => setStrict(event.currentTarget.checked)}
            />
            strict: only if nobody changed any attribute
          </label>
        )}
        <button
          type="button"
          class="quiet"
          aria-pressed={showCode}
          disabled={!request}
          onClick={() => setShowCode(!showCode)}
        >
          <Icon name="code" />
          Code
        </button>
        <button
          type="button"
          class="primary"
          aria-disabled={busy}
          disabled={
            readOnly ||
            !request ||
            problems.size > 0 ||
            size > kMostItemBytes ||
            (theirs !== undefined && loaded !== null)
          }
          title={readOnly ? 'This console is read-only' : undefined}
          onClick={() => void save()}
        >
          {busy ? 'Saving…' : isNew ? 'Create' : 'Save'}
        </button>
      </footer>
    </>
  );
}

const keysEmpty = (table: TableDescription, item: Item): boolean =>
  keyNames(keysOf(table)).every((name) => {
    const value = item[name];
    return value !== undefined && ['', '0'].includes(Object.values(value)[0] as string);
  });

// Writes the state before back, by the same rule as any save.
async function undo(
  table: TableDescription,
  now: Item | null,
  before: Item | null,
  onWritten: EditorProps['onWritten'],
): Promise<void> {
  try {
    const request =
      before === null
        ? deleteRequest(table, now as Item)
        : saveRequest(table, { loaded: now, mine: before, strict: false });
    if (!request) return;
    const key = keyOf(table, (now ?? before) as Item) as Item;
    const outcome = await sendSave(table, request, before, key);
    if (outcome.kind === 'conflict') say('It was changed since: nothing was undone', 'bad');
    else {
      onWritten(now, before);
      say('Undone');
    }
  } catch (error) {
    sayError(error);
  }
}
