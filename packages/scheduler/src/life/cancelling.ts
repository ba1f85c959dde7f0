import { type Address, type Millis, NOBODY, type TaskIndex } from '@goshawk/core';
import type { Routing } from '../dispatch/routing.js';
import { type Job, TaskState } from '../job/job.js';
import type { SchedulerState } from '../state.js';
import type { Endings } from './endings.js';

/** Ends jobs that somebody cancels: what waits at once, what runs as soon as its worker has killed it. */
export class Cancelling {
  readonly #s: SchedulerState;
  readonly #routing: Routing;
  readonly #endings: Endings;

  constructor(s: SchedulerState, routing: Routing, endings: Endings) {
    this.#s = s;
    this.#routing = routing;
    this.#endings = endings;
  }

  /** @param reason why the owner does it; undefined where somebody else wants it */
  cancel(job: Job, now: Millis, reason?: string): void {
    if (job.hasEnded || job.cancelling) return;
    job.cancelling = true;
    job.cancelReason = reason;
    this.#s.tallies.cancellations++;
    this.#s.ledger.cancelled(job, now);
    this.#routing.takeBack(job);
    for (const task of [...job.tasks.in(TaskState.placed, TaskState.running)]) {
      this.cancelAt(job.tasks.workerOf(task), job, task);
      if (job.tasks.stateOf(task) === TaskState.placed) job.set(task, TaskState.cancelled);
    }
    job.cancelWaiting();
    this.#s.sweepTimer.arm(now);
    this.#endings.endIfDone(job, now);
  }

  /** Tells the workers of what still runs once more. */
  repeat(job: Job): void {
    for (const task of job.tasks.in(TaskState.running))
      if (job.isCancelling(task)) this.cancelAt(job.tasks.workerOf(task), job, task);
  }

  cancelAt(worker: Address, job: Job, task: TaskIndex): void {
    if (worker === NOBODY) return;
    // Behind the task itself, which may wait for the disk.
    this.#s.ledger.send(worker, { type: 'cancelTask', ...job.tasks.ref(task) });
  }
}
