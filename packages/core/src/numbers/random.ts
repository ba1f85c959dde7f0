/**
 * The only source of randomness: sfc32 (Doty-Humphrey, PractRand), small, fast, and good enough to sample
 * workers. Every draw depends only on the seed, so every run can be reproduced.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  private constructor(a: number, b: number, c: number) {
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#counter = 1;
    // The first outputs still resemble the seed.
    for (let i = 0; i < 12; i++) this.nextUint32();
  }

  /** @param seed any string or number; equal seeds give equal streams */
  static seeded(seed: number | string): Random {
    const [a, b, c] = hash128(String(seed));
    return new Random(a, b, c);
  }

  /** An independent stream for one party or purpose. Does not advance this stream. */
  fork(label: string | number): Random {
    const [a, b, c] = hash128(`${this.#a},${this.#b},${this.#c}/${label}`);
    return new Random(a, b, c);
  }

  /** Uniform in 0 … 2^32 − 1. */
  nextUint32(): number {
    const a = this.#a;
    const b = this.#b;
    const c = this.#c;
    const result = (a + b + this.#counter) | 0;
    // The state consists of 32-bit integers, which the engine keeps unboxed.
    this.#counter = (this.#counter + 1) | 0;
    this.#a = b ^ (b >>> 9);
    this.#b = (c + (c << 3)) | 0;
    this.#c = (((c << 21) | (c >>> 11)) + result) | 0;
    return result >>> 0;
  }

  /** Uniform in [0, 1), with 32 bits. */
  next(): number {
    return this.nextUint32() / 4294967296;
  }
}

/** cyrb128: spreads a string over the three words of a seed. */
function hash128(text: string): [number, number, number] {
  let h1 = 1779033703;
  let h2 = 3144134277;
  let h3 = 1013904242;
  let h4 = 2773480762;
  for (let i = 0; i < text.length; i++) {
    const k = text.charCodeAt(i);
    h1 = h2 ^ Math.imul(h1 ^ k, 597399067);
    h2 = h3 ^ Math.imul(h2 ^ k, 2869860233);
    h3 = h4 ^ Math.imul(h3 ^ k, 951274213);
    h4 = h1 ^ Math.imul(h4 ^ k, 2716044179);
  }
  h1 = Math.imul(h3 ^ (h1 >>> 18), 597399067);
  h2 = Math.imul(h4 ^ (h2 >>> 22), 2869860233);
  h3 = Math.imul(h1 ^ (h3 >>> 17), 951274213);
  return [h1 ^ h2 ^ h3, h2, h3];
}

/** Uniform in 0 … count − 1. */
export function drawIndex(source: { random(): number }, count: number): number {
  return Math.floor(source.random() * count);
}

/**
 * Draws `wanted` distinct numbers from 0 … count − 1, in an order that is not random. Floyd's algorithm: one
 * draw per number, for any range.
 */
export function drawDistinct(source: { random(): number }, count: number, wanted: number): number[] {
  const drawn = new Set<number>();
  for (let top = count - wanted; top < count; top++) {
    const number = drawIndex(source, top + 1);
    drawn.add(drawn.has(number) ? top : number);
  }
  return [...drawn];
}

/**
 * One step of a Fisher–Yates shuffle, in place. @returns a random item of those from `place` on, which has
 * moved to `place`
 */
export function drawTo<T>(
  place: number,
  items: { readonly length: number; [place: number]: T },
  source: { random(): number },
): T {
  const from = place + drawIndex(source, items.length - place);
  const drawn = items[from]!;
  items[from] = items[place]!;
  items[place] = drawn;
  return drawn;
}
