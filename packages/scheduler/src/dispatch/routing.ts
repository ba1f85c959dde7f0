import { type Address, type MessageOf, type Millis, maySeek } from '@goshawk/core';
import type { Batch, Stage } from '../job/batch.js';
import { type Job, TaskState } from '../job/job.js';
import type { Sample } from '../job/sample.js';
import type { SchedulerState } from '../state.js';
import type { Assigner } from './assigner.js';
import {
  needsNone,
  tellDecided,
  tellEnded,
  tellGrown,
  tellNeed,
  tellNeeds,
  tellNeedsAgain,
  withdraw,
} from './needing.js';
import type { Offers } from './offers.js';
import { hasProbed, isSilent } from './probe-watch.js';
import { Prober } from './probing.js';

/** Number of retry intervals after which an unanswered message counts as lost. */
const SILENCE_RETRIES = 10;
/** Number of retry intervals after which a need is first repeated. */
const NEED_RETRIES = 5;
/** Maximum number of batches that probe while central is absent: the larger of a minimum and a number per worker. */
const PROBING_MIN = 1_000;
const PROBING_A_WORKER = 4;
/** Maximum number of returned probes replaced per retry interval, plus this many per waiting task. */
const BACK_MIN = 8;
const BACK_A_TASK = 4;

/** Finds workers for waiting tasks by the route of their job, and without central while it is absent. */
export class Routing {
  readonly prober: Prober;
  readonly offers: Offers;
  readonly #s: SchedulerState;
  readonly #assigner: Assigner;

  constructor(s: SchedulerState, assigner: Assigner) {
    this.#s = s;
    this.prober = new Prober(s);
    this.offers = assigner.offers;
    this.#assigner = assigner;
  }

  /**
   * Whether no task of the job may be assigned yet: it has predecessors, is on hold, is still recovering, or is not
   * durable.
   */
  isHeld(job: Job): boolean {
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
    this.#arrived(job, stage, stage.waiting, now);
  }

