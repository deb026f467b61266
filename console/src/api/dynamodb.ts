// DynamoDB's operations, as any client sends them.
import type { Request } from '../model/code/request.ts';
import { access, send } from './http.ts';
import { authorization } from './sign.ts';

export interface CallOptions {
  signal?: AbortSignal | undefined;
  background?: boolean;
  timeoutMs?: number;
}

export interface ReadOptions extends CallOptions {
  // Reads as of this moment, as a text that the server takes.
  asOf?: string | undefined;
}

let region = 'us-east-1';
export const setRegion = (name: string): void => {
  region = name;
};

// Throws ApiError, NoAnswer or Stopped.
export async function dynamodb<T>(
  operation: string,
  input: object,
  { asOf, ...options }: ReadOptions = {},
  service: Request['service'] = 'DynamoDB',
): Promise<T> {
  const target = `${service}_20120810.${operation}`;
  const { json } = await send({
    what: operation,
    service: 'dynamodb',
    table: (input as { TableName?: string }).TableName,
    path: '',
    method: 'POST',
    headers: {
      'Content-Type': 'application/x-amz-json-1.0',
      'X-Amz-Target': target,
      ...(asOf === undefined ? {} : { 'X-Stator-As-Of': asOf }),
      ...(access.sign === null ? authorization(new Date(), region) : {}),
    },
    body: JSON.stringify(input),
    input: { request: { service, operation, input: input as Record<string, unknown>, asOf } },
    ...options,
  });
  return json as T;
}
