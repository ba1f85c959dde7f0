import type { Address, MessageOf, Millis } from '@goshawk/core';
import type { Job } from '../job/job.js';
import type { JobListener } from '../job/job-events.js';
import type { SchedulerState } from '../state/state.js';
import { jobEnd, jobSummary } from './job-views.js';
import { JobWatches } from './job-watches.js';

/** Key of the timer for prompt updates, which clients that read results get, and their least distance in milliseconds. */
const PROMPT_TIMER = 1;
const PROMPT_MS = 10;

/** Sends the progress and the end of a job to the clients that watch it. */
export class Watching implements JobListener {
  readonly #s: SchedulerState;
  readonly #watches = new JobWatches();
  /** Watched jobs with changes that have not been sent, for prompt and for regular updates. */
  readonly #changed = { soon: new Set<Job>(), later: new Set<Job>() };
  /** When prompt updates were last sent. */
  #promptedAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(s: SchedulerState) {
    this.#s = s;
  }

  /** @returns false if there are too many watches */
  watch(from: Address, message: MessageOf<'watchJob'>, job: Job, now: Millis): boolean {
    const { request, detail, soon = false } = message;
    job.client.activeAt = now;
    if (job.times.endedAt !== undefined) {
      // A slow disk delays the end event. A progress event then shows the client that its watch still works.
      const isLate = now - job.times.endedAt > this.#s.cluster.timings.progressMs;
      if (isLate && !this.#s.ledger.isDurable) this.#sendProgress(from, request, job);
      this.#sendEnd(from, request, job, detail, now);
      return true;
    }
    const key = this.#s.env.clientKeyOf?.(from)?.name;
    if (!this.#watches.renew(job, { client: from, key, request, detail, soon }, now)) return false;
    // Progress is sent after a delay, so that a job that is about to end sends only its end.
    this.changed(job, now, true);
    return true;
  }

  unwatch(from: Address, request: number): void {
    this.#watches.remove(from, request);
  }

  /** Schedules a progress event for the clients that watch the job; those that read results wait only for results. */
  changed(job: Job, now: Millis, hasResult: boolean): void {
    if (!this.#watches.isWatched(job)) return;
    const { progressMs } = this.#s.cluster.timings;
    this.#scheduleProgress(job, this.#changed.later, 0, now + progressMs);
    if (!hasResult || !this.#watches.needsPromptUpdates(job)) return;
    // A single result is reported at once; of many, those of 10 ms together.
    const at = Math.max(now, this.#promptedAt + Math.min(PROMPT_MS, progressMs));
    this.#scheduleProgress(job, this.#changed.soon, PROMPT_TIMER, at);
  }

  #scheduleProgress(job: Job, changed: Set<Job>, timer: number, at: Millis): void {
    if (changed.size === 0 && this.#s.cluster.timings.progressMs > 0)
      this.#s.env.setTimer('progress', timer, at);
    changed.add(job);
  }

  /** Sends the progress of changed jobs. @param timer `PROMPT_TIMER`: only to clients that need prompt updates */
  progressTimerFired(timer: number, now: Millis): void {
    const isPrompt = timer === PROMPT_TIMER;
    if (isPrompt) this.#promptedAt = now;
    const changed = isPrompt ? this.#changed.soon : this.#changed.later;
    for (const job of changed) {
      if (job.hasEnded) continue;
      for (const { client, request, soon } of this.#watches.current(job, now))
        if (soon === isPrompt) this.#sendProgress(client, request, job);
    }
    changed.clear();
  }

  ended(job: Job, now: Millis): void {
    this.#changed.later.delete(job);
    this.#changed.soon.delete(job);
    for (const { client, request, detail } of this.#watches.take(job))
      this.#sendEnd(client, request, job, detail, now);
  }

  #sendProgress(client: Address, request: number, job: Job): void {
    this.#s.ledger.sendNow(client, { type: 'jobProgress', request, value: jobSummary(this.#s, job) });
  }

  /** Sends the end of the job once it is durable. */
  #sendEnd(client: Address, request: number, job: Job, withTasks: boolean, now: Millis): void {
    this.#s.ledger.sendWhenDurable(client, {
      type: 'jobEnded',
      request,
      value: jobEnd(this.#s, job, withTasks, now),
    });
  }
}
