import type { SchedulerConfig, SchedulerEnvironment } from './contract.js';
import { Dispatch } from './dispatch/dispatch.js';
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

/** The components that act on the state. Each is constructed after those that it calls. */
export class SchedulerParts extends SchedulerState {
  readonly dispatch: Dispatch;
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
    this.dispatch = new Dispatch(this);
    const { dispatch } = this;
    const { routing } = dispatch;
    this.killing = new Killing(this);
    this.endings = new Endings(this, dispatch, this.killing);
    const { killing, endings } = this;
    this.cancelling = new Cancelling(this, routing, endings, killing);
    this.reconciler = new Reconciler(this, dispatch, killing, endings);
    const { cancelling, reconciler } = this;
    this.taskMessages = new TaskMessages(this, routing, endings, killing, reconciler);
    this.predecessors = new Predecessors(this, dispatch, endings, cancelling);
    this.holds = new Holds(this, routing, endings, killing);
    this.keys = new Keys(config.name, this.ledger);
    const limits = { ...DEFAULT_LOAD_LIMITS, activeBytesMax: this.shares.activeMax, ...config.load };
    this.overload = new Overload(this.jobs, limits, () => env.random());
    const { predecessors, holds, keys, overload } = this;
    this.intake = new Intake(this, dispatch, predecessors, holds);
    this.submissions = new Submissions(this, this.intake, overload, keys, predecessors);
    this.appending = new Appending(this, routing, endings, overload);
    this.draining = new Draining(this, predecessors);
    this.restarting = new Restarting(this, keys, predecessors, holds, endings);
    this.retries = new Retries(this, routing, killing, reconciler);
    const { draining } = this;
    this.clusterMessages = new ClusterMessages(this, dispatch, draining, keys, reconciler);
  }
}
