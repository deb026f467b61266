// A key design with its traffic, as a scenario of `stator simulate`, and what its outcome says.
// Pure. Numbers are text while they are typed.
import type { Prices } from './cost.ts';
import { accessOf } from './reason.ts';

export type KeyKind = 'uniform' | 'zipf' | 'single' | 'date' | 'weighted';

export interface KeyDesign {
  kind: KeyKind;
  count: string; // uniform, zipf
  exponent: string; // zipf
  key: string; // single
  weights: string; // weighted: "SHIPPED 80, PENDING 15"
  suffixes: string;
  suffix: 'random' | 'computed';
}

export interface IndexDesign {
  name: string;
  read: string;
  write: string;
  entryBytes: string;
  percent: string; // of the table's writes that change an entry
  keys: KeyDesign;
}

export interface TrafficDesign {
  name: string;
  operation: 'read' | 'write';
  index: string; // empty: the table
  rate: string;
  itemBytes: string;
  strong: boolean;
  newItems: boolean;
  keys: KeyDesign;
}

export interface Design {
  table: string;
  billing: 'provisioned' | 'on-demand';
  read: string;
  write: string;
  warmWrite: string;
  size: string; // "50GB" or empty
  minutes: string;
  indexes: IndexDesign[];
  traffic: TrafficDesign[];
}

export const keysDesign = (more: Partial<KeyDesign> = {}): KeyDesign => ({
  kind: 'uniform',
  count: '1000000',
  exponent: '1',
  key: 'the-one',
  weights: 'SHIPPED 80, PENDING 15, FAILED 5',
  suffixes: '1',
  suffix: 'random',
  ...more,
});

export const trafficDesign = (more: Partial<TrafficDesign> = {}): TrafficDesign => ({
  name: 'writes',
  operation: 'write',
  index: '',
  rate: '500',
  itemBytes: '1KB',
  strong: false,
  newItems: false,
  keys: keysDesign(),
  ...more,
});

export const indexDesign = (more: Partial<IndexDesign> = {}): IndexDesign => ({
  name: 'by-status',
  read: '100',
  write: '1000',
  entryBytes: '200B',
  percent: '100',
  keys: keysDesign({ kind: 'weighted' }),
  ...more,
});

export const emptyDesign = (more: Partial<Design> = {}): Design => ({
  table: 'orders',
  billing: 'provisioned',
  read: '100',
  write: '1000',
  warmWrite: '',
  size: '',
  minutes: '30',
  indexes: [],
  traffic: [trafficDesign()],
  ...more,
});

export interface Example {
  name: string;
  says: string;
  design: Design;
}

export const kExamples: readonly Example[] = [
  {
    name: 'Hot date',
    says: 'Events keyed by their date: today’s key takes all writes',
    design: emptyDesign({
      table: 'events',
      write: '4000',
      traffic: [
        trafficDesign({
          name: 'events of today',
          rate: '3000',
          keys: keysDesign({ kind: 'date' }),
        }),
      ],
    }),
  },
  {
    name: 'Vote counter',
    says: 'One item that everybody updates',
    design: emptyDesign({
      table: 'votes',
      billing: 'on-demand',
      warmWrite: '20000',
      traffic: [
        trafficDesign({
          name: 'votes',
          rate: '20000',
          itemBytes: '100B',
          keys: keysDesign({ kind: 'single', key: 'candidate-A' }),
        }),
      ],
    }),
  },
  {
    name: 'Index by status',
    says: 'An index of three values throttles its table',
    design: emptyDesign({
      write: '3000',
      indexes: [indexDesign({ write: '3000' })],
      traffic: [trafficDesign({ name: 'orders', rate: '2500' })],
    }),
  },
  {
    name: 'Popular users',
    says: 'Reads that follow a power law',
    design: emptyDesign({
      table: 'profiles',
      read: '9000',
      traffic: [
        trafficDesign({
          name: 'profile pages',
          operation: 'read',
          rate: '12000',
          itemBytes: '2KB',
          keys: keysDesign({ kind: 'zipf', count: '100000', exponent: '1.1' }),
        }),
      ],
    }),
  },
];

