import type { Run } from './contract.js';

/** A place in `LiveRuns`. */
export interface LiveRun {
  readonly run: Run;
  /** Index in the list. */
  place: number;
}

/**
 * The runs that have not ended, in no particular order. A `Set` would grow and shrink with every run, and V8 chains the
 * tables that it drops: once one is old, young garbage stays reachable from it until the next full collection.
 */
export class LiveRuns {
  readonly #live: LiveRun[] = [];

  get size(): number {
    return this.#live.length;
  }

  add(run: Run): LiveRun {
    const live = { run, place: this.#live.length };
    this.#live.push(live);
    return live;
  }

  /** Removes a run. Must be called once for each. */
  delete({ place }: LiveRun): void {
    const last = this.#live.pop()!;
    if (last.place === place) return;
    last.place = place;
    this.#live[place] = last;
  }

  /** All runs; runs may be deleted meanwhile. */
  all(): Run[] {
    return this.#live.map(({ run }) => run);
  }
}
