import type { Millis } from '@goshawk/core';
import { dominantShare } from '../amounts.js';
import type { ClusterView, Draft, StageView, WorkerView } from '../contract.js';
import { gangSize, hasRoom } from '../fitting.js';
import type { FreeWorkers } from '../free-workers.js';
import { expiresAt, RESERVATIONS_MAX, type Reservation, type Reservations } from '../reservations.js';
import type { RunTimeEstimates } from '../run-time-estimates.js';
import type { Gangs } from './gangs.js';
import { KINDS, type Kind } from './kinds.js';
import type { Limits } from './limits.js';
import { STRETCH } from './order.js';
import type { Placement } from './placement.js';
import type { Precedence } from './precedence.js';
import type { Queue } from './queue.js';
import type { Starting } from './starting.js';
import type { UserShares } from './user-shares.js';
import type { Waiting } from './waiting.js';

/** Maximum number of needs examined for reservations. It is large because most of them fit somewhere. */
const CONTENDERS_MAX = 100;

/** Longest wait that counts as the cost of a reservation, in mean run times of the whole cluster: estimates may be false. */
const TURNS_MAX = 2;

/** The time as first of a stage whose user has less than its share, in times of the whole cluster that its reservation may cost. */
const OWED_STRETCH = 4;

/** Decides which stages that fit nowhere get a reservation, around which smaller tasks are backfilled. */
export class Backfill {
  readonly #waiting: Waiting;
  readonly #queue: Queue;
  readonly #limits: Limits;
  readonly #estimates: RunTimeEstimates;
  readonly #placement: Placement;
  readonly #free: FreeWorkers;
  readonly #reservations: Reservations;
  readonly #gangs: Gangs;
  readonly #starting: Starting;
  readonly #precedence: Precedence;
  readonly #shares: UserShares;
  /** The time since which a stage that fits nowhere has been the first of its user. */
  #firstSince: ReadonlyMap<StageView, Millis> = new Map();

  constructor(
    queue: Queue,
    placement: Placement,
    starting: Starting,
    precedence: Precedence,
    shares: UserShares,
  ) {
    this.#waiting = queue.waiting;
    this.#queue = queue;
    this.#limits = queue.limits;
    this.#estimates = queue.estimates;
    this.#placement = placement;
    this.#free = placement.free;
    this.#reservations = placement.reservations;
    this.#gangs = placement.gangs;
    this.#starting = starting;
    this.#precedence = precedence;
    this.#shares = shares;
  }

