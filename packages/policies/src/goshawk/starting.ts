import type { Millis } from '@goshawk/core';
import type { Draft, RunView, StageView, WorkerView } from '../contract.js';
import type { FreeWorkers } from '../free-workers.js';
import type { Reservations } from '../reservations.js';
import type { Gangs } from './gangs.js';
import type { Queue } from './queue.js';

/** Starts tasks through the draft and updates what depends on it: free workers, reservations, order and counts. */
export class Starting {
  readonly #free: FreeWorkers;
  readonly #reservations: Reservations;
  readonly #queue: Queue;
  readonly #gangs: Gangs;
  readonly #entered: (run: RunView, now: Millis) => void;
  #count = 0;

  /** @param entered receives each run that has started */
  constructor(
    free: FreeWorkers,
    reservations: Reservations,
    queue: Queue,
    gangs: Gangs,
    entered: (run: RunView, now: Millis) => void,
  ) {
    this.#free = free;
    this.#reservations = reservations;
    this.#queue = queue;
    this.#gangs = gangs;
    this.#entered = entered;
  }

  /** Number of starts of tasks and gangs. */
  get count(): number {
    return this.#count;
  }

  /** @returns false if the start was refused */
  start(stage: StageView, worker: WorkerView, draft: Draft, now: Millis): boolean {
    const run = draft.start(stage, worker);
    this.#free.update(worker);
    if (run === undefined) return false;
    this.#reservations.started(stage, worker, now);
    this.#entered(run, now);
    this.#started(stage, now);
    return true;
  }

  /** Starts all tasks of a gang. @returns whether they fit */
  startTogether(stage: StageView, draft: Draft, now: Millis): boolean {
    const workers = this.#gangs.workersFor(stage, this.#queue.needsPreferred(stage, now), now);
    const runs = workers && draft.gang(workers.map((worker) => ({ stage, worker })));
    if (runs === undefined) return false;
    for (const run of runs) {
      this.#free.update(run.worker);
      this.#reservations.started(stage, run.worker, now);
      this.#entered(run, now);
    }
    this.#started(stage, now);
    return true;
  }

  #started(stage: StageView, now: Millis): void {
    this.#count++;
    this.#queue.started(stage, now);
  }
}
