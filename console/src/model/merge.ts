// Three states of an item: as it was loaded, as it is now (theirs), as it is wanted (mine).
import { equal } from './equal.ts';
import type { Path } from './path.ts';
import { type AttributeValue, emptyItem, type Item, member } from './value.ts';

export interface Meeting {
  path: Path;
  loaded: AttributeValue | undefined;
  theirs: AttributeValue | undefined;
  mine: AttributeValue | undefined;
  // Whether both changed it, to different values.
  conflict: boolean;
}

export type Choice = 'mine' | 'theirs';

// What either side changed, by path. Maps are taken apart; lists, sets and scalars meet as a whole.
export function meetings(loaded: Item, theirs: Item, mine: Item): Meeting[] {
  const found: Meeting[] = [];
  meetMaps(loaded, theirs, mine, [], found);
  return found;
}

function meetMaps(loaded: Item, theirs: Item, mine: Item, path: Path, found: Meeting[]): void {
  const names = new Set([...Object.keys(loaded), ...Object.keys(theirs), ...Object.keys(mine)]);
  for (const name of names) {
    meet(member(loaded, name), member(theirs, name), member(mine, name), [...path, name], found);
  }
}

function meet(
  loaded: AttributeValue | undefined,
  theirs: AttributeValue | undefined,
  mine: AttributeValue | undefined,
  path: Path,
  found: Meeting[],
): void {
  const byThem = !equal(loaded, theirs);
  const byMe = !equal(loaded, mine);
  if (!byThem && !byMe) return;
  if (loaded && theirs && mine && 'M' in loaded && 'M' in theirs && 'M' in mine && byThem && byMe) {
    meetMaps(loaded.M, theirs.M, mine.M, path, found);
    return;
  }
  found.push({ path, loaded, theirs, mine, conflict: byThem && byMe && !equal(theirs, mine) });
}

// The item that results: theirs, with what only I changed, and at conflicts what was chosen.
// `choose` is asked for conflicts only.
export function merged(
  loaded: Item,
  theirs: Item,
  mine: Item,
  choose: (path: Path) => Choice,
): Item {
  return mergeMaps(loaded, theirs, mine, [], choose);
}

function mergeMaps(
  loaded: Item,
  theirs: Item,
  mine: Item,
  path: Path,
  choose: (path: Path) => Choice,
): Item {
  const item = emptyItem();
  const names = new Set([...Object.keys(theirs), ...Object.keys(mine)]);
  for (const name of names) {
    const was = member(loaded, name);
    const their = member(theirs, name);
    const my = member(mine, name);
    let value: AttributeValue | undefined;
    if (equal(was, my)) value = their;
    else if (equal(was, their) || equal(their, my)) value = my;
    else if (was && their && my && 'M' in was && 'M' in their && 'M' in my)
      value = { M: mergeMaps(was.M, their.M, my.M, [...path, name], choose) };
    else value = choose([...path, name]) === 'mine' ? my : their;
    if (value !== undefined) item[name] = value;
  }
  return item;
}
