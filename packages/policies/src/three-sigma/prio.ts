import { type Millis, mayRun } from '@goshawk/core';
import type { CentralPolicy, ClusterView, Draft, News, RunView, StageView } from '../contract.js';
import {
  freeWorkers,
  groupWorkers,
  hasPreference,
  isPreferred,
  runningStages,
  type WorkerGroup,
} from './cluster.js';
import { Gangs } from './gangs.js';
import type { ThreeSigmaOptions } from './settings.js';

/**
 * Jobs with a deadline before all others (3Sigma §5, `Prio`): by arrival, where they fit; else best-effort jobs are
 * killed for them, the latest start first. Nothing is estimated, and nothing waits for workers that it prefers.
 */
export class Prio implements CentralPolicy {
  readonly #options: ThreeSigmaOptions;
  readonly #gangs: Gangs;
  /** For which others were killed. */
  #awaited: StageView[] = [];
  #lastCycle = Number.NEGATIVE_INFINITY;
  #hasChanged = false;

  constructor(options: ThreeSigmaOptions) {
    this.#options = options;
    this.#gangs = new Gangs(options, { estimates: 'point', lateWorth: 'never' });
  }

  heard(news: readonly News[]): void {
    for (const each of news) {
      this.#hasChanged = true;
      if (each.kind === 'ended') this.#gangs.ended(each.run);
    }
  }

  plan(cluster: ClusterView, draft: Draft, now: Millis): void {
    const pending = this.#gangs.waiting(cluster, now);
    if (pending.length === 0 || !this.#hasChanged) return;
    const groups = groupWorkers(cluster, pending);
    this.#awaited = this.#awaited.filter(
      (stage) => pending.includes(stage) && !startIn(stage, groups, draft),
    );
    const due = this.#lastCycle + this.#options.cycleMs;
    if (now < due) {
      draft.again(due);
      return;
    }
    this.#lastCycle = now;
    this.#hasChanged = false;
    if (this.#gangs.killed.size === 0) this.#awaited = [];
    this.#gangs.killAgain(draft);
    const urgent = pending.filter(({ job }) => this.#gangs.isInTime(job, now));
    for (const stage of urgent) this.#startUrgent(stage, groups, cluster, draft, now);
    for (const stage of pending) {
      const isLeft = stage.waiting > 0 && !this.#gangs.isInTime(stage.job, now);
      if (isLeft && this.#roomFor(stage, groups) >= stage.waiting) startIn(stage, groups, draft);
    }
  }

  /** Free nodes and those that are being made free, less what is awaited. */
  #roomFor(stage: StageView, groups: readonly WorkerGroup[]): number {
    const free = groups.reduce(
      (sum, group) => sum + freeWorkers(group, stage, Number.POSITIVE_INFINITY).length,
      countAt(this.#gangs.killed, stage),
    );
    return this.#awaited.reduce((left, { waiting }) => left - waiting, free);
  }

  /** Where it does not fit, best-effort jobs are killed, the latest first: as many as it takes, or none. */
  #startUrgent(
    stage: StageView,
    groups: readonly WorkerGroup[],
    cluster: ClusterView,
    draft: Draft,
    now: Millis,
  ): void {
    if (stage.waiting === 0 || this.#awaited.includes(stage)) return;
    let missing = stage.waiting - this.#roomFor(stage, groups);
    if (missing <= 0 && startIn(stage, groups, draft)) return;
    const victims: RunView[] = [];
    const latestFirst = runningStages(cluster.jobs)
      .filter(
        ({ stage: other, runs }) =>
          !this.#gangs.isInTime(other.job, now) && !this.#gangs.killed.has(runs[0]!),
      )
      .sort((a, b) => b.startedAt - a.startedAt);
    for (const { runs } of latestFirst) {
      if (missing <= 0) break;
      const made = countAt(runs, stage);
      if (made === 0) continue;
      victims.push(...runs);
      missing -= made;
    }
    if (missing > 0) return;
    this.#awaited.push(stage);
    for (const run of victims) this.#gangs.kill(run, draft);
  }
}

/** Runs that make room for the stage when they end. */
function countAt(runs: Iterable<RunView>, stage: StageView): number {
  let count = 0;
  for (const { worker } of runs) if (worker.open && mayRun(worker, stage)) count++;
  return count;
}

/** On workers that it prefers, else anywhere, at once. */
function startIn(stage: StageView, groups: readonly WorkerGroup[], draft: Draft): boolean {
  const { job, waiting } = stage;
  const preferred = groups.filter(({ workers }) => isPreferred(job.prefers, workers[0]!));
  return (hasPreference(job) ? [preferred, groups] : [groups]).some((within) => {
    const workers = within.flatMap((group) => freeWorkers(group, stage, waiting)).slice(0, waiting);
    return (
      workers.length === waiting && draft.gang(workers.map((worker) => ({ stage, worker }))) !== undefined
    );
  });
}
