// Makes a backup of a table.
import { useState } from 'preact/hooks';
import { dynamodb } from '../../api/dynamodb.ts';
import { serverNow, tableNames, tables } from '../../app/state.ts';
import { nameFor, wrongName } from '../../model/backups.ts';
import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { bytes, count } from '../../ui/format.ts';
import { ErrorBox, say } from '../../ui/told.tsx';

export interface NewBackupProps {
  // undefined: the user chooses.
  table: string | undefined;
  onClose: () => void;
  onMade: () => void;
}

export function NewBackup({ table: given, onClose, onMade }: NewBackupProps) {
  const [table, setTable] = useState(given ?? tableNames.peek()[0] ?? '');
  // null: the name that the page proposes.
  const [typed, setTyped] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const name = typed ?? nameFor(table, serverNow());
  const wrong = wrongName(name);
  const row = tables.value.get(table);
  const input = { TableName: table, BackupName: name };
  const make = async () => {
    if (busy || wrong !== null || table === '') return;
    setBusy(true);
    setError(null);
    try {
      await dynamodb('CreateBackup', input);
      say(`The backup ${name} is being made`);
      onMade();
      onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={given === undefined ? 'Make a backup' : `Make a backup of ${given}`}
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            class="primary"
            disabled={busy || wrong !== null || table === ''}
            onClick={() => void make()}
          >
            {busy ? 'Asking…' : 'Make the backup'}
          </button>
        </>
      }
    >
      {given === undefined && (
        <Field label="Table">
          {(ids) => (
            <select
              {...ids}
              autofocus
              value={table}
              onChange={(event) => setTable(event.currentTarget.value)}
            >
              {tableNames.value.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
      )}
      <Field
        label="Name of the backup"
        hint="Backups may share a name; the ARN tells them apart"
        error={wrong}
      >
        {(ids) => (
          <input
            {...ids}
            autofocus={given !== undefined}
            spellcheck={false}
            autocomplete="off"
            value={name}
            onInput={(event) => setTyped(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter') void make();
            }}
          />
        )}
      </Field>
      <p class="muted">
        {row
          ? `${count(row.items)} items, ${bytes(row.bytes)}, as they are when the server answers. `
          : ''}
        Reads and writes go on meanwhile.
      </p>
      {error !== null && <ErrorBox error={error} />}
      {wrong === null && (
        <Code of={{ request: { service: 'DynamoDB', operation: 'CreateBackup', input } }} />
      )}
    </Dialog>
  );
}
