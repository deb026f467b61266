// The picture: time to the right, keys downwards in the order of their hashes. Colour is a part of
// what one partition can do, so that the same colour means the same everywhere.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { colour, painted } from '../../app/theme.ts';
import {
  cell,
  columnTime,
  type HeatResource,
  hottest,
  type Metric,
  placeOf,
  refusedIn,
  rowHeights,
  type Selection,
  scaleOf,
} from '../../model/heat.ts';
import { amount, clock, percent, unitRate } from '../../ui/format.ts';
import { heatStep } from '../../ui/strip.tsx';
import { speak } from '../../ui/told.tsx';
import { fineImage, kFineRows } from './fine.ts';

export interface MapProps {
  resource: HeatResource;
  label: string;
  metric: Metric;
  equal: boolean;
  selection: Selection | null;
  // A place in the hash space to mark, 0 to 1.
  mark: number | null;
  onSelect: (selection: Selection | null) => void;
}

const kHeight = 260;
const kTop = 64;
const kLeast = 4;
const kSpots = 20;
// Columns on either side of a hot spot that are selected with it.
const kAround = 5;

interface Hover {
  column: number;
  range: number;
  x: number;
  y: number;
}

export function HeatMap(props: MapProps) {
  const { resource, metric, selection, onSelect } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const spot = useRef(-1);
  const drag = useRef<{ column: number; range: number } | null>(null);
  const [width, setWidth] = useState(800);
  const [hover, setHover] = useState<Hover | null>(null);
  const [cursor, setCursor] = useState<{ column: number; range: number } | null>(null);
  const heights = useMemo(
    () =>
      rowHeights(
        resource.ranges,
        kHeight,
        kLeast,
        props.equal || resource.ranges.length > kFineRows,
      ),
    [resource, props.equal],
  );
  const scale = useMemo(() => scaleOf(resource, metric), [resource, metric]);
  const themed = painted.value;

  useEffect(() => {
    const element = canvas.current?.parentElement;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(200, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const element = canvas.current;
    if (element)
      draw(element, {
        ...props,
        width,
        heights,
        scale,
        cursor: document.activeElement === element ? cursor : null,
      });
  }, [resource, metric, selection, props.mark, props.equal, width, scale, cursor, themed]);

  const at = (event: PointerEvent): { column: number; range: number; x: number; y: number } => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const column = Math.max(
      0,
      Math.min(resource.columns - 1, Math.floor((x / box.width) * resource.columns)),
    );
    let range = 0;
    let bottom = kTop;
    for (const height of heights) {
      bottom += height;
      if (y < bottom) break;
      ++range;
    }
    return { column, range: Math.min(range, resource.ranges.length - 1), x, y };
  };
  const between = (
    a: { column: number; range: number },
    b: { column: number; range: number },
  ): Selection => ({
    fromColumn: Math.min(a.column, b.column),
    toColumn: Math.max(a.column, b.column),
    fromRange: Math.min(a.range, b.range),
    toRange: Math.max(a.range, b.range),
  });
  const say = (column: number, range: number) => {
    const row = resource.ranges[range];
    if (!row) return;
    const refused = refusedIn(row, column);
    speak(
      `range ${range + 1} of ${resource.ranges.length}, ${clock(columnTime(resource, column))}, ` +
        `${percent(row.heat[column] ?? 0)} of maximum` +
        (refused > 0 ? `, ${unitRate(refused)} beyond a limit` : ''),
    );
  };
  // Selects the next of the hottest spots, with some columns around it.
  const nextSpot = () => {
    const spots = hottest(resource, kSpots);
    spot.current = (spot.current + 1) % Math.max(1, spots.length);
    const found = spots[spot.current];
    if (!found) return;
    onSelect({
      fromColumn: Math.max(0, found.column - kAround),
      toColumn: Math.min(resource.columns - 1, found.column + kAround),
      fromRange: found.range,
      toRange: found.range,
    });
    setCursor({ column: found.column, range: found.range });
    say(found.column, found.range);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'n' && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      event.stopPropagation();
      nextSpot();
      return;
    }
    // What Shift selected stays: it is open already.
    if (event.key === 'Enter' && drag.current && selection) {
      event.preventDefault();
      return;
    }
    const now = cursor ?? { column: resource.columns - 1, range: 0 };
    const step = event.ctrlKey ? 10 : 1;
    let { column, range } = now;
    if (event.key === 'ArrowLeft') column -= step;
    else if (event.key === 'ArrowRight') column += step;
    else if (event.key === 'ArrowUp') range -= step;
    else if (event.key === 'ArrowDown') range += step;
    else if (event.key === 'Home') column = 0;
    else if (event.key === 'End') column = resource.columns - 1;
    else if (event.key === 'Enter' || event.key === ' ') onSelect(between(now, now));
    else return;
    event.preventDefault();
    const next = {
      column: Math.max(0, Math.min(resource.columns - 1, column)),
      range: Math.max(0, Math.min(resource.ranges.length - 1, range)),
    };
    if (event.shiftKey && event.key.startsWith('Arrow')) {
      drag.current ??= now;
      onSelect(between(drag.current, next));
    } else drag.current = null;
    setCursor(next);
    say(next.column, next.range);
  };

  const told = hover && resource.ranges[hover.range];
  return (
    <div class="heat-map">
      {/* biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it takes keys of its own. */}
      <canvas
        ref={canvas}
        class="heat-canvas"
        tabIndex={0}
        role="application"
        aria-roledescription="heat map"
        aria-label={`${props.label}: time to the right, keys downwards. Arrows move, Shift selects, Enter opens, n selects the next hot spot. A table of the hottest spots is below.`}
        style={{ height: `${kTop + kHeight}px` }}
        onKeyDown={onKeyDown}
        onFocus={() => setCursor(cursor ?? { column: Math.max(0, resource.columns - 1), range: 0 })}
        onBlur={() => setCursor(null)}
        onPointerDown={(event) => {
          (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
          const place = at(event);
          drag.current = place;
          onSelect(between(place, place));
        }}
        onPointerMove={(event) => {
          const place = at(event);
          setHover(place);
          if (drag.current && event.buttons === 1) onSelect(between(drag.current, place));
        }}
        onPointerUp={() => {
          drag.current = null;
        }}
        onPointerLeave={() => setHover(null)}
      />
      {hover && told && (
        <div
          class="heat-tip card"
          style={{
            left: `${Math.min(hover.x + 14, width - 230)}px`,
            top: `${hover.y + 14}px`,
          }}
        >
          <strong>{percent(told.heat[hover.column] ?? 0)} of a partition</strong>
          <span class="muted">
            {clock(columnTime(resource, hover.column))} UTC · range {hover.range + 1} of{' '}
            {resource.ranges.length}
          </span>
          <span>
            {amount(told.consumed.read[hover.column] ?? 0)} read,{' '}
            {amount(told.consumed.write[hover.column] ?? 0)} write units/s
          </span>
          {refusedIn(told, hover.column) > 0 && (
            <span class="bad-text">{unitRate(refusedIn(told, hover.column))} beyond a limit</span>
          )}
        </div>
      )}
    </div>
  );
}

