import {
  type Address,
  type BatchPart,
  type JobNumber,
  LIMITS,
  listAttributes,
  type MessageOf,
  type Millis,
  NOBODY,
  sentFacts,
  slicesOf,
  type TaskAttempt,
  type TaskIndex,
} from '@goshawk/core';
import type { Batch, Stage } from '../job/batch.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state/state.js';
import { hasTaskFor, healthyWorkers } from './avoidance.js';
import { longerPause } from './probe-watch.js';

/**
 * Maximum growth of the interval between repetitions, as a multiple of the first (5 s, so about 1.4 hours). A lost need is
 * repaired before its tasks have waited twice as long, and 100,000 waiting jobs cost 20 needs a second.
 */
const NEED_PAUSE_GROWTH_MAX = 1_024;
/** A need that exceeds the waiting tasks by this factor is corrected, because central plans by the last need. */
const OVERSTATED = 1.1;

export type WaitingAtCentral = NonNullable<MessageOf<'heartbeatAck'>['waiting']>[number];

// Reports to central how many workers each batch needs. A need carries absolute state, so that the next one replaces a
// lost one.

/** Whether central plans whole jobs. */
function plansWholeJobs(s: SchedulerState): boolean {
  return s.cluster.policy?.preset.declares === true;
}

/** Ensures that central knows of all startable tasks of the stage. */
export function sendGrownNeed(s: SchedulerState, job: Job, batch: Batch, now: Millis): void {
  if (tasksInNeed(job, batch) <= batch.needSent) return;
  const isFirst = batch.matches === 0 && batch.needSent === 0;
  if (job.route.by === 'central') nameNewTasks(s, job, batch.stage, now);
  else sendNeed(s, job, batch, now, { describes: isFirst });
}

/** Names only the tasks that no earlier need has named, because the full list can be very long. */
function nameNewTasks(s: SchedulerState, job: Job, stage: Stage, now: Millis): void {
  if (s.cluster.central === NOBODY) return;
  const tasks = tasksInNeed(job, stage);
  const more = new Set<TaskIndex>();
  while (more.size < tasks - stage.needSent) {
    const task = job.waiting.takeNext(stage);
    // Answers have lowered `needSent` although the named tasks still wait, so send the full list.
    if (task < 0) return sendNeed(s, job, stage, now);
    more.add(task);
  }
  stage.needReported(tasks, now);
  requestPlaces(s, job, stage, attemptsOf(job, [...more]));
}

/** Describes appended tasks to a central that plans whole jobs. */
export function describeGrowth(s: SchedulerState, job: Job, now: Millis): void {
  const stage = job.stages[0]!;
  if (stage.matches > 0 || stage.needSent > 0) describeJob(s, job, now);
}

/** Whether central must keep the job until it is withdrawn, because a need of one stage does not describe all of it. */
function isKeptByCentral(s: SchedulerState, job: Job): boolean {
  if (!plansWholeJobs(s)) return false;
  if (job.isSentToCentral || job.estimate.isUndecided || job.stages.length > 1) return true;
  const stage = job.stages[0]!;
  const hasDistribution =
    job.estimate.ofStage(stage) === undefined && job.estimate.distribution !== undefined;
  return stage.unfinished < stage.count || hasDistribution;
}

/** Describes the job to a central that plans whole jobs, and repeats what waits. */
export function describeJob(s: SchedulerState, job: Job, now: Millis): void {
  if (s.cluster.central === NOBODY || !plansWholeJobs(s)) return;
  job.isSentToCentral = true;
  const stage = job.stages[0]!;
  sendNeedMessage(s, job, stage, stage.needSent, true, now);
}

/** Reports the whole job. A new central knows only the workers of its running tasks. */
export function sendAllNeeds(s: SchedulerState, job: Job, now: Millis): void {
  const batches = batchesInNeed(job);
  if (batches.length === 0) describeJob(s, job, now);
  for (const [at, batch] of batches.entries()) sendNeed(s, job, batch, now, { describes: at === 0 });
}

