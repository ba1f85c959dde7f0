import { type Address, grown } from '@goshawk/core';

/**
 * Number of a batch's probes at each worker, as far as the scheduler knows. Most probes are sent once and used once.
 * Such changes are appended to a list, which takes a few nanoseconds, far less than a map; the first query builds the
 * map. A report that a probe moved and the question of the worker that serves it have different senders and arrive in
 * any order, so the number at a worker may be negative for a while. The total number is not affected.
 */
export class ProbeLedger {
  /** Pairs of worker and change; only the first `#length` numbers count, and none once there is a map. */
  #changes = NO_CHANGES;
  #length = 0;
  #sums: Map<Address, number> | undefined;
  #outstanding = 0;
  #changeCount = 0;
  /** The maximum number of outstanding probes so far. */
  #peak = 0;

  /** Number of probes that were neither served nor returned. */
  get outstanding(): number {
    return this.#outstanding;
  }

  /** Number of stored entries: numbers in the list, or workers in the map. */
  get entryCount(): number {
    return this.#sums?.size ?? this.#length;
  }

  /** Number of changes so far. If it is the same as before, nothing has happened. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /** Reserves space for sending and using this many probes. */
  reserve(probes: number): void {
    if (this.#sums === undefined) this.#growFor(2 * FIELDS * probes);
  }

  /** Adds probes at a worker; a negative number removes them. */
  add(worker: Address, probes: number): void {
    this.#changeCount++;
    this.#outstanding += probes;
    if (this.#outstanding > this.#peak) this.#peak = this.#outstanding;
    if (this.#sums !== undefined) return addTo(this.#sums, worker, probes);
    if (this.#length === this.#changes.length) this.#growFor(FIELDS);
    this.#changes[this.#length++] = worker;
    this.#changes[this.#length++] = probes;
    // Bounds the memory of a batch whose probes are stolen repeatedly.
    if (this.#length > CHANGES_MAX_BASE + CHANGES_MAX_PER_PROBE * this.#peak) this.#sumsByWorker();
  }

  /** Number of probes believed to be at the worker; may be negative for a while. */
  at(worker: Address): number {
    return this.#sumsByWorker().get(worker) ?? 0;
  }

  /** Drops the probes of lost workers. */
  drop(gone: ReadonlySet<Address>): void {
    if (this.entryCount === 0) return;
    const sums = this.#sumsByWorker();
    for (const worker of gone) {
      const probes = sums.get(worker);
      if (probes !== undefined) this.add(worker, -probes);
    }
  }

  /** Number of probes by worker; may be negative for a while. */
  byWorker(): ReadonlyMap<Address, number> {
    return this.#sumsByWorker();
  }

  clear(): void {
    this.#changeCount++;
    this.#changes = NO_CHANGES;
    this.#length = 0;
    this.#sums = undefined;
    this.#outstanding = 0;
    this.#peak = 0;
  }

  #sumsByWorker(): Map<Address, number> {
    if (this.#sums !== undefined) return this.#sums;
    const sums = new Map<Address, number>();
    for (let i = 0; i < this.#length; i += FIELDS)
      addTo(sums, this.#changes[i] as Address, this.#changes[i + 1]!);
    this.#changes = NO_CHANGES;
    this.#length = 0;
    this.#sums = sums;
    return sums;
  }

  #growFor(numbers: number): void {
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

/** A batch whose probes are sent and used once stays far below this, and never needs a map. */
const CHANGES_MAX_PER_PROBE = 16;
const CHANGES_MAX_BASE = 1_024;
