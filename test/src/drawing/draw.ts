import { drawIndex, Random } from '@goshawk/core';

/** Random numbers for one purpose, independent of those for others. */
export class Draw {
  readonly #random: Random;

  constructor(seed: string) {
    this.#random = Random.seeded(seed);
  }

  random(): number {
    return this.#random.next();
  }

  /** Uniform in from … to, whole numbers. */
  int(from: number, to: number): number {
    return from + drawIndex(this, to - from + 1);
  }

  /** Uniform in its logarithm, so that small ones are as likely as large ones. */
  scale(from: number, to: number): number {
    return Math.round(from * (to / from) ** this.random());
  }

  pick<T>(of: readonly T[]): T {
    return of[drawIndex(this, of.length)]!;
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }
}
