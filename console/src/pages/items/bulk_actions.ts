// Deletes, exports and imports many items at once.
import { bulkOn } from '../../api/tables.ts';
import { boot, refresh } from '../../app/state.ts';
import type { Plan } from '../../model/bar.ts';
import type { Write } from '../../model/bulk.ts';
import { keyNames, keyOf, keysOf, keyText, type TableDescription } from '../../model/table.ts';
import { type Column, type Format, formatOf, kFormats } from '../../model/transfer.ts';
import { type Item, typeOf } from '../../model/value.ts';
import { ask } from '../../ui/dialog.tsx';
import { chooseFile, linesOf, saveFile } from '../../ui/file.ts';
import { plural } from '../../ui/format.ts';
import { type BulkRun, runBulk } from '../../ui/jobs.ts';
import { say, sayError } from '../../ui/told.tsx';
import { everything } from './reader.ts';

// Above this many, or on a server marked production, the name of the table has to be typed.
const kTypedAbove = 100;

const mustType = (table: TableDescription, items: number): string | undefined =>
  items > kTypedAbove || boot.peek()?.production ? table.TableName : undefined;

// Deletes the rows, each only if it still is as it was read. Resolves to the keys that are gone.
export async function deleteRows(
  table: TableDescription,
  rows: readonly Item[],
): Promise<ReadonlySet<string>> {
  const gone = new Set<string>();
  const yes = await ask({
    title: `Delete ${plural(rows.length, 'item')}?`,
    body: 'Items that others changed since they were read here are left alone.',
    confirm: 'Delete',
    dangerous: true,
    typed: mustType(table, rows.length),
  });
  if (!yes) return gone;
  const writes = rows.flatMap((item): Write[] => {
    const key = keyOf(table, item);
    return key ? [{ kind: 'delete', key, seen: item }] : [];
  });
  const outcome = await run({
    title: `Deleting ${plural(writes.length, 'item')} of ${table.TableName}`,
    total: writes.length,
    make: (report) => bulkOn(table, report),
    source: writes,
  });
  if (outcome?.state !== 'done') return gone;
  const left = new Set(
    [...outcome.skippedWrites, ...outcome.failures.map((one) => one.write)].map((write) =>
      keyText(table, write.key),
    ),
  );
  for (const write of writes) {
    const key = keyText(table, write.key);
    if (!left.has(key)) gone.add(key);
  }
  return gone;
}

async function run(wanted: BulkRun) {
  try {
    return await runBulk(wanted);
  } catch (error) {
    sayError(error);
    return null;
  }
}

// Only the keys of what the plan finds are needed.
function keysOnly(table: TableDescription, plan: Plan): Plan {
  if (plan.operation === 'GetItem') return plan;
  const tokens = keyNames(keysOf(table)).map((name, i) => [`#console_key${i}`, name] as const);
  return {
    ...plan,
    input: {
      ...plan.input,
      ProjectionExpression: tokens.map(([token]) => token).join(', '),
      ExpressionAttributeNames: {
        ...plan.input.ExpressionAttributeNames,
        ...Object.fromEntries(tokens),
      },
    } as Plan['input'],
  };
}

// Counts first, asks, then deletes. Resolves to whether something was deleted.
export async function deleteMatching(table: TableDescription, plan: Plan): Promise<boolean> {
  const keys = keysOnly(table, plan);
  let matching = 0;
  try {
    say('Counting what matches…', 'plain');
    for await (const _ of everything(keys)) ++matching;
  } catch (error) {
    sayError(error);
    return false;
  }
  if (matching === 0) {
    say('No item matches');
    return false;
  }
  const yes = await ask({
    title: `Delete ${plural(matching, 'item')}?`,
    body: `All that matches in ${table.TableName} now is deleted. This cannot be undone.`,
    confirm: 'Delete',
    dangerous: true,
    typed: mustType(table, matching),
  });
  if (!yes) return false;
  async function* writes(): AsyncGenerator<Write> {
    for await (const item of everything(keys)) {
      const key = keyOf(table, item);
      if (key) yield { kind: 'delete', key };
    }
  }
  await run({
    title: `Deleting ${plural(matching, 'item')} of ${table.TableName}`,
    total: matching,
    make: (report) => bulkOn(table, report),
    source: writes(),
  });
  await refresh();
  return true;
}

