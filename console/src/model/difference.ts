// What was changed between two states of an item, as the paths that one UpdateItem has to touch.
import { equal } from './equal.ts';
import type { Path } from './path.ts';
import { type AttributeValue, copyItem, type Item, member } from './value.ts';

export interface Change {
  path: Path;
  // undefined: absent.
  before: AttributeValue | undefined;
  after: AttributeValue | undefined;
}

// Disjoint paths, by name. Maps are compared member by member, lists element by element where
// their lengths are the same; a list of another length is one change, because indexes of an update
// mean the list as it was.
export function difference(before: Item, after: Item): Change[] {
  const changes: Change[] = [];
  compareMaps(before, after, [], changes);
  return changes;
}

function compareMaps(before: Item, after: Item, path: Path, changes: Change[]): void {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    compare(member(before, name), member(after, name), [...path, name], changes);
  }
}

function compare(
  before: AttributeValue | undefined,
  after: AttributeValue | undefined,
  path: Path,
  changes: Change[],
): void {
  if (equal(before, after)) return;
  if (before && after && 'M' in before && 'M' in after) {
    compareMaps(before.M, after.M, path, changes);
  } else if (before && after && 'L' in before && 'L' in after && sameLength(before.L, after.L)) {
    after.L.forEach((element, i) => {
      compare(before.L[i], element, [...path, i], changes);
    });
  } else {
    changes.push({ path, before, after });
  }
}

const sameLength = (a: unknown[], b: unknown[]): boolean => a.length === b.length;

// The value at the path, or undefined.
export function valueAt(item: Item, path: Path): AttributeValue | undefined {
  let value: AttributeValue | undefined = { M: item };
  for (const segment of path) value = value && step(value, segment);
  return value;
}

function step(value: AttributeValue, segment: string | number): AttributeValue | undefined {
  if (typeof segment === 'number') return 'L' in value ? value.L[segment] : undefined;
  return 'M' in value ? member(value.M, segment) : undefined;
}

// The item with the changes made. Paths whose parents are not there are left out.
export function apply(item: Item, changes: readonly Change[]): Item {
  const copy = copyItem(item);
  for (const { path, after } of changes) {
    const last = path.at(-1);
    const parent = valueAt(copy, path.slice(0, -1));
    if (parent === undefined || last === undefined) continue;
    if (typeof last === 'number' && 'L' in parent && after !== undefined) parent.L[last] = after;
    else if (typeof last === 'string' && 'M' in parent) {
      if (after === undefined) delete parent.M[last];
      else parent.M[last] = after;
    }
  }
  return copy;
}
