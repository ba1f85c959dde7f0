import type { Random } from '@goshawk/core';
import { integer } from './draws.js';

/**
 * Uniform numbers in [0, 1) of which every run of `strata` holds one from each `1/strata`-th of the
 * interval, in random order. A sample drawn through them has nearly the percentiles and shares of the
 * distribution itself, where independent draws of a heavy-tailed one would scatter widely: in 50,000
 * long jobs of the Google workload, about fifty hold a quarter of all task seconds.
 */
export class StratifiedUniform {
  readonly #random: Random;
  readonly #order: Uint16Array;
  #next = 0;

  /** @param strata at most 65,536 */
  constructor(random: Random, strata: number) {
    this.#random = random;
    this.#order = Uint16Array.from({ length: strata }, (_, stratum) => stratum);
  }

  draw(): number {
    const order = this.#order;
    // One step of Fisher–Yates a draw: any order that is left over from the last round will do.
    const picked = this.#next + integer(this.#random, order.length - this.#next);
    const stratum = order[picked]!;
    order[picked] = order[this.#next]!;
    order[this.#next] = stratum;
    this.#next = (this.#next + 1) % order.length;
    return (stratum + this.#random.next()) / order.length;
  }
}
