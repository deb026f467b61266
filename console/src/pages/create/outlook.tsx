// What the new table will be: its partitions, what they serve at once, and the same as code.
import { boot } from '../../app/state.ts';
import { type CreateForm, type CreateRequests, firstPartitions } from '../../model/create.ts';
import { Code } from '../../ui/code.tsx';
import { count, plural } from '../../ui/format.ts';
import { Strip } from '../../ui/strip.tsx';

export function Outlook({ form, requests }: { form: CreateForm; requests: CreateRequests }) {
  const partition = boot.value?.partition ?? { read: 3000, write: 1000 };
  const first = firstPartitions(form, partition);
  const shown = Math.min(64, first.count);
  const parts = Array.from({ length: shown }, (_, i) => [i / shown, 0] as const);
  const onDemand = form.billing === 'PAY_PER_REQUEST';
  return (
    <aside class="outlook stack" aria-label="What this makes">
      <section class="card pad stack tight">
        <h2>{plural(first.count, 'partition')} to begin with</h2>
        <Strip parts={parts} label={plural(first.count, 'partition')} />
        <p>
          {onDemand ? 'Together they serve ' : 'The table may use '}
          <strong>{count(first.read)}</strong> read and <strong>{count(first.write)}</strong> write
          units a second.
        </p>
        <p class="muted">
          But one partition never does more than {count(partition.read)} and{' '}
          {count(partition.write)}, and all items of one partition key begin in one partition.
        </p>
      </section>
      <Code
        of={{ request: { service: 'DynamoDB', operation: 'CreateTable', input: requests.create } }}
      />
      {requests.ttl && (
        <Code
          of={{
            request: {
              service: 'DynamoDB',
              operation: 'UpdateTimeToLive',
              input: { ...requests.ttl },
            },
          }}
        />
      )}
      {requests.scaling && (
        <Code
          of={{
            management: {
              method: 'PUT',
              path: `_stator/tables/${form.name}/auto-scaling`,
              body: requests.scaling,
            },
          }}
        />
      )}
    </aside>
  );
}
