interface Line {
  running: number;
  /** Begin the work that waits, oldest first. */
  readonly waiting: Set<() => void>;
}

/** Runs a piece of work when it is the turn of its token. */
export type TakeTurn = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Limits how much work of one token is in progress at once, if there are several tokens; more of it waits for that token's own.
 * All tokens share one thread here and, as one client, the query budget of each scheduler.
 */
export class Turns {
  readonly #atOnceMax: number;
  readonly #lines = new Map<string, Line>();

  /** @param tokens number of tokens; the work of a single token delays nobody else's */
  constructor(tokens: number, atOnceMax: number) {
    this.#atOnceMax = tokens > 1 ? atOnceMax : Number.POSITIVE_INFINITY;
  }

  /**
   * Runs work when it is its turn. The thread serves all others once before the next work of the token begins.
   *
   * @param token identifies the token of the request
   * @param signal aborted when the client disconnects, after which work that waits never runs
   */
  async take<T>(token: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    if (this.#atOnceMax === Number.POSITIVE_INFINITY) return work();
    const line = this.#lines.get(token) ?? { running: 0, waiting: new Set() };
    this.#lines.set(token, line);
    if (line.running < this.#atOnceMax) line.running++;
    else await turnIn(line, signal);
    try {
      return await work();
    } finally {
      setImmediate(() => {
        const [next] = line.waiting;
        if (next === undefined) line.running--;
        else next();
      });
    }
  }
}

function turnIn({ waiting }: Line, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      waiting.delete(begin);
      reject(signal?.reason);
    };
    const begin = (): void => {
      waiting.delete(begin);
      signal?.removeEventListener('abort', leave);
      resolve();
    };
    if (signal?.aborted) return leave();
    signal?.addEventListener('abort', leave);
    waiting.add(begin);
  });
}
