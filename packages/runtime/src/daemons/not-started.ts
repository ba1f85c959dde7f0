import type { Logger } from '@goshawk/transport';

/** Maximum number of logged lines to store, to avoid duplicates. */
const JOBS_MAX = 1_000;

/** Logs why tasks could not be started: once for each job and reason. */
export class NotStarted {
  readonly #logger: Logger;
  readonly #logged = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  report(worker: string, job: string, reason: string): void {
    const line = `${worker} ${job} ${reason}`;
    if (this.#logged.has(line)) return;
    this.#logged.add(line);
    if (this.#logged.size > JOBS_MAX) this.#logged.delete(this.#logged.values().next().value!);
    this.#logger.warn({ worker, job }, `a task could not be started: ${reason}`);
  }
}
