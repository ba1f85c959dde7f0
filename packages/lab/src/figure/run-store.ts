import type { FinishedRun } from '@goshawk/figures';
import type { RunRequest } from '../simulate/request.js';

/** What has been run so far: figures share runs, such as Hawk's at each size of the cluster. */
export class RunStore {
  readonly #finished = new Map<string, FinishedRun>();
  readonly #others = new Map<string, unknown>();

  /** Those that have not been run, each once. */
  missing(workload: string, requests: readonly RunRequest[]): RunRequest[] {
    const missing = new Map<string, RunRequest>();
    for (const request of requests) {
      const key = keyOf(workload, request);
      if (!this.#finished.has(key)) missing.set(key, request);
    }
    return [...missing.values()];
  }

  keep(workload: string, request: RunRequest, run: FinishedRun): void {
    this.#finished.set(keyOf(workload, request), run);
  }

  /** One that was kept. */
  finished(workload: string, request: RunRequest): FinishedRun {
    return this.#finished.get(keyOf(workload, request))!;
  }

  /** Anything else that is made once, by what it was made of. */
  async once<T>(parts: readonly unknown[], make: () => Promise<T>): Promise<T> {
    const key = JSON.stringify(parts);
    if (this.#others.has(key)) return this.#others.get(key) as T;
    const made = await make();
    this.#others.set(key, made);
    return made;
  }
}

/** A request is plain data that says all of a run. */
function keyOf(workload: string, request: RunRequest): string {
  return JSON.stringify([workload, request]);
}
