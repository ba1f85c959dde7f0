import type { Millis } from '@goshawk/core';
import type { Beliefs } from '../beliefs.js';
import type { ClusterView, Draft, PolicyContext, StageView } from '../contract.js';
import { togetherOf } from '../fitting.js';
import { type FreeWorkers, isDemanding } from '../free-workers.js';
import { RESERVATIONS_MAX, type Reservation, type Reservations, sampleOf } from '../reservations.js';
import type { Gangs } from './gangs.js';
import type { Limits } from './limits.js';
import type { WaitingNeeds } from './line.js';
import type { Queue } from './queue.js';
import type { Waiting } from './waiting.js';

/** Maximum number of needs considered for reservations, because most of them fit somewhere. */
const CONTENDERS_MAX = 100;

/** Decides which stages that fit nowhere get a reservation, around which smaller tasks are backfilled. */
export class Backfill {
  readonly #waiting: Waiting;
  readonly #queue: Queue;
  readonly #limits: Limits;
  readonly #beliefs: Beliefs;
  readonly #free: FreeWorkers;
  readonly #reservations: Reservations;
  readonly #gangs: Gangs;
  readonly #context: PolicyContext;

  constructor(
    waiting: Waiting,
    queue: Queue,
    limits: Limits,
    beliefs: Beliefs,
    free: FreeWorkers,
    reservations: Reservations,
    gangs: Gangs,
    context: PolicyContext,
  ) {
    this.#waiting = waiting;
    this.#queue = queue;
    this.#limits = limits;
    this.#beliefs = beliefs;
    this.#free = free;
    this.#reservations = reservations;
    this.#gangs = gangs;
    this.#context = context;
  }

  /** Makes reservations for the first stages that fit nowhere, if they are worth the room that stays idle. */
  reserve(cluster: ClusterView, draft: Draft, now: Millis): void {
    this.#reservations.renew();
    const stuck = this.#stuck(now);
    if (stuck.length === 0) return;
    const workers = [...cluster.workers];
    for (const stage of stuck) {
      const reservation = this.#reservations.placeFor(
        stage,
        togetherOf(stage) > 1 ? workers : sampleOf(workers, this.#context),
        now,
      );
      if (reservation === undefined) continue;
      if (!this.#queue.isNearLatest(stage, now) && !this.#isWorth(reservation, now)) continue;
      this.#reservations.add(reservation);
      draft.expect(stage.job, Math.max(now + 1, reservation.at), nameOf(reservation));
    }
  }

  /**
   * The first stages that fit nowhere and that have either waited longer than they will run, or must start soon to
   * meet their deadline.
   */
  #stuck(now: Millis): readonly StageView[] {
    const stuck: StageView[] = [];
    // If all needs are equal and no CPU is free, a reservation could only cover the next free slot anyway.
    const isPlain = this.#waiting.needs.size === 1 && this.#free.withCpu === 0;
    const mayReserve = (needs: WaitingNeeds): boolean =>
      needs.together > 1 || (!isPlain && isDemanding(needs.of));
    if (!this.#waiting.hasNeeds(mayReserve)) return stuck;
    const kinds = this.#limits.runnableKinds(now);
    for (const { stage, needs } of this.#waiting.firstOfNeeds(kinds, CONTENDERS_MAX, mayReserve)) {
      if (stuck.length === RESERVATIONS_MAX) break;
      if (!this.#hasWaited(stage, now) && !this.#queue.isNearLatest(stage, now)) continue;
      if (this.#reservations.of(stage) !== undefined) continue;
      if (needs.together > 1 ? this.#gangs.holds(stage) : !needs.isBlocked && this.#free.hasRoom(stage))
        continue;
      stuck.push(stage);
    }
    return stuck;
  }

  /** Whether the stage has waited longer than it will run. */
  #hasWaited(stage: StageView, now: Millis): boolean {
    return now - stage.waitsSince >= this.#beliefs.taskMs(stage, now);
  }

  /** Whether the stage has waited longer than the idle room would delay all waiting jobs together. */
  #isWorth(reservation: Reservation, now: Millis): boolean {
    const { stage, at } = reservation;
    const idle = this.#reservations.idleShare(reservation, this.#queue.capacity);
    return now - stage.waitsSince >= this.#queue.size ** 2 * idle * (at - now);
  }
}

function nameOf({ rooms }: Reservation): string | undefined {
  return rooms.size > 1 ? `${rooms.size} workers` : undefined;
}
