import { invariant } from '@goshawk/core';
import type { WorkerState } from './state.js';

/** What holds of a worker between any two steps. */
export function checkWorker({ queue, slots, takesWork }: WorkerState): void {
  slots.checkInvariants();
  const long = [...queue].filter((entry) => entry.long && entry.lane === 'normal').length;
  invariant(long === queue.longEntries, () => `${long} long entries wait, counted ${queue.longEntries}`);
  const head = queue.head();
  invariant(
    head === undefined || slots.idleCount === 0 || !slots.fits(head.demand),
    'a slot is idle and the head of the queue would fit',
  );
  invariant(takesWork || queue.isEmpty, 'a worker that takes nothing holds entries');
}
