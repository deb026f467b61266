// Sends a save, and finds out what came of it.
import { dynamodb } from '../../api/dynamodb.ts';
import { ApiError, NoAnswer } from '../../api/errors.ts';
import type { Request } from '../../model/code/request.ts';
import { equalItems } from '../../model/equal.ts';
import type { TableDescription } from '../../model/table.ts';
import type { Item } from '../../model/value.ts';

export type Saved =
  // `item` is what is stored now; null: it was deleted.
  | { kind: 'saved'; item: Item | null }
  // The item is no longer as it was seen; null: it is gone.
  | { kind: 'conflict'; theirs: Item | null };

// Sends the request. Where no answer comes the item is read and compared, never written again
// blindly; if that cannot tell, what it threw is thrown.
export async function sendSave(
  table: TableDescription,
  wanted: Request,
  mine: Item | null,
  key: Item,
): Promise<Saved> {
  try {
    const reply = await dynamodb<{ Attributes?: Item }>(wanted.operation, wanted.input);
    return { kind: 'saved', item: mine === null ? null : (reply.Attributes ?? mine) };
  } catch (error) {
    if (error instanceof NoAnswer) {
      const now = await readItem(table, key);
      const isThere = mine === null ? now === null : now !== null && equalItems(now, mine);
      if (isThere) return { kind: 'saved', item: now };
      throw error;
    }
    if (!(error instanceof ApiError)) throw error;
    if (error.type === 'ConditionalCheckFailedException')
      return { kind: 'conflict', theirs: error.item ?? (await readItem(table, key)) };
    const reasons = error.body.CancellationReasons as { Code?: string }[] | undefined;
    if (reasons?.[1]?.Code === 'ConditionalCheckFailed')
      return { kind: 'conflict', theirs: await readItem(table, key) };
    throw error;
  }
}

export async function readItem(table: TableDescription, key: Item): Promise<Item | null> {
  const { Item: item } = await dynamodb<{ Item?: Item }>('GetItem', {
    TableName: table.TableName,
    Key: key,
    ConsistentRead: true,
    ReturnConsumedCapacity: 'TOTAL',
  });
  return item ?? null;
}
