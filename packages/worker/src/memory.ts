import { invariant, placesOf, type Resources } from '@goshawk/core';
import { EntryLists } from './entry-lists.js';
import { WorkerQueue } from './queue.js';
import { SharedProbes } from './shared-probes.js';
import { SlotColumns } from './slot-columns.js';
import { Slots } from './slots.js';
import { ThiefColumns } from './thief-columns.js';

/**
 * Where workers keep what changes all the time. Those of one process may share it: then it lies close together, and a
 * step of any of them finds it in the processor's cache.
 */
export class WorkerMemory {
  readonly entries = new EntryLists();
  readonly slots = new SlotColumns();
  readonly thieves = new ThiefColumns();
  readonly probes = new SharedProbes();
  /** Each is that of one worker at a time. */
  readonly queue = new WorkerQueue(this.entries);
  readonly places = new Slots(this.slots);

  /** @param slots 0: no fixed number
   *
   * @returns the number of a new worker in all columns */
  admit(slots: number, capacity: Resources): number {
    const { number } = this.queue.add();
    const places = this.places.add(placesOf(slots), capacity);
    invariant(places.number === number, 'a worker has one number in all columns');
    return number;
  }
}
