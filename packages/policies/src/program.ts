import type { SolverAnswer } from './contract.js';

/**
 * A mixed integer program: maximize `cost · x` subject to `rowLower ≤ A x ≤ rowUpper` and `0 ≤ x ≤ upper`, with all x
 * integers. It consists of arrays, so that it can be sent to a thread.
 */
export interface Program {
  readonly columns: number;
  readonly rows: number;
  readonly cost: Float64Array;
  readonly upper: Float64Array;
  readonly rowLower: Float64Array;
  readonly rowUpper: Float64Array;
  /** A in row-major sparse form: the entries of row r are `starts[r]` to `starts[r + 1]`. */
  readonly starts: Int32Array;
  readonly indices: Int32Array;
  readonly values: Float64Array;
  /** A feasible x as a starting point. */
  readonly seed: Float64Array | undefined;
  readonly limits: ProgramLimits;
}

export interface ProgramLimits {
  /**
   * Maximum number of simplex iterations, after which the best solution so far is used. Counts work instead of time,
   * to be reproducible.
   */
  readonly lpIterationsMax: number;
  /** Stops at this gap to the proven bound, relative to the objective. */
  readonly relativeGap: number;
}

export interface ProgramSolution {
  /** Solution by column. */
  readonly values: Float64Array;
  readonly objective: number;
  /** Upper bound of the objective. */
  readonly bound: number;
}

/** Solves synchronously. Throws if it fails. */
export type SolveProgram = (program: Program) => ProgramSolution;

/** Reply of a synchronous solver to a policy. */
export function answerOf(solve: SolveProgram, version: number, program: Program): SolverAnswer {
  try {
    return { kind: 'solution', version, solution: solve(program) };
  } catch (error) {
    return { kind: 'none', version, error: (error as Error).message };
  }
}

/** Builds rows one by one. */
export class RowBuilder {
  readonly #starts = [0];
  readonly #indices: number[] = [];
  readonly #values: number[] = [];
  readonly #lower: number[] = [];
  readonly #upper: number[] = [];

  add(column: number, value: number): void {
    this.#indices.push(column);
    this.#values.push(value);
  }

  /** Ends the row that consists of the entries added since the last call. */
  end(lower: number, upper: number): void {
    this.#starts.push(this.#indices.length);
    this.#lower.push(lower);
    this.#upper.push(upper);
  }

  get rows() {
    return {
      rows: this.#upper.length,
      rowLower: Float64Array.from(this.#lower),
      rowUpper: Float64Array.from(this.#upper),
      starts: Int32Array.from(this.#starts),
      indices: Int32Array.from(this.#indices),
      values: Float64Array.from(this.#values),
    };
  }
}

/** A in column-major sparse form. */
export interface ByColumn {
  readonly starts: Int32Array;
  readonly rows: Int32Array;
  readonly values: Float64Array;
}

/** Transposes the matrix, to visit it by column. */
export function byColumn({ columns, rows, starts, indices, values }: Program): ByColumn {
  const ends = new Int32Array(columns + 1);
  for (let at = 0; at < indices.length; at++) ends[indices[at]! + 1]! += 1;
  for (let column = 0; column < columns; column++) ends[column + 1]! += ends[column]!;
  const next = ends.slice();
  const turned = {
    starts: ends,
    rows: new Int32Array(indices.length),
    values: new Float64Array(indices.length),
  };
  for (let row = 0; row < rows; row++) {
    for (let at = starts[row]!; at < starts[row + 1]!; at++) {
      const to = next[indices[at]!]!++;
      turned.rows[to] = row;
      turned.values[to] = values[at]!;
    }
  }
  return turned;
}

/** The value of the objective for a solution. */
export function objectiveOf({ cost }: Program, values: Float64Array): number {
  let total = 0;
  for (let column = 0; column < cost.length; column++) total += cost[column]! * values[column]!;
  return total;
}
