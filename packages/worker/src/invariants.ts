import { invariant } from '@goshawk/core';
import type { WorkerState } from './state.js';

/** Checks the invariants of a worker between steps. */
export function checkWorker({ queue, slots, takesWork, knownAhead: ahead, knownChunks }: WorkerState): void {
  slots.checkInvariants();
  const long = [...queue].filter((entry) => entry.long && entry.lane === 'normal').length;
  invariant(long === queue.longEntries, () => `${long} long entries wait, counted ${queue.longEntries}`);
  const head = queue.head();
  invariant(
    head === undefined || slots.idleCount === 0 || !slots.fits(head.demand),
    'a slot is idle and the head of the queue would fit',
  );
  if (ahead !== undefined) {
    const kept = ahead.kept.length;
    invariant(ahead.open >= 0, () => `${kept} tasks are kept for ${ahead.announcedCount} slots`);
    invariant(kept === 0 || slots.idleCount === 0, 'a slot is idle and a task is kept for one');
    invariant(takesWork || kept === 0, 'a worker that accepts no tasks keeps some');
  }
  for (const [ask, { owner }] of knownChunks?.firsts() ?? [])
    invariant(
      takesWork && slots.indexOfAnswered(owner, ask) >= 0,
      () => `a chunk waits behind a slot that does not run: question ${ask}`,
    );
  invariant(takesWork || queue.isEmpty, 'a worker that accepts no tasks has entries');
}
