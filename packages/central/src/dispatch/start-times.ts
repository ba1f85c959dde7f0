import type { Millis, StartWait } from '@goshawk/core';

/** Number of earlier waits kept per group, and number of them used for one prediction. */
const KEPT = 2_048;
const NEAREST = 1_024;
/** Minimum number of earlier waits of a kind; below it all kinds are used, and below it again no prediction is made. */
const LEAST = 10;
const ALL_KINDS = 'all';
/** Maximum number of open samples of one waiting stage. */
const OPEN_MAX = 64;
/** Offset that lets a basis of 0 be compared with others. */
const OFFSET_MS = 100;
/** Waits whose log(basis) differs by less than this are equal. */
const ALIKE = 0.001;

interface Question {
  readonly askedAt: Millis;
  readonly basis: WaitBasis;
  /** The duration that the sample represents. */
  forMs: Millis;
}

interface Asked {
  questions: Question[];
  /** Samples closer together than this are merged. */
  everyMs: Millis;
}

/** A waiting task and the facts its wait is compared by. */
export interface WaitBasis {
  /** Waits of other kinds are used if too few of this kind are known. */
  readonly kind: string;
  /** Expected wait from the estimated work ahead. 0: the stage is next, or nothing is known. */
  readonly basisMs: Millis;
}

/**
 * Predicts the start of waiting stages from earlier waits: q10, q50 and q90 of wait ÷ basis over the NEAREST ones in
 * log(basis), weighted by proximity. Waits without a basis are compared directly. Samples are weighted by the time
 * they represent, as if taken at random times; otherwise busy times and short waits would count too much.
 */
export class StartTimes<Stage extends object> {
  readonly #groups = new Map<string, Group>();
  readonly #open = new WeakMap<Stage, Asked>();

  /**
   * Takes a sample of a waiting stage; its next start completes the sample.
   *
   * @param forMs time since the last sample of any stage, while any waited
   */
  ask(stage: Stage, basis: WaitBasis, forMs: Millis, now: Millis): void {
    const asked = this.#open.get(stage) ?? { questions: [], everyMs: 0 };
    this.#open.set(stage, asked);
    const last = asked.questions.at(-1);
    // Samples at one instant represent time, too.
    if (last === undefined || now - last.askedAt >= asked.everyMs)
      asked.questions.push({ askedAt: now, basis, forMs: forMs + 1 });
    else last.forMs += forMs + 1;
    if (asked.questions.length < OPEN_MAX) return;
    // Reduces the sampling rate, so that a long wait keeps samples from its whole duration.
    asked.everyMs = (2 * (now - asked.questions[0]!.askedAt)) / OPEN_MAX;
    asked.questions = everyOther(asked.questions);
  }

  started(stage: Stage, now: Millis): void {
    const asked = this.#open.get(stage);
    if (asked === undefined) return;
    this.#open.delete(stage);
    for (const { basis, askedAt, forMs } of asked.questions) {
      for (const key of keysOf(basis)) {
        const group = this.#groups.get(key) ?? new Group();
        this.#groups.set(key, group);
        group.add(basis.basisMs, (now - askedAt) / scaleOf(basis), forMs);
      }
    }
  }

  /** @returns undefined if too few waits are known */
  expect(basis: WaitBasis): StartWait | undefined {
    const groups = keysOf(basis).map((key) => this.#groups.get(key));
    const group = groups.find((known) => known !== undefined && known.size >= LEAST);
    if (group === undefined) return undefined;
    const scale = scaleOf(basis);
    const { quantiles, waits } = group.nearest(basis.basisMs, [0.1, 0.5, 0.9]);
    const [p10, p50, p90] = quantiles.map((ratio) => scale * ratio) as [Millis, Millis, Millis];
    return { p10, p50, p90, waits };
  }
}

/** Every other sample; each then represents twice the time. */
function everyOther(questions: readonly Question[]): Question[] {
  const kept = questions.filter((_, at) => at % 2 === 0);
  kept.forEach((question, at) => {
    question.forMs += questions[2 * at + 1]?.forMs ?? 0;
  });
  return kept;
}

/** Groups to which a wait belongs, most specific first. */
function keysOf({ kind, basisMs }: WaitBasis): string[] {
  return [kind, ALL_KINDS].map((known) => (basisMs > 0 ? `${known} behind others` : known));
}

function scaleOf({ basisMs }: WaitBasis): number {
  return basisMs > 0 ? basisMs + OFFSET_MS : 1;
}

/** The latest waits of one kind, or of all. */
class Group {
  readonly #bases: number[] = [];
  readonly #ratios: number[] = [];
  readonly #weights: number[] = [];
  #next = 0;

  get size(): number {
    return this.#ratios.length;
  }

  add(basisMs: Millis, ratio: number, weight: number): void {
    this.#bases[this.#next] = Math.log(basisMs + OFFSET_MS);
    this.#ratios[this.#next] = ratio;
    this.#weights[this.#next] = weight;
    this.#next = (this.#next + 1) % KEPT;
  }

  /** @param shares ascending */
  nearest(basisMs: Millis, shares: readonly number[]): { quantiles: number[]; waits: number } {
    const from = Math.log(basisMs + OFFSET_MS);
    const distances = this.#bases.map((basis) => Math.abs(basis - from));
    const nearest = [...distances.keys()].sort((a, b) => distances[a]! - distances[b]!).slice(0, NEAREST);
    const reach = distances[nearest.at(-1)!]! + ALIKE;
    const weightOf = (at: number): number => this.#weights[at]! * (1 - distances[at]! / reach);
    const total = nearest.reduce((sum, at) => sum + weightOf(at), 0);
    const quantiles: number[] = [];
    let weight = 0;
    for (const at of nearest.sort((a, b) => this.#ratios[a]! - this.#ratios[b]!)) {
      weight += weightOf(at);
      // Tolerates rounding errors of the sum.
      while (weight >= shares[quantiles.length]! * total * (1 - 1e-9)) quantiles.push(this.#ratios[at]!);
    }
    return { quantiles, waits: nearest.length };
  }
}
