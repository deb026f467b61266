// What the page knows of the server: `boot` once, `pulse` again and again.
import { batch, computed, signal } from '@preact/signals';
import { setRegion } from '../api/dynamodb.ts';
import { ApiError, NoAnswer, Stopped, tell } from '../api/errors.ts';
import { isMissing, management } from '../api/management.ts';
import { lookNow, poll } from './live.ts';
import { session, signInBecause } from './session.ts';

export interface Rates {
  read: number;
  write: number;
}

export interface Boot {
  version: string;
  engine: string;
  durability: string | null;
  region: string;
  account: string;
  accessControl: boolean;
  loopback: boolean;
  clock: { clock: 'system' | 'manual'; now: string };
  throttling: 'observe' | 'enforce' | 'off';
  title: string | null;
  colour: string | null;
  production: boolean;
  readOnly: boolean;
  features: string[];
  prices: Record<string, number> | null;
  // Units per second that one partition can do.
  partition: Rates;
}

export interface HotSpot {
  index: string | null;
  // Its id, as in all that is told of partitions; an older server does not tell it.
  partition?: number | null;
  number: number | null;
  from: string;
  to: string | null;
  heat: number;
  key: string | null;
  keyShare: number | null;
  notSplit: string | null;
}

export interface TableRow {
  name: string;
  status: string;
  billing: 'PROVISIONED' | 'PAY_PER_REQUEST';
  provisioned: Rates | null;
  throttling: 'observe' | 'enforce' | 'off';
  items: number;
  bytes: number;
  partitions: number;
  globalIndexes: number;
  localIndexes: number;
  stream: string | null;
  ttl: string | null;
  protected: boolean;
  created: number;
  consumed: Rates;
  refused: Rates;
  // The largest part of provisioned capacity that is asked for; null on demand.
  use: number | null;
  hottest: HotSpot | null;
  // Where each partition begins in the hash space (0 to 1), and its heat; null: too many.
  strip: [number, number][] | null;
}

export interface ServerPulse {
  now: string;
  clock: 'system' | 'manual';
  uptimeSeconds: number;
  ready: boolean;
  notReady: string | null;
  writable: boolean;
  faults: number;
  requests: {
    perSecond: number;
    userErrors: number;
    systemErrors: number;
    throttled: number;
    p50: number | null;
    p99: number | null;
  };
}

export interface PulseReply extends ServerPulse {
  seq: number;
  whole: boolean;
  events: number;
  tables: TableRow[];
  dropped: string[];
}

export const boot = signal<Boot | null>(null);
export const pulse = signal<ServerPulse | null>(null);
export const tables = signal<ReadonlyMap<string, TableRow>>(new Map());
export const eventSeq = signal(0);
// Why the server cannot be asked, or null.
export const away = signal<string | null>(null);
// What the user may not do, so that only names and sizes of tables are known; null: everything is.
export const limited = signal<string | null>(null);
// The server is an older one, without the calls of the console.
export const tooOld = signal(false);

// The last looks, for sparklines; newest last.
export interface Moment {
  at: number;
  server: ServerPulse;
  consumed: Rates;
  refused: Rates;
}
const kMoments = 120;
export const moments = signal<readonly Moment[]>([]);
// Units that each table consumed per second at those moments.
export const tableMoments = new Map<string, number[]>();

export const has = (feature: string): boolean => boot.value?.features.includes(feature) ?? false;
export const tableNames = computed(() => [...tables.value.keys()].sort());

// The server's time now: it moves on between looks unless the clock is manual.
let nowReceived = 0;
export function serverNow(): number {
  const known = pulse.peek();
  if (!known) return Date.now();
  const at = Date.parse(known.now);
  return known.clock === 'manual' ? at : at + (performance.now() - nowReceived);
}

let seq = 0;

async function lookAtPulse(abort: AbortSignal): Promise<void> {
  // Until a user has signed in every answer is the same.
  if (signInBecause.peek() !== null && (boot.peek()?.accessControl ?? true)) throw new Stopped();
  try {
    if (boot.peek() === null) await loadBoot();
    if (limited.peek() !== null) return await lookAsGuest(abort);
    const reply = await management<PulseReply>(`pulse?since=${seq}`, {
      signal: abort,
      background: true,
      timeoutMs: 15_000,
    });
    batch(() => take(reply));
  } catch (error) {
    if (error instanceof NoAnswer) {
      away.value = error.reason;
      seq = 0;
    } else if (isMissing(error)) tooOld.value = true;
    else if (error instanceof ApiError && error.isUnsigned) seq = 0;
    else if (error instanceof ApiError && error.isDenied) {
      limited.value = error.message;
      return await lookAsGuest(abort);
    } else away.value = tell(error).message;
    throw error;
  }
}

async function lookAsGuest(abort: AbortSignal): Promise<void> {
  const { guestPulse } = await import('./guest.ts');
  const reply = await guestPulse(abort);
  batch(() => take(reply));
}

async function loadBoot(): Promise<void> {
  let reply: Boot;
  try {
    reply = await management<Boot>('console/boot', { background: true, timeoutMs: 15_000 });
  } catch (error) {
    if (!(error instanceof ApiError) || !error.isDenied) throw error;
    limited.value = error.message;
    reply = (await import('./guest.ts')).guestBoot(session.peek()?.region ?? 'us-east-1');
  }
  setRegion(reply.region);
  boot.value = reply;
}

function take(reply: PulseReply): void {
  const next = new Map(reply.whole ? [] : tables.peek());
  for (const row of reply.tables) next.set(row.name, row);
  for (const name of reply.dropped) next.delete(name);
  if (reply.whole || reply.tables.length > 0 || reply.dropped.length > 0) tables.value = next;
  seq = reply.seq;
  nowReceived = performance.now();
  eventSeq.value = reply.events;
  pulse.value = reply;
  away.value = null;
  tooOld.value = false;
  const sum = (kind: 'consumed' | 'refused') => {
    const all = { read: 0, write: 0 };
    for (const row of next.values()) {
      all.read += row[kind].read;
      all.write += row[kind].write;
    }
    return all;
  };
  moments.value = [
    ...moments.peek().slice(1 - kMoments),
    { at: performance.now(), server: reply, consumed: sum('consumed'), refused: sum('refused') },
  ];
  for (const row of next.values()) {
    const series = tableMoments.get(row.name) ?? [];
    series.push(row.consumed.read + row.consumed.write);
    if (series.length > 60) series.shift();
    tableMoments.set(row.name, series);
  }
}

// Pages that show what changes by the second ask for it by the second.
const watchers = signal(0);
export function watchClosely(): () => void {
  ++watchers.value;
  return () => {
    --watchers.value;
  };
}

export function startState(): void {
  poll(lookAtPulse, () =>
    away.peek() !== null
      ? 2000
      : limited.peek() !== null
        ? 15_000
        : watchers.peek() > 0
          ? 1000
          : 5000,
  );
}

// After an action that changes tables: everything is asked for again, and the promise is kept when
// it is there.
export async function refresh(): Promise<void> {
  await lookAtPulse(new AbortController().signal).catch(() => {});
  lookNow();
}
