// What cures throttling and can be done by one call: capacity, on demand, a split, the mode.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { dynamodb } from '../../api/dynamodb.ts';
import { management } from '../../api/management.ts';
import type { HotKey, Partition } from '../../api/partitions.ts';
import { waitFor } from '../../api/tables.ts';
import { href } from '../../app/router.ts';
import { boot, has, refresh } from '../../app/state.ts';
import type { Request } from '../../model/code/request.ts';
import { isOnDemand, keysOf, type TableDescription } from '../../model/table.ts';
import { Code } from '../../ui/code.tsx';
import { ask, Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { focusIfLost } from '../../ui/focus.ts';
import { count, percent } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { job } from '../../ui/jobs.ts';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';

export interface FixProps {
  table: TableDescription;
  // The name of a global index; undefined: the table.
  index?: string | undefined;
  // The partition that a split would cut, with the keys that heat it.
  partition?: Partition | undefined;
  keys?: readonly HotKey[] | undefined;
  // The time that is simulated, in milliseconds; undefined: the last minutes.
  window?: { from: number; to: number } | undefined;
  // Nothing is known to be ill: no button is the one to press.
  calm?: boolean;
}

// One key has most of a partition's heat from this share on.
const kOneKey = 0.5;

// Why a split would not cool the partition, as a sentence; null: it may.
export function noSplitBecause(
  table: TableDescription,
  partition: Partition,
  keys: readonly HotKey[],
): string | null {
  if (partition.notSplit) return `Not split, because ${partition.notSplit}.`;
  const [first] = keys;
  if (!first || first.share < kOneKey || first.partitionKey === '') return null;
  return keysOf(table).sort.length === 0
    ? `A split does not help: ${percent(first.share)} of the heat is of one key, and a key without a sort key is one item, which lies in one partition.`
    : null;
}

export function Fixes({ table, index, partition, keys, window, calm }: FixProps) {
  const [editing, setEditing] = useState(false);
  const row = useRef<HTMLDivElement>(null);
  const noSplit =
    partition === undefined || index !== undefined
      ? null
      : noSplitBecause(table, partition, keys ?? partition.hottest);
  const running = job.value;
  const cure =
    running?.outcome === null && running.cure?.table === table.TableName && !index
      ? running.cure
      : undefined;
  // The button that was pressed may be gone after the call.
  const keepFocus = () =>
    focusIfLost(() => row.current?.querySelector<HTMLElement>('a, button:not(:disabled)'));
  const readOnly = boot.value?.readOnly ?? false;
  const why = readOnly ? 'This console is read-only' : undefined;
  const provisioned = !isOnDemand(table);
  const seconds = (ms: number | undefined) =>
    ms === undefined ? undefined : String(Math.round(ms / 1000));
  return (
    <div class="row wrap" ref={row}>
      {noSplit !== null && <p class="note whole">{noSplit}</p>}
      {cure && (
        <button
          type="button"
          class={`small ${cure.tried === null && !calm ? 'primary' : ''}`}
          aria-disabled={cure.busy}
          onClick={() => void cure.flip().catch(sayError)}
        >
          <Icon name={cure.tried === null ? 'check' : 'left'} />
          {cure.busy
            ? 'Writing the items…'
            : cure.tried === null
              ? `${cure.label} on the running load`
              : 'Put the running load back on one key'}
        </button>
      )}
      {has('simulate') && (
        <a
          class={`button small ${calm || cure ? '' : 'primary'}`}
          href={href(['design'], {
            of: table.TableName,
            from: seconds(window?.from),
            to: seconds(window?.to),
          })}
        >
          <Icon name="play" />
          Simulate a cure
        </a>
      )}
      {provisioned && (
        <button
          type="button"
          class="small"
          disabled={readOnly}
          title={why}
          onClick={() => setEditing(true)}
        >
          <Icon name="up" />
          Change capacity…
        </button>
      )}
      {provisioned && (
        <button
          type="button"
          class="small"
          disabled={readOnly}
          title={why}
          onClick={() => void goOnDemand(table).then(keepFocus)}
        >
          Switch to on demand…
        </button>
      )}
      {partition !== undefined && index === undefined && noSplit === null && (
        <button
          type="button"
          class="small"
          disabled={readOnly}
          title={why}
          onClick={() => void split(table, partition.id).then(keepFocus)}
        >
          Split partition {partition.id}…
        </button>
      )}
      {editing && <CapacityDialog table={table} index={index} onClose={() => setEditing(false)} />}
    </div>
  );
}

async function goOnDemand(table: TableDescription): Promise<void> {
  const yes = await ask({
    title: `Switch ${table.TableName} to on demand?`,
    body: 'Requests are paid one by one, and capacity is no longer provisioned. A table can be switched to on demand four times a day.',
    confirm: 'Switch to on demand',
  });
  if (!yes) return;
  try {
    await dynamodb('UpdateTable', { TableName: table.TableName, BillingMode: 'PAY_PER_REQUEST' });
    await waitFor(table.TableName, 'ACTIVE');
    say(`${table.TableName} is on demand`);
    await refresh();
  } catch (error) {
    sayError(error);
  }
}

async function split(table: TableDescription, partition: number): Promise<void> {
  const yes = await ask({
    title: `Split partition ${partition}?`,
    body: 'It is cut in the middle of its keys, and with it the shard of the stream. A split cannot be undone.',
    confirm: 'Split',
  });
  if (!yes) return;
  try {
    await management(`tables/${encodeURIComponent(table.TableName)}/split`, {
      method: 'POST',
      table: table.TableName,
      body: { partition },
    });
    say(`Partition ${partition} was split`);
    await refresh();
  } catch (error) {
    sayError(error);
  }
}

const unitsError = (text: string): string | null =>
  /^[1-9]\d{0,8}$/.test(text.trim()) ? null : 'A whole number, at least 1';

function Units(props: { label: string; value: string; onInput: (text: string) => void }) {
  return (
    <Field label={props.label} error={unitsError(props.value)}>
      {(ids) => (
        <input
          {...ids}
          class="short"
          inputMode="numeric"
          value={props.value}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function CapacityDialog({
  table,
  index,
  onClose,
  wanted,
  children,
}: {
  table: TableDescription;
  index: string | undefined;
  onClose: () => void;
  // What the fields begin with; undefined: what there is.
  wanted?: { read: string; write: string } | undefined;
  // What is said before the code.
  children?: ComponentChildren;
}) {
  const now =
    index === undefined
      ? table.ProvisionedThroughput
      : table.GlobalSecondaryIndexes?.find((one) => one.IndexName === index)?.ProvisionedThroughput;
  const [read, setRead] = useState(wanted?.read ?? String(now?.ReadCapacityUnits ?? 5));
  const [write, setWrite] = useState(wanted?.write ?? String(now?.WriteCapacityUnits ?? 5));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const throughput = { ReadCapacityUnits: Number(read), WriteCapacityUnits: Number(write) };
  const request: Request = {
    service: 'DynamoDB',
    operation: 'UpdateTable',
    input:
      index === undefined
        ? { TableName: table.TableName, ProvisionedThroughput: throughput }
        : {
            TableName: table.TableName,
            GlobalSecondaryIndexUpdates: [
              { Update: { IndexName: index, ProvisionedThroughput: throughput } },
            ],
          },
  };
  const apply = async () => {
    setBusy(true);
    setError(null);
    try {
      await dynamodb(request.operation, request.input);
      await waitFor(table.TableName, 'ACTIVE');
      say(
        `${index ?? table.TableName} has ${count(Number(read))} read and ${count(Number(write))} write units`,
      );
      await refresh();
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const wrong = unitsError(read) !== null || unitsError(write) !== null;
  return (
    <Dialog
      title={`Capacity of ${index === undefined ? table.TableName : `index ${index}`}`}
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            class="primary"
            disabled={busy || wrong}
            onClick={() => void apply()}
          >
            {busy ? 'Changing…' : 'Change capacity'}
          </button>
        </>
      }
    >
      <p class="muted">
        {count(now?.ReadCapacityUnits ?? 0)} read and {count(now?.WriteCapacityUnits ?? 0)} write
        units a second now; {now?.NumberOfDecreasesToday ?? 0} decreases today.
      </p>
      <div class="fields">
        <Units label="Read units per second" value={read} onInput={setRead} />
        <Units label="Write units per second" value={write} onInput={setWrite} />
      </div>
      {children}
      {error !== null && <ErrorBox error={error} />}
      {!wrong && <Code of={{ request }} />}
    </Dialog>
  );
}
