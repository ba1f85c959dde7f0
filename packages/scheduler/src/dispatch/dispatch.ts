import type { SchedulerState } from '../state.js';
import { Assigner } from './assigner.js';
import { Binder } from './binder.js';
import { Delivery } from './delivery.js';
import { Routing } from './routing.js';
import { Sampler } from './sampler.js';

/** Finds workers for waiting tasks. Each part is constructed after the parts that it calls. */
export class Dispatch {
  readonly delivery: Delivery;
  readonly assigner: Assigner;
  readonly routing: Routing;
  readonly sampler: Sampler;
  readonly binder: Binder;

  constructor(s: SchedulerState) {
    this.delivery = new Delivery(s);
    this.assigner = new Assigner(s, this.delivery);
    this.routing = new Routing(s, this.assigner);
    this.sampler = new Sampler(s, this.routing);
    this.binder = new Binder(s, this.routing, this.assigner, this.delivery, this.sampler);
  }
}
