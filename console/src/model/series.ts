// Requests by time as the server kept them, and what a row of a table says of one name. Pure.

export interface OneSeries {
  name: string;
  // A second, by column.
  served: number[];
  errors: number[];
  throttled: number[];
  // Milliseconds; null: nothing was served.
  p50: (number | null)[];
  p99: (number | null)[];
}

export interface SeriesReply {
  now: string;
  // When the server began to count.
  begun: string;
  from: string;
  columnSeconds: number;
  columns: number;
  series: OneSeries[];
}

export interface SeriesRow {
  name: string;
  served: number;
  errors: number;
  throttled: number;
  // The middle of the columns by their requests, and the worst column.
  p50: number | null;
  p99: number | null;
  // Requests a second, over all columns.
  mean: number;
  values: number[];
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

// The middle of the columns, each as often as requests were served in it.
function typical(values: readonly (number | null)[], weights: readonly number[]): number | null {
  const known = values
    .map((value, i) => ({ value, weight: weights[i] ?? 0 }))
    .filter((one): one is { value: number; weight: number } => one.value !== null && one.weight > 0)
    .sort((a, b) => a.value - b.value);
  let left = sum(known.map((one) => one.weight)) / 2;
  for (const one of known) {
    left -= one.weight;
    if (left <= 0) return one.value;
  }
  return null;
}

// How many seconds of the columns there have been since the server began to count.
export function countedSeconds(reply: SeriesReply): number {
  const from = Math.max(Date.parse(reply.from), Date.parse(reply.begun));
  return Math.max(1, (Date.parse(reply.now) - from) / 1000);
}

export function rowsOf(reply: SeriesReply): SeriesRow[] {
  const seconds = countedSeconds(reply);
  // The last column is shorter.
  const end = Date.parse(reply.from) + reply.columns * reply.columnSeconds * 1000;
  const last = Math.max(1, reply.columnSeconds - Math.max(0, end - Date.parse(reply.now)) / 1000);
  const total = (values: readonly number[]) =>
    sum(values.slice(0, -1)) * reply.columnSeconds + (values.at(-1) ?? 0) * last;
  return reply.series.map((one) => ({
    name: one.name,
    served: Math.round(total(one.served)),
    errors: Math.round(total(one.errors)),
    throttled: Math.round(total(one.throttled)),
    p50: typical(one.p50, one.served),
    p99: one.p99.reduce<number | null>(
      (most, value) => (value === null ? most : Math.max(most ?? 0, value)),
      null,
    ),
    mean: total(one.served) / seconds,
    values: one.served,
  }));
}

// All names together: rates are added, latencies are those of the slowest.
export function allTogether(reply: SeriesReply): OneSeries {
  const columns = Array.from({ length: reply.columns }, (_, i) => i);
  const added = (of: (one: OneSeries) => readonly number[]) =>
    columns.map((i) => sum(reply.series.map((one) => of(one)[i] ?? 0)));
  const slowest = (of: (one: OneSeries) => readonly (number | null)[]) =>
    columns.map((i) =>
      reply.series.reduce<number | null>((most, one) => {
        const value = of(one)[i] ?? null;
        return value === null ? most : Math.max(most ?? 0, value);
      }, null),
    );
  return {
    name: '',
    served: added((one) => one.served),
    errors: added((one) => one.errors),
    throttled: added((one) => one.throttled),
    p50: slowest((one) => one.p50),
    p99: slowest((one) => one.p99),
  };
}
