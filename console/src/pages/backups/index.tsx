// All backups of this server.
import { useState } from 'preact/hooks';
import { boot, tableNames } from '../../app/state.ts';
import { plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Backups, useBackups } from './list.tsx';
import { NewBackup } from './new_backup.tsx';

export default function AllBackups() {
  const known = useBackups(undefined);
  const [making, setMaking] = useState(false);
  const readOnly = boot.value?.readOnly ? 'This console is read-only' : undefined;
  const none = tableNames.value.length === 0 ? 'There is no table yet' : undefined;
  return (
    <>
      <header class="page-head">
        <h1>Backups</h1>
        {known.backups && known.backups.length > 0 && (
          <span class="muted">{plural(known.backups.length, 'backup')}</span>
        )}
        {known.unsupported === null && (
          <div class="row">
            <button
              type="button"
              class="primary"
              disabled={(readOnly ?? none) !== undefined}
              title={readOnly ?? none}
              onClick={() => setMaking(true)}
            >
              <Icon name="plus" />
              Make a backup
            </button>
          </div>
        )}
      </header>
      <Backups known={known} />
      {making && (
        <NewBackup table={undefined} onClose={() => setMaking(false)} onMade={known.look} />
      )}
    </>
  );
}
