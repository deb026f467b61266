import { dynamodb } from '../../api/dynamodb.ts';
import { waitFor, write } from '../../api/tables.ts';
import { kMusicTable, musicItems } from '../../model/samples.ts';
import type { TableDescription } from '../../model/table.ts';

// Makes the table music and fills it. Returns the number of items. Throws as calls do.
export async function loadMusic(): Promise<number> {
  const { TableDescription } = await dynamodb<{ TableDescription: TableDescription }>(
    'CreateTable',
    kMusicTable,
  );
  await waitFor(kMusicTable.TableName, 'ACTIVE');
  const outcome = await write(
    TableDescription,
    musicItems().map((item) => ({ kind: 'put', key: item, item })),
  );
  if (outcome.error) throw outcome.error;
  return outcome.done;
}
