import type { Logger } from '@goshawk/transport';

/** Maximum number of lines of one kind per window; a line at its end counts the rest. */
const LINES_MAX = 20;
const WINDOW_MS = 10_000;

interface Window {
  readonly since: number;
  lines: number;
  suppressed: number;
}

/** Logs events at level info, with a rate limit per kind. */
export class EventLog {
  readonly #logger: Logger;
  readonly #clock: () => number;
  readonly #windows = new Map<string, Window>();

  /** @param clock monotonic, ms */
  constructor(logger: Logger, clock: () => number = () => performance.now()) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** @param kind from a closed list; the field `event` of the line */
  report(kind: string, fields: object, message: string, level: 'info' | 'warn' = 'info'): void {
    const window = this.#window(kind);
    if (window.lines < LINES_MAX) {
      window.lines++;
      this.#logger[level]({ event: kind, ...fields }, message);
      return;
    }
    if (++window.suppressed === 1) setTimeout(() => this.#window(kind), WINDOW_MS).unref();
  }

  /** Returns the current window. Reports the lines that the previous one suppressed. */
  #window(kind: string): Window {
    const now = this.#clock();
    const known = this.#windows.get(kind);
    if (known !== undefined && now - known.since < WINDOW_MS) return known;
    if (known !== undefined && known.suppressed > 0)
      this.#logger.info(
        { event: kind, heldBack: known.suppressed },
        `${known.suppressed} more lines of ${kind} were suppressed within ${WINDOW_MS / 1_000} s; --log-level debug does not show them`,
      );
    const window = { since: now, lines: 0, suppressed: 0 };
    this.#windows.set(kind, window);
    return window;
  }
}
