import type { Millis } from '@goshawk/core';
import type { Job } from '../job/job.js';

type Question = (now: Millis) => void;

/**
 * Jobs of a journal that others may take over, until they are written down. Only then is it known that the key of each is its
 * own, and would whoever takes over know of it: so nothing of them is given out before. Workers are looked for meanwhile, and
 * their questions wait; but for no journal that does not answer, since slots wait with them.
 */
export class Unwritten {
  readonly #questions = new Map<Job, Question[]>();
  #isAway = false;

  get isEmpty(): boolean {
    return this.#questions.size === 0;
  }

  add(job: Job): void {
    job.isWritten = false;
    this.#questions.set(job, []);
  }

  /** @returns whether what was asked of the job waits, and is asked again by itself */
  defers(job: Job, question: Question): boolean {
    const waiting = this.#isAway ? undefined : this.#questions.get(job);
    waiting?.push(question);
    return waiting !== undefined;
  }

  /** Nobody is to be looked for: the journal does not answer, or what central has placed would be refused when it asks. */
  isStuck(job: Job): boolean {
    return !job.isWritten && (this.#isAway || job.route.by === 'central');
  }

  /** The journal does not answer, or does again. */
  setAway(isAway: boolean, now: Millis): void {
    this.#isAway = isAway;
    if (!isAway) return;
    // There is nothing for those who ask.
    for (const questions of this.#questions.values()) for (const ask of questions.splice(0)) ask(now);
  }

  /** It is written down, or another one has its key. @returns what was asked meanwhile */
  settled(job: Job): readonly Question[] {
    const questions = this.#questions.get(job) ?? [];
    this.#questions.delete(job);
    job.isWritten = true;
    return questions;
  }
}
