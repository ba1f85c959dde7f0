import { type Millis, nearestRank, type StartWait } from '@goshawk/core';

/** Earlier waits that are kept of a group, and those of them that are looked at for one answer. */
const KEPT = 2_048;
const NEAREST = 256;
/** With fewer earlier waits nothing is said. */
const LEAST = 20;
/** Open questions about one that waits. */
const OPEN_MAX = 64;
/** What a basis of 0 is taken for beside others. */
const OFFSET_MS = 100;

/** What waits, and what is known of its wait. */
export interface WaitBasis {
  /** Waits of other kinds tell nothing about this one. */
  readonly kind: string;
  /** The wait by what is believed of those before it. 0: it is next, or nothing is believed. */
  readonly basisMs: Millis;
}

/**
 * When what waits will start, by how earlier waits came out: q10, q50 and q90 of wait ÷ basis over the NEAREST earlier ones
 * in log(basis). Those without a basis are compared by their waits alone.
 */
export class StartTimes<Stage extends object> {
  readonly #groups = new Map<string, Group>();
  readonly #open = new WeakMap<Stage, { readonly askedAt: Millis; readonly basis: WaitBasis }[]>();

  /** The next start of a task of the stage answers. */
  ask(stage: Stage, basis: WaitBasis, now: Millis): void {
    let questions = this.#open.get(stage) ?? [];
    // What waits for long keeps questions from all of its wait.
    if (questions.length >= OPEN_MAX) questions = questions.filter((_, at) => at % 2 === 0);
    questions.push({ askedAt: now, basis });
    this.#open.set(stage, questions);
  }

  started(stage: Stage, now: Millis): void {
    const questions = this.#open.get(stage);
    if (questions === undefined) return;
    this.#open.delete(stage);
    for (const { basis, askedAt } of questions) {
      const key = keyOf(basis);
      const group = this.#groups.get(key) ?? new Group();
      this.#groups.set(key, group);
      group.add(basis.basisMs, (now - askedAt) / scaleOf(basis));
    }
  }

  /** @returns undefined where too few have waited like this */
  expect(basis: WaitBasis): StartWait | undefined {
    const group = this.#groups.get(keyOf(basis));
    if (group === undefined || group.size < LEAST) return undefined;
    const ratios = group.nearest(basis.basisMs);
    const scale = scaleOf(basis);
    const at = (percent: number): Millis => scale * nearestRank(ratios, percent);
    return { p10: at(10), p50: at(50), p90: at(90), waits: ratios.length };
  }
}

function keyOf({ kind, basisMs }: WaitBasis): string {
  return basisMs > 0 ? `${kind} behind others` : kind;
}

function scaleOf({ basisMs }: WaitBasis): number {
  return basisMs > 0 ? basisMs + OFFSET_MS : 1;
}

/** The last waits of a kind. */
class Group {
  readonly #bases: number[] = [];
  readonly #ratios: number[] = [];
  #next = 0;

  get size(): number {
    return this.#ratios.length;
  }

  add(basisMs: Millis, ratio: number): void {
    this.#bases[this.#next] = Math.log(basisMs + OFFSET_MS);
    this.#ratios[this.#next] = ratio;
    this.#next = (this.#next + 1) % KEPT;
  }

  /** Ascending. */
  nearest(basisMs: Millis): Float64Array {
    const from = Math.log(basisMs + OFFSET_MS);
    const distance = (at: number): number => Math.abs(this.#bases[at]! - from);
    const order = this.#bases.map((_, at) => at).sort((a, b) => distance(a) - distance(b));
    return Float64Array.from(order.slice(0, NEAREST), (at) => this.#ratios[at]!).sort();
  }
}
