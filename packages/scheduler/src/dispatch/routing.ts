import { type Address, type MessageOf, type Millis, maySeek } from '@goshawk/core';
import type { Batch, Stage } from '../job/batch.js';
import type { Job } from '../job/job.js';
import type { Sample } from '../job/sample.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state/state.js';
import { assignToWaitingSlots } from './assigning.js';
import type { WaitingAtCentral } from './needing.js';
import {
  clearNeed,
  correctNeed,
  describeGrowth,
  describeJob,
  repeatUnansweredNeeds,
  sendAllNeeds,
  sendDecision,
  sendGrownNeed,
  withdrawEndedJob,
  withdrawNeeds,
} from './needing.js';
import { hasStalled, probesRepeated } from './probe-watch.js';
import {
  cancelProbes,
  endProbing,
  ensureProbes,
  forgetProbes,
  moveProbes,
  probesUsed,
  repeatProbes,
} from './probing.js';

/** Number of retry intervals after which an unanswered message counts as lost. */
const SILENCE_RETRIES = 10;
/** Number of retry intervals after which a need is first repeated. */
const NEED_RETRIES = 5;
/** Maximum number of batches of a user that probe while central is absent: the larger of a minimum and a number per worker. */
const PROBING_MIN = 100;
const PROBING_PER_WORKER = 4;
/** Maximum number of returned probes replaced per retry interval, plus this many per waiting task. */
const RETURNED_MIN = 8;
const RETURNED_PER_TASK = 4;

// Finds workers for waiting tasks by the route of their job. While central is absent, short jobs probe.

/**
 * Whether no task of the job may be assigned yet: it has predecessors, is on hold, is still recovering, or is not
 * durable.
 */
export function mustWait(s: SchedulerState, job: Job): boolean {
  return job.hasPendingPredecessors || job.isHeld || job.isRecovering || s.notDurableJobs.mustNotSearch(job);
}

/** Starts the stages without predecessors. */
export function startJob(s: SchedulerState, job: Job, now: Millis): void {
  for (const stage of job.stages) if (stage.blockers === 0) startStage(s, job, stage, now);
}

export function startStage(s: SchedulerState, job: Job, stage: Stage, now: Millis): void {
  job.release(stage, now);
  tasksBecameEligible(s, job, stage, stage.waiting, now);
}

/** Looks for workers for tasks that were appended to an open job. */
export function tasksAppended(s: SchedulerState, job: Job, tasks: number, now: Millis): void {
  if (job.hasPendingPredecessors || job.cancelling) return;
  if (job.needsCentral) describeGrowth(s, job, now);
  tasksBecameEligible(s, job, job.stages[0]!, tasks, now);
}

/** Applies the class of the job, once it is determined. Waiting tasks then use the route of the class. */
export function jobClassified(s: SchedulerState, job: Job, { pilots, nonPilots }: Sample, now: Millis): void {
  if ((job.maySeek || job.needsCentral) && !job.isHeld) sendDecision(s, job, now);
  for (const batch of [pilots, ...nonPilots]) {
    endProbing(s, job, batch);
    s.offers.withdraw(batch);
  }
  for (const stage of job.stages)
    if (stage.waiting > 0) tasksBecameEligible(s, job, stage, stage.waiting, now);
}

/** Reports the final estimate of a long job to central. */
export function estimateRefined(s: SchedulerState, job: Job, now: Millis): void {
  if (job.needsCentral && !job.isHeld) sendDecision(s, job, now);
}

/** Handles the release of a job: repeats its needs to central, from which the hold withdrew them. */
export function jobReleased(s: SchedulerState, job: Job, now: Millis): void {
  if (mustWait(s, job) || job.hasEnded || job.cancelling) return;
  if (job.needsCentral && !isShed(s, job)) sendAllNeeds(s, job, now);
  for (const stage of job.stages)
    if (stage.waiting > 0) tasksBecameEligible(s, job, stage, stage.waiting, now);
  findWorkersForAll(s, job, now);
}

/** Handles the cancellation of waiting tasks of the job. */
export function waitingTasksCancelled(s: SchedulerState, job: Job, now: Millis): void {
  for (const batch of job.batches) {
    if (batch.waiting > 0) continue;
    s.offers.withdraw(batch);
    batchAssigned(s, job, batch, now);
  }
  findWorkersForAll(s, job, now);
}

