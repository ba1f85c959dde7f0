import type { Millis } from '@goshawk/core';
import type { Job } from '../job/job.js';

type DeferredRequest = (now: Millis) => void;

/**
 * Jobs that are not durable yet: retried jobs, and new jobs in a shared journal. None of their tasks may be assigned: a
 * new job may have a duplicate key, and a takeover would miss both. The search for workers continues, and requests of
 * workers for these jobs are deferred. While the journal is unreachable, they are refused, so that slots do not wait.
 */
export class NotDurableJobs {
  readonly #requests = new Map<Job, DeferredRequest[]>();
  #isJournalUnreachable = false;

  get isEmpty(): boolean {
    return this.#requests.size === 0;
  }

  add(job: Job): void {
    job.recording();
    this.#requests.set(job, []);
  }

  /** @returns whether the request is deferred; it is repeated once the job is durable */
  defers(job: Job, request: DeferredRequest): boolean {
    const waiting = this.#isJournalUnreachable ? undefined : this.#requests.get(job);
    waiting?.push(request);
    return waiting !== undefined;
  }

  /** Whether to stop the search for workers: the journal is unreachable, or the job would refuse central's placements. */
  mustNotSearch(job: Job): boolean {
    return !job.isDurable && (this.#isJournalUnreachable || job.route.by === 'central');
  }

  /** Called when the journal becomes unreachable, or reachable again. */
  setJournalUnreachable(isAway: boolean, now: Millis): void {
    this.#isJournalUnreachable = isAway;
    if (!isAway) return;
    // Repeats the deferred requests, which are now answered with `none`.
    for (const requests of this.#requests.values()) for (const repeat of requests.splice(0)) repeat(now);
  }

  /** Called when the job is durable, or another job has its key. @returns the deferred requests */
  remove(job: Job): readonly DeferredRequest[] {
    const requests = this.#requests.get(job) ?? [];
    this.#requests.delete(job);
    job.activated();
    return requests;
  }
}
