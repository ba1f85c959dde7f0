import type { Millis } from '@goshawk/core';
import type { Job } from '../job/job.js';

type Question = (now: Millis) => void;

/**
 * Jobs in a shared journal that are not durable yet. No task of them is assigned, because their keys may not be unique
 * and a takeover would miss them. The search for workers continues, and requests of workers wait for the disk. While
 * the journal is unreachable they are refused instead, so that slots do not wait.
 */
export class Unwritten {
  readonly #questions = new Map<Job, Question[]>();
  #isAway = false;

  get isEmpty(): boolean {
    return this.#questions.size === 0;
  }

  add(job: Job): void {
    job.isDurable = false;
    this.#questions.set(job, []);
  }

  /** @returns whether the question waits, to be repeated later */
  defers(job: Job, question: Question): boolean {
    const waiting = this.#isAway ? undefined : this.#questions.get(job);
    waiting?.push(question);
    return waiting !== undefined;
  }

  /** Whether to stop looking for workers: the journal is unreachable, or central's placement would be refused. */
  isStuck(job: Job): boolean {
    return !job.isDurable && (this.#isAway || job.route.by === 'central');
  }

  /** The journal has become unreachable, or reachable again. */
  setAway(isAway: boolean, now: Millis): void {
    this.#isAway = isAway;
    if (!isAway) return;
    // Answers all waiting questions with `none`.
    for (const questions of this.#questions.values()) for (const ask of questions.splice(0)) ask(now);
  }

  /** The job is durable, or another job has its key. @returns the questions that waited */
  settled(job: Job): readonly Question[] {
    const questions = this.#questions.get(job) ?? [];
    this.#questions.delete(job);
    job.isDurable = true;
    return questions;
  }
}
