import {
  type ByClass,
  byClass,
  cpusOf,
  isDrained,
  isPlain,
  type Millis,
  OWNER_REASONS,
  type Scope,
  type StageSpec,
  type TaskNeeds,
  type WaitingReason,
} from '@goshawk/core';
import { unmetNeedOf } from '../cluster/admission.js';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state/state.js';

/** Summary of a scheduler's current state, computed on request. */
export interface SchedulerSnapshot {
  readonly jobs: { waiting: number; running: number };
  readonly running: { short: number; long: number };
  readonly waiting: ByClass<Record<WaitingReason, number>>;
  /** How long the startable task that waits longest has waited, in milliseconds; 0: none waits. */
  readonly oldestWaitMs: { short: Millis; long: Millis };
  /** Probes that no worker has served yet. */
  probesOut: number;
}

/** Facts about the cluster that explain why a task waits. */
export interface WaitContext {
  readonly hasWorkers: boolean;
  readonly isCentralSilent: boolean;
  /** Whether only central may start tasks of the job's user. Default: no. */
  isLimited?(job: Job): boolean;
  /** Whether the scope has workers that meet the needs, and all of them are draining. */
  isDrained(scope: Scope, needs: TaskNeeds): boolean;
  /** Describes a need of the stage that no worker of the scope meets; undefined: none. */
  unmetNeed(scope: Scope, stage: StageSpec, job: Job): string | undefined;
}

/** Collects what determines why tasks wait, apart from their jobs. */
export function waitContextOf(
  { cluster, quotas }: Pick<SchedulerState, 'cluster' | 'quotas'>,
  now: Millis,
): WaitContext {
  const { members } = cluster;
  const mayBeGangs = (cluster.policy?.preset.gangs ?? 'all') === 'all';
  // Most tasks have no needs, and a query may be about a hundred thousand of them, so these answers are cached.
  const plainDrained = new AnswersByScope<boolean>();
  const plainMissing = byClass(() => new AnswersByScope<string | undefined>());
  return {
    hasWorkers: members.size > 0,
    isCentralSilent: cluster.isSilent(now),
    isLimited: ({ spec }) => quotas.needsCentral(spec.user),
    isDrained: (scope, needs) =>
      isPlain(needs)
        ? plainDrained.of(scope, () => isDrained(members, scope, needs))
        : isDrained(members, scope, needs),
    unmetNeed: (scope, stage, job) =>
      isPlain(stage) && stage.gang !== true && !mayBeGangs
        ? plainMissing[job.class].of(scope, () => unmetNeedOf(job, stage, scope, cluster))
        : unmetNeedOf(job, stage, scope, cluster),
  };
}

/** Caches answers that depend only on the scope. */
class AnswersByScope<T> {
  readonly #known = new Map<Scope, T>();