/** Handles a changed priority: updates central, and replaces queued probes. */
export function priorityChanged(s: SchedulerState, job: Job, now: Millis): void {
  if (mustWait(s, job) || job.hasEnded || job.cancelling) return;
  for (const batch of job.batches) if (batch.probes.outstanding > 0) cancelProbes(s, job, batch);
  if (job.needsCentral && !isShed(s, job)) sendAllNeeds(s, job, now);
  findWorkersForAll(s, job, now);
}

/** Handles another parent: the task that submitted the job has submitted it again in another attempt. */
export function parentChanged(s: SchedulerState, job: Job, now: Millis): void {
  if (mustWait(s, job) || job.hasEnded || job.cancelling || job.isHeld) return;
  if (job.needsCentral && !isShed(s, job)) sendAllNeeds(s, job, now);
}

/**
 * Handles tasks of a stage that may now start, because they arrived or their class was determined.
 *
 * @param tasks their number
 */
function tasksBecameEligible(s: SchedulerState, job: Job, stage: Stage, tasks: number, now: Millis): void {
  // Jobs on hold do not count as work yet.
  if (maySeekTasks(s, job) && !job.estimate.isUndecided && !job.isHeld) {
    const isReported = job.needsCentral && !isWithoutCentral(s, now);
    s.usage.shortArrived(job.expectedRunMs * tasks, tasks, isReported, now);
  }
  if (job.estimate.isUndecided) findWorkers(s, job, job.estimate.sample!.pilots, now);
  findWorkers(s, job, stage, now);
}

/** Looks for workers for the waiting tasks of the batch. */
export function findWorkers(s: SchedulerState, job: Job, ofBatch: Batch, now: Millis): void {
  const batch = job.searchingBatch(ofBatch);
  if (batch.waiting === 0 || job.cancelling || mustWait(s, job)) return;
  // Possibly long tasks go only to their probes: seeking workers get tasks known to be short.
  if (maySeekTasks(s, job) && batch === batch.countingBatch) {
    s.offers.update(job, batch, now);
    if (!job.estimate.isUndecided) assignToWaitingSlots(s, job, batch, now);
    if (batch.waiting === 0) return batchAssigned(s, job, batch, now);
  }
  s.sweepTimer.arm(now);
  if (!job.needsCentral) return ensureProbes(s, job, batch);
  if (!isShed(s, job)) sendGrownNeed(s, job, batch, now);
  const isBacklog = s.offers.batchesOf(job.spec.user) > probingMax(s) && s.hints.size === 0;
  if (isWithoutCentral(s, now) && !isBacklog) probeInsteadOfMatching(s, job, batch);
}

/** Records that a worker has stolen probes from another one. */
export function probesMoved(
  s: SchedulerState,
  from: Address,
  { job: number, stage, to, probes }: MessageOf<'moved'>,
  now: Millis,
): void {
  const job = s.jobs.byNumber(number);
  const batch = job?.batches[stage];
  if (job === undefined || batch === undefined || job.hasEnded) return;
  moveProbes(s, job, batch, from, to, probes);
  job.probesMoved += probes;
  // Without this limit, a worker that gets no task of the batch would steal its probes repeatedly.
  if (batch.probes.outstanding < batch.waiting && job.history.maySearch(now)) findWorkers(s, job, batch, now);
}

/**
 * Replaces returned probes of the batch, immediately up to a limit per retry interval. Without the limit, duplicated
 * messages between workers that return all probes could multiply them without bound.
 */
export function probesReturned(
  s: SchedulerState,
  job: Job,
  batch: Batch,
  from: Address,
  reported: number,
  now: Millis,
): void {
  // A duplicated message must not create probes, so only probes recorded at this worker count.
  const probes = Math.min(reported, batch.probes.at(from));
  if (probes <= 0) return;
  probesUsed(batch, from, probes);
  if (s.cluster.timings.retryMs === 0) return findWorkers(s, job, batch, now);
  batch.returnedProbes += probes;
  if (batch.returnedProbes <= RETURNED_MIN + RETURNED_PER_TASK * batch.waiting)
    return findWorkers(s, job, batch, now);
  s.sweepTimer.arm(now);
}

