import { meanOf } from '@goshawk/core';

/** Number of jobs that try each of the first ratios, and of scores kept per ratio (SLearn §5.1.2: T = 100). */
const JOBS_PER_RATIO = 100;
/** The ratios tried first, in order; in percent (SLearn Figure 4). */
const FIRST_RATIOS = [3, 2, 4] as const;
/** The next ratio is tried if the best one beats 3% by this factor. */
const STEP_FACTOR = 1.1;

/**
 * Chooses the sampling ratio that has recently served jobs best (SLearn Figure 4). A job's score is its completion time
 * "normalized by the job runtime" (§5.1.2), which is the total run time of its tasks; the ratio with the lowest mean score
 * is chosen. If 2% is clearly best, 1% is tried, and if 4% is, 5%.
 */
export class AdaptiveRatio {
  /** Number of jobs with a chosen ratio, until all ratios were tried. */
  #chosen = 0;
  /** Scores of recently finished jobs, by ratio in percent. */
  readonly #scores = new Map<number, number[]>();

  /** Returns the ratio for the next job, in percent. */
  choose(): number {
    const tried = FIRST_RATIOS[Math.floor(this.#chosen / JOBS_PER_RATIO)];
    if (tried !== undefined) {
      this.#chosen++;
      return tried;
    }
    let best: number = FIRST_RATIOS[0];
    let least = Number.POSITIVE_INFINITY;
    for (const [percent, scores] of this.#scores) {
      const score = meanOf(scores);
      // Ties go to the smaller ratio, which uses less of the cluster for sampling.
      if (score > least || (score === least && percent > best)) continue;
      least = score;
      best = percent;
    }
    const middle = meanOf(this.#scores.get(3) ?? []);
    if (best === 2 && STEP_FACTOR * least < middle) return 1;
    if (best === 4 && STEP_FACTOR * least < middle) return 5;
    return best;
  }

  /** Records the score of a finished job that was sampled at this ratio. */
  finished(percent: number, score: number): void {
    let scores = this.#scores.get(percent);
    if (scores === undefined) {
      scores = [];
      this.#scores.set(percent, scores);
    }
    scores.push(score);
    if (scores.length > JOBS_PER_RATIO) scores.shift();
  }

  save(): SavedRatio {
    return { chosen: this.#chosen, scores: [...this.#scores] };
  }

  load({ chosen, scores }: SavedRatio): void {
    this.#chosen = chosen;
    this.#scores.clear();
    for (const [percent, of] of scores) this.#scores.set(percent, [...of].slice(-JOBS_PER_RATIO));
  }
}

interface SavedRatio {
  readonly chosen: number;
  readonly scores: readonly (readonly [percent: number, scores: readonly number[]])[];
}
