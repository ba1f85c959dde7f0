import type { Address, Millis } from '@goshawk/core';
import { JobViews } from './api/job-views.js';
import { isUnmet } from './api/snapshot.js';
import { Watching } from './api/watching.js';
import type { SchedulerConfig, SchedulerEnvironment } from './contract.js';
import { Binder } from './dispatch/binder.js';
import { Delivery } from './dispatch/delivery.js';
import { Routing } from './dispatch/routing.js';
import { Sampler } from './dispatch/sampler.js';
import { Answers } from './durability/answers.js';
import { Pieces } from './durability/pieces.js';
import { RunningTaskAudit } from './durability/running-task-audit.js';
import { JobEvents } from './job/job-events.js';
import { AbandonedAttempts } from './life/abandoned-attempts.js';
import { Cancelling } from './life/cancelling.js';
import { Endings } from './life/endings.js';
import { Holds } from './life/holds.js';
import { Keys } from './life/keys.js';
import { DEFAULT_LOAD_LIMITS, Overload } from './life/overload.js';
import { Predecessors } from './life/predecessors.js';
import { SchedulerState } from './state.js';

/**
 * A scheduler's state, and what acts upon it: each part is given the state and the parts that it calls. What concerns
 * several of them is a function of all.
 */
export class SchedulerParts extends SchedulerState {
  readonly pieces: Pieces;
  readonly audit: RunningTaskAudit;
  readonly views: JobViews;
  readonly watching: Watching;
  readonly overload: Overload;
  readonly events: JobEvents;
  readonly routing: Routing;
  readonly sampler: Sampler;
  readonly delivery: Delivery;
  readonly binder: Binder;
  readonly abandoned: AbandonedAttempts;
  readonly endings: Endings;
  readonly cancelling: Cancelling;
  readonly predecessors: Predecessors;
  readonly holds: Holds;
  readonly keys: Keys;
  /**
   * Recent submissions by key. A repeated submission, sent because its reply is late, is recognized by its
   * number without parsing, which is slow for large jobs.
   */
  readonly recentSubmissions = new Map<string, { readonly client: Address; readonly request: number }>();
  readonly answers: Answers;

  constructor(config: SchedulerConfig, env: SchedulerEnvironment) {
    super(config, env);
    this.pieces = new Pieces(env, config.inheritance?.piece);
    this.audit = new RunningTaskAudit(this);
    // Views of jobs for others.
    this.views = new JobViews(this, (job) => this.predecessors.of(job));
    this.watching = new Watching(this, this.views);
    const limits = { ...DEFAULT_LOAD_LIMITS, activeBytesMax: this.shares.activeMax, ...config.load };
    this.overload = new Overload(this.jobs, limits, () => env.random());
    this.events = new JobEvents(this, this.overload, this.watching, () => this.tellIfDrained());
    // Tasks find workers, and are given to them.
    this.routing = new Routing(this, (job, batch, now) => this.binder.giveHeld(job, batch, now));
    this.sampler = new Sampler(this, this.routing, this.events);
    this.delivery = new Delivery(this);
    this.binder = new Binder(this, this.routing, this.delivery, this.sampler, this.events);
    // Attempts and jobs end.
    this.abandoned = new AbandonedAttempts(this.ledger);
    this.endings = new Endings(this, this.routing, this.sampler, this.abandoned, this.events, (job, now) => {
      this.predecessors.ended(job, now);
      this.tellIfDrained();
    });
    this.cancelling = new Cancelling(this, this.routing, this.endings);
    // Jobs come.
    this.predecessors = new Predecessors(this, this.routing, this.sampler, this.endings, this.cancelling);
    this.holds = new Holds(this, this.routing, this.cancelling, this.endings, this.events);
    this.keys = new Keys(config.name, this.ledger);
    this.answers = new Answers(this.ledger);
  }

  /** A draining scheduler is done when no job can continue; these jobs stay in its journal. */
  tellIfDrained(): void {
    if (this.cluster.isDraining && this.predecessors.areAllStuck(() => false)) this.env.drained();
  }

  /** The same, where jobs that no worker can run count as stuck: once all workers had the time to join. */
  tellIfStuck(now: Millis): void {
    if (!this.cluster.isDraining || !this.ledger.isKept || this.cluster.isRosterYoung(now)) return;
    if (this.predecessors.areAllStuck((job) => isUnmet(job, this.cluster))) this.env.drained();
  }
}
