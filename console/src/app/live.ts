// Polling. One request at a time, none while the tab is hidden or live is paused, slower when the
// server is, at once after an action.
import { signal } from '@preact/signals';
import { isStopped } from '../api/errors.ts';
import { stored } from './settings.ts';

// Whether the page follows the server by itself.
export const isLive = signal(stored('live', true));

const kicks = new Set<() => void>();

// Asks all pollers to look now: something was changed.
export const lookNow = (): void => {
  for (const kick of kicks) kick();
};

// Calls `look` now and again `every` milliseconds until the returned function is called. `look`
// throws where there is nothing to wait for; it has told the user already.
export function poll(
  look: (signal: AbortSignal) => Promise<unknown>,
  every: () => number,
): () => void {
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = false;
  let again = false;
  let controller = new AbortController();

  const mayRun = () => !document.hidden && isLive.peek();

  async function run(): Promise<void> {
    if (stopped) return;
    if (running) {
      again = true;
      return;
    }
    clearTimeout(timer);
    running = true;
    controller = new AbortController();
    const started = performance.now();
    try {
      await look(controller.signal);
    } catch (error) {
      // Told where the call was made.
      if (isStopped(error)) return;
    } finally {
      running = false;
      const took = performance.now() - started;
      if (!stopped) plan(again ? 0 : Math.max(every(), 2 * took));
      again = false;
    }
  }

  function plan(ms: number): void {
    clearTimeout(timer);
    if (ms === 0) void run();
    else if (mayRun()) timer = setTimeout(run, ms);
  }

  const kick = () => void run();
  const onVisible = () => {
    if (mayRun()) void run();
  };
  kicks.add(kick);
  document.addEventListener('visibilitychange', onVisible);
  const unsubscribe = isLive.subscribe((live) => {
    if (live && !running) void run();
  });
  if (!isLive.peek()) void run();

  return () => {
    stopped = true;
    clearTimeout(timer);
    controller.abort();
    kicks.delete(kick);
    unsubscribe();
    document.removeEventListener('visibilitychange', onVisible);
  };
}
