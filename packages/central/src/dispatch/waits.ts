import type { CentralLine, Millis } from '@goshawk/core';
import type { BookedJob, BookedStage, CentralPolicy, ClusterBooks } from '@goshawk/policies';
import { lineOf, waitBasis, waitingStages } from './line.js';
import { StartTimes } from './start-times.js';

/** What a look at one that waits costs. A step is what a turn may spend: some 1% of what planning takes. */
const LOOK_STEPS = 64;
const STEPS_PER_JOB = 4;

/** What waits, and when it will start: asked of one now and then, so that `why` can say it of others. */
export class Waits {
  readonly #books: ClusterBooks;
  readonly #policy: CentralPolicy;
  readonly #starts = new StartTimes<BookedStage>();
  /** Steps that may go into looking at who waits: one is earned a turn. */
  #steps = 0;
  /** When one was looked at last, or nobody waited. */
  #lookedAt: Millis = 0;
  /** Stages looked at so far. */
  #looks = 0;

  constructor(books: ClusterBooks, policy: CentralPolicy) {
    this.#books = books;
    this.#policy = policy;
  }

  started(stage: BookedStage, now: Millis): void {
    this.#starts.started(stage, now);
  }

  /** A turn is over. */
  look(now: Millis): void {
    if (this.#books.waitingTasks === 0) this.#lookedAt = now;
    if (this.#books.waitingTasks === 0 || ++this.#steps < 0) return;
    const jobs = [...this.#books.jobs];
    this.#steps -= LOOK_STEPS + STEPS_PER_JOB * jobs.length;
    const stages = jobs.flatMap(waitingStages);
    const stage = stages[this.#looks++ % stages.length]!;
    const basis = waitBasis(this.#books, this.#policy, stage, now);
    this.#starts.ask(stage, basis, now - this.#lookedAt, now);
    this.#lookedAt = now;
  }

  /** Who stands before the stages of a job, or of nobody in particular, and what there is for them. */
  line(job: BookedJob | undefined, now: Millis): CentralLine {
    return lineOf(this.#books, this.#policy, job, now, this.#starts);
  }
}
