import {
  type Address,
  type JobExplanation,
  listAttributes,
  type Millis,
  type StageWait,
  sumOf,
  type TaskExplanation,
  type TaskIndex,
  type WaitingGroup,
  type WaitingReason,
} from '@goshawk/core';
import type { Stage } from '../job/batch.js';
import type { Job } from '../job/job.js';
import { ATTEMPTS_LISTED_MAX } from '../job/task-reports.js';
import { TASK_STATE_NAMES, TaskState } from '../job/task-state.js';
import { unfinishedPredecessorsOf } from '../life/predecessors.js';
import type { SchedulerState } from '../state/state.js';
import { jobSummary, samplingOf } from './job-views.js';
import { type WaitContext, type WaitGroup, waitContextOf, waitGroupsOf } from './snapshot.js';
import { lastAttempt, problemOf } from './task-list.js';
import { ENDED_STATES, hasStarted, waitSpread, waitSums } from './wait-times.js';

/** Counts waiting tasks by class and reason, largest groups first. */
export function waitingGroups(jobs: Iterable<Job>, context: WaitContext, now: Millis): WaitingGroup[] {
  const groups = new Map<string, { -readonly [K in keyof WaitingGroup]: WaitingGroup[K] }>();
  for (const job of jobs) {
    for (const { reason, tasks } of waitGroupsOf(job, context)) {
      const key = `${job.class} ${reason}`;
      const group = groups.get(key);
      // Jobs are in order of acceptance, so the first job of a group has waited longest.
      if (group !== undefined) group.tasks += tasks;
      else {
        const exampleAgeMs = now - job.acceptedAt;
        groups.set(key, { class: job.class, reason, tasks, example: job.id, exampleAgeMs });
      }
    }
  }
  return [...groups.values()].sort((one, other) => other.tasks - one.tasks);
}

/** Explains why a job waits and how it has spent its time so far. */
export function explain(
  s: SchedulerState,
  job: Job,
  task: TaskIndex | undefined,
  now: Millis,
): JobExplanation {
  const context = waitContextOf(s, now);
  const waits = waitGroupsOf(job, context);
  const explained = (of: number): TaskExplanation => taskExplanation(s, job, of, waits, now);
  const last = lastEnded(job);
  return {
    job: jobSummary(s, job),
    owner: s.env.nameOf(s.config.self),
    number: job.number,
    sampling: samplingOf(job),
    waiting: waits.flatMap((wait) => stageWaits(job, wait, context, now)),
    probes: probesOf(s, job),
    probesOut: sumOf(job.batches, ({ probes }) => probes.outstanding),
    probesMoved: job.probesMoved,
    matches: sumOf(job.batches, ({ matches }) => matches),
    placed: firstTasksIn(job, TaskState.placed).map((of) => ({
      task: of,
      worker: s.cluster.nameOf(job.tasks.workerOf(of)),
    })),
    waits: waitSpread(job),
    waitSums: waitSums(job),
    wastedMs: job.history.wastedMs,
    last: last < 0 ? undefined : explained(last),
    task: task === undefined ? undefined : explained(task),
    after: unfinishedPredecessorsOf(s, job),
    skippedNumbers: Math.max(0, job.history.skippedNumbers) || undefined,
  };
}

function stageWaits(
  job: Job,
  { batch, reason, tasks }: WaitGroup,
  context: WaitContext,
  now: Millis,
): StageWait[] {
  const scope = batch?.scope ?? job.route.over;
  const waitOf = (stage: Stage, waiting: number): StageWait => {
    const eligibleAt = stage.blockers > 0 ? now : Math.max(stage.releasedAt, (batch ?? stage).requeuedAt);
    const { name, requires } = stage.spec;
    const missing = context.unmetNeed(scope, stage.spec, job);
    return {
      stage: name,
      index: stage.index,
      reason,
      tasks: waiting,
      waitedMs: Math.max(0, now - eligibleAt),
      ...(requires === undefined ? {} : { requires: listAttributes(requires)! }),
      ...(missing === undefined ? {} : { missing }),
    };
  };
  if (batch !== undefined) return [waitOf(batch.stage, tasks)];
  return job.stages
    .map((stage) => waitOf(stage, countPlaced(stage, job)))
    .filter(({ tasks: waiting }) => waiting > 0);
}

function countPlaced({ first, count }: Stage, job: Job): number {
  let found = 0;
  for (let task = first; task < first + count; task++)
    if (job.tasks.stateOf(task) === TaskState.placed) found++;
  return found;
}

