import type { Address, Millis } from '@goshawk/core';
import type { RunView } from '../policies/contract.js';
import type { DispatchedJob } from './waiting-room.js';

export interface DispatchedRun extends RunView {
  readonly job: DispatchedJob;
  readonly match: number;
  /** Its worker has heard of it. */
  isHeard: boolean;
}

/** What central has started and what, as far as it knows, has not ended: by worker and number of the match. */
export class Runs {
  readonly #byWorker = new Map<Address, Map<number, DispatchedRun>>();
  readonly #tagged: number[] = [];

  add(run: DispatchedRun): void {
    let there = this.#byWorker.get(run.worker);
    if (there === undefined) {
      there = new Map();
      this.#byWorker.set(run.worker, there);
    }
    there.set(run.match, run);
    run.job.started(run.startedAt);
    this.#tagged[run.tag] = this.tagged(run.tag) + 1;
  }

  tagged(tag: number): number {
    return this.#tagged[tag] ?? 0;
  }

  at(worker: Address): readonly DispatchedRun[] {
    const there = this.#byWorker.get(worker);
    return there === undefined || there.size === 0 ? NO_RUNS : [...there.values()];
  }

  *[Symbol.iterator](): Iterator<DispatchedRun> {
    for (const there of this.#byWorker.values()) yield* there.values();
  }

  /** Of the task's service only what it has had is its job's; of one that never started, none. */
  delete(run: DispatchedRun, wasStarted: boolean, now: Millis): void {
    const there = this.#byWorker.get(run.worker);
    if (!there?.delete(run.match)) return;
    if (there.size === 0) this.#byWorker.delete(run.worker);
    run.job.ended(run.startedAt, wasStarted ? now - run.startedAt : 0);
    this.#tagged[run.tag]!--;
  }

  /** @returns how many of each tag there are, counted anew */
  countTagged(): number[] {
    const counts: number[] = this.#tagged.map(() => 0);
    for (const { tag } of this) counts[tag]!++;
    return counts;
  }
}

const NO_RUNS: readonly DispatchedRun[] = [];
