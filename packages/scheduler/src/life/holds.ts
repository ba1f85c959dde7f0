import { type Address, type MessageOf, type Millis, type Priority, setLatest } from '@goshawk/core';
import { jobReleased, priorityChanged, withdrawSearch } from '../dispatch/routing.js';
import { NOT_READY, type Refusal } from '../durability/ledger.js';
import { Hold } from '../job/hold.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import { abandonIfLate } from './endings.js';
import { killAttempt } from './killing.js';
import type { LifeState } from './life.js';

/** Begin times are checked at least this often, in milliseconds, because wall clocks may be set. */
const CHECK_INTERVAL_MS = 30_000;

/** Interval of these checks before the scheduler has joined its cluster, in milliseconds. */
const NOT_READY_INTERVAL_MS = 1_000;

/** Maximum number of clients whose last request number is stored. */
const CLIENTS_MAX = 10_000;

/** Applies changes that users make to their jobs: hold, begin time and priority. */
export class Holds {
  readonly #s: LifeState;
  /** Jobs with a begin time. */
  readonly #withBeginTime = new Set<Job>();
  /** Number of the last request of each client. */
  readonly #lastRequest = new Map<Address, number>();
  /** Time of the timer; Infinity: not set. */
  #timerAt: Millis = Number.POSITIVE_INFINITY;

  constructor(s: LifeState) {
    this.#s = s;
  }

  /** Adds a job that was accepted or loaded. Ignores jobs without a begin time. */
  add(job: Job, now: Millis): void {
    const beginAt = job.hold?.beginAt;
    if (beginAt === undefined) return;
    this.#withBeginTime.add(job);
    // Looking at all jobs here would make loading a journal quadratic.
    this.#setTimerAt(Math.min(now + CHECK_INTERVAL_MS, beginAt - this.#s.config.wallOffsetMs));
  }

  /** Applies a request. @returns why it is refused */
  update(
    from: Address,
    { request, held, priority }: MessageOf<'updateJob'>,
    job: Job,
    now: Millis,
  ): Refusal | undefined {
    // A repeated request may arrive after a later one was answered, or after the job has ended because of it.
    const last = this.#lastRequest.get(from);
    if (last !== undefined && request <= last) return undefined;
    if (job.hasEnded || job.cancelling) {
      const how = job.hasEnded ? `has ended (${job.state})` : 'is being cancelled';
      const message = `${job.id} ${how}`;
      return { code: 'has-ended', message, hint: 'none of its tasks wait', isRevocable: true };
    }
    // Released or reordered tasks may start immediately, which requires a policy.
    if (held !== true && !this.#s.cluster.isReady) return NOT_READY;
    setLatest(this.#lastRequest, from, request, CLIENTS_MAX);
    if (held === true) this.#hold(job, now);
    if (priority !== undefined) this.#setPriority(job, priority, now);
    if (held === false) this.#release(job, now);
    return undefined;
  }

  /** Releases the jobs whose begin time has passed. */
  wake(now: Millis): void {
    // No job can start before the policy is known.
    if (!this.#s.cluster.isReady) return this.#s.env.setTimer('begin', 0, now + NOT_READY_INTERVAL_MS);
    this.#timerAt = Number.POSITIVE_INFINITY;
    const wallNow = now + this.#s.config.wallOffsetMs;
    for (const job of this.#withBeginTime) {
      const { hold } = job;
      const isOver = job.hasEnded || job.cancelling || this.#s.jobs.byNumber(job.number) !== job;
      if (isOver || hold?.beginAt === undefined) this.#withBeginTime.delete(job);
      else if (hold.beginAt <= wallNow) {
        this.#withBeginTime.delete(job);
        if (hold.update(hold.isHeld, undefined, now)) this.#start(job, now);
        else this.#s.events.changed(job, now);
      }
    }
    this.#setTimer(now);
  }

  #setTimer(now: Millis): void {
    const wallOffsetMs = this.#s.config.wallOffsetMs;
    let at = now + CHECK_INTERVAL_MS;
    for (const { hold } of this.#withBeginTime) at = Math.min(at, (hold?.beginAt ?? at) - wallOffsetMs);
    if (this.#withBeginTime.size > 0) this.#setTimerAt(at);
  }

  #setTimerAt(at: Millis): void {
    if (at >= this.#timerAt) return;
    this.#timerAt = at;
    this.#s.env.setTimer('begin', 0, at);
  }

  #hold(job: Job, now: Millis): void {
    if (job.hold?.isHeld === true) return;
    const wasHeld = job.isHeld;
    if (job.hold === undefined) job.hold = new Hold(true, undefined, now);
    else job.hold.update(true, job.hold.beginAt, now);
    this.#s.jobs.held(job);
    this.#s.ledger.updated(job, now);
    if (!wasHeld) this.#withdrawTasks(job, now);
    this.#s.events.changed(job, now);
  }

  /** Stops the search for workers, and withdraws tasks from the queues of workers. */
  #withdrawTasks(job: Job, now: Millis): void {
    withdrawSearch(this.#s, job);
    for (const task of [...job.tasks.inStates(TaskState.placed)]) {
      killAttempt(this.#s, job.tasks.workerOf(task), job.tasks.ref(task));
      this.#s.ledger.declined(job, task, now);
      job.requeue(task);
    }
  }

  #release(job: Job, now: Millis): void {
    const { hold } = job;
    if (hold === undefined || !hold.isOn) return;
    hold.update(false, undefined, now);
    this.#s.ledger.updated(job, now);
    this.#start(job, now);
  }

  #start(job: Job, now: Millis): void {
    job.released(now);
    jobReleased(this.#s, job, now);
    abandonIfLate(this.#s, job, now);
    this.#s.events.changed(job, now);
  }

  #setPriority(job: Job, priority: Priority, now: Millis): void {
    if (job.priority === priority) return;
    job.priority = priority;
    this.#s.ledger.updated(job, now);
    priorityChanged(this.#s, job, now);
    this.#s.events.changed(job, now);
  }
}
