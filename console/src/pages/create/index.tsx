// A new table, with everything that CreateTable can do; beside it what that will be, and the same
// as code. `?from=NAME` begins with a table that exists.
import { useEffect, useState } from 'preact/hooks';
import { dynamodb } from '../../api/dynamodb.ts';
import { management } from '../../api/management.ts';
import { allItems, bulkOn, describe, waitFor } from '../../api/tables.ts';
import { useKeys } from '../../app/keys.ts';
import { go, guard, href, route } from '../../app/router.ts';
import { boot, refresh, tables } from '../../app/state.ts';
import type { Write } from '../../model/bulk.ts';
import {
  type CreateForm,
  createInputOf,
  emptyForm,
  formOf,
  requestsOf,
} from '../../model/create.ts';
import { keyOf } from '../../model/table.ts';
import { runBulk } from '../../ui/jobs.ts';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import { CreateFields } from './fields.tsx';
import { handedOver } from './handed_over.ts';
import { Outlook } from './outlook.tsx';

export default function CreateTable() {
  const from = route.value.query.get('from');
  const [form, setForm] = useState<CreateForm>(() => handedOver.take()?.form ?? emptyForm());
  const [copyItems, setCopyItems] = useState(false);
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [changed, setChanged] = useState(false);

  useEffect(() => {
    if (from === null) return;
    const controller = new AbortController();
    describe(from, controller.signal).then(
      (table) => setForm({ ...formOf(createInputOf(table)).form, name: freeName(from) }),
      setError,
    );
    return () => controller.abort();
  }, [from]);
  useEffect(
    () => guard(() => (changed && !busy ? 'The new table is not created yet.' : null)),
    [changed, busy],
  );

  const requests = requestsOf(form);
  if (tables.value.has(form.name)) requests.errors.set('name', 'A table of this name exists');
  const errors = tried ? requests.errors : new Map<string, string>();

  const create = async () => {
    setTried(true);
    if (requests.errors.size > 0) {
      requestAnimationFrame(() =>
        document.querySelector<HTMLElement>('main [aria-invalid="true"]')?.focus(),
      );
      return;
    }
    setBusy(true);
    setError(null);
    try {
      await dynamodb('CreateTable', requests.create);
      await waitFor(form.name, 'ACTIVE');
      if (requests.ttl) await dynamodb('UpdateTimeToLive', requests.ttl);
      if (requests.insights) await dynamodb('UpdateContributorInsights', requests.insights);
      if (requests.scaling)
        await management(`tables/${form.name}/auto-scaling`, {
          method: 'PUT',
          body: requests.scaling,
          table: form.name,
        });
      say(`Table ${form.name} was created`);
      await refresh();
      if (from !== null && copyItems) void copy(from, form.name);
      setChanged(false);
      await go(href(['tables', form.name, 'items']));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  useKeys({ 'ctrl+enter': () => void create() }, { 'Ctrl Enter': 'Create the table' });

  return (
    <>
      <header class="page-head">
        <h1>{from === null ? 'Create a table' : `Duplicate ${from}`}</h1>
        <div class="row">
          <a class="button quiet" href={href(['tables', 'import'])}>
            From a request or a model…
          </a>
        </div>
      </header>
      <div class="create">
        <form
          class="stack"
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            void create();
          }}
        >
          <CreateFields
            form={form}
            errors={errors}
            onChange={(next) => {
              setForm(next);
              setChanged(true);
            }}
          />
          {from !== null && (
            <label class="check">
              <input
                type="checkbox"
                checked={copyItems}
                onChange={(event) => setCopyItems(event.currentTarget.checked)}
              />
              Copy the items too: reads all of {from} and writes it to the new table
            </label>
          )}
          {error !== null && <ErrorBox error={error} />}
          <div class="row">
            <button type="submit" class="primary" disabled={busy || boot.value?.readOnly}>
              {busy ? 'Creating…' : 'Create the table'}
            </button>
            {errors.size > 0 && (
              <span class="bad-text" role="status">
                {errors.size === 1 ? 'One field needs' : `${errors.size} fields need`} another look
              </span>
            )}
          </div>
        </form>
        <Outlook form={form} requests={requests} />
      </div>
    </>
  );
}

function freeName(from: string): string {
  for (let n = 1; ; ++n) {
    const name = `${from}-copy${n === 1 ? '' : n}`;
    if (!tables.peek().has(name)) return name;
  }
}

async function copy(from: string, to: string): Promise<void> {
  try {
    const [source, target] = await Promise.all([describe(from), describe(to)]);
    async function* puts(): AsyncGenerator<Write> {
      for await (const item of allItems(source)) {
        const key = keyOf(target, item);
        if (key) yield { kind: 'put', key, item };
      }
    }
    await runBulk({
      title: `Copying ${from} to ${to}`,
      total: tables.peek().get(from)?.items ?? null,
      make: (report) => bulkOn(target, report),
      source: puts(),
    });
    await refresh();
  } catch (error) {
    sayError(error);
  }
}
