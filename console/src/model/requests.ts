// Requests that the server tells of, and what they have in common. Pure.

export interface Told {
  seq: number;
  at: string;
  operation: string;
  table: string;
  index: string | null;
  // "S:text", "N:1" or "B:base64"; texts longer than 256 bytes are cut.
  keys: { partition: string; sort: string | null }[];
  keyCount: number;
  read: number;
  write: number;
  scanned: number | null;
  returned: number | null;
  bytes: number | null;
  consistency: 'eventual' | 'strong' | 'transactional';
  outcome: 'served' | 'throttled' | 'condition failed' | 'cancelled';
  milliseconds: number | null;
}

export interface Shape {
  id: string;
  operation: string;
  table: string;
  index: string | null;
  requests: number;
  failed: number;
  read: number;
  write: number;
  scanned: number;
  returned: number;
  // The longest, and of all that have one the mean.
  slowest: number | null;
  mean: number | null;
}

const shapeOf = (one: Told): string => `${one.operation} ${one.table} ${one.index ?? ''}`;

// Requests of one operation on one table or index together; those with the most units first.
export function shapes(requests: readonly Told[]): Shape[] {
  const found = new Map<string, Shape & { timed: number; sum: number }>();
  for (const one of requests) {
    const id = shapeOf(one);
    const shape = found.get(id) ?? {
      id,
      operation: one.operation,
      table: one.table,
      index: one.index,
      requests: 0,
      failed: 0,
      read: 0,
      write: 0,
      scanned: 0,
      returned: 0,
      slowest: null,
      mean: null,
      timed: 0,
      sum: 0,
    };
    ++shape.requests;
    if (one.outcome !== 'served') ++shape.failed;
    shape.read += one.read;
    shape.write += one.write;
    shape.scanned += one.scanned ?? 0;
    shape.returned += one.returned ?? 0;
    if (one.milliseconds !== null) {
      ++shape.timed;
      shape.sum += one.milliseconds;
      shape.slowest = Math.max(shape.slowest ?? 0, one.milliseconds);
      shape.mean = shape.sum / shape.timed;
    }
    found.set(id, shape);
  }
  return [...found.values()].sort(
    (a, b) => b.read + 3 * b.write - (a.read + 3 * a.write) || b.requests - a.requests,
  );
}

export const plainKey = (tagged: string): string => tagged.slice(tagged.indexOf(':') + 1);

// Words of the filter, each in one of the names, keys or the outcome.
export function matches(one: Told, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = [
    one.operation,
    one.table,
    one.index ?? '',
    one.outcome,
    ...one.keys.flatMap((key) => [plainKey(key.partition), plainKey(key.sort ?? '')]),
  ]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

// Reads that went through ten times as many items as they gave back.
export const isWasteful = (one: { scanned: number | null; returned: number | null }): boolean =>
  (one.scanned ?? 0) >= 100 && (one.scanned ?? 0) >= 10 * Math.max(1, one.returned ?? 0);
