import { invariant, sumOf } from '@goshawk/core';
import { type Program, type ProgramLimits, RowBuilder } from '@goshawk/policies';
import { expectedShareHeld, scale, survival } from './distribution.js';
import { DEFERRED, type Option, type PendingGang, type Problem, type Space } from './problem.js';
import { has, isWithin, type PartitionSet, setOf, unionsOf } from './sets.js';
import { expectedUtility } from './utility.js';

export interface Formulated {
  readonly program: Program;
  /** Option of each column, from the first. */
  readonly options: readonly Option[];
  /** Indices in `running` of preemptible gangs; their columns follow those of the options. */
  readonly candidates: readonly number[];
  /** Expected free nodes, by grid time and partition, without preemptions and starts. */
  readonly capacity: readonly (readonly number[])[];
}

/** Maximum number of unions with rows; `extract` detects violations of others. */
const UNIONS_MAX = 128;
const SLACK = 1e-9;

/**
 * Formulates a problem as an integer program (3Sigma §4.3.3, §4.3.5). By Hall's theorem, gangs fit if every
 * union of their partition sets has enough nodes. So the program has a variable per option and a row per time
 * and union. It is smaller than the paper's (`formulateAsPublished`), and as exact for immediate starts.
 *
 * @param moreUnions further unions with rows, if there are too many for all
 */
export function formulate(
  problem: Problem,
  limits: ProgramLimits,
  moreUnions: readonly PartitionSet[] = [],
): Formulated {
  const parts = partsOf(problem);
  const rows = new RowBuilder();
  jobRows(rows, parts.options);
  unionRows(rows, parts, moreUnions);
  return formulated(parts, rows, [], limits);
}

/** @param furtherUpper bounds of additional variables without cost, after those of options and candidates */
export function formulated(
  { problem, options, candidates, capacity }: Parts,
  { rows }: RowBuilder,
  furtherUpper: readonly number[],
  limits: ProgramLimits,
): Formulated {
  const cost = [
    ...options.map(({ utility, slot }) => utility - problem.tieBreak * Math.max(slot, 0)),
    ...candidates.map((index) => -problem.running[index]!.preemptCost!),
    ...furtherUpper.map(() => 0),
  ];
  const upper = [...options.map(() => 1), ...candidates.map(() => 1), ...furtherUpper];
  const program: Program = {
    columns: cost.length,
    cost: Float64Array.from(cost),
    upper: Float64Array.from(upper),
    ...rows,
    seed: undefined,
    limits,
  };
  return { program, options, candidates, capacity };
}

/** Smaller values are omitted (§4.3.6: terms of zero are dropped). */
const LEAST_UTILITY = 1e-9;

/** All ways to start each job, grouped by job, then by space and time. */
function optionsOf(problem: Problem): Option[] {
  const { pending, partitions } = problem;
  const nodesOf = (space: Space) => sumOf(space.partitions, (x) => partitions[x]!.nodes);
  return pending.flatMap((gang, job) => {
    const options = gang.spaces.flatMap((space, index) =>
      gang.nodes > nodesOf(space) ? [] : optionsIn(problem, gang, job, index),
    );
    if (gang.deferral > LEAST_UTILITY)
      options.push({ job, space: 0, slot: DEFERRED, utility: gang.deferral });
    return options;
  });
}

function optionsIn({ starts, now }: Problem, gang: PendingGang, job: number, space: number): Option[] {
  const distribution = scale(gang.distribution, gang.spaces[space]!.slowdown);
  const options: Option[] = [];
  for (let slot = 0; slot < starts.length; slot++) {
    const start = now + starts[slot]!;
    if (start >= gang.startsBefore || (gang.mustStartNow && slot > 0)) break;
    if (slot === 0 && !gang.mayStartNow) continue;
    const utility = expectedUtility(gang.utility, distribution, start);
    if (utility > LEAST_UTILITY) options.push({ job, space, slot, utility });
  }
  return options;
}

/** Values from which rows are built. */
export interface Parts extends Omit<Formulated, 'program'> {
  readonly problem: Problem;
  /** Expected share of its nodes that a running gang holds, by grid time, by index in `running`. */
  readonly holds: readonly (readonly number[])[];
}

export function partsOf(problem: Problem): Parts {
  const candidates = problem.running.flatMap(({ preemptCost }, index) =>
    preemptCost === undefined ? [] : [index],
  );
  return { problem, options: optionsOf(problem), candidates, ...expectations(problem) };
}