const quoted = (text: string): string => JSON.stringify(text);
const isNumber = (text: string): boolean => /^\d{1,9}(\.\d{1,6})?$/.test(text.trim());
const isWhole = (text: string): boolean => /^[1-9]\d{0,9}$/.test(text.trim());
const isSize = (text: string): boolean => /^\d+(\.\d+)?\s*(B|KB|MB|GB|TB)$/.test(text.trim());

export interface Built {
  toml: string;
  // By field: `write`, `traffic.0.rate`, `index.0.keys.weights`.
  errors: Map<string, string>;
}

// The prices of the guidance's examples.
const kPrices = { writeUnit: 0.47, readUnit: 0.09, gigabyte: 0.25 };

export function scenarioOf(
  design: Design,
  prices: Pick<Prices, 'readUnit' | 'writeUnit' | 'gigabyte'> = kPrices,
): Built {
  return new Builder(design, prices).build();
}

class Builder {
  private readonly errors = new Map<string, string>();
  private readonly lines: string[] = [];

  constructor(
    private readonly design: Design,
    private readonly prices: Pick<Prices, 'readUnit' | 'writeUnit' | 'gigabyte'>,
  ) {}

  build(): Built {
    const { design } = this;
    const provisioned = design.billing === 'provisioned';
    const minutes = this.number('minutes', design.minutes);
    if (minutes > 1440) this.errors.set('minutes', 'At most a day');
    // Steps of a second up to an hour; longer ones are played in coarser steps.
    this.lines.push(
      `duration = "${minutes * 60}s"`,
      `step = "${minutes > 60 ? Math.ceil(minutes / 60) : 1}s"`,
      '',
      '[prices]',
      `write_unit_month = ${this.prices.writeUnit}`,
      `read_unit_month = ${this.prices.readUnit}`,
      `gigabyte_month = ${this.prices.gigabyte}`,
      '',
      '[[table]]',
      `name = ${quoted(design.table)}`,
    );
    if (design.table === '') this.errors.set('table', 'How is it called?');
    if (provisioned) {
      this.lines.push(`read = ${this.units('read', design.read)}`);
      this.lines.push(`write = ${this.units('write', design.write)}`);
    } else {
      this.lines.push('billing = "on-demand"');
      if (design.warmWrite !== '') {
        this.lines.push(
          'warm_read = 12000',
          `warm_write = ${Math.max(4000, this.units('warmWrite', design.warmWrite))}`,
        );
      }
    }
    if (design.size !== '') this.lines.push(`size = ${this.size('size', design.size)}`);
    for (const [i, one] of design.indexes.entries()) this.index(one, `index.${i}`, provisioned);
    for (const [i, one] of design.traffic.entries()) this.traffic(one, `traffic.${i}`);
    if (design.traffic.length === 0) this.errors.set('traffic', 'Nothing happens without traffic');
    return { toml: `${this.lines.join('\n')}\n`, errors: this.errors };
  }

  private index(index: IndexDesign, at: string, provisioned: boolean): void {
    this.lines.push('', '[[table.index]]', `name = ${quoted(index.name)}`);
    if (index.name === '') this.errors.set(`${at}.name`, 'How is it called?');
    if (this.design.indexes.filter((one) => one.name === index.name).length > 1)
      this.errors.set(`${at}.name`, 'Another index is called that');
    if (provisioned) {
      this.lines.push(`read = ${this.units(`${at}.read`, index.read)}`);
      this.lines.push(`write = ${this.units(`${at}.write`, index.write)}`);
    }
    this.lines.push(`entry_bytes = ${this.size(`${at}.entryBytes`, index.entryBytes)}`);
    const percent = this.number(`${at}.percent`, index.percent);
    if (!(percent > 0 && percent <= 100)) this.errors.set(`${at}.percent`, 'Above 0, at most 100');
    else if (percent < 100) this.lines.push(`fraction = ${percent / 100}`);
    this.lines.push(`keys = ${this.keys(index.keys, `${at}.keys`)}`);
  }

