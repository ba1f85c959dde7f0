import { type Logger, ThrottledLog } from '@goshawk/transport';

const LOG_INTERVAL_MS = 60_000;

/** Handles central's refusal of a party whose name or journal belongs to another live party. */
export class NameTaken {
  readonly #name: string;
  readonly #log: ThrottledLog;
  #problem: string | undefined;

  constructor(name: string, logger: Logger) {
    this.#name = name;
    this.#log = new ThrottledLog(logger, LOG_INTERVAL_MS);
  }

  /** Central's last refusal; valid until the party joins. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Logs a refusal. @param tag tag of this party's journal, if the holder owns it, too */
  report(holder: string, tag?: string): void {
    const line =
      tag === undefined
        ? 'another process uses this name and was active a moment ago: retrying; unless that process is just exiting, give this one a different name'
        : 'another scheduler uses this journal and was active a moment ago, so one of the two has a copy: this one accepts no jobs; stop that one first, or start this one with a separate data folder';
    this.#problem = `central refuses it: ${tag === undefined ? `the name ${this.#name}` : `the journal ${tag}`} is in use by ${holder}`;
    this.#log.warn('', 'nameTaken', line, { wanted: this.#name, holder, ...(tag !== undefined && { tag }) });
  }
}
