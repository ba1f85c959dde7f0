import {
  type Address,
  fits,
  type MessageOf,
  type Millis,
  sharedByNumber,
  type TaskIndex,
} from '@goshawk/core';
import { AssignedBy, type Assignment } from '../job/assignment.js';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';
import { setTimeLimitTimer } from '../job/job-timers.js';
import type { SchedulerState } from '../state.js';
import { Avoidance } from './avoidance.js';
import type { Delivery } from './delivery.js';
import { Offers } from './offers.js';
import { type WaitingSlot, WaitingSlots } from './waiting-slots.js';

/** Assigns waiting tasks to workers, and to slots that wait for them. `Binder` and `Routing` decide which. */
export class Assigner {
  readonly offers: Offers;
  readonly waitingSlots: WaitingSlots;
  readonly #s: SchedulerState;
  readonly #avoidance: Avoidance;
  readonly #delivery: Delivery;

  constructor(s: SchedulerState, delivery: Delivery) {
    this.#s = s;
    this.offers = new Offers(s.cluster);
    this.waitingSlots = new WaitingSlots(s.cluster);
    this.#avoidance = new Avoidance(s.cluster, s.unfit);
    this.#delivery = delivery;
  }

  /** Assigns the next task of the batch to a worker that did not ask for this batch. @returns the task, or −1 */
  assignNext(job: Job, batch: Batch, worker: Address, assignment: Assignment, now: Millis): TaskIndex {
    const task = this.take(job, batch, worker, now);
    if (task >= 0) this.bind(job, task, worker, assignment, now);
    return task;
  }

  /** Takes the next task of the batch that may run at the worker, as a new attempt; −1: none. */
  take(job: Job, batch: Batch, worker: Address, now: Millis): TaskIndex {
    const task = this.#avoidance.takeNext(job, batch, worker, now);
    if (task >= 0) job.tasks.nextAttempt(task);
    return task;
  }

  bind(job: Job, task: TaskIndex, worker: Address, assignment: Assignment, now: Millis): void {
    const batch = job.waiting.batchOf(task);
    job.bound(task, worker, assignment, now);
    if (job.spec.timeLimitMs !== undefined) setTimeLimitTimer(job, this.#s.env);
    this.#s.events.bound(job, task, now);
    if (job.maySeek) this.offers.update(job, batch, now);
    if (assignment.borrows !== undefined) job.loans.borrows(task, job.tasks.attemptOf(task));
    this.#delivery.deliver(job, task, now, assignment.borrows);
    this.#s.events.changed(job, now);
  }

  /** Whether a waiting task of the batch may run at a worker that was neither probed nor matched. */
  hasTaskFor(job: Job, batch: Batch, worker: Address, now: Millis): boolean {
    return this.#avoidance.hasTaskFor(job, batch, worker, now);
  }

  addWaitingSlot(slot: WaitingSlot, now: Millis): void {
    this.waitingSlots.add(slot, now);
    this.#s.env.setTimer('waitingSlots', 0, this.waitingSlots.nextReleaseAt);
  }

  /** Assigns new tasks to slots that wait for them. */
  assignToWaitingSlots(job: Job, batch: Batch, now: Millis): void {
    while (!this.waitingSlots.isEmpty && batch.waiting > 0 && job.mayAssign) {
      const slot = this.waitingSlots.take(
        ({ worker, spare }) => fits(batch.spec.demand, spare) && this.hasTaskFor(job, batch, worker, now),
      );
      if (slot === undefined) break;
      const assignment: Assignment = { by: AssignedBy.ask, number: slot.ask };
      if (this.assignNext(job, batch, slot.worker, assignment, now) < 0)
        return this.answerNone(slot.worker, slot.ask);
    }
  }

  /** Releases slots for which no task has arrived; central may use them again. */
  releaseExpiredSlots(now: Millis): void {
    for (const { worker, ask } of this.waitingSlots.takeExpired(now)) this.answerNone(worker, ask);
    if (!this.waitingSlots.isEmpty) this.#s.env.setTimer('waitingSlots', 0, this.waitingSlots.nextReleaseAt);
  }

  /** Answers the worker's request with `none`. */
  answerNone(worker: Address, ask: number): void {
    this.#s.env.send(worker, noneMessage(ask));
  }
}

const noneMessage = sharedByNumber((ask): MessageOf<'none'> => ({ type: 'none', ask }));
