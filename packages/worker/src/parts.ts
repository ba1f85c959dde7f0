import { WorkerState } from './state.js';
import type { Stealing } from './stealing.js';
import type { WorkFinder } from './work-finder.js';

/** A worker's state, and how it finds work: each is made when the policy of the cluster has workers do that. */
export class WorkerParts extends WorkerState {
  stealing: Stealing | undefined;
  finder: WorkFinder | undefined;
}
