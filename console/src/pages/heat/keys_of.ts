// The keys of a time and a part of the key space, as the server kept them.
import { useEffect, useState } from 'preact/hooks';
import { management, query as queryText } from '../../api/management.ts';
import { has } from '../../app/state.ts';

export interface HotKey {
  partitionKey: string;
  share: number;
}

// null: not known. `window` null: not asked for.
export function useKeysOf(
  table: string,
  index: string | undefined,
  window: Record<string, string> | null,
): readonly HotKey[] | null {
  const [keys, setKeys] = useState<readonly HotKey[] | null>(null);
  const wanted = window && queryText({ ...window, index });
  useEffect(() => {
    if (wanted === null) setKeys(null);
    if (wanted === null || !has('heat-keys')) return;
    const abort = new AbortController();
    // While a selection grows, only the one that it ends with is asked for.
    const timer = setTimeout(() => {
      management<{ keys: HotKey[] }>(`tables/${encodeURIComponent(table)}/heat/keys${wanted}`, {
        table,
        signal: abort.signal,
        background: true,
      }).then(
        (reply) => setKeys(reply.keys),
        () => setKeys(null),
      );
    }, 200);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [table, wanted]);
  return keys;
}
