import type { Address, Millis, PolicySettings } from '@goshawk/core';
import type { Batch, Stage } from '../job/batch.js';
import { type Job, TaskState } from '../job/job.js';
import type { Enlistment } from '../joining/enlistment.js';
import type { Usage } from '../joining/usage.js';
import type { JobStore } from '../keeping/job-store.js';
import type { Needer } from './needing.js';
import type { Offers } from './offers.js';
import type { Placer } from './placing.js';
import { ProbeWatch } from './probe-watch.js';
import type { Prober } from './probing.js';

/** What was sent and not answered for so many retries may be lost. */
const SILENCE_RETRIES = 10;

/** What routing has to know of the scheduler around it. */
interface Surroundings {
  readonly jobs: JobStore;
  readonly enlistment: Enlistment;
  readonly prober: Prober;
  readonly placer: Placer;
  readonly needer: Needer;
  readonly offers: Offers;
  readonly usage: Usage;
  policy(): PolicySettings;
  /** Nothing of the job is to be given out yet. */
  isHeld(job: Job): boolean;
  /** Central was asked: see to it that silence is noticed. */
  asked(now: Millis): void;
}

/** How what waits finds its workers, by the route of its job, and without central while that is away. */
export class Routing {
  readonly #around: Surroundings;
  readonly #watch = new ProbeWatch();

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /**
   * Tasks of a stage may start: they have come, or it was decided what they are.
   *
   * @param tasks so many
   */
  come(job: Job, stage: Stage, tasks: number, now: Millis): void {
    const { usage } = this.#around;
    if (this.#maySeek(job) && !job.isUndecided) {
      const isTold = job.needsCentral && !this.#isAlone(now);
      usage.shortCame(job.believedMs * tasks, tasks, isTold, now);
    }
    if (job.isUndecided) this.find(job, job.sample!.pilots, now);
    this.find(job, stage, now);
  }

