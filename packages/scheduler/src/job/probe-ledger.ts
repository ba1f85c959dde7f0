import { type Address, grown } from '@goshawk/core';

/** Numbers of outstanding probes by user, over batches of all jobs. */
export type ProbesByUser = Map<string | undefined, number>;

/**
 * Counts a batch's outstanding probes by worker. Most probes are sent once and served once, so changes are appended to
 * a list, which is much faster than a map. The first query builds the map.
 *
 * When a probe is stolen, the victim's report and the thief's request arrive in any order. The count of a worker may
 * therefore be negative for a while; the total is not affected.
 */
export class ProbeLedger {
  /** Pairs of a worker and a change. Only the first `#length` numbers are valid; none is once the map exists. */
  #changes = NO_CHANGES;
  #length = 0;
  #sums: Map<Address, number> | undefined;
  #outstanding = 0;
  #changeCount = 0;
  /** Maximum number of outstanding probes so far. */
  #peak = 0;
  #byUser: ProbesByUser | undefined;
  #user: string | undefined;

  /** Also counts the probes among those of the user of the job. */
  countFor(user: string | undefined, byUser: ProbesByUser): void {
    if (this.#byUser === byUser) return;
    this.#byUser = byUser;
    this.#user = user;
    addTo(byUser, user, this.#outstanding);
  }

  /** Number of probes that were sent and neither served nor returned. */
  get outstanding(): number {
    return this.#outstanding;
  }

  /** Number of numbers in the list, or of workers in the map. */
  get entryCount(): number {
    return this.#sums?.size ?? this.#length;
  }

  /** Number of changes so far. An equal number means that nothing has changed. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /** Reserves space for sending and serving this many probes. */
  reserve(probes: number): void {
    if (this.#sums === undefined) this.#growFor(2 * FIELDS * probes);
  }

  /** Adds probes at a worker; a negative number removes them. */
  add(worker: Address, probes: number): void {
    this.#changeCount++;
    this.#outstanding += probes;
    if (this.#outstanding > this.#peak) this.#peak = this.#outstanding;
    if (this.#byUser !== undefined) addTo(this.#byUser, this.#user, probes);
    if (this.#sums !== undefined) return addTo(this.#sums, worker, probes);
    if (this.#length === this.#changes.length) this.#growFor(FIELDS);
    this.#changes[this.#length++] = worker;
    this.#changes[this.#length++] = probes;
    // Bounds the memory of a batch whose probes are stolen repeatedly.
    if (this.#length > CHANGES_MAX_BASE + CHANGES_MAX_PER_PROBE * this.#peak) this.#sumsByWorker();
  }

  /** Estimated number of probes at the worker; may be negative for a while. */
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
    if (this.#byUser !== undefined) addTo(this.#byUser, this.#user, -this.#outstanding);
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

function addTo<Key>(sums: Map<Key, number>, key: Key, probes: number): void {
  const sum = (sums.get(key) ?? 0) + probes;
  if (sum === 0) sums.delete(key);
  else sums.set(key, sum);
}

const NO_CHANGES = new Int32Array(0);
const FIELDS = 2;

/** The list is replaced by a map above this length. A batch whose probes are served once stays far below it. */
const CHANGES_MAX_PER_PROBE = 16;
const CHANGES_MAX_BASE = 1_024;
