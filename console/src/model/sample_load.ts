// The sample load: votes for a few candidates, most of them for one, which is more than its
// partition can do. Knows nothing of HTTP and of the document: `send` makes the calls, `report`
// hears how far it is.
import type { Progress } from './bulk.ts';
import type { Item } from './value.ts';

export const kVotesTable = {
  TableName: 'sample-votes',
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'candidate', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'candidate', KeyType: 'HASH' }],
};

const kOthers =
  'bruno carla deniz elena farid greta hugo ines jonas karin luca mira noah olga pavel'.split(' ');
export const kFavourite = 'alice';
// A write costs a unit for each KB of its item. Large items make much heat of few requests: 8 × 200
// units a second for one key, of which a partition writes 1,000.
const kFavouriteKb = 200;
const kOtherKb = 20;
const kTickMs = 125;
// A page that slept does not send all at once what it has missed.
const kMostTicksAtOnce = 8;
const kMostUnderWay = 32;
// Nor does a page that hesitated: a second with twice the votes would be the worst one, and what the
// server advises for it many times as much. Timers are a little early at times.
const kMostInWindow = 1000 / kTickMs;
const kWindowMs = 900;
// Every second tick has a vote for one of the others.
const kOtherEvery = 2;

export const kVotesPerSecond = (1000 / kTickMs) * (1 + 1 / kOtherEvery);

export const voteItems = (): Item[] =>
  [kFavourite, ...kOthers].map((name) => ({
    candidate: { S: name },
    votes: { N: '0' },
    letters: lettersOf(name === kFavourite ? kFavouriteKb : kOtherKb),
  }));

const lettersOf = (kb: number) => ({ S: 'I vote for you. '.repeat(kb * 64 - 8) });

// "alice.1": one of the keys that her votes are spread over.
const suffixed = (n: number): string => `${kFavourite}.${n}`;

// The item of one of them with its first vote. As large as hers, so that a vote for it costs the same.
export const suffixItem = (candidate: string): Item => ({
  candidate: { S: candidate },
  votes: { N: '1' },
  letters: lettersOf(kFavouriteKb),
});

// The number of suffixes that the server's advice names; null: none.
export function suffixesIn(advice: readonly string[]): number | null {
  for (const text of advice) {
    const match = /\b(?:over|into) (\d+) (?:suffixes|shards)/.exec(text);
    if (match) return Number(match[1]);
  }
  return null;
}

export interface SampleLoadOptions {
  seconds: number;
  // Adds a vote. Resolves to its units. `first`: the candidate's item is to be written with it. All of
  // them at once would be the busiest second, and what the server advises would be for that.
  send: (candidate: string, first: boolean) => Promise<number>;
  isThrottled: (error: unknown) => boolean;
  report: (progress: Progress) => void;
  wait?: (ms: number) => Promise<void>;
  now?: () => number;
}

// Ends after `seconds` of work, at once when it is cancelled, or at an error that is no throttling,
// which `run` throws.
export class SampleLoad {
  private progress: Progress = {
    state: 'running',
    done: 0,
    skipped: 0,
    failed: 0,
    units: 0,
    retries: 0,
    seconds: 0,
  };
  private suffixes = 1;
  private readonly written = new Set<string>(); // suffixed keys
  private turn = 0;
  private cancelled = false;
  private failure: unknown = null;

  constructor(private readonly options: SampleLoadOptions) {}

  pause(): void {
    if (this.progress.state === 'running') this.tell({ state: 'paused' });
  }
  goOn(): void {
    if (this.progress.state === 'paused') this.tell({ state: 'running' });
  }
  cancel(): void {
    this.cancelled = true;
  }
  // Spreads the votes for the favourite over this many keys in turn; 1 ends that.
  spreadOver(suffixes: number): void {
    this.suffixes = suffixes;
    this.tell({ since: { done: 0, failed: 0 } });
  }

  async run(): Promise<Progress> {
    const {
      seconds,
      wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      now = () => performance.now(),
    } = this.options;
    const underWay = new Set<Promise<void>>();
    let worked = 0;
    let last = now();
    const start = (name: string) => {
      if (underWay.size >= kMostUnderWay) return;
      const vote: Promise<void> = this.vote(name).finally(() => underWay.delete(vote));
      underWay.add(vote);
    };
    let ticks = 0;
    const begun: number[] = [];
    while (worked < seconds * 1000 && !this.cancelled && !this.failure) {
      await wait(kTickMs);
      const at = now();
      if (this.progress.state === 'running') {
        worked += at - last;
        const due = Math.floor(worked / kTickMs);
        ticks = Math.max(ticks, due - kMostTicksAtOnce);
        for (; ticks < due; ++ticks) {
          const before = begun.at(-kMostInWindow);
          if (before !== undefined && at - before < kWindowMs) continue;
          begun.push(at);
          if (begun.length > kMostInWindow) begun.shift();
          start(this.suffixes > 1 ? suffixed(1 + (this.turn++ % this.suffixes)) : kFavourite);
          if (ticks % kOtherEvery === 0)
            start(kOthers[(ticks / kOtherEvery) % kOthers.length] as string);
        }
        this.tell({ seconds: worked / 1000 });
      }
      last = at;
    }
    await Promise.all(underWay);
    if (this.failure) {
      this.tell({ state: 'failed' });
      throw this.failure;
    }
    this.tell({ state: this.cancelled ? 'stopped' : 'done' });
    return this.progress;
  }

  private async vote(candidate: string): Promise<void> {
    // Votes that are under way when the keys change belong to what was before.
    const { since } = this.progress;
    const first = candidate.startsWith(`${kFavourite}.`) && !this.written.has(candidate);
    try {
      const units = await this.options.send(candidate, first);
      if (first) this.written.add(candidate);
      this.progress.units += units;
      ++this.progress.done;
      if (since) ++since.done;
    } catch (error) {
      if (this.options.isThrottled(error)) {
        ++this.progress.failed;
        if (since) ++since.failed;
      } else this.failure ??= error;
    }
  }

  private tell(change: Partial<Progress>): void {
    this.progress = { ...this.progress, ...change };
    this.options.report(this.progress);
  }
}
