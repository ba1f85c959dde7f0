import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { Job } from '../job/job.js';
import type { JobListener } from '../job/job-events.js';
import type { SchedulerState } from '../state.js';
import type { JobViews } from './job-views.js';
import { JobWatches } from './job-watches.js';

/** Key of the timer for prompt updates, and their delay in milliseconds. */
const SOON = 1;
const SOON_MS = 10;

/** Sends progress and ends of jobs to the clients that watch them. */
export class Watching implements JobListener {
  readonly #s: SchedulerState;
  readonly #views: JobViews;
  readonly #watches = new JobWatches();
  /** Watched jobs with unsent changes. */
  readonly #changed = { soon: new Set<Job>(), later: new Set<Job>() };

  constructor(s: SchedulerState, views: JobViews) {
    this.#s = s;
    this.#views = views;
  }

  /** @returns false if there are too many watches */
  watch(from: Address, message: MessageOf<'watchJob'>, job: Job, now: Millis): boolean {
    const { request, detail, soon = false } = message;
    job.lastClientActivityAt = now;
    if (job.endedAt !== undefined) {
      // If the disk is slow, the end is delayed, so a renewed watch gets a progress event as a sign of life.
      const isLate = now - job.endedAt > this.#s.cluster.timings.progressMs;
      if (isLate && !this.#s.ledger.isDurable) this.#tellProgress(from, request, job);
      this.#tellEnd(from, request, job, detail, now);
      return true;
    }
    if (!this.#watches.renew(job, { client: from, request, detail, soon }, now)) return false;
    // If the job is about to end, only its end is sent.
    this.changed(job, now);
    return true;
  }

  unwatch(from: Address, request: number): void {
    this.#watches.forget(from, request);
  }

  /** Schedules a progress event for the clients that watch the job. */
  changed(job: Job, now: Millis): void {
    if (!this.#watches.isWatched(job)) return;
    const { progressMs } = this.#s.cluster.timings;
    this.#note(job, this.#changed.later, 0, now + progressMs);
    if (this.#watches.isWatchedSoon(job))
      this.#note(job, this.#changed.soon, SOON, now + Math.min(SOON_MS, progressMs));
  }

  #note(job: Job, changed: Set<Job>, timer: number, at: Millis): void {
    if (changed.size === 0 && this.#s.cluster.timings.progressMs > 0)
      this.#s.env.setTimer('progress', timer, at);
    changed.add(job);
  }

  /** The timer has fired. @param timer `SOON`: for prompt updates */
  tellNews(timer: number, now: Millis): void {
    const isSoon = timer === SOON;
    const changed = isSoon ? this.#changed.soon : this.#changed.later;
    for (const job of changed) {
      if (job.hasEnded) continue;
      for (const { client, request, soon } of this.#watches.alive(job, now))
        if (soon === isSoon) this.#tellProgress(client, request, job);
    }
    changed.clear();
  }

  ended(job: Job, now: Millis): void {
    this.#changed.later.delete(job);
    this.#changed.soon.delete(job);
    for (const { client, request, detail } of this.#watches.take(job))
      this.#tellEnd(client, request, job, detail, now);
  }

  #tellProgress(client: Address, request: number, job: Job): void {
    this.#s.ledger.sendNow(client, { type: 'jobProgress', request, value: this.#views.summary(job) });
  }

  /** Sends the end once it is durable. */
  #tellEnd(client: Address, request: number, job: Job, withTasks: boolean, now: Millis): void {
    this.#s.ledger.sendWhenDurable(client, {
      type: 'jobEnded',
      request,
      value: this.#views.end(job, withTasks, now),
    });
  }
}
