import { type Address, type MessageOf, type Millis, maySeek } from '@goshawk/core';
import type { Batch, Stage } from '../job/batch.js';
import type { Job } from '../job/job.js';
import type { Sample } from '../job/sample.js';
import { TaskState } from '../job/task-state.js';
import type { SchedulerState } from '../state.js';
import type { Assigner } from './assigner.js';
import { NeedReporter, type WaitingAtCentral } from './need-reporter.js';
import type { Offers } from './offers.js';
import { hasStalled, probesRepeated } from './probe-watch.js';
import { Prober } from './probing.js';

/** Number of retry intervals after which an unanswered message counts as lost. */
const SILENCE_RETRIES = 10;
/** Number of retry intervals after which a need is first repeated. */
const NEED_RETRIES = 5;
/** Maximum number of batches that probe while central is absent: the larger of a minimum and a number per worker. */
const PROBING_MIN = 1_000;
const PROBING_PER_WORKER = 4;
/** Maximum number of returned probes replaced per retry interval, plus this many per waiting task. */
const RETURNED_MIN = 8;
const RETURNED_PER_TASK = 4;

/** Finds workers for waiting tasks by the route of their job. While central is absent, short jobs probe. */
export class Routing {
  readonly prober: Prober;
  readonly needs: NeedReporter;
  readonly offers: Offers;
  readonly #s: SchedulerState;
  readonly #assigner: Assigner;

  constructor(s: SchedulerState, assigner: Assigner) {
    this.#s = s;
    this.prober = new Prober(s);
    this.needs = new NeedReporter(s);
    this.offers = assigner.offers;
    this.#assigner = assigner;
  }

  /**
   * Whether no task of the job may be assigned yet: it has predecessors, is on hold, is still recovering, or is not
   * durable.
   */
  mustWait(job: Job): boolean {
    return (
      job.hasPendingPredecessors ||
      job.isHeld ||
      job.isRecovering ||
      this.#s.notDurableJobs.mustNotSearch(job)
    );
  }

  /** Starts the stages without predecessors. */
  startJob(job: Job, now: Millis): void {
    for (const stage of job.stages) if (stage.blockers === 0) this.startStage(job, stage, now);
  }

  startStage(job: Job, stage: Stage, now: Millis): void {
    job.release(stage, now);
    this.#tasksBecameEligible(job, stage, stage.waiting, now);
  }

  /** Looks for workers for tasks that were appended to an open job. */
  tasksAppended(job: Job, tasks: number, now: Millis): void {
    if (job.hasPendingPredecessors || job.cancelling) return;
    if (job.needsCentral) this.needs.describeGrowth(job, now);
    this.#tasksBecameEligible(job, job.stages[0]!, tasks, now);
  }

  /** Applies the class of the job, once it is determined. Waiting tasks then use the route of the class. */
  classified(job: Job, { pilots, nonPilots }: Sample, now: Millis): void {
    if ((job.maySeek || job.needsCentral) && !job.isHeld) this.needs.sendDecision(job, now);
    for (const batch of [pilots, ...nonPilots]) {
      this.prober.batchAssigned(job, batch);
      this.offers.withdraw(batch);
    }
    for (const stage of job.stages)
      if (stage.waiting > 0) this.#tasksBecameEligible(job, stage, stage.waiting, now);
  }

  /** Reports the final estimate of a long job to central. */
  estimateRefined(job: Job, now: Millis): void {
    if (job.needsCentral && !job.isHeld) this.needs.sendDecision(job, now);
  }

