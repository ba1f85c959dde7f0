import { formatAttributes, type Millis, mayRun, meetsWishes, SLOT } from '@goshawk/core';
import type { Attributes, ClusterView, JobView, RunView, StageView, WorkerView } from '@goshawk/policies';

/**
 * Workers that all jobs see alike, in order of id: they take work, and the same jobs prefer
 * them (3Sigma §4.3.3) and may run there.
 */
export interface WorkerGroup {
  /** For people: the attributes that jobs ask for. */
  readonly name: string;
  readonly workers: readonly WorkerView[];
  /** Slots. */
  readonly nodes: number;
}

/** Whether the worker has every attribute that is preferred. */
export function isPreferred(prefers: Attributes, { attributes }: WorkerView): boolean {
  return meetsWishes(prefers, attributes);
}

export function hasPreference({ prefers }: JobView): boolean {
  for (const _ in prefers) return true;
  return false;
}

/** Workers that take work, in groups. @param stages that may start there */
export function groupWorkers(cluster: ClusterView, stages: Iterable<StageView>): WorkerGroup[] {
  const wishes = new Map<string, Attributes>();
  for (const { job, requires = {} } of stages) {
    for (const wish of [job.prefers, requires]) {
      const text = formatAttributes(wish);
      if (text !== '') wishes.set(text, wish);
    }
  }
  const all = [...wishes.values()];
  const names = [...new Set(all.flatMap((wish) => Object.keys(wish)))].sort();
  const groups = new Map<string, { name: string; workers: WorkerView[]; nodes: number }>();
  const keys = new Map<string, string>();
  for (const worker of cluster.workers) {
    if (!worker.open) continue;
    const values = names.map((name) => worker.attributes[name] ?? '').join(' ');
    let key = keys.get(values);
    if (key === undefined) {
      key = all.map((wish) => (isPreferred(wish, worker) ? '1' : '0')).join('');
      keys.set(values, key);
    }
    let group = groups.get(key);
    if (group === undefined) {
      group = { name: values === '' ? 'any worker' : values, workers: [], nodes: 0 };
      groups.set(key, group);
    }
    group.workers.push(worker);
    group.nodes += worker.capacity[SLOT]!;
  }
  return [...groups.values()];
}

/** Runs of a stage. */
export interface RunningStage {
  readonly stage: StageView;
  readonly runs: readonly RunView[];
  /** Start of the first run. */
  readonly startedAt: Millis;
}

export function runningStages(jobs: Iterable<JobView>): RunningStage[] {
  const running = new Map<StageView, { stage: StageView; runs: RunView[]; startedAt: Millis }>();
  for (const job of jobs) {
    for (const run of job.runs) {
      const known = running.get(run.stage);
      if (known === undefined)
        running.set(run.stage, { stage: run.stage, runs: [run], startedAt: run.startedAt });
      else {
        known.runs.push(run);
        known.startedAt = Math.min(known.startedAt, run.startedAt);
      }
    }
  }
  return [...running.values()];
}

/** How many times longer it takes where it runs: one task on a worker that is not preferred slows all of the job. */
export function slowdownOf({ stage, runs }: RunningStage, slowdown: number): number {
  const { prefers } = stage.job;
  return runs.every(({ worker }) => isPreferred(prefers, worker)) ? 1 : slowdown;
}

/** Part of a gang runs or has run: what is missing of it must not wait for the time to be ripe. */
export function isRemnant({ running, ended }: StageView): boolean {
  return running > 0 || ended > 0;
}

/** Some worker that takes work has what the stage requires. */
function canStart(stage: StageView, cluster: ClusterView): boolean {
  if (stage.requires === undefined) return true;
  for (const worker of cluster.workers) if (worker.open && mayRun(worker, stage)) return true;
  return false;
}

/**
 * Stages whose tasks wait for nothing but workers, in the order in which their jobs arrived. One of which tasks are being
 * killed is no remnant of a gang, and waits until they have ended.
 *
 * @param afterDeadline jobs that are to be abandoned then are left to their owners, unless something of them has begun
 */
export function pendingStages(
  cluster: ClusterView,
  afterDeadline: 'abandon' | 'bestEffort',
  now: Millis,
): StageView[] {
  const pending: StageView[] = [];
  for (const job of cluster.jobs) {
    const isLate = afterDeadline === 'abandon' && now >= job.deadlineAt;
    if (isLate && !job.stages.some(isRemnant)) continue;
    for (const stage of job.stages)
      if (stage.waiting > 0 && !isEnding(stage) && canStart(stage, cluster)) pending.push(stage);
  }
  return pending.sort((a, b) => a.job.arrivedAt - b.job.arrivedAt);
}

function isEnding(stage: StageView): boolean {
  for (const run of stage.job.runs) if (run.isPreempted && run.stage === stage) return true;
  return false;
}

/** Runs whose end was asked for and was not heard. */
export function preemptedRuns(cluster: ClusterView): RunView[] {
  const preempted: RunView[] = [];
  for (const job of cluster.jobs) for (const run of job.runs) if (run.isPreempted) preempted.push(run);
  return preempted;
}

/** Worth its full value if it ends in time: no best-effort job, and not past its deadline. */
export function isInTime({ deadlineAt }: JobView, now: Millis): boolean {
  return Number.isFinite(deadlineAt) && now < deadlineAt;
}

/**
 * Free workers of a group for some tasks of a stage, those of the least id first; one may be there several times.
 *
 * @returns fewer than `count` where there are no more
 */
export function freeWorkers({ workers }: WorkerGroup, stage: StageView, count: number): WorkerView[] {
  const { demand } = stage;
  const found: WorkerView[] = [];
  if (!mayRun(workers[0]!, stage)) return found;
  for (const worker of workers) {
    if (found.length === count) break;
    if (stage.declinedBy?.has(worker)) continue;
    for (let i = Math.min(worker.roomFor(demand), count - found.length); i > 0; i--) found.push(worker);
  }
  return found;
}