  private traffic(traffic: TrafficDesign, at: string): void {
    const { design } = this;
    this.lines.push(
      '',
      '[[traffic]]',
      `name = ${quoted(traffic.name)}`,
      `table = ${quoted(design.table)}`,
    );
    if (traffic.name === '') this.errors.set(`${at}.name`, 'How is it called?');
    if (traffic.operation === 'read') {
      this.lines.push(
        'operation = "read"',
        `consistency = "${traffic.strong && traffic.index === '' ? 'strong' : 'eventual'}"`,
      );
      if (traffic.index !== '') {
        if (design.indexes.some((one) => one.name === traffic.index))
          this.lines.push(`index = ${quoted(traffic.index)}`);
        else this.errors.set(`${at}.index`, 'There is no such index');
      }
    } else {
      this.lines.push('operation = "write"');
      if (traffic.newItems) this.lines.push('new_items = true');
    }
    this.lines.push(`item_bytes = ${this.size(`${at}.itemBytes`, traffic.itemBytes)}`);
    this.lines.push(`rate = ${this.number(`${at}.rate`, traffic.rate)}`);
    this.lines.push(`keys = ${this.keys(traffic.keys, `${at}.keys`)}`);
  }

  private keys(keys: KeyDesign, at: string): string {
    const parts = [`type = "${keys.kind}"`];
    if (keys.kind === 'uniform' || keys.kind === 'zipf')
      parts.push(`count = ${this.units(`${at}.count`, keys.count)}`);
    if (keys.kind === 'zipf')
      parts.push(`exponent = ${this.number(`${at}.exponent`, keys.exponent)}`);
    if (keys.kind === 'single') parts.push(`key = ${quoted(keys.key)}`);
    if (keys.kind === 'weighted') parts.push(`weights = { ${this.weights(keys.weights, at)} }`);
    const suffixes = this.units(`${at}.suffixes`, keys.suffixes);
    if (suffixes > 1) parts.push(`suffixes = ${suffixes}`, `suffix = "${keys.suffix}"`);
    return `{ ${parts.join(', ')} }`;
  }

  private weights(text: string, at: string): string {
    const found: string[] = [];
    for (const part of text.split(',')) {
      const match = /^\s*(\S.*?)\s+(\d+(?:\.\d+)?)\s*$/.exec(part);
      if (!match) {
        this.errors.set(`${at}.weights`, 'Such as SHIPPED 80, PENDING 15');
        return 'x = 1';
      }
      found.push(`${quoted(match[1] ?? '')} = ${match[2]}`);
    }
    return found.join(', ');
  }

  private number(field: string, text: string): number {
    if (isNumber(text)) return Number(text);
    this.errors.set(field, 'A number');
    return 1;
  }
  private units(field: string, text: string): number {
    if (isWhole(text)) return Number(text);
    this.errors.set(field, 'A whole number, from 1');
    return 1;
  }
  private size(field: string, text: string): string {
    if (isSize(text)) return quoted(text.trim().replace(/\s+/g, ''));
    this.errors.set(field, 'Such as 400B, 2KB or 50GB');
    return '"1KB"';
  }
}

// ---- What the outcome has (docs/throughput.md).

export interface Trouble {
  reason: string;
  requests: number;
  limit: number;
  demand: number;
  partition: number;
  obstacle: string;
  hottest: string[];
  hottest_share: number;
  advice: string[];
}
export interface OutcomeResource {
  name: string;
  kind: 'table' | 'index';
  billing: string;
  partitions_before: number;
  partitions_after: number;
  consumed_units: { read: number; write: number };
  // At the end.
  bytes?: number;
  month?: { capacity: number; reserved: number; storage: number };
  hottest: { key: string; share: number }[];
  throttled: Trouble[];
  columns: {
    consumed: { read: number; write: number };
    refused: { read: number; write: number };
  }[];
  heat: { partition: number; heat: number[] }[];
}
export interface Outcome {
  duration_seconds: number;
  column_seconds: number;
  traffic: {
    name: string;
    operation: string;
    requests: number;
    served: number;
    throttled: Record<string, number>;
  }[];
  resources: OutcomeResource[];
  summary: string;
}

