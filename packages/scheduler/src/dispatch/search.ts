import type { SchedulerConfig, SchedulerEnvironment } from '../contract.js';
import { SchedulerState } from '../state.js';
import { NeedReporter } from './need-reporter.js';
import { Offers } from './offers.js';
import { Prober } from './probing.js';
import { WaitingSlots } from './waiting-slots.js';

/** The state of the search for workers: offers to those that ask, probes, and needs that central knows. */
export class SearchState extends SchedulerState {
  readonly offers: Offers;
  readonly waitingSlots: WaitingSlots;
  readonly prober: Prober;
  readonly needs: NeedReporter;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    super(config, env);
    this.offers = new Offers(this.cluster);
    this.waitingSlots = new WaitingSlots(this.cluster);
    this.prober = new Prober(this);
    this.needs = new NeedReporter(this);
  }
}
