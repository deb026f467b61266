// What changed between two states of an item, attribute by attribute.
import type { Change } from '../model/difference.ts';
import { printPath } from '../model/path.ts';
import { summary } from '../model/text_value.ts';
import { Scroll } from './scroll.tsx';

const kMostChanges = 50;

interface Props {
  changes: readonly Change[];
  // Of the columns.
  before?: string;
  after?: string;
}

export function Changes({ changes, before = 'Before', after = 'After' }: Props) {
  return (
    <Scroll label="Changes">
      <table class="plain changes">
        <thead>
          <tr>
            <th scope="col">Attribute</th>
            <th scope="col">{before}</th>
            <th scope="col">{after}</th>
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
  );
}
