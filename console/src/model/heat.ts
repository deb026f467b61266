// The heat of a table over time as the server answers it, and what can be read out of it. Pure.

export interface Bound {
  hash: string;
  sortKey?: unknown;
}

interface Series {
  read: number[];
  write: number[];
}

export interface HeatRange {
  from: Bound;
  to: Bound | null;
  consumed: Series;
  refused: Series;
  heat: number[];
}

export interface HeatResource {
  type: 'table' | 'index';
  name: string;
  from: string;
  columnSeconds: number;
  columns: number;
  consumed: Series;
  refused: Series;
  ranges: HeatRange[];
}

export interface HeatReply {
  table: string;
  now: string;
  resources: HeatResource[];
}

export type Metric = 'heat' | 'read' | 'write' | 'refused';

// A rectangle of cells, both ends included.
export interface Selection {
  fromColumn: number;
  toColumn: number;
  fromRange: number;
  toRange: number;
}

export const refusedIn = (range: HeatRange, column: number): number =>
  (range.refused.read[column] ?? 0) + (range.refused.write[column] ?? 0);

export function cell(range: HeatRange, column: number, metric: Metric): number {
  if (metric === 'heat') return range.heat[column] ?? 0;
  if (metric === 'refused') return refusedIn(range, column);
  return range.consumed[metric][column] ?? 0;
}

// What a full colour stands for. Heat is a part of what one partition can do: 1, always. The others
// are rates, and go by the highest in the picture.
export function scaleOf(resource: HeatResource, metric: Metric): number {
  if (metric === 'heat') return 1;
  let most = 0;
  for (const range of resource.ranges)
    for (let column = 0; column < resource.columns; ++column)
      most = Math.max(most, cell(range, column, metric));
  return most;
}

export const columnTime = (resource: HeatResource, column: number): number =>
  Date.parse(resource.from) + column * resource.columnSeconds * 1000;

const kSpace = 2n ** 64n;

// Where the range begins and ends in the hash space, 0 to 1. Ranges that are cut inside an item
// collection share a hash.
export const placeOf = (bound: Bound | null): number =>
  bound === null ? 1 : Number((BigInt(`0x${bound.hash}`) * 1_000_000_000n) / kSpace) / 1e9;

// Heights of the rows, which sum up to `height`: by width of the range, none below `least`, or all
// the same.
export function rowHeights(
  ranges: readonly HeatRange[],
  height: number,
  least: number,
  equal: boolean,
): number[] {
  if (ranges.length === 0) return [];
  if (equal || ranges.length * least >= height) return ranges.map(() => height / ranges.length);
  const free = height - ranges.length * least;
  return ranges.map((range) => least + free * (placeOf(range.to) - placeOf(range.from)));
}

export interface Summary {
  seconds: number;
  consumed: { read: number; write: number };
  refused: { read: number; write: number };
  most: number;
  hotColumns: number;
}

// Units in the rectangle, the highest heat, and in how many columns some range was hot (90%).
export function summarize(resource: HeatResource, selection: Selection): Summary {
  const out: Summary = {
    seconds: (selection.toColumn - selection.fromColumn + 1) * resource.columnSeconds,
    consumed: { read: 0, write: 0 },
    refused: { read: 0, write: 0 },
    most: 0,
    hotColumns: 0,
  };
  for (let column = selection.fromColumn; column <= selection.toColumn; ++column) {
    let hot = false;
    for (let at = selection.fromRange; at <= selection.toRange; ++at) {
      const range = resource.ranges[at];
      if (!range) continue;
      for (const access of ['read', 'write'] as const) {
        out.consumed[access] += (range.consumed[access][column] ?? 0) * resource.columnSeconds;
        out.refused[access] += (range.refused[access][column] ?? 0) * resource.columnSeconds;
      }
      const heat = range.heat[column] ?? 0;
      out.most = Math.max(out.most, heat);
      if (heat >= 0.9) hot = true;
    }
    if (hot) ++out.hotColumns;
  }
  return out;
}

export interface Spot {
  range: number;
  column: number;
  heat: number;
  refused: number;
}

// The hottest cells, each range at its worst moment, hottest first; what was refused comes before
// what was only hot.
export function hottest(resource: HeatResource, most: number): Spot[] {
  const spots: Spot[] = [];
  resource.ranges.forEach((range, at) => {
    let best: Spot | null = null;
    for (let column = 0; column < resource.columns; ++column) {
      const spot = {
        range: at,
        column,
        heat: range.heat[column] ?? 0,
        refused: refusedIn(range, column),
      };
      if (spot.heat === 0 && spot.refused === 0) continue;
      if (!best || weightOf(spot) > weightOf(best)) best = spot;
    }
    if (best) spots.push(best);
  });
  return spots.sort((a, b) => weightOf(b) - weightOf(a)).slice(0, most);
}

// A range with a smaller part of what one can do is not hot, unless something was refused.
const kHot = 0.1;
export const isHot = (spot: Spot): boolean => spot.heat >= kHot || spot.refused > 0;

const weightOf = (spot: Spot): number => spot.heat + (spot.refused > 0 ? 10 : 0);

// What kind of heat the last columns show, in a sentence.
export function kindOf(resource: HeatResource, selection: Selection): string {
  const sums = resource.ranges.map((range, at) => {
    if (at < selection.fromRange || at > selection.toRange) return 0;
    let sum = 0;
    for (let c = selection.fromColumn; c <= selection.toColumn; ++c) sum += range.heat[c] ?? 0;
    return sum;
  });
  const all = sums.reduce((a, b) => a + b, 0);
  if (all === 0) return 'Nothing was consumed here.';
  const count = selection.toRange - selection.fromRange + 1;
  const top = Math.max(...sums) / all;
  if (count === 1)
    return resource.ranges.length === 1
      ? 'The table has one partition: all of its keys share what that can do.'
      : 'All of it lies in one range of keys.';
  if (top > 0.8) return `One range has ${Math.round(top * 100)}% of the heat: a hot key, or a few.`;
  if (moves(resource, selection))
    return 'The hottest range changes with time: keys that move, such as dates or counters.';
  const few = sums.filter((one) => one / all > 0.5 / count).length;
  if (few >= count * 0.7) return 'The heat is spread evenly: the table as a whole is busy.';
  return `${few} of ${count} ranges have most of the heat.`;
}

// Whether the hottest range is another one in every third of the time, always further on.
function moves(resource: HeatResource, selection: Selection): boolean {
  const columns = selection.toColumn - selection.fromColumn + 1;
  if (columns < 6) return false;
  const third = Math.floor(columns / 3);
  const places = [0, 1, 2].map((part) => {
    let best = -1;
    let most = 0;
    for (let at = selection.fromRange; at <= selection.toRange; ++at) {
      let sum = 0;
      for (let i = 0; i < third; ++i)
        sum += resource.ranges[at]?.heat[selection.fromColumn + part * third + i] ?? 0;
      if (sum > most) {
        most = sum;
        best = at;
      }
    }
    return best;
  });
  return new Set(places).size === 3 && !places.includes(-1);
}
