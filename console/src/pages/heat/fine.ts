// Draws thousands of rows, of which several share a line of pixels: a line shows the hottest of
// them, so that a hot partition is never lost among cold ones. Each pixel is set once, whatever the
// number of rows.
import type { HeatResource, Metric } from '../../model/heat.ts';
import { heatStep } from '../../ui/strip.tsx';

// Above this many rows single cells are too low to be drawn with a gap.
export const kFineRows = 130;

// [red, green, blue] of "rgb(1, 2, 3)" and of "color(srgb 0.1 0.2 0.3)".
function channels(colour: string): [number, number, number] {
  const numbers = (colour.match(/[\d.]+/g) ?? []).map(Number);
  const scale = colour.startsWith('color(') ? 255 : 1;
  return [0, 1, 2].map((i) => Math.round((numbers[i] ?? 0) * scale)) as [number, number, number];
}

// Returns an image of `width` by `height` pixels.
export function fineImage(
  resource: HeatResource,
  metric: Metric,
  scale: number,
  width: number,
  height: number,
  ramp: readonly string[],
  ink: string,
): ImageData {
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const mix = (a: number, b: number, part: number) => Math.round(a + (b - a) * part);
  const word = (r: number, g: number, b: number) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
  const dark = channels(ink);
  const plain = ramp.map((one) => word(...channels(one)));
  const hatched = ramp.map((one) => {
    const [r, g, b] = channels(one);
    return word(mix(r, dark[0], 0.45), mix(g, dark[1], 0.45), mix(b, dark[2], 0.45));
  });
  const { ranges, columns } = resource;
  // Where each column begins, in pixels.
  const begins = Uint16Array.from({ length: columns + 1 }, (_, column) =>
    Math.ceil((column * width) / columns),
  );
  const most = new Float64Array(columns);
  const beyond = new Uint8Array(columns);
  const none: readonly number[] = [];
  for (let y = 0; y < height; ++y) {
    const first = Math.floor((y / height) * ranges.length);
    const last = Math.max(first + 1, Math.ceil(((y + 1) / height) * ranges.length));
    most.fill(0);
    beyond.fill(0);
    // Arrays are looked up once a row: a picture has 700,000 cells and must be drawn in a frame.
    for (let at = first; at < last; ++at) {
      const range = ranges[at];
      if (!range) continue;
      const { read, write } = range.refused;
      const shown =
        metric === 'heat' ? range.heat : metric === 'refused' ? none : range.consumed[metric];
      for (let column = 0; column < columns; ++column) {
        const refused = (read[column] ?? 0) + (write[column] ?? 0);
        const value = metric === 'refused' ? refused : (shown[column] ?? 0);
        if (value > (most[column] as number)) most[column] = value;
        if (refused > 0 && metric !== 'refused') beyond[column] = 1;
      }
    }
    const line = y * width;
    for (let column = 0; column < columns; ++column) {
      const step = heatStep(scale > 0 ? (most[column] as number) / scale : 0);
      const from = line + (begins[column] as number);
      const to = line + (begins[column + 1] as number);
      pixels.fill(plain[step] as number, from, to);
      if (beyond[column] === 0) continue;
      const dark = hatched[step] as number;
      // Every seventh pixel of the diagonals.
      for (let i = from + ((7 - ((from - line + y) % 7)) % 7); i < to; i += 7) pixels[i] = dark;
    }
  }
  return image;
}
