/**
 * A small seeded generator (sfc32 by Chris Doty-Humphrey): the same seed gives the same numbers on
 * every machine. `fork(label)` gives a stream of its own that depends on the seed and the labels
 * alone, never on what was drawn before, so that drawing more in one place shifts nothing elsewhere.
 */
export class Random {
  readonly #key: string;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;
  #spareNormal: number | undefined;

  constructor(seed: number | string) {
    this.#key = String(seed);
    [this.#a, this.#b, this.#c] = hash96(this.#key);
    // The first outputs of near-equal seeds are alike; the generator's author discards twelve.
    for (let i = 0; i < 12; i++) this.uint32();
  }

  fork(label: string): Random {
    return new Random(`${this.#key}/${label}`);
  }

  /** Uniform integer in [0, 2^32). */
  uint32(): number {
    const result = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + result) | 0;
    return result;
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    return this.uint32() / 0x1_0000_0000;
  }

  /** Uniform integer in [0, bound), `bound` at most 2^32. */
  integer(bound: number): number {
    return Math.floor(this.uniform() * bound);
  }

  /** Exponential with the given mean. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.uniform());
  }

  /** Standard normal, by Marsaglia's polar method. */
  normal(): number {
    const spare = this.#spareNormal;
    if (spare !== undefined) {
      this.#spareNormal = undefined;
      return spare;
    }
    for (;;) {
      const x = 2 * this.uniform() - 1;
      const y = 2 * this.uniform() - 1;
      const square = x * x + y * y;
      if (square >= 1 || square === 0) continue;
      const factor = Math.sqrt((-2 * Math.log(square)) / square);
      this.#spareNormal = y * factor;
      return x * factor;
    }
  }

  /** Shuffles in place (Fisher–Yates) and returns the same array. */
  shuffle<T extends { [index: number]: unknown; readonly length: number }>(items: T): T {
    for (let i = items.length - 1; i > 0; i--) {
      const j = this.integer(i + 1);
      const swapped = items[i];
      items[i] = items[j];
      items[j] = swapped;
    }
    return items;
  }
}

/** Three well-mixed words from a text: FNV-1a with three primes, each finished by murmur3's mixer. */
function hash96(text: string): [number, number, number] {
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  let c = 0x85ebca6b;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
    c = Math.imul(c ^ code, 0xc2b2ae35);
  }
  return [mix(a), mix(b ^ a), mix(c ^ b)];
}

function mix(word: number): number {
  let x = word;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}
