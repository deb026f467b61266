// Random values from a seed, so that a failure can be played again.
import { type AttributeValue, type Item, itemOf } from '../src/model/value.ts';

export class Random {
  constructor(private state: number) {}

  // 0 to n - 1. Mulberry32.
  below(n: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * n) | 0;
  }

  pick<T>(all: readonly T[]): T {
    return all[this.below(all.length)] as T;
  }
}

const kTexts = [
  '',
  'a',
  'line\nbreak',
  '"quoted"',
  '<b>',
  '\u202etext',
  'π',
  '😀',
  '__proto__',
  '0',
];
const kNumbers = [
  '0',
  '-1',
  '12345678901234567890123456789012345678',
  '1E-130',
  '9.9E+125',
  '9007199254740993',
  '0.1',
];
const kBinaries = ['', 'AA==', 'iVBORw0KGgo='];
const kNames = ['a', 'b.c', 'with space', '__proto__', 'constructor', 'toString', '[0]', 'ü'];

export function randomValue(random: Random, depth = 0): AttributeValue {
  switch (random.below(depth > 2 ? 8 : 10)) {
    case 0:
    case 1:
      return { S: random.pick(kTexts) };
    case 2:
      return { N: random.pick(kNumbers) };
    case 3:
      return { B: random.pick(kBinaries) };
    case 4:
      return { BOOL: random.below(2) === 0 };
    case 5:
      return { NULL: true };
    case 6:
      return { SS: [...new Set([random.pick(kTexts), random.pick(kTexts)])] };
    case 7:
      return random.below(2) === 0 ? { NS: ['1', '0.5'] } : { BS: ['AA==', 'AQ=='] };
    case 8:
      return { L: Array.from({ length: random.below(4) }, () => randomValue(random, depth + 1)) };
    default:
      return { M: randomItem(random, depth + 1) };
  }
}

export function randomItem(random: Random, depth = 0): Item {
  const entries: [string, AttributeValue][] = [];
  for (let i = random.below(5); i > 0; --i)
    entries.push([random.pick(kNames), randomValue(random, depth)]);
  return itemOf(entries);
}

// The item with some places changed, added or removed.
export function changed(random: Random, item: Item): Item {
  const out = itemOf(Object.keys(item).map((name) => [name, item[name] as AttributeValue]));
  for (let i = random.below(3); i >= 0; --i) {
    const name = random.pick(kNames);
    const old = Object.hasOwn(out, name) ? out[name] : undefined;
    if (old && 'M' in old && random.below(2) === 0) out[name] = { M: changed(random, old.M) };
    else if (old && 'L' in old && old.L.length > 0 && random.below(2) === 0)
      out[name] = { L: old.L.with(random.below(old.L.length), randomValue(random, 2)) };
    else if (old && random.below(3) === 0) delete out[name];
    else out[name] = randomValue(random, 1);
  }
  return out;
}
