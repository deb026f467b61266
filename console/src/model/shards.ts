// The shards of a stream as a family tree, drawn from left to right over time. Pure.

export interface Shard {
  ShardId: string;
  ParentShardId?: string;
  SequenceNumberRange?: { StartingSequenceNumber?: string; EndingSequenceNumber?: string };
}

export interface Leaf {
  shard: Shard;
  // Whether it takes records.
  open: boolean;
  // Generations below the oldest shard that is still listed.
  depth: number;
  // From 0 to 1: which part of the keys the shard has, if splits halve.
  from: number;
  to: number;
}

export const isOpen = (shard: Shard): boolean =>
  shard.SequenceNumberRange?.EndingSequenceNumber === undefined;

// Milliseconds in the name, which begins shardId-TIME; NaN: another form.
export const bornAt = (shard: Shard): number => Number(/^shardId-0*(\d+)/.exec(shard.ShardId)?.[1]);

// Parents before children. A parent that is not listed any more is no parent.
export function family(shards: readonly Shard[]): Leaf[] {
  const known = new Map(shards.map((one) => [one.ShardId, one]));
  const children = new Map<string, Shard[]>();
  const roots: Shard[] = [];
  for (const shard of shards) {
    const parent = shard.ParentShardId;
    if (parent === undefined || !known.has(parent) || parent === shard.ShardId) {
      roots.push(shard);
      continue;
    }
    const siblings = children.get(parent) ?? [];
    siblings.push(shard);
    children.set(parent, siblings);
  }
  const leaves: Leaf[] = [];
  const seen = new Set<string>();
  const place = (all: readonly Shard[], from: number, to: number, depth: number) => {
    const part = (to - from) / Math.max(1, all.length);
    all.forEach((shard, i) => {
      // A stream whose parents form a ring would never end.
      if (seen.has(shard.ShardId)) return;
      seen.add(shard.ShardId);
      const begin = from + i * part;
      leaves.push({ shard, open: isOpen(shard), depth, from: begin, to: begin + part });
      place(children.get(shard.ShardId) ?? [], begin, begin + part, depth + 1);
    });
  };
  place(roots, 0, 1, 0);
  return leaves;
}

// Children of shards that have been read to their end, in which reading goes on from the start.
export const heirs = (shards: readonly Shard[], parent: string): Shard[] =>
  shards.filter((one) => one.ParentShardId === parent);
