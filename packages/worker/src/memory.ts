import { EntryLists } from './entry-lists.js';
import { SharedProbes } from './shared-probes.js';
import { SlotColumns } from './slot-columns.js';
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
}