/** Replaces the remaining returned probes. @returns whether there were any */
function replaceReturnedProbes(s: SchedulerState, job: Job, now: Millis): boolean {
  let wereReturned = false;
  for (const batch of job.batches) {
    if (batch.returnedProbes === 0) continue;
    batch.returnedProbes = 0;
    if (batch.waiting === 0) continue;
    wereReturned = true;
    findWorkers(s, job, batch, now);
  }
  return wereReturned;
}

/** Looks for workers for all waiting tasks of the job. */
export function findWorkersForAll(s: SchedulerState, job: Job, now: Millis): void {
  for (const batch of job.batches) findWorkers(s, job, batch, now);
}

/** Handles a change of the set of workers. */
export function workersChanged(s: SchedulerState, now: Millis): void {
  for (const job of s.jobs.active()) {
    if (job.needsCentral) continue;
    findWorkersForAll(s, job, now);
  }
}

/** Probes for short jobs, the oldest of each user first, while central is absent or overloaded. */
export function probeWithoutCentral(s: SchedulerState, now: Millis): void {
  if (!isWithoutCentral(s, now)) return;
  const most = probingMax(s);
  const probing = new Map<string | undefined, number>();
  for (const job of s.jobs.active()) {
    const { user } = job.spec;
    let batches = probing.get(user) ?? 0;
    for (const batch of job.batches) {
      if (batches >= most) break;
      probeInsteadOfMatching(s, job, batch);
      if (batch.waiting > 0 && batch.probes.outstanding > 0) batches++;
    }
    probing.set(user, batches);
  }
}

/** Maximum number of probing batches of a user, which keep all workers busy. Other tasks wait for seeking workers. */
function probingMax(s: SchedulerState): number {
  return Math.max(PROBING_MIN, PROBING_PER_WORKER * s.cluster.members.size);
}

function probeInsteadOfMatching(s: SchedulerState, job: Job, of: Batch): void {
  if (!job.needsCentral || mustWait(s, job) || !maySeekTasks(s, job) || isUpToCentral(s, job)) return;
  const batch = job.estimate.isUndecided ? job.estimate.sample!.nonPilotsOf(of) : of.countingBatch;
  if (batch.waiting > 0) ensureProbes(s, job, batch);
}

/** Handles that central has started or stopped matching short jobs. */
export function sheddingChanged(s: SchedulerState, now: Millis): void {
  if (s.cluster.isShedding) return probeWithoutCentral(s, now);
  returnJobsToCentral(s, (job) => maySeekTasks(s, job), now);
}

/** Handles a restored connection to the same central. Recent messages may have been lost. */
export function centralReconnected(s: SchedulerState, now: Millis): void {
  returnJobsToCentral(s, (job) => !isShed(s, job), now);
}

function returnJobsToCentral(s: SchedulerState, isAffected: (job: Job) => boolean, now: Millis): void {
  for (const job of s.jobs.active()) if (isAffected(job)) reportToCentral(s, job, now);
}

function reportToCentral(s: SchedulerState, job: Job, now: Millis): void {
  if (!job.needsCentral) return;
  if (!mustWait(s, job)) returnToCentral(s, job, now);
  // Running tasks of a job on hold count against the limits of its user.
  else if (job.isHeld && job.runningCount > 0) describeJob(s, job, now);
}

/** Handles a job that an earlier incarnation accepted, once its running tasks are known. */
export function jobRecovered(s: SchedulerState, job: Job, now: Millis): void {
  if (job.runningCount > 0 && !isShed(s, job)) reportToCentral(s, job, now);
  findWorkersForAll(s, job, now);
}

/** Handles that central counts a running task of the job, which this scheduler assigned while central was away. */
export function taskCounted(s: SchedulerState, job: Job, now: Millis): void {
  if (job.needsCentral && !job.isSentToCentral) describeJob(s, job, now);
}

/** Whether short jobs must find workers without central. */
export function isWithoutCentral(s: SchedulerState, now: Millis): boolean {
  return s.cluster.isShedding || s.cluster.isSilent(now);
}

/**
 * Whether central sheds the job because of overload. A central that is only silent still receives needs,
 * because it may still process them.
 */
function isShed(s: SchedulerState, job: Job): boolean {
  return maySeekTasks(s, job) && s.cluster.isShedding && !isUpToCentral(s, job);
}

