// Restores a backup, or a table as it was at a moment, as a new table.
import { useEffect, useState } from 'preact/hooks';
import { describeBackup } from '../../api/backups.ts';
import { dynamodb } from '../../api/dynamodb.ts';
import { go, href } from '../../app/router.ts';
import { refresh, serverNow, tables } from '../../app/state.ts';
import {
  type Backup,
  type Continuous,
  fieldOf,
  freeName,
  type IndexInBackup,
  type RestoreChoice,
  restoreInput,
  timeOf,
  wrongName,
} from '../../model/backups.ts';
import type { TableDescription } from '../../model/table.ts';
import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { count, dateTime } from '../../ui/format.ts';
import { ErrorBox, say } from '../../ui/told.tsx';

export interface RestoreProps {
  from: { backup: Backup } | { table: TableDescription; continuous: Continuous };
  // The name of the table that it was.
  source: string;
  onClose: () => void;
}

interface Source {
  items: number | null;
  global: readonly IndexInBackup[];
  local: readonly IndexInBackup[];
}

const namesOf = (source: Source) =>
  new Set([...source.global, ...source.local].map((one) => one.IndexName));

export function Restore({ from, source, onClose }: RestoreProps) {
  const [known, setKnown] = useState<Source | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const [choice, setChoice] = useState<RestoreChoice>(() => ({
    target: freeName(source, (name) => tables.peek().has(name)),
    billing: 'as it was',
    read: 5,
    write: 5,
    indexes: new Set(),
  }));
  const continuous = 'continuous' in from ? from.continuous : null;
  const [moment, setMoment] = useState(() => fieldOf(continuous?.latest ?? serverNow()));
  const change = (part: Partial<RestoreChoice>) => setChoice({ ...choice, ...part });
  useEffect(() => {
    const take = (found: Source) => {
      setKnown(found);
      setChoice((before) => ({ ...before, indexes: namesOf(found) }));
    };
    if ('table' in from) {
      take({
        items: null,
        global: (from.table.GlobalSecondaryIndexes ?? []) as unknown as IndexInBackup[],
        local: (from.table.LocalSecondaryIndexes ?? []) as unknown as IndexInBackup[],
      });
      return;
    }
    describeBackup(from.backup.arn).then((told) => {
      take({
        items: told.SourceTableDetails?.ItemCount ?? null,
        global: told.SourceTableFeatureDetails?.GlobalSecondaryIndexes ?? [],
        local: told.SourceTableFeatureDetails?.LocalSecondaryIndexes ?? [],
      });
    }, setError);
  }, []);

  const at = timeOf(moment);
  const wrongMoment =
    continuous === null
      ? null
      : at === null
        ? 'A time such as 2026-11-26T11:30:00'
        : continuous.earliest !== null && at < Math.floor(continuous.earliest / 1000) * 1000
          ? `Nothing before ${dateTime(continuous.earliest)} is kept`
          : continuous.latest !== null && at > continuous.latest
            ? `It can be restored up to ${dateTime(continuous.latest)}`
            : null;
  const taken = tables.value.has(choice.target) ? 'A table has this name' : null;
  const wrong = wrongName(choice.target) ?? taken;
  const wrongUnits =
    choice.billing === 'provisioned' && !(choice.read >= 1 && choice.write >= 1)
      ? 'At least 1'
      : null;
  const blocked = known === null || wrong !== null || wrongMoment !== null || wrongUnits !== null;
  const operation = continuous === null ? 'RestoreTableFromBackup' : 'RestoreTableToPointInTime';
  const input = {
    ...('backup' in from
      ? { BackupArn: from.backup.arn }
      : { SourceTableName: source, RestoreDateTime: (at ?? 0) / 1000 }),
    ...restoreInput(choice, known?.global ?? [], known?.local ?? []),
  };
  const restore = async () => {
    if (busy || blocked) return;
    setBusy(true);
    setError(null);
    try {
      await dynamodb(operation, input);
      await refresh();
      say(`${choice.target} is being restored`, 'good', {
        label: 'Show it',
        run: () => void go(href(['tables', choice.target, 'items'])),
      });
      onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={
        'backup' in from ? `Restore ${from.backup.name}` : `Restore ${source} as it was at a moment`
      }
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            class="primary"
            disabled={busy || blocked}
            onClick={() => void restore()}
          >
            {busy ? 'Asking…' : 'Restore as a new table'}
          </button>
        </>
      }
    >
      <p class="muted">
        {'backup' in from && `${source} of ${dateTime(from.backup.at)} UTC`}
        {known?.items != null && `, ${count(known.items)} items`}
        {'backup' in from && '. '}
        {source} itself is not touched.
      </p>
      {continuous !== null && (
        <Field label="As it was at (UTC)" error={wrongMoment} hint={windowWords(continuous)}>
          {(ids) => (
            <input
              {...ids}
              type="datetime-local"
              step="1"
              autofocus
              min={continuous.earliest === null ? undefined : fieldOf(continuous.earliest)}
              max={continuous.latest === null ? undefined : fieldOf(continuous.latest)}
              value={moment}
              onInput={(event) => setMoment(event.currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Field label="Name of the new table" error={wrong}>
        {(ids) => (
          <input
            {...ids}
            autofocus={continuous === null}
            spellcheck={false}
            autocomplete="off"
            value={choice.target}
            onInput={(event) => change({ target: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key === 'Enter') void restore();
            }}
          />
        )}
      </Field>
      <Choice<RestoreChoice['billing']>
        legend="Paid"
        value={choice.billing}
        options={[
          { value: 'as it was', label: 'As it was' },
          { value: 'on demand', label: 'On demand' },
          { value: 'provisioned', label: 'Provisioned' },
        ]}
        onChange={(billing) => change({ billing })}
      />
      {choice.billing === 'provisioned' && (
        <div class="fields">
          {(['read', 'write'] as const).map((kind) => (
            <Field
              key={kind}
              label={`${kind === 'read' ? 'Read' : 'Write'} units per second`}
              error={choice[kind] >= 1 ? null : wrongUnits}
            >
              {(ids) => (
                <input
                  {...ids}
                  class="short"
                  inputMode="numeric"
                  value={choice[kind] || ''}
                  onInput={(event) =>
                    change({ [kind]: Math.floor(Number(event.currentTarget.value)) || 0 })
                  }
                />
              )}
            </Field>
          ))}
        </div>
      )}
      {known && namesOf(known).size > 0 && (
        <fieldset class="stack tight">
          <legend>Indexes</legend>
          {[...namesOf(known)].map((name) => (
            <label class="check" key={name}>
              <input
                type="checkbox"
                checked={choice.indexes.has(name)}
                onChange={(event) => {
                  const indexes = new Set(choice.indexes);
                  if (event.currentTarget.checked) indexes.add(name);
                  else indexes.delete(name);
                  change({ indexes });
                }}
              />
              {name}
            </label>
          ))}
        </fieldset>
      )}
      <p class="hint">
        The new table has no stream, time to live, tags or auto scaling rules of the old one.
      </p>
      {error !== null && <ErrorBox error={error} />}
      {!blocked && <Code of={{ request: { service: 'DynamoDB', operation, input } }} />}
    </Dialog>
  );
}

const windowWords = (continuous: Continuous): string =>
  continuous.earliest === null || continuous.latest === null
    ? ''
    : `From ${dateTime(continuous.earliest)} to ${dateTime(continuous.latest)}`;
