import { InputError } from '@goshawk/core';
import type { ArrivingJob, Judgement } from './estimator.js';
import { Stateless } from './stateless.js';

/** The true mean times U(low, high), drawn once a job (Hawk Figure 14). */
export class Noisy extends Stateless {
  readonly #low: number;
  readonly #high: number;
  readonly #random: () => number;

  /**
   * @param range `0.1-1.9`
   * @throws InputError for anything else
   */
  constructor(range: string, random: () => number) {
    super(`noisy:${range}`);
    const parts = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(range);
    this.#low = Number(parts?.[1]);
    this.#high = Number(parts?.[2]);
    this.#random = random;
    if (parts === null || this.#low > this.#high) {
      const wrong = parts === null ? `"${range}" is no range` : `${this.#low} is above ${this.#high}`;
      throw new InputError('bad-option', `--estimator: noisy:${range}: ${wrong}`, 'write noisy:0.1-1.9');
    }
  }

  judge({ trueMeanMs }: ArrivingJob): Judgement {
    if (trueMeanMs === undefined) return { kind: 'unknown' };
    const factor = this.#low + (this.#high - this.#low) * this.#random();
    return { kind: 'estimate', estimate: { meanMs: trueMeanMs * factor, by: this.name } };
  }
}
