import { type ByColumn, byColumn } from '@goshawk/policies';
import type { Formulated } from './formulate.js';
import { DEFERRED, type Option, type Problem } from './problem.js';

const SLACK = 1e-9;

/**
 * Makes a plan without a solver and without preemptions, for programs of `formulate`. Each job takes its best
 * option that still fits, in order of the best utility over the square root of the nodes.
 */
export function greedyPlan(
  { program, options }: Formulated,
  problem: Problem,
  first: readonly number[],
): Float64Array {
  const filling = new RemainingCapacity(program.rowUpper, byColumn(program), program.columns);
  for (const column of first) filling.take(column);
  for (const columns of groupByJob(options, problem, program.cost)) {
    if (columns.some((column) => filling.values[column]! > 0)) continue;
    columns.some((column) => filling.take(column));
  }
  return filling.values;
}

/**
 * Groups the options by job: jobs in order of decreasing worth, and their options in order of decreasing
 * value.
 */
function groupByJob(options: readonly Option[], { pending }: Problem, cost: Float64Array): number[][] {
  const ofJob = new Map<number, number[]>();
  for (const [column, { job }] of options.entries()) {
    const columns = ofJob.get(job);
    if (columns === undefined) ofJob.set(job, [column]);
    else columns.push(column);
  }
  const jobs = Array.from(ofJob, ([job, columns]) => {
    columns.sort((a, b) => cost[b]! - cost[a]! || a - b);
    return { columns, worth: cost[columns[0]!]! / Math.sqrt(pending[job]!.nodes) };
  });
  return jobs
    .sort((a, b) => b.worth - a.worth || a.columns[0]! - b.columns[0]!)
    .map(({ columns }) => columns);
}

/** Remaining capacity of each row as columns are chosen. */
class RemainingCapacity {
  readonly values: Float64Array;
  readonly #left: Float64Array;
  readonly #entries: ByColumn;

  constructor(rowUpper: Float64Array, entries: ByColumn, columns: number) {
    this.values = new Float64Array(columns);
    this.#left = rowUpper.slice();
    this.#entries = entries;
  }

  /**
   * Chooses a column.
   *
   * @returns false if the column does not fit
   */
  take(column: number): boolean {
    const { starts, rows, values } = this.#entries;
    const end = starts[column + 1]!;
    for (let at = starts[column]!; at < end; at++) {
      if (values[at]! > this.#left[rows[at]!]! + SLACK) return false;
    }
    for (let at = starts[column]!; at < end; at++) this.#left[rows[at]!]! -= values[at]!;
    this.values[column] = 1;
    return true;
  }
}

/**
 * Converts the previous plan to columns of the new program: the same job and space at the nearest grid time.
 */
export function shiftedPlan(
  { options }: Formulated,
  { now, starts, pending }: Problem,
  planned: ReadonlyMap<number, { readonly at: number; readonly space: number }>,
): number[] {
  const nearest = new Map<number, { column: number; distance: number }>();
  for (const [column, { job, space, slot }] of options.entries()) {
    const plan = planned.get(job);
    if (plan === undefined || pending[job] === undefined) continue;
    if ((plan.at === Number.POSITIVE_INFINITY) !== (slot === DEFERRED)) continue;
    if (slot !== DEFERRED && space !== plan.space) continue;
    const distance = slot === DEFERRED ? 0 : Math.abs(now + starts[slot]! - plan.at);
    const known = nearest.get(job);
    if (known === undefined || distance < known.distance) nearest.set(job, { column, distance });
  }
  return Array.from(nearest.values(), ({ column }) => column);
}