function expectations({ running, starts, partitions, cycle }: Problem): Pick<Parts, 'capacity' | 'holds'> {
  const holds = running.map(({ distribution, elapsed }) =>
    starts.map((start) => expectedShareHeld(distribution, elapsed, start, cycle)),
  );
  const capacity = starts.map((_, slot) =>
    partitions.map(({ nodes }, x) =>
      running.reduce((left, gang, index) => left - gang.nodes[x]! * holds[index]![slot]!, nodes),
    ),
  );
  return { capacity, holds };
}

/** Each job starts at most once. */
export function jobRows(rows: RowBuilder, options: readonly Option[]): void {
  for (const [column, { job }] of options.entries()) {
    rows.add(column, 1);
    if (options[column + 1]?.job !== job) rows.end(Number.NEGATIVE_INFINITY, 1);
  }
}

/** Expected nodes that an option holds at a grid time. */
export class Demands {
  readonly #problem: Problem;
  /** Known values by job, space, and time since the start. */
  readonly #known = new Map<string, number>();

  constructor(problem: Problem) {
    this.#problem = problem;
  }

  at({ job, space, slot }: Option, later: number): number {
    const { pending, starts } = this.#problem;
    const gang = pending[job]!;
    if (slot === later) return gang.nodes;
    const key = `${job} ${space} ${starts[later]! - starts[slot]!}`;
    let held = this.#known.get(key);
    if (held === undefined) {
      const distribution = scale(gang.distribution, gang.spaces[space]!.slowdown);
      held = gang.nodes * survival(distribution, starts[later]! - starts[slot]!);
      this.#known.set(key, held);
    }
    return held;
  }
}

function unionRows(rows: RowBuilder, parts: Parts, moreUnions: readonly PartitionSet[]): void {
  const { problem, options, candidates, capacity, holds } = parts;
  const { pending, running, partitions, starts } = problem;
  const demands = new Demands(problem);
  const placed = options.flatMap((option, column) =>
    option.slot === DEFERRED
      ? []
      : [{ option, column, set: setOf(pending[option.job]!.spaces[option.space]!.partitions) }],
  );
  const present = [...new Set(placed.map(({ set }) => set))];
  const all = setOf(partitions.map((_, x) => x));
  const unions = unionsOf(present, UNIONS_MAX) ?? [...new Set([...present, all, ...moreUnions])];
  for (const union of unions) {
    const within = new Map(present.map((set) => [set, isWithin(set, union)]));
    const able = placed.filter(({ set }) => within.get(set));
    const members = partitions.map((_, x) => has(union, x));
    const nodesIn = (of: readonly number[]) => of.reduce((sum, n, x) => (members[x] ? sum + n : sum), 0);
    const freed = candidates.map((index) => nodesIn(running[index]!.nodes));
    for (let slot = 0; slot < starts.length; slot++) {
      const free = nodesIn(capacity[slot]!);
      const entries: [column: number, nodes: number][] = [];
      let most = 0;
      let ofJob = 0;
      for (const [place, { option, column }] of able.entries()) {
        const nodes = option.slot > slot ? 0 : demands.at(option, slot);
        if (nodes > 0) entries.push([column, nodes]);
        ofJob = Math.max(ofJob, nodes);
        if (able[place + 1]?.option.job === option.job) continue;
        most += ofJob;
        ofJob = 0;
      }
      // Leaves out a row that all jobs together cannot violate.
      if (most <= free + SLACK) continue;
      for (const [column, nodes] of entries) rows.add(column, nodes);
      for (const [place, nodes] of freed.entries()) {
        const credit = nodes * holds[candidates[place]!]![slot]!;
        if (credit > 0) rows.add(options.length + place, -credit);
      }
      rows.end(Number.NEGATIVE_INFINITY, free);
    }
  }
}

/** Columns that a plan chooses. The value of each column must be an integer. */
export function chosenColumns(values: Float64Array, count: number): number[] {
  const chosen: number[] = [];
  for (let column = 0; column < count; column++) {
    const value = values[column]!;
    invariant(Math.abs(value - Math.round(value)) < 1e-4, `variable ${column} is ${value}, not whole`);
    if (value > 0.5) chosen.push(column);
  }
  return chosen;
}
