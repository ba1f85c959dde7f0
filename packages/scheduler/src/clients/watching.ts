import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { Job } from '../job/job.js';
import type { SchedulerState } from '../state.js';
import type { JobViews } from './job-views.js';
import { JobWatches } from './job-watches.js';

/** Tells clients how the jobs that they watch come along, and how they ended. */
export class Watching {
  readonly #s: SchedulerState;
  readonly #views: JobViews;
  readonly #watches = new JobWatches();
  /** Of the jobs that are watched: those with news that nobody was told yet. */
  readonly #changed = new Set<Job>();
  #isArmed = false;

  constructor(s: SchedulerState, views: JobViews) {
    this.#s = s;
    this.#views = views;
  }

  /** @returns false where more clients watch than may */
  watch(from: Address, message: MessageOf<'watchJob'>, job: Job, now: Millis): boolean {
    const { request, detail } = message;
    if (job.endedAt !== undefined) {
      // Its end may wait for a disk that is slow: who asks again is to hear that somebody is there.
      const isLate = now - job.endedAt > this.#s.cluster.timings.progressMs;
      if (isLate && !this.#s.ledger.isDurable) this.#tellProgress(from, request, job);
      this.#tellEnd(from, request, job, detail, now);
      return true;
    }
    if (!this.#watches.renew(job, from, request, detail, now)) return false;
    // Of a job that ends in a moment only that is told.
    this.changed(job, now);
    return true;
  }

  unwatch(from: Address, request: number): void {
    this.#watches.forget(from, request);
  }

  /** Something about the job is new: those who watch it hear of that before long. */
  changed(job: Job, now: Millis): void {
    if (!this.#watches.isWatched(job)) return;
    this.#changed.add(job);
    const { progressMs } = this.#s.cluster.timings;
    if (this.#isArmed || progressMs === 0) return;
    this.#isArmed = true;
    this.#s.env.setTimer('progress', 0, now + progressMs);
  }

  /** The timer has fired. */
  tellNews(now: Millis): void {
    this.#isArmed = false;
    for (const job of this.#changed) {
      if (job.hasEnded) continue;
      for (const { client, request } of this.#watches.alive(job, now))
        this.#tellProgress(client, request, job);
    }
    this.#changed.clear();
  }

  ended(job: Job, now: Millis): void {
    this.#changed.delete(job);
    for (const { client, request, detail } of this.#watches.take(job))
      this.#tellEnd(client, request, job, detail, now);
  }

  #tellProgress(client: Address, request: number, job: Job): void {
    this.#s.ledger.tell(client, { type: 'jobProgress', request, value: this.#views.summary(job) });
  }

  /** Once it is durable that the job has ended. */
  #tellEnd(client: Address, request: number, job: Job, withTasks: boolean, now: Millis): void {
    this.#s.ledger.send(client, { type: 'jobEnded', request, value: this.#views.end(job, withTasks, now) });
  }
}
