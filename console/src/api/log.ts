// The calls that this page made: the last ones, with what came of them.
import { signal } from '@preact/signals';
import type { Request } from '../model/code/request.ts';
import type { ManagementRequest } from '../model/code/shell.ts';
import { ApiError, isStopped } from './errors.ts';
import type { Send } from './http.ts';

export interface Call {
  id: number;
  at: Date;
  what: string;
  table: string | null;
  background: boolean;
  // The input of the request, from which code is made; null for calls that show none.
  input: { request: Request } | { management: ManagementRequest } | null;
  // null while it is under way.
  ms: number | null;
  status: number;
  error: Error | null;
  requestId: string;
  readUnits: number;
  writeUnits: number;
}

const kKept = 300;

class CallLog {
  // Newest first. Replaced when a call begins or ends.
  readonly calls = signal<readonly Call[]>([]);
  readonly backgroundCalls = signal(0);
  readonly failures = signal(0);
  private next = 1;
  // Failing polls are one entry, not one a second.
  private lastBackgroundFailure = '';

  begin(call: Send): Call {
    return {
      id: this.next++,
      at: new Date(),
      what: call.what,
      table: call.table ?? null,
      background: call.background ?? false,
      input: call.input ?? null,
      ms: null,
      status: 0,
      error: null,
      requestId: '',
      readUnits: 0,
      writeUnits: 0,
    };
  }

  end(
    call: Call,
    ms: number,
    status: number,
    error: Error | null,
    answer: unknown,
    requestId: string,
  ): void {
    Object.assign(call, { ms, status, error, requestId });
    const units = unitsOf(answer, call.what);
    call.readUnits = units.read;
    call.writeUnits = units.write;
    // Before a user has signed in, the page has to ask what it is told there.
    if (call.background && error instanceof ApiError && error.isUnsigned) return;
    // The sample load is made to be throttled; its panel counts that.
    if (call.background && error instanceof ApiError && error.isThrottle) return;
    if (call.background) {
      ++this.backgroundCalls.value;
      const failure = error && !isStopped(error) ? `${call.what}: ${error.message}` : '';
      const isNew = failure !== '' && failure !== this.lastBackgroundFailure;
      this.lastBackgroundFailure = failure;
      if (!isNew) return;
    }
    if (error && !isStopped(error)) ++this.failures.value;
    this.calls.value = [call, ...this.calls.value].slice(0, kKept);
  }

  clear(): void {
    this.calls.value = [];
    this.failures.value = 0;
  }
}

export const log = new CallLog();

interface Consumed {
  CapacityUnits?: number;
  ReadCapacityUnits?: number;
  WriteCapacityUnits?: number;
}

const kWrites = /^(Put|Update|Delete|BatchWrite|TransactWrite)/;

// The units of ConsumedCapacity, one or a list.
export function unitsOf(answer: unknown, operation = ''): { read: number; write: number } {
  const consumed = (answer as { ConsumedCapacity?: Consumed | Consumed[] } | null)
    ?.ConsumedCapacity;
  const all = consumed === undefined ? [] : Array.isArray(consumed) ? consumed : [consumed];
  let read = 0;
  let write = 0;
  for (const one of all) {
    if (one.ReadCapacityUnits !== undefined || one.WriteCapacityUnits !== undefined) {
      read += one.ReadCapacityUnits ?? 0;
      write += one.WriteCapacityUnits ?? 0;
    } else if (kWrites.test(operation)) write += one.CapacityUnits ?? 0;
    else read += one.CapacityUnits ?? 0;
  }
  return { read, write };
}
