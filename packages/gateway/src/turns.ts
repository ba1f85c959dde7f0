import { LIMITS } from './limits.js';

interface Line {
  running: number;
  /** Begin the requests that wait, oldest first. */
  readonly waiting: Set<() => void>;
}

/**
 * Limits how many reads of one token run at once, if there are several tokens; more of them wait for that token's own. All
 * tokens share one thread here and, as one client, the query budget of each scheduler.
 */
export class Turns {
  readonly #atOnceMax: number;
  readonly #lines = new Map<string, Line>();

  /** @param tokens number of tokens; the reads of a single token delay nobody else's */
  constructor(tokens: number) {
    this.#atOnceMax = tokens > 1 ? LIMITS.readsPerTokenMax : Number.POSITIVE_INFINITY;
  }

  /**
   * Runs a read when it is its turn.
   *
   * @param token identifies the token of the request
   * @param signal aborted when the client disconnects, after which a read that waits never runs
   */
  async take<T>(token: string, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(token) ?? { running: 0, waiting: new Set() };
    this.#lines.set(token, line);
    if (line.running < this.#atOnceMax) line.running++;
    else await turnIn(line, signal);
    try {
      return await read();
    } finally {
      const [next] = line.waiting;
      if (next === undefined) line.running--;
      else next();
    }
  }
}

function turnIn({ waiting }: Line, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      waiting.delete(begin);
      reject(signal.reason);
    };
    const begin = (): void => {
      waiting.delete(begin);
      signal.removeEventListener('abort', leave);
      resolve();
    };
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave);
    waiting.add(begin);
  });
}
