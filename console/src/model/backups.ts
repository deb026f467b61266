// Backups of tables and what becomes of them, in the words of the API. Pure.

export interface Backup {
  arn: string;
  name: string;
  table: string;
  status: 'CREATING' | 'AVAILABLE' | 'DELETED';
  // Milliseconds.
  at: number;
  bytes: number | null;
}

export interface BackupSummary {
  TableName: string;
  BackupArn: string;
  BackupName: string;
  BackupStatus: Backup['status'];
  BackupCreationDateTime: number;
  BackupSizeBytes?: number;
}

export const backupOf = (one: BackupSummary): Backup => ({
  arn: one.BackupArn,
  name: one.BackupName,
  table: one.TableName,
  status: one.BackupStatus,
  at: one.BackupCreationDateTime * 1000,
  bytes: one.BackupSizeBytes ?? null,
});

// Newest first.
export const inOrder = (backups: readonly Backup[]): Backup[] =>
  [...backups].sort((a, b) => b.at - a.at || (a.arn < b.arn ? 1 : -1));

export interface IndexInBackup {
  IndexName: string;
  KeySchema: unknown;
  Projection: unknown;
  ProvisionedThroughput?: { ReadCapacityUnits: number; WriteCapacityUnits: number };
}

export interface BackupDescription {
  SourceTableDetails?: {
    TableName: string;
    ItemCount?: number;
    BillingMode?: string;
    ProvisionedThroughput?: { ReadCapacityUnits?: number; WriteCapacityUnits?: number };
  };
  SourceTableFeatureDetails?: {
    GlobalSecondaryIndexes?: IndexInBackup[];
    LocalSecondaryIndexes?: IndexInBackup[];
  };
}

// Says what is wrong with the name of a table or a backup; null: nothing.
export const wrongName = (text: string): string | null =>
  /^[a-zA-Z0-9_.-]{3,255}$/.test(text) ? null : 'From 3 letters, digits and - _ . on';

// "music-2026-11-26-1130": the time is part of the name, so that a list can be read.
export function nameFor(table: string, now: number): string {
  const time = new Date(now).toISOString().slice(0, 16).replace(/[:]/g, '').replace('T', '-');
  return `${table.slice(0, 255 - time.length - 1)}-${time}`;
}

// A name that no table has yet.
export function freeName(table: string, taken: (name: string) => boolean): string {
  const base = `${table.slice(0, 240)}-restored`;
  for (let n = 1; ; ++n) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (!taken(name)) return name;
  }
}

export interface RestoreChoice {
  target: string;
  billing: 'as it was' | 'on demand' | 'provisioned';
  read: number;
  write: number;
  // Names of indexes that the new table is to have.
  indexes: ReadonlySet<string>;
}

// What both ways to restore have in common. Overrides are left out where nothing changes.
export function restoreInput(
  choice: RestoreChoice,
  global: readonly IndexInBackup[],
  local: readonly IndexInBackup[],
): Record<string, unknown> {
  const input: Record<string, unknown> = { TargetTableName: choice.target };
  const units = { ReadCapacityUnits: choice.read, WriteCapacityUnits: choice.write };
  if (choice.billing === 'on demand') input.BillingModeOverride = 'PAY_PER_REQUEST';
  if (choice.billing === 'provisioned') {
    input.BillingModeOverride = 'PROVISIONED';
    input.ProvisionedThroughputOverride = units;
  }
  const kept = (all: readonly IndexInBackup[]) =>
    all.filter((one) => choice.indexes.has(one.IndexName));
  const leavesOut = (all: readonly IndexInBackup[]) => kept(all).length < all.length;
  const plain = ({ IndexName, KeySchema, Projection }: IndexInBackup) => ({
    IndexName,
    KeySchema,
    Projection,
  });
  // A global index that was on demand has no units of its own to be provisioned with.
  if (leavesOut(global) || (choice.billing === 'provisioned' && global.length > 0))
    input.GlobalSecondaryIndexOverride = kept(global).map((one) => ({
      ...plain(one),
      ...(choice.billing === 'provisioned' ? { ProvisionedThroughput: units } : {}),
      ...(choice.billing === 'as it was' && (one.ProvisionedThroughput?.ReadCapacityUnits ?? 0) > 0
        ? {
            ProvisionedThroughput: {
              ReadCapacityUnits: one.ProvisionedThroughput?.ReadCapacityUnits,
              WriteCapacityUnits: one.ProvisionedThroughput?.WriteCapacityUnits,
            },
          }
        : {}),
    }));
  if (leavesOut(local)) input.LocalSecondaryIndexOverride = kept(local).map(plain);
  return input;
}

export interface Continuous {
  on: boolean;
  // Milliseconds; null while it is off, or before the first moment can be restored.
  earliest: number | null;
  latest: number | null;
  days: number | null;
}

export interface ContinuousReply {
  ContinuousBackupsDescription?: {
    ContinuousBackupsStatus?: string;
    PointInTimeRecoveryDescription?: {
      PointInTimeRecoveryStatus?: string;
      EarliestRestorableDateTime?: number;
      LatestRestorableDateTime?: number;
      RecoveryPeriodInDays?: number;
    };
  };
}

export function continuousOf(reply: ContinuousReply): Continuous {
  const told = reply.ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
  const millis = (seconds: number | undefined) => (seconds === undefined ? null : seconds * 1000);
  return {
    on: told?.PointInTimeRecoveryStatus === 'ENABLED',
    earliest: millis(told?.EarliestRestorableDateTime),
    latest: millis(told?.LatestRestorableDateTime),
    days: told?.RecoveryPeriodInDays ?? null,
  };
}

// A UTC time as a field of the form "2026-11-26T11:30:00" has it, and back; null: it is none.
export const fieldOf = (ms: number): string => new Date(ms).toISOString().slice(0, 19);
export function timeOf(field: string): number | null {
  const match = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.test(field);
  const ms = match ? Date.parse(`${field}Z`) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
