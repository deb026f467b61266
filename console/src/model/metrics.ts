// The text of GET /metrics (Prometheus), and rates and latencies between two looks at it. Pure.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

// Samples of a text; comments and lines that are none are left out.
export function parseMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!found) continue;
    const [, name = '', labels = '', number = ''] = found;
    const value = number === '+Inf' ? Number.POSITIVE_INFINITY : Number(number);
    if (Number.isNaN(value)) continue;
    samples.push({ name, labels: parseLabels(labels), value });
  }
  return samples;
}

function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g))
    labels[name] = value.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char));
  return labels;
}

export type Dimension = 'operation' | 'table';

// Counts since the server began.
export interface Totals {
  served: number;
  userErrors: number;
  systemErrors: number;
  throttled: number;
  // Served requests by their latency: at most the bound, in seconds.
  buckets: Map<number, number>;
}

const noTotals = (): Totals => ({
  served: 0,
  userErrors: 0,
  systemErrors: 0,
  throttled: 0,
  buckets: new Map(),
});

const kLatency = 'stator_successful_request_latency_seconds';
// CloudWatch leaves these out of UserErrors.
const kNoUserErrors =
  /^(ConditionalCheckFailed|TransactionCanceled|ProvisionedThroughputExceeded|Throttling|RequestLimitExceeded)/;

// By operation or by table.
export function totalsBy(samples: readonly Sample[], dimension: Dimension): Map<string, Totals> {
  const found = new Map<string, Totals>();
  const of = (sample: Sample): Totals => {
    const key = sample.labels[dimension] ?? '';
    const totals = found.get(key) ?? noTotals();
    found.set(key, totals);
    return totals;
  };
  for (const sample of samples) {
    const { name, labels, value } = sample;
    if (name === `${kLatency}_count`) of(sample).served += value;
    else if (name === `${kLatency}_bucket`) {
      const bound = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le);
      const { buckets } = of(sample);
      buckets.set(bound, (buckets.get(bound) ?? 0) + value);
    } else if (name === 'stator_user_errors_total') {
      if (!kNoUserErrors.test(labels.error ?? '')) of(sample).userErrors += value;
    } else if (name === 'stator_system_errors_total') of(sample).systemErrors += value;
    else if (name === 'stator_throttled_requests_total') of(sample).throttled += value;
  }
  return found;
}

// What came between two looks, a second.
export interface Rate {
  served: number;
  errors: number;
  throttled: number;
  // Seconds; null: nothing was served.
  p50: number | null;
  p99: number | null;
}

export function rateBetween(before: Totals | undefined, now: Totals, seconds: number): Rate {
  const was = before ?? noTotals();
  // A server that began again counts from 0.
  const more = (a: number, b: number) => (b >= a ? b - a : b) / seconds;
  const buckets = [...now.buckets]
    .map(([bound, count]): [number, number] => [bound, count - (was.buckets.get(bound) ?? 0)])
    .sort(([a], [b]) => a - b);
  return {
    served: more(was.served, now.served),
    errors: more(was.userErrors + was.systemErrors, now.userErrors + now.systemErrors),
    throttled: more(was.throttled, now.throttled),
    p50: quantile(buckets, 0.5),
    p99: quantile(buckets, 0.99),
  };
}

// The value below which that part lies, within its bucket in proportion; the last finite bound for
// what is beyond it. `buckets` are cumulative.
export function quantile(
  buckets: readonly (readonly [number, number])[],
  part: number,
): number | null {
  const all = buckets.at(-1)?.[1] ?? 0;
  if (!(all > 0)) return null;
  const wanted = all * part;
  let [lowBound, lowCount] = [0, 0];
  for (const [bound, count] of buckets) {
    if (count >= wanted) {
      if (!Number.isFinite(bound)) return lowBound;
      return (
        lowBound + ((bound - lowBound) * (wanted - lowCount)) / Math.max(1e-9, count - lowCount)
      );
    }
    [lowBound, lowCount] = [bound, count];
  }
  return lowBound;
}

export interface ErrorCount {
  error: string;
  kind: 'user' | 'system';
  count: number;
}

export function errorsOf(samples: readonly Sample[]): ErrorCount[] {
  const found = new Map<string, ErrorCount>();
  for (const { name, labels, value } of samples) {
    const kind =
      name === 'stator_user_errors_total'
        ? 'user'
        : name === 'stator_system_errors_total'
          ? 'system'
          : null;
    if (kind === null || value === 0) continue;
    const id = `${kind} ${labels.error}`;
    const one = found.get(id) ?? { error: labels.error ?? '', kind, count: 0 };
    one.count += value;
    found.set(id, one);
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

export const gaugeOf = (samples: readonly Sample[], name: string): number | null =>
  samples.find((one) => one.name === name)?.value ?? null;
