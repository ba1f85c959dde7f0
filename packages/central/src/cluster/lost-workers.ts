import { LOST_WORKERS_MAX, LOST_WORKERS_MS, type LostWorker, type Millis, setLatest } from '@goshawk/core';

type Lost = Omit<LostWorker, 'lostMsAgo'> & { readonly at: Millis };

/** Recently lost workers that have not returned. */
export class LostWorkers {
  /** By name, in order of loss. */
  readonly #byName = new Map<string, Lost>();

  add(lost: Lost): void {
    setLatest(this.#byName, lost.name, lost, LOST_WORKERS_MAX);
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** Adds to the cause of a loss, unless a later process with the same name was lost, too. */
  explain(name: string, address: string, why: string): void {
    const lost = this.#byName.get(name);
    if (lost?.address === address) this.#byName.set(name, { ...lost, cause: `${lost.cause}; ${why}` });
  }

  returned(name: string): void {
    this.#byName.delete(name);
  }

  /** Returns the lost workers, the latest loss first. */
  list(now: Millis): LostWorker[] {
    for (const [name, { at }] of this.#byName) if (now - at > LOST_WORKERS_MS) this.#byName.delete(name);
    return Array.from(this.#byName.values(), ({ at, ...lost }) => ({
      ...lost,
      lostMsAgo: now - at,
    })).reverse();
  }
}
