import { type Attribute, type MessageOf, type Millis, NOBODY, present } from '@goshawk/core';
import { giveBackKept } from './foreseeing.js';
import { assignedRuns } from './held-tasks.js';
import { nextBeat } from './membership.js';
import type { WorkerParts } from './parts.js';

/**
 * Registers this worker with its complete state.
 *
 * @param isRepeated whether an earlier registration got no reply; each attempt contains the current state
 */
export function register(w: WorkerParts, now: Millis, isRepeated = false): void {
  // A registration does not list early tasks, so central would not count them.
  giveBackKept(w);
  w.finder?.numberUnmatched();
  w.membership.awaitsWelcome = true;
  const runs = assignedRuns(w, now);
  if (!isRepeated || runs.length > 0 || !w.env.holdsBack?.(w.central)) {
    const { name, slots, capacity, http, attributes = NO_ATTRIBUTES, places } = w.config;
    const drainDeadlineMs = w.drainDeadline === undefined ? undefined : Math.max(0, w.drainDeadline - now);
    const known = present({ places, drainDeadlineMs });
    const state = { draining: w.isDraining, http, runs, attributes, ...known };
    w.env.send(w.central, { type: 'register', name, slots, capacity, ...state } as MessageOf<'register'>);
  }
  scheduleBeat(w, now);
}

const NO_ATTRIBUTES: readonly Attribute[] = [];

/** Schedules the next heartbeat or registration attempt. */
export function scheduleBeat(w: WorkerParts, now: Millis): void {
  const isMember = w.membership.central !== NOBODY;
  const everyMs = isMember ? w.timings.heartbeatMs : w.config.registerRetryMs;
  if (everyMs > 0) scheduleHeartbeat(w, nextBeat(now, everyMs));
}

/** Sets the time of the next heartbeat. */
export function scheduleHeartbeat(w: WorkerParts, at: Millis): void {
  w.membership.heartbeatDueAt = at;
  w.env.setTimer('heartbeat', 0, at);
}
