import type { Millis, Vector } from '@goshawk/core';
import { dominantShare } from '../amounts.js';
import type { JobView, LatestStart, PolicyContext, StageView, WorkerView } from '../contract.js';
import { hasPreference, isPreferredAt } from '../fitting.js';
import type { Reservations } from '../reservations.js';
import type { RunTimeEstimates } from '../run-time-estimates.js';
import type { QueuedUser } from './kind-queues.js';
import { classOf, isDecided, type Kind } from './kinds.js';
import type { Lending } from './lending.js';
import { Limits, unitsOf } from './limits.js';
import { LongTimes } from './long-times.js';
import {
  dueAt,
  type JobWork,
  keyOf,
  latestOf,
  placeOf,
  stageCount,
  UNPREFERRED_SLOWDOWN,
  workLeft,
} from './order.js';
import type { Placement } from './placement.js';
import type { Precedence } from './precedence.js';
import { isServedBefore } from './users-in-order.js';
import type { Waiting } from './waiting.js';

/** A job with waiting tasks. */
export interface JobState {
  /** The user that counts it among its waiting jobs. */
  user: QueuedUser;
  /** Its stages with waiting tasks. */
  readonly waiting: StageView[];
  work: JobWork;
  /** undefined: it has no deadline. */
  latest: LatestStart | undefined;
  /** Whether it has almost no chance to meet its deadline. */
  isHopeless: boolean;
}

const NO_WORK: JobWork = { workMs: 0, pathsMs: [] };

/** Keeps the waiting stages in the order of their due times while jobs, estimates and the cluster change. */
export class Queue {
  readonly waiting: Waiting;
  readonly limits: Limits;
  readonly estimates: RunTimeEstimates;
  readonly #reservations: Reservations;
  readonly #precedence: Precedence;
  readonly #context: PolicyContext;
  readonly #longTimes = new LongTimes();
  readonly #jobs = new Map<JobView, JobState>();
  /** The waiting jobs with a deadline. */
  readonly #due = new Map<JobView, JobState>();
  /** Jobs whose work, and so their position in the order, must be recomputed. */
  readonly #stale = new Set<JobView>();
  #capacity: Vector = [];

  constructor(
    waiting: Waiting,
    estimates: RunTimeEstimates,
    placement: Placement,
    lending: Lending,
    precedence: Precedence,
    context: PolicyContext,
  ) {
    this.waiting = waiting;
    this.#precedence = precedence;
    this.limits = new Limits(context, waiting, placement.free, lending);
    this.estimates = estimates;
    this.#reservations = placement.reservations;
    this.#context = context;
  }

  /** Number of waiting jobs of the job's user and of users that are served before. */
  jobsNotAfter(job: JobView): number {
    const user = this.waiting.userOf(job);
    let jobs = 0;
    for (const other of this.waiting.users.values())
      if (other === user || isServedBefore(other, user)) jobs += other.waitingJobs;
    return jobs;
  }

  /** Capacity of the cluster on which the order is based. */
  get capacity(): Vector {
    return this.#capacity;
  }

  /** When a waiting job must start to meet its deadline; undefined: it has none. */
  latestStartOf(job: JobView): LatestStart | undefined {
    return this.#due.get(job)?.latest;
  }

  /** The waiting jobs with a deadline. */
  get due(): ReadonlyMap<JobView, JobState> {
    return this.#due;
  }

  // ---- changes

