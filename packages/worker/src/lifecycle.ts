import { type KillReason, type Millis, NOBODY } from '@goshawk/core';
import { giveBackKept } from './foreseeing.js';
import { giveBackMembers } from './gang-members.js';
import { giveBack } from './giving-back.js';
import type { WorkerParts } from './parts.js';
import { register } from './registering.js';

// A worker drains, is quarantined for a while, and stops. Meanwhile it takes no work: it gives back what waits and lets what runs end.

/** Takes no more work, for good; `env.drained()` follows when nothing is left. */
export function stop(w: WorkerParts, now: Millis): void {
  w.isStopping = true;
  w.hasSaidDrained = false;
  setDraining(w, true, now);
}

export function setDraining(w: WorkerParts, on: boolean, now: Millis): void {
  if (on === w.isDraining) {
    // The sender has an outdated view.
    register(w, now);
    return sayIfDrained(w);
  }
  w.isDraining = on;
  w.hasSaidDrained = false;
  if (on) giveBackAll(w);
  // Central hears of it by the same message that says everything else about this worker.
  register(w, now);
  sayIfDrained(w);
  if (!on) lookForWork(w, now);
}

export function sayIfDrained(w: WorkerParts): void {
  if (!w.isDraining || w.hasSaidDrained || !w.isIdle) return;
  w.hasSaidDrained = true;
  if (w.membership.central !== NOBODY) w.env.send(w.membership.central, { type: 'drained' });
  w.env.drained();
}

/** It takes no more work: what waits goes back, and nothing is looked for. */
export function giveBackAll(w: WorkerParts): void {
  giveBack(w, w.queue.removeAll());
  giveBackKept(w);
  giveBackMembers(w);
  w.stealing?.end();
  w.finder?.end();
}

/**
 * After a suspension, messages in the mailbox may be outdated and their tasks run elsewhere: the worker
 * returns what arrives first.
 */
export function noticeGap(w: WorkerParts, now: Millis): void {
  if (w.timings.leaseMs === 0) return;
  const gapMs = w.membership.gapMs(now);
  if (gapMs > 0 && w.health.stoodStill(gapMs, w.timings.heartbeatMs, now)) giveBackAll(w);
}

/** A pause is over; central has forgotten what is free here. */
export function takeAgain(w: WorkerParts, now: Millis): void {
  w.finder?.welcomed(false);
  lookForWork(w, now);
}

function lookForWork(w: WorkerParts, now: Millis): void {
  if (w.takesWork) w.stealing?.begin(now);
  w.finder?.lookAround(now);
}

/** Kills what runs; the owners hear that it was cut short and may run it elsewhere. */
export function killAll(w: WorkerParts, reason: KillReason): void {
  giveBackKept(w);
  giveBackMembers(w);
  for (const slot of w.slots.running()) w.env.kill(slot, reason);
}

/** Says goodbye, so that nobody has to wait for the lease to end. */
export function leave(w: WorkerParts): void {
  if (w.membership.central !== NOBODY) w.env.send(w.membership.central, { type: 'leave' });
}