  /** Looks for workers for what waits in the batch. */
  find(job: Job, of: Batch, now: Millis): void {
    const { enlistment, prober, placer, needer, offers, policy, isHeld } = this.#around;
    // Before it is decided what a job is, its rest is looked for in another way than by its class.
    const batch = job.isUndecided && !job.needsCentral ? job.sample!.whileUndecided(of) : job.present(of);
    if (batch.waiting === 0 || job.cancelling || isHeld(job)) return;
    // What may be of a long job is for those whose probes come to it: who asks gets what is known to be short.
    if (this.#maySeek(job) && batch === job.present(batch)) offers.update(job, batch, now);
    this.#around.asked(now);
    if (!job.needsCentral) return prober.topUp(job, batch, policy());
    if (job.route.by === 'central') placer.place(job, job.stages[batch.index]!, enlistment.central, now);
    else if (!this.#isSpared(job)) needer.tell(job, batch, enlistment.central, now);
    if (this.#isAlone(now)) this.#probeInstead(job, batch);
  }

  /** All of the job that waits. */
  findAll(job: Job, now: Millis): void {
    for (const batch of job.batches) this.find(job, batch, now);
  }

  /** There are other workers than before, or fewer. */
  findForThoseThatProbe(now: Millis): void {
    for (const job of this.#around.jobs.active()) {
      if (job.needsCentral) continue;
      this.findAll(job, now);
    }
  }

  /** Central is away, or has too much to do: short jobs that it was to match find their workers themselves. */
  doWithoutCentral(now: Millis): void {
    if (!this.#isAlone(now)) return;
    for (const job of this.#around.jobs.active())
      for (const batch of job.batches) this.#probeInstead(job, batch);
  }

  #probeInstead(job: Job, of: Batch): void {
    if (!job.needsCentral || this.#around.isHeld(job) || !this.#maySeek(job)) return;
    const batch = job.isUndecided ? job.sample!.whileUndecided(of) : job.present(of);
    if (batch.waiting > 0) this.#around.prober.topUp(job, batch, this.#around.policy());
  }

  /** Central matches short jobs again, or no more. */
  reliefChanged(central: Address, now: Millis): void {
    if (this.#around.enlistment.isRelieved) return this.doWithoutCentral(now);
    this.#matchAllAgain((job) => this.#maySeek(job), central, now);
  }

  /** The same central as before was cut off: what it was told shortly before, and meanwhile, may be lost. */
  centralIsBack(central: Address, now: Millis): void {
    this.#matchAllAgain((job) => !this.#isSpared(job), central, now);
  }

  #matchAllAgain(isMeant: (job: Job) => boolean, central: Address, now: Millis): void {
    for (const job of this.#around.jobs.active())
      if (job.route.by === 'matching' && !this.#around.isHeld(job) && isMeant(job))
        this.#matchAgain(job, central, now);
  }

  /** Short jobs have to do without central. */
  #isAlone(now: Millis): boolean {
    const { enlistment } = this.#around;
    return enlistment.isRelieved || enlistment.isSilent(now);
  }

  /** Central has too much to do to be told of the job. While it is silent it is told, in case that it hears. */
  #isSpared(job: Job): boolean {
    return this.#maySeek(job) && this.#around.enlistment.isRelieved;
  }

  /** Single tasks of it may go to workers that seek any: not of a gang, which starts as a whole. */
  #maySeek(job: Job): boolean {
    return job.maySeek && !this.#around.policy().preset.gangs;
  }

  #matchAgain(job: Job, central: Address, now: Millis): void {
    const { prober, needer } = this.#around;
    for (const batch of job.batches) if (batch.probes.out > 0) prober.recall(job, batch);
    needer.tellAgain(job, central, now, now);
  }

  /** Another central than before knows nothing of what waits. */
  tellAnotherCentral(central: Address, now: Millis): void {
    const { jobs, placer } = this.#around;
    for (const job of jobs.active()) {
      if (this.#around.isHeld(job)) continue;
      if (job.route.by === 'central') placer.placeAgain(job, central, now);
      if (job.route.by === 'matching') this.#matchAgain(job, central, now);
    }
  }

  /** Asks central again for what it has not answered for long. @returns whether there is anything to be answered */
  askAgain(job: Job, retryMs: Millis, now: Millis): boolean {
    if (this.#around.isHeld(job)) return false;
    const { enlistment, placer, needer } = this.#around;
    const isPlacing = job.countOf(TaskState.placing) > 0;
    if (isPlacing && now - job.placeSentAt >= 2 * retryMs) placer.placeAgain(job, enlistment.central, now);
    const isPlaced = job.countOf(TaskState.placed) > 0;
    if (isPlaced) placer.doubtPlaced(job, SILENCE_RETRIES * retryMs, enlistment.central, now);
    const isChoosy = this.#findForChoosy(job, now);
    const isProbing = this.#probeAgain(job, SILENCE_RETRIES * retryMs, now);
    const isMatching =
      job.route.by === 'matching' && job.countOf(TaskState.waiting) > 0 && !this.#isSpared(job);
    if (isMatching) needer.tellAgain(job, enlistment.central, now - 5 * retryMs, now);
    return isPlacing || isPlaced || isMatching || isProbing || isChoosy;
  }

  /** Workers were passed over, since attempts came to nothing there. @returns whether that may happen again */
  #findForChoosy(job: Job, now: Millis): boolean {
    if (job.blame === undefined) return false;
    job.reviewTrial(now);
    this.findAll(job, now);
    return true;
  }

  /** Sends more probes where nothing was heard of those that are out. @returns whether any are */
  #probeAgain(job: Job, pauseMs: Millis, now: Millis): boolean {
    const { prober, policy } = this.#around;
    let isProbing = false;
    for (const batch of job.batches) {
      if (batch.probes.out === 0 || batch.waiting === 0 || job.headroom === 0) continue;
      isProbing = true;
      if (!this.#watch.isSilent(batch, pauseMs, now)) continue;
      prober.probeAgain(job, batch, policy());
      this.#watch.hasProbed(batch, pauseMs, now);
    }
    return isProbing;
  }
}
