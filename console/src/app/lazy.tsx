// Components that are loaded when they are first shown.
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

type Load<P> = () => Promise<{ default: ComponentType<P> }>;
const loaded = new Map<unknown, ComponentType<never>>();

export function Lazy<P extends object>({ load, props }: { load: Load<P>; props: P }) {
  const known = loaded.get(load) as ComponentType<P> | undefined;
  const [, redraw] = useState(0);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (loaded.has(load)) return;
    let wanted = true;
    load().then(
      (module) => {
        loaded.set(load, module.default as ComponentType<never>);
        if (wanted) redraw((n) => n + 1);
      },
      () => {
        if (wanted) setFailed(true);
      },
    );
    return () => {
      wanted = false;
    };
  }, [load]);
  if (known) {
    const Known = known;
    return <Known {...props} />;
  }
  if (failed) {
    return (
      <div class="empty" role="alert">
        <h2>This part of the console could not be loaded</h2>
        <p>The server is away, or it was upgraded since this page was opened.</p>
        <p>
          <button type="button" class="primary" onClick={() => location.reload()}>
            Reload the page
          </button>
        </p>
      </div>
    );
  }
  return <p class="loading">Loading…</p>;
}
