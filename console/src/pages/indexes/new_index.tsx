// A dialog for one more global index of a table that is there.
import { useState } from 'preact/hooks';
import { dynamodb } from '../../api/dynamodb.ts';
import { refresh } from '../../app/state.ts';
import type { Request } from '../../model/code/request.ts';
import { createInputOf, emptyIndex, formOf, requestsOf } from '../../model/create.ts';
import { isOnDemand, type TableDescription } from '../../model/table.ts';
import { Code } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorBox, say } from '../../ui/told.tsx';
import { IndexFields } from '../create/index_fields.tsx';

export function NewIndex({ table, onClose }: { table: TableDescription; onClose: () => void }) {
  const [index, setIndex] = useState(emptyIndex('global'));
  const [busy, setBusy] = useState(false);
  const [touched, setTouched] = useState(false);
  const [error, setError] = useState<unknown>(null);
  // The table with this index, as if it were made anew: the same rules hold.
  const { form } = formOf(createInputOf(table));
  const at = form.indexes.length;
  const { create, errors } = requestsOf({ ...form, indexes: [...form.indexes, index] });
  const mine = [...errors.keys()].filter((field) => field.startsWith(`index.${at}.`));
  const all = (create.GlobalSecondaryIndexes ?? []) as Record<string, unknown>[];
  const names = [...index.partition, ...index.sort].map((key) => key.name);
  const request: Request = {
    service: 'DynamoDB',
    operation: 'UpdateTable',
    input: {
      TableName: table.TableName,
      AttributeDefinitions: (
        create.AttributeDefinitions as { AttributeName: string; AttributeType: string }[]
      ).filter((one) => names.includes(one.AttributeName)),
      GlobalSecondaryIndexUpdates: [{ Create: all.at(-1) }],
    },
  };
  const apply = async () => {
    setTouched(true);
    if (mine.length > 0) return;
    setBusy(true);
    setError(null);
    try {
      await dynamodb(request.operation, request.input);
      say(`Index ${index.name} is being built`);
      await refresh();
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`A global index of ${table.TableName}`}
      wide
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="primary" disabled={busy} onClick={() => void apply()}>
            Build the index
          </button>
        </>
      }
    >
      <p class="muted">
        Items without all of its key attributes, or with other types, are left out: the index is
        sparse. {table.ItemCount ? `${table.ItemCount} items will be read to build it.` : ''}
      </p>
      <IndexFields
        index={index}
        at={at}
        provisioned={!isOnDemand(table)}
        errors={touched ? errors : new Map()}
        onChange={setIndex}
      />
      {error !== null && <ErrorBox error={error} />}
      {mine.length === 0 && <Code of={{ request }} />}
    </Dialog>
  );
}
