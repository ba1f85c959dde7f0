import { type Address, grown } from '@goshawk/core';

/**
 * Where the probes of a batch are believed to be, as a list of what came and went. Each probe is sent once and used
 * once, which a list takes in a few nanoseconds and a map in many; where they are now is asked only when a worker is
 * lost or the probes are taken back.
 *
 * The news that a probe has moved and the question of the worker that it moved to come from two senders, in any
 * order, so a worker may be counted below 0 for a while; the sum is right all along.
 */
export class ProbeLedger {
  /** Worker, change, worker, change, …; so many numbers of it count. */
  #changes = NO_CHANGES;
  #length = 0;
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
    return this.#length;
  }

  /** How often anything was added or cleared: unchanged, nothing has happened. */
  get changes(): number {
    return this.#count;
  }

  /** So many probes are about to be sent: there is room for each to come and go. */
  expect(probes: number): void {
    this.#makeRoom(2 * FIELDS * probes);
  }

  /** @param probes below 0: they are there no more */
  add(worker: Address, probes: number): void {
    this.#count++;
    if (this.#length === this.#changes.length) this.#makeRoom(FIELDS);
    this.#changes[this.#length++] = worker;
    this.#changes[this.#length++] = probes;
    this.#out += probes;
    if (this.#out > this.#peak) this.#peak = this.#out;
    if (this.#length > CHANGES_MAX_BASE + CHANGES_MAX_A_PROBE * this.#peak) this.#sumUp();
  }

  /** How many are believed to be at a worker; below 0: it is believed to owe some. */
  at(worker: Address): number {
    let sum = 0;
    for (let i = 0; i < this.#length; i += FIELDS) {
      if (this.#changes[i] === worker) sum += this.#changes[i + 1]!;
    }
    return sum;
  }

  /** Lost workers hold none. */
  drop(gone: ReadonlySet<Address>): void {
    if (this.#length === 0) return;
    for (const [worker, probes] of this.byWorker()) if (gone.has(worker)) this.add(worker, -probes);
  }

  /** How many each worker holds; below 0 where it is believed to owe some. Sums up the whole list. */
  byWorker(): ReadonlyMap<Address, number> {
    const sums = new Map<Address, number>();
    for (let i = 0; i < this.#length; i += FIELDS) {
      const worker = this.#changes[i] as Address;
      sums.set(worker, (sums.get(worker) ?? 0) + this.#changes[i + 1]!);
    }
    for (const [worker, probes] of sums) if (probes === 0) sums.delete(worker);
    return sums;
  }

  clear(): void {
    this.#count++;
    this.#changes = NO_CHANGES;
    this.#length = 0;
    this.#out = 0;
    this.#peak = 0;
  }

  /** A batch whose probes are stolen time and again must not fill the memory. */
  #sumUp(): void {
    this.#changes = Int32Array.from([...this.byWorker()].flat());
    this.#length = this.#changes.length;
    this.#peak = this.#out;
  }

  #makeRoom(numbers: number): void {
    const size = this.#length + numbers;
    if (size > this.#changes.length) this.#changes = grown(this.#changes, size);
  }
}

const NO_CHANGES = new Int32Array(0);
const FIELDS = 2;

/** A batch whose probes are sent and used once stays far below it, and is never summed up. */
const CHANGES_MAX_A_PROBE = 16;
const CHANGES_MAX_BASE = 1_024;
