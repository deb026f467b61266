// Calls of IAM and STS, in the Query protocol: forms go out, XML comes back.
import { type Element, parseXml } from '../model/xml.ts';
import type { CallOptions } from './dynamodb.ts';
import { send } from './http.ts';
import type { Credentials } from './sign.ts';

const kVersions = { iam: '2010-05-08', sts: '2011-06-15' } as const;

// A value, a list (NAME.member.1, ...) or a list of structures.
export type Parameter =
  | string
  | number
  | boolean
  | undefined
  | readonly string[]
  | readonly Record<string, string | readonly string[]>[];

function append(form: URLSearchParams, name: string, value: Parameter): void {
  if (value === undefined) return;
  if (!Array.isArray(value)) {
    form.append(name, String(value));
    return;
  }
  value.forEach((one: string | Record<string, string | readonly string[]>, i: number) => {
    const at = `${name}.member.${i + 1}`;
    if (typeof one === 'string') form.append(at, one);
    else for (const [field, inner] of Object.entries(one)) append(form, `${at}.${field}`, inner);
  });
}

export interface IamOptions extends CallOptions {
  // Signs with these and not with the session.
  credentials?: Credentials;
}

// Returns the element NAMEResult, or undefined for calls that answer nothing. Throws ApiError,
// NoAnswer or Stopped.
export async function iam(
  action: string,
  parameters: Record<string, Parameter> = {},
  options: IamOptions = {},
  service: 'iam' | 'sts' = 'iam',
): Promise<Element | undefined> {
  const form = new URLSearchParams({ Action: action, Version: kVersions[service] });
  for (const [name, value] of Object.entries(parameters)) append(form, name, value);
  const { text } = await send({
    what: action,
    service,
    path: '',
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: form.toString(),
    ...options,
  });
  return parseXml(text).children.find((one) => one.name === `${action}Result`);
}

export const sts = (
  action: string,
  parameters: Record<string, Parameter> = {},
  options: IamOptions = {},
): Promise<Element | undefined> => iam(action, parameters, options, 'sts');
