import type { Logger } from '@goshawk/transport';

/** Lines that are remembered, so that none is written twice. */
const JOBS_MAX = 1_000;

/** Says in the log what tasks could not be started for: once for each job and reason, however many tasks it has. */
export class NotStarted {
  readonly #logger: Logger;
  readonly #logged = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(worker: string, job: string, reason: string): void {
    const line = `${worker} ${job} ${reason}`;
    if (this.#logged.has(line)) return;
    this.#logged.add(line);
    if (this.#logged.size > JOBS_MAX) this.#logged.delete(this.#logged.values().next().value!);
    this.#logger.warn({ worker, job }, `a task could not be started: ${reason}`);
  }
}
