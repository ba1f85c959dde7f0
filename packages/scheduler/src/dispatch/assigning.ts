import {
  type Address,
  fits,
  type MessageOf,
  type Millis,
  type StageSpec,
  sharedByNumber,
  type TaskIndex,
} from '@goshawk/core';
import { AssignedBy, type Assignment } from '../job/assignment.js';
import type { Batch } from '../job/batch.js';
import type { Job } from '../job/job.js';
import { setTimeLimitTimer } from '../job/job-timers.js';
import type { SchedulerState } from '../state/state.js';
import type { WaitingSlot } from '../state/waiting-slots.js';
import { hasTaskFor, takeNextFor } from './avoidance.js';
import { deliverTask } from './delivery.js';

// Assigns waiting tasks to workers, and to slots that wait for them. `binding.ts` and `routing.ts` decide which.

/** Assigns the next task of the batch to a worker that did not ask for this batch. @returns the task, or −1 */
export function assignNext(
  s: SchedulerState,
  job: Job,
  batch: Batch,
  worker: Address,
  assignment: Assignment,
  now: Millis,
): TaskIndex {
  const task = takeTask(s, job, batch, worker, now);
  if (task >= 0) bindTask(s, job, task, worker, assignment, now);
  return task;
}

/** Takes the next task of the batch that may run at the worker, as a new attempt; −1: none. */
export function takeTask(s: SchedulerState, job: Job, batch: Batch, worker: Address, now: Millis): TaskIndex {
  const task = takeNextFor(s, job, batch, worker, now);
  if (task >= 0) job.tasks.nextAttempt(task);
  return task;
}

export function bindTask(
  s: SchedulerState,
  job: Job,
  task: TaskIndex,
  worker: Address,
  assignment: Assignment,
  now: Millis,
): void {
  const batch = job.waiting.batchOf(task);
  job.bound(task, worker, assignment, now);
  if (job.spec.timeLimitMs !== undefined) setTimeLimitTimer(job, s.env);
  s.events.bound(job, task, now);
  if (job.maySeek) s.offers.update(job, batch, now);
  if (assignment.borrows !== undefined) job.loans.borrows(task, job.tasks.attemptOf(task));
  deliverTask(s, job, task, now, assignment.borrows);
  s.events.changed(job, now);
}

export function addWaitingSlot(s: SchedulerState, slot: WaitingSlot, now: Millis): void {
  s.waitingSlots.add(slot, now);
  s.env.setTimer('waitingSlots', 0, s.waitingSlots.nextReleaseAt);
}

/**
 * Whether tasks of the stage follow others in a slot. Central knows only the first task of a series, so all of them lend:
 * otherwise it would lend the CPUs of a task that must not pause, or keep them from the jobs that a task waits for.
 */
export function joinsSeries({ lend, gang }: StageSpec): boolean {
  return lend !== false && !gang;
}

/** Assigns new tasks to slots that wait for them. */
export function assignToWaitingSlots(s: SchedulerState, job: Job, batch: Batch, now: Millis): void {
  if (!joinsSeries(batch.spec)) return;
  while (!s.waitingSlots.isEmpty && batch.waiting > 0 && job.mayAssign) {
    const slot = s.waitingSlots.take(
      ({ worker, spare }) => fits(batch.spec.demand, spare) && hasTaskFor(s, job, batch, worker, now),
    );
    if (slot === undefined) break;
    const assignment: Assignment = { by: AssignedBy.ask, number: slot.ask };
    if (assignNext(s, job, batch, slot.worker, assignment, now) < 0)
      return answerNone(s, slot.worker, slot.ask);
  }
}

/** Releases slots for which no task has arrived; central may use them again. */
export function releaseExpiredSlots(s: SchedulerState, now: Millis): void {
  for (const { worker, ask } of s.waitingSlots.takeExpired(now)) answerNone(s, worker, ask);
  if (!s.waitingSlots.isEmpty) s.env.setTimer('waitingSlots', 0, s.waitingSlots.nextReleaseAt);
}

/** Answers the worker's request with `none`. */
export function answerNone(s: SchedulerState, worker: Address, ask: number): void {
  s.env.send(worker, noneMessage(ask));
}

const noneMessage = sharedByNumber((ask): MessageOf<'none'> => ({ type: 'none', ask }));
