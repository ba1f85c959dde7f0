import type { Millis, Resources } from '@goshawk/core';
import type { Membership } from './membership.js';
import type { WorkerQueue } from './queue.js';
import type { Slots } from './slots.js';

/** What the parts of a worker that look for work have to know of the worker around them. */
export interface WorkerParts {
  /** Its own, until another worker of the process makes a step. */
  queue(): WorkerQueue;
  slots(): Slots;
  readonly membership: Membership;
  /** The worker takes work: it does not drain. */
  takesWork(): boolean;
  /** A number for a question; unique at this worker. */
  nextAsk(): number;
  /** Somebody was asked: see to it that silence is noticed. */
  asked(now: Millis): void;
}

/** A slot is free, nothing waits, and the worker takes work. */
export function wantsWork(parts: Pick<WorkerParts, 'queue' | 'slots' | 'takesWork'>): boolean {
  return parts.queue().isEmpty && parts.slots().idleCount > 0 && parts.takesWork();
}

/** A task that was given to the worker, and need not wait for what waits here, can run here now. */
export function canRun(parts: Pick<WorkerParts, 'slots' | 'takesWork'>, demand: Resources): boolean {
  const slots = parts.slots();
  return slots.idleCount > 0 && slots.fits(demand) && parts.takesWork();
}
