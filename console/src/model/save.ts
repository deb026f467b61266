// How an edited item is written: only what was touched, on the condition that it is as it was seen.
import type { Request } from './code/request.ts';
import { difference } from './difference.ts';
import { Placeholders, unchanged, updateFor } from './expression.ts';
import { keyNames, keyOf, keysOf, keyText, type TableDescription } from './table.ts';
import type { Item } from './value.ts';

export interface Edit {
  // As it was loaded; null: the item is new.
  loaded: Item | null;
  mine: Item;
  // Whether the whole item has to be unchanged, not only the touched attributes.
  strict: boolean;
}

// The request that saves the edit; null: nothing was changed. Throws Error with a sentence where it
// cannot be one request.
export function saveRequest(table: TableDescription, edit: Edit): Request | null {
  const names = keyNames(keysOf(table));
  const key = keyOf(table, edit.mine);
  if (!key) throw new Error(`The item has to have ${names.join(' and ')}`);
  const { loaded, mine } = edit;
  if (loaded === null) {
    return request('PutItem', {
      TableName: table.TableName,
      Item: mine,
      ...absent(names),
      ReturnConsumedCapacity: 'TOTAL',
    });
  }
  const oldKey = keyOf(table, loaded) as Item;
  if (keyText(table, key) !== keyText(table, oldKey)) {
    // Another key is another item: both are written, or none.
    const placeholders = new Placeholders();
    const condition = unchanged(placeholders, loaded).join(' AND ');
    return request('TransactWriteItems', {
      TransactItems: [
        { Put: { TableName: table.TableName, Item: mine, ...absent(names) } },
        {
          Delete: {
            TableName: table.TableName,
            Key: oldKey,
            ConditionExpression: condition,
            ...placeholders.substitutions(),
          },
        },
      ],
      ReturnConsumedCapacity: 'TOTAL',
    });
  }
  const changes = difference(loaded, mine);
  if (changes.length === 0) return null;
  const update = updateFor(changes, names, (placeholders) =>
    edit.strict ? unchanged(placeholders, loaded) : [],
  );
  return request('UpdateItem', {
    TableName: table.TableName,
    Key: key,
    ...update,
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ReturnConsumedCapacity: 'TOTAL',
  });
}

export function deleteRequest(table: TableDescription, seen: Item): Request {
  const placeholders = new Placeholders();
  const condition = unchanged(placeholders, seen).join(' AND ');
  return request('DeleteItem', {
    TableName: table.TableName,
    Key: keyOf(table, seen) as Item,
    ConditionExpression: condition,
    ...placeholders.substitutions(),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    ReturnConsumedCapacity: 'TOTAL',
  });
}

const request = (operation: string, input: Record<string, unknown>): Request => ({
  service: 'DynamoDB',
  operation,
  input,
});

function absent(names: readonly string[]): Record<string, unknown> {
  const placeholders = new Placeholders();
  return {
    ConditionExpression: `attribute_not_exists(${placeholders.name(names[0] as string)})`,
    ...placeholders.substitutions(),
  };
}