  /** Handles the release of a job: repeats its needs to central, from which the hold withdrew them. */
  jobReleased(job: Job, now: Millis): void {
    if (this.mustWait(job) || job.hasEnded || job.cancelling) return;
    if (job.needsCentral && !this.#isShed(job)) this.needs.sendAll(job, now);
    for (const stage of job.stages)
      if (stage.waiting > 0) this.#tasksBecameEligible(job, stage, stage.waiting, now);
    this.findWorkersForAll(job, now);
  }

  /** Handles the cancellation of waiting tasks of the job. */
  waitingTasksCancelled(job: Job, now: Millis): void {
    for (const batch of job.batches) {
      if (batch.waiting > 0) continue;
      this.offers.withdraw(batch);
      this.batchAssigned(job, batch, now);
    }
    this.findWorkersForAll(job, now);
  }

  /** Handles a changed priority: updates central, and replaces queued probes. */
  priorityChanged(job: Job, now: Millis): void {
    if (this.mustWait(job) || job.hasEnded || job.cancelling) return;
    for (const batch of job.batches) if (batch.probes.outstanding > 0) this.prober.cancelProbes(job, batch);
    if (job.needsCentral && !this.#isShed(job)) this.needs.sendAll(job, now);
    this.findWorkersForAll(job, now);
  }

  /** Handles another parent: the task that submitted the job has submitted it again in another attempt. */
  parentChanged(job: Job, now: Millis): void {
    if (this.mustWait(job) || job.hasEnded || job.cancelling || job.isHeld) return;
    if (job.needsCentral && !this.#isShed(job)) this.needs.sendAll(job, now);
  }

  /**
   * Handles tasks of a stage that may now start, because they arrived or their class was determined.
   *
   * @param tasks their number
   */
  #tasksBecameEligible(job: Job, stage: Stage, tasks: number, now: Millis): void {
    // Jobs on hold do not count as work yet.
    if (this.#maySeek(job) && !job.estimate.isUndecided && !job.isHeld) {
      const isReported = job.needsCentral && !this.isWithoutCentral(now);
      this.#s.usage.shortArrived(job.expectedRunMs * tasks, tasks, isReported, now);
    }
    if (job.estimate.isUndecided) this.findWorkers(job, job.estimate.sample!.pilots, now);
    this.findWorkers(job, stage, now);
  }

  /** Looks for workers for the waiting tasks of the batch. */
  findWorkers(job: Job, ofBatch: Batch, now: Millis): void {
    // Tasks other than pilots use a separate route until the class of the job is known.
    const batch =
      job.estimate.isUndecided && !job.needsCentral
        ? job.estimate.sample!.nonPilotsOf(ofBatch)
        : ofBatch.countingBatch;
    if (batch.waiting === 0 || job.cancelling || this.mustWait(job)) return;
    // Possibly long tasks go only to their probes: seeking workers get tasks known to be short.
    if (this.#maySeek(job) && batch === batch.countingBatch) {
      this.offers.update(job, batch, now);
      if (!job.estimate.isUndecided) this.#assigner.assignToWaitingSlots(job, batch, now);
      if (batch.waiting === 0) return this.batchAssigned(job, batch, now);
    }
    this.#s.sweepTimer.arm(now);
    if (!job.needsCentral) return this.prober.ensureProbes(job, batch);
    if (!this.#isShed(job)) this.needs.sendIfGrown(job, batch, now);
    const isBacklog = this.offers.size > this.#probingMax && this.prober.hints.size === 0;
    if (this.isWithoutCentral(now) && !isBacklog) this.#probeInsteadOfMatching(job, batch);
  }

  /** Records that a worker has stolen probes from another one. */
  probesMoved(from: Address, { job: number, stage, to, probes }: MessageOf<'moved'>, now: Millis): void {
    const job = this.#s.jobs.byNumber(number);
    const batch = job?.batches[stage];
    if (job === undefined || batch === undefined || job.hasEnded) return;
    this.prober.probesMoved(job, batch, from, to, probes);
    job.probesMoved += probes;
    // Without this limit, a worker that gets no task of the batch would steal its probes repeatedly.
    if (batch.probes.outstanding < batch.waiting && job.history.maySearch(now))
      this.findWorkers(job, batch, now);
  }

  /**
   * Replaces returned probes of the batch, immediately up to a limit per retry interval. Without the limit, duplicated
   * messages between workers that return all probes could multiply them without bound.
   */
  probesReturned(job: Job, batch: Batch, from: Address, reported: number, now: Millis): void {
    // A duplicated message must not create probes, so only probes recorded at this worker count.
    const probes = Math.min(reported, batch.probes.at(from));
    if (probes <= 0) return;
    this.prober.probesUsed(batch, from, probes);
    if (this.#s.cluster.timings.retryMs === 0) return this.findWorkers(job, batch, now);
    batch.returnedProbes += probes;
    if (batch.returnedProbes <= RETURNED_MIN + RETURNED_PER_TASK * batch.waiting)
      return this.findWorkers(job, batch, now);
    this.#s.sweepTimer.arm(now);
  }

  /** Replaces the remaining returned probes. @returns whether there were any */
  #replaceReturnedProbes(job: Job, now: Millis): boolean {
    let wereReturned = false;
    for (const batch of job.batches) {
      if (batch.returnedProbes === 0) continue;
      batch.returnedProbes = 0;
      if (batch.waiting === 0) continue;
      wereReturned = true;
      this.findWorkers(job, batch, now);
    }
    return wereReturned;
  }

  /** Looks for workers for all waiting tasks of the job. */
  findWorkersForAll(job: Job, now: Millis): void {
    for (const batch of job.batches) this.findWorkers(job, batch, now);
  }

  /** Handles a change of the set of workers. */
  workersChanged(now: Millis): void {
    for (const job of this.#s.jobs.active()) {
      if (job.needsCentral) continue;
      this.findWorkersForAll(job, now);
    }
  }

  /** Probes for short jobs, the oldest first, while central is absent or overloaded. */
  probeWithoutCentral(now: Millis): void {
    if (!this.isWithoutCentral(now)) return;
    let probing = 0;
    for (const job of this.#s.jobs.active()) {
      for (const batch of job.batches) {
        this.#probeInsteadOfMatching(job, batch);
        if (batch.waiting > 0 && batch.probes.outstanding > 0) probing++;
      }
      if (probing >= this.#probingMax) return;
    }
  }

  /** Maximum number of probing batches, which keep all workers busy. Other tasks wait for seeking workers. */
  get #probingMax(): number {
    return Math.max(PROBING_MIN, PROBING_PER_WORKER * this.#s.cluster.members.size);
  }

  #probeInsteadOfMatching(job: Job, of: Batch): void {
    if (!job.needsCentral || this.mustWait(job) || !this.#maySeek(job) || this.isUpToCentral(job)) return;
    const batch = job.estimate.isUndecided ? job.estimate.sample!.nonPilotsOf(of) : of.countingBatch;
    if (batch.waiting > 0) this.prober.ensureProbes(job, batch);
  }

  /** Handles that central has started or stopped matching short jobs. */
  sheddingChanged(now: Millis): void {
    if (this.#s.cluster.isShedding) return this.probeWithoutCentral(now);
    this.#returnJobsToCentral((job) => this.#maySeek(job), now);
  }

  /** Handles a restored connection to the same central. Recent messages may have been lost. */
  centralReconnected(now: Millis): void {
    this.#returnJobsToCentral((job) => !this.#isShed(job), now);
  }

  #returnJobsToCentral(isAffected: (job: Job) => boolean, now: Millis): void {
    for (const job of this.#s.jobs.active()) if (isAffected(job)) this.#reportToCentral(job, now);
  }

  #reportToCentral(job: Job, now: Millis): void {
    if (!job.needsCentral) return;
    if (!this.mustWait(job)) this.#returnToCentral(job, now);
    // Running tasks of a job on hold count against the limits of its user.
    else if (job.isHeld && job.runningCount > 0) this.needs.describe(job, now);
  }

  /** Handles a job that an earlier incarnation accepted, once its running tasks are known. */
  jobRecovered(job: Job, now: Millis): void {
    if (job.runningCount > 0 && !this.#isShed(job)) this.#reportToCentral(job, now);
    this.findWorkersForAll(job, now);
  }

  /** Handles that central counts a running task of the job, which this scheduler assigned while central was away. */
  taskCounted(job: Job, now: Millis): void {
    if (job.needsCentral && !job.isSentToCentral) this.needs.describe(job, now);
  }

  /** Whether short jobs must find workers without central. */
  isWithoutCentral(now: Millis): boolean {
    return this.#s.cluster.isShedding || this.#s.cluster.isSilent(now);
  }

  /**
   * Whether central sheds the job because of overload. A central that is only silent still receives needs,
   * because it may still process them.
   */
  #isShed(job: Job): boolean {
    return this.#maySeek(job) && this.#s.cluster.isShedding && !this.isUpToCentral(job);
  }

  /** Whether the job's tasks must not start without central, which enforces the limits of their user. */
  isUpToCentral(job: Job): boolean {
    return job.needsCentral && this.#s.quotas.needsCentral(job.spec.user);
  }

  /** Whether seeking workers may take single tasks of the job; a gang starts as a whole. */
  #maySeek(job: Job): boolean {
    return job.maySeek && this.#s.cluster.policy?.preset.gangs === false;
  }

  #returnToCentral(job: Job, now: Millis): void {
    for (const batch of job.batches) if (batch.probes.outstanding > 0) this.prober.cancelProbes(job, batch);
    this.needs.sendAll(job, now);
  }

  /** No task of the batch waits any more: withdraws its probes and needs. */
  batchAssigned(job: Job, batch: Batch, now: Millis): void {
    this.prober.batchAssigned(job, batch);
    this.needs.clear(job, batch, now);
  }

  /** Withdraws the needs and probes of a job that was cancelled, given up or taken over. */
  withdraw(job: Job): void {
    if (job.needsCentral) this.needs.withdraw(job);
    for (const batch of job.batches) {
      // Counts of single workers may remain although no probe is outstanding in total.
      if (batch.probes.entryCount > 0) this.prober.cancelProbes(job, batch);
      this.offers.withdraw(batch);
    }
  }

  jobEnded(job: Job): void {
    for (const batch of job.batches) {
      this.prober.batchAssigned(job, batch);
      this.prober.forget(batch);
      this.offers.withdraw(batch);
    }
    this.needs.withdrawEnded(job);
  }

  /** Reports all waiting tasks to a new central, which does not know them. */
  centralReplaced(now: Millis): void {
    this.prober.hints.reset(maySeek(this.#s.cluster.joinedPolicy.preset));
    this.#returnJobsToCentral(() => true, now);
  }

  /** Corrects what central wrongly lists as waiting, because it has lost a message about it. */
  correctCentral(waiting: readonly WaitingAtCentral[], now: Millis): void {
    for (const { job: number, ...listed } of waiting) {
      const job = this.#s.jobs.byNumber(number);
      // Such a job sends its needs later.
      if (job !== undefined && !job.isHeld && (this.mustWait(job) || this.#isShed(job))) continue;
      this.needs.correct(number, job, listed, now);
    }
  }

  /** Repeats messages that central has not answered for long. @returns whether any is unanswered */
  retryUnanswered(job: Job, retryMs: Millis, now: Millis): boolean {
    if (this.mustWait(job)) return false;
    const isAvoiding = this.#retryAvoidingTasks(job, now);
    const wereReturned = this.#replaceReturnedProbes(job, now);
    const isProbing = this.#repeatStalledProbes(job, SILENCE_RETRIES * retryMs, now);
    const needs = job.tasks.countOf(TaskState.waiting) + job.tasks.countOf(TaskState.placed);
    const isNeeding = job.needsCentral && needs > 0 && !this.#isShed(job);
    if (isNeeding) this.needs.repeatUnanswered(job, NEED_RETRIES * retryMs, now);
    return isNeeding || isProbing || isAvoiding || wereReturned;
  }

  /** Looks for workers again for tasks that avoid some of them. @returns whether to repeat this */
  #retryAvoidingTasks(job: Job, now: Millis): boolean {
    if (job.history.blame === undefined) return false;
    job.history.reviewTrial(now);
    this.findWorkersForAll(job, now);
    return true;
  }

  /** Sends more probes for batches with silent ones. @returns whether any probes are outstanding */
  #repeatStalledProbes(job: Job, pauseMs: Millis, now: Millis): boolean {
    let isProbing = false;
    for (const batch of job.batches) {
      if (batch.probes.outstanding === 0 || batch.waiting === 0 || job.assignableCount === 0) continue;
      isProbing = true;
      if (!hasStalled(batch, pauseMs, now)) continue;
      this.prober.repeatProbes(job, batch);
      probesRepeated(batch, pauseMs, now);
    }
    return isProbing;
  }
}
