import { LOST_WORKERS_MAX, LOST_WORKERS_MS, type LostWorker, type Millis, setLatest } from '@goshawk/core';

type Lost = Omit<LostWorker, 'lostMsAgo'> & {
  readonly at: Millis;
  /** An operator has removed it from the list. */
  readonly isRemoved?: true;
};

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

  /**
   * Takes a worker off the list, because its loss was intended.
   *
   * @returns `again`: this was done before; undefined: no such worker was lost recently
   */
  remove(name: string, now: Millis): 'now' | 'again' | undefined {
    this.#dropOld(now);
    const lost = this.#byName.get(name);
    if (lost === undefined) return undefined;
    this.#byName.set(name, { ...lost, isRemoved: true });
    return lost.isRemoved ? 'again' : 'now';
  }

  returned(name: string): void {
    this.#byName.delete(name);
  }

  /** Returns the lost workers, the latest loss first. */
  list(now: Millis): LostWorker[] {
    this.#dropOld(now);
    return [...this.#byName.values()]
      .flatMap(({ at, isRemoved, ...lost }) => (isRemoved ? [] : [{ ...lost, lostMsAgo: now - at }]))
      .reverse();
  }

  #dropOld(now: Millis): void {
    for (const [name, { at }] of this.#byName) if (now - at > LOST_WORKERS_MS) this.#byName.delete(name);
  }
}