interface Drawing extends MapProps {
  width: number;
  heights: number[];
  scale: number;
  cursor: { column: number; range: number } | null;
}

// The picture without selection, cursor and mark, which move while the cells stay. One per canvas.
const bases = new WeakMap<HTMLCanvasElement, { of: unknown[]; canvas: HTMLCanvasElement }>();

function draw(element: HTMLCanvasElement, drawing: Drawing): void {
  const { resource, metric, width, heights, scale, selection } = drawing;
  const ratio = devicePixelRatio || 1;
  element.width = width * ratio;
  element.height = (kTop + kHeight) * ratio;
  const context = element.getContext('2d');
  if (!context) return;
  const ink = resolved(element, '--text');
  const of = [resource, metric, width, drawing.equal, scale, ratio, ink];
  let base = bases.get(element);
  if (!base || base.of.some((one, i) => one !== of[i])) {
    base = { of, canvas: drawBase(element, drawing, ratio, ink) };
    bases.set(element, base);
  }
  context.drawImage(base.canvas, 0, 0);
  context.scale(ratio, ratio);
  const columnWidth = width / Math.max(1, resource.columns);
  context.strokeStyle = ink;
  context.lineWidth = 2;
  if (selection) {
    const top = kTop + sum(heights, 0, selection.fromRange);
    const bottom = kTop + sum(heights, 0, selection.toRange + 1);
    const left = selection.fromColumn * columnWidth;
    context.strokeRect(
      left + 1,
      top + 1,
      Math.max(3, (selection.toColumn + 1) * columnWidth - left - 2),
      bottom - top - 2,
    );
  }
  if (drawing.cursor) {
    context.setLineDash([3, 3]);
    const top = kTop + sum(heights, 0, drawing.cursor.range);
    context.strokeRect(
      drawing.cursor.column * columnWidth,
      top,
      Math.max(5, columnWidth),
      Math.max(5, heights[drawing.cursor.range] ?? 5),
    );
    context.setLineDash([]);
  }
  if (drawing.mark !== null) {
    const at = markAt(resource, heights, drawing.mark);
    context.fillStyle = resolved(element, '--accent');
    context.fillRect(0, kTop + at - 1, width, 2);
    context.beginPath();
    context.moveTo(0, kTop + at - 6);
    context.lineTo(9, kTop + at);
    context.lineTo(0, kTop + at + 6);
    context.fill();
  }
}

