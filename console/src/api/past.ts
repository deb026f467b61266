// The calls about the past of a table: docs/past.md.
import type { ChangesPage, Range, UndoPage } from '../model/past.ts';
import type { Item } from '../model/value.ts';
import { ApiError } from './errors.ts';
import { management } from './management.ts';

const call = <T>(table: string, what: string, body: object, signal?: AbortSignal): Promise<T> =>
  management<T>(`tables/${encodeURIComponent(table)}/past/${what}`, {
    method: 'POST',
    body,
    table,
    signal,
  });

export const historyOf = (
  table: string,
  key: Item,
  range: Range,
  signal?: AbortSignal,
): Promise<ChangesPage> => call(table, 'history', { key, ...range }, signal);

export const differenceOf = (
  table: string,
  range: Range,
  signal?: AbortSignal,
): Promise<ChangesPage> => call(table, 'difference', range, signal);

export const undo = (
  table: string,
  range: Range & { apply: boolean },
  signal?: AbortSignal,
): Promise<UndoPage> => call(table, 'undo', range, signal);

// Whether the past of the table is not kept: recovery is off, or the store has none.
export const isNotKept = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.type === 'PointInTimeRecoveryUnavailableException' ||
    /Point in time recovery is not enabled|has no point-in-time recovery/.test(error.message));

// Whether the moment is outside of what is kept.
export const isOutside = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.type === 'InvalidRestoreTimeException' ||
    /must be within EarliestRestorableDateTime/.test(error.message));