  /** Looks for workers for tasks that were appended to an open job. */
  appended(job: Job, tasks: number, now: Millis): void {
    if (job.hasPendingPredecessors || job.cancelling) return;
    if (job.needsCentral) tellGrown(this.#s, job, now);
    this.#arrived(job, job.stages[0]!, tasks, now);
  }

  /** The class of the job was determined; waiting tasks use the route of the class from now on. */
  decided(job: Job, { pilots, nonPilots }: Sample, now: Millis): void {
    if ((job.maySeek || job.needsCentral) && !job.isHeld) tellDecided(this.#s, job, now);
    for (const batch of [pilots, ...nonPilots]) {
      this.prober.batchIsBound(job, batch);
      this.offers.drop(batch);
    }
    for (const stage of job.stages) if (stage.waiting > 0) this.#arrived(job, stage, stage.waiting, now);
  }

  /** The estimate of a job already known to be long was determined. */
  refined(job: Job, now: Millis): void {
    if (job.needsCentral && !job.isHeld) tellDecided(this.#s, job, now);
  }

  /** The user has released the job: repeats its needs to central, from which it was withdrawn. */
  released(job: Job, now: Millis): void {
    if (this.isHeld(job) || job.hasEnded || job.cancelling) return;
    if (job.needsCentral && !this.#isShed(job)) tellNeeds(this.#s, job, now);
    for (const stage of job.stages) if (stage.waiting > 0) this.#arrived(job, stage, stage.waiting, now);
    this.findAll(job, now);
  }

  /** Waiting tasks of the job were cancelled. */
  fewerWait(job: Job, now: Millis): void {
    for (const batch of job.batches) {
      if (batch.waiting > 0) continue;
      this.offers.drop(batch);
      this.allBound(job, batch, now);
    }
    this.findAll(job, now);
  }

  /** The priority of the job has changed: updates central, and replaces queued probes. */
  reordered(job: Job, now: Millis): void {
    if (this.isHeld(job) || job.hasEnded || job.cancelling) return;
    for (const batch of job.batches) if (batch.probes.outstanding > 0) this.prober.recall(job, batch);
    if (job.needsCentral && !this.#isShed(job)) tellNeeds(this.#s, job, now);
    this.findAll(job, now);
  }

  /**
   * Tasks of a stage may start, because they arrived or their class was determined.
   *
   * @param tasks their number
   */
  #arrived(job: Job, stage: Stage, tasks: number, now: Millis): void {
    // Jobs on hold do not count as work yet.
    if (this.#maySeek(job) && !job.isUndecided && !job.isHeld) {
      const isReported = job.needsCentral && !this.#isWithoutCentral(now);
      this.#s.usage.shortArrived(job.expectedRunMs * tasks, tasks, isReported, now);
    }
    if (job.isUndecided) this.find(job, job.sample!.pilots, now);
    this.find(job, stage, now);
  }

  /** Looks for workers for the waiting tasks of the batch. */
  find(job: Job, of: Batch, now: Millis): void {
    // The tasks beside the pilots take their own route until the class of the job is known.
    const batch = job.isUndecided && !job.needsCentral ? job.sample!.nonPilotsOf(of) : of.countingBatch;
    if (batch.waiting === 0 || job.cancelling || this.isHeld(job)) return;
    // Possibly long tasks go only to their probes: seeking workers get tasks known to be short.
    if (this.#maySeek(job) && batch === batch.countingBatch) {
      this.offers.update(job, batch, now);
      if (!job.isUndecided) this.#assigner.giveHeld(job, batch, now);
      if (batch.waiting === 0) return this.allBound(job, batch, now);
    }
    this.#s.sweepTimer.arm(now);
    if (!job.needsCentral) return this.prober.topUp(job, batch);
    if (!this.#isShed(job)) tellNeed(this.#s, job, batch, now);
    const isBacklog = this.offers.size > this.#probingMax && this.prober.hints.size === 0;
    if (this.#isWithoutCentral(now) && !isBacklog) this.#probeInstead(job, batch);
  }

  /** A worker has stolen probes from another one. */
  moved(from: Address, { job: number, stage, to, probes }: MessageOf<'moved'>, now: Millis): void {
    const job = this.#s.jobs.byNumber(number);
    const batch = job?.batches[stage];
    if (job === undefined || batch === undefined || job.hasEnded) return;
    this.prober.moved(batch, from, to, probes);
    job.probesMoved += probes;
    // Otherwise a worker that gets no task of the batch would steal its probes again and again.
    if (batch.probes.outstanding < batch.waiting && job.history.maySearch(now)) this.find(job, batch, now);
  }

  /**
   * Replaces returned probes of the batch, immediately up to a limit per retry interval. Without the limit, duplicated
   * messages between workers that return all probes could multiply them without bound.
   */
  givenBack(job: Job, batch: Batch, from: Address, said: number, now: Millis): void {
    // A duplicated message must not create probes, so only probes recorded at this worker count.
    const probes = Math.min(said, batch.probes.at(from));
    if (probes <= 0) return;
    this.prober.used(batch, from, probes);
    if (this.#s.cluster.timings.retryMs === 0) return this.find(job, batch, now);
    batch.returnedProbes += probes;
    if (batch.returnedProbes <= BACK_MIN + BACK_A_TASK * batch.waiting) return this.find(job, batch, now);
    this.#s.sweepTimer.arm(now);
  }

  /** Replaces the remaining returned probes. @returns whether there were any */
  #findForGivenBack(job: Job, now: Millis): boolean {
    let wereBack = false;
    for (const batch of job.batches) {
      if (batch.returnedProbes === 0) continue;
      batch.returnedProbes = 0;
      if (batch.waiting === 0) continue;
      wereBack = true;
      this.find(job, batch, now);
    }
    return wereBack;
  }

  /** Looks for workers for all waiting tasks of the job. */
  findAll(job: Job, now: Millis): void {
    for (const batch of job.batches) this.find(job, batch, now);
  }

  /** The set of workers has changed. */
  findForThoseThatProbe(now: Millis): void {
    for (const job of this.#s.jobs.active()) {
      if (job.needsCentral) continue;
      this.findAll(job, now);
    }
  }

  /** Central is absent or overloaded: short jobs find workers without it, the oldest first. */
  doWithoutCentral(now: Millis): void {
    if (!this.#isWithoutCentral(now)) return;
    let probing = 0;
    for (const job of this.#s.jobs.active()) {
      for (const batch of job.batches) {
        this.#probeInstead(job, batch);
        if (batch.waiting > 0 && batch.probes.outstanding > 0) probing++;
      }
      if (probing >= this.#probingMax) return;
    }
  }

  /** Maximum number of probing batches. They keep all workers busy; tasks of other batches wait for seeking workers. */
  get #probingMax(): number {
    return Math.max(PROBING_MIN, PROBING_A_WORKER * this.#s.cluster.members.size);
  }

  #probeInstead(job: Job, of: Batch): void {
    if (!job.needsCentral || this.isHeld(job) || !this.#maySeek(job)) return;
    const batch = job.isUndecided ? job.sample!.nonPilotsOf(of) : of.countingBatch;
    if (batch.waiting > 0) this.prober.topUp(job, batch);
  }

  /** Central has started or stopped matching short jobs. */
  sheddingChanged(now: Millis): void {
    if (this.#s.cluster.isShedding) return this.doWithoutCentral(now);
    this.#matchAllAgain((job) => this.#maySeek(job), now);
  }

  /** The connection to the same central is restored; recent messages may have been lost. */
  centralIsBack(now: Millis): void {
    this.#matchAllAgain((job) => !this.#isShed(job), now);
  }

  #matchAllAgain(isMeant: (job: Job) => boolean, now: Millis): void {
    for (const job of this.#s.jobs.active())
      if (job.needsCentral && !this.isHeld(job) && isMeant(job)) this.#matchAgain(job, now);
  }

  /** Whether short jobs must do without central. */
  #isWithoutCentral(now: Millis): boolean {
    return this.#s.cluster.isShedding || this.#s.cluster.isSilent(now);
  }

  /**
   * Whether central sheds the job because of overload. A central that is merely silent still receives needs, because
   * it may be reading them.
   */
  #isShed(job: Job): boolean {
    return this.#maySeek(job) && this.#s.cluster.isShedding;
  }

  /** Whether seeking workers may take single tasks of the job; a gang starts as a whole. */
  #maySeek(job: Job): boolean {
    return job.maySeek && !this.#s.cluster.policy.preset.gangs;
  }

  #matchAgain(job: Job, now: Millis): void {
    for (const batch of job.batches) if (batch.probes.outstanding > 0) this.prober.recall(job, batch);
    tellNeeds(this.#s, job, now);
  }

  /** No task of the batch waits, so its probes and matches are no longer needed. */
  allBound(job: Job, batch: Batch, now: Millis): void {
    this.prober.batchIsBound(job, batch);
    if (batch.needSent > 0) needsNone(this.#s, job, batch, now);
  }

  /** The job was cancelled, given up or taken over: withdraws its needs and probes. */
  takeBack(job: Job): void {
    if (job.needsCentral) withdraw(this.#s, job);
    for (const batch of job.batches) {
      if (batch.probes.outstanding > 0) this.prober.recall(job, batch);
      this.offers.drop(batch);
    }
  }

  jobEnded(job: Job): void {
    for (const batch of job.batches) {
      this.prober.batchIsBound(job, batch);
      this.offers.drop(batch);
    }
    tellEnded(this.#s, job);
  }

  /** Reports all waiting tasks to a new central, which does not know them. */
  tellAnotherCentral(now: Millis): void {
    this.prober.hints.startAnew(maySeek(this.#s.cluster.policy.preset));
    this.#matchAllAgain(() => true, now);
  }

  /** Repeats messages that central has not answered for long. @returns whether any is unanswered */
  askAgain(job: Job, retryMs: Millis, now: Millis): boolean {
    if (this.isHeld(job)) return false;
    const isAvoiding = this.#findForAvoiding(job, now);
    const wereBack = this.#findForGivenBack(job, now);
    const isProbing = this.#probeAgain(job, SILENCE_RETRIES * retryMs, now);
    const needs = job.tasks.countOf(TaskState.waiting) + job.tasks.countOf(TaskState.placed);
    const isNeeding = job.needsCentral && needs > 0 && !this.#isShed(job);
    if (isNeeding) tellNeedsAgain(this.#s, job, NEED_RETRIES * retryMs, now);
    return isNeeding || isProbing || isAvoiding || wereBack;
  }

  /** Looks for workers again for tasks that avoid some of them. @returns whether to repeat this */
  #findForAvoiding(job: Job, now: Millis): boolean {
    if (job.history.blame === undefined) return false;
    job.history.reviewTrial(now);
    this.findAll(job, now);
    return true;
  }

  /** Sends more probes for batches with silent ones. @returns whether any probes are outstanding */
  #probeAgain(job: Job, pauseMs: Millis, now: Millis): boolean {
    let isProbing = false;
    for (const batch of job.batches) {
      if (batch.probes.outstanding === 0 || batch.waiting === 0 || job.assignableCount === 0) continue;
      isProbing = true;
      if (!isSilent(batch, pauseMs, now)) continue;
      this.prober.probeAgain(job, batch);
      hasProbed(batch, pauseMs, now);
    }
    return isProbing;
  }
}
