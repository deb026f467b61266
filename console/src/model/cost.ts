// What capacity costs a month, by what really happened. Pure.

export interface Prices {
  // A month of one provisioned unit.
  readUnit: number;
  writeUnit: number;
  gigabyte: number;
  // The part that reserved capacity saves.
  reservedDiscount: number;
  // On-demand, per million request units; null: not known.
  millionReads: number | null;
  millionWrites: number | null;
}

interface Pair {
  read: number;
  write: number;
}

export interface Load {
  columnSeconds: number;
  read: readonly number[]; // units per second by column
  write: readonly number[];
  // How much of each column there has been; absent: all of it.
  seconds?: readonly number[];
  bytes: number;
  provisioned: Pair | null;
  // The rates of the busiest second that is known, which columns of an hour hide.
  peak?: Pair | undefined;
  // Units that auto scaling would have provided, where the server says so.
  scaled?: Pair | undefined;
}

export interface Way {
  id: 'provisioned' | 'on-demand' | 'scaled' | 'reserved';
  name: string;
  // A month; null: a price is missing.
  capacity: number | null;
  // What the sum is made of.
  how: string;
  isNow: boolean;
  // It would have refused the busiest second.
  throttles: boolean;
}

const kMonthSeconds = 730 * 3600;

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((all, one) => all + one, 0) / values.length;

// The first column may begin before the table, and the last one may not be over.
export const coveredSeconds = (
  columns: { from: string; columnSeconds: number; columns: number },
  born: number,
  now: number,
): number[] =>
  Array.from({ length: columns.columns }, (_, i) => {
    const begins = Date.parse(columns.from) / 1000 + i * columns.columnSeconds;
    const there = Math.min(begins + columns.columnSeconds, now) - Math.max(begins, born);
    return Math.min(columns.columnSeconds, Math.max(1, there));
  });

// Returns the mean of the time since the first use: rates by the seconds that they lasted.
function meanRate(values: readonly number[], seconds?: readonly number[]): number {
  const first = values.findIndex((one) => one > 0);
  if (first < 0) return 0;
  let units = 0;
  let time = 0;
  for (let i = first; i < values.length; ++i) {
    const lasted = seconds?.[i] ?? 1;
    units += (values[i] ?? 0) * lasted;
    time += lasted;
  }
  return units / time;
}

// Columns before the first use are a time in which the table was not used, or was not there.
const sinceFirst = (values: readonly number[]): readonly number[] => {
  const first = values.findIndex((one) => one > 0);
  return first < 0 ? [] : values.slice(first);
};

// Capacity that follows the load as auto scaling does, roughly: each column is provisioned for the
// target of its load, and of the three before it.
export function scaledUnits(values: readonly number[], target: number, least = 1): number {
  const used = sinceFirst(values);
  return mean(
    used.map((_, i) =>
      Math.max(least, Math.ceil(Math.max(...used.slice(Math.max(0, i - 3), i + 1)) / target)),
    ),
  );
}

// Units that would have been enough all the time.
export const peakUnits = (values: readonly number[]): number =>
  Math.max(1, Math.ceil(Math.max(0, ...values)));

export function ways(load: Load, prices: Prices, target = 0.7): Way[] {
  const month = (units: Pair) => units.read * prices.readUnit + units.write * prices.writeUnit;
  const enough = {
    read: peakUnits([...load.read, load.peak?.read ?? 0]),
    write: peakUnits([...load.write, load.peak?.write ?? 0]),
  };
  const most = (kind: 'read' | 'write') => Math.ceil(Math.max(1, ...load[kind]) / target);
  const below = (units: Pair) => units.read < enough.read || units.write < enough.write;
  const provisioned = load.provisioned ?? enough;
  const scaled = load.scaled ?? {
    read: scaledUnits(load.read, target),
    write: scaledUnits(load.write, target),
  };
  const asked = {
    read: meanRate(load.read, load.seconds),
    write: meanRate(load.write, load.seconds),
  };
  const digits = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
  const text = (units: Pair) =>
    `${digits.format(units.read)} read and ${digits.format(units.write)} write units`;
  const perMonth = (rate: number, price: number | null) =>
    rate === 0 ? 0 : price === null ? null : ((rate * kMonthSeconds) / 1e6) * price;
  const reads = perMonth(asked.read, prices.millionReads);
  const writes = perMonth(asked.write, prices.millionWrites);
  return [
    {
      id: 'provisioned',
      name: 'Provisioned',
      capacity: month(provisioned),
      how: load.provisioned
        ? text(provisioned)
        : `${text(provisioned)}: the busiest second that is known`,
      isNow: load.provisioned !== null,
      throttles: below(provisioned),
    },
    {
      id: 'on-demand',
      name: 'On demand',
      capacity: reads === null || writes === null ? null : reads + writes,
      how: `${text(asked)} a second on average, each paid`,
      isNow: load.provisioned === null,
      throttles: false,
    },
    {
      id: 'scaled',
      name: 'Auto scaling',
      capacity: month(scaled),
      how: `${text(scaled)} on average, at a target of ${Math.round(target * 100)}%`,
      isNow: false,
      throttles: below({ read: most('read'), write: most('write') }),
    },
    {
      id: 'reserved',
      name: 'Reserved',
      capacity: month(provisioned) * (1 - prices.reservedDiscount),
      how: `${text(provisioned)}, paid in advance`,
      isNow: false,
      throttles: below(provisioned),
    },
  ];
}

export const storageMonth = (bytes: number, prices: Prices): number =>
  (bytes / 2 ** 30) * prices.gigabyte;