/** Repeats needs that central has not answered for `pauseMs`, and corrects needs that have become much smaller. */
export function repeatUnansweredNeeds(s: SchedulerState, job: Job, pauseMs: Millis, now: Millis): void {
  // Workers may have lost placed tasks before they asked for them.
  const isAnyPlaced = job.tasks.countOf(TaskState.placed) > 0;
  const due = (isAnyPlaced ? job.stages : batchesInNeed(job)).filter(
    (batch) =>
      now - batch.needSentAt >= Math.max(batch.needRepeatMs, pauseMs) ||
      batch.needSent > OVERSTATED * tasksInNeed(job, batch),
  );
  for (const [at, batch] of due.entries()) {
    const { needSent, needRepeatMs } = batch;
    if (isAnyPlaced) requestPlaces(s, job, batch.stage, placedIn(job, batch.stage));
    sendNeed(s, job, batch, now, { describes: at === 0 });
    // Very many jobs may wait for long, so unchanged needs are repeated at growing intervals.
    if (batch.needSent === needSent)
      batch.needRepeatMs = longerPause(
        needRepeatMs,
        pauseMs,
        isAnyPlaced ? undefined : NEED_PAUSE_GROWTH_MAX,
      );
  }
}

/** Reports to central that no task of the batch waits any more. */
export function clearNeed(s: SchedulerState, job: Job, batch: Batch, now: Millis): void {
  if (batch.needSent > 0) sendNeed(s, job, batch, now, { tasks: 0 });
}

/**
 * Handles a match that the job cannot use, because central assumes that tasks wait. Repeats the report that
 * none waits, unless that report may still be in flight.
 *
 * @param job undefined: the job is gone
 */
export function returnMatch(
  s: SchedulerState,
  number: JobNumber,
  job: Job | undefined,
  batch: Batch | undefined,
  now: Millis,
): void {
  const { central, timings } = s.cluster;
  const isNews = (since: Millis): boolean => timings.retryMs === 0 || now - since < timings.retryMs;
  if (job === undefined || job.hasEnded) {
    if (central === NOBODY || isNews(job?.times.endedAt ?? Number.NEGATIVE_INFINITY)) return;
    s.env.send(central, { type: 'withdraw', job: number });
  } else if (batch?.waiting === 0 && !isNews(batch.needSentAt)) sendNeed(s, job, batch, now, { tasks: 0 });
}

/** Repeats the needs of a job of which a match was lost: central counts one task fewer than waits. */
export function matchLost(s: SchedulerState, job: Job, now: Millis): void {
  for (const batch of batchesInNeed(job)) if (batch.needSent > 0) sendNeed(s, job, batch, now);
}

/**
 * Corrects central's record of a job if it differs from the last report, which was lost. A report younger than a lease
 * may still be in flight.
 *
 * @param job undefined: the job is gone
 * @param waiting a stage, how many of its tasks wait at central, and whether central keeps the job until it is withdrawn
 */
export function correctNeed(
  s: SchedulerState,
  number: JobNumber,
  job: Job | undefined,
  { stage, tasks, declared }: Omit<WaitingAtCentral, 'job'>,
  now: Millis,
): void {
  const { central, timings } = s.cluster;
  const mayBeInFlight = (since: Millis): boolean => now - since < timings.leaseMs;
  if (job === undefined || job.hasEnded) {
    if (!mayBeInFlight(job?.times.endedAt ?? Number.NEGATIVE_INFINITY))
      s.env.send(central, { type: 'withdraw', job: number });
    return;
  }
  const batch = job.batches[stage];
  const isWrong = tasks !== (batch?.needSent ?? 0) || declared !== job.isSentToCentral;
  if (!isWrong || mayBeInFlight(batch?.needSentAt ?? Number.NEGATIVE_INFINITY)) return;
  withdrawNeeds(s, job);
  if (job.cancelling || !job.needsCentral) return;
  if (!job.isHeld) sendAllNeeds(s, job, now);
  else if (job.runningCount > 0) describeJob(s, job, now);
}

