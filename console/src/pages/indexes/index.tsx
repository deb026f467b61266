// The secondary indexes of a table: what each holds and costs, and a new one.
import { useEffect, useState } from 'preact/hooks';
import { dynamodb } from '../../api/dynamodb.ts';
import { isStopped } from '../../api/errors.ts';
import { type PartitionReport, partitionsOf } from '../../api/partitions.ts';
import { waitFor } from '../../api/tables.ts';
import { poll } from '../../app/live.ts';
import { href } from '../../app/router.ts';
import { boot, refresh } from '../../app/state.ts';
import { type IndexDescription, isOnDemand, type TableDescription } from '../../model/table.ts';
import { ask } from '../../ui/dialog.tsx';
import { amount, bytes, count, percent, plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { say, sayError } from '../../ui/told.tsx';
import { NewIndex } from './new_index.tsx';

export default function Indexes({ table }: { table: TableDescription }) {
  const [report, setReport] = useState<PartitionReport | null>(null);
  const [adding, setAdding] = useState(false);
  const name = table.TableName;
  useEffect(
    () =>
      poll(
        async (signal) => {
          try {
            setReport(await partitionsOf(name, signal));
          } catch (failure) {
            if (!isStopped(failure)) throw failure;
          }
        },
        () => 5000,
      ),
    [name],
  );
  const readOnly = boot.value?.readOnly ?? false;
  const why = readOnly ? 'This console is read-only' : undefined;
  const global = table.GlobalSecondaryIndexes ?? [];
  const local = table.LocalSecondaryIndexes ?? [];
  const none = global.length + local.length === 0;
  // A build goes on by itself: the description is asked for again until it is done.
  const building = global.some((one) => one.IndexStatus !== 'ACTIVE');
  useEffect(() => {
    if (!building) return;
    const timer = setInterval(() => void refresh(), 1000);
    return () => clearInterval(timer);
  }, [building]);
  const own = report?.resources.find((one) => one.type === 'table');
  const used = (index: IndexDescription) =>
    report?.resources.find(
      (one) => one.type === 'index' && one.name.split('/').at(-1) === index.IndexName,
    );
  return (
    <>
      <div class="row spread">
        <p class="muted">
          {none
            ? 'Queries go by the table’s key only.'
            : `${plural(global.length, 'global index', 'global indexes')}, ${plural(local.length, 'local index', 'local indexes')}`}
        </p>
        <button
          type="button"
          class="primary"
          disabled={readOnly}
          title={why}
          onClick={() => setAdding(true)}
        >
          <Icon name="plus" />
          Add a global index
        </button>
      </div>
      {none && (
        <div class="empty">
          <h2>No indexes</h2>
          <p class="muted">
            A global index is a copy of the items, or of a part of their attributes, under another
            key. Every write of the table writes there too, and is paid again.
          </p>
        </div>
      )}
      {global.map((index) => (
        <One
          key={index.IndexName}
          table={table}
          index={index}
          used={used(index)}
          written={own?.consumed.write ?? 0}
        />
      ))}
      {local.map((index) => (
        <One key={index.IndexName} table={table} index={index} used={undefined} written={0} local />
      ))}
      {adding && <NewIndex table={table} onClose={() => setAdding(false)} />}
    </>
  );
}

interface OneProps {
  table: TableDescription;
  index: IndexDescription;
  used: PartitionReport['resources'][number] | undefined;
  // Units that the table itself wrote.
  written: number;
  local?: boolean;
}

function One({ table, index, used, written, local }: OneProps) {
  const items = table.ItemCount ?? 0;
  const entries = index.ItemCount ?? 0;
  const status = local ? 'ACTIVE' : (index.IndexStatus ?? 'ACTIVE');
  const refused = (used?.refused ?? []).reduce((sum, one) => sum + one.requests, 0);
  const readOnly = boot.value?.readOnly ?? false;
  const remove = async () => {
    const reads = used?.consumed.read ?? 0;
    const yes = await ask({
      title: `Delete the index ${index.IndexName}?`,
      body:
        reads > 0
          ? `Requests read it: ${amount(reads)} units since the server started. They will fail.`
          : 'Nothing has read it since the server started.',
      confirm: 'Delete the index',
      dangerous: true,
      typed: index.IndexName,
    });
    if (!yes) return;
    try {
      await dynamodb('UpdateTable', {
        TableName: table.TableName,
        GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: index.IndexName } }],
      });
      await waitFor(table.TableName, 'ACTIVE');
      say(`Index ${index.IndexName} is going`);
      await refresh();
    } catch (error) {
      sayError(error);
    }
  };
  return (
    <section class="card" aria-label={`Index ${index.IndexName}`}>
      <header>
        <h2 class="cut">
          {index.IndexName} <span class="muted">· {local ? 'local' : 'global'}</span>
        </h2>
        {status !== 'ACTIVE' && (
          <span class="badge warn">
            {status === 'CREATING' ? 'being built' : status.toLowerCase()}
          </span>
        )}
        <a
          class="button small"
          href={href(['tables', table.TableName, 'items'], { index: index.IndexName })}
        >
          Query
        </a>
        {!local && (
          <button
            type="button"
            class="small"
            disabled={readOnly || status === 'DELETING'}
            onClick={() => void remove()}
          >
            Delete…
          </button>
        )}
      </header>
      <div class="card-body stack tight">
        <dl class="limit-facts">
          <div>
            <dt>Key</dt>
            <dd>{index.KeySchema.map((one) => one.AttributeName).join(', ')}</dd>
          </div>
          <div>
            <dt>Has</dt>
            <dd>{projectionWords(index)}</dd>
          </div>
          <div>
            <dt>Entries</dt>
            <dd>
              <strong>{count(entries)}</strong>
              {items > 0 && entries < items && ` of ${count(items)} items`},{' '}
              {bytes(index.IndexSizeBytes ?? 0)}
            </dd>
          </div>
          {used && (
            <>
              <div>
                <dt>Read since the start</dt>
                <dd class={used.consumed.read === 0 ? 'warn-text' : ''}>
                  {used.consumed.read === 0 ? (
                    'never'
                  ) : (
                    <>
                      <strong>{amount(used.consumed.read)}</strong> units
                    </>
                  )}
                </dd>
              </div>
              <div>
                <dt>Written since the start</dt>
                <dd>
                  <strong>{amount(used.consumed.write)}</strong> units
                  {written > 0 && `, ${percent(used.consumed.write / written)} on top of the table`}
                </dd>
              </div>
              {refused > 0 && (
                <div>
                  <dt>Beyond its limits</dt>
                  <dd>
                    <a href={href(['tables', table.TableName, 'throttling'])}>
                      {plural(refused, 'request')}
                    </a>
                  </dd>
                </div>
              )}
            </>
          )}
        </dl>
        {!local && !isOnDemand(table) && refused > 0 && (
          <p class="note warn">
            Writes of the table wait for this index: it needs as many write units as its entries
            take.
          </p>
        )}
      </div>
    </section>
  );
}

function projectionWords(index: IndexDescription): string {
  const projection = index.Projection;
  if (projection?.ProjectionType === 'KEYS_ONLY') return 'keys only';
  if (projection?.ProjectionType === 'INCLUDE')
    return `keys and ${(projection.NonKeyAttributes ?? []).join(', ')}`;
  return 'all attributes';
}