  of(scope: Scope, answer: () => T): T {
    if (!this.#known.has(scope)) this.#known.set(scope, answer());
    return this.#known.get(scope)!;
  }
}

/** Active jobs and tasks of a user. */
export interface UserLoad {
  /** undefined: jobs without a user */
  readonly user: string | undefined;
  readonly jobs: number;
  readonly running: number;
  /** CPUs that the running tasks request. */
  readonly cpus: number;
  /** Tasks that have not started. */
  readonly waiting: number;
}

/** Sums active jobs by user. Takes a few steps per job, and one per task of jobs whose stages have different demands. */
export function userLoadsOf(jobs: Iterable<Job>): UserLoad[] {
  const sums = new Map<string | undefined, { -readonly [K in keyof UserLoad]: UserLoad[K] }>();
  for (const job of jobs) {
    const { user } = job.spec;
    let sum = sums.get(user);
    if (sum === undefined) {
      sum = { user, jobs: 0, running: 0, cpus: 0, waiting: 0 };
      sums.set(user, sum);
    }
    sum.jobs++;
    sum.running += job.runningCount;
    sum.cpus += runningCpusOf(job);
    sum.waiting += job.tasks.notStartedCount;
  }
  return [...sums.values()];
}

function runningCpusOf(job: Job): number {
  if (job.runningCount === 0) return 0;
  const [first = 0, ...others] = job.stages.map(({ spec }) => cpusOf(spec.demand));
  if (others.every((cpus) => cpus === first)) return job.runningCount * first;
  let sum = 0;
  for (const task of job.tasks.inStates(TaskState.running)) sum += cpusOf(job.dag.stageOf(task).spec.demand);
  return sum;
}

/** Takes a few steps per batch, regardless of the number of tasks. */
export function snapshotOf(jobs: Iterable<Job>, context: WaitContext, now: Millis): SchedulerSnapshot {
  const snapshot: SchedulerSnapshot = {
    jobs: { waiting: 0, running: 0 },
    running: { short: 0, long: 0 },
    waiting: byClass(zeroCounts),
    oldestWaitMs: { short: 0, long: 0 },
    probesOut: 0,
  };
  for (const job of jobs) {
    snapshot.jobs[job.times.firstStartAt === undefined ? 'waiting' : 'running']++;
    snapshot.running[job.class] += job.runningCount;
    for (const { batch, reason, tasks } of waitGroupsOf(job, context)) {
      snapshot.waiting[job.class][reason] += tasks;
      if (NOT_STARTABLE.has(reason)) continue;
      const since =
        batch === undefined ? job.times.eligibleAt : Math.max(batch.stage.releasedAt, batch.requeuedAt);
      const { oldestWaitMs } = snapshot;
      oldestWaitMs[job.class] = Math.max(oldestWaitMs[job.class], now - since);
    }
    for (const batch of job.batches) snapshot.probesOut += batch.probes.outstanding;
  }
  return snapshot;
}

/** Reasons for which a task could not start even with unlimited workers. */
const NOT_STARTABLE: ReadonlySet<WaitingReason> = new Set([
  'stage',
  'other-job',
  'back-off',
  'held',
  'begin',
  'job-limit',
]);

/** Tasks of a job that wait for the same reason. */
export interface WaitGroup {
  /** undefined for tasks queued at workers, which are counted per job and not per batch. */
  readonly batch: Batch | undefined;
  readonly reason: WaitingReason;
  /** At least one. */
  readonly tasks: number;
}

/** Groups the waiting tasks of a job by the reason for which they wait. */
export function waitGroupsOf(job: Job, context: WaitContext): WaitGroup[] {
  const waits: WaitGroup[] = [];
  const add = (batch: Batch | undefined, reason: WaitingReason, tasks: number): void => {
    if (tasks > 0) waits.push({ batch, reason, tasks });
  };
  for (const stage of job.stages) if (stage.blockers > 0) add(stage, 'stage', stage.unfinished);
  if (job.hasPendingPredecessors)
    for (const stage of job.stages) if (stage.blockers === 0) add(stage, 'other-job', stage.unfinished);
  if (job.inBackoff.isAny) {
    for (const stage of job.stages)
      add(stage, 'back-off', job.inBackoff.all.filter((task) => job.dag.stageOf(task) === stage).length);
  }
  add(undefined, 'queued', job.tasks.countOf(TaskState.placed));
  if (job.isHeld) {
    const reason = job.hold!.isHeld ? 'held' : 'begin';
    for (const batch of startableBatches(job)) add(batch, reason, batch.waiting);
    return waits;
  }
  let headroom = job.assignableCount;
  for (const batch of startableBatches(job)) {
    const mayStart = Math.min(batch.waiting, headroom);
    headroom -= mayStart;
    if (mayStart > 0) add(batch, reasonOf(job, batch, context), mayStart);
    add(batch, 'job-limit', batch.waiting - mayStart);
  }
  return waits;
}

/** Returns batches that together contain each waiting task once: tasks beside the pilots belong to their stages. */
function startableBatches(job: Job): readonly Batch[] {
  return job.estimate.isUndecided ? [job.estimate.sample!.pilots, ...job.stages] : job.stages;
}

/** Why a startable task has not started. */
function reasonOf(job: Job, batch: Batch, context: WaitContext): WaitingReason {
  if (job.isRecovering) return 'resuming';
  if (!context.hasWorkers) return 'no-worker';
  if (job.needsCentral && context.isCentralSilent && (!job.maySeek || context.isLimited?.(job)))
    return 'central-away';
  const searching = job.searchingBatch(batch);
  const scope = searching.scope ?? job.route.over;
  if (context.unmetNeed(scope, batch.stage.spec, job) !== undefined) return 'required';
  if (context.isDrained(scope, batch.spec)) return 'drained';
  if (searching.probes.outstanding > 0) return 'probing';
  if (job.needsCentral) return job.route.by === 'central' ? 'placing' : 'matching';
  // Possibly long tasks go only to their probes.
  return job.maySeek && searching === searching.countingBatch ? 'seeking' : 'probing';
}

function zeroCounts(): Record<WaitingReason, number> {
  return Object.fromEntries(OWNER_REASONS.map((reason) => [reason, 0])) as Record<WaitingReason, number>;
}
