import { invariant, type Millis, type Vector } from '@goshawk/core';
import type {
  CentralPolicy,
  ClusterChange,
  ClusterView,
  Draft,
  JobView,
  PolicyContext,
  PolicyExplanation,
  PolicyModule,
  PolicyOption,
  PolicyShares,
  QueueLine,
  RunEnd,
  RunView,
  StageView,
  WorkerView,
} from '../contract.js';
import type { FreeWorkers } from '../free-workers.js';
import type { Reservations } from '../reservations.js';
import { RunTimeEstimates } from '../run-time-estimates.js';
import { Backfill } from './backfill.js';
import { Blocked } from './blocked.js';
import { Deadlines } from './deadlines.js';
import { explainWait } from './explaining.js';
import { Lending } from './lending.js';
import type { Limits } from './limits.js';
import { stageCount } from './order.js';
import { Placement } from './placement.js';
import { Precedence } from './precedence.js';
import { Queue } from './queue.js';
import { Serving } from './serving.js';
import { Starting } from './starting.js';
import { sharesByUser, UserShares } from './user-shares.js';
import { Waiting } from './waiting.js';

/** Due times and shares are recomputed when the cluster has grown or shrunk by more than this fraction. */
const RESIZE_THRESHOLD = 0.05;

/**
 * Goshawk's policy: one order, one rule of placement, a reserve for short tasks, and reservations for stages that fit
 * nowhere. The README of this folder gives the formulas.
 */
class Goshawk implements CentralPolicy {
  readonly explainsAll = true;
  readonly #sharesByUser: boolean;
  readonly #estimates = new RunTimeEstimates();
  readonly #placement: Placement;
  readonly #free: FreeWorkers;
  readonly #reservations: Reservations;
  readonly #waiting: Waiting;
  readonly #limits: Limits;
  readonly #queue: Queue;
  readonly #shares: UserShares;
  readonly #lending: Lending;
  readonly #blocked: Blocked;
  readonly #starting: Starting;
  readonly #deadlines: Deadlines;
  readonly #precedence: Precedence;
  readonly #backfill: Backfill;
  readonly #serving: Serving;
  /** Capacity on which the current shares and due times are based. */
  #capacity: Vector = [];

