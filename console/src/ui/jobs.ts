// Long jobs: one at a time, shown in a panel at the edge with progress, pause, and what failed.
import { signal } from '@preact/signals';
import type { Bulk, Outcome, Progress, Write } from '../model/bulk.ts';

export interface Job {
  title: string;
  // Writes to expect, for the bar; null: not known.
  total: number | null;
  progress: Progress;
  bulk: Bulk;
  outcome: Outcome | null;
  retry: (() => void) | null;
}

export const job = signal<Job | null>(null);

export interface BulkRun {
  title: string;
  total: number | null;
  make: (report: (progress: Progress) => void) => Bulk;
  source: Iterable<Write> | AsyncIterable<Write>;
}

// Resolves when it is over, however it ended; the panel stays until it is closed.
export async function runBulk(run: BulkRun): Promise<Outcome> {
  const running = job.peek();
  if (running && running.outcome === null)
    throw new Error(`${running.title} is still under way: wait for it, or stop it`);
  const bulk = run.make((progress) => {
    const now = job.peek();
    if (now?.bulk === bulk) job.value = { ...now, progress };
  });
  job.value = {
    title: run.title,
    total: run.total,
    progress: {
      state: 'running',
      done: 0,
      skipped: 0,
      failed: 0,
      units: 0,
      retries: 0,
      seconds: 0,
    },
    bulk,
    outcome: null,
    retry: null,
  };
  const outcome = await bulk.run(run.source);
  const now = job.peek();
  if (now?.bulk === bulk) {
    const failed = outcome.failures.map((one) => one.write);
    job.value = {
      ...now,
      outcome,
      retry:
        failed.length === 0
          ? null
          : () => void runBulk({ ...run, total: failed.length, source: failed }),
    };
  }
  return outcome;
}

export const closeJob = (): void => {
  job.value = null;
};
