import { formatAttributes, type Millis, SLOT, sumOf } from '@goshawk/core';
import {
  type Attributes,
  type ClusterView,
  isPreferredAt,
  type JobView,
  type RunView,
  type StageView,
  type WorkerView,
} from '@goshawk/policies';

/**
 * Open workers that are equivalent for all jobs: the same jobs prefer them and may use them (3Sigma §4.3.3).
 * In order of id.
 */
export interface WorkerGroup {
  /** For display: the attributes that jobs request. */
  readonly name: string;
  readonly workers: readonly WorkerView[];
  /** Number of slots. */
  readonly nodes: number;
}

/**
 * Groups the open workers.
 *
 * @param stages stages that may start there
 */
export function groupWorkers(cluster: ClusterView, stages: Iterable<StageView>): WorkerGroup[] {
  const wishes = new Map<string, Attributes>();
  for (const { job, needs } of stages) {
    for (const wish of [job.prefers, needs.requires ?? {}]) {
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
      key = all.map((wish) => (isPreferredAt({ prefers: wish }, worker) ? '1' : '0')).join('');
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

/** Slowdown of the running gang. One task on a worker that is not preferred slows the whole gang. */
export function slowdownOf({ stage, runs }: RunningStage, slowdown: number): number {
  return runs.every(({ worker }) => isPreferredAt(stage.job, worker)) ? 1 : slowdown;
}

/** Whether part of a gang runs or has run; its missing tasks must start immediately. */
export function isRemnant({ running, ended }: StageView): boolean {
  return running > 0 || ended > 0;
}

/** Answers where stages have room. Stages with equal needs share one answer, except those that workers declined. */
export class Rooms {
  readonly #workers: readonly WorkerView[];
  readonly #ever = new Map<object, number>();
  readonly #free = new Map<object, number>();

  constructor(cluster: ClusterView) {
    this.#workers = [...cluster.workers].filter(({ open }) => open);
  }

  /**
   * Whether the tasks of the stage would fit together at open workers that meet its requirements and were not declined, if nothing else ran.
   */
  canStart({ needs, demand, declinedBy, waiting, running }: StageView): boolean {
    const roomAt = (worker: WorkerView): number =>
      needs.permits(worker) ? worker.roomFor(demand, worker.runs) : 0;
    let ever = this.#ever.get(needs);
    if (ever === undefined) {
      ever = sumOf(this.#workers, roomAt);
      this.#ever.set(needs, ever);
    }
    for (const worker of declinedBy?.keys() ?? []) if (worker.open) ever -= roomAt(worker);
    return ever >= waiting + running;
  }

  /** Whether all waiting tasks of the stage fit now. Slots alone do not tell: other resources may be in use. */
  hasRoomNow(stage: StageView): boolean {
    const { needs, demand, declinedBy } = stage;
    let free = this.#free.get(needs);
    if (free === undefined) {
      free = sumOf(this.#workers, (worker) => (needs.permits(worker) ? worker.roomFor(demand) : 0));
      this.#free.set(needs, free);
    }
    if (declinedBy !== undefined && free >= stage.waiting)
      for (const worker of declinedBy.keys())
        if (worker.open && needs.permits(worker)) free -= worker.roomFor(demand);
    return free >= stage.waiting;
  }
}

/**
 * Stages whose tasks wait only for workers, in order of arrival of their jobs. A stage with preempted runs is
 * left out until these have ended.
 *
 * @param afterDeadline `abandon`: leaves out jobs past their deadline, unless some of their tasks run or have
 * run
 */
export function pendingStages(
  cluster: ClusterView,
  rooms: Rooms,
  afterDeadline: 'abandon' | 'bestEffort',
  now: Millis,
): StageView[] {
  const pending: StageView[] = [];
  for (const job of cluster.jobs) {
    const isLate = afterDeadline === 'abandon' && now >= job.deadlineAt;
    if (isLate && !job.stages.some(isRemnant)) continue;
    for (const stage of job.stages)
      if (stage.waiting > 0 && !isEnding(stage) && rooms.canStart(stage)) pending.push(stage);
  }
  return pending.sort((a, b) => a.job.arrivedAt - b.job.arrivedAt);
}

function isEnding(stage: StageView): boolean {
  for (const run of stage.job.runs) if (run.isPreempted && run.stage === stage) return true;
  return false;
}

/** Preempted runs that have not ended yet. */
export function preemptedRuns(cluster: ClusterView): RunView[] {
  const preempted: RunView[] = [];
  for (const job of cluster.jobs) for (const run of job.runs) if (run.isPreempted) preempted.push(run);
  return preempted;
}

/** Whether the job is worth its full value if it ends in time: it has a deadline that has not passed. */
export function isInTime({ deadlineAt }: JobView, now: Millis): boolean {
  return Number.isFinite(deadlineAt) && now < deadlineAt;
}

/**
 * Free workers of a group for some tasks of a stage, lowest id first; a worker may appear several times.
 *
 * @returns fewer than `count` if there are no more
 */
export function freeWorkers({ workers }: WorkerGroup, stage: StageView, count: number): WorkerView[] {
  const { demand } = stage;
  const found: WorkerView[] = [];
  if (!stage.needs.permits(workers[0]!)) return found;
  for (const worker of workers) {
    if (found.length === count) break;
    if (stage.declinedBy?.has(worker)) continue;
    for (let i = Math.min(worker.roomFor(demand), count - found.length); i > 0; i--) found.push(worker);
  }
  return found;
}
