import { invariant, type Millis } from '@goshawk/core';
import { hasPreference, isPreferredAt, type JobView, type StageView } from '@goshawk/policies';
import { isInTime, isRemnant, type RunningStage, slowdownOf, type WorkerGroup } from './cluster.js';
import { type Distribution, longest, mean, pointDistribution, scale } from './distribution.js';
import type { PendingGang, RunningGang, Space } from './problem.js';
import type { PolicyVariant, ThreeSigmaOptions } from './settings.js';
import {
  chanceWithin,
  decreasingUtility,
  expectedUtility,
  extendedUtility,
  stepUtility,
  type Utility,
} from './utility.js';

/** Converts jobs and runs of the books to those of a plan, with estimates and values. */
export class Gangs {
  readonly #options: ThreeSigmaOptions;
  readonly #variant: PolicyVariant;
  /** Jobs that have a value after their deadline; decided once, when each is first seen (§4.2.3). */
  readonly #valueAfterDeadline = new Map<JobView, boolean>();

  constructor(options: ThreeSigmaOptions, variant: PolicyVariant) {
    this.#options = options;
    this.#variant = variant;
  }

  forget(job: JobView): void {
    this.#valueAfterDeadline.delete(job);
  }

  /** Run times of the stage on workers that it prefers. */
  distributionOf({ distribution, estimateMs }: StageView): Distribution {
    if (this.#variant.estimates === 'distribution' && distribution !== undefined) return distribution;
    return pointDistribution(estimateMs > 0 ? estimateMs : this.#options.defaultRuntimeMs);
  }

  /**
   * Whether the job can no longer meet its deadline and has no value after it, so that no plan includes the
   * job.
   */
  isTooLate(stage: StageView, now: Millis): boolean {
    const { job } = stage;
    if (isRemnant(stage) || !isInTime(job, now)) return false;
    const distribution = this.distributionOf(stage);
    return expectedUtility(this.#utility(job, distribution, true), distribution, now) <= 0;
  }

  /**
   * @param windowEnd end of the plan
   * @param mayStartNow whether the stage has room now, or running tasks may be preempted for it
   */
  pending(
    stage: StageView,
    groups: readonly WorkerGroup[],
    now: Millis,
    windowEnd: Millis,
    mayStartNow: boolean,
  ): PendingGang {
    const { job } = stage;
    const distribution = this.distributionOf(stage);
    const inTime = isInTime(job, now);
    const whole = !isRemnant(stage);
    return {
      nodes: stage.waiting,
      spaces: whole ? this.#spaces(stage, groups) : [{ partitions: allowed(stage, groups), slowdown: 1 }],
      utility: whole ? this.#utility(job, distribution, inTime) : constantUtility(this.#valueOf(job)),
      distribution,
      startsBefore: whole && inTime ? job.deadlineAt : Number.POSITIVE_INFINITY,
      mustStartNow: !whole,
      mayStartNow,
      deferral:
        whole && inTime
          ? this.#options.deferral *
            this.#valueOf(job) *
            chanceWithin(distribution, job.deadlineAt - windowEnd)
          : 0,
    };
  }

  running(
    stage: RunningStage,
    groupOf: ReadonlyMap<object, number>,
    groups: number,
    now: Millis,
  ): RunningGang {
    const nodes = new Array<number>(groups).fill(0);
    for (const { worker } of stage.runs) {
      const group = groupOf.get(worker);
      if (group !== undefined) nodes[group]! += 1;
    }
    const elapsed = Math.max(0, now - stage.startedAt);
    const distribution = this.distributionOf(stage.stage);
    // A preempted gang is assumed to keep its nodes for one more cycle, until its end is reported.
    if (stage.runs.some(({ isPreempted }) => isPreempted)) {
      return {
        nodes,
        distribution: pointDistribution(elapsed + this.#options.cycleMs),
        elapsed,
        preemptCost: undefined,
      };
    }
    return {
      nodes,
      distribution: scale(distribution, slowdownOf(stage, this.#options.slowdown)),
      elapsed,
      preemptCost: isInTime(stage.stage.job, now)
        ? undefined
        : this.#options.vBe * (1 + elapsed / (elapsed + mean(distribution))),
    };
  }

  #spaces(stage: StageView, groups: readonly WorkerGroup[]): Space[] {
    const { job } = stage;
    const anywhere = allowed(stage, groups);
    if (!hasPreference(job)) return [{ partitions: anywhere, slowdown: 1 }];
    const preferred = anywhere.filter((index) => isPreferredAt(job, groups[index]!.workers[0]!));
    const { slowdown } = this.#options;
    if (preferred.length === anywhere.length) return [{ partitions: anywhere, slowdown: 1 }];
    if (preferred.length === 0) return [{ partitions: anywhere, slowdown }];
    return [
      { partitions: preferred, slowdown: 1 },
      { partitions: anywhere, slowdown },
    ];
  }

  #valueOf({ value, deadlineAt }: JobView): number {
    if (!Number.isFinite(deadlineAt)) return this.#options.vBe;
    return value > 0 ? value : this.#options.vSlo;
  }

  #utility(job: JobView, distribution: Distribution, inTime: boolean): Utility {
    const { vBe, beLengthMs, beFloor, tail, slowdown } = this.#options;
    const { arrivedAt, deadlineAt } = job;
    if (!inTime) {
      const since = Number.isFinite(deadlineAt) ? deadlineAt : arrivedAt;
      return decreasingUtility(since, beLengthMs, vBe, beFloor);
    }
    if (!this.#hasValueAfterDeadline(job, distribution)) return stepUtility(deadlineAt, this.#valueOf(job));
    const slowest = longest(distribution) * (hasPreference(job) ? slowdown : 1);
    const zero = deadlineAt + Math.max(deadlineAt - arrivedAt, slowest);
    return extendedUtility(deadlineAt, zero, this.#valueOf(job), tail);
  }

  #hasValueAfterDeadline(job: JobView, distribution: Distribution): boolean {
    let worth = this.#valueAfterDeadline.get(job);
    if (worth === undefined) {
      worth = this.#decideValueAfterDeadline(job, distribution);
      this.#valueAfterDeadline.set(job, worth);
    }
    return worth;
  }

  /**
   * The time from submission to deadline is a proxy for the longest run time that the owner expects (§4.2.3).
   */
  #decideValueAfterDeadline({ deadlineAt, arrivedAt }: JobView, distribution: Distribution): boolean {
    switch (this.#variant.valueAfterDeadline) {
      case 'never':
        return false;
      case 'always':
        return true;
      case 'adaptive':
        return chanceWithin(distribution, deadlineAt - arrivedAt) < this.#options.oeThreshold;
    }
  }
}

/** Groups that meet the requirements of the stage. */
function allowed(stage: StageView, groups: readonly WorkerGroup[]): number[] {
  return [...groups.keys()].filter((index) => stage.needs.permits(groups[index]!.workers[0]!));
}

function constantUtility(value: number): Utility {
  return [{ until: Number.POSITIVE_INFINITY, at: value, slope: 0 }];
}

/**
 * Limits the best-effort stages of a plan: half have waited longest, and half have the fewest tasks among the rest, those
 * with room first. Old wide stages alone would leave small gaps empty, and stages that wait for one resource would leave
 * the others idle.
 */
export function pruned(
  bestEffort: readonly StageView[],
  most: number,
  hasRoomNow: (stage: StageView) => boolean,
): StageView[] {
  invariant(most >= 2, 'a plan considers at least two best-effort jobs');
  if (bestEffort.length <= most) return [...bestEffort];
  const oldest = Math.ceil(most / 2);
  const narrow = bestEffort.slice(oldest).sort((a, b) => a.waiting - b.waiting);
  const ready = narrow.filter(hasRoomNow).slice(0, most - oldest);
  const chosen = new Set(ready);
  const others = narrow.filter((stage) => !chosen.has(stage));
  return [...bestEffort.slice(0, oldest), ...ready, ...others.slice(0, most - oldest - ready.length)];
}
