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
  key?: string | null;
  advice?: string[];
  passed?: boolean;
}

export interface Happened extends ServerEvent {
  // When the first of the events was told that are one here.
  since: string;
}

// The server tells of a limit every ten seconds while it holds; a pause as long as this ends it.
const kPauseMs = 60_000;

// Newest first. Throttling by one limit of a table or index that goes on is one event, with the
// newest text and all its requests. `events` are oldest first.
export function happened(events: readonly ServerEvent[]): Happened[] {
  const found: Happened[] = [];
  const going = new Map<string, Happened>();
  for (const event of events) {
    const id = `${event.table} ${event.index} ${event.reason} ${event.passed}`;
    const before = event.kind === 'throttled' ? going.get(id) : undefined;
    if (before && Date.parse(event.at) - Date.parse(before.at) <= kPauseMs) {
      const requests = (before.requests ?? 0) + (event.requests ?? 0);
      Object.assign(before, event, { requests, since: before.since });
    } else {
      const one = { ...event, since: event.at };
      found.push(one);
      if (event.kind === 'throttled') going.set(id, one);
    }
  }
  return found.sort((a, b) => b.seq - a.seq);
}