export const served = (outcome: Outcome): number => {
  const sum = (of: 'requests' | 'served') => outcome.traffic.reduce((all, one) => all + one[of], 0);
  return sum('requests') === 0 ? 1 : sum('served') / sum('requests');
};

export const monthOf = (outcome: Outcome): number =>
  outcome.resources.reduce(
    (all, one) => all + (one.month ? one.month.capacity + one.month.storage : 0),
    0,
  );

// Returns the number of values that the advice names, or else one at which each value has at most
// half of what a partition does.
function suffixesFor(trouble: Trouble): number {
  const named = trouble.advice
    .flatMap((text) => [...text.matchAll(/(?:better |into |keep |over (?:at least )?)(\d[\d,]*)/g)])
    .map((match) => Number((match[1] ?? '').replaceAll(',', '')));
  if (named.length > 0) return Math.max(...named);
  const least = Math.ceil((trouble.demand / Math.max(1, trouble.limit)) * 2);
  return [10, 20, 50, 100, 200, 500, 1000].find((one) => one >= least) ?? 1000;
}

// The demand that the advice's number of values is for: "1,600 write units/s". An older server does
// not tell it: then that of the busiest second.
function demandOf(trouble: Trouble): string {
  for (const text of trouble.advice) {
    const match = /\d for its ([\d,.]+ (?:read|write) units\/s)/.exec(text);
    if (match) return match[1] as string;
  }
  const units = Math.round(trouble.demand).toLocaleString('en-US');
  return `${units} ${accessOf(trouble.reason)} units/s`;
}

// The units that the advice names: of a limit that lacks units those of its busiest second, of a
// partition's those that the suffixes need; null: none.
function unitsFor(trouble: Trouble): number | null {
  for (const text of trouble.advice) {
    const match = /(?: to |provision )([\d,]+) (?:read |write )?units/.exec(text);
    if (match) return Number((match[1] ?? '').replaceAll(',', ''));
  }
  return null;
}

// What the server advises for the table that a design was made of.
export type Advised = Pick<Trouble, 'reason' | 'demand' | 'advice'>;

// The outcome with the server's own advice, where it was refused for the same reason: its busiest
// second asked for more than the mean that is played, and one cure has one number on all pages.
export const withAdvice = (outcome: Outcome, advised: readonly Advised[]): Outcome => ({
  ...outcome,
  resources: outcome.resources.map((one) =>
    one.kind !== 'table'
      ? one
      : {
          ...one,
          throttled: one.throttled.map((trouble) => {
            const told = advised.find((each) => each.reason === trouble.reason);
            return told && told.demand >= trouble.demand
              ? { ...trouble, demand: told.demand, advice: told.advice }
              : trouble;
          }),
        },
  ),
});

// The keys of a design as one space: traffic with the same ones asks for the same items.
const spaceOf = (keys: KeyDesign): string => {
  if (keys.kind === 'uniform' || keys.kind === 'zipf') return `${keys.kind} ${keys.count}`;
  if (keys.kind === 'single') return `single ${keys.key}`;
  return keys.kind === 'weighted' ? `weighted ${keys.weights}` : keys.kind;
};

// Whether `hot`, a key as the simulator names it, is one of these.
function holds(keys: KeyDesign, hot: string): boolean {
  const key = Number(keys.suffixes) > 1 ? hot.replace(/\.\d+$/, '') : hot;
  switch (keys.kind) {
    case 'single':
      return keys.key === key;
    case 'date':
      return /^\d{4}-\d\d-\d\d/.test(key);
    case 'weighted':
      return keys.weights.split(',').some((one) => one.trim().replace(/\s+\S+$/, '') === key);
    default:
      return /^key-\d+$/.test(key);
  }
}

