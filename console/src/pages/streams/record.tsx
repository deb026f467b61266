// One record of a stream; open, what it changed.
import { useState } from 'preact/hooks';
import { difference } from '../../model/difference.ts';
import { printPlain } from '../../model/plain.ts';
import { keyNames, keysOf, type TableDescription } from '../../model/table.ts';
import { textOfValue } from '../../model/text_value.ts';
import { type Item, member } from '../../model/value.ts';
import { Changes } from '../../ui/changes.tsx';
import { clock } from '../../ui/format.ts';
import type { StreamRecord } from './follow.ts';

const kWords = { INSERT: 'new', MODIFY: 'changed', REMOVE: 'removed' } as const;
const kClasses = { INSERT: 'good', MODIFY: 'blue', REMOVE: 'bad' } as const;

function summaryOf(keys: Item, name: string): string {
  const value = member(keys, name);
  return value === undefined ? '–' : textOfValue(value);
}

export function RecordRow({ table, record }: { table: TableDescription; record: StreamRecord }) {
  const [open, setOpen] = useState(false);
  const { dynamodb: body, eventName } = record;
  const at = body.ApproximateCreationDateTime;
  const expired = record.userIdentity?.Type === 'Service';
  return (
    <li>
      <button type="button" class="record" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="num muted">{at === undefined ? '–' : clock(at * 1000)}</span>
        <span class={`badge ${kClasses[eventName]}`}>
          {expired ? 'expired' : kWords[eventName]}
        </span>
        <span class="cut">
          {keyNames(keysOf(table))
            .map((name) => summaryOf(body.Keys, name))
            .join(' · ')}
        </span>
      </button>
      {open && <Details record={record} />}
    </li>
  );
}

function Details({ record }: { record: StreamRecord }) {
  const { OldImage, NewImage, Keys, SequenceNumber } = record.dynamodb;
  const changes = OldImage && NewImage ? difference(OldImage, NewImage) : null;
  const only = changes === null ? (NewImage ?? OldImage ?? Keys) : null;
  return (
    <div class="record-body stack tight">
      {changes !== null && <Changes changes={changes} />}
      {only !== null && <pre class="record-item">{printPlain(only).slice(0, 20_000)}</pre>}
      <p class="hint">Sequence number {SequenceNumber}</p>
    </div>
  );
}
