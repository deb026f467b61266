// The stream of a table: its shards as a family, and the records as they come.
import { useEffect, useRef, useState } from 'preact/hooks';
import { dynamodb } from '../../api/dynamodb.ts';
import { isStopped } from '../../api/errors.ts';
import { waitFor } from '../../api/tables.ts';
import { poll } from '../../app/live.ts';
import { boot, refresh } from '../../app/state.ts';
import { isOpen } from '../../model/shards.ts';
import { keyText, type TableDescription } from '../../model/table.ts';
import { ask } from '../../ui/dialog.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { count, plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { ErrorBox, say, sayError } from '../../ui/told.tsx';
import {
  type Described,
  describeStream,
  Follower,
  type From,
  type StreamRecord,
} from './follow.ts';
import { RecordRow } from './record.tsx';
import { Family } from './tree.tsx';

const kMostRecords = 500;
const kViews = {
  NEW_AND_OLD_IMAGES: 'Before and after',
  NEW_IMAGE: 'After the change',
  OLD_IMAGE: 'Before the change',
  KEYS_ONLY: 'Keys only',
} as const;
type View = keyof typeof kViews;

async function change(table: TableDescription, specification: object, done: string) {
  try {
    await dynamodb('UpdateTable', {
      TableName: table.TableName,
      StreamSpecification: specification,
    });
    await waitFor(table.TableName, 'ACTIVE');
    say(done);
    await refresh();
  } catch (error) {
    sayError(error);
  }
}

export default function Streams({ table }: { table: TableDescription }) {
  return table.StreamSpecification?.StreamEnabled && table.LatestStreamArn ? (
    <Live key={table.LatestStreamArn} table={table} arn={table.LatestStreamArn} />
  ) : (
    <Off table={table} />
  );
}

function Off({ table }: { table: TableDescription }) {
  const [view, setView] = useState<View>('NEW_AND_OLD_IMAGES');
  const readOnly = boot.value?.readOnly ?? false;
  return (
    <div class="empty">
      <h2>{table.TableName} has no stream</h2>
      <p class="muted">
        A stream has a record of each change of an item, in order for each key, for 24 hours. What a
        record shows is chosen when the stream is switched on.
      </p>
      <Choice<View>
        legend="What a record shows"
        value={view}
        options={Object.entries(kViews).map(([value, label]) => ({ value: value as View, label }))}
        onChange={setView}
      />
      <button
        type="button"
        class="primary"
        disabled={readOnly}
        title={readOnly ? 'This console is read-only' : undefined}
        onClick={() =>
          void change(table, { StreamEnabled: true, StreamViewType: view }, 'The stream is on')
        }
      >
        Switch the stream on
      </button>
    </div>
  );
}

function Live({ table, arn }: { table: TableDescription; arn: string }) {
  const [stream, setStream] = useState<Described | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [from, setFrom] = useState<From>('LATEST');
  const [records, setRecords] = useState<readonly StreamRecord[]>([]);
  const [seen, setSeen] = useState(0);
  const [following, setFollowing] = useState(true);
  const [filter, setFilter] = useState('');
  const readOnly = boot.value?.readOnly ?? false;
  const soon = useRef(false);
  const newest = useRef<Described | null>(null);

  useEffect(
    () =>
      poll(
        async (signal) => {
          try {
            newest.current = await describeStream(arn, signal);
            setStream(newest.current);
            setError(null);
          } catch (failure) {
            if (!isStopped(failure)) setError(failure);
            throw failure;
          }
        },
        () => 5000,
      ),
    [arn],
  );

  const ready = stream !== null;
  useEffect(() => {
    if (!following || !ready) return;
    const follower = new Follower(arn, from);
    setRecords([]);
    setSeen(0);
    return poll(
      async (signal) => {
        try {
          const shards = newest.current?.Shards ?? [];
          const { records: found, more } = await follower.round(shards, signal);
          soon.current = more;
          if (found.length === 0) return;
          setSeen((n) => n + found.length);
          setRecords((known) => [...found.reverse(), ...known].slice(0, kMostRecords));
        } catch (failure) {
          if (!isStopped(failure)) setError(failure);
          throw failure;
        }
      },
      () => (soon.current ? 100 : 1000),
    );
  }, [arn, from, following, ready]);

  const off = async () => {
    const yes = await ask({
      title: `Switch the stream of ${table.TableName} off?`,
      body: 'Its records can be read for 24 hours more. A new stream begins empty.',
      confirm: 'Switch off',
      dangerous: true,
    });
    if (yes) await change(table, { StreamEnabled: false }, 'The stream is off');
  };

  if (!stream)
    return error !== null ? <ErrorBox error={error} /> : <p class="loading">Asking the server…</p>;
  const open = stream.Shards.filter(isOpen).length;
  const wanted = filter.trim().toLowerCase();
  const shown = records.filter(
    (one) =>
      wanted === '' ||
      one.eventName.toLowerCase().includes(wanted) ||
      keyText(table, one.dynamodb.Keys).toLowerCase().includes(wanted),
  );
  return (
    <>
      <section class="card" aria-labelledby="shards-title">
        <header>
          <h2 id="shards-title">{plural(open, 'open shard')}</h2>
          <span class="muted small">
            {kViews[stream.StreamViewType as View] ?? stream.StreamViewType}
          </span>
          <button
            type="button"
            class="small"
            disabled={readOnly}
            title={readOnly ? 'This console is read-only' : undefined}
            onClick={() => void off()}
          >
            Switch off…
          </button>
        </header>
        <div class="card-body stack tight">
          <Family shards={stream.Shards} />
          <p class="hint cut" title={arn}>
            <code>{arn}</code>
          </p>
        </div>
      </section>
      <section class="card" aria-labelledby="records-title">
        <header>
          <h2 id="records-title">Records</h2>
          <button
            type="button"
            class="small"
            aria-pressed={following}
            onClick={() => setFollowing(!following)}
          >
            <Icon name={following ? 'pause' : 'play'} />
            {following ? 'Pause' : 'Follow'}
          </button>
        </header>
        <div class="card-body stack tight">
          <div class="fields end">
            <Choice<From>
              legend="From"
              value={from}
              options={[
                { value: 'LATEST', label: 'Now on' },
                { value: 'TRIM_HORIZON', label: 'The oldest' },
              ]}
              onChange={setFrom}
            />
            <Field label="Only with this in the key or event">
              {(ids) => (
                <input
                  {...ids}
                  type="search"
                  value={filter}
                  onInput={(event) => setFilter(event.currentTarget.value)}
                />
              )}
            </Field>
            <p class="muted small num">
              {count(seen)} read{seen > kMostRecords && `, the newest ${kMostRecords} kept`}
              {wanted !== '' && `, ${count(shown.length)} shown`}
            </p>
          </div>
          {error !== null && <ErrorBox error={error} />}
          {shown.length === 0 ? (
            <p class="muted">
              {following
                ? 'No record yet: change an item, and it appears here within a second.'
                : 'Paused.'}
            </p>
          ) : (
            <ul class="records">
              {shown.map((one) => (
                <RecordRow
                  key={one.eventID + one.dynamodb.SequenceNumber}
                  table={table}
                  record={one}
                />
              ))}
            </ul>
          )}
        </div>
      </section>
    </>
  );
}