/** Whether the job's tasks must not start without central, which enforces the limits of their user. */
export function isUpToCentral(s: SchedulerState, job: Job): boolean {
  return job.needsCentral && s.quotas.needsCentral(job.spec.user);
}

/** Whether seeking workers may take single tasks of the job; a gang starts as a whole, and without a policy every job may be one. */
function maySeekTasks(s: SchedulerState, job: Job): boolean {
  return job.maySeek && (s.cluster.policy?.preset.gangs ?? 'all') !== 'all';
}

function returnToCentral(s: SchedulerState, job: Job, now: Millis): void {
  for (const batch of job.batches) if (batch.probes.outstanding > 0) cancelProbes(s, job, batch);
  sendAllNeeds(s, job, now);
}

/** No task of the batch waits any more: withdraws its probes and needs. */
export function batchAssigned(s: SchedulerState, job: Job, batch: Batch, now: Millis): void {
  endProbing(s, job, batch);
  clearNeed(s, job, batch, now);
}

/** Withdraws the needs and probes of a job that was cancelled, given up or taken over. */
export function withdrawSearch(s: SchedulerState, job: Job): void {
  if (job.needsCentral) withdrawNeeds(s, job);
  for (const batch of job.batches) {
    // Counts of single workers may remain although no probe is outstanding in total.
    if (batch.probes.entryCount > 0) cancelProbes(s, job, batch);
    s.offers.withdraw(batch);
  }
}

export function endSearch(s: SchedulerState, job: Job): void {
  for (const batch of job.batches) {
    endProbing(s, job, batch);
    forgetProbes(s, batch);
    s.offers.withdraw(batch);
  }
  withdrawEndedJob(s, job);
}

/** Reports all waiting tasks to a new central, which does not know them. */
export function centralReplaced(s: SchedulerState, now: Millis): void {
  s.hints.reset(maySeek(s.cluster.joinedPolicy.preset));
  returnJobsToCentral(s, () => true, now);
}

/** Corrects what central wrongly lists as waiting, because it has lost a message about it. */
export function correctCentral(s: SchedulerState, waiting: readonly WaitingAtCentral[], now: Millis): void {
  for (const { job: number, ...listed } of waiting) {
    const job = s.jobs.byNumber(number);
    // Such a job sends its needs later.
    if (job !== undefined && !job.isHeld && (mustWait(s, job) || isShed(s, job))) continue;
    correctNeed(s, number, job, listed, now);
  }
}

/** Repeats messages that central has not answered for long. @returns whether any is unanswered */
export function retryUnanswered(s: SchedulerState, job: Job, retryMs: Millis, now: Millis): boolean {
  if (mustWait(s, job)) return false;
  const isAvoiding = retryAvoidingTasks(s, job, now);
  const wereReturned = replaceReturnedProbes(s, job, now);
  const isProbing = repeatStalledProbes(s, job, SILENCE_RETRIES * retryMs, now);
  const needs = job.tasks.countOf(TaskState.waiting) + job.tasks.countOf(TaskState.placed);
  const isNeeding = job.needsCentral && needs > 0 && !isShed(s, job);
  if (isNeeding) repeatUnansweredNeeds(s, job, NEED_RETRIES * retryMs, now);
  return isNeeding || isProbing || isAvoiding || wereReturned;
}

/** Looks for workers again for tasks that avoid some of them. @returns whether to repeat this */
function retryAvoidingTasks(s: SchedulerState, job: Job, now: Millis): boolean {
  if (job.history.blame === undefined) return false;
  job.history.reviewTrial(now);
  findWorkersForAll(s, job, now);
  return true;
}

/** Sends more probes for batches with silent ones. @returns whether any probes are outstanding */
function repeatStalledProbes(s: SchedulerState, job: Job, pauseMs: Millis, now: Millis): boolean {
  let isProbing = false;
  for (const batch of job.batches) {
    if (batch.probes.outstanding === 0 || batch.waiting === 0 || job.assignableCount === 0) continue;
    isProbing = true;
    if (!hasStalled(batch, pauseMs, now)) continue;
    repeatProbes(s, job, batch);
    probesRepeated(batch, pauseMs, now);
  }
  return isProbing;
}
