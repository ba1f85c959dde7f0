import type { Millis } from '@goshawk/core';
import {
  type CentralPolicy,
  type ClusterChange,
  type ClusterView,
  type Draft,
  hasPreference,
  isPreferredAt,
  type RunView,
  type StageView,
  type WorkerView,
} from '@goshawk/policies';
import {
  freeWorkers,
  groupWorkers,
  isInTime,
  pendingStages,
  preemptedRuns,
  Rooms,
  runningStages,
  type WorkerGroup,
} from './cluster.js';
import type { ThreeSigmaOptions } from './settings.js';

/**
 * Jobs with a deadline precede all others (3Sigma §5, `Prio`), in order of arrival. If one does not fit,
 * best-effort jobs are preempted for it, latest start first. The policy uses no estimates, and no job waits
 * for preferred workers.
 */
export class Prio implements CentralPolicy {
  readonly #options: ThreeSigmaOptions;
  /** Stages for which tasks were preempted. */
  #awaited: StageView[] = [];
  #lastCycle = Number.NEGATIVE_INFINITY;
  #hasChanged = false;

  constructor(options: ThreeSigmaOptions) {
    this.#options = options;
  }

  update(changes: readonly ClusterChange[]): void {
    this.#hasChanged ||= changes.length > 0;
  }

  plan(cluster: ClusterView, draft: Draft, now: Millis): void {
    const pending = pendingStages(cluster, new Rooms(cluster), this.#options.afterDeadline, now);
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
    const preempted = preemptedRuns(cluster);
    if (preempted.length === 0) this.#awaited = [];
    // These runs were preempted at least a cycle ago and have not ended, so the message may have been lost.
    for (const run of preempted) draft.preempt(run);
    const urgent = pending.filter(({ job }) => isInTime(job, now));
    for (const stage of urgent) this.#startUrgent(stage, groups, cluster, draft, now);
    for (const stage of pending) {
      const isLeft = stage.waiting > 0 && !isInTime(stage.job, now);
      if (isLeft && this.#roomFor(stage, groups, cluster) >= stage.waiting) startIn(stage, groups, draft);
    }
  }

  /** Counts the tasks of the stage that fit free workers and workers being freed, less the tasks awaited there. */
  #roomFor(stage: StageView, groups: readonly WorkerGroup[], cluster: ClusterView): number {
    const free = roomWith(preemptedRuns(cluster), stage, groups);
    return this.#awaited.reduce((left, { waiting }) => left - waiting, free);
  }

  /** Starts the stage; if it does not fit, preempts best-effort jobs, latest first: as many as needed, or none. */
  #startUrgent(
    stage: StageView,
    groups: readonly WorkerGroup[],
    cluster: ClusterView,
    draft: Draft,
    now: Millis,
  ): void {
    if (stage.waiting === 0 || this.#awaited.includes(stage)) return;
    const room = this.#roomFor(stage, groups, cluster);
    if (room >= stage.waiting && startIn(stage, groups, draft)) return;
    const ending = preemptedRuns(cluster);
    const before = roomWith(ending, stage, groups);
    let missing = stage.waiting - room;
    const victims: RunView[] = [];
    const latestFirst = runningStages(cluster.jobs)
      .filter(({ stage: { job }, runs }) => !isInTime(job, now) && !runs[0]!.isPreempted)
      .sort((a, b) => b.startedAt - a.startedAt);
    for (const { runs } of latestFirst) {
      if (missing <= 0) break;
      victims.push(...runs);
      missing = stage.waiting - room - (roomWith([...ending, ...victims], stage, groups) - before);
    }
    if (missing > 0) return;
    this.#awaited.push(stage);
    for (const run of victims) draft.preempt(run);
  }
}

/**
 * Number of tasks of the stage that fit when these runs have ended; a slot without the demanded resources does not
 * count.
 */
function roomWith(ending: Iterable<RunView>, stage: StageView, groups: readonly WorkerGroup[]): number {
  const endingAt = new Map<WorkerView, RunView[]>();
  for (const run of ending) {
    const there = endingAt.get(run.worker);
    if (there === undefined) endingAt.set(run.worker, [run]);
    else there.push(run);
  }
  let room = 0;
  for (const { workers } of groups) {
    if (!stage.needs.permits(workers[0]!)) continue;
    for (const worker of workers) room += worker.roomFor(stage.demand, endingAt.get(worker));
  }
  return room;
}

/**
 * Starts all waiting tasks now, on preferred workers if these have room, otherwise on any workers.
 *
 * @returns whether the tasks started
 */
function startIn(stage: StageView, groups: readonly WorkerGroup[], draft: Draft): boolean {
  const { job, waiting } = stage;
  const preferred = groups.filter(({ workers }) => isPreferredAt(job, workers[0]!));
  return (hasPreference(job) ? [preferred, groups] : [groups]).some((within) => {
    const workers = within.flatMap((group) => freeWorkers(group, stage, waiting)).slice(0, waiting);
    return (
      workers.length === waiting && draft.gang(workers.map((worker) => ({ stage, worker }))) !== undefined
    );
  });
}
