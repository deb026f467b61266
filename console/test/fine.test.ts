// The picture of thousands of ranges: the hottest of a line is shown, throttling is hatched.
import assert from 'node:assert/strict';
import test from 'node:test';
import { cell, type HeatResource, type Metric, refusedIn } from '../src/model/heat.ts';
import { fineImage } from '../src/pages/heat/fine.ts';
import { heatStep } from '../src/ui/strip.tsx';
import { Random } from './random.ts';

class Pixels {
  readonly data: Uint8ClampedArray;
  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.data = new Uint8ClampedArray(width * height * 4);
  }
}
Object.assign(globalThis, { ImageData: Pixels });

const kRamp = Array.from({ length: 11 }, (_, i) => `rgb(${20 * i}, 0, 0)`);

test('each pixel is that of the hottest range in its line, and beyond a limit every seventh is dark', () => {
  const random = new Random(7);
  const series = (columns: number, most: number) =>
    Array.from({ length: columns }, () => (random.below(4) === 0 ? random.below(most) / 100 : 0));
  for (const [ranges, columns, width, height] of [
    [300, 18, 100, 40],
    [1000, 7, 50, 260],
    [150, 180, 90, 200],
  ] as const) {
    const resource = {
      columns,
      ranges: Array.from({ length: ranges }, () => ({
        heat: series(columns, 130),
        consumed: { read: series(columns, 900), write: series(columns, 900) },
        refused: { read: series(columns, 2), write: series(columns, 2) },
      })),
    } as unknown as HeatResource;
    for (const metric of ['heat', 'read', 'refused'] as Metric[]) {
      const scale = metric === 'heat' ? 1 : 9;
      const image = fineImage(resource, metric, scale, width, height, kRamp, 'rgb(0, 255, 0)');
      for (let y = 0; y < height; ++y) {
        const first = Math.floor((y / height) * ranges);
        const last = Math.max(first + 1, Math.ceil(((y + 1) / height) * ranges));
        for (let x = 0; x < width; ++x) {
          const column = Math.floor((x * columns) / width);
          let most = 0;
          let beyond = false;
          for (const range of resource.ranges.slice(first, last)) {
            most = Math.max(most, cell(range, column, metric));
            beyond ||= metric !== 'refused' && refusedIn(range, column) > 0;
          }
          const green = image.data[4 * (y * width + x) + 1] ?? 0;
          assert.equal(green > 0, beyond && (x + y) % 7 === 0, `${metric} ${x} ${y}`);
          if (green === 0)
            assert.equal(image.data[4 * (y * width + x)], 20 * heatStep(most / scale));
        }
      }
    }
  }
});
