// Somebody else wrote the item while it was edited: what was loaded, what is stored now, what is
// wanted, side by side. What only one side changed needs no choice.
import { useState } from 'preact/hooks';
import { equal } from '../../model/equal.ts';
import { type Choice, meetings, merged } from '../../model/merge.ts';
import { type Path, printPath } from '../../model/path.ts';
import { summary } from '../../model/text_value.ts';
import { type AttributeValue, type Item, typeOf } from '../../model/value.ts';
import { takesFocus } from '../../ui/focus.ts';
import { plural } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';

export interface MergeProps {
  loaded: Item;
  theirs: Item;
  mine: Item;
  onMerged: (item: Item) => void;
  onDrop: () => void;
}

export function MergeView({ loaded, theirs, mine, onMerged, onDrop }: MergeProps) {
  const [choices, setChoices] = useState<ReadonlyMap<string, Choice>>(new Map());
  const met = meetings(loaded, theirs, mine);
  const conflicts = met.filter((one) => one.conflict);
  const open = conflicts.filter((one) => !choices.has(printPath(one.path))).length;
  const choiceAt = (path: Path): Choice => choices.get(printPath(path)) ?? 'theirs';
  return (
    <section class="stack merge" aria-labelledby="merge-title">
      <h3 id="merge-title" tabIndex={-1} ref={takesFocus}>
        <Icon name="warn" /> The item was changed meanwhile
      </h3>
      <p>
        {conflicts.length === 0
          ? 'You and the other writer changed different attributes: nothing was lost. Take over both.'
          : `${plural(conflicts.length, 'attribute')} changed on both sides. Nothing was written: choose which value stays.`}
      </p>
      <div class="scroll-x">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Attribute</th>
              <th scope="col">Loaded</th>
              <th scope="col">Theirs, stored now</th>
              <th scope="col">Mine</th>
            </tr>
          </thead>
          <tbody>
            {met.map((one) => {
              const path = printPath(one.path);
              const chosen = choices.get(path);
              const choose = (choice: Choice) => setChoices(new Map([...choices, [path, choice]]));
              return (
                <tr key={path}>
                  <th scope="row">
                    <code>{path}</code>
                  </th>
                  <td>
                    <Value value={one.loaded} />
                  </td>
                  {(['theirs', 'mine'] as const).map((side) => (
                    <td key={side} class={one.conflict && chosen === side ? 'chosen' : ''}>
                      {one.conflict ? (
                        <label class="check">
                          <input
                            type="radio"
                            name={`merge-${path}`}
                            aria-label={`Keep ${side} for ${path}`}
                            checked={chosen === side}
                            onChange={() => choose(side)}
                          />
                          <Value value={one[side]} />
                        </label>
                      ) : side === 'mine' && equal(one.loaded, one.mine) ? (
                        <span class="muted">not changed: theirs stays</span>
                      ) : side === 'theirs' && equal(one.loaded, one.theirs) ? (
                        <span class="muted">not changed: mine stays</span>
                      ) : (
                        <Value value={one[side]} />
                      )}
                    </td>
                  ))}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <div class="row end">
        <button type="button" onClick={onDrop}>
          Drop my changes
        </button>
        <button
          type="button"
          class="primary"
          disabled={open > 0}
          onClick={() => onMerged(merged(loaded, theirs, mine, choiceAt))}
        >
          Take over and go on editing
        </button>
      </div>
    </section>
  );
}

function Value({ value }: { value: AttributeValue | undefined }) {
  if (value === undefined) return <span class="muted">absent</span>;
  return (
    <span class="merge-value">
      <span class="type">{typeOf(value)}</span>
      {summary(value).slice(0, 300)}
    </span>
  );
}
