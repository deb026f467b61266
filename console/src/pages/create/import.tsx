// A table from what people have of it: a CreateTable request, an answer of DescribeTable, a model
// of NoSQL Workbench; pasted, or from a file.
import { useState } from 'preact/hooks';
import { dynamodb } from '../../api/dynamodb.ts';
import { describe, waitFor, write } from '../../api/tables.ts';
import { go, href } from '../../app/router.ts';
import { boot, refresh, tables } from '../../app/state.ts';
import { formOf } from '../../model/create.ts';
import { type ImportedTable, tablesIn } from '../../model/import_table.ts';
import { Field } from '../../ui/field.tsx';
import { chooseFile } from '../../ui/file.ts';
import { plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox, say } from '../../ui/told.tsx';
import { handedOver } from './handed_over.ts';

export default function ImportTable() {
  const [text, setText] = useState('');
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  let found: ImportedTable[] = [];
  let problem: string | null = null;
  if (text.trim() !== '') {
    try {
      found = tablesIn(text);
    } catch (failure) {
      problem = (failure as Error).message;
    }
  }

  const createAll = async (some: ImportedTable[]) => {
    setBusy(true);
    setError(null);
    try {
      for (const { input, items } of some) {
        const name = String(input.TableName);
        await dynamodb('CreateTable', input);
        await waitFor(name, 'ACTIVE');
        if (items.length === 0) continue;
        const table = await describe(name);
        const outcome = await write(
          table,
          items.map((item) => ({ kind: 'put', key: item, item })),
        );
        if (outcome.failures[0]) throw new Error(outcome.failures[0].message);
      }
      await refresh();
      say(`${plural(some.length, 'table')} created`);
      await go(href(['tables', String(some[0]?.input.TableName), 'items']));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };

  return (
    <>
      <header class="page-head">
        <h1>Import a table</h1>
      </header>
      <div class="card pad stack">
        <Field
          label="Paste it here"
          hint="A CreateTable request, an answer of DescribeTable, the file NAME.table.json of an exported table, or a model of NoSQL Workbench"
          error={problem}
        >
          {(ids) => (
            <textarea
              {...ids}
              class="mono"
              rows={12}
              spellcheck={false}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          )}
        </Field>
        <div class="row">
          <button
            type="button"
            onClick={async () => {
              const file = await chooseFile('.json,application/json');
              if (file) setText(await file.text());
            }}
          >
            <Icon name="upload" />
            Choose a file
          </button>
        </div>
        {found.length > 0 && (
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Table</th>
                <th scope="col">Key</th>
                <th scope="col">Indexes</th>
                <th scope="col" class="num">
                  Items
                </th>
                <th scope="col">
                  <span class="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {found.map((one) => (
                <Found key={String(one.input.TableName)} table={one} />
              ))}
            </tbody>
          </table>
        )}
        {error !== null && <ErrorBox error={error} />}
        {found.length > 0 && (
          <div class="row">
            <button
              type="button"
              class="primary"
              disabled={busy || boot.value?.readOnly}
              onClick={() => void createAll(found)}
            >
              {busy ? 'Creating…' : `Create ${plural(found.length, 'table')}`}
            </button>
          </div>
        )}
      </div>
    </>
  );
}

function Found({ table }: { table: ImportedTable }) {
  const { form, unknown } = formOf(table.input);
  const exists = tables.value.has(form.name);
  return (
    <tr>
      <th scope="row">
        {form.name} {exists && <span class="badge bad">exists already</span>}
        {unknown.length > 0 && (
          <p class="small muted">
            The form has no field for {unknown.join(', ')}; the request has.
          </p>
        )}
      </th>
      <td>
        {form.partition.name}
        {form.sort && `, ${form.sort.name}`}
      </td>
      <td>{form.indexes.map((index) => index.name).join(', ') || '–'}</td>
      <td class="num">{table.items.length}</td>
      <td>
        <button
          type="button"
          class="small"
          onClick={() => {
            handedOver.put(form);
            void go(href(['tables', 'new']));
          }}
        >
          Change first
        </button>
      </td>
    </tr>
  );
}
