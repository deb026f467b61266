// A part of what a partition can do, as a bar in the colours of the heat map, with the figure.
import { percent } from './format.ts';
import { heatStep } from './strip.tsx';

export function HeatBar({ heat, of = 'of its maximum' }: { heat: number; of?: string }) {
  return (
    <span class="heat-bar" title={`${percent(heat)} ${of}`}>
      <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <rect class="h0" x="0" y="0" width="100" height="8" />
        <rect
          class={`h${heatStep(heat)}`}
          x="0"
          y="0"
          width={Math.min(100, heat * 100)}
          height="8"
        />
        <path class="heat-limit" d="M90 0V8" />
      </svg>
      <span class="num">{percent(heat)}</span>
    </span>
  );
}
