// The shards of a stream from left (old) to right (new), each as high as its part of the keys.
import { bornAt, family, type Leaf, type Shard } from '../../model/shards.ts';
import { dateTime, plural } from '../../ui/format.ts';

const kHeight = 110;
const kMostDrawn = 400;

export function Family({ shards }: { shards: readonly Shard[] }) {
  const leaves = family(shards);
  const generations = Math.max(1, ...leaves.map((one) => one.depth + 1));
  const width = 100 / generations;
  const drawn = leaves.slice(0, kMostDrawn);
  const ended = leaves.filter((one) => !one.open).length;
  const told = `${plural(leaves.length, 'shard')} in ${plural(generations, 'generation')}, ${plural(ended, 'shard')} closed by splits or age`;
  return (
    <figure class="family">
      <svg viewBox={`0 0 100 ${kHeight}`} preserveAspectRatio="none" role="img" aria-label={told}>
        {drawn.map((one) => (
          <rect
            key={one.shard.ShardId}
            class={one.open ? 'shard open' : 'shard'}
            x={one.depth * width + 0.15}
            y={one.from * kHeight + 0.5}
            width={(one.open ? 100 - one.depth * width : width) - 0.3}
            height={Math.max(0.5, (one.to - one.from) * kHeight - 1)}
          >
            <title>{nameOf(one)}</title>
          </rect>
        ))}
      </svg>
      <details>
        <summary class="small">
          {told}
          {leaves.length > kMostDrawn && `; the first ${kMostDrawn} are drawn`}
        </summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it. */}
        <div class="scroll" tabIndex={0} role="region" aria-label="Shards">
          <ul class="shards">
            {drawn.map((one) => (
              <li key={one.shard.ShardId} class="small">
                <code>{one.shard.ShardId}</code>{' '}
                <span class={`badge ${one.open ? 'good' : ''}`}>
                  {one.open ? 'open' : 'closed'}
                </span>{' '}
                <span class="muted">{nameOf(one)}</span>
              </li>
            ))}
          </ul>
        </div>
      </details>
    </figure>
  );
}

function nameOf({ shard, depth }: Leaf): string {
  const born = bornAt(shard);
  const since = Number.isNaN(born) ? '' : `since ${dateTime(born)} UTC`;
  return depth === 0 ? since : `${since}, child of …${shard.ParentShardId?.slice(-8)}`;
}
