import type { SchedulerConfig, SchedulerEnvironment } from './contract.js';
import { Assigner } from './dispatch/assigner.js';
import { Binder } from './dispatch/binder.js';
import { Delivery } from './dispatch/delivery.js';
import { Routing } from './dispatch/routing.js';
import { Sampler } from './dispatch/sampler.js';
import { Appending } from './life/appending.js';
import { Cancelling } from './life/cancelling.js';
import { ClusterMessages } from './life/cluster-messages.js';
import { Draining } from './life/draining.js';
import { Endings } from './life/endings.js';
import { Holds } from './life/holds.js';
import { Intake } from './life/intake.js';
import { Keys } from './life/keys.js';
import { Killing } from './life/killing.js';
import { DEFAULT_LOAD_LIMITS, Overload } from './life/overload.js';
import { Predecessors } from './life/predecessors.js';
import { Reconciler } from './life/reconciler.js';
import { Restarting } from './life/restarting.js';
import { Retries } from './life/retries.js';
import { Submissions } from './life/submissions.js';
import { TaskMessages } from './life/task-messages.js';
import { SchedulerState } from './state.js';

/** The components that act on the state. Each is constructed after the components that it calls. */
export class SchedulerParts extends SchedulerState {
  // dispatch: finding workers for tasks.
  readonly delivery: Delivery;
  readonly assigner: Assigner;
  readonly routing: Routing;
  readonly sampler: Sampler;
  readonly binder: Binder;
  // life: ending attempts and jobs.
  readonly killing: Killing;
  readonly endings: Endings;
  readonly cancelling: Cancelling;
  readonly reconciler: Reconciler;
  readonly taskMessages: TaskMessages;
  // life: accepting jobs.
  readonly predecessors: Predecessors;
  readonly holds: Holds;
  readonly keys: Keys;
  readonly overload: Overload;
  readonly intake: Intake;
  readonly submissions: Submissions;
  readonly appending: Appending;
  // life: starting, restarting and draining the scheduler.
  readonly draining: Draining;
  readonly restarting: Restarting;
  readonly retries: Retries;
  readonly clusterMessages: ClusterMessages;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    super(config, env);
    this.delivery = new Delivery(this);
    this.assigner = new Assigner(this, this.delivery);
    this.routing = new Routing(this, this.assigner);
    const { delivery, assigner, routing } = this;
    this.sampler = new Sampler(this, routing);
    const { sampler } = this;
    this.binder = new Binder(this, routing, assigner, delivery, sampler);
    this.killing = new Killing(this);
    this.endings = new Endings(this, routing, sampler, this.killing);
    const { binder, killing, endings } = this;
    this.cancelling = new Cancelling(this, routing, endings, killing);
    this.reconciler = new Reconciler(this, delivery, routing, sampler, killing, endings);
    const { cancelling, reconciler } = this;
    this.taskMessages = new TaskMessages(this, routing, endings, killing, reconciler);
    this.predecessors = new Predecessors(this, routing, sampler, endings, cancelling);
    this.holds = new Holds(this, routing, endings, killing);
    this.keys = new Keys(config.name, this.ledger);
    const limits = { ...DEFAULT_LOAD_LIMITS, activeBytesMax: this.shares.activeMax, ...config.load };
    this.overload = new Overload(this.jobs, limits, () => env.random());
    const { predecessors, holds, keys, overload } = this;
    this.intake = new Intake(this, routing, sampler, predecessors, holds);
    this.submissions = new Submissions(this, this.intake, overload, keys, routing, predecessors);
    this.appending = new Appending(this, routing, endings, overload);
    this.draining = new Draining(this, predecessors);
    this.restarting = new Restarting(this, keys, predecessors, holds, endings);
    this.retries = new Retries(this, routing, killing, reconciler);
    const { draining } = this;
    this.clusterMessages = new ClusterMessages(this, binder, routing, sampler, draining, keys, reconciler);
  }
}