// The rows of traffic that ask for the hottest key of the trouble, and those that ask for the same
// items. `index` empty: of the table.
function heating(design: Design, trouble: Trouble, index: string): TrafficDesign[] {
  const access = trouble.reason.includes('Write') ? 'write' : 'read';
  const of = design.traffic.filter((one) => one.index === index);
  const same = of.filter((one) => one.operation === access);
  const hot = trouble.hottest?.[0];
  let heats = hot === undefined ? same : same.filter((one) => holds(one.keys, hot));
  // Evenly used keys are named alike, and are not what is hot.
  if (heats.some((one) => one.keys.kind !== 'uniform'))
    heats = heats.filter((one) => one.keys.kind !== 'uniform');
  const spaces = new Set(heats.map((one) => spaceOf(one.keys)));
  return of.filter((one) => spaces.has(spaceOf(one.keys)));
}

// A change of the design that may cure what throttled.
export interface Cure {
  label: string;
  design: Design;
}

// Spreads the hot key, and nothing else. Readers of it have to know the suffix: a read of all
// suffixes costs as many reads as there are suffixes.
function spread(design: Design, trouble: Trouble): Cure | null {
  const rows = heating(design, trouble, '');
  if (rows.length === 0) return null;
  const [first] = rows as [TrafficDesign];
  // A key that is spread already needs more suffixes than it has.
  const has = Number(first.keys.suffixes);
  const wanted = suffixesFor(trouble);
  const suffixes = String(has > 1 && has >= wanted ? has * 2 : wanted);
  const suffix = rows.some((one) => one.operation === 'read') ? 'computed' : first.keys.suffix;
  const what =
    first.keys.kind === 'single'
      ? first.keys.key
      : rows.length === design.traffic.filter((one) => one.index === '').length
        ? 'each key'
        : `each key of ${first.name}`;
  return {
    label: `Spread ${what} over ${suffixes} ${suffix === 'computed' ? 'computed ' : ''}suffixes, for ${demandOf(trouble)}`,
    design: {
      ...design,
      traffic: design.traffic.map((one) =>
        rows.includes(one) ? { ...one, keys: { ...one.keys, suffixes, suffix } } : one,
      ),
    },
  };
}

export function cures(design: Design, outcome: Outcome): Cure[] {
  const found: Cure[] = [];
  const add = (label: string, changed: Design) => {
    if (!found.some((one) => one.label === label)) found.push({ label, design: changed });
  };
  for (const resource of outcome.resources) {
    for (const trouble of resource.throttled) {
      const i =
        resource.kind === 'index'
          ? design.indexes.findIndex((one) => one.name === resource.name.split('/').at(-1))
          : -1;
      const write = trouble.reason.includes('Write');
      const perPartition = trouble.reason.includes('KeyRange');
      if (!perPartition && design.billing === 'provisioned') {
        const units = String(unitsFor(trouble) ?? Math.ceil(trouble.demand));
        const shown = Number(units).toLocaleString('en-US');
        const kind = write ? 'write' : 'read';
        if (i < 0) add(`${shown} ${kind} units`, { ...design, [kind]: units });
        else
          add(`${shown} ${kind} units for ${design.indexes[i]?.name}`, {
            ...design,
            indexes: design.indexes.map((one, k) => (k === i ? { ...one, [kind]: units } : one)),
          });
        add('On demand', { ...design, billing: 'on-demand' });
      }
      if (!perPartition) continue;
      const suffixes = String(suffixesFor(trouble));
      if (i >= 0)
        add(
          `Spread each key of ${design.indexes[i]?.name} over ${suffixes} suffixes, for ${demandOf(trouble)}`,
          {
            ...design,
            indexes: design.indexes.map((one, k) =>
              k === i ? { ...one, keys: { ...one.keys, suffixes } } : one,
            ),
          },
        );
      else {
        const cure = spread(design, trouble);
        if (cure) add(cure.label, cure.design);
      }
      const strong =
        write || i >= 0 ? [] : heating(design, trouble, '').filter((one) => one.strong);
      if (strong.length > 0)
        add(`Read ${strong[0]?.name} eventually consistent`, {
          ...design,
          traffic: design.traffic.map((one) =>
            strong.includes(one) ? { ...one, strong: false } : one,
          ),
        });
    }
  }
  return [...together(design, outcome), ...found].slice(0, 6);
}

