import type { WorkerView } from '@goshawk/policies';
import { alignment, fitsNow } from '@goshawk/policies';
import type { StageState } from './jobs.js';

/**
 * Open workers, and a log of the workers whose room has grown. A stage that fit nowhere later tries only the
 * workers that were logged since.
 */
export class Rooms {
  /** Open workers, by id. */
  #open: WorkerView[] = [];
  /** Workers that got more room, in order; the first has number `#logStart`. */
  #log: WorkerView[] = [];
  #logStart = 0;

  get open(): readonly WorkerView[] {
    return this.#open;
  }

  opened(worker: WorkerView): void {
    this.closed(worker);
    const after = this.#open.findIndex((other) => other.id > worker.id);
    this.#open.splice(after < 0 ? this.#open.length : after, 0, worker);
    this.#log.push(worker);
  }

  closed(worker: WorkerView): void {
    this.#open = this.#open.filter((other) => other !== worker);
  }

  freed(worker: WorkerView): void {
    if (worker.open) this.#log.push(worker);
  }

  /** Clears the log when it is so long that trying all open workers is faster. */
  trim(): void {
    if (this.#log.length <= 4 * this.#open.length) return;
    this.#logStart += this.#log.length;
    this.#log = [];
  }

  hasRoom(stage: StageState): boolean {
    if (this.candidates(stage).some((worker) => worker.open && fitsNow(stage.view, worker))) return true;
    stage.searchedUpTo = this.#logStart + this.#log.length;
    return false;
  }

  /**
   * The worker with room that aligns best with the demand (Tetris); ties go to the one that joined first. Recently
   * declined workers come last.
   */
  best(stage: StageState): WorkerView | undefined {
    const { declinedBy, view } = stage;
    let best: WorkerView | undefined;
    let bestScore = Number.NEGATIVE_INFINITY;
    for (const worker of this.candidates(stage)) {
      if (!worker.open || !fitsNow(view, worker)) continue;
      const fit = alignment(view.demand, worker.free, worker.capacity);
      const score = declinedBy?.has(worker) === true ? fit - LAST : fit;
      if (score < bestScore || (score === bestScore && worker.id >= best!.id)) continue;
      best = worker;
      bestScore = score;
    }
    if (best === undefined) stage.searchedUpTo = this.#logStart + this.#log.length;
    return best;
  }

  /** All workers where a task of the stage may fit. */
  candidates(stage: StageState): readonly WorkerView[] {
    // The end of a task makes other workers with the same attribute eligible, which are not in the log.
    if (stage.view.needs.spread !== undefined) return this.#open;
    if (stage.searchedUpTo < this.#logStart) return this.#open;
    return stage.searchedUpTo === this.#logStart
      ? this.#log
      : this.#log.slice(stage.searchedUpTo - this.#logStart);
  }
}

/** More than any alignment, because each resource adds at most 1. */
const LAST = 1e6;
