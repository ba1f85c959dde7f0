import { WorkerState } from './state.js';
import type { Stealing } from './stealing.js';
import type { WorkFinder } from './work-finder.js';

/** A worker's state, and the ways in which it finds work, created as the cluster's policy requires. */
export class WorkerParts extends WorkerState {
  stealing: Stealing | undefined;
  finder: WorkFinder | undefined;
}
