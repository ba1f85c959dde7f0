import { type Millis, nearestRank } from '@goshawk/core';

/** Number of cycles kept. */
const KEPT = 10_000;

type Part = 'formulate' | 'solve' | 'extract' | 'cycle';

/** How long cycles took, in ms of wall time, by nearest rank. */
export interface PlanningSpread {
  readonly count: number;
  readonly p50: Millis;
  readonly p99: Millis;
  readonly max: Millis;
}

/**
 * Measures how long a policy with a solver plans: `formulate` until it hands out a problem, `solve` until the answer,
 * `extract` until the plan is applied, and the whole cycle. The driver reports these events by its clock.
 */
export class PlanningTimes {
  readonly #now: () => Millis;
  readonly #taken: Record<Part, Millis[]> = { formulate: [], solve: [], extract: [], cycle: [] };
  #askedAt: Millis | undefined;
  #formulated: Millis = 0;
  #solved: Millis | undefined;
  #lastTurn: Millis = 0;

  constructor(now: () => Millis) {
    this.#now = now;
  }

  /** The policy handed a problem to the solver. */
  asked(): void {
    this.#askedAt = this.#now();
    this.#formulated = this.#lastTurn;
  }

  /** The answer has arrived. */
  answered(): void {
    if (this.#askedAt === undefined) return;
    this.#solved = this.#now() - this.#askedAt;
    this.#askedAt = undefined;
  }

  /** Measures one turn of a policy. */
  turn(plan: () => void): void {
    const began = this.#now();
    const asked = this.#askedAt;
    plan();
    const took = this.#now() - began;
    this.#lastTurn = took;
    if (this.#solved !== undefined) {
      this.#note('formulate', this.#formulated);
      this.#note('solve', this.#solved);
      this.#note('extract', took);
      this.#note('cycle', this.#formulated + this.#solved + took);
      this.#solved = undefined;
    }
    if (this.#askedAt !== asked) this.#formulated = took;
  }

  /** undefined before the first cycle. */
  read(): Readonly<Record<Part, PlanningSpread>> | undefined {
    const { formulate, solve, extract, cycle } = this.#taken;
    if (cycle.length === 0) return undefined;
    return {
      formulate: spreadOf(formulate),
      solve: spreadOf(solve),
      extract: spreadOf(extract),
      cycle: spreadOf(cycle),
    };
  }

  #note(part: Part, took: Millis): void {
    const kept = this.#taken[part];
    kept.push(took);
    if (kept.length > KEPT) kept.shift();
  }
}

/** @param values in any order, at least one */
export function spreadOf(values: readonly Millis[]): PlanningSpread {
  const sorted = Float64Array.from(values).sort();
  return {
    count: sorted.length,
    p50: nearestRank(sorted, 50),
    p99: nearestRank(sorted, 99),
    max: sorted[sorted.length - 1]!,
  };
}