// A file of the rows, or of everything that the plan finds. A file that could not be finished says
// where it stops.
export async function exportRows(
  table: TableDescription,
  what: readonly Item[] | Plan,
  format: Format,
  // The moment that `what` is read as of, or was.
  asOf?: string,
): Promise<void> {
  const { Exporter } = await import('../../model/transfer.ts');
  const { suffix, type } = kFormats[format];
  const then = asOf === undefined ? '' : `-${asOf.replace(/:/g, '')}`;
  const name = `${table.TableName}${then}.${suffix}`;
  const parts: BlobPart[] = [];
  const list = Array.isArray(what) ? (what as readonly Item[]) : null;
  try {
    // The columns of CSV have to be known before the first line.
    const held: Item[] = list ? [...list] : [];
    if (format === 'csv' && !list)
      for await (const item of everything(what as Plan, undefined, asOf)) held.push(item);
    const source = list || format === 'csv' ? held : everything(what as Plan, undefined, asOf);
    const exporter = new Exporter(format, {
      table: table.TableName,
      ...(format === 'csv' ? { columns: columnsOf(table, held) } : {}),
    });
    parts.push(exporter.head());
    let last: Item | null = null;
    let failure: unknown = null;
    try {
      for await (const item of source) {
        parts.push(exporter.item(item));
        last = item;
      }
    } catch (error) {
      failure = error;
    }
    parts.push(
      exporter.tail(
        failure === null
          ? null
          : {
              reason: failure instanceof Error ? failure.message : String(failure),
              ...(last ? { after: keyOf(table, last) ?? last } : {}),
            },
      ),
    );
    saveFile(name, parts, type);
    if (failure) say(`${name} is not complete: it says where it stops`, 'bad');
    else
      say(
        `Saved ${plural(exporter.items, 'item')} to ${name}` +
          (exporter.lost.size > 0
            ? `; plain JSON does not tell ${[...exporter.lost].join(', ')}`
            : ''),
      );
  } catch (error) {
    sayError(error);
  }
}

function columnsOf(table: TableDescription, items: readonly Item[]): Column[] {
  const found = new Map<string, Column>();
  for (const name of keyNames(keysOf(table))) {
    const first = items[0]?.[name];
    if (first) found.set(name, { name, type: typeOf(first) });
  }
  for (const item of items) {
    for (const name of Object.keys(item)) {
      const value = item[name];
      if (value && !found.has(name)) found.set(name, { name, type: typeOf(value) });
    }
  }
  return [...found.values()];
}

// Checks the whole file before anything is written. Resolves to whether something was.
export async function importFile(table: TableDescription): Promise<boolean> {
  const file = await chooseFile('.jsonl,.json,.ndjson,.csv');
  if (!file) return false;
  const { Importer } = await import('../../model/transfer.ts');
  const format = formatOf(file.name);
  let good = 0;
  const wrong: { line: number; error: string }[] = [];
  const check = new Importer(format, table);
  try {
    for await (const line of check.items(linesOf(file))) {
      if ('error' in line) wrong.push(line);
      else ++good;
    }
  } catch (error) {
    sayError(error);
    return false;
  }
  if (good === 0) {
    say(
      wrong[0]
        ? `No line is an item. Line ${wrong[0].line}: ${wrong[0].error}`
        : 'The file is empty',
      'bad',
    );
    return false;
  }
  const problems = wrong
    .slice(0, 5)
    .map((one) => `Line ${one.line}: ${one.error}`)
    .join('. ');
  const yes = await ask({
    title: `Import ${plural(good, 'item')} into ${table.TableName}?`,
    body:
      'Items with the same key are left as they are. ' +
      (wrong.length > 0
        ? `${plural(wrong.length, 'line')} cannot be read and will be left out. ${problems}. `
        : '') +
      (check.stopped !== null ? 'The file says that it is not complete.' : ''),
    confirm: 'Import',
  });
  if (!yes) return false;
  async function* writes(): AsyncGenerator<Write> {
    for await (const line of new Importer(format, table).items(linesOf(file as File))) {
      if ('error' in line) continue;
      const key = keyOf(table, line.item);
      if (key) yield { kind: 'put', key, item: line.item, onlyNew: true };
    }
  }
  await run({
    title: `Importing ${file.name} into ${table.TableName}`,
    total: good,
    make: (report) => bulkOn(table, report),
    source: writes(),
  });
  await refresh();
  return true;
}
