// Document paths: attribute, member, list index.

export type Path = readonly (string | number)[];

// A path as people write it: `a.b[0]`; a segment that is not a plain name stands in double quotes,
// in which \" and \\ stand for themselves: `"my.name".b`.
export function printPath(path: Path): string {
  let text = '';
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else text += (text === '' ? '' : '.') + printSegment(segment);
  }
  return text;
}

const printSegment = (name: string): string =>
  /^[\p{L}\p{N}_:#@$/-]+$/u.test(name) ? name : JSON.stringify(name);

// The path, or null if the text is none.
export function parsePath(text: string): Path | null {
  const path: (string | number)[] = [];
  let rest = text.trim();
  let first = true;
  while (rest !== '') {
    const index = /^\[(\d{1,9})\]/.exec(rest);
    if (index && !first) {
      path.push(Number(index[1]));
      rest = rest.slice(index[0].length);
      continue;
    }
    if (!first) {
      if (!rest.startsWith('.')) return null;
      rest = rest.slice(1);
    }
    const quoted = /^"(?:[^"\\]|\\.)*"/.exec(rest);
    const plain = /^[^.[\]"]+/.exec(rest);
    const match = quoted ?? plain;
    if (!match) return null;
    if (quoted) {
      try {
        path.push(JSON.parse(quoted[0]) as string);
      } catch {
        return null;
      }
    } else {
      path.push(match[0]);
    }
    rest = rest.slice(match[0].length);
    first = false;
  }
  return path.length > 0 ? path : null;
}
