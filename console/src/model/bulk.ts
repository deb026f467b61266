// Many writes: in batches of 25 where they have no condition, else one by one; several under way;
// what was left unprocessed or throttled is sent again with growing pauses. Knows nothing of HTTP
// and of the document: `send` makes the calls, `report` hears how far it is.
import type { Item } from './value.ts';

export type Write =
  // `onlyNew`: never replaces an item.
  | { kind: 'put'; key: Item; item: Item; onlyNew?: boolean }
  // `seen`: only while the item is as it was seen.
  | { kind: 'delete'; key: Item; seen?: Item }
  // Input of an UpdateItem without TableName and Key.
  | { kind: 'update'; key: Item; input: Record<string, unknown> };

export interface Failure {
  write: Write;
  type: string;
  message: string;
}

export type BulkState = 'running' | 'paused' | 'done' | 'stopped' | 'failed';

export interface Progress {
  state: BulkState;
  done: number;
  // Their condition did not hold: nothing was changed.
  skipped: number;
  failed: number;
  units: number;
  // Sent again because they were throttled or left over.
  retries: number;
  seconds: number;
  // The votes of a load since its keys were changed.
  since?: { done: number; failed: number } | undefined;
}

export interface Outcome extends Progress {
  failures: Failure[];
  skippedWrites: Write[];
  // Why it ended early, if it did.
  error: unknown;
}

export interface BatchAnswer {
  unprocessed: Write[];
  units: number;
}

export interface BulkOptions {
  table: string;
  // Same text for same keys.
  keyText: (key: Item) => string;
  // Writes at most 25 without conditions. Throws as the calls of the API do.
  batch: (writes: Write[]) => Promise<BatchAnswer>;
  // Writes one. Resolves to its units.
  single: (write: Write) => Promise<number>;
  report: (progress: Progress) => void;
  // Whether the write can be sent again as it is.
  isRetryable: (error: unknown) => boolean;
  isSkip: (error: unknown) => boolean;
  // Whether a batch was refused for one of its writes, so that they are sent one by one.
  isRefusal: (error: unknown) => boolean;
  describe: (error: unknown) => { type: string; message: string };
  wait?: (ms: number) => Promise<void>;
  now?: () => number;
  width?: number;
}

const kBatch = 25;
// A request holds 16 MB at most; items are JSON, which is longer than their size.
const kBatchBytes = 4 << 20;
const kMostTries = 12;
const kKeptFailures = 1000;

export class Bulk {
  private readonly options: Required<BulkOptions>;
  private progress: Progress = {
    state: 'running',
    done: 0,
    skipped: 0,
    failed: 0,
    units: 0,
    retries: 0,
    seconds: 0,
  };
  private readonly failures: Failure[] = [];
  private readonly skippedWrites: Write[] = [];
  private readonly inFlight = new Map<string, Promise<unknown>>();
  private cancelled = false;
  private resume: (() => void) | null = null;
  private paused: Promise<void> | null = null;
  private fatal: unknown = null;

  constructor(options: BulkOptions) {
    this.options = {
      wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      now: () => performance.now(),
      width: 4,
      ...options,
    };
  }

  pause(): void {
    if (this.progress.state !== 'running') return;
    this.paused = new Promise((resolve) => {
      this.resume = resolve;
    });
    this.tell({ state: 'paused' });
  }

  goOn(): void {
    if (this.progress.state !== 'paused') return;
    this.paused = null;
    this.resume?.();
    this.tell({ state: 'running' });
  }

  // Lets the running requests end and sends no others.
  cancel(): void {
    this.cancelled = true;
    if (this.progress.state === 'paused') this.goOn();
  }

