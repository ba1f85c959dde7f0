import type { Address, Millis, PolicySettings } from '@goshawk/core';
import type { Enlistment } from './enlistment.js';
import { type Job, type Stage, TaskState } from './job.js';
import type { JobStore } from './job-store.js';
import type { Needer } from './needing.js';
import type { Offers } from './offers.js';
import type { Placer } from './placing.js';
import type { Prober } from './probing.js';

/** What routing has to know of the scheduler around it. */
interface Surroundings {
  readonly jobs: JobStore;
  readonly enlistment: Enlistment;
  readonly prober: Prober;
  readonly placer: Placer;
  readonly needer: Needer;
  readonly offers: Offers;
  policy(): PolicySettings;
  /** Nothing of the job is to be given out yet. */
  isHeld(job: Job): boolean;
  /** Central was asked: see to it that silence is noticed. */
  asked(now: Millis): void;
}

/** How what waits finds its workers, by the route of its job, and without central while that is away. */
export class Routing {
  readonly #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /** Looks for workers for what waits in the stage. */
  find(job: Job, stage: Stage, now: Millis): void {
    if (stage.waiting === 0 || job.cancelling || this.#around.isHeld(job)) return;
    const { enlistment, prober, placer, needer, offers, policy } = this.#around;
    if (job.maySeek) offers.update(job, stage);
    if (!job.needsCentral) return prober.topUp(job, stage, policy());
    if (job.route.by === 'central') placer.place(job, stage, enlistment.central, now);
    else needer.tell(job, stage, enlistment.central, now);
    this.#around.asked(now);
    if (enlistment.isSilent(now)) this.#probeInstead(job, stage);
  }

  /** There are other workers than before, or fewer. */
  findForThoseThatProbe(now: Millis): void {
    for (const job of this.#around.jobs.active()) {
      if (job.needsCentral) continue;
      for (const stage of job.stages) this.find(job, stage, now);
    }
  }

  /** Central is away: short jobs that it was to match find their workers themselves, and long ones wait. */
  doWithoutCentral(now: Millis): void {
    if (!this.#around.enlistment.isSilent(now)) return;
    for (const job of this.#around.jobs.active())
      for (const stage of job.stages) this.#probeInstead(job, stage);
  }

  #probeInstead(job: Job, stage: Stage): void {
    if (!job.needsCentral || !job.maySeek || stage.waiting === 0 || this.#around.isHeld(job)) return;
    this.#around.prober.topUp(job, stage, this.#around.policy());
  }

  /** Another central than before knows nothing of what waits. */
  tellAnotherCentral(central: Address, now: Millis): void {
    const { jobs, prober, placer, needer } = this.#around;
    for (const job of jobs.active()) {
      if (this.#around.isHeld(job)) continue;
      if (job.route.by === 'central') placer.placeAgain(job, central, now);
      if (job.route.by !== 'matching') continue;
      for (const stage of job.stages) if (stage.probes.out > 0) prober.recall(job, stage);
      needer.tellAgain(job, central, now, now);
    }
  }

  /** Asks central again for what it has not answered for long. @returns whether there is anything to be answered */
  askAgain(job: Job, retryMs: Millis, now: Millis): boolean {
    if (this.#around.isHeld(job)) return false;
    const { enlistment, placer, needer } = this.#around;
    const isPlacing = job.countOf(TaskState.placing) > 0;
    if (isPlacing && now - job.placeSentAt >= 2 * retryMs) placer.placeAgain(job, enlistment.central, now);
    const isMatching = job.route.by === 'matching' && job.countOf(TaskState.waiting) > 0;
    if (isMatching) needer.tellAgain(job, enlistment.central, now - 5 * retryMs, now);
    return isPlacing || isMatching;
  }
}
