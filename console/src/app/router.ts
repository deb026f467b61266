// Everything that is seen stands in the address, behind the #: `#/tables/music/items?pk=S:1965`. The
// fragment never leaves the browser, so keys of items stay out of the logs of servers and proxies,
// and no prefix that a proxy puts in front matters.
import { signal } from '@preact/signals';

export interface Route {
  // Decoded segments: ['tables', 'music', 'items'].
  path: string[];
  query: URLSearchParams;
}

function parse(hash: string): Route {
  const text = hash.replace(/^#\/?/, '');
  const cut = text.indexOf('?');
  const path = cut < 0 ? text : text.slice(0, cut);
  return {
    path: path
      .split('/')
      .filter((one) => one !== '')
      .map(decode),
    query: new URLSearchParams(cut < 0 ? '' : text.slice(cut + 1)),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = signal<Route>(parse(location.hash));

export type Query = readonly (readonly [string, string])[] | Record<string, string | undefined>;

// An address of this page.
export function href(path: readonly string[], query: Query = {}): string {
  const entries = Array.isArray(query)
    ? (query as readonly (readonly [string, string])[])
    : Object.entries(query as Record<string, string | undefined>);
  const parameters = new URLSearchParams();
  for (const [name, value] of entries) if (value !== undefined) parameters.append(name, value);
  const text = parameters.toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

// What has to be asked before the user leaves: unsaved edits. Returns a sentence, or null.
type Guard = () => string | null;
const guards = new Set<Guard>();

export function guard(ask: Guard): () => void {
  guards.add(ask);
  return () => guards.delete(ask);
}

const objection = (): string | null => {
  for (const ask of guards) {
    const sentence = ask();
    if (sentence !== null) return sentence;
  }
  return null;
};

// Asks the user; set by the frame. Resolves to whether to leave.
let confirmLeaving: (sentence: string) => Promise<boolean> = () => Promise.resolve(true);
export const setConfirmLeaving = (ask: typeof confirmLeaving): void => {
  confirmLeaving = ask;
};

let current = location.hash;

function show(): void {
  current = location.hash;
  route.value = parse(current);
}

// Goes there, as one step back in the history (`replace`: without one). Asks first if something is
// unsaved and the path changes.
export async function go(address: string, options: { replace?: boolean } = {}): Promise<void> {
  const leaves = parse(address).path.join('/') !== route.peek().path.join('/');
  const sentence = leaves ? objection() : null;
  if (sentence !== null && !(await confirmLeaving(sentence))) return;
  if (sentence !== null) guards.clear();
  history[options.replace ? 'replaceState' : 'pushState'](null, '', address);
  show();
}

// Changes parameters of the address and stays on the page; undefined removes one.
export function setQuery(changes: Record<string, string | undefined>, replace = true): void {
  const query = new URLSearchParams(route.peek().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) query.delete(name);
    else query.set(name, value);
  }
  void go(href(route.peek().path, [...query]), { replace });
}

// Handles clicks on links of this page, the back button, and closing the tab.
export function startRouter(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.('a[href^="#/"]');
    if (!link) return;
    event.preventDefault();
    void go(link.getAttribute('href') as string);
  });
  addEventListener('popstate', async () => {
    if (location.hash === current) return;
    const wanted = location.hash;
    const leaves = parse(wanted).path.join('/') !== route.peek().path.join('/');
    const sentence = leaves ? objection() : null;
    if (sentence !== null) {
      history.pushState(null, '', current);
      if (!(await confirmLeaving(sentence))) return;
      guards.clear();
      history.pushState(null, '', wanted);
    }
    show();
  });
  addEventListener('beforeunload', (event) => {
    if (objection() !== null) event.preventDefault();
  });
}
