import type { Millis } from '@goshawk/core';
import type { RunView, StageView } from '@goshawk/policies';

/** Estimate before any run has ended. */
const FIRST_GUESS_MS = 1_000;
/** Maximum divisor of the moving average: a new run counts 1 / (number of runs), and at least 1 / this. */
const MEAN_DIVISOR_MAX = 100;

/**
 * Estimates the duration of a stage's tasks: the owner's estimate, else the mean of its ended runs, else that
 * of all ended runs.
 */
export class Durations {
  #meanMs = FIRST_GUESS_MS;
  #count = 0;

  /** @returns integer ms, at least 1 */
  of(stage: StageView, own: MeanRun): Millis {
    if (stage.estimateMs > 0) return wholeMs(stage.estimateMs);
    return wholeMs(own.count > 0 ? own.sumMs / own.count : this.#meanMs);
  }

  ended({ startedAt }: RunView, own: MeanRun, now: Millis): void {
    const ranMs = Math.max(0, now - startedAt);
    own.count++;
    own.sumMs += ranMs;
    this.#count = Math.min(MEAN_DIVISOR_MAX, this.#count + 1);
    this.#meanMs += (ranMs - this.#meanMs) / this.#count;
  }
}

/** Ended runs of one stage. */
interface MeanRun {
  count: number;
  sumMs: Millis;
}

/** Rounds to integer ms, so that times that should be equal compare as equal. */
export function wholeMs(ms: Millis): Millis {
  return Math.max(1, Math.round(ms));
}
