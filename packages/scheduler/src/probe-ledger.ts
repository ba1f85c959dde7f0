import type { Address } from '@goshawk/core';

/**
 * Where the probes of a batch are believed to be, as a list of what came and went. Each probe is sent once and used
 * once, which a list takes in a few nanoseconds and a map in many; where they are now is asked only when a worker is
 * lost or the probes are taken back.
 *
 * The news that a probe has moved and the question of the worker that it moved to come from two senders, in any
 * order, so a worker may be counted below 0 for a while; the sum is right all along.
 */
export class ProbeLedger {
  /** Worker, change, worker, change, … */
  #changes: number[] = [];
  #out = 0;
  #count = 0;
  /** The most that were out since the list was last summed up. */
  #peak = 0;

  /** Probes that no worker has served. */
  get out(): number {
    return this.#out;
  }

  /** Of the list: what it takes in memory. */
  get length(): number {
    return this.#changes.length;
  }

  /** How often anything was added or cleared: by that it is told whether anything has happened. */
  get changes(): number {
    return this.#count;
  }

  /** @param probes below 0: they are there no more */
  add(worker: Address, probes: number): void {
    this.#count++;
    this.#changes.push(worker, probes);
    this.#out += probes;
    if (this.#out > this.#peak) this.#peak = this.#out;
    if (this.#changes.length > CHANGES_MAX_BASE + CHANGES_MAX_A_PROBE * this.#peak) this.#sumUp();
  }

  /** Lost workers hold none. */
  drop(gone: ReadonlySet<Address>): void {
    if (this.#changes.length === 0) return;
    for (const [worker, probes] of this.byWorker()) if (gone.has(worker)) this.add(worker, -probes);
  }

  /** How many each worker holds; below 0 where it is believed to owe some. Sums up the whole list. */
  byWorker(): ReadonlyMap<Address, number> {
    const sums = new Map<Address, number>();
    for (let i = 0; i < this.#changes.length; i += 2) {
      const worker = this.#changes[i] as Address;
      sums.set(worker, (sums.get(worker) ?? 0) + this.#changes[i + 1]!);
    }
    for (const [worker, probes] of sums) if (probes === 0) sums.delete(worker);
    return sums;
  }

  clear(): void {
    this.#count++;
    this.#changes = [];
    this.#out = 0;
    this.#peak = 0;
  }

  /** A batch whose probes are stolen time and again must not fill the memory. */
  #sumUp(): void {
    this.#changes = [...this.byWorker()].flat();
    this.#peak = this.#out;
  }
}

/** A batch whose probes are sent and used once stays far below it, and is never summed up. */
const CHANGES_MAX_A_PROBE = 16;
const CHANGES_MAX_BASE = 1_024;
