import type { Logger } from '@goshawk/transport';

/** Jobs that were told of and are remembered. */
const JOBS_MAX = 1_000;

/** Says in the log what tasks could not be started for: once for each job and reason, however many tasks it has. */
export class NotStarted {
  readonly #logger: Logger;
  readonly #told = new Set<string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(worker: string, job: string, reason: string): void {
    const line = `${worker} ${job} ${reason}`;
    if (this.#told.has(line)) return;
    this.#told.add(line);
    if (this.#told.size > JOBS_MAX) this.#told.delete(this.#told.values().next().value!);
    this.#logger.warn({ name: worker, job }, `a task could not be started: ${reason}`);
  }
}
