import { Worker } from 'node:worker_threads';
import type { ClusterOutline, Forecast, Millis } from '@goshawk/core';

/** A longer computation is ended: the cluster is too large. */
const BUDGET_MS: Millis = 15_000;
const HEAP_MIB = 512;

/** Forecasts ends of jobs in a thread of low priority, which starts with the first forecast. */
export class ThreadedForecaster {
  readonly #failed: (reason: string) => void;
  #thread: Worker | undefined;
  #answer: ((forecast: Forecast) => void) | undefined;

  /** @param failed called for each computation that fails */
  constructor(failed: (reason: string) => void) {
    this.#failed = failed;
  }

  /** @param answer called once; without ends if the computation fails or takes too long */
  forecast(outline: ClusterOutline, answer: (forecast: Forecast) => void): void {
    const begin = performance.now();
    const give = (forecast: Forecast): void => {
      if (this.#answer !== give) return;
      this.#answer = undefined;
      clearTimeout(guard);
      answer(forecast);
    };
    const fail = (reason: string): void => {
      if (this.#answer !== give) return;
      this.#failed(reason);
      this.#end();
      give({ ends: new Map(), planned: [], tookMs: performance.now() - begin });
    };
    const guard = setTimeout(() => fail(`it took longer than ${BUDGET_MS / 1_000} s`), BUDGET_MS);
    guard.unref();
    this.#answer = give;
    this.#thread ??= this.#newThread();
    this.#thread.removeAllListeners();
    this.#thread.on('message', give);
    this.#thread.on('error', (error) => fail(error.message));
    this.#thread.on('exit', (code) => fail(`its thread exited with ${code}`));
    this.#thread.postMessage(outline);
  }

  /** Stops the thread; no answer is given. */
  close(): void {
    this.#answer = undefined;
    this.#end();
  }

  #newThread(): Worker {
    const thread = new Worker(new URL('./forecast-thread.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
    // An idle thread does not keep the process alive.
    thread.unref();
    return thread;
  }

  #end(): void {
    const thread = this.#thread;
    this.#thread = undefined;
    thread?.removeAllListeners();
    void thread?.terminate();
  }
}
