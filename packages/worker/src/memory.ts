import { WorkerQueue } from './queue.js';
import { Slots } from './slots.js';
import { WorkerTables } from './tables.js';

/**
 * What workers of a process share: their tables, and one view of the queue and the slots of whichever worker's step it is. Views
 * made at each use would add a quarter to what a simulation under hawk allocates.
 */
export class WorkerMemory extends WorkerTables {
  readonly queue = new WorkerQueue(this);
  readonly slotView = new Slots(this);
}
