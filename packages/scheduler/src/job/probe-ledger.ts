import { type Address, grown } from '@goshawk/core';

/**
 * Believed locations of a batch's probes. Most probes are sent once and used once, which appending to a list
 * records in a few nanoseconds, far faster than a map; the first query builds the map. Moves of probes and
 * questions of workers arrive from two senders in any order, so a worker's count may be negative for a while;
 * the sum is always right.
 */
export class ProbeLedger {
  /** Worker, change, worker, change, …; so many numbers of it count, and none once there are sums. */
  #changes = NO_CHANGES;
  #length = 0;
  #sums: Map<Address, number> | undefined;
  #out = 0;
  #count = 0;
  /** The most that were out at a time. */
  #peak = 0;

  /** Probes that no worker has served. */
  get out(): number {
    return this.#out;
  }

  /** Memory of the list or map. */
  get length(): number {
    return this.#sums?.size ?? this.#length;
  }

  /** How often anything was added or cleared: unchanged, nothing has happened. */
  get changes(): number {
    return this.#count;
  }

  /** So many probes are about to be sent: there is room for each to come and go. */
  expect(probes: number): void {
    if (this.#sums === undefined) this.#makeRoom(2 * FIELDS * probes);
  }

  /** @param probes below 0: they are there no more */
  add(worker: Address, probes: number): void {
    this.#count++;
    this.#out += probes;
    if (this.#out > this.#peak) this.#peak = this.#out;
    if (this.#sums !== undefined) return addTo(this.#sums, worker, probes);
    if (this.#length === this.#changes.length) this.#makeRoom(FIELDS);
    this.#changes[this.#length++] = worker;
    this.#changes[this.#length++] = probes;
    // A batch whose probes are stolen time and again must not fill the memory.
    if (this.#length > CHANGES_MAX_BASE + CHANGES_MAX_A_PROBE * this.#peak) this.#sumUp();
  }

  /** How many are believed to be at a worker; below 0: it is believed to owe some. */
  at(worker: Address): number {
    return this.#sumUp().get(worker) ?? 0;
  }

  /** Lost workers hold none. */
  drop(gone: ReadonlySet<Address>): void {
    if (this.length === 0) return;
    const sums = this.#sumUp();
    for (const worker of gone) {
      const probes = sums.get(worker);
      if (probes !== undefined) this.add(worker, -probes);
    }
  }

  /** How many each worker holds; below 0 where it is believed to owe some. */
  byWorker(): ReadonlyMap<Address, number> {
    return this.#sumUp();
  }

  clear(): void {
    this.#count++;
    this.#changes = NO_CHANGES;
    this.#length = 0;
    this.#sums = undefined;
    this.#out = 0;
    this.#peak = 0;
  }

  #sumUp(): Map<Address, number> {
    if (this.#sums !== undefined) return this.#sums;
    const sums = new Map<Address, number>();
    for (let i = 0; i < this.#length; i += FIELDS)
      addTo(sums, this.#changes[i] as Address, this.#changes[i + 1]!);
    this.#changes = NO_CHANGES;
    this.#length = 0;
    this.#sums = sums;
    return sums;
  }

  #makeRoom(numbers: number): void {
    const size = this.#length + numbers;
    if (size > this.#changes.length) this.#changes = grown(this.#changes, size);
  }
}

function addTo(sums: Map<Address, number>, worker: Address, probes: number): void {
  const sum = (sums.get(worker) ?? 0) + probes;
  if (sum === 0) sums.delete(worker);
  else sums.set(worker, sum);
}

const NO_CHANGES = new Int32Array(0);
const FIELDS = 2;

/** A batch whose probes are sent and used once stays far below it, and is never summed up. */
const CHANGES_MAX_A_PROBE = 16;
const CHANGES_MAX_BASE = 1_024;
