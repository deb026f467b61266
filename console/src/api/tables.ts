// What several pages do with tables and items.
import { Bulk, type Outcome, type Progress, type Write } from '../model/bulk.ts';
import { Placeholders, unchanged } from '../model/expression.ts';
import { keyNames, keysOf, keyText, type TableDescription } from '../model/table.ts';
import type { Item } from '../model/value.ts';
import { dynamodb } from './dynamodb.ts';
import { ApiError, isRetryable, tell } from './errors.ts';
import { unitsOf } from './log.ts';

export async function describe(name: string, signal?: AbortSignal): Promise<TableDescription> {
  const { Table } = await dynamodb<{ Table: TableDescription }>(
    'DescribeTable',
    { TableName: name },
    { signal, background: true },
  );
  return Table;
}

// Waits until the table can be used, or is gone.
export async function waitFor(name: string, wanted: 'ACTIVE' | 'gone'): Promise<void> {
  for (let tries = 0; tries < 120; ++tries) {
    try {
      const { TableStatus } = await describe(name);
      if (wanted === 'ACTIVE' && TableStatus === 'ACTIVE') return;
    } catch (error) {
      const isGone = error instanceof ApiError && error.type === 'ResourceNotFoundException';
      if (!isGone) throw error;
      if (wanted === 'gone') return;
    }
    await new Promise((resolve) => setTimeout(resolve, Math.min(1000, 50 * (tries + 1))));
  }
  throw new Error(`Table ${name} is not ${wanted} after a minute`);
}

interface BatchReply {
  UnprocessedItems?: Record<
    string,
    { PutRequest?: { Item: Item }; DeleteRequest?: { Key: Item } }[]
  >;
}

// A bulk job on the table; `run` it.
export function bulkOn(table: TableDescription, report: (progress: Progress) => void): Bulk {
  const name = table.TableName;
  const hash = keysOf(table).partition[0]?.name ?? '';
  const textOf = (key: Item) => keyText(table, key);
  return new Bulk({
    table: name,
    keyText: textOf,
    report,
    isRetryable,
    isSkip: (error) =>
      error instanceof ApiError && error.type === 'ConditionalCheckFailedException',
    isRefusal: (error) => error instanceof ApiError && error.type === 'ValidationException',
    describe: (error) => {
      const { title, message } = tell(error);
      return { type: title, message };
    },
    async batch(writes) {
      const requests = writes.map((write) =>
        write.kind === 'put'
          ? { PutRequest: { Item: write.item } }
          : { DeleteRequest: { Key: write.key } },
      );
      const reply = await dynamodb<BatchReply>(
        'BatchWriteItem',
        { RequestItems: { [name]: requests }, ReturnConsumedCapacity: 'TOTAL' },
        { background: true },
      );
      const left = new Set(
        (reply.UnprocessedItems?.[name] ?? []).map((one) =>
          textOf(one.PutRequest?.Item ?? one.DeleteRequest?.Key ?? {}),
        ),
      );
      return {
        unprocessed: writes.filter((write) => left.has(textOf(write.key))),
        units: unitsOf(reply, 'BatchWriteItem').write,
      };
    },
    async single(write) {
      const [operation, input] = singleCall(name, hash, write);
      const reply = await dynamodb(
        operation,
        { ...input, ReturnConsumedCapacity: 'TOTAL' },
        { background: true },
      );
      return unitsOf(reply, operation).write;
    },
  });
}

function singleCall(table: string, hash: string, write: Write): [string, object] {
  if (write.kind === 'put') {
    const input: Record<string, unknown> = { TableName: table, Item: write.item };
    if (write.onlyNew) {
      const placeholders = new Placeholders();
      input.ConditionExpression = `attribute_not_exists(${placeholders.name(hash)})`;
      Object.assign(input, placeholders.substitutions());
    }
    return ['PutItem', input];
  }
  if (write.kind === 'delete') {
    const input: Record<string, unknown> = { TableName: table, Key: write.key };
    if (write.seen) {
      const placeholders = new Placeholders();
      input.ConditionExpression = unchanged(placeholders, write.seen).join(' AND ');
      Object.assign(input, placeholders.substitutions());
    }
    return ['DeleteItem', input];
  }
  return ['UpdateItem', { TableName: table, Key: write.key, ...write.input }];
}

export interface Page {
  Items?: Item[];
  LastEvaluatedKey?: Item;
  Count?: number;
  ScannedCount?: number;
}

// All items of the table, page by page; with `keysOnly` no more than their keys.
export async function* allItems(
  table: TableDescription,
  options: { keysOnly?: boolean; signal?: AbortSignal; onPage?: (page: Page) => void } = {},
): AsyncGenerator<Item> {
  let start: Item | undefined;
  const input: Record<string, unknown> = {
    TableName: table.TableName,
    ReturnConsumedCapacity: 'TOTAL',
  };
  if (options.keysOnly) {
    const placeholders = new Placeholders();
    input.ProjectionExpression = keyNames(keysOf(table))
      .map((name) => placeholders.name(name))
      .join(', ');
    Object.assign(input, placeholders.substitutions());
  }
  do {
    const page: Page = await dynamodb<Page>(
      'Scan',
      { ...input, ExclusiveStartKey: start },
      { signal: options.signal, background: true },
    );
    options.onPage?.(page);
    yield* page.Items ?? [];
    start = page.LastEvaluatedKey;
  } while (start);
}

export async function write(
  table: TableDescription,
  writes: Iterable<Write> | AsyncIterable<Write>,
  report: (progress: Progress) => void = () => {},
): Promise<Outcome> {
  return bulkOn(table, report).run(writes);
}
