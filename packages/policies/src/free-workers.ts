import { CPU, drawIndex, fitsIn, ONE_CPU, SLOT, type Vector } from '@goshawk/core';
import { isCounted } from './amounts.js';
import type { StageView, WorkerView } from './contract.js';
import { fitsNow } from './fitting.js';

/** Number of random draws before all workers are examined. */
const TRIES = 8;
/** Number of workers from which the tightest fit is taken. */
const CANDIDATES = 32;

/** Number of neighbors in the list whose free amounts are summarized. */
const CHUNK = 32;

/**
 * A set of workers with constant-time changes, from which one can be drawn at random. It summarizes the free amounts
 * of neighbors, so that a search skips most workers without room.
 */
class WorkerList {
  readonly all: WorkerView[] = [];
  /** The most that any worker of each chunk has free; undefined: unknown after a change. */
  readonly #maxFree: (readonly number[] | undefined)[] = [];
  /** Position in the list by id; −1: not in the list. */
  readonly #places: number[] = [];

  /** Adds, updates or removes the worker. */
  put(worker: WorkerView, isIn: boolean): void {
    const place = this.#places[worker.id] ?? -1;
    if (place >= 0) this.#maxFree[Math.floor(place / CHUNK)] = undefined;
    if (isIn === place >= 0) return;
    if (isIn) {
      this.#places[worker.id] = this.all.push(worker) - 1;
      this.#maxFree[Math.floor((this.all.length - 1) / CHUNK)] = undefined;
      return;
    }
    const last = this.all.pop()!;
    this.#maxFree[Math.floor(this.all.length / CHUNK)] = undefined;
    if (last !== worker) {
      this.all[place] = last;
      this.#places[last.id] = place;
    }
    this.#places[worker.id] = -1;
  }

