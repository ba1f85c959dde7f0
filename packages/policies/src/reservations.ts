import { addVector, drawIndex, fitsIn, type Millis, type Vector } from '@goshawk/core';
import type { RunView, StageView, WorkerView } from './contract.js';
import { fitsEver, gangSize, spreadRoom } from './fitting.js';
import { freedBy } from './loans.js';

/** Maximum number of reservations: one for each of the first stages that fit nowhere. */
export const RESERVATIONS_MAX = 8;

/** Number of workers considered for one reservation. */
const SAMPLE = 64;

/** Draws a random sample of workers if there are many. */
export function sampleOf(
  workers: readonly WorkerView[],
  source: { random(): number },
): readonly WorkerView[] {
  if (workers.length <= SAMPLE) return workers;
  return Array.from({ length: SAMPLE }, () => workers[drawIndex(source, workers.length)]!);
}

/** Resources reserved at one worker. */
interface Room {
  /** Demand of the reserved tasks. */
  readonly needed: Vector;
  /** Amount left beside them at the start of the reservation, which other tasks may use without a time limit. */
  readonly spare: number[];
}

/** A stage, or a whole gang, will start at these workers. */
export interface Reservation {
  readonly stage: StageView;
  /** When it was promised to start at the latest; other tasks may use the room until then. */
  readonly at: Millis;
  /** When it is expected to start now; later than promised if a task there exceeds its estimate. */
  readonly expectedAt: Millis;
  readonly rooms: ReadonlyMap<WorkerView, Room>;
  /** Whether the room was made by preempting other tasks. */
  readonly isForced: boolean;
}

/** The expected end of a run, which frees its demand. */
interface End {
  readonly at: Millis;
  readonly demand: Vector;
}

/** When runs are expected to end. */
export interface Ends {
  endOf(run: RunView, now: Millis): Millis;
  taskMs(stage: StageView, now: Millis): Millis;
}

/**
 * Reservations as in EASY backfilling: a stage that fits nowhere reserves the place where it will fit first. Other
 * tasks may run there if they end earlier or use only what will be left over.
 */
export class Reservations {
  readonly #ends: Ends;
  #all: Reservation[] = [];
  /** Reservations of the last plan, by stage. */
  readonly #before = new Map<StageView, Reservation>();
  readonly #at = new Map<WorkerView, Reservation>();
  /** Expected ends at each worker, until a task starts or the next plan. */
  readonly #endsAtWorkers = new Map<WorkerView, readonly End[]>();

  constructor(ends: Ends) {
    this.#ends = ends;
  }

  get all(): readonly Reservation[] {
    return this.#all;
  }

  get size(): number {
    return this.#all.length;
  }

  of(stage: StageView): Reservation | undefined {
    return this.#all.length === 0 ? undefined : this.#all.find((each) => each.stage === stage);
  }

  /** The reservation of the stage in the last plan. */
  before(stage: StageView): Reservation | undefined {
    return this.#before.get(stage);
  }

  /** Stages with a reservation in the last plan, in order. */
  get stagesBefore(): Iterable<StageView> {
    return this.#before.keys();
  }

  at(worker: WorkerView): Reservation | undefined {
    return this.#at.get(worker);
  }

  /** Whether room there is reserved for another stage, for which tasks were preempted. */
  isForcedAt(worker: WorkerView, stage: StageView): boolean {
    const reservation = this.#at.get(worker);
    return reservation?.isForced === true && reservation.stage !== stage;
  }

  add(reservation: Reservation): void {
    this.#all.push(reservation);
    for (const worker of reservation.rooms.keys()) this.#at.set(worker, reservation);
  }

