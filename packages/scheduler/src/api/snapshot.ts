import {
  type ByClass,
  byClass,
  isDrained,
  isPlain,
  type Millis,
  OWNER_REASONS,
  type Scope,
  type StageSpec,
  type TaskNeeds,
  type WaitingReason,
} from '@goshawk/core';
import { whyUnmet } from '../cluster/admission.js';
import type { Cluster } from '../cluster/cluster.js';
import type { Batch } from '../job/batch.js';
import { type Job, TaskState } from '../job/job.js';

/** Current state of a scheduler, computed on request. */
export interface SchedulerStanding {
  readonly jobs: { waiting: number; running: number };
  readonly running: { short: number; long: number };
  readonly waiting: ByClass<Record<WaitingReason, number>>;
  /** How long the longest-waiting startable task has waited. ms; 0: none waits */
  readonly oldestWaitMs: { short: Millis; long: Millis };
  /** Probes that no worker has served yet. */
  probesOut: number;
}

/** Facts about a scheduler that explain why a task waits. */
export interface Circumstances {
  readonly hasWorkers: boolean;
  readonly isCentralSilent: boolean;
  /** Whether the scope has workers that meet the needs, and all of them are draining. */
  isDrained(scope: Scope, needs: TaskNeeds): boolean;
  /** Describes the needs of a stage that no worker of the scope meets. */
  whatIsMissing(scope: Scope, stage: StageSpec, job: Job): string | undefined;
}

export function circumstancesOf(cluster: Cluster, now: Millis): Circumstances {
  const { members } = cluster;
  const mayBeGang = !cluster.isReady || cluster.policy.preset.gangs;
  // Most tasks have no needs, and a query may be about a hundred thousand of them.
  const plainDrained = new Answers<boolean>();
  const plainMissing = byClass(() => new Answers<string | undefined>());
  return {
    hasWorkers: members.size > 0,
    isCentralSilent: cluster.isSilent(now),
    isDrained: (scope, needs) =>
      isPlain(needs)
        ? plainDrained.of(scope, () => isDrained(members, scope, needs))
        : isDrained(members, scope, needs),
    whatIsMissing: (scope, stage, job) =>
      isPlain(stage) && stage.gang !== true && !mayBeGang
        ? plainMissing[job.class].of(scope, () => whyUnmet(job, stage, scope, cluster))
        : whyUnmet(job, stage, scope, cluster),
  };
}

/** Answers that depend on the scope alone. */
class Answers<T> {
  readonly #known = new Map<Scope, T>();

  of(scope: Scope, answer: () => T): T {
    if (!this.#known.has(scope)) this.#known.set(scope, answer());
    return this.#known.get(scope)!;
  }
}

/** Costs a few steps per batch, regardless of the number of tasks. */
export function standingOf(
  jobs: Iterable<Job>,
  circumstances: Circumstances,
  now: Millis,
): SchedulerStanding {
  const standing: SchedulerStanding = {
    jobs: { waiting: 0, running: 0 },
    running: { short: 0, long: 0 },
    waiting: byClass(noneWaits),
    oldestWaitMs: { short: 0, long: 0 },
    probesOut: 0,
  };
  for (const job of jobs) {
    standing.jobs[job.firstStartAt === undefined ? 'waiting' : 'running']++;
    standing.running[job.class] += job.runningCount;
    for (const { batch, reason, tasks } of waitsOf(job, circumstances)) {
      standing.waiting[job.class][reason] += tasks;
      if (NOT_YET.has(reason)) continue;
      const since = batch?.stage.releasedAt ?? job.eligibleAt;
      const { oldestWaitMs } = standing;
      oldestWaitMs[job.class] = Math.max(oldestWaitMs[job.class], now - since);
    }
    for (const batch of job.batches) standing.probesOut += batch.probes.outstanding;
  }
  return standing;
}

/** Reasons that prevent a start even with unlimited workers. */
const NOT_YET: ReadonlySet<WaitingReason> = new Set([
  'stage',
  'other-job',
  'back-off',
  'held',
  'begin',
  'job-limit',
  'pilots',
]);

/** Tasks of a job that wait for the same reason. */
export interface Waits {
  /** undefined for tasks queued at workers, which are counted per job. */
  readonly batch: Batch | undefined;
  readonly reason: WaitingReason;
  /** At least one. */
  readonly tasks: number;
}

/** Why the waiting tasks of a job wait. */
export function waitsOf(job: Job, circumstances: Circumstances): Waits[] {
  const waits: Waits[] = [];
  const note = (batch: Batch | undefined, reason: WaitingReason, tasks: number): void => {
    if (tasks > 0) waits.push({ batch, reason, tasks });
  };
  for (const stage of job.stages) if (stage.blockers > 0) note(stage, 'stage', stage.unfinished);
  if (job.hasPendingPredecessors)
    for (const stage of job.stages) if (stage.blockers === 0) note(stage, 'other-job', stage.unfinished);
  if (job.spec.retryBackoffMs !== undefined) {
    for (const stage of job.stages)
      note(stage, 'back-off', job.inBackoff.all.filter((task) => job.dag.stageOf(task) === stage).length);
  }
  note(undefined, 'queued', job.tasks.countOf(TaskState.placed));
  if (job.isHeld) {
    const reason = job.hold!.isHeld ? 'held' : 'begin';
    for (const batch of startable(job)) note(batch, reason, batch.waiting);
    return waits;
  }
  let headroom = job.assignableCount;
  for (const batch of startable(job)) {
    const mayStart = Math.min(batch.waiting, headroom);
    headroom -= mayStart;
    if (mayStart > 0) note(batch, reasonOf(job, batch, circumstances), mayStart);
    note(batch, 'job-limit', batch.waiting - mayStart);
  }
  return waits;
}

/** Batches that contain each waiting task once: the rest of a sampled job counts with its stage. */
function startable(job: Job): readonly Batch[] {
  return job.isUndecided ? [job.sample!.pilots, ...job.stages] : job.stages;
}

/** Why a startable task has not started. */
function reasonOf(job: Job, batch: Batch, circumstances: Circumstances): WaitingReason {
  if (job.isRecovering) return 'resuming';
  if (!circumstances.hasWorkers) return 'no-worker';
  const isPilots = batch === job.sample?.pilots;
  if (job.isUndecided && !isPilots) return 'pilots';
  if (job.needsCentral && !job.maySeek && circumstances.isCentralSilent) return 'central-away';
  const scope = batch.scope ?? job.route.over;
  if (circumstances.whatIsMissing(scope, batch.stage.spec, job) !== undefined) return 'required';
  if (circumstances.isDrained(scope, batch.spec)) return 'drained';
  if (batch.probes.outstanding > 0) return 'probing';
  if (job.needsCentral) return job.route.by === 'central' ? 'placing' : 'matching';
  return job.maySeek ? 'seeking' : 'probing';
}

function noneWaits(): Record<WaitingReason, number> {
  return Object.fromEntries(OWNER_REASONS.map((reason) => [reason, 0])) as Record<WaitingReason, number>;
}