// A table that lacks units for one hot key needs both: without suffixes its partition refuses what
// the units allow, and without the units nothing is gained by suffixes.
function together(design: Design, outcome: Outcome): Cure[] {
  if (design.billing !== 'provisioned') return [];
  const table = outcome.resources.find((one) => one.kind === 'table');
  for (const kind of ['write', 'read'] as const) {
    const of = (limit: string) =>
      table?.throttled.find((one) => accessOf(one.reason) === kind && one.reason.includes(limit));
    const lacks = of('ProvisionedThroughput');
    const hot = of('KeyRange');
    const suffixes = hot && spread(design, hot);
    if (!lacks || !suffixes) continue;
    const units = Math.max(
      unitsFor(lacks) ?? Math.ceil(lacks.demand),
      unitsFor(hot) ?? 0,
      Number(design[kind]) || 0,
    );
    return [
      {
        label: `${units.toLocaleString('en-US')} ${kind} units, and ${suffixes.label[0]?.toLowerCase()}${suffixes.label.slice(1)}`,
        design: { ...suffixes.design, [kind]: String(units) },
      },
    ];
  }
  return [];
}

// A cure that was played; null: it could not be.
export interface Tried extends Cure {
  outcome: Outcome | null;
}

// The cures that help, what serves most first, and of equals what costs least. One that makes it
// worse is none.
export function helpful(now: Outcome, tried: readonly Tried[]): Tried[] {
  const part = (one: Tried) => (one.outcome ? served(one.outcome) : served(now));
  return tried
    .filter((one) => part(one) >= served(now) - 0.0005)
    .sort(
      (a, b) =>
        Math.round(part(b) * 1000) - Math.round(part(a) * 1000) ||
        // What requests cost is not in the outcome: a known price comes before it.
        Number(a.design.billing === 'on-demand') - Number(b.design.billing === 'on-demand') ||
        (a.outcome ? monthOf(a.outcome) : 0) - (b.outcome ? monthOf(b.outcome) : 0),
    );
}

// Both parts of a whole in words that sum up: "13.2%" refused, "86.8%" served. Neither is rounded
// to none or all while it is not.
export function partsOf(outcome: Outcome): { served: string; refused: string } {
  const part = served(outcome);
  if (part >= 1 || part <= 0)
    return { served: part >= 1 ? '100%' : '0%', refused: part >= 1 ? '0%' : '100%' };
  const tenths = Math.min(999, Math.max(1, Math.round(part * 1000)));
  const digits = tenths < 100 || tenths > 900 ? 1 : 0;
  const whole = digits === 1 ? tenths / 10 : Math.round(tenths / 10);
  const text = (n: number) => `${n.toFixed(digits).replace(/\.0$/, '')}%`;
  return { served: text(whole), refused: text(100 - whole) };
}

const kMonthSeconds = 730 * 3600;

export interface Costs {
  // A month of capacity, or of requests; null: prices of requests are not known.
  capacity: number | null;
  // A month of what is stored at the end.
  storage: number;
  // What a month at this rate adds to what is stored, in bytes, and to each month's price.
  growthBytes: number;
  growth: number;
}

const kSizes: Record<string, number> = { B: 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30, TB: 2 ** 40 };

// Bytes of "50GB"; 0 of what is none.
export function bytesOf(size: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(B|KB|MB|GB|TB)$/.exec(size.trim());
  return match ? Number(match[1]) * (kSizes[match[2] as string] ?? 1) : 0;
}

