import type { SchedulerConfig, SchedulerEnvironment } from '../contract.js';
import { Holds } from './holds.js';
import { LifeState } from './life.js';
import { Predecessors } from './predecessors.js';
import { Reconciler } from './reconciler.js';

/** The whole state of a scheduler. */
export class SchedulerParts extends LifeState {
  readonly predecessors: Predecessors;
  readonly holds: Holds;
  readonly reconciler: Reconciler;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    super(config, env);
    this.predecessors = new Predecessors(this);
    this.holds = new Holds(this);
    this.reconciler = new Reconciler(this);
  }
}
