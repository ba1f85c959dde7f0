import { DenseIds, IndexedHeap } from '@goshawk/core';
import { type Amounts, addAmounts, alignment, countWithin, fitsWithin } from '@goshawk/policies';

/** A stage in a plan, identified by its position in a list. */
interface PlannedStage {
  /** Tasks that have not started. */
  readonly unstarted: number;
  /** Demand of each task by resource. */
  readonly demand: Amounts;
  /** Duration of each task in integer ms, at least 1. */
  readonly durationMs: number;
  /** Stages that must end first. */
  readonly parents: readonly number[];
}

interface PlannedRun {
  readonly stage: number;
  /** Remaining time in integer ms, at least 1. */
  readonly remainingMs: number;
}

/** One job at the present, which is time 0 of the plan. */
export interface PlanProblem {
  readonly stages: readonly PlannedStage[];
  readonly running: readonly PlannedRun[];
  /** The job's limit at any time, by resource. */
  readonly share: Amounts;
  /** Total capacity by resource. */
  readonly whole: Amounts;
}

/** Tasks of one stage that start together. */
export interface Placement {
  readonly stage: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly count: number;
}

export interface ForwardRules {
  /** Priorities of stages that fit: greater first, ties by position. undefined: best alignment first. */
  readonly ranks: ArrayLike<number> | undefined;
  /** Above this number of unstarted tasks, as many of the chosen stage as fit start together, for speed. */
  readonly oneByOneMax: number;
}

/**
 * Schedules one job by list scheduling in an empty cluster as large as its share (Carbyne §3.3.2, line 17).
 * If running tasks exceed the share, nothing starts until it fits.
 *
 * @throws RangeError if a stage does not fit into the share at all
 */
export function forward(
  problem: PlanProblem,
  rules: ForwardRules,
): { placements: Placement[]; endMs: number } {
  return new ForwardSchedule(problem, rules).run();
}

class ForwardSchedule {
  readonly #problem: PlanProblem;
  readonly #rules: ForwardRules;
  readonly #free: Float64Array;
  /** End of each batch of tasks that started together, by batch number. */
  readonly #ends = new IndexedHeap();
  /** Stage and size of each batch, by batch number. */
  readonly #ending: { readonly stage: number; readonly count: number }[] = [];
  readonly #numbers = new DenseIds();
  readonly #unstarted: Int32Array;
  /** Number of unfinished tasks of each stage. */
  readonly #unended: Int32Array;
  /** Number of unfinished parents of each stage. */
  readonly #parentsLeft: Int32Array;
  readonly #children: number[][];
  /** Stages that may start and have unstarted tasks, ascending. */
  readonly #runnable: number[] = [];
  #left = 0;

  constructor(problem: PlanProblem, rules: ForwardRules) {
    const { stages, running, share } = problem;
    this.#problem = problem;
    this.#rules = rules;
    this.#free = Float64Array.from(share);
    this.#unstarted = Int32Array.from(stages, ({ unstarted }) => unstarted);
    this.#unended = Int32Array.from(this.#unstarted);
    this.#children = stages.map(() => []);
    for (const { stage, remainingMs } of running) {
      this.#unended[stage]!++;
      addAmounts(this.#free, stages[stage]!.demand, -1);
      this.#endsAt(remainingMs, stage, 1);
    }
    this.#parentsLeft = Int32Array.from(
      stages,
      ({ parents }) => parents.filter((parent) => this.#unended[parent]! > 0).length,
    );
    stages.forEach(({ parents }, stage) => {
      for (const parent of parents) this.#children[parent]!.push(stage);
      this.#left += this.#unstarted[stage]!;
      if (this.#isRunnable(stage)) this.#runnable.push(stage);
    });
  }

  run(): { placements: Placement[]; endMs: number } {
    const { stages } = this.#problem;
    const placements: Placement[] = [];
    let now = 0;
    for (;;) {
      for (;;) {
        const stage = this.#next();
        if (stage < 0) break;
        const count = this.#start(stage, now);
        placements.push({ stage, startMs: now, endMs: now + stages[stage]!.durationMs, count });
      }
      if (this.#ends.size === 0) break;
      now = this.#ends.topKey();
      while (this.#ends.topKey() === now) this.#end();
    }
    if (this.#left > 0) throw new RangeError(`${this.#left} tasks do not fit into the share of their job`);
    return { placements, endMs: now };
  }

  #isRunnable(stage: number): boolean {
    return this.#parentsLeft[stage] === 0 && this.#unstarted[stage]! > 0;
  }

  #next(): number {
    const { stages, whole } = this.#problem;
    let best = -1;
    let bestRank = Number.NEGATIVE_INFINITY;
    for (const stage of this.#runnable) {
      const { demand } = stages[stage]!;
      const rank = this.#rules.ranks?.[stage] ?? alignment(demand, this.#free, whole);
      if (rank <= bestRank || !fitsWithin(demand, this.#free, whole)) continue;
      best = stage;
      bestRank = rank;
    }
    return best;
  }

  #start(stage: number, now: number): number {
    const { demand, durationMs } = this.#problem.stages[stage]!;
    const wanted = this.#left > this.#rules.oneByOneMax ? this.#unstarted[stage]! : 1;
    const count = Math.max(1, countWithin(demand, this.#free, this.#problem.whole, wanted));
    addAmounts(this.#free, demand, -count);
    this.#endsAt(now + durationMs, stage, count);
    this.#left -= count;
    this.#unstarted[stage]! -= count;
    if (this.#unstarted[stage] === 0) this.#runnable.splice(this.#runnable.indexOf(stage), 1);
    return count;
  }

  #endsAt(atMs: number, stage: number, count: number): void {
    const number = this.#numbers.take();
    this.#ending[number] = { stage, count };
    this.#ends.set(number, atMs);
  }

  #end(): void {
    const number = this.#ends.top();
    const { stage, count } = this.#ending[number]!;
    this.#ends.delete(number);
    this.#numbers.release(number);
    addAmounts(this.#free, this.#problem.stages[stage]!.demand, count);
    this.#unended[stage]! -= count;
    if (this.#unended[stage]! > 0) return;
    for (const child of this.#children[stage]!) {
      this.#parentsLeft[child]!--;
      if (this.#isRunnable(child)) this.#insert(child);
    }
  }

  #insert(stage: number): void {
    const after = this.#runnable.findIndex((other) => other > stage);
    this.#runnable.splice(after < 0 ? this.#runnable.length : after, 0, stage);
  }
}
