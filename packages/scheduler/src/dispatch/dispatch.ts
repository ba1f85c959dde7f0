import type { SchedulerConfig, SchedulerEnvironment } from '../contract.js';
import { Binder } from './binder.js';
import { Sampler } from './sampler.js';
import { SearchState } from './search.js';

/** The state of the search, the estimator, and the last requests and matches of workers. */
export class DispatchState extends SearchState {
  readonly sampler: Sampler;
  readonly binder: Binder;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    super(config, env);
    this.sampler = new Sampler(this);
    this.binder = new Binder(this);
  }
}
