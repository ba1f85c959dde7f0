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
  report(holder: string, tag?: string, needsTakeover = false): void {
    if (needsTakeover) return this.#reportCopy(holder, tag!);
    const line =
      tag === undefined
        ? 'another process uses this name and was active a moment ago: retrying; unless that process is just exiting, give this one a different name'
        : 'another scheduler uses this journal and was active a moment ago, so one of the two has a copy: this one accepts no jobs; stop that one first, or start this one with a separate data folder';
    this.#problem = `central refuses it: ${tag === undefined ? `the name ${this.#name}` : `the journal ${tag}`} is in use by ${holder}`;
    this.#log.warn('', 'nameTaken', line, { wanted: this.#name, holder, ...(tag !== undefined && { tag }) });
  }

  /** @param holder the scheduler with the original; empty if central knows none */
  #reportCopy(holder: string, tag: string): void {
    const original = holder === '' ? 'its original' : `its original, used by ${holder},`;
    this.#problem = `central refuses it: the data folder is a copy, and nothing proves that ${original} has ended; \`goshawk takeover ${this.#name}\` lets the copy continue`;
    this.#log.warn(
      '',
      'copy',
      `this data folder is a copy, and nothing proves that ${original} has ended: this scheduler accepts and runs no jobs; stop it, or if the original is gone for good, run \`goshawk takeover ${this.#name}\``,
      { wanted: this.#name, holder, tag },
    );
  }
}