  constructor(context: PolicyContext, shareBy: ShareBy) {
    this.#sharesByUser = shareBy === 'user';
    const placement = new Placement(this.#estimates, context);
    const waiting = new Waiting(this.#sharesByUser);
    const shares = new UserShares(waiting);
    const lending = new Lending(this.#estimates, shares, placement.reservations, waiting, context);
    this.#precedence = new Precedence(waiting, shares, this.#estimates);
    const queue = new Queue(waiting, this.#estimates, placement, lending, this.#precedence, context);
    const starting = new Starting(queue, placement, (run, now) => this.#entered(run, now));
    this.#placement = placement;
    this.#free = placement.free;
    this.#reservations = placement.reservations;
    this.#waiting = waiting;
    this.#limits = queue.limits;
    this.#queue = queue;
    this.#shares = shares;
    this.#lending = lending;
    this.#blocked = new Blocked(waiting, queue.limits);
    this.#starting = starting;
    this.#deadlines = new Deadlines(queue, placement, starting, lending, this.#precedence, context);
    this.#backfill = new Backfill(queue, placement, starting, this.#precedence, shares);
    this.#serving = new Serving(queue, placement, starting, shares, lending);
  }

  update(changes: readonly ClusterChange[], now: Millis): void {
    for (const each of changes) {
      switch (each.kind) {
        case 'opened':
          this.#opened(each.worker, true);
          break;
        case 'closed':
          this.#opened(each.worker, false);
          break;
        case 'freed':
          this.#blocked.freed(each.worker);
          this.#roomChanged(each.worker);
          break;
        case 'shrank':
          this.#roomChanged(each.worker);
          break;
        case 'left':
          this.#blocked.left(each.worker);
          this.#roomChanged(each.worker);
          break;
        case 'found':
          this.#entered(each.run, now);
          break;
        case 'ended':
          this.#ended(each.run, each.how, now);
          break;
        case 'resumed':
          this.#resumed(each.run, now);
          break;
        case 'began':
          this.#lending.offered(each.run, now);
          break;
        case 'changed':
          this.#changed(each.job, now);
          break;
        case 'waiting':
          this.#queue.update(each.stage, now);
          this.#serving.children.update(each.stage);
          break;
        case 'gone':
          this.#queue.gone(each.job);
          this.#serving.children.gone(each.job);
          break;
        case 'shortWork':
          this.#limits.shortArrived(each.workMs, now);
          break;
      }
    }
  }

  plan(cluster: ClusterView, draft: Draft, now: Millis): void {
    this.#measure(cluster, now);
    this.#precedence.planBegins(now);
    this.#placement.planBegins(cluster.capacity);
    this.#limits.planBegins(now);
    if (this.#waiting.size > 0) this.#serve(cluster, draft, now);
    else this.#reservations.renew();
    this.#blocked.planEnds();
    this.#precedence.planEnds(now);
    for (const again of [this.#limits.planEnds(now), this.#lending.planEnds()])
      if (again !== undefined) draft.again(again);
  }

  #serve(cluster: ClusterView, draft: Draft, now: Millis): void {
    this.#queue.reorder(now);
    this.#deadlines.startForced(draft, now);
    this.#deadlines.serve(cluster, draft, now);
    let more = this.#blocked.retry(now);
    // Reserve before starting anything, or newly freed room would be taken bit by bit.
    this.#backfill.reserve(cluster, draft, now);
    while (more !== undefined) {
      const starts = this.#starting.count;
      this.#serving.serve(draft, now, more.before);
      if (this.#starting.count === starts) break;
      more = this.#blocked.retry(now);
    }
    if (more === undefined || more.before !== undefined) this.#serving.serve(draft, now);
    this.#serving.fill(draft, now);
    const starts = this.#starting.count;
    this.#serving.lend(cluster, draft, now);
    // A stage that has borrowed gives its reservation up, and short tasks change the reserve.
    if (this.#starting.count > starts) this.#serving.serve(draft, now);
  }

  line(now: Millis): QueueLine {
    return {
      kindOf: (stage) => {
        const kind = this.#waiting.kindOf(stage);
        return kind === undefined || kind === 'pilots' ? 'short' : kind;
      },
      comesBefore: (one, other) => {
        const first = this.#waiting.kindOf(one);
        const second = this.#waiting.kindOf(other);
        // Changes since the last plan are not ordered yet.
        if (first === undefined || second === undefined) return first !== undefined;
        if ((first === 'large') !== (second === 'large')) return second === 'large';
        return this.#waiting.keyOf(one) < this.#waiting.keyOf(other);
      },
      turnOf: (stage) => {
        // Stages of large jobs are served after all others, regardless of their users.
        if (!this.#waiting.has(stage) || this.#waiting.kindOf(stage) === 'large') return undefined;
        const user = this.#waiting.userOf(stage.job);
        const { weight } = user;
        return {
          user,
          isFirst: user.task === undefined,
          share: this.#shares.of(user),
          weight,
          taskShare: this.#shares.shareOf(stage),
        };
      },
      keptFor: (stage) => this.#reservations.of(stage)?.rooms.size ?? 0,
      latestStartOf: (job) => this.#queue.latestStartOf(job),
      longRunning: Math.round(this.#limits.longRunning),
      longLimit: this.#limits.longLimit(now),
      lendable: this.#lending.cpus,
      reserve: this.#limits.reserve(now),
    };
  }

  explain(stage: StageView, cluster: ClusterView, now: Millis): PolicyExplanation | undefined {
    const kind = this.#waiting.kindOf(stage);
    if (kind === undefined) return undefined;
    return explainWait(stage, {
      cluster,
      reservations: this.#reservations,
      count: { kind, ...this.#limits.countOf(kind, now) },
      isOverLimit: !this.#limits.mayRun(kind, now),
      lends: this.#lending.isOn,
      now,
    });
  }

  shares(cluster: ClusterView): PolicyShares | undefined {
    return this.#sharesByUser ? sharesByUser(cluster) : undefined;
  }

  /** Checks that every run is charged once, to the right user, that only waiting stages have reservations, and the CPUs that could be lent. */
  checkInvariants(cluster: ClusterView): void {
    for (const { stage } of this.#reservations.all)
      invariant(
        this.#waiting.has(stage),
        () => `a place is reserved for stage ${stage.id}, which does not wait`,
      );
    this.#shares.check(cluster);
    this.#lending.check(cluster);
    this.#waiting.check();
  }

  #opened(worker: WorkerView, open: boolean): void {
    if (open) this.#blocked.freed(worker);
    else this.#reservations.closed(worker);
    this.#free.update(worker);
    this.#lending.opened(worker, open);
    this.#limits.opened(worker, open);
  }

  #roomChanged(worker: WorkerView): void {
    this.#free.update(worker);
    this.#lending.roomChanged(worker);
  }

  #changed(job: JobView, now: Millis): void {
    for (const run of job.runs) {
      this.#lending.offered(run, now);
      this.#limits.recount(run);
      this.#shares.recharge(run, now);
    }
    this.#queue.changed(job);
  }

  #entered(run: RunView, now: Millis): void {
    this.#estimates.started(run);
    this.#shares.charge(run, now);
    this.#lending.started(run, now);
    this.#limits.count(run);
    for (const lender of run.lenders) this.#paused(lender, now);
  }

  /** The CPUs of a paused run count as those of its borrower. It keeps what it does not lend. */
  #paused(run: RunView, now: Millis): void {
    if (!this.#lending.paused(run, now)) return;
    this.#shares.lentOrTakenBack(run, now);
    this.#limits.uncount(run);
  }

  #resumed(run: RunView, now: Millis): void {
    const pausedMs = this.#lending.resumed(run, now);
    if (pausedMs === undefined) return;
    this.#estimates.resumed(run, pausedMs);
    this.#shares.lentOrTakenBack(run, now);
    this.#lending.offered(run, now);
    this.#limits.count(run);
  }

  #ended(run: RunView, how: RunEnd, now: Millis): void {
    this.#resumed(run, now);
    this.#lending.ended(run);
    this.#estimates.ended(run, how, now);
    this.#shares.uncharge(run, now, { hasEnded: true });
    this.#limits.uncount(run);
    const { job } = run.stage;
    if (stageCount(job) > 1) this.#queue.changed(job);
  }

  /** Recomputes shares and due times when the cluster has changed by more than a little. */
  #measure(cluster: ClusterView, now: Millis): void {
    if (!isResized(this.#capacity, cluster.capacity)) return;
    this.#capacity = [...cluster.capacity];
    this.#shares.resize({ workers: cluster.workers, capacity: this.#capacity });
    this.#queue.resize(this.#capacity, now);
  }
}

function isResized(before: Vector, now: Vector): boolean {
  if (before.length !== now.length) return true;
  return now.some((amount, index) => Math.abs(amount - before[index]!) > RESIZE_THRESHOLD * before[index]!);
}

type ShareBy = 'user' | 'none';

const SHARE_BY: PolicyOption<ShareBy> = {
  default: 'user',
  choices: ['user', 'none'],
  help: 'unit of fair sharing: user, or none',
};

export const goshawk: PolicyModule<{ readonly shareBy: ShareBy }> = {
  title: 'one order of virtual due times, reservations, a reserve for short jobs',
  declares: true,
  packs: true,
  options: { shareBy: SHARE_BY },
  make: ({ shareBy }, context) => new Goshawk(context, shareBy),
};
