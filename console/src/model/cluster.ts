// A store that several servers share, as one of them reports it. Pure.

export interface Process {
  id: string;
  endpoint: string;
  version: string;
  clock: string;
  state: string;
  started: string;
  beat: number;
  beatSecondsAgo: number;
  leases: number;
}

export interface Tablet {
  tablet: string;
  purpose: string;
  parts?: number;
  keys?: number;
  bytes?: number;
  unsureBytes?: number;
  unfinished?: number;
  oldestUnfinishedSeconds?: number;
  // Why nothing of this is known.
  error?: string;
}

export interface ClusterReport {
  // The server that made the report; an older one does not say.
  by?: string;
  at: string;
  processes: Process[];
  leases: Record<string, string>;
  settings: Record<string, string>;
  tablets: Tablet[];
  unfinished: number;
  oldestUnfinishedSeconds: number;
}

export const isAlive = (one: Process): boolean => one.state === 'alive';

// Figures that may be off by more than a tenth are guesses.
export const isGuess = (tablet: Tablet): boolean =>
  (tablet.unsureBytes ?? 0) * 10 > (tablet.bytes ?? 0);

export interface ClusterSums {
  alive: number;
  servers: number;
  // Servers differ: an upgrade is under way, or stopped half-way.
  versions: string[];
  parts: number;
  bytes: number;
  broken: number;
}

// 0.9.0 comes before 0.10.0.
const byNumbers = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });

export function sumsOf(report: ClusterReport): ClusterSums {
  const living = report.processes.filter(isAlive);
  return {
    alive: living.length,
    servers: report.processes.length,
    versions: [...new Set(living.map((one) => one.version))].sort(byNumbers),
    parts: report.tablets.reduce((sum, one) => sum + (one.parts ?? 0), 0),
    bytes: report.tablets.reduce((sum, one) => sum + (one.bytes ?? 0), 0),
    broken: report.tablets.filter((one) => one.error !== undefined).length,
  };
}

// What needs a look first: tablets that cannot be read, then those with unfinished work, then the
// largest.
export const inOrder = (tablets: readonly Tablet[]): Tablet[] =>
  [...tablets].sort(
    (a, b) =>
      Number(b.error !== undefined) - Number(a.error !== undefined) ||
      Number((b.unfinished ?? 0) > 0) - Number((a.unfinished ?? 0) > 0) ||
      (b.bytes ?? 0) - (a.bytes ?? 0) ||
      (a.tablet < b.tablet ? -1 : 1),
  );

// Background work by the server that has it, most first.
export function workOf(report: ClusterReport): { owner: string; names: string[] }[] {
  const found = new Map<string, string[]>();
  for (const [name, owner] of Object.entries(report.leases))
    found.set(owner, [...(found.get(owner) ?? []), name]);
  return [...found]
    .map(([owner, names]) => ({ owner, names: names.sort() }))
    .sort((a, b) => b.names.length - a.names.length || (a.owner < b.owner ? -1 : 1));
}
