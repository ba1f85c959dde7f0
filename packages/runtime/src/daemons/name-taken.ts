import { type Logger, ThrottledLog } from '@goshawk/transport';

const LOG_INTERVAL_MS = 60_000;

/** Central refuses a party whose name, or whose journal, another one has that is there. */
export class NameTaken {
  readonly #name: string;
  readonly #log: ThrottledLog;
  #problem: string | undefined;

  constructor(name: string, logger: Logger) {
    this.#name = name;
    this.#log = new ThrottledLog(logger, LOG_INTERVAL_MS);
  }

  /** What central has said last; it counts until the party has joined. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** @param tag of the journal, where the holder has that too */
  tell(holder: string, tag?: string): void {
    const line =
      tag === undefined
        ? 'another one has this name and was heard a moment ago: this one asks again; unless that one is just ending, give this one a name of its own'
        : 'another scheduler has this journal and was heard a moment ago, so one of the two has a copy: this one takes no jobs; end that one first, or start this one with a data folder of its own';
    this.#problem = `central refuses it: ${tag === undefined ? `the name ${this.#name}` : `the journal ${tag}`} is in use by ${holder}`;
    this.#log.warn('', 'nameTaken', line, { wanted: this.#name, holder, ...(tag !== undefined && { tag }) });
  }
}
