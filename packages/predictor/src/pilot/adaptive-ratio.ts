import { meanOf } from '@goshawk/core';

/** Jobs that try out each of the first ratios, and scores that are kept of each ratio (SLearn §5.1.2: T = 100). */
const JOBS_A_RATIO = 100;
/** Tried out first, in this order; in percent (SLearn Figure 4). */
const TRIED = [3, 2, 4] as const;
/** So much better must one step be than the ratio in the middle for the next step to be tried. */
const STEP = 1.1;

/**
 * The sampling ratio that has lately served jobs best (SLearn Figure 4): a job's score is its run time over the
 * mean run time of its tasks, which does not depend on how much work it was, and the ratio of the least mean
 * score is chosen. Where 2% is best by far, 1% is tried, and where 4% is, 5%.
 */
export class AdaptiveRatio {
  /** Jobs that a ratio was chosen for, until all were tried out. */
  #chosen = 0;
  /** Scores of the last finished jobs, by ratio in percent. */
  readonly #scores = new Map<number, number[]>();

  /** For the next job. In percent. */
  choose(): number {
    const tried = TRIED[Math.floor(this.#chosen / JOBS_A_RATIO)];
    if (tried !== undefined) {
      this.#chosen++;
      return tried;
    }
    let best: number = TRIED[0];
    let least = Number.POSITIVE_INFINITY;
    for (const [percent, scores] of this.#scores) {
      const score = meanOf(scores);
      // Among equals the smaller ratio wins: it uses less of the cluster before anything is known.
      if (score > least || (score === least && percent > best)) continue;
      least = score;
      best = percent;
    }
    const middle = meanOf(this.#scores.get(3) ?? []);
    if (best === 2 && STEP * least < middle) return 1;
    if (best === 4 && STEP * least < middle) return 5;
    return best;
  }

  /** A job that was sampled at this ratio has finished. */
  finished(percent: number, score: number): void {
    let scores = this.#scores.get(percent);
    if (scores === undefined) {
      scores = [];
      this.#scores.set(percent, scores);
    }
    scores.push(score);
    if (scores.length > JOBS_A_RATIO) scores.shift();
  }

  save(): SavedRatio {
    return { chosen: this.#chosen, scores: [...this.#scores] };
  }

  load({ chosen, scores }: SavedRatio): void {
    this.#chosen = chosen;
    this.#scores.clear();
    for (const [percent, of] of scores) this.#scores.set(percent, [...of].slice(-JOBS_A_RATIO));
  }
}

interface SavedRatio {
  readonly chosen: number;
  readonly scores: readonly (readonly [percent: number, scores: readonly number[]])[];
}
