// Stator's own calls, under /_stator/. docs/console-calls.md has those of the console,
// docs/throughput.md and docs/faults.md the others.

import type { CallOptions } from './dynamodb.ts';
import { ApiError } from './errors.ts';
import { send } from './http.ts';

export interface ManagementOptions extends CallOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  body?: unknown;
  table?: string;
  accept?: string;
}

// `path` is below /_stator/. Throws ApiError, NoAnswer or Stopped.
export async function management<T>(path: string, options: ManagementOptions = {}): Promise<T> {
  return (await raw(path, options)).json as T;
}

// The body as text, for pictures.
export async function managementText(
  path: string,
  options: ManagementOptions = {},
): Promise<string> {
  return (await raw(path, options)).text;
}

async function raw(path: string, options: ManagementOptions) {
  const { method = 'GET', body, table, accept, ...rest } = options;
  const headers: Record<string, string> = { 'X-Stator-Management': 'true' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (accept !== undefined) headers.Accept = accept;
  return send({
    service: 'stator',
    what: `${method} ${path.replace(/\?.*$/, '')}`,
    table,
    path: `_stator/${path}`,
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    input: {
      management: { method, path: `_stator/${path}`, ...(body === undefined ? {} : { body }) },
    },
    ...rest,
  });
}

// Whether the server does not have the call: it is older than the page.
export const isMissing = (error: unknown): boolean =>
  error instanceof ApiError &&
  (error.status === 501 ||
    (error.status === 404 && error.message === 'There is no such management call'));

// `a=1&b=2`, without what is undefined.
export function query(parameters: Record<string, string | number | undefined>): string {
  const parts = Object.entries(parameters)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}
