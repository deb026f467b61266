// What people have of a table: a CreateTable request, a DescribeTable answer, or a model of NoSQL
// Workbench.
import { createInputOf } from './create.ts';
import type { TableDescription } from './table.ts';
import { type Item, isItem } from './value.ts';

export interface ImportedTable {
  input: Record<string, unknown>;
  // The sample data of a Workbench model.
  items: Item[];
}

// Throws Error with a sentence.
export function tablesIn(text: string): ImportedTable[] {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${(error as Error).message}`);
  }
  if (typeof json !== 'object' || json === null) throw new Error('This is not an object');
  const described = (json.Table ?? json.TableDescription) as TableDescription | undefined;
  if (described?.KeySchema) return [{ input: createInputOf(described), items: [] }];
  if (json.TableArn && json.KeySchema)
    return [{ input: createInputOf(json as unknown as TableDescription), items: [] }];
  if (Array.isArray(json.DataModel)) return json.DataModel.map(fromWorkbench);
  if (json.TableName && json.KeySchema) return [{ input: json, items: [] }];
  throw new Error(
    'This is neither a CreateTable request, nor an answer of DescribeTable, nor a model of NoSQL Workbench',
  );
}

interface WorkbenchKey {
  AttributeName: string;
  AttributeType: 'S' | 'N' | 'B';
}
interface WorkbenchKeys {
  PartitionKey: WorkbenchKey;
  SortKey?: WorkbenchKey;
}

function fromWorkbench(table: Record<string, unknown>): ImportedTable {
  const types = new Map<string, string>();
  const schema = (keys: WorkbenchKeys) => {
    const out = [{ AttributeName: keys.PartitionKey.AttributeName, KeyType: 'HASH' }];
    types.set(keys.PartitionKey.AttributeName, keys.PartitionKey.AttributeType);
    if (keys.SortKey) {
      out.push({ AttributeName: keys.SortKey.AttributeName, KeyType: 'RANGE' });
      types.set(keys.SortKey.AttributeName, keys.SortKey.AttributeType);
    }
    return out;
  };
  const billing = table.BillingMode === 'PROVISIONED' ? 'PROVISIONED' : 'PAY_PER_REQUEST';
  const input: Record<string, unknown> = {
    TableName: table.TableName,
    BillingMode: billing,
    KeySchema: schema(table.KeyAttributes as WorkbenchKeys),
  };
  const capacity = { ReadCapacityUnits: 5, WriteCapacityUnits: 5 };
  if (billing === 'PROVISIONED') input.ProvisionedThroughput = capacity;
  const indexes = (table.GlobalSecondaryIndexes ?? []) as Record<string, unknown>[];
  if (indexes.length > 0) {
    input.GlobalSecondaryIndexes = indexes.map((index) => ({
      IndexName: index.IndexName,
      KeySchema: schema(index.KeyAttributes as WorkbenchKeys),
      Projection: index.Projection ?? { ProjectionType: 'ALL' },
      ...(billing === 'PROVISIONED' ? { ProvisionedThroughput: capacity } : {}),
    }));
  }
  input.AttributeDefinitions = [...types].map(([AttributeName, AttributeType]) => ({
    AttributeName,
    AttributeType,
  }));
  const items = ((table.TableData ?? []) as unknown[]).filter(isItem);
  return { input, items };
}
