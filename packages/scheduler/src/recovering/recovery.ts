import {
  type Address,
  type Environment,
  type Member,
  type MessageOf,
  type Millis,
  NOBODY,
} from '@goshawk/core';
import { type Job, TaskState } from '../job/job.js';
import type { Members } from '../joining/members.js';
import type { JobStore } from '../keeping/job-store.js';

/** What a resumption has to know of the scheduler around it. */
interface Surroundings {
  readonly env: Environment;
  readonly jobs: JobStore;
  readonly members: Members;
  /** Earlier incarnations, as workers knew them. */
  readonly formers: readonly Address[];
  /** The highest number of a job that an earlier incarnation may have accepted. */
  readonly lastJob: number;
  /** All have said what they hold, or had the time to: what nobody holds is started again. */
  resumed(now: Millis): void;
}

/**
 * After a restart the owner knows from its journal what has ended, and its workers know what runs. So it asks them,
 * takes as running what they hold, and gives nothing of its old jobs out before all have answered, or a lease's time
 * has passed: who has not answered by then is dead or cut off. A worker that answers later has its tasks taken as
 * well, except those that run elsewhere by then, which it is told to end.
 */
export class Resumption {
  readonly #around: Surroundings;
  /** Workers that were asked and have not answered. */
  readonly #asked = new Set<Address>();
  /** Workers that were asked, ever. */
  readonly #known = new Set<Address>();
  /** When the first of them were asked; undefined before. */
  #since: Millis | undefined;
  #isHolding: boolean;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#isHolding = around.lastJob > 0;
  }

  /** Nothing of this job is to be given out yet. */
  holds(job: Job): boolean {
    return this.#isHolding && job.number <= this.#around.lastJob;
  }

  /** It was asked what it holds and has not answered: what it says of a task may have overtaken the answer. */
  awaits(worker: Address): boolean {
    return this.#asked.has(worker);
  }

  /** There may be workers that were not asked. @returns whether any is to be asked again should it not answer */
  came(workers: readonly Member[], now: Millis): boolean {
    if (this.#around.formers.length === 0) return false;
    for (const { address: worker } of workers) {
      if (this.#known.has(worker)) continue;
      this.#known.add(worker);
      this.#asked.add(worker);
      this.#ask(worker);
    }
    if (workers.length > 0) this.#since ??= now;
    this.#endIfAllHaveAnswered(now);
    return this.#asked.size > 0;
  }

  /** These will not answer. */
  lost(workers: Iterable<Address>, now: Millis): void {
    for (const worker of workers) {
      this.#asked.delete(worker);
      this.#known.delete(worker);
    }
    this.#endIfAllHaveAnswered(now);
  }

  /** What a worker holds of this owner's tasks. */
  holding(from: Address, { tasks }: MessageOf<'holding'>, now: Millis): void {
    const { members } = this.#around;
    // Nobody would say again that it is gone.
    if (members.isGone(from)) return;
    members.met(from, now);
    for (const { job: number, task, attempt, elapsedMs } of tasks) {
      const job = this.#around.jobs.byNumber(number);
      if (job !== undefined && this.#takes(job, task, attempt, from, elapsedMs, now)) continue;
      this.#around.env.send(from, { type: 'cancelTask', job: number, task, attempt });
    }
    this.#asked.delete(from);
    this.#endIfAllHaveAnswered(now);
  }

  /**
   * Asks again who has not answered.
   *
   * @param lateMs how long after its time this is called: for so long the owner was stopped, or too busy to read answers
   * @returns whether there is anybody
   */
  askAgain(leaseMs: Millis, lateMs: Millis, now: Millis): boolean {
    for (const worker of this.#asked) this.#ask(worker);
    if (this.#since !== undefined) this.#since += Math.max(0, lateMs);
    if (this.#since !== undefined && now - this.#since > leaseMs) this.#end(now);
    return this.#asked.size > 0;
  }

  #ask(worker: Address): void {
    this.#around.env.send(worker, { type: 'resume', formers: this.#around.formers, census: 0 });
  }

  /** @returns false for what does not count: it has ended, or runs elsewhere, or was never written down */
  #takes(job: Job, task: number, attempt: number, from: Address, elapsedMs: Millis, now: Millis): boolean {
    if (task >= job.taskCount || job.cancelling || job.hasEnded || job.isFinal(task)) return false;
    const isRunning = job.stateOf(task) === TaskState.running;
    if (isRunning && job.workers[task] === from && job.attempts[task] === attempt) return true;
    // The others have ended, or a later one is held, or was given out since.
    if (job.number > this.#around.lastJob || attempt <= job.attempts[task]!) return false;
    // What this incarnation has given out counts.
    if (isRunning ? !this.holds(job) : job.stateOf(task) !== TaskState.waiting) return false;
    if (isRunning) this.#drop(job, task);
    else job.set(task, TaskState.running);
    job.attemptsTotal++;
    job.attempts[task] = attempt;
    job.workers[task] = from;
    job.asks[task] = 0;
    job.startedAt[task] = now - elapsedMs;
    job.firstStartAt = Math.min(job.firstStartAt ?? now, now - elapsedMs);
    return true;
  }

  /** A later attempt is held by somebody else. */
  #drop(job: Job, task: number): void {
    const worker = job.workerOf(task);
    if (worker === NOBODY) return;
    this.#around.env.send(worker, {
      type: 'cancelTask',
      job: job.number,
      task,
      attempt: job.attempts[task]!,
    });
  }

  #endIfAllHaveAnswered(now: Millis): void {
    if (this.#since !== undefined && this.#asked.size === 0) this.#end(now);
  }

  #end(now: Millis): void {
    if (!this.#isHolding) return;
    this.#isHolding = false;
    this.#around.resumed(now);
  }
}
