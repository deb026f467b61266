// What can be done with a whole table: duplicate, empty, save as seed, delete.
import { dynamodb } from '../../api/dynamodb.ts';
import { isMissing, management } from '../../api/management.ts';
import { allItems, bulkOn, describe, waitFor } from '../../api/tables.ts';
import { go, href, route } from '../../app/router.ts';
import { boot, refresh, type TableRow, tables } from '../../app/state.ts';
import type { Write } from '../../model/bulk.ts';
import { createInputOf } from '../../model/create.ts';
import { keyOf } from '../../model/table.ts';
import { ask } from '../../ui/dialog.tsx';
import { saveFile } from '../../ui/file.ts';
import { plural } from '../../ui/format.ts';
import { runBulk } from '../../ui/jobs.ts';
import type { MenuItem } from '../../ui/menu.tsx';
import { say, sayError } from '../../ui/told.tsx';

export function tableActions(row: TableRow): (MenuItem | null)[] {
  const readOnly = boot.value?.readOnly ? 'This console is read-only' : undefined;
  return [
    {
      label: 'Duplicate…',
      icon: 'copy',
      disabled: readOnly,
      run: () => void go(href(['tables', 'new'], { from: row.name })),
    },
    { label: 'Save as seed', icon: 'download', run: () => void saveAsSeed(row.name) },
    null,
    {
      label: 'Delete all items…',
      icon: 'trash',
      danger: true,
      disabled: readOnly ?? (row.items === 0 ? 'It has no items' : undefined),
      run: () => void purge(row),
    },
    {
      label: 'Delete the table…',
      icon: 'trash',
      danger: true,
      disabled: readOnly ?? (row.protected ? 'It is protected against deletion' : undefined),
      run: () => void deleteTable(row),
    },
  ];
}

// A name has to be typed, unless nothing is lost.
export async function deleteTable(row: TableRow): Promise<void> {
  const yes = await ask({
    title: `Delete table ${row.name}?`,
    body:
      row.items === 0
        ? 'It has no items.'
        : `${plural(row.items, 'item')} and its indexes are deleted with it. This cannot be undone.`,
    confirm: 'Delete the table',
    dangerous: true,
    typed: row.items === 0 ? undefined : row.name,
  });
  if (!yes) return;
  try {
    await dynamodb('DeleteTable', { TableName: row.name });
    await waitFor(row.name, 'gone');
    say(`Table ${row.name} was deleted`);
    await refresh();
    if (route.peek().path[1] === row.name) await go(href(['tables']));
  } catch (error) {
    sayError(error);
  }
}

// By one call where the server has it; else the keys are read and deleted, and that is said.
export async function purge(row: TableRow): Promise<void> {
  const atOnce = boot.peek()?.features.includes('truncate') ?? false;
  const yes = await ask({
    title: `Delete all items of ${row.name}?`,
    body: atOnce
      ? `${plural(row.items, 'item')} will be gone. This cannot be undone.`
      : `This server cannot empty a table at once: the page reads the keys of ${plural(row.items, 'item')} ` +
        'and deletes them, which consumes read and write units. This cannot be undone.',
    confirm: 'Delete all items',
    dangerous: true,
    typed: row.name,
  });
  if (!yes) return;
  try {
    if (atOnce) {
      await management(`tables/${row.name}/truncate`, { method: 'POST', table: row.name });
      say(`Table ${row.name} is empty`);
      return await refresh();
    }
    const table = await describe(row.name);
    async function* deletes(): AsyncGenerator<Write> {
      for await (const item of allItems(table, { keysOnly: true })) {
        const key = keyOf(table, item);
        if (key) yield { kind: 'delete', key };
      }
    }
    await runBulk({
      title: `Deleting all items of ${row.name}`,
      total: row.items,
      make: (report) => bulkOn(table, report),
      source: deletes(),
    });
    await refresh();
  } catch (error) {
    sayError(error);
  }
}

// NAME.table.json and NAME.items.jsonl, which `stator serve --init` loads.
export async function saveAsSeed(name: string): Promise<void> {
  try {
    const table = await describe(name);
    const { Tags } = await dynamodb<{ Tags?: { Key: string; Value: string }[] }>(
      'ListTagsOfResource',
      { ResourceArn: table.TableArn },
    ).catch(() => ({ Tags: [] }));
    const input = createInputOf(table, Tags ?? []);
    const { exportItems } = await import('../../model/transfer.ts');
    const parts: BlobPart[] = [];
    let items = 0;
    const lines = exportItems('jsonl', allItems(table), { table: name });
    for await (const chunk of lines) {
      parts.push(chunk.text);
      items = chunk.items;
    }
    saveFile(`${name}.table.json`, [`${JSON.stringify(input, null, 1)}\n`], 'application/json');
    if (items > 0) saveFile(`${name}.items.jsonl`, parts, 'application/x-ndjson');
    say(
      `Saved ${name}.table.json and ${plural(items, 'item')}: put both into one directory for --init`,
    );
  } catch (error) {
    sayError(error);
  }
}

export async function resetAll(): Promise<void> {
  const count = tables.peek().size;
  try {
    // A store that outlives the server has a name, which the call repeats.
    const { store } = await management<{ store: string | null }>('status');
    const yes = await ask({
      title: 'Delete all tables?',
      body:
        `${plural(count, 'table')} and all that is in ${count === 1 ? 'it' : 'them'} will be ` +
        'gone, on the disk too if the store is kept on one. If the server was started with ' +
        '--init, it loads that again.',
      confirm: 'Delete everything',
      dangerous: true,
      typed: store ?? 'reset',
    });
    if (!yes) return;
    await management('reset', { method: 'POST', ...(store === null ? {} : { body: { store } }) });
    say('The server was reset');
    await refresh();
  } catch (error) {
    if (isMissing(error)) say('This server has no reset', 'bad');
    else sayError(error);
  }
}
