// One change of an item in a list: a line, and what changed once it is opened.
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { changesOf, kindOf, momentField, type WireChange } from '../model/past.ts';
import { printPath } from '../model/path.ts';
import { Changes } from './changes.tsx';

const kClasses = { created: 'good', changed: 'blue', deleted: 'bad' } as const;

interface Props {
  change: WireChange;
  // Which item, or how long ago.
  about: ComponentChildren;
  // Whether the names of the attributes stand back behind it.
  quiet?: boolean;
  isOpen?: boolean;
  // Below the changes.
  children: ComponentChildren;
}

export function ChangeRow({ change, about, quiet = false, isOpen = false, children }: Props) {
  const [open, setOpen] = useState(isOpen);
  const kind = kindOf(change);
  const changes = useMemo(() => changesOf(change.before, change.after), [change]);
  return (
    <li>
      <button type="button" class="version" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="num">{momentField(Date.parse(change.time))}</span>
        <span class={`badge ${kClasses[kind]}`}>{kind}</span>
        {about}
        <span class={quiet ? 'cut version-names muted' : 'cut version-names'}>
          {kind === 'changed' && changes.map((one) => printPath(one.path)).join(', ')}
        </span>
      </button>
      {open && (
        <div class="record-body stack tight">
          <Changes changes={changes} />
          {children}
        </div>
      )}
    </li>
  );
}
