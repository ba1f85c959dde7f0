import type { Millis } from '@goshawk/core';
import type { RunEnd, RunView, StageView } from './contract.js';

/** Decay of the mean of recent tasks, per task that ends. */
const FORGOTTEN = 1 / 50;
/** The owner's estimate weighs as much as this many observed tasks. */
const PRIOR_TASKS = 1;

/** Observed tasks of one stage. */
interface Seen {
  ended: number;
  endedMs: Millis;
  running: number;
  /** Sum of their start times. */
  startedMs: Millis;
}

/**
 * Estimates how long tasks run: the owner's estimate, raised by observations of the stage. A running task proves that
 * it takes at least as long as it has run. Without an owner's estimate the mean of the stage counts, and without that
 * the mean of recent tasks.
 */
export class Beliefs {
  /** Kept as long as the books keep the stage. */
  readonly #seen = new WeakMap<StageView, Seen>();
  #recentMs: Millis = 0;

  started({ stage, startedAt }: RunView): void {
    const seen = this.#seenOf(stage);
    seen.running++;
    seen.startedMs += startedAt;
  }

  ended({ stage, startedAt }: RunView, how: RunEnd, now: Millis): void {
    const seen = this.#seenOf(stage);
    seen.running--;
    seen.startedMs -= startedAt;
    if (how !== 'done') return;
    const ranMs = Math.max(0, now - startedAt);
    seen.ended++;
    seen.endedMs += ranMs;
    this.#recentMs += (ranMs - this.#recentMs) * (this.#recentMs === 0 ? 1 : FORGOTTEN);
  }

  /** Estimated mean run time of the stage's tasks. */
  taskMs(stage: StageView, now: Millis): Millis {
    const { estimateMs } = stage;
    const seen = this.#seen.get(stage);
    if (seen === undefined) return estimateMs > 0 ? estimateMs : this.#recentMs;
    const shownMs = seen.endedMs + seen.running * now - seen.startedMs;
    const tasks = seen.ended + seen.running;
    if (estimateMs > 0)
      return Math.max(estimateMs, (PRIOR_TASKS * estimateMs + shownMs) / (PRIOR_TASKS + tasks));
    return seen.ended > 0 ? shownMs / tasks : Math.max(this.#recentMs, tasks > 0 ? shownMs / tasks : 0);
  }

  /** When the run is expected to end. A run that is overdue by some time is expected to take as much longer. */
  endOf({ stage, startedAt }: RunView, now: Millis): Millis {
    const ranMs = now - startedAt;
    const lastsMs = stage.estimateMs > 0 ? stage.estimateMs : this.taskMs(stage, now);
    const known = ranMs < lastsMs ? undefined : beyond(stage, ranMs);
    if (known !== undefined) return startedAt + known;
    return Math.max(now + 1, startedAt + lastsMs, now + ranMs - lastsMs);
  }

  #seenOf(stage: StageView): Seen {
    let seen = this.#seen.get(stage);
    if (seen === undefined) {
      seen = { ended: 0, endedMs: 0, running: 0, startedMs: 0 };
      this.#seen.set(stage, seen);
    }
    return seen;
  }
}

/** Mean total run time of tasks that take longer than `ranMs`, by the distribution; undefined: unknown. */
function beyond({ distribution = [] }: StageView, ranMs: Millis): Millis | undefined {
  let mass = 0;
  let sum = 0;
  for (const { from, to, p } of distribution) {
    if (to <= ranMs) continue;
    const least = Math.max(from, ranMs);
    const left = to > from ? (p * (to - least)) / (to - from) : p;
    mass += left;
    sum += (left * (least + to)) / 2;
  }
  return mass > 0 ? sum / mass : undefined;
}

/** Quantile of the run time by the distribution; without one, the estimate of the mean. */
export function quantileMs({ distribution = [], estimateMs }: StageView, part: number): Millis {
  let sum = 0;
  for (const { from, to, p } of distribution) {
    if (sum + p >= part && p > 0) return from + (to - from) * ((part - sum) / p);
    sum += p;
  }
  return distribution.length > 0 ? distribution[distribution.length - 1]!.to : estimateMs;
}