  async run(source: Iterable<Write> | AsyncIterable<Write>): Promise<Outcome> {
    const started = this.options.now();
    const under = new Set<Promise<void>>();
    let batch: Write[] = [];
    let batchBytes = 0;
    const clock = () => {
      this.progress.seconds = (this.options.now() - started) / 1000;
    };
    const start = (writes: Write[]) => {
      const job: Promise<void> = this.send(writes)
        .catch((error: unknown) => {
          this.fatal ??= error;
          this.cancelled = true;
        })
        .finally(() => {
          under.delete(job);
          for (const one of writes) this.inFlight.delete(this.options.keyText(one.key));
          clock();
          this.tell({});
        });
      under.add(job);
      for (const one of writes) this.inFlight.set(this.options.keyText(one.key), job);
      return job;
    };
    const flush = async () => {
      if (batch.length === 0) return;
      const writes = batch;
      batch = [];
      batchBytes = 0;
      while (under.size >= this.options.width) await Promise.race(under);
      start(writes);
    };
    try {
      for await (const write of source) {
        if (this.paused) await this.paused;
        if (this.cancelled) break;
        const key = this.options.keyText(write.key);
        // Two writes of one item keep their order.
        if (batch.some((one) => this.options.keyText(one.key) === key)) await flush();
        const before = this.inFlight.get(key);
        if (before) await before;
        if (isConditional(write)) {
          while (under.size >= this.options.width * 2) await Promise.race(under);
          start([write]);
          continue;
        }
        const size = JSON.stringify(write).length;
        if (batch.length >= kBatch || (batch.length > 0 && batchBytes + size > kBatchBytes))
          await flush();
        batch.push(write);
        batchBytes += size;
      }
      if (!this.cancelled) await flush();
    } catch (error) {
      this.fatal ??= error;
    }
    await Promise.all(under);
    clock();
    this.tell({ state: this.fatal ? 'failed' : this.cancelled ? 'stopped' : 'done' });
    return {
      ...this.progress,
      failures: this.failures,
      skippedWrites: this.skippedWrites,
      error: this.fatal,
    };
  }

  private async send(writes: Write[]): Promise<void> {
    const [first] = writes;
    if (writes.length === 1 && first && isConditional(first)) return this.sendOne(first);
    let left = writes;
    for (let tries = 0; left.length > 0; ++tries) {
      if (this.paused) await this.paused;
      try {
        const { unprocessed, units } = await this.options.batch(left);
        this.progress.done += left.length - unprocessed.length;
        this.progress.units += units;
        // A batch that got on is not counted as a try that failed.
        if (unprocessed.length < left.length) tries = 0;
        left = unprocessed;
      } catch (error) {
        if (this.options.isRefusal(error)) {
          for (const one of left) await this.sendOne(one);
          return;
        }
        if (!this.options.isRetryable(error) || tries >= kMostTries) {
          this.fail(left, error);
          if (!this.options.isRetryable(error)) throw error;
          return;
        }
      }
      if (left.length === 0) return;
      if (this.cancelled) return;
      this.progress.retries += left.length;
      await this.options.wait(backOff(tries));
    }
  }

  private async sendOne(write: Write): Promise<void> {
    for (let tries = 0; ; ++tries) {
      if (this.paused) await this.paused;
      if (this.cancelled) return;
      try {
        this.progress.units += await this.options.single(write);
        ++this.progress.done;
        return;
      } catch (error) {
        if (this.options.isSkip(error)) {
          ++this.progress.skipped;
          if (this.skippedWrites.length < kKeptFailures) this.skippedWrites.push(write);
          return;
        }
        if (this.options.isRetryable(error) && tries < kMostTries) {
          ++this.progress.retries;
          await this.options.wait(backOff(tries));
          continue;
        }
        this.fail([write], error);
        if (!this.options.isRetryable(error) && !this.options.isRefusal(error)) throw error;
        return;
      }
    }
  }

  private fail(writes: Write[], error: unknown): void {
    const { type, message } = this.options.describe(error);
    this.progress.failed += writes.length;
    for (const write of writes) {
      if (this.failures.length >= kKeptFailures) break;
      this.failures.push({ write, type, message });
    }
  }

  private tell(changes: Partial<Progress>): void {
    Object.assign(this.progress, changes);
    this.options.report({ ...this.progress });
  }
}

const isConditional = (write: Write): boolean =>
  write.kind === 'update' ||
  (write.kind === 'put' && write.onlyNew === true) ||
  (write.kind === 'delete' && write.seen !== undefined);

// 50 ms, doubled up to 5 s, with some chance in it.
const backOff = (tries: number): number =>
  Math.min(5000, 50 * 2 ** tries) * (0.5 + Math.random() * 0.5);
