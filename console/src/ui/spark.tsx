// A line of the last minutes, without axes: for the shape only, the figure stands beside it.

export interface SparkProps {
  values: readonly (number | null)[];
  // What the top of the picture stands for; by default the highest value.
  top?: number;
  kind?: 'read' | 'write' | 'bad' | 'plain';
}

const kWidth = 120;
const kHeight = 28;

export function Spark({ values, top, kind = 'plain' }: SparkProps) {
  const most = Math.max(top ?? 0, 1e-9, ...values.map((one) => one ?? 0));
  const step = kWidth / Math.max(1, values.length - 1);
  const points = values
    .map(
      (one, i) =>
        `${(i * step).toFixed(1)},${(kHeight - 1.5 - ((one ?? 0) / most) * (kHeight - 3)).toFixed(1)}`,
    )
    .join(' ');
  return (
    <svg
      class={`spark ${kind}`}
      viewBox={`0 0 ${kWidth} ${kHeight}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      {values.length > 1 && (
        <>
          <polygon points={`0,${kHeight} ${points} ${kWidth},${kHeight}`} />
          <polyline points={points} />
        </>
      )}
    </svg>
  );
}