// What the played design costs a month.
export function costsOf(design: Design, outcome: Outcome, prices: Prices): Costs {
  const seconds = Math.max(1, outcome.duration_seconds);
  const sum = (of: (one: OutcomeResource) => number) =>
    outcome.resources.reduce((all, one) => all + of(one), 0);
  const requests = (units: number, price: number | null): number | null =>
    units === 0 ? 0 : price === null ? null : ((units / seconds) * kMonthSeconds * price) / 1e6;
  const bytes = sum((one) => one.bytes ?? 0);
  const tableBytes = sum((one) => (one.kind === 'table' ? (one.bytes ?? 0) : 0));
  const grown = design.traffic.some((one) => one.newItems)
    ? Math.max(0, tableBytes - bytesOf(design.size)) * (bytes / Math.max(1, tableBytes))
    : 0;
  const growthBytes = (grown / seconds) * kMonthSeconds;
  const reads = requests(
    sum((one) => one.consumed_units?.read ?? 0),
    prices.millionReads,
  );
  const writes = requests(
    sum((one) => one.consumed_units?.write ?? 0),
    prices.millionWrites,
  );
  return {
    capacity:
      design.billing === 'provisioned'
        ? sum((one) => one.month?.capacity ?? 0)
        : reads === null || writes === null
          ? null
          : reads + writes,
    storage: (bytes / 2 ** 30) * prices.gigabyte,
    growthBytes,
    growth: (growthBytes / 2 ** 30) * prices.gigabyte,
  };
}

// ---- What a design asks of the program that uses the table.

// A key, or keys, that are written and read with suffixes.
export interface Spread {
  // The one key that is spread, else null.
  key: string | null;
  name: string;
  operation: 'read' | 'write';
  suffixes: number;
  random: boolean;
}

export function spreadsOf(design: Design): Spread[] {
  return design.traffic
    .filter((one) => one.index === '' && Number(one.keys.suffixes) > 1)
    .map((one) => ({
      key: one.keys.kind === 'single' ? one.keys.key : null,
      name: one.name,
      operation: one.operation,
      suffixes: Number(one.keys.suffixes),
      random: one.keys.suffix === 'random',
    }));
}

// Lines of JavaScript that make the keys of such traffic.
export function suffixCode(spread: Spread, attribute: string): string {
  const { key, suffixes } = spread;
  const begin =
    key === null
      ? `\${${/^[A-Za-z_$][\w$]*$/.test(attribute) ? attribute : 'key'}}`
      : key.replace(/[`\\$]/g, '\\$&');
  const name = JSON.stringify(attribute);
  if (!spread.random)
    return `// The number follows from the item, so that a read of it knows the number: id is what\n// tells the item from the others of its key.\nlet sum = 0;\nfor (const c of id) sum = (sum * 31 + c.charCodeAt(0)) % ${suffixes};\nconst key = { ${name}: \`${begin}.\${1 + sum}\` };\n`;
  if (spread.operation === 'write')
    return `const n = 1 + Math.floor(Math.random() * ${suffixes});\nconst key = { ${name}: \`${begin}.\${n}\` };\n`;
  return `// A read asks for all of them.\nconst keys = Array.from({ length: ${suffixes} }, (_, i) => ({ ${name}: \`${begin}.\${i + 1}\` }));\n`;
}

// What the designed capacity does by itself, while the program goes on as it was.
export const capacityAlone = (was: Design, now: Design): Design => ({
  ...was,
  billing: now.billing,
  read: now.read,
  write: now.write,
});

// Whether the design differs from what there was by more than the capacity of the table.
export const asksMore = (was: Design, now: Design): boolean =>
  JSON.stringify([was.traffic, was.indexes]) !== JSON.stringify([now.traffic, now.indexes]);

// Whether the server refused to play the scenario for its length.
export const isTooLong = (error: unknown): boolean =>
  error instanceof Error && error.message.includes('seconds of a processor');

// A shorter time to play; null: there is none.
export function shorter(minutes: string): string | null {
  const now = Number(minutes);
  return now > 1 ? String(Math.max(1, Math.min(30, Math.floor(now / 2)))) : null;
}
