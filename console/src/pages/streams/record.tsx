// One record of a stream; open, what it changed.
import { useState } from 'preact/hooks';
import { difference } from '../../model/difference.ts';
import { printPath } from '../../model/path.ts';
import { printPlain } from '../../model/plain.ts';
import { keyNames, keysOf, type TableDescription } from '../../model/table.ts';
import { summary, textOfValue } from '../../model/text_value.ts';
import { type Item, member } from '../../model/value.ts';
import { clock } from '../../ui/format.ts';
import { Scroll } from '../../ui/scroll.tsx';
import type { StreamRecord } from './follow.ts';

const kWords = { INSERT: 'new', MODIFY: 'changed', REMOVE: 'removed' } as const;
const kClasses = { INSERT: 'good', MODIFY: 'blue', REMOVE: 'bad' } as const;
const kMostChanges = 50;

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
      {changes !== null && (
        <Scroll label="Changes">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">Attribute</th>
                <th scope="col">Before</th>
                <th scope="col">After</th>
              </tr>
            </thead>
            <tbody>
              {changes.slice(0, kMostChanges).map((one) => (
                <tr key={printPath(one.path)}>
                  <th scope="row">{printPath(one.path)}</th>
                  <td class="bad-text">{one.before ? summary(one.before) : '–'}</td>
                  <td class="good-text">{one.after ? summary(one.after) : '–'}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {changes.length > kMostChanges && (
            <p class="hint">and {changes.length - kMostChanges} more</p>
          )}
        </Scroll>
      )}
      {only !== null && <pre class="record-item">{printPlain(only).slice(0, 20_000)}</pre>}
      <p class="hint">Sequence number {SequenceNumber}</p>
    </div>
  );
}