  /**
   * Drops all reservations except forced ones. The plan makes them again, at their old places if possible.
   */
  renew(): void {
    // Most plans have a few reservations and few expected ends, and there is a plan for each end of a task.
    if (this.#endsAtWorkers.size > 0) this.#endsAtWorkers.clear();
    this.#before.clear();
    for (const each of this.#all) this.#before.set(each.stage, each);
    if (this.#all.length === 0) return;
    const kept = this.#all.filter(({ isForced }) => isForced);
    this.#all = [];
    this.#at.clear();
    for (const each of kept) this.add(each);
  }

  /** The worker accepts no tasks any more. A forced reservation there would never be used. */
  closed(worker: WorkerView): void {
    const reservation = this.#at.get(worker);
    if (reservation !== undefined) this.drop(reservation);
  }

  drop(reservation: Reservation): void {
    this.#all = this.#all.filter((each) => each !== reservation);
    for (const worker of reservation.rooms.keys())
      if (this.#at.get(worker) === reservation) this.#at.delete(worker);
  }

  /** Whether a task of the stage may start at the worker without delaying a reservation. */
  admits(stage: StageView, worker: WorkerView, now: Millis): boolean {
    if (this.#all.length === 0) return true;
    const reservation = this.#at.get(worker);
    if (reservation === undefined || reservation.stage === stage) return true;
    if (this.#endsBefore(stage, reservation, now)) return true;
    return fitsIn(stage.demand, reservation.rooms.get(worker)!.spare);
  }

  /** Room for tasks of the stage at the worker now. */
  roomFor(stage: StageView, worker: WorkerView, now: Millis): Vector {
    const reservation = this.#all.length === 0 ? undefined : this.#at.get(worker);
    if (reservation === undefined || reservation.stage === stage) return worker.free;
    if (this.#endsBefore(stage, reservation, now)) return worker.free;
    const { spare } = reservation.rooms.get(worker)!;
    return worker.free.map((amount, index) => Math.min(amount, spare[index] ?? 0));
  }

  /** A task has started at the worker. */
  started(stage: StageView, worker: WorkerView, now: Millis): void {
    this.#endsAtWorkers.delete(worker);
    const reservation = this.#all.length === 0 ? undefined : this.#at.get(worker);
    if (reservation === undefined || reservation.stage === stage) return;
    if (!this.#endsBefore(stage, reservation, now))
      addVector(reservation.rooms.get(worker)!.spare, stage.demand, -1);
  }

  /**
   * The reservation of a stage: the previous one if possible, otherwise where the stage will fit first. Estimates are
   * unreliable, and a place that moved with every plan would never become free.
   *
   * @param workers candidates
   */
  placeFor(stage: StageView, workers: readonly WorkerView[], now: Millis): Reservation | undefined {
    const before = this.#before.get(stage);
    const same = before && this.earliest(stage, [...before.rooms.keys()], now);
    if (same === undefined || now >= expiresAt(before!)) return this.earliest(stage, workers, now);
    // Keeps the promised time; otherwise a task that overruns its estimate would admit more of its kind.
    return { ...same, at: Math.min(same.at, before!.at) };
  }

  /**
   * The earliest reservation for all tasks of the stage that must start together, on workers without reservations.
   *
   * @param workers candidates
   * @returns undefined if it would never fit, as far as is known
   */
  earliest(stage: StageView, workers: readonly WorkerView[], now: Millis): Reservation | undefined {
    const together = gangSize(stage);
    const steps: { readonly at: Millis; readonly worker: WorkerView }[] = [];
    for (const worker of workers) {
      if (!worker.open || this.#at.has(worker) || !fitsEver(stage, worker)) continue;
      // The owner would decline this worker again, so the reservation would be useless.
      if (stage.declinedBy?.has(worker)) continue;
      for (const at of this.#timesOfRoom(stage, worker, together, now)) steps.push({ at, worker });
    }
    if (steps.length < together) return undefined;
    steps.sort((one, other) => one.at - other.at || one.worker.id - other.worker.id);
    const taken = stage.needs.spread === undefined ? steps.slice(0, together) : spreadOut(steps, stage);
    if (taken.length < together) return undefined;
    const { at } = taken[together - 1]!;
    const counts = new Map<WorkerView, number>();
    for (const { worker } of taken) counts.set(worker, (counts.get(worker) ?? 0) + 1);
    return { stage, at, expectedAt: at, rooms: this.#rooms(stage, counts, at, now), isForced: false };
  }

  /** Reserves room at these workers immediately, with a number of tasks for each. */
  forced(stage: StageView, counts: ReadonlyMap<WorkerView, number>, now: Millis): Reservation {
    this.#endsAtWorkers.clear();
    return { stage, at: now, expectedAt: now, rooms: this.#rooms(stage, counts, now, now), isForced: true };
  }

  #endsBefore(stage: StageView, { at }: Reservation, now: Millis): boolean {
    return now + this.#ends.taskMs(stage, now) <= at;
  }

  /** When the first, second, … task will fit there, up to `together` tasks. */
  #timesOfRoom(stage: StageView, worker: WorkerView, together: number, now: Millis): Millis[] {
    const free = [...worker.free];
    const times: Millis[] = [];
    const take = (at: Millis): void => {
      while (times.length < together && fitsIn(stage.demand, free)) {
        addVector(free, stage.demand, -1);
        times.push(at);
      }
    };
    take(now);
    if (times.length === together) return times;
    for (const { at, demand } of this.#endsAt(worker, now)) {
      addVector(free, demand, 1);
      take(at);
      if (times.length === together) break;
    }
    return times;
  }

  #endsAt(worker: WorkerView, now: Millis): readonly End[] {
    const known = this.#endsAtWorkers.get(worker);
    if (known !== undefined) return known;
    const ends: End[] = [];
    for (const run of worker.runs) {
      if (run.isQueued) continue;
      const at = run.isPreempted ? now : this.#ends.endOf(run, now);
      ends.push({ at, demand: freedBy(run) });
    }
    ends.sort((one, other) => one.at - other.at);
    this.#endsAtWorkers.set(worker, ends);
    return ends;
  }

  #rooms(
    stage: StageView,
    counts: ReadonlyMap<WorkerView, number>,
    at: Millis,
    now: Millis,
  ): ReadonlyMap<WorkerView, Room> {
    const rooms = new Map<WorkerView, Room>();
    for (const [worker, count] of counts) {
      const needed = stage.demand.map((amount) => amount * count);
      const spare = [...worker.free];
      for (const end of this.#endsAt(worker, now)) if (end.at <= at) addVector(spare, end.demand, 1);
      addVector(spare, needed, -1);
      rooms.set(worker, { needed, spare });
    }
    return rooms;
  }
}

/** The first of these times and workers for the tasks of a gang that spreads. */
function spreadOut<Step extends { readonly worker: WorkerView }>(
  steps: readonly Step[],
  stage: StageView,
): Step[] {
  const taken: Step[] = [];
  const chosen: WorkerView[] = [];
  for (const step of steps) {
    if (taken.length === gangSize(stage)) break;
    if (spreadRoom(stage, step.worker, chosen) === 0) continue;
    taken.push(step);
    chosen.push(step.worker);
  }
  return taken;
}

/**
 * The time at which a stage has waited twice as long as promised. It then gets a new place by current estimates, because
 * the tasks at the old place may hang.
 */
export function expiresAt({ stage, at }: Reservation): Millis {
  return at + (at - stage.waitsSince);
}
