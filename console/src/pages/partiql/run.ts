// Runs statements: one by one, as a batch, or as a transaction.
import { dynamodb } from '../../api/dynamodb.ts';
import { ApiError } from '../../api/errors.ts';
import { unitsOf } from '../../api/log.ts';
import type { Request } from '../../model/code/request.ts';
import type { AttributeValue, Item } from '../../model/value.ts';

export type Mode = 'single' | 'batch' | 'transaction';

export interface Outcome {
  statement: string;
  items: Item[];
  // More of a SELECT can be read with it.
  next: string | null;
  read: number;
  write: number;
  ms: number;
  error: unknown;
}

export interface Wanted {
  statements: string[];
  // A list for each of `statements`.
  parameters: AttributeValue[][];
  consistent: boolean;
}

const kLimit = 200;

const one = (wanted: Wanted, i: number): Record<string, unknown> => {
  const parameters = wanted.parameters[i] ?? [];
  return {
    Statement: wanted.statements[i],
    ...(parameters.length > 0 ? { Parameters: parameters } : {}),
    ...(wanted.consistent ? { ConsistentRead: true } : {}),
  };
};

// The requests that a run sends.
export function requestsOf(wanted: Wanted, mode: Mode): Request[] {
  const all = wanted.statements.map((_, i) => one(wanted, i));
  const request = (operation: string, input: Record<string, unknown>): Request => ({
    service: 'DynamoDB',
    operation,
    input: { ...input, ReturnConsumedCapacity: 'TOTAL' },
  });
  if (mode === 'batch') return [request('BatchExecuteStatement', { Statements: all })];
  if (mode === 'transaction') {
    const plain = all.map(({ ConsistentRead, ...rest }) => rest);
    return [request('ExecuteTransaction', { TransactStatements: plain })];
  }
  return all.map((input) => request('ExecuteStatement', { ...input, Limit: kLimit }));
}

interface Reply {
  Items?: Item[];
  NextToken?: string;
  Responses?: { Item?: Item; Error?: { Code?: string; Message?: string } }[];
}

// Calls `report` after each statement; stops at the first that fails.
export async function run(
  wanted: Wanted,
  mode: Mode,
  signal: AbortSignal,
  report: (outcome: Outcome) => void,
): Promise<void> {
  const requests = requestsOf(wanted, mode);
  for (const [i, request] of requests.entries()) {
    const started = performance.now();
    const outcome: Outcome = {
      statement: mode === 'single' ? (wanted.statements[i] ?? '') : wanted.statements.join(';\n'),
      items: [],
      next: null,
      read: 0,
      write: 0,
      ms: 0,
      error: null,
    };
    try {
      const reply = await dynamodb<Reply>(request.operation, request.input, { signal });
      take(outcome, reply);
    } catch (error) {
      outcome.error = error;
    }
    outcome.ms = performance.now() - started;
    report(outcome);
    if (outcome.error !== null) return;
  }
}

function take(outcome: Outcome, reply: Reply): void {
  outcome.items = [
    ...(reply.Items ?? []),
    ...(reply.Responses ?? []).flatMap((each) => (each.Item ? [each.Item] : [])),
  ];
  outcome.next = reply.NextToken ?? null;
  const isWrite = /^\s*(insert|update|delete)\b/i.test(outcome.statement);
  const units = unitsOf(reply, isWrite ? 'UpdateItem' : 'Query');
  outcome.read = units.read;
  outcome.write = units.write;
  const failed = (reply.Responses ?? []).flatMap((each, i) =>
    each.Error ? [`Statement ${i + 1}: ${each.Error.Code}: ${each.Error.Message}`] : [],
  );
  // Some of a batch may fail while others were carried out.
  if (failed.length > 0)
    outcome.error = new ApiError('Some statements failed', failed.join('\n'), 200, '', {});
}

// Reads the next rows of a SELECT.
export async function more(outcome: Outcome, request: Request): Promise<Outcome> {
  const reply = await dynamodb<Reply>(request.operation, {
    ...request.input,
    NextToken: outcome.next ?? undefined,
  });
  const units = unitsOf(reply, 'Query');
  return {
    ...outcome,
    items: [...outcome.items, ...(reply.Items ?? [])],
    next: reply.NextToken ?? null,
    read: outcome.read + units.read,
  };
}
