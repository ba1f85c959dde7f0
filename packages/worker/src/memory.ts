import { WorkerQueue } from './queue.js';
import { Slots } from './slots.js';
import { WorkerTables } from './tables.js';

/**
 * What workers of a process share: their tables, and one view of the queue and the slots of whichever worker's step it is. A
 * view for each would not fit into a processor's cache, and one made at each use costs simulations under hawk a fifth.
 */
export class WorkerMemory extends WorkerTables {
  readonly queue = new WorkerQueue(this);
  readonly slotView = new Slots(this);
}