function drawBase(
  element: HTMLCanvasElement,
  drawing: Drawing,
  ratio: number,
  ink: string,
): HTMLCanvasElement {
  const { resource, metric, width, heights, scale } = drawing;
  const canvas = document.createElement('canvas');
  canvas.width = width * ratio;
  canvas.height = (kTop + kHeight) * ratio;
  const context = canvas.getContext('2d');
  if (!context || resource.columns === 0) return canvas;
  const ramp = Array.from({ length: 11 }, (_, i) => resolved(element, `--h${i}`));
  const under = resolved(element, '--surface');
  const columnWidth = width / resource.columns;
  context.scale(ratio, ratio);
  drawSums(context, drawing, columnWidth, element);
  if (resource.ranges.length > kFineRows) {
    const wide = Math.floor(width * ratio);
    const high = Math.floor(kHeight * ratio);
    const image = fineImage(resource, metric, scale, wide, high, ramp, ink);
    context.putImageData(image, 0, Math.round(kTop * ratio));
    return canvas;
  }
  let y = kTop;
  resource.ranges.forEach((range, at) => {
    const height = heights[at] ?? 0;
    for (let column = 0; column < resource.columns; ++column) {
      const value = scale > 0 ? cell(range, column, metric) / scale : 0;
      context.fillStyle = ramp[heatStep(value)] ?? '';
      const x = Math.floor(column * columnWidth);
      const right = Math.floor((column + 1) * columnWidth);
      context.fillRect(
        x,
        y,
        Math.max(1, right - x - (columnWidth > 6 ? 1 : 0)),
        Math.max(1, height - 1),
      );
      if (metric !== 'refused' && refusedIn(range, column) > 0)
        hatch(context, x, y, Math.max(2, right - x), height - 1, ink, under);
    }
    y += height;
  });
  return canvas;
}

// A canvas knows no light-dark(): the browser resolves it where it is a colour of an element.
function resolved(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const value = getComputedStyle(element).color;
  element.style.color = '';
  return value || colour(name);
}

const sum = (all: readonly number[], from: number, to: number): number =>
  all.slice(from, to).reduce((a, b) => a + b, 0);

function markAt(resource: HeatResource, heights: readonly number[], place: number): number {
  let y = 0;
  for (const [i, range] of resource.ranges.entries()) {
    const from = placeOf(range.from);
    const to = placeOf(range.to);
    const height = heights[i] ?? 0;
    if (place < to || i === resource.ranges.length - 1)
      return y + (to > from ? Math.min(1, (place - from) / (to - from)) * height : height / 2);
    y += height;
  }
  return y;
}

// Consumed, and on top of it what was beyond a limit, of the whole table.
function drawSums(
  context: CanvasRenderingContext2D,
  { resource }: Drawing,
  columnWidth: number,
  element: HTMLElement,
): void {
  const bottom = kTop - 8;
  const height = bottom - 16;
  const total = Array.from({ length: resource.columns }, (_, c) => ({
    consumed: (resource.consumed.read[c] ?? 0) + (resource.consumed.write[c] ?? 0),
    refused: (resource.refused.read[c] ?? 0) + (resource.refused.write[c] ?? 0),
  }));
  const most = Math.max(1, ...total.map((one) => one.consumed + one.refused));
  const read = resolved(element, '--read');
  const bad = resolved(element, '--bad');
  total.forEach((one, c) => {
    const x = Math.floor(c * columnWidth);
    const wide = Math.max(1, Math.floor((c + 1) * columnWidth) - x - (columnWidth > 4 ? 1 : 0));
    const consumed = (one.consumed / most) * height;
    const refused = (one.refused / most) * height;
    context.fillStyle = read;
    context.globalAlpha = 0.75;
    context.fillRect(x, bottom - consumed, wide, consumed);
    context.globalAlpha = 1;
    context.fillStyle = bad;
    context.fillRect(x, bottom - consumed - refused, wide, refused);
  });
  context.fillStyle = resolved(element, '--muted');
  context.font = '11px system-ui, sans-serif';
  context.fillText(unitRate(most), 2, 11);
}

function hatch(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  ink: string,
  under: string,
): void {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.beginPath();
  // The lines run on from cell to cell.
  const first = Math.floor((x + y) / 7) * 7;
  for (let at = first; at < x + y + width + height; at += 7) {
    context.moveTo(at - y, y);
    context.lineTo(at - y - height, y + height);
  }
  // A light line around a dark one is seen on cold cells and on hot ones.
  context.globalAlpha = 0.8;
  context.strokeStyle = under;
  context.lineWidth = 3;
  context.stroke();
  context.strokeStyle = ink;
  context.lineWidth = 1.2;
  context.stroke();
  context.restore();
}
