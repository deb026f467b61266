// Rates over time: what was used as an area, what was refused on top of it, what there is as a
// line. The figures stand in a table behind a switch, for reading and for screen readers.
import { useId } from 'preact/hooks';
import { amount, clock, dateTime } from './format.ts';

export interface ChartProps {
  // What the chart shows, as a phrase.
  label: string;
  kind: 'read' | 'write';
  // Of the first column, milliseconds.
  from: number;
  columnSeconds: number;
  used: readonly number[];
  refused: readonly number[];
  // Units per second that are provisioned now; null: no line.
  limit: number | null;
  // Heads of the figures; `refused` null: there is no such column.
  words?: { used: string; refused: string | null };
  // What the figures are; absent: rates.
  unit?: string;
}

const kWords = { used: 'Consumed a second', refused: 'Beyond limits' };

const kWidth = 600;
const kHeight = 120;
const kTableRows = 60;

// The next of 1, 2, 5, 10, ... from `most` on.
export function niceTop(most: number): number {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 5, 10].find((one) => one * power >= most) ?? 10) * power;
}

export function Chart(props: ChartProps) {
  const { label, kind, from, columnSeconds, used, refused, limit } = props;
  const unit = props.unit ?? 'a second';
  const id = useId();
  const most = Math.max(...used.map((one, i) => one + (refused[i] ?? 0)), 0);
  const top = niceTop(Math.max(most, limit !== null && limit < most * 20 ? limit : 0));
  const step = kWidth / Math.max(1, used.length);
  const y = (value: number) => kHeight - (Math.min(value, top) / top) * (kHeight - 4);
  const path = (values: readonly number[]) =>
    values
      .map(
        (one, i) =>
          `${(i * step).toFixed(1)},${y(one).toFixed(1)} ${((i + 1) * step).toFixed(1)},${y(one).toFixed(1)}`,
      )
      .join(' ');
  const all = used.map((one, i) => one + (refused[i] ?? 0));
  const end = from + used.length * columnSeconds * 1000;
  const time = columnSeconds >= 3600 ? dateTime : clock;
  const highest = used.reduce((at, one, i) => (one > (used[at] ?? 0) ? i : at), 0);
  const summary =
    most === 0
      ? `${label}: none`
      : `${label}: at most ${amount(used[highest] ?? 0)} ${unit}, at ${time(from + highest * columnSeconds * 1000)}`;
  return (
    <figure class={`chart ${kind}`}>
      <figcaption id={id} class="chart-head">
        <strong>{label}</strong>
        <span class="muted num">
          {limit === null ? '' : `${amount(limit)} provisioned now · `}
          {refused.some((one) => one > 0) ? 'served at most' : 'at most'}{' '}
          {amount(Math.max(0, ...used))} {unit}
        </span>
      </figcaption>
      <div class="chart-box">
        <span class="chart-top num small muted" aria-hidden="true">
          {amount(top)}
        </span>
        <svg
          viewBox={`0 0 ${kWidth} ${kHeight}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={summary}
        >
          {used.length > 0 && (
            <>
              <polygon
                class="chart-refused"
                points={`0,${kHeight} ${path(all)} ${kWidth},${kHeight}`}
              />
              <polygon
                class="chart-back"
                points={`0,${kHeight} ${path(used)} ${kWidth},${kHeight}`}
              />
              <polygon
                class="chart-used"
                points={`0,${kHeight} ${path(used)} ${kWidth},${kHeight}`}
              />
              <polyline class="chart-line" points={path(used)} />
            </>
          )}
          {limit !== null && limit <= top && (
            <path class="chart-limit" d={`M0 ${y(limit)}H${kWidth}`} />
          )}
        </svg>
      </div>
      <div class="chart-foot num small muted" aria-hidden="true">
        <span>{time(from)}</span>
        <span>{time(end)} UTC</span>
      </div>
      <Figures {...{ label, from, columnSeconds, used, refused, words: props.words ?? kWords }} />
    </figure>
  );
}

type Rows = Pick<ChartProps, 'label' | 'from' | 'columnSeconds' | 'used' | 'refused'> & {
  words: NonNullable<ChartProps['words']>;
};

function Figures({ label, from, columnSeconds, used, refused, words }: Rows) {
  const rows = used
    .map((one, i) => ({ at: from + i * columnSeconds * 1000, used: one, refused: refused[i] ?? 0 }))
    .filter((one) => one.used > 0 || one.refused > 0)
    .slice(-kTableRows)
    .reverse();
  if (rows.length === 0) return null;
  return (
    <details class="chart-figures">
      <summary class="small">Figures</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it. */}
      <div class="scroll" tabIndex={0} role="region" aria-label={`Figures: ${label}`}>
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">From (UTC)</th>
              <th scope="col" class="num">
                {words.used}
              </th>
              {words.refused !== null && (
                <th scope="col" class="num">
                  {words.refused}
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => (
              <tr key={one.at}>
                <td class="num">{dateTime(one.at)}</td>
                <td class="num">{amount(one.used)}</td>
                {words.refused !== null && <td class="num">{amount(one.refused)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
