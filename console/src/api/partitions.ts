// GET /_stator/tables/NAME/partitions: docs/throughput.md.
import { management } from './management.ts';

export interface Rates {
  read: number;
  write: number;
}

export interface HotKey {
  partitionKey: string;
  share: number;
}

export interface Partition {
  id: number;
  parent: number | null;
  from: { hash: string; sortKey?: unknown };
  to: { hash: string; sortKey?: unknown } | null;
  bytes: number;
  items: number;
  share: Rates | null;
  consumed: Rates;
  refused: Rates;
  perSecond: Rates;
  heat: number;
  hottest: HotKey[];
  notSplit?: string | null;
}

export interface Refused {
  reason: string;
  requests: number;
  units: number;
  partition: number;
  limit: number;
  // Units a second in the worst second of a day.
  demand: number;
  // Units a second in the last seconds; an older server does not tell it.
  asked?: number;
  // When it refused most; null: too long ago to be known.
  at: string | null;
  // null: too long ago.
  why: string | null;
  advice: string[];
}

export interface PartitionedResource {
  type: 'table' | 'index';
  name: string;
  provisioned: Rates | null;
  warm: Rates;
  // Units left in the bucket of the resource itself; null: it has no bucket.
  tokens: { read: number | null; write: number | null };
  consumed: Rates;
  letPass: Rates;
  refused: Refused[];
  hottest: HotKey[];
  partitions: Partition[];
  splits: { at: string; reason: string; parent: number; left: number; right: number }[];
}

export interface PartitionReport {
  table: string;
  now: string;
  billingMode: 'PROVISIONED' | 'PAY_PER_REQUEST';
  throttling: 'observe' | 'enforce' | 'off';
  resources: PartitionedResource[];
}

export const partitionsOf = (table: string, signal?: AbortSignal): Promise<PartitionReport> =>
  management<PartitionReport>(`tables/${encodeURIComponent(table)}/partitions`, {
    table,
    signal,
    background: true,
  });
