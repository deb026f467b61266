// The calls about backups.
import {
  type Backup,
  type BackupDescription,
  type BackupSummary,
  backupOf,
  type Continuous,
  type ContinuousReply,
  continuousOf,
  inOrder,
} from '../model/backups.ts';
import { dynamodb } from './dynamodb.ts';
import { ApiError } from './errors.ts';

const kMostListed = 1000;

// Lists the backups of one table, or of all tables: the newest first, a thousand at most.
export async function listBackups(table?: string, signal?: AbortSignal): Promise<Backup[]> {
  const found: Backup[] = [];
  let start: string | undefined;
  do {
    const page: { BackupSummaries?: BackupSummary[]; LastEvaluatedBackupArn?: string } =
      await dynamodb(
        'ListBackups',
        { TableName: table, ExclusiveStartBackupArn: start },
        { signal, background: true },
      );
    found.push(...(page.BackupSummaries ?? []).map(backupOf));
    start = page.LastEvaluatedBackupArn;
  } while (start && found.length < kMostListed);
  return inOrder(found);
}

export async function describeBackup(arn: string): Promise<BackupDescription> {
  const { BackupDescription: told } = await dynamodb<{ BackupDescription: BackupDescription }>(
    'DescribeBackup',
    { BackupArn: arn },
    { background: true },
  );
  return told;
}

export async function continuousBackups(table: string, signal?: AbortSignal): Promise<Continuous> {
  return continuousOf(
    await dynamodb<ContinuousReply>(
      'DescribeContinuousBackups',
      { TableName: table },
      { signal, background: true },
    ),
  );
}

// Switches recovery to a moment on or off, and returns what is so then.
export async function setContinuous(table: string, on: boolean): Promise<Continuous> {
  await dynamodb('UpdateContinuousBackups', {
    TableName: table,
    PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: on },
  });
  return await continuousBackups(table);
}

// Whether the server makes no backups at all: a pool does not, and says so by name.
export const isUnsupported = (error: unknown): error is ApiError =>
  error instanceof ApiError &&
  (/ is not supported /.test(error.message) || error.type === 'UnknownOperationException');
