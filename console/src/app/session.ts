// The signed-in user, on a server with access control. The secret becomes a key that no script can
// read. Calls are signed with temporary credentials of STS, where the server can make them. They are
// kept for this origin, so that a reload does not end them.
import { signal } from '@preact/signals';
import { setRegion } from '../api/dynamodb.ts';
import { ApiError, tell } from '../api/errors.ts';
import { access, kBase, type Send } from '../api/http.ts';
import { type Credentials, secretKey, signature } from '../api/sign.ts';
import { lookNow } from './live.ts';

export interface Session extends Credentials {
  // arn:aws:iam::000000000000:user/alice
  arn: string;
  region: string;
  // In milliseconds since 1970, by the server's clock; null: it does not end by itself.
  expires: number | null;
}

export const session = signal<Session | null>(null);
// The reason for which the user has to sign in; null: there is none.
export const signInBecause = signal<string | null>(null);

const kFlag = 'stator.signedIn';
const kSeen = 'stator.seen';
const kIdleMs = 30 * 60_000;

// Server's time of day less that of this machine: a signature is refused after five minutes.
let ahead = 0;
const signTime = () => new Date(Date.now() + ahead);

export const hasCrypto = (): boolean => globalThis.crypto?.subtle !== undefined;

function sign(call: Send): Promise<Record<string, string>> {
  const by = call.credentials ?? session.peek();
  if (!by) return Promise.resolve({});
  return signature(
    {
      method: call.method,
      target: `/${call.path}`,
      host: new URL(kBase).host,
      headers: call.headers,
      body: call.body ?? '',
    },
    by,
    call.service,
    region,
    signTime(),
  );
}

let region = 'us-east-1';

// Learns the Region, which signatures name, and the time of a server that answers nothing else yet.
async function meetServer(): Promise<void> {
  const reply = await fetch(kBase, { headers: { Accept: 'text/plain' }, cache: 'no-store' });
  const found = /dynamodb\.([a-z0-9-]+)\.amazonaws/.exec(await reply.text());
  if (found?.[1]) region = found[1];
  setRegion(region);
  const date = Date.parse(reply.headers.get('Date') ?? '');
  if (!Number.isNaN(date)) ahead = date - Date.now();
}

export interface Entered {
  keyId: string;
  secret: string;
  token: string;
  // Kept for this origin until it ends; else for this page alone.
  keep: boolean;
}

// Signs in. Throws what the server answered.
export async function signIn(entered: Entered): Promise<void> {
  await meetServer();
  const { sts } = await import('../api/iam.ts');
  const { textAt } = await import('../model/xml.ts');
  access.sign = sign;
  let credentials: Credentials = {
    keyId: entered.keyId,
    key: await secretKey(entered.secret),
    token: entered.token || null,
  };
  let expires: number | null = null;
  let temporary = credentials.token !== null;
  if (!temporary) {
    try {
      const made = await sts('GetSessionToken', { DurationSeconds: 43_200 }, { credentials });
      const part = (name: string) => textAt(made, 'Credentials', name);
      credentials = {
        keyId: part('AccessKeyId'),
        key: await secretKey(part('SecretAccessKey')),
        token: part('SessionToken'),
      };
      expires = Date.parse(part('Expiration'));
      temporary = true;
    } catch (error) {
      // A server without a master key makes no temporary credentials.
      if (!(error instanceof ApiError) || error.isUnsigned || error.status >= 500) throw error;
    }
  }
  const arn = textAt(await sts('GetCallerIdentity', {}, { credentials }), 'Arn');
  const before = session.peek();
  session.value = { ...credentials, arn, region, expires };
  signInBecause.value = null;
  await forget();
  // A key without an end lives as long as the page.
  if (entered.keep && temporary) await keep(session.value);
  // Another user sees other things.
  if (before && before.arn !== arn) location.reload();
  lookNow();
}

export async function signOut(because: string): Promise<void> {
  session.value = null;
  signInBecause.value = because;
  await forget();
}

// ---- kept for this origin ---------------------------------------------------------------------

function database(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open('stator', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore('session');
    opening.onsuccess = () => resolve(opening.result);
    opening.onerror = () => reject(opening.error);
  });
}

async function inStore<T>(
  mode: IDBTransactionMode,
  act: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const opened = await database();
  try {
    return await new Promise<T>((resolve, reject) => {
      const request = act(opened.transaction('session', mode).objectStore('session'));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  } finally {
    opened.close();
  }
}

async function keep(one: Session): Promise<void> {
  try {
    await inStore('readwrite', (store) => store.put(one, 'session'));
    localStorage.setItem(kFlag, one.arn);
    seen();
  } catch {
    // Storage is full or switched off: the session lasts as long as the page.
  }
}

async function forget(): Promise<void> {
  try {
    if (localStorage.getItem(kFlag) === null) return;
    localStorage.removeItem(kFlag);
    await inStore('readwrite', (store) => store.delete('session'));
  } catch {
    // As above.
  }
}

function seen(): void {
  try {
    localStorage.setItem(kSeen, String(Date.now()));
  } catch {
    // As above.
  }
}

const idleMs = (): number => Date.now() - Number(localStorage.getItem(kSeen) ?? 0);

async function restore(): Promise<void> {
  try {
    if (localStorage.getItem(kFlag) === null || !hasCrypto()) return;
    if (idleMs() > kIdleMs) {
      await signOut('Half an hour went by without a key or a click.');
      return;
    }
    const kept: Session | undefined = await inStore('readonly', (store) => store.get('session'));
    if (!kept || (kept.expires !== null && kept.expires < Date.now())) return forget();
    region = kept.region;
    setRegion(region);
    session.value = kept;
    access.sign = sign;
  } catch {
    // As above.
  }
}

// Resolves when calls can be made.
export function startSession(): Promise<void> {
  access.refused = (error) => {
    if (signInBecause.peek() !== null) return;
    const was = session.peek();
    session.value = null;
    signInBecause.value = was ? tell(error).message : '';
    if (was) void forget();
  };
  let told = 0;
  const note = () => {
    if (!session.peek() || Date.now() - told < 10_000) return;
    told = Date.now();
    seen();
  };
  for (const kind of ['keydown', 'pointerdown', 'wheel'])
    document.addEventListener(kind, note, { passive: true, capture: true });
  setInterval(() => {
    if (session.peek() && idleMs() > kIdleMs)
      void signOut('Half an hour went by without a key or a click.');
  }, 30_000);
  // Signed out in another tab.
  addEventListener('storage', (event) => {
    if (event.key === kFlag && event.newValue === null && session.peek())
      void signOut('You signed out in another tab.');
  });
  return restore();
}
