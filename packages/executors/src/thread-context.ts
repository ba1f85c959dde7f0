import { BroadcastChannel } from 'node:worker_threads';
import type { TaskContext } from '@goshawk/core';
import type { ThreadOrder } from './module-protocol.js';

/** Between two lines of progress. ms */
const PROGRESS_MS = 1_000;

/** The second argument of a module's function. */
export class ThreadContext implements TaskContext<AbortSignal> {
  readonly job: string;
  readonly index: number;
  readonly attempt: number;
  readonly gpus: readonly string[];
  readonly #order: ThreadOrder;
  readonly #listens: () => void;
  #abort: AbortController | undefined;
  #kills: BroadcastChannel | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;

  /** @param listens says that the signal is looked at, and the end of the thread may wait for it */
  constructor(order: ThreadOrder, listens: () => void) {
    const { GOSHAWK_JOB = '', GOSHAWK_TASK = '0', GOSHAWK_ATTEMPT = '1', GOSHAWK_GPUS = '' } = order.env;
    this.job = GOSHAWK_JOB;
    this.index = Number(GOSHAWK_TASK);
    this.attempt = Number(GOSHAWK_ATTEMPT);
    this.gpus = GOSHAWK_GPUS === '' ? [] : GOSHAWK_GPUS.split(',');
    this.#order = order;
    this.#listens = listens;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController();
      this.#abort = abort;
      this.#kills = new BroadcastChannel(this.#order.kills);
      this.#kills.onmessage = (event) => {
        const { run, reason } = (event as { data: { run: number; reason: string } }).data;
        if (run === this.#order.run) abort.abort(new Error(`the task is to end: ${reason}`));
      };
      this.#kills.unref();
      this.#listens();
    }
    return this.#abort.signal;
  }

  readonly log = (line: string): void => {
    process.stdout.write(`${line}\n`);
  };

  readonly progress = (done: number, total: number): void => {
    const now = performance.now();
    if (done < total && now - this.#reportedAt < PROGRESS_MS) return;
    this.#reportedAt = now;
    process.stderr.write(`${done} of ${total} (${total > 0 ? Math.floor((100 * done) / total) : 100}%)\n`);
  };

  close(): void {
    this.#kills?.close();
  }
}
