import { InputError, type Millis } from '@goshawk/core';
import type { ArrivingJob, Judgement } from './estimator.js';
import { estimateOfStages } from './stages.js';
import { Stateless } from './stateless.js';

/** The true mean times U(low, high), drawn once a job (Hawk Figure 14), and once a stage of jobs of several. */
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

  judge(job: ArrivingJob): Judgement {
    const { trueMeanMs, stages } = job;
    if (trueMeanMs === undefined) return { kind: 'unknown' };
    const noisy = (ms: Millis) => ms * (this.#low + (this.#high - this.#low) * this.#random());
    if (stages === undefined)
      return { kind: 'estimate', estimate: { meanMs: noisy(trueMeanMs), by: this.name } };
    const stagesMs = stages.map((stage) => noisy(stage.trueMeanMs ?? trueMeanMs));
    return { kind: 'estimate', estimate: estimateOfStages(job, stagesMs, this.name) };
  }
}
