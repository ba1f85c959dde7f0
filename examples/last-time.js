/** @import { ArrivingJob, EndedJob, Estimator, EstimatorKind, Prediction } from '@goshawk/predictor' */

/**
 * Predicts that a job takes as long as the last one of the same name.
 *
 * @implements {Estimator}
 */
class LastTime {
  name = 'last-time';
  savedCharactersMax = 1_000_000;
  /** @type {Map<string, number>} ms by name */
  #last = new Map();

  /** @param {ArrivingJob} job @returns {Prediction} */
  predict({ name, givenMs }) {
    const meanMs = this.#last.get(name) ?? givenMs;
    if (meanMs === undefined) return { kind: 'unknown' };
    return { kind: 'estimate', estimate: { meanMs, by: this.#last.has(name) ? 'last time' : 'given' } };
  }

  /** It never requests pilots. @returns {never} */
  weigh() {
    throw new Error('no pilots were asked for');
  }

  /** @param {EndedJob} ended */
  learn({ job, runsMs }) {
    if (runsMs.length === 0) return;
    this.#last.delete(job.name);
    this.#last.set(job.name, Array.from(runsMs).reduce((sum, ms) => sum + ms, 0) / runsMs.length);
    const oldest = this.#last.keys().next().value;
    if (this.#last.size > 2_000 && oldest !== undefined) this.#last.delete(oldest);
  }

  save() {
    return [...this.#last];
  }

  /** @param {unknown} saved */
  load(saved) {
    this.#last = new Map(/** @type {[string, number][]} */ (saved));
  }
}

/** @type {EstimatorKind} */
export default {
  title: 'as long as the last job of this name took',
  make: () => new LastTime(),
};
