// A seeded source of choices: the same seed gives the same requests on every machine.

/** Turns any text into a 32-bit seed (FNV-1a). */
export function seedOf(text) {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(String(text))) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/** Returns a function that returns floats in [0, 1). */
export function mulberry32(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export class Random {
  #next;

  constructor(seed) {
    this.#next = mulberry32(seedOf(seed));
  }

  /** A float in [0, 1). */
  next() {
    return this.#next();
  }

  /** An integer in [low, high], both included. */
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(probability) {
    return this.next() < probability;
  }

  pick(list) {
    return list[Math.floor(this.next() * list.length)];
  }

  /** Picks from [[weight, choice], ...]; a choice that is a function is called. */
  weighted(choices) {
    let total = 0;
    for (const [weight] of choices) total += weight;
    let at = this.next() * total;
    for (const [weight, choice] of choices) {
      at -= weight;
      if (at < 0) return typeof choice === 'function' ? choice() : choice;
    }
    throw new Error('weighted() needs at least one positive weight');
  }

  /** Up to `count` distinct elements in random order. */
  sample(list, count) {
    const rest = [...list];
    const taken = [];
    while (taken.length < count && rest.length > 0) {
      taken.push(rest.splice(Math.floor(this.next() * rest.length), 1)[0]);
    }
    return taken;
  }
}
