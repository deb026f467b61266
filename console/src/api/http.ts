// One place that sends requests, so that all of them are in the log of calls.
import { unescapeXml } from '../model/xml.ts';
import { ApiError, NoAnswer, Stopped } from './errors.ts';
import { type Call, log } from './log.ts';
import type { Credentials } from './sign.ts';

// Where the server is, seen from the page: one level above it, whatever prefix a proxy puts there.
export const kBase = new URL('../', new URL('.', document.baseURI)).href;

export type Service = 'dynamodb' | 'stator' | 'iam' | 'sts';

export interface Send {
  what: string;
  // What a signature names.
  service: Service;
  // Signs with these and not with the session.
  credentials?: Credentials | undefined;
  table?: string | undefined;
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string | undefined;
  signal?: AbortSignal | undefined;
  // Sent by the page itself, again and again; shown in the log only on request.
  background?: boolean | undefined;
  timeoutMs?: number | undefined;
  // What the log keeps, to show and to make code of.
  input?: Call['input'];
}

export interface Answer {
  json: unknown;
  text: string;
  headers: Headers;
}

const kTimeoutMs = 60_000;

// Access control, which the session sets: returns the headers that sign a call, and hears of
// answers that say that it was not signed well.
export const access: {
  sign: ((call: Send) => Promise<Record<string, string>>) | null;
  refused: (error: ApiError) => void;
} = { sign: null, refused: () => {} };

// Throws ApiError, NoAnswer or Stopped.
export async function send(call: Send): Promise<Answer> {
  const started = performance.now();
  const entry = log.begin(call);
  const timeout = AbortSignal.timeout(call.timeoutMs ?? kTimeoutMs);
  const signal = call.signal ? AbortSignal.any([call.signal, timeout]) : timeout;
  try {
    const init: RequestInit = {
      method: call.method,
      headers: access.sign ? { ...call.headers, ...(await access.sign(call)) } : call.headers,
      signal,
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    };
    if (call.body !== undefined) init.body = call.body;
    const reply = await fetch(kBase + call.path, init);
    const text = await reply.text();
    const json = parse(text);
    const requestId = reply.headers.get('x-amzn-RequestId') ?? '';
    if (!reply.ok) throw errorOf(reply, json, text, requestId);
    log.end(entry, performance.now() - started, reply.status, null, json, requestId);
    return { json, text, headers: reply.headers };
  } catch (error) {
    const told = translate(error, call.signal, timeout);
    const status = told instanceof ApiError ? told.status : 0;
    const id = told instanceof ApiError ? told.requestId : '';
    log.end(entry, performance.now() - started, status, told, null, id);
    if (told instanceof ApiError && told.isUnsigned && !call.credentials) access.refused(told);
    throw told;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function errorOf(reply: Response, json: unknown, text: string, requestId: string): ApiError {
  if (text.startsWith('<ErrorResponse')) return errorOfXml(text, reply.status);
  const body = (typeof json === 'object' && json !== null ? json : {}) as Record<string, unknown>;
  const type = String(body.__type ?? `HTTP ${reply.status}`).replace(/^.*#/, '');
  const message = String(body.message ?? body.Message ?? (text.trim() || reply.statusText));
  return new ApiError(type, message, reply.status, requestId, body);
}

// An error of IAM or STS.
function errorOfXml(text: string, status: number): ApiError {
  const part = (name: string) =>
    unescapeXml(new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? '');
  return new ApiError(part('Code'), part('Message'), status, part('RequestId'), {});
}

function translate(error: unknown, asked: AbortSignal | undefined, timeout: AbortSignal): Error {
  if (error instanceof ApiError) return error;
  if (asked?.aborted) return new Stopped();
  if (timeout.aborted) return new NoAnswer('it took too long');
  return new NoAnswer('the connection failed');
}