  /** Workers that may have room for the demand, in order: all that have it, and some that do not. */
  *mayHaveRoom(demand: Vector): Iterable<WorkerView> {
    for (let chunk = 0; chunk * CHUNK < this.all.length; chunk++) {
      if (fitsIn(demand, this.#maxFreeIn(chunk))) yield* this.all.slice(chunk * CHUNK, (chunk + 1) * CHUNK);
    }
  }

  /** Whether some worker may have room for the demand. */
  mayFit(demand: Vector): boolean {
    for (let chunk = 0; chunk * CHUNK < this.all.length; chunk++)
      if (fitsIn(demand, this.#maxFreeIn(chunk))) return true;
    return false;
  }

  #maxFreeIn(chunk: number): readonly number[] {
    const known = this.#maxFree[chunk];
    if (known !== undefined) return known;
    const most: number[] = [];
    this.#maxFree[chunk] = most;
    const end = Math.min(this.all.length, (chunk + 1) * CHUNK);
    for (let at = chunk * CHUNK; at < end; at++) {
      const { free } = this.all[at]!;
      for (let index = 0; index < free.length; index++)
        if (!(free[index]! <= most[index]!)) most[index] = free[index]!;
    }
    return most;
  }
}

/** The open workers with a free slot, from which one can be drawn at random. */
export class FreeWorkers {
  readonly #open = new WorkerList();
  /** Open workers with a free part of a CPU. The others have slots only for tasks that take none. */
  readonly #withCpu = new WorkerList();
  /** Free slots by id. */
  readonly #slotsOf: number[] = [];
  readonly #unitsIn: (worker: WorkerView) => number;
  /** Free amounts by id and in total, in units. */
  readonly #unitsOf: number[] = [];
  #units = 0;

  /** @param unitsIn counts the free units of a worker; default: slots */
  constructor(unitsIn: (worker: WorkerView) => number = ({ free }) => free[SLOT]!) {
    this.#unitsIn = unitsIn;
  }

  get size(): number {
    return this.#open.all.length;
  }

  /** Number of workers with a free part of a CPU. */
  get withCpu(): number {
    return this.#withCpu.all.length;
  }

  get units(): number {
    return this.#units;
  }

  /** Workers that may have room for such a task, in no particular order. */
  for({ demand }: Pick<StageView, 'demand'>): Iterable<WorkerView> {
    return this.#listFor(demand).mayHaveRoom(demand);
  }

  #listFor(demand: Vector): WorkerList {
    return (demand[CPU] ?? 0) > 0 ? this.#withCpu : this.#open;
  }

  /** Whether some worker has room for a task of the stage. */
  hasRoom(stage: StageView): boolean {
    for (const worker of this.for(stage)) if (fitsNow(stage, worker)) return true;
    return false;
  }

  has(worker: WorkerView): boolean {
    return (this.#slotsOf[worker.id] ?? 0) > 0;
  }

  /** Adds, updates or removes the worker, depending on its free slots. */
  update(worker: WorkerView): void {
    const slots = worker.open ? Math.max(0, worker.free[SLOT]!) : 0;
    this.#slotsOf[worker.id] = slots;
    const units = worker.open ? Math.max(0, this.#unitsIn(worker)) : 0;
    this.#units += units - (this.#unitsOf[worker.id] ?? 0);
    this.#unitsOf[worker.id] = units;
    this.#open.put(worker, slots > 0);
    this.#withCpu.put(worker, slots > 0 && (worker.free[CPU] ?? 0) > 0);
  }

  /**
   * Returns a worker with room for a task of the stage, or undefined. It is random if the task requests nothing.
   * Otherwise it is the worker of a random sample with the least free capacity, relative to the cluster. That leaves
   * large workers and rare resources to the tasks that need them.
   *
   * @param capacity of the cluster
   */
  find(
    stage: StageView,
    capacity: Vector,
    source: { random(): number },
    accepts: (worker: WorkerView) => boolean,
  ): WorkerView | undefined {
    const suits = (worker: WorkerView): boolean => fitsNow(stage, worker) && accepts(worker);
    const { demand } = stage;
    const list = this.#listFor(demand);
    return isDemanding(stage)
      ? tightestFit(list, demand, capacity, source, suits)
      : anyOf(list, demand, source, suits);
  }
}

type Source = { random(): number };
type WorkerFilter = (worker: WorkerView) => boolean;

function anyOf(
  list: WorkerList,
  demand: Vector,
  source: Source,
  suits: WorkerFilter,
): WorkerView | undefined {
  const { all } = list;
  for (let tries = 0; tries < TRIES && all.length > 0; tries++) {
    const worker = all[drawIndex(source, all.length)]!;
    if (suits(worker)) return worker;
  }
  const suitable = suitableIn(list, demand, suits);
  return suitable.length === 0 ? undefined : suitable[drawIndex(source, suitable.length)];
}

function tightestFit(
  list: WorkerList,
  demand: Vector,
  capacity: Vector,
  source: Source,
  suits: WorkerFilter,
): WorkerView | undefined {
  const { all } = list;
  const drawn: WorkerView[] = [];
  const mayFit = list.mayFit(demand);
  for (let tries = 0; tries < CANDIDATES && all.length > 0; tries++) {
    // Draw even if no worker can suit, so that later draws do not depend on it.
    const worker = all[drawIndex(source, all.length)]!;
    if (mayFit && suits(worker)) drawn.push(worker);
  }
  let best: WorkerView | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const worker of drawn.length > 0 ? drawn : suitableIn(list, demand, suits)) {
    const share = freeShare(worker.free, capacity);
    if (share >= least) continue;
    best = worker;
    least = share;
  }
  return best;
}

function suitableIn(list: WorkerList, demand: Vector, suits: WorkerFilter): WorkerView[] {
  const suitable: WorkerView[] = [];
  for (const worker of list.mayHaveRoom(demand)) if (suits(worker)) suitable.push(worker);
  return suitable;
}

/** Whether its tasks request anything. */
export function isDemanding({ demand }: Pick<StageView, 'demand'>): boolean {
  return demand !== ONE_CPU;
}

/** Sum of the free amounts of all resources, as shares of the cluster. */
function freeShare(free: Vector, capacity: Vector): number {
  let share = 0;
  for (let index = 0; index < free.length; index++) {
    const total = capacity[index] ?? 0;
    if (isCounted(total)) share += free[index]! / total;
  }
  return share;
}
