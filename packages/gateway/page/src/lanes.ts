/** A part of a worker's row in CPUs, from the top. */
export interface Lane {
  readonly from: number;
  readonly cpus: number;
}

interface Taken extends Lane {
  readonly end: number;
}

/** Places concurrent attempts of one worker one below the other, each as high as the CPUs that it requests. */
export class Lanes {
  readonly #cpus: number;
  readonly #overlapMs: number;
  #taken: Taken[] = [];
  #used = 0;

  /**
   * @param cpus CPUs of the worker; 0: unlimited
   * @param overlapMs tolerated overlap, because the clocks of schedulers and workers differ slightly
   */
  constructor(cpus: number, overlapMs: number) {
    this.#cpus = cpus;
    this.#overlapMs = overlapMs;
  }

  /** Height of the row in CPUs: those of the worker, or of concurrent attempts if they request more. */
  get height(): number {
    return Math.max(1, this.#cpus, this.#used);
  }

  /**
   * Takes the place of an attempt; attempts must be in order of their start. The place has several parts if the free
   * CPUs are not adjacent.
   */
  take(start: number, end: number, cpus: number): Lane[] {
    this.#taken = this.#taken.filter((other) => other.end > start + this.#overlapMs);
    this.#taken.sort((one, other) => one.from - other.from);
    const parts = this.#free(cpus);
    for (const part of parts) this.#taken.push({ ...part, end });
    this.#used = Math.max(this.#used, ...parts.map(({ from, cpus: many }) => from + many));
    return parts;
  }

  #free(cpus: number): Lane[] {
    const gaps: Lane[] = [];
    let from = 0;
    for (const taken of this.#taken) {
      if (taken.from > from) gaps.push({ from, cpus: taken.from - from });
      from = Math.max(from, taken.from + taken.cpus);
    }
    if (this.#cpus > from) gaps.push({ from, cpus: this.#cpus - from });
    const whole = gaps.find((gap) => gap.cpus >= cpus);
    if (whole !== undefined) return [{ from: whole.from, cpus }];
    const parts: Lane[] = [];
    let left = cpus;
    for (const gap of gaps) {
      const many = Math.min(left, gap.cpus);
      parts.push({ from: gap.from, cpus: many });
      left -= many;
    }
    // The rest exceeds the CPUs of the worker.
    if (left > 0) parts.push({ from: Math.max(from, this.#cpus), cpus: left });
    return parts;
  }
}