function taskExplanation(
  s: SchedulerState,
  job: Job,
  task: TaskIndex,
  waits: readonly WaitGroup[],
  now: Millis,
): TaskExplanation {
  const state = job.tasks.stateOf(task);
  const stage = job.dag.stageOf(task);
  const isPilot = job.estimate.sample?.isPilot(task) ?? false;
  const hasRun = state === TaskState.running || job.tasks.isFinal(task);
  const last = lastAttempt(s, job, task);
  const startedAt = last?.startedAt ?? job.acceptedAt;
  const hasStarted = hasRun && job.tasks.executionsOf(task) > 0;
  const { requeuedAt } = job.waiting.batchOf(task);
  const eligibleAt = hasStarted ? stage.releasedAt : Math.max(stage.releasedAt, hasRun ? 0 : requeuedAt);
  const from = stage.blockers > 0 && !hasRun ? now : eligibleAt;
  const ranMs = state === TaskState.running ? job.elapsedMs(task, now) : (last?.runMs ?? 0);
  const loan = hasStarted ? job.existingLoans?.viewOf(task, job.tasks.attemptOf(task), now) : undefined;
  const endedAt = startedAt + ranMs + (loan?.pausedMs ?? 0);
  return {
    task,
    stage: stage.spec.name,
    state: TASK_STATE_NAMES[state]!,
    reason: hasRun ? undefined : reasonFor(job, task, waits),
    isPilot,
    attempts: job.tasks.executionsOf(task),
    worker: last?.worker || undefined,
    waitedMs: Math.max(0, (hasStarted ? startedAt : (job.times.endedAt ?? now)) - from),
    ranMs: hasStarted ? ranMs : undefined,
    endedMs: hasStarted && job.tasks.isFinal(task) ? endedAt - job.acceptedAt : undefined,
    error: problemOf(s, job, task).error,
    ...loan,
  };
}

/** Why the task waits. A startable task has the same reason as the others of its batch. */
function reasonFor(job: Job, task: TaskIndex, waits: readonly WaitGroup[]): WaitingReason | undefined {
  const batch = job.waiting.batchOf(task);
  const state = job.tasks.stateOf(task);
  if (state === TaskState.blocked) {
    if (job.hasPendingPredecessors && job.dag.stageOf(task).blockers === 0) return 'other-job';
    return job.inBackoff.has(task) ? 'back-off' : 'stage';
  }
  if (state === TaskState.placed) return 'queued';
  const matching = waits.filter((wait) => wait.batch === batch && !STATE_REASONS.has(wait.reason));
  return matching.find(({ reason }) => reason !== 'job-limit')?.reason ?? matching[0]?.reason;
}

const STATE_REASONS: ReadonlySet<WaitingReason> = new Set(['stage', 'queued', 'back-off', 'other-job']);

function probesOf({ cluster }: SchedulerState, job: Job): JobExplanation['probes'] {
  const sums = new Map<Address, number>();
  for (const { probes } of job.batches) {
    for (const [worker, out] of probes.byWorker()) sums.set(worker, (sums.get(worker) ?? 0) + out);
  }
  return [...sums]
    .filter(([, probes]) => probes > 0)
    .sort(([, one], [, other]) => other - one)
    .slice(0, ATTEMPTS_LISTED_MAX)
    .map(([worker, probes]) => ({ worker: cluster.nameOf(worker), probes }));
}

/** The first tasks in the state, at most `LISTED_MAX`. */
function firstTasksIn(job: Job, state: TaskState): number[] {
  const found: number[] = [];
  for (const task of job.tasks.inStates(state)) if (found.push(task) === ATTEMPTS_LISTED_MAX) break;
  return found;
}

/** Returns the task that ended last after it had started, or −1. */
function lastEnded({ tasks }: Job): number {
  // The times of settled tasks are not in memory.
  if (tasks.archivedCount > 0) return lastReported(tasks);
  let last = -1;
  let lastAt = Number.NEGATIVE_INFINITY;
  for (const task of tasks.inStates(...ENDED_STATES)) {
    if (!hasStarted(tasks, task)) continue;
    const endedAt = tasks.startedAtOf(task) + tasks.runMsOf(task);
    if (endedAt <= lastAt) continue;
    last = task;
    lastAt = endedAt;
  }
  return last;
}

/** Returns the task whose end was reported last after it had started, or −1. */
function lastReported(tasks: Job['tasks']): number {
  for (let at = tasks.endOrder.length - 1; at >= 0; at--) {
    const task = tasks.endOrder.at(at)!;
    const state = tasks.stateOf(task);
    const hasRun = tasks.isArchived(task) ? state !== TaskState.cancelled : hasStarted(tasks, task);
    if (tasks.isFinal(task) && hasRun) return task;
  }
  return -1;
}