/** Sends the new class or estimate of the job to central, even if none of its tasks waits. */
export function sendDecision(s: SchedulerState, job: Job, now: Millis): void {
  const { pilots } = job.estimate.sample!;
  const stages = job.stages.filter((stage) => stage.needSent > 0 || stage.matches > 0);
  const isPilotDue = pilots.needSent > 0;
  if (plansWholeJobs(s)) job.isSentToCentral = true;
  if (!isPilotDue && stages.length === 0) describeJob(s, job, now);
  if (isPilotDue) sendNeed(s, job, pilots, now, { tasks: 0, describes: true });
  for (const [at, stage] of stages.entries())
    sendNeed(s, job, stage, now, { describes: !isPilotDue && at === 0 });
}

/** Withdraws an ended job from central, if central knows it. */
export function withdrawEndedJob(s: SchedulerState, job: Job): void {
  if (s.cluster.central === NOBODY) return;
  if (job.isSentToCentral || job.batches.some(({ needSent }) => needSent > 0)) withdrawNeeds(s, job);
}

export function withdrawNeeds(s: SchedulerState, job: Job): void {
  const { central } = s.cluster;
  for (const batch of job.batches) batch.needSent = 0;
  job.isSentToCentral = false;
  if (central !== NOBODY) s.env.send(central, { type: 'withdraw', job: job.number });
}

function sendNeed(
  s: SchedulerState,
  job: Job,
  batch: Batch,
  now: Millis,
  { tasks = tasksInNeed(job, batch), describes = false }: { tasks?: number; describes?: boolean } = {},
): void {
  if (s.cluster.central === NOBODY) return;
  batch.needReported(tasks, now);
  if (job.route.by === 'central') {
    const { stage } = batch;
    return requestPlaces(s, job, stage, attemptsOf(job, job.waiting.takeAll(stage, tasks)));
  }
  // Central forgets a job that it does not keep, so each need of workers describes it.
  sendNeedMessage(s, job, batch, tasks, describes || (tasks > 0 && !job.isSentToCentral), now);
}

function sendNeedMessage(
  s: SchedulerState,
  job: Job,
  batch: Batch,
  tasks: number,
  describes: boolean,
  now: Millis,
): void {
  const arePilots = batch === job.estimate.sample?.pilots && job.estimate.isUndecided;
  const { demand, requires, gang, lend } = batch.spec;
  const message: MessageOf<'need'> = {
    type: 'need',
    job: job.number,
    stage: batch.index,
    tasks,
    matches: batch.matches,
    part: partOf(job, batch),
    demand,
    // Pilots come first. Policies that plan whole jobs use estimates of stages, others that of the job.
    estimateMs: arePilots
      ? 0
      : ((plansWholeJobs(s) ? job.estimate.ofStage(batch) : undefined) ?? job.expectedRunMs),
    requires: listAttributes(requires),
    gang,
    lend,
    estimateFollows: job.estimate.isLowerBound || undefined,
    avoid: avoidedBy(s, job, batch, now),
  };
  s.env.send(s.cluster.central, describes ? { ...message, about: aboutJob(s, job, now) } : message);
}

function aboutJob(s: SchedulerState, job: Job, now: Millis): MessageOf<'need'>['about'] {
  const attainedMs = job.history.completedRunMs + job.history.wastedMs;
  const isKept = isKeptByCentral(s, job);
  if (isKept) job.isSentToCentral = true;
  return {
    ...sentFacts(job),
    ageMs: now - job.times.eligibleAt,
    // Relative to the submission.
    ...(job.spec.deadlineMs !== undefined && {
      deadlineMs: Math.max(0, job.deadlineAt - job.times.eligibleAt),
    }),
    ...(attainedMs > 0 && { attainedMs }),
    ...(isKept && { stages: job.stages.map((stage) => stageAbout(job, stage)) }),
  };
}

