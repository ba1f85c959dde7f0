import { CPU, drawIndex, ONE_CPU, SLOT, type Vector } from '@goshawk/core';
import type { StageView, WorkerView } from './contract.js';
import { fitsNow } from './fitting.js';

/** Number of random draws before all workers are examined. */
const TRIES = 8;
/** Number of workers from which the tightest fit is taken. */
const CANDIDATES = 32;

/** A set of workers with constant-time changes, from which one can be drawn at random. */
class WorkerList {
  readonly all: WorkerView[] = [];
  /** Position in the list by id; −1: not in the list. */
  readonly #places: number[] = [];

  /** Adds or removes the worker. */
  put(worker: WorkerView, isIn: boolean): void {
    const place = this.#places[worker.id] ?? -1;
    if (isIn === place >= 0) return;
    if (isIn) {
      this.#places[worker.id] = this.all.push(worker) - 1;
      return;
    }
    const last = this.all.pop()!;
    if (last !== worker) {
      this.all[place] = last;
      this.#places[last.id] = place;
    }
    this.#places[worker.id] = -1;
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

  /** Workers that may have room for a task of the stage, in no particular order. */
  for({ demand }: Pick<StageView, 'demand'>): readonly WorkerView[] {
    return ((demand[CPU] ?? 0) > 0 ? this.#withCpu : this.#open).all;
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
   * A worker with room for a task of the stage; undefined: none. A random one if the task requests nothing;
   * otherwise the tightest fit of a random sample, which leaves room for large tasks elsewhere.
   */
  find(
    stage: StageView,
    source: { random(): number },
    accepts: (worker: WorkerView) => boolean,
  ): WorkerView | undefined {
    const suits = (worker: WorkerView): boolean => fitsNow(stage, worker) && accepts(worker);
    const list = this.for(stage);
    return isDemanding(stage) ? tightest(list, source, suits) : anyOf(list, source, suits);
  }
}

type Source = { random(): number };
type Suits = (worker: WorkerView) => boolean;

function anyOf(list: readonly WorkerView[], source: Source, suits: Suits): WorkerView | undefined {
  for (let tries = 0; tries < TRIES && list.length > 0; tries++) {
    const worker = list[drawIndex(source, list.length)]!;
    if (suits(worker)) return worker;
  }
  const suitable = list.filter(suits);
  return suitable.length === 0 ? undefined : suitable[drawIndex(source, suitable.length)];
}

function tightest(list: readonly WorkerView[], source: Source, suits: Suits): WorkerView | undefined {
  const drawn: WorkerView[] = [];
  for (let tries = 0; tries < CANDIDATES && list.length > 0; tries++) {
    const worker = list[drawIndex(source, list.length)]!;
    if (suits(worker)) drawn.push(worker);
  }
  let best: WorkerView | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const worker of drawn.length > 0 ? drawn : list.filter(suits)) {
    const share = freeShare(worker.free, worker.capacity);
    if (share >= least) continue;
    best = worker;
    least = share;
  }
  return best;
}

/** Whether its tasks request anything. */
export function isDemanding({ demand }: Pick<StageView, 'demand'>): boolean {
  return demand !== ONE_CPU;
}

/** Sum of the free fractions of all resources. */
function freeShare(free: Vector, capacity: Vector): number {
  let share = 0;
  for (let index = 0; index < capacity.length; index++)
    if (capacity[index]! > 0) share += free[index]! / capacity[index]!;
  return share;
}
