// Signatures: Signature Version 4 on WebCrypto, and the headers that only look signed.

export const kConsoleKey = 'console';

// What a request is signed with. The secret is in a key that no script can read.
export interface Credentials {
  keyId: string;
  key: CryptoKey;
  // The session token of temporary credentials.
  token: string | null;
}

export interface ToSign {
  method: string;
  // As sent, encoded: /_stator/heat?last=1h.
  target: string;
  host: string;
  headers: Record<string, string>;
  body: string;
}

const kAlgorithm = { name: 'HMAC', hash: 'SHA-256' } as const;
const utf8 = (text: string) => new TextEncoder().encode(text);

const hex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');

const importKey = (bytes: BufferSource): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', bytes, kAlgorithm, false, ['sign']);

const hmac = (key: CryptoKey, text: string): Promise<ArrayBuffer> =>
  crypto.subtle.sign(kAlgorithm, key, utf8(text));

// Makes the key of a secret. It cannot be extracted.
export const secretKey = (secret: string): Promise<CryptoKey> => importKey(utf8(`AWS4${secret}`));

const stampOf = (now: Date): string => now.toISOString().replace(/[-:]|\.\d+/g, '');

// Returns the headers that make the request look signed: a server without access control verifies
// no signature. The access key id says that the console sent it.
export function authorization(now: Date, region: string): Record<string, string> {
  const stamp = stampOf(now);
  const scope = `${stamp.slice(0, 8)}/${region}/dynamodb/aws4_request`;
  return {
    'X-Amz-Date': stamp,
    Authorization:
      `AWS4-HMAC-SHA256 Credential=${kConsoleKey}/${scope}, ` +
      `SignedHeaders=host;x-amz-date;x-amz-target, Signature=${'0'.repeat(64)}`,
  };
}

const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );

function canonicalQuery(query: string): string {
  const pairs = [...new URLSearchParams(query)].map(
    ([name, value]) => [encode(name), encode(value)] as const,
  );
  pairs.sort(([a, b], [c, d]) => (a === c ? (b < d ? -1 : 1) : a < c ? -1 : 1));
  return pairs.map((pair) => pair.join('=')).join('&');
}

// Keys of a day, Region and service, made once each.
const derived = new WeakMap<CryptoKey, Map<string, Promise<CryptoKey>>>();

function signingKey(secret: CryptoKey, scope: string): Promise<CryptoKey> {
  const made = derived.get(secret) ?? new Map<string, Promise<CryptoKey>>();
  derived.set(secret, made);
  let key = made.get(scope);
  if (!key) {
    key = scope
      .split('/')
      .reduce(
        (before, part) => before.then((one) => hmac(one, part)).then(importKey),
        Promise.resolve(secret),
      );
    made.set(scope, key);
  }
  return key;
}

// Returns the headers that sign the request.
export async function signature(
  request: ToSign,
  credentials: Credentials,
  service: string,
  region: string,
  now: Date,
): Promise<Record<string, string>> {
  const stamp = stampOf(now);
  const added: Record<string, string> = { 'X-Amz-Date': stamp };
  if (credentials.token !== null) added['X-Amz-Security-Token'] = credentials.token;
  const headers = Object.entries({ ...request.headers, ...added, host: request.host })
    .map(([name, value]) => [name.toLowerCase(), value.trim().replace(/ +/g, ' ')] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const names = headers.map(([name]) => name).join(';');
  const [path = '/', query = ''] = request.target.split('?', 2);
  const canonical = [
    request.method,
    path.split('/').map(encode).join('/'),
    canonicalQuery(query),
    ...headers.map((header) => header.join(':')),
    '',
    names,
    hex(await crypto.subtle.digest('SHA-256', utf8(request.body))),
  ].join('\n');
  const scope = `${stamp.slice(0, 8)}/${region}/${service}/aws4_request`;
  const text = [
    'AWS4-HMAC-SHA256',
    stamp,
    scope,
    hex(await crypto.subtle.digest('SHA-256', utf8(canonical))),
  ].join('\n');
  const made = hex(await hmac(await signingKey(credentials.key, scope), text));
  added.Authorization =
    `AWS4-HMAC-SHA256 Credential=${credentials.keyId}/${scope}, ` +
    `SignedHeaders=${names}, Signature=${made}`;
  return added;
}
