import type { Millis } from '@goshawk/core';
import type { RunEnd, RunView, StageView } from './contract.js';

/** Weight of each ended task in the moving mean of recent run times. */
const RECENT_WEIGHT = 1 / 50;
/** Weight of the owner's estimate, in observed tasks. */
const PRIOR_TASKS = 1;

/** Observed tasks of one stage. */
interface Observed {
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
export class RunTimeEstimates {
  /** Weak keys: an entry lives as long as its stage in the books. */
  readonly #observed = new WeakMap<StageView, Observed>();
  #recentMs: Millis = 0;

  started({ stage, startedAt }: RunView): void {
    const observed = this.#observedOf(stage);
    observed.running++;
    observed.startedMs += startedAt;
  }

  /** The run was paused for this time, which does not count. */
  resumed({ stage }: RunView, pausedMs: Millis): void {
    this.#observedOf(stage).startedMs += pausedMs;
  }

  ended(run: RunView, how: RunEnd, now: Millis): void {
    const { stage, startedAt } = run;
    const observed = this.#observedOf(stage);
    observed.running--;
    observed.startedMs -= startedAt + run.pausedMs(now);
    if (how !== 'done') return;
    const ranMs = Math.max(0, now - startedAt - run.pausedMs(now));
    observed.ended++;
    observed.endedMs += ranMs;
    this.#recentMs += (ranMs - this.#recentMs) * (this.#recentMs === 0 ? 1 : RECENT_WEIGHT);
  }

  /** Estimated mean run time of the stage's tasks. */
  taskMs(stage: StageView, now: Millis): Millis {
    const { estimateMs } = stage;
    const observed = this.#observed.get(stage);
    if (observed === undefined) return estimateMs > 0 ? estimateMs : this.#recentMs;
    const observedMs = observed.endedMs + observed.running * now - observed.startedMs;
    const tasks = observed.ended + observed.running;
    if (estimateMs > 0)
      return Math.max(estimateMs, (PRIOR_TASKS * estimateMs + observedMs) / (PRIOR_TASKS + tasks));
    return observed.ended > 0
      ? observedMs / tasks
      : Math.max(this.#recentMs, tasks > 0 ? observedMs / tasks : 0);
  }

  /** When the run is expected to end. A run that is overdue by some time is expected to take as much longer. */
  endOf(run: RunView, now: Millis): Millis {
    const { borrower } = run;
    // A paused run continues when its borrower ends, and pauses move its end.
    if (borrower !== undefined) return this.endOf(borrower, now) - now + this.#endIfRunning(run, now);
    return this.#endIfRunning(run, now);
  }

  #endIfRunning(run: RunView, now: Millis): Millis {
    const { stage } = run;
    const startedAt = run.startedAt + run.pausedMs(now);
    const ranMs = now - startedAt;
    const expectedMs = stage.estimateMs > 0 ? stage.estimateMs : this.#usualMs(stage);
    const known = ranMs < expectedMs ? undefined : meanBeyond(stage, ranMs);
    if (known !== undefined) return startedAt + known;
    return Math.max(now + 1, startedAt + expectedMs, now + ranMs - expectedMs);
  }

  /** Mean run time of ended tasks: of the stage, or of recent ones. Running tasks would always be expected to end at once. */
  #usualMs(stage: StageView): Millis {
    const { ended = 0, endedMs = 0 } = this.#observed.get(stage) ?? {};
    return ended > 0 ? endedMs / ended : this.#recentMs;
  }

  #observedOf(stage: StageView): Observed {
    let observed = this.#observed.get(stage);
    if (observed === undefined) {
      observed = { ended: 0, endedMs: 0, running: 0, startedMs: 0 };
      this.#observed.set(stage, observed);
    }
    return observed;
  }
}

/** Mean total run time of tasks that take longer than `ranMs`, by the distribution; undefined: unknown. */
function meanBeyond({ distribution = [] }: StageView, ranMs: Millis): Millis | undefined {
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
