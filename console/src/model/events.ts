// What happened, as the server tells it, and what of it is one thing. Pure.

export interface ServerEvent {
  seq: number;
  at: string;
  kind: string;
  table: string | null;
  index: string | null;
  text: string;
  reason?: string;
  requests?: number;
  // When the limit began to refuse, and all requests that it refused since, as the server counts
  // them. An older server does not tell either.
  since?: string;
  allRequests?: number;
  key?: string | null;
  advice?: string[];
  passed?: boolean;
}

export interface Happened extends ServerEvent {
  // When the first of the events was told that are one here, though it be known no more.
  since: string;
}

// The server tells of a limit every ten seconds while it holds; a pause as long as this ends it.
const kPauseMs = 60_000;

// Newest first. Throttling by one limit of a table or index that goes on is one event, with the
// newest text and all its requests: those that the server tells, since events fall off. `events`
// are oldest first.
export function happened(events: readonly ServerEvent[]): Happened[] {
  const found: Happened[] = [];
  const going = new Map<string, Happened>();
  for (const event of events) {
    const id = `${event.table} ${event.index} ${event.reason} ${event.passed}`;
    const before = event.kind === 'throttled' ? going.get(id) : undefined;
    if (before && Date.parse(event.at) - Date.parse(before.at) <= kPauseMs) {
      const requests = event.allRequests ?? (before.requests ?? 0) + (event.requests ?? 0);
      Object.assign(before, event, { requests, since: event.since ?? before.since });
    } else {
      const one = { ...event, since: event.since ?? event.at };
      if (event.allRequests !== undefined) one.requests = event.allRequests;
      found.push(one);
      if (event.kind === 'throttled') going.set(id, one);
    }
  }
  return found.sort((a, b) => b.seq - a.seq);
}

// The first sentence of a text of the server; numbers have points as well.
export const firstSentence = (text: string): string =>
  text.split(/(?<=\.) (?=[A-Z0-9"])/)[0] ?? text;

// The newest of the events, oldest first: of throttling that goes on the last one alone, which tells
// of all before it, so that what else happened is not pushed out by it.
export function recent(events: readonly ServerEvent[], most: number): ServerEvent[] {
  const told = new Set<string>();
  return [...events]
    .reverse()
    .filter((event) => {
      if (event.kind !== 'throttled' || event.since === undefined) return true;
      const id = `${event.table} ${event.index} ${event.reason} ${event.passed} ${event.since}`;
      const known = told.has(id);
      told.add(id);
      return !known;
    })
    .slice(0, most)
    .reverse();
}
