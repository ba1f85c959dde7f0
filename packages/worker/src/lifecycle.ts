import { type KillReason, type MessageOf, type Millis, NOBODY } from '@goshawk/core';
import { giveBackKept } from './foreseeing.js';
import { giveBackMembers } from './gang-members.js';
import { giveBack } from './giving-back.js';
import { kill } from './lending.js';
import type { WorkerParts } from './parts.js';
import { register } from './registering.js';

// Draining, quarantine and shutdown. In these states the worker accepts no work: it returns queued entries and lets
// running tasks finish.

/** Stops accepting work permanently; calls `env.drained()` when nothing is left. */
export function stop(w: WorkerParts, now: Millis): void {
  w.isStopping = true;
  w.hasReportedDrained = false;
  setDraining(w, true, now);
}

/**
 * Handles central's request to drain, with an optional deadline for running tasks, or to accept tasks again, which also
 * ends a quarantine. A stopping worker never accepts tasks again.
 */
export function applyDrain(w: WorkerParts, { on, deadlineMs }: MessageOf<'drain'>, now: Millis): void {
  if (!on) {
    w.drainDeadline = undefined;
    w.env.clearTimer('drain', 0);
  } else if (deadlineMs !== undefined) {
    w.drainDeadline = now + deadlineMs;
    w.env.setTimer('drain', 0, w.drainDeadline);
  }
  if (w.isStopping) return;
  const isReleased = !on && w.health.release();
  setDraining(w, on, now);
  if (isReleased) resumeAccepting(w, now);
}

function setDraining(w: WorkerParts, on: boolean, now: Millis): void {
  if (on === w.isDraining) {
    // Central may not know the state of this worker, so send all of it.
    register(w, now);
    return reportIfDrained(w);
  }
  w.isDraining = on;
  w.hasReportedDrained = false;
  if (on) giveBackAll(w);
  // A registration contains the complete state, including whether the worker drains.
  register(w, now);
  reportIfDrained(w);
  if (!on) lookForWork(w, now);
}

/** Reports once that the worker drains and has nothing left to run. */
export function reportIfDrained(w: WorkerParts): void {
  if (!w.isDraining || w.hasReportedDrained || !w.isIdle) return;
  w.hasReportedDrained = true;
  if (w.membership.central !== NOBODY) w.env.send(w.membership.central, { type: 'drained' });
  w.env.drained();
}

/** Returns all queued entries and stops looking for work. */
export function giveBackAll(w: WorkerParts): void {
  giveBack(w, w.queue.removeAll());
  giveBackKept(w);
  giveBackMembers(w);
  w.stealing?.end();
  w.finder?.end();
}

/**
 * Quarantines the worker for one heartbeat interval after its process was suspended. Queued tasks may already
 * run elsewhere, so the worker returns them, and those that arrive during the quarantine.
 */
export function detectSuspension(w: WorkerParts, now: Millis): void {
  if (w.timings.leaseMs === 0) return;
  const gapMs = w.membership.gapMs(now);
  if (gapMs > 0 && w.health.wasSuspended(gapMs, w.timings.heartbeatMs, now)) giveBackAll(w);
}

/** Accepts tasks again after a quarantine. Reports the free slots, because central does not count them as free. */
export function resumeAccepting(w: WorkerParts, now: Millis): void {
  w.finder?.welcomed(false);
  lookForWork(w, now);
}

function lookForWork(w: WorkerParts, now: Millis): void {
  if (w.takesWork) w.stealing?.begin(now);
  w.finder?.seek(now);
}

/** Kills all running tasks. Their owners receive the reason, and may restart the tasks elsewhere. */
export function killAll(w: WorkerParts, reason: KillReason, now: Millis): void {
  giveBackKept(w);
  giveBackMembers(w);
  for (const slot of w.slots.running()) kill(w, slot, reason, now);
}

/** Notifies central, so that it does not wait for the lease to expire. */
export function leave(w: WorkerParts): void {
  if (w.membership.central !== NOBODY) w.env.send(w.membership.central, { type: 'leave' });
}
