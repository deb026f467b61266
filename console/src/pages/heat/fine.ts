// Draws thousands of rows, of which several share a line of pixels: a line shows the hottest of
// them, so that a hot partition is never lost among cold ones. Each pixel is set once, whatever the
// number of rows.
import { cell, type HeatResource, type Metric, refusedIn } from '../../model/heat.ts';
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
  const columnOf = Uint16Array.from({ length: width }, (_, x) =>
    Math.min(columns - 1, Math.floor((x / width) * columns)),
  );
  const steps = new Uint8Array(columns);
  const refused = new Uint8Array(columns);
  for (let y = 0; y < height; ++y) {
    const first = Math.floor((y / height) * ranges.length);
    const last = Math.max(first + 1, Math.ceil(((y + 1) / height) * ranges.length));
    for (let column = 0; column < columns; ++column) {
      let most = 0;
      let beyond = 0;
      for (let at = first; at < last; ++at) {
        const range = ranges[at];
        if (!range) continue;
        most = Math.max(most, cell(range, column, metric));
        if (metric !== 'refused' && refusedIn(range, column) > 0) beyond = 1;
      }
      steps[column] = heatStep(scale > 0 ? most / scale : 0);
      refused[column] = beyond;
    }
    for (let x = 0; x < width; ++x) {
      const column = columnOf[x] as number;
      const lines = refused[column] === 1 && (x + y) % 7 === 0 ? hatched : plain;
      pixels[y * width + x] = lines[steps[column] as number] as number;
    }
  }
  return image;
}
