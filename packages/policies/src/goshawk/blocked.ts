import type { Millis } from '@goshawk/core';
import type { WorkerView } from '../contract.js';
import { mayFit } from '../fitting.js';
import type { QueuedUser, WaitingNeeds } from './kind-queues.js';
import { KINDS } from './kinds.js';
import type { Limits } from './limits.js';
import { CANDIDATES_MAX } from './placement.js';
import type { Waiting } from './waiting.js';

/** Decides when needs that fit nowhere are tried again: when some worker has more room than before. */
export class Blocked {
  readonly #waiting: Waiting;
  readonly #limits: Limits;
  /** Workers that have more room than at the last plan. */
  readonly #grown = new Set<WorkerView>();

  constructor(waiting: Waiting, limits: Limits) {
    this.#waiting = waiting;
    this.#limits = limits;
  }

  freed(worker: WorkerView): void {
    this.#grown.add(worker);
  }

  left(worker: WorkerView): void {
    this.#grown.delete(worker);
  }

  planEnds(): void {
    this.#grown.clear();
  }

  /**
   * Retries blocked needs on workers that have more room: the first hundred in order.
   *
   * @returns undefined if there are no more
   */
  retry(now: Millis): More | undefined {
    if (this.#grown.size === 0 || !this.#waiting.hasBlocked) return undefined;
    const mayRun = this.#limits.runnableKinds(now);
    const workers = [...this.#grown].filter(({ open }) => open);
    // The largest free amount of each resource at any of these workers.
    const room: number[] = [];
    for (const { free } of workers)
      for (const [index, amount] of free.entries()) room[index] = Math.max(room[index] ?? 0, amount);
    const fits = ({ of }: WaitingNeeds): boolean => workers.some((worker) => mayFit(of, worker));
    // The limit of a kind may rise without any change of room.
    const overLimit = KINDS.filter((kind) => !mayRun.includes(kind));
    const limited = this.#waiting.firstBlocked(overLimit, Number.POSITIVE_INFINITY, room, fits);
    const first = this.#waiting.firstBlocked(mayRun, CANDIDATES_MAX, room, fits);
    for (const { queues, needs } of [...limited.contenders, ...first.contenders])
      this.#waiting.open(queues, needs);
    return first.contenders.length === CANDIDATES_MAX ? { before: first.next } : undefined;
  }
}

/** More blocked needs may fit. */
export interface More {
  /** The first user in order without retried needs; undefined: every user had some. */
  readonly before: QueuedUser | undefined;
}
