// Long jobs: one at a time, shown in a panel at the edge with progress, pause, and what failed.
import { signal } from '@preact/signals';
import type { Bulk, Outcome, Progress, Write } from '../model/bulk.ts';
import type { SampleLoad } from '../model/sample_load.ts';

export interface Job {
  title: string;
  // Writes to expect, for the bar; null: not known.
  total: number | null;
  progress: Progress;
  bulk: Pick<Bulk, 'pause' | 'goOn' | 'cancel'>;
  outcome: Outcome | null;
  retry: (() => void) | null;
  // A load, which is made to be throttled: what failed is no loss.
  load?: boolean;
  // What can be tried on a load while it runs.
  cure?: Cure;
  // Begins a load that is over anew.
  again?: () => void;
}

export interface Cure {
  // The table that is written to.
  table: string;
  // What the button says that tries it.
  label: string;
  // The change that it made, in words; null: it is not tried now.
  tried: string | null;
  busy: boolean;
  // Tries it; tried, undoes it. Throws as calls do.
  flip: () => Promise<void>;
}

export const job = signal<Job | null>(null);

export interface BulkRun {
  title: string;
  total: number | null;
  make: (report: (progress: Progress) => void) => Bulk;
  source: Iterable<Write> | AsyncIterable<Write>;
}

const kBegun: Progress = {
  state: 'running',
  done: 0,
  skipped: 0,
  failed: 0,
  units: 0,
  retries: 0,
  seconds: 0,
};

function mustBeFree(): void {
  const running = job.peek();
  if (running && running.outcome === null)
    throw new Error(`${running.title} is still under way: wait for it, or stop it`);
}

// Resolves when it is over, however it ended; the panel stays until it is closed.
export async function runBulk(run: BulkRun): Promise<Outcome> {
  mustBeFree();
  const bulk = run.make((progress) => {
    const now = job.peek();
    if (now?.bulk === bulk) job.value = { ...now, progress };
  });
  job.value = {
    title: run.title,
    total: run.total,
    progress: kBegun,
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

// Begins a load and returns; the panel shows it and how it ended.
export function runLoad(
  title: string,
  total: number,
  make: (report: (progress: Progress) => void) => SampleLoad,
  // Changes the load, and says in words what it did; null: it is as it was.
  cure: Pick<Cure, 'table' | 'label'> & {
    flip: (load: SampleLoad, tried: boolean) => Promise<string | null>;
  },
): void {
  mustBeFree();
  const change = (changed: Partial<Job>) => {
    const now = job.peek();
    if (now?.bulk === bulk) job.value = { ...now, ...changed };
  };
  const changeCure = (changed: Partial<Cure>) => {
    const now = job.peek()?.cure;
    if (now) change({ cure: { ...now, ...changed } });
  };
  const bulk = make((progress) => change({ progress }));
  job.value = {
    title,
    total,
    progress: kBegun,
    bulk,
    outcome: null,
    retry: null,
    load: true,
    cure: {
      table: cure.table,
      label: cure.label,
      tried: null,
      busy: false,
      flip: async () => {
        const now = job.peek()?.cure;
        if (!now || now.busy) return;
        changeCure({ busy: true });
        try {
          changeCure({ tried: await cure.flip(bulk, now.tried !== null) });
        } finally {
          changeCure({ busy: false });
        }
      },
    },
    again: () => runLoad(title, total, make, cure),
  };
  const end = (error: unknown) => {
    const progress = job.peek()?.progress ?? kBegun;
    change({ outcome: { ...progress, failures: [], skippedWrites: [], error } });
  };
  bulk.run().then(() => end(null), end);
}

export const closeJob = (): void => {
  job.value = null;
};
