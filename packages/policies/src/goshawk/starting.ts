import type { Millis } from '@goshawk/core';
import type { Draft, Loan, RunView, StageView, WorkerView } from '../contract.js';
import type { Placement } from './placement.js';
import type { Queue } from './queue.js';

/** Starts tasks through the draft and updates what depends on it: free workers, reservations, order and counts. */
export class Starting {
  readonly #queue: Queue;
  readonly #placement: Placement;
  readonly #entered: (run: RunView, now: Millis) => void;
  #count = 0;

  /** @param entered receives each run that has started */
  constructor(queue: Queue, placement: Placement, entered: (run: RunView, now: Millis) => void) {
    this.#queue = queue;
    this.#placement = placement;
    this.#entered = entered;
  }

  /** Number of starts of tasks and gangs. */
  get count(): number {
    return this.#count;
  }

  /** @returns false if the start was refused */
  start(stage: StageView, worker: WorkerView, draft: Draft, now: Millis, loan?: Loan): boolean {
    const run = draft.start(stage, worker, loan);
    if (run === undefined) {
      this.#placement.free.update(worker);
      return false;
    }
    this.#placement.started(run, now);
    this.#entered(run, now);
    this.#started(stage, now);
    return true;
  }

  /** Starts all tasks of a gang. @returns whether they fit */
  startTogether(stage: StageView, draft: Draft, now: Millis): boolean {
    const workers = this.#placement.gangs.workersFor(stage, this.#queue.needsPreferred(stage, now), now);
    const runs = workers && draft.gang(workers.map((worker) => ({ stage, worker })));
    if (runs === undefined) return false;
    for (const run of runs) {
      this.#placement.started(run, now);
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
