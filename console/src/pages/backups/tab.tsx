// The backups of one table, and its recovery to a moment where the server has it.
import { useState } from 'preact/hooks';
import { boot } from '../../app/state.ts';
import type { TableDescription } from '../../model/table.ts';
import { plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Backups, useBackups } from './list.tsx';
import { NewBackup } from './new_backup.tsx';
import { PointInTime } from './point_in_time.tsx';

export default function BackupsOfTable({ table }: { table: TableDescription }) {
  const name = table.TableName;
  const known = useBackups(name);
  const [making, setMaking] = useState(false);
  const why = boot.value?.readOnly ? 'This console is read-only' : undefined;
  return (
    <>
      {known.unsupported === null && (
        <div class="row spread">
          <p class="muted">
            {known.backups && known.backups.length > 0
              ? plural(known.backups.length, 'backup')
              : 'A backup is the table at one moment.'}
          </p>
          <button
            type="button"
            class="primary"
            disabled={why !== undefined}
            title={why}
            onClick={() => setMaking(true)}
          >
            <Icon name="plus" />
            Make a backup
          </button>
        </div>
      )}
      <PointInTime table={table} />
      <Backups known={known} of={name} />
      {making && <NewBackup table={name} onClose={() => setMaking(false)} onMade={known.look} />}
    </>
  );
}
