import { type Millis, nearestRank } from '@goshawk/core';

/** Number of cycles kept. */
const KEPT = 10_000;

type Part = 'formulate' | 'solve' | 'extract' | 'cycle';

/** How long cycles tookMs, in ms of wall time, by nearest rank. */
interface PlanningSpread {
  readonly count: number;
  readonly p50: Millis;
  readonly p99: Millis;
  readonly max: Millis;
}

/**
 * Measures how long a policy with a solver plans: `formulate` until it sends a problem, `solve` until the answer,
 * `extract` until the plan is applied, and the whole cycle. The driver reports these events by its clock.
 */
export class PlanningTimes {
  readonly #now: () => Millis;
  readonly #taken: Record<Part, Millis[]> = { formulate: [], solve: [], extract: [], cycle: [] };
  #sentAt: Millis | undefined;
  #formulated: Millis = 0;
  #solved: Millis | undefined;
  #lastTurn: Millis = 0;

  constructor(now: () => Millis) {
    this.#now = now;
  }

  /** Call when the policy has sent a problem to the solver. */
  problemSent(): void {
    this.#sentAt = this.#now();
    this.#formulated = this.#lastTurn;
  }

  /** Call when the solver's answer has arrived. */
  answerArrived(): void {
    if (this.#sentAt === undefined) return;
    this.#solved = this.#now() - this.#sentAt;
    this.#sentAt = undefined;
  }

  /** Measures one turn of a policy. */
  measure(plan: () => void): void {
    const startedAt = this.#now();
    const sentBefore = this.#sentAt;
    plan();
    const tookMs = this.#now() - startedAt;
    this.#lastTurn = tookMs;
    if (this.#solved !== undefined) {
      this.#record('formulate', this.#formulated);
      this.#record('solve', this.#solved);
      this.#record('extract', tookMs);
      this.#record('cycle', this.#formulated + this.#solved + tookMs);
      this.#solved = undefined;
    }
    if (this.#sentAt !== sentBefore) this.#formulated = tookMs;
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

  #record(part: Part, tookMs: Millis): void {
    const kept = this.#taken[part];
    kept.push(tookMs);
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
