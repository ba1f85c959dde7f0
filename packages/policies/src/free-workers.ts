import { drawIndex, ONE_CPU, SLOT, type Vector } from '@goshawk/core';
import type { StageView, WorkerView } from './contract.js';
import { fitsNow } from './fitting.js';

/** Number of random draws before all workers are examined. */
const TRIES = 8;
/** Number of workers from which the tightest fit is taken. */
const CANDIDATES = 32;

/** The open workers with a free slot, from which one can be drawn at random. */
export class FreeWorkers {
  readonly #list: WorkerView[] = [];
  /** Position in the list by id; −1: not in the list. */
  readonly #places: number[] = [];
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
    return this.#list.length;
  }

  get units(): number {
    return this.#units;
  }

  /** In no particular order. */
  get all(): readonly WorkerView[] {
    return this.#list;
  }

  has(worker: WorkerView): boolean {
    return (this.#slotsOf[worker.id] ?? 0) > 0;
  }

  /** Adds, updates or removes the worker, depending on its free slots. */
  update(worker: WorkerView): void {
    const place = this.#places[worker.id] ?? -1;
    const slots = worker.open ? Math.max(0, worker.free[SLOT]!) : 0;
    this.#slotsOf[worker.id] = slots;
    const units = worker.open ? Math.max(0, this.#unitsIn(worker)) : 0;
    this.#units += units - (this.#unitsOf[worker.id] ?? 0);
    this.#unitsOf[worker.id] = units;
    const isFree = slots > 0;
    if (isFree === place >= 0) return;
    if (isFree) {
      this.#places[worker.id] = this.#list.push(worker) - 1;
      return;
    }
    const last = this.#list.pop()!;
    if (last !== worker) {
      this.#list[place] = last;
      this.#places[last.id] = place;
    }
    this.#places[worker.id] = -1;
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
    return isDemanding(stage) ? this.#tightest(source, suits) : this.#any(source, suits);
  }

  #any(source: { random(): number }, suits: (worker: WorkerView) => boolean): WorkerView | undefined {
    const list = this.#list;
    for (let tries = 0; tries < TRIES && list.length > 0; tries++) {
      const worker = list[drawIndex(source, list.length)]!;
      if (suits(worker)) return worker;
    }
    const suitable = list.filter(suits);
    return suitable.length === 0 ? undefined : suitable[drawIndex(source, suitable.length)];
  }

  #tightest(source: { random(): number }, suits: (worker: WorkerView) => boolean): WorkerView | undefined {
    const list = this.#list;
    const drawn: WorkerView[] = [];
    for (let tries = 0; tries < CANDIDATES && list.length > 0; tries++) {
      const worker = list[drawIndex(source, list.length)]!;
      if (suits(worker)) drawn.push(worker);
    }
    let tightest: WorkerView | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const worker of drawn.length > 0 ? drawn : list.filter(suits)) {
      const share = freeShare(worker.free, worker.capacity);
      if (share >= least) continue;
      tightest = worker;
      least = share;
    }
    return tightest;
  }
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
