import { drawIndex, type Millis, type Random } from '@goshawk/core';

/** Slow and failing workers. Plain data, which can be passed to threads. */
export interface Trouble {
  /** Speeds of the workers, in turn: a run takes its time divided by the speed of its worker. Default: 1. */
  readonly speeds?: readonly number[] | undefined;
  /** The share of all runs that are slow, and how many times as long these take. */
  readonly stragglers?: { readonly share: number; readonly times: number } | undefined;
  /** Mean time until a worker fails, exponentially distributed, and the time until it is back, without its tasks. */
  readonly failures?: { readonly everyMs: Millis; readonly downMs: Millis } | undefined;
}

/** Draws what happens to the workers of a cluster. */
export class TroubleSource {
  readonly #trouble: Trouble;
  readonly #workers: number;
  readonly #stragglers: Random;
  readonly #failures: Random;

  constructor(trouble: Trouble, workers: number, random: Random) {
    this.#trouble = trouble;
    this.#workers = workers;
    this.#stragglers = random.fork('stragglers');
    this.#failures = random.fork('failures');
  }

  /** Returns how long a run at a worker takes. */
  runMs(worker: number, ms: Millis): Millis {
    const { speeds, stragglers } = this.#trouble;
    const speed = speeds === undefined ? 1 : speeds[worker % speeds.length]!;
    const isSlow = stragglers !== undefined && this.#stragglers.next() < stragglers.share;
    return (ms / speed) * (isSlow ? stragglers.times : 1);
  }

  /**
   * Draws the next failure of the cluster: because failures have no memory, it is that of a random worker.
   *
   * @returns the time until then, its worker, and how long that is away; undefined if workers do not fail
   */
  nextFailure(): { readonly inMs: Millis; readonly worker: number; readonly downMs: Millis } | undefined {
    const { failures } = this.#trouble;
    if (failures === undefined || this.#workers === 0) return undefined;
    const inMs = (-Math.log(1 - this.#failures.next()) * failures.everyMs) / this.#workers;
    const worker = drawIndex({ random: () => this.#failures.next() }, this.#workers);
    return { inMs, worker, downMs: failures.downMs };
  }
}