  /** Makes reservations for the first stages that fit nowhere, if they are worth the room that stays idle. */
  reserve(cluster: ClusterView, draft: Draft, now: Millis): void {
    this.#reservations.renew();
    this.#startReserved(draft, now);
    const kinds = KINDS.filter((kind) => this.#limits.mayReserve(kind, now));
    const stuck = this.#blockedStages(kinds, now);
    this.#updateFirst(stuck, kinds, now);
    if (stuck.length === 0) return;
    const workers = [...cluster.workers];
    for (const stage of stuck) {
      const candidates = gangSize(stage) > 1 ? workers : this.#placement.sampleOf(workers);
      const isNearLatest = this.#queue.isNearLatest(stage, now);
      if (!isNearLatest && !this.#mayBeWorthwhile(stage, candidates, now)) continue;
      const reservation = this.#reservations.placeFor(stage, candidates, now);
      if (reservation === undefined) continue;
      if (!isNearLatest && !this.#isWorthwhile(reservation, now)) continue;
      this.#reservations.add(reservation);
      draft.expect(stage.job, Math.max(now + 1, reservation.expectedAt), nameOf(reservation));
      draft.again(Math.max(now + 1, expiresAt(reservation)));
    }
  }

  /**
   * Starts gangs that had a reservation and fit now, before jobs that come earlier in the order: these would take part
   * of the room, and the rest of it would have been kept free for nothing.
   */
  #startReserved(draft: Draft, now: Millis): void {
    for (const stage of this.#reservations.stagesBefore) {
      const kind = gangSize(stage) > 1 ? this.#waiting.kindOf(stage) : undefined;
      if (kind !== undefined && this.#limits.mayRun(kind, now) && this.#precedence.has(stage.job))
        this.#starting.startTogether(stage, draft, now);
    }
  }

  /**
   * The first stages that fit nowhere and that have either waited longer than they will run, or must start soon to
   * meet their deadline.
   */
  #blockedStages(kinds: readonly Kind[], now: Millis): readonly StageView[] {
    const stuck: StageView[] = [];
    // If all needs are equal and no CPU is free, a reservation could only cover the next free slot anyway.
    if (this.#waiting.onlyNeeds?.together === 1 && this.#free.withCpu === 0) return stuck;
    // Parts of CPUs may stay free at all workers for ever, so tasks of one CPU need reservations, too.
    const contenders = this.#shares.hasFragments
      ? this.#waiting.firstOf(kinds, CONTENDERS_MAX)
      : this.#waiting.firstReservable(kinds, CONTENDERS_MAX);
    for (const { stage, needs } of contenders) {
      if (stuck.length === RESERVATIONS_MAX) break;
      if (!this.#hasWaited(stage, now) && !this.#queue.isNearLatest(stage, now)) continue;
      if (this.#reservations.of(stage) !== undefined || !this.#precedence.has(stage.job)) continue;
      if (needs.together > 1 ? this.#gangs.holds(stage) : !needs.isBlocked && this.#free.hasRoom(stage))
        continue;
      stuck.push(stage);
    }
    return stuck;
  }

  #updateFirst(stuck: readonly StageView[], kinds: readonly Kind[], now: Millis): void {
    const since = new Map<StageView, Millis>();
    for (const stage of stuck)
      if (this.#waiting.isFirst(stage, kinds)) since.set(stage, this.#firstSince.get(stage) ?? now);
    this.#firstSince = since;
  }

  /** Whether the stage has waited longer than it will run. */
  #hasWaited(stage: StageView, now: Millis): boolean {
    return now - stage.waitsSince >= this.#estimates.taskMs(stage, now);
  }

  /** Whether the stage has waited long enough for the room that stays idle. */
  #isWorthwhile({ stage, at, rooms }: Reservation, now: Millis): boolean {
    let idle = 0;
    for (const worker of rooms.keys()) idle += this.#idleAt(worker, stage);
    const { turnMs } = this.#shares;
    const most = turnMs === 0 ? Number.POSITIVE_INFINITY : TURNS_MAX * turnMs;
    return idle * Math.min(at - now, most) <= this.#worthOf(stage, now);
  }

  /** A quick test that only excludes reservations that are not worth it: they last for a millisecond or more. */
  #mayBeWorthwhile(stage: StageView, workers: readonly WorkerView[], now: Millis): boolean {
    if (this.#reservations.before(stage) !== undefined) return true;
    const most = this.#worthOf(stage, now);
    return workers.some((worker) => this.#idleAt(worker, stage) <= most || hasRoom(stage, worker));
  }

  /**
   * The time for which the whole cluster may stay idle for the stage, so that the delay of all waiting jobs together is at
   * most the time that it has waited. Jobs of users who are served after its user do not count: they use room beyond
   * their share. The first stage of a user is worth a part of its time as first, however many jobs wait; a larger part if the
   * user has less than its share.
   */
  #worthOf(stage: StageView, now: Millis): Millis {
    const waitedMs = now - stage.waitsSince;
    const firstMs = now - (this.#firstSince.get(stage) ?? now);
    const stretch = this.#isOwed(stage) ? OWED_STRETCH : STRETCH;
    return Math.max(waitedMs / this.#queue.jobsNotAfter(stage.job) ** 2, firstMs / stretch);
  }

  /** Whether the user has less than its share beside others, also with all but one of the tasks that start together. */
  #isOwed(stage: StageView): boolean {
    if (this.#waiting.users.size < 2) return false;
    const user = this.#waiting.userOf(stage.job);
    const others = (gangSize(stage) - 1) * this.#shares.shareOf(stage);
    return user.used + others < this.#shares.fairShareOf(user);
  }

  /** Upper bound of the share of the cluster that a reservation leaves idle there. */
  #idleAt({ free }: WorkerView, { demand }: StageView): number {
    return dominantShare(free.slice(0, demand.length), this.#queue.capacity);
  }
}

function nameOf({ rooms }: Reservation): string | undefined {
  return rooms.size > 1 ? `${rooms.size} workers` : undefined;
}
