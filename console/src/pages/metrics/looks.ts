// Looks at /metrics every two seconds, from the first visit of the page on, and keeps ten minutes of
// rates: Prometheus is there for longer.
import { signal } from '@preact/signals';
import { isStopped } from '../../api/errors.ts';
import { send } from '../../api/http.ts';
import { poll } from '../../app/live.ts';
import {
  type Dimension,
  parseMetrics,
  type Rate,
  rateBetween,
  type Sample,
  type Totals,
  totalsBy,
} from '../../model/metrics.ts';

export interface Look {
  at: number;
  rates: Record<Dimension, Map<string, Rate>>;
}

const kLooks = 300;
const kDimensions: readonly Dimension[] = ['operation', 'table'];

export const looks = signal<readonly Look[]>([]);
export const samples = signal<readonly Sample[]>([]);
export const failure = signal<unknown>(null);

let before: { at: number; totals: Record<Dimension, Map<string, Totals>> } | null = null;
let started = false;

export function startLooking(): void {
  if (started) return;
  started = true;
  poll(
    async (abort) => {
      try {
        const { text } = await send({
          what: 'GET metrics',
          service: 'stator',
          path: 'metrics',
          method: 'GET',
          headers: {},
          signal: abort,
          background: true,
        });
        take(parseMetrics(text));
        failure.value = null;
      } catch (error) {
        if (!isStopped(error)) failure.value = error;
        throw error;
      }
    },
    () => 2000,
  );
}

function take(now: Sample[]): void {
  const at = performance.now();
  const totals = {
    operation: totalsBy(now, 'operation'),
    table: totalsBy(now, 'table'),
  };
  if (before !== null) {
    const was = before;
    const seconds = Math.max(0.1, (at - was.at) / 1000);
    const rates = { operation: new Map<string, Rate>(), table: new Map<string, Rate>() };
    for (const dimension of kDimensions)
      for (const [key, one] of totals[dimension])
        rates[dimension].set(key, rateBetween(was.totals[dimension].get(key), one, seconds));
    looks.value = [...looks.peek().slice(1 - kLooks), { at, rates }];
  }
  before = { at, totals };
  samples.value = now;
}