  /** The number of waiting tasks has changed. */
  update(stage: StageView, now: Millis): void {
    this.limits.decided(stage);
    if (stage.waiting === 0) return this.#remove(stage);
    const { job } = stage;
    const before = this.waiting.kindOf(stage);
    const isKnown = stage.part === 'judged' || stage.part === 'thin';
    const kind =
      before !== undefined && isDecided(before) === isKnown ? before : this.limits.kindOf(stage, now);
    if (before === undefined && kind === 'short' && this.#context.sizesAreGiven)
      this.limits.shortArrived(stage.estimateMs * stage.waiting * unitsOf(stage), now);
    if (classOf(stage) === 'long' && !stage.estimateFollows) this.#longTimes.learn(job, stage.estimateMs);
    let state = this.#jobs.get(job);
    if (state === undefined) {
      const user = this.waiting.userOf(job);
      user.waitingJobs++;
      state = { user, waiting: [stage], work: NO_WORK, latest: undefined, isHopeless: false };
      this.#jobs.set(job, state);
    } else if (!state.waiting.includes(stage)) state.waiting.push(stage);
    this.#stale.add(job);
    this.#set(stage, kind, state, now);
  }

  /** The job's facts have changed, or one of its runs has ended. */
  changed(job: JobView): void {
    if (this.#jobs.has(job)) this.#stale.add(job);
  }

  /** Updates the order after a start: immediately for a job of one stage, at the next plan for others. */
  started(stage: StageView, now: Millis): void {
    if (stage.waiting === 0) return this.#remove(stage);
    const { job } = stage;
    if (stageCount(job) > 1) this.#stale.add(job);
    else this.placeJob(job, this.#jobs.get(job)!, now);
  }

  gone(job: JobView): void {
    for (const stage of job.stages) {
      this.#remove(stage);
      this.limits.gone(stage);
    }
    this.#stale.delete(job);
  }

  /** The size of the cluster has changed. */
  resize(capacity: Vector, now: Millis): void {
    this.#capacity = capacity;
    for (const [job, state] of this.#jobs) {
      for (const stage of state.waiting) {
        const kind = this.waiting.kindOf(stage)!;
        if (!isDecided(kind))
          this.waiting.set(stage, this.limits.kindOf(stage, now), this.waiting.keyOf(stage));
      }
      this.#stale.add(job);
    }
  }

  #remove(stage: StageView): void {
    this.waiting.delete(stage);
    const state = this.#jobs.get(stage.job);
    if (state === undefined) return;
    const at = state.waiting.indexOf(stage);
    if (at >= 0) state.waiting.splice(at, 1);
    if (state.waiting.length === 0) {
      state.user.waitingJobs--;
      this.#jobs.delete(stage.job);
      this.#due.delete(stage.job);
    }
    const reservation = this.#reservations.of(stage);
    if (reservation !== undefined) this.#reservations.drop(reservation);
  }

  // ---- the order

  /** Recomputes the positions of changed jobs. */
  reorder(now: Millis): void {
    for (const job of this.#stale) {
      const state = this.#jobs.get(job);
      if (state !== undefined) this.placeJob(job, state, now);
    }
    this.#stale.clear();
  }

  placeJob(job: JobView, state: JobState, now: Millis): void {
    state.work = workLeft(job, this.estimates, this.#capacity, now);
    state.latest = latestOf(job, state.work);
    if (state.latest === undefined) this.#due.delete(job);
    else this.#due.set(job, state);
    state.isHopeless = state.latest !== undefined && now > state.latest.hopelessAt;
    for (const stage of state.waiting)
      this.#set(stage, this.waiting.kindOf(stage) ?? this.limits.kindOf(stage, now), state, now);
    const user = this.waiting.userOf(job);
    state.user.waitingJobs--;
    user.waitingJobs++;
    state.user = user;
  }

  #set(stage: StageView, kind: Kind, state: JobState, now: Millis): void {
    this.waiting.set(stage, isDecided(kind) ? classOf(stage) : kind, this.#keyOf(stage, state, now));
  }

  #keyOf(stage: StageView, { work, latest, isHopeless }: JobState, now: Millis): number {
    const { job, part } = stage;
    // Pilots come first: knowing a job's class is worth more than their slots.
    if (part === 'pilots') return Number.NEGATIVE_INFINITY;
    const due = dueAt(job, this.#workOf(stage, work, now));
    const at = latest === undefined || isHopeless ? due : Math.min(due, latest.startAt);
    return stageCount(job) === 1 ? at : keyOf(at, work.pathsMs[placeOf(job.stages, stage.index)] ?? 0);
  }

  /** Remaining work of its job, or of the stage if the job's is unknown. */
  #workOf(stage: StageView, { workMs }: JobWork, now: Millis): Millis {
    if (stage.estimateFollows) {
      const taskMs = this.#longTimes.pessimisticEstimate(this.estimates.taskMs(stage, now));
      return taskMs * stage.waiting * dominantShare(stage.demand, this.#capacity);
    }
    return workMs;
  }

  // ---- deadlines

  /** Whether a task of the stage would miss its deadline on a worker that its job does not prefer. */
  needsPreferred({ job }: StageView, now: Millis): boolean {
    const state = this.#jobs.get(job);
    if (state?.latest === undefined || state.isHopeless || !hasPreference(job)) return false;
    return now + UNPREFERRED_SLOWDOWN * Math.max(0, ...state.work.pathsMs) > job.deadlineAt;
  }

  /** Whether a task of the stage may start at the worker, or waits for one that its job prefers. */
  accepts(stage: StageView, worker: WorkerView, now: Millis): boolean {
    return !this.needsPreferred(stage, now) || isPreferredAt(stage.job, worker);
  }

  /** Whether the time until the latest start of its job, which may go before others then, is shorter than its run time. */
  isNearLatest(stage: StageView, now: Millis): boolean {
    const state = this.#jobs.get(stage.job);
    if (state?.latest === undefined || state.isHopeless || !this.#precedence.has(stage.job)) return false;
    return state.latest.startAt - now <= this.estimates.taskMs(stage, now);
  }
}