/** Requests that central queue these tasks at workers (Hawk §3.7). Central ignores tasks that it has already placed. */
function requestPlaces(s: SchedulerState, job: Job, stage: Stage, tasks: readonly TaskAttempt[]): void {
  const { central } = s.cluster;
  if (central === NOBODY) return;
  for (const some of slicesOf(tasks, LIMITS.tasksPerMessageMax)) {
    s.env.send(central, {
      type: 'place',
      job: job.number,
      stage: stage.index,
      long: job.class === 'long',
      tasks: some,
      estimateMs: job.expectedRunMs,
      demand: stage.spec.demand,
      requires: listAttributes(stage.spec.requires),
    });
  }
}

/** Workers that no task of the batch may use because attempts of the job or its user failed there. */
function avoidedBy(s: SchedulerState, job: Job, batch: Batch, now: Millis): Address[] | undefined {
  const { blame } = job.history;
  if (blame === undefined || batch.waiting === 0) return undefined;
  // Tasks that never failed may run anywhere.
  if (job.waiting.canTake(batch, (task) => !blame.hasFailures(task))) return undefined;
  const avoided: Address[] = [];
  const failing = healthyWorkers(s, job, batch) > 0 ? s.unfit.failingFor(job.spec.user) : [];
  for (const worker of new Set([
    ...blame.failedWorkers,
    ...[...failing].slice(0, LIMITS.avoidedWorkersMax),
  ])) {
    if (avoided.length === LIMITS.avoidedWorkersMax) break;
    // Skips unknown workers of unsent attempts, and workers that have left.
    if (s.cluster.members.has(worker) && !hasTaskFor(s, job, batch, worker, now)) avoided.push(worker);
  }
  return avoided.length === 0 ? undefined : avoided;
}

function stageAbout(job: Job, stage: Stage) {
  const { after, demand, requires, gang, lend } = stage.spec;
  const estimateMs = job.estimate.ofStage(stage);
  return {
    demand,
    estimateMs: estimateMs ?? job.expectedRunMs,
    requires: listAttributes(requires),
    gang,
    lend,
    tasks: stage.count,
    ended: stage.count - stage.unfinished,
    after,
    // A stage with a separate estimate does not have the distribution of the whole job.
    distribution: estimateMs === undefined ? (job.estimate.distribution ?? []) : [],
  };
}

/** The next attempts of these tasks. */
function attemptsOf({ tasks }: Job, of: readonly TaskIndex[]): TaskAttempt[] {
  return of.map((task) => ({ task, attempt: tasks.nextAttemptOf(task) }));
}

function placedIn({ tasks }: Job, { first, count }: Stage): TaskAttempt[] {
  return [...tasks.inStates(TaskState.placed)]
    .filter((task) => task >= first && task < first + count)
    .map((task) => ({ task, attempt: tasks.attemptOf(task) }));
}

/** Batches reported to central: pilots separately, then the rest. */
function batchesInNeed(job: Job): readonly Batch[] {
  const batches = job.estimate.isUndecided ? [job.estimate.sample!.pilots, ...job.stages] : job.stages;
  return batches.filter((batch) => tasksInNeed(job, batch) > 0);
}

/** Number of workers that the batch needs now, within the job's limit on running tasks. */
function tasksInNeed(job: Job, batch: Batch): number {
  if (job.cancelling) return 0;
  if (batch.stage.gang !== undefined) return job.canStartGang(batch.stage) ? batch.waiting : 0;
  return Math.min(batch.waiting, job.assignableCount);
}

function partOf(job: Job, batch: Batch): BatchPart {
  if (job.estimate.prediction.kind === 'thin') return 'thin';
  if (!job.estimate.isUndecided) return 'judged';
  return batch === job.estimate.sample?.pilots ? 'pilots' : 'early';
}
