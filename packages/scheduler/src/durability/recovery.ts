import {
  type Address,
  type Environment,
  type Member,
  type MessageOf,
  type Millis,
  NOBODY,
  type TaskIndex,
} from '@goshawk/core';
import type { Members } from '../cluster/members.js';
import { type Job, TaskState } from '../job/job.js';
import { watchTimeLimit } from '../job/job-timers.js';
import { AssignedBy } from '../job/task-table.js';
import type { JobStore } from './job-store.js';

type Held = MessageOf<'holding'>['tasks'][number];

/**
 * After a restart the owner knows from its journal what has ended, and its workers know what runs. It asks them,
 * adopts the tasks that they hold, and assigns no task of old jobs until all have answered or a lease has passed,
 * after which silent workers count as lost. Tasks of workers that answer later are also adopted, unless they run
 * elsewhere by then and must be killed.
 */
export class Recovery {
  readonly #env: Environment;
  readonly #jobs: JobStore;
  readonly #members: Members;
  /** Earlier incarnations, as known to workers. */
  readonly #previousIncarnations: readonly Address[];
  /** The highest job number that an earlier incarnation may have used. */
  readonly #lastJob: number;
  /** Workers that have not answered yet. */
  readonly #asked = new Set<Address>();
  /** Workers that were ever asked. */
  readonly #known = new Set<Address>();
  /** When the first workers were asked; undefined: not yet. */
  #since: Millis | undefined;
  #isHolding: boolean;
  #hasJustEnded = false;
  /** Jobs that may start once recovery ends. */
  readonly #unstarted = new Set<number>();

  constructor(
    env: Environment,
    jobs: JobStore,
    members: Members,
    previousIncarnations: readonly Address[],
    lastJob: number,
  ) {
    this.#env = env;
    this.#jobs = jobs;
    this.#members = members;
    this.#previousIncarnations = previousIncarnations;
    this.#lastJob = lastJob;
    this.#isHolding = lastJob > 0;
  }

  /** Whether no task of the job may be assigned yet. */
  holds(job: Job): boolean {
    return this.#isHolding ? job.number <= this.#lastJob : this.#unstarted.has(job.number);
  }

  /** Whether the worker has not answered yet; its reports may have overtaken the answer. */
  awaits(worker: Address): boolean {
    return this.#asked.has(worker);
  }

  /** New workers must be asked. @returns whether any question may need a retry */
  workersJoined(workers: readonly Member[], now: Millis): boolean {
    if (this.#previousIncarnations.length === 0) return false;
    for (const { address: worker } of workers) {
      if (this.#known.has(worker)) continue;
      this.#known.add(worker);
      this.#asked.add(worker);
      this.#ask(worker);
    }
    if (workers.length > 0) this.#since ??= now;
    this.#endIfAllHaveAnswered();
    return this.#asked.size > 0;
  }

  /** The workers will not answer. */
  lost(workers: Iterable<Address>): void {
    for (const worker of workers) {
      this.#asked.delete(worker);
      this.#known.delete(worker);
    }
    this.#endIfAllHaveAnswered();
  }

  /**
   * A worker reports this owner's tasks.
   *
   * @returns attempts that were never recorded and do not count, because the job was cancelled or the task runs elsewhere
   */
  holding(from: Address, { tasks }: MessageOf<'holding'>, now: Millis): { job: Job; held: Held }[] {
    // No message would report its loss again.
    if (this.#members.isGone(from)) return [];
    this.#members.met(from, now);
    const unrecorded: { job: Job; held: Held }[] = [];
    for (const held of tasks) {
      const { job: number, task, attempt } = held;
      const job = this.#jobs.byNumber(number);
      if (job !== undefined && this.#takes(job, held, from, now)) continue;
      // A settled task does not remember the number of its attempt.
      const isKnown = job !== undefined && task < job.taskCount && !job.tasks.isSettled(task);
      if (isKnown && attempt > job.tasks.attemptOf(task)) unrecorded.push({ job, held });
      this.#env.send(from, { type: 'cancelTask', job: number, task, attempt });
    }
    this.#asked.delete(from);
    this.#endIfAllHaveAnswered();
    return unrecorded;
  }

  /**
   * Repeats unanswered questions.
   *
   * @param lateMs how late the timer fired: the owner was suspended or too busy to read answers
   * @returns whether any worker has not answered
   */
  askAgain(leaseMs: Millis, lateMs: Millis, now: Millis): boolean {
    for (const worker of this.#asked) this.#ask(worker);
    if (this.#since !== undefined) this.#since += Math.max(0, lateMs);
    if (this.#since !== undefined && now - this.#since > leaseMs) this.#end();
    return this.#asked.size > 0;
  }

  #ask(worker: Address): void {
    this.#env.send(worker, { type: 'resume', previousIncarnations: this.#previousIncarnations, audit: 0 });
  }

  /** @returns false if the attempt does not count: it has ended, runs elsewhere, or was never recorded */
  #takes(job: Job, { task, attempt, elapsedMs, match = 0 }: Held, from: Address, now: Millis): boolean {
    if (task >= job.taskCount || job.cancelling || job.hasEnded || job.tasks.isFinal(task)) return false;
    const isRunning = job.tasks.stateOf(task) === TaskState.running;
    if (isRunning && job.tasks.workerOf(task) === from && job.tasks.attemptOf(task) === attempt) return true;
    // A gang starts as a whole, without members of an earlier attempt.
    if (job.gangStageOf(task) !== undefined && !this.holds(job)) return false;
    // The attempt is outdated: a later one exists or has ended.
    if (job.number > this.#lastJob || attempt <= job.tasks.attemptOf(task)) return false;
    // Bindings by this incarnation take precedence.
    const mayStart = job.tasks.stateOf(task) === TaskState.waiting || job.resting.has(task);
    if (isRunning ? !this.holds(job) : !mayStart) return false;
    if (isRunning) this.#drop(job, task);
    else job.set(task, TaskState.running);
    job.history.counted(task);
    job.tasks.setAttempt(task, attempt);
    // Central may preempt tasks that it matched.
    const by = match > 0 ? AssignedBy.match : AssignedBy.resumed;
    job.tasks.assign(task, from, { by, number: match }, now - elapsedMs);
    job.startedAt(now - elapsedMs);
    watchTimeLimit(job, this.#env);
    return true;
  }

  /** Another worker has a later attempt. */
  #drop(job: Job, task: TaskIndex): void {
    const worker = job.tasks.workerOf(task);
    if (worker === NOBODY) return;
    this.#env.send(worker, { type: 'cancelTask', ...job.tasks.ref(task) });
  }

  #endIfAllHaveAnswered(): void {
    if (this.#since !== undefined && this.#asked.size === 0) this.#end();
  }

  #end(): void {
    if (!this.#isHolding) return;
    for (const { number } of this.#jobs.active()) if (number <= this.#lastJob) this.#unstarted.add(number);
    this.#isHolding = false;
    this.#hasJustEnded = true;
  }

  /** Returns true once, when all workers have answered or had time to: tasks that no worker holds may then start. */
  takeEnd(): boolean {
    const hasEnded = this.#hasJustEnded;
    this.#hasJustEnded = false;
    return hasEnded;
  }

  /** Yields the jobs that may start now. */
  *toStart(): Iterable<Job> {
    for (const number of this.#unstarted) {
      this.#unstarted.delete(number);
      const job = this.#jobs.byNumber(number);
      if (job !== undefined && !job.hasEnded) yield job;
    }
  }
}
