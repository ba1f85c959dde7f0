import type { Millis } from '@goshawk/core';
import type { Job } from '../job/job.js';

type DeferredRequest = (now: Millis) => void;

/**
 * Jobs in a shared journal that are not durable yet. No task of them is assigned, because their keys may not be unique
 * and a takeover would miss them. The search for workers continues, and requests of workers wait for the disk. While
 * the journal is unreachable they are refused instead, so that slots do not wait.
 */
export class NotDurableJobs {
  readonly #requests = new Map<Job, DeferredRequest[]>();
  #isJournalUnreachable = false;

  get isEmpty(): boolean {
    return this.#requests.size === 0;
  }

  add(job: Job): void {
    job.isDurable = false;
    this.#requests.set(job, []);
  }

  /** @returns whether the question waits, to be repeated later */
  defers(job: Job, question: DeferredRequest): boolean {
    const waiting = this.#isJournalUnreachable ? undefined : this.#requests.get(job);
    waiting?.push(question);
    return waiting !== undefined;
  }

  /** Whether to stop looking for workers: the journal is unreachable, or central's placement would be refused. */
  mustNotSearch(job: Job): boolean {
    return !job.isDurable && (this.#isJournalUnreachable || job.route.by === 'central');
  }

  /** The journal has become unreachable, or reachable again. */
  setJournalUnreachable(isAway: boolean, now: Millis): void {
    this.#isJournalUnreachable = isAway;
    if (!isAway) return;
    // Answers all waiting questions with `none`.
    for (const questions of this.#requests.values()) for (const ask of questions.splice(0)) ask(now);
  }

  /** The job is durable, or another job has its key. @returns the questions that waited */
  remove(job: Job): readonly DeferredRequest[] {
    const questions = this.#requests.get(job) ?? [];
    this.#requests.delete(job);
    job.isDurable = true;
    return questions;
  }
}
