import type { SolverAnswer } from './contract.js';

/**
 * A mixed integer program: maximise `cost · x` where `rowLower ≤ A x ≤ rowUpper` and `0 ≤ x ≤ upper`, all x whole
 * numbers. Arrays only, so that it can be handed to a thread.
 */
export interface Program {
  readonly columns: number;
  readonly rows: number;
  readonly cost: Float64Array;
  readonly upper: Float64Array;
  readonly rowLower: Float64Array;
  readonly rowUpper: Float64Array;
  /** A by rows: the entries of row r are those from `starts[r]` to `starts[r + 1]`. */
  readonly starts: Int32Array;
  readonly indices: Int32Array;
  readonly values: Float64Array;
  /** A feasible x to begin with. */
  readonly seed: Float64Array | undefined;
  readonly limits: ProgramLimits;
}

export interface ProgramLimits {
  /** Iterations of linear programs after which the best solution so far is taken: work, not time. */
  readonly lpIterationsMax: number;
  /** Distance from the proven bound, as a share of the objective, at which it stops. */
  readonly relativeGap: number;
}

export interface ProgramSolution {
  /** Values by column. */
  readonly values: Float64Array;
  readonly objective: number;
  /** No solution is worth more. */
  readonly bound: number;
}

/** Solves at once. Throws where it cannot. */
export type SolveProgram = (program: Program) => ProgramSolution;

/** Reply of a synchronous solver to a policy. */
export function answerOf(solve: SolveProgram, version: number, program: Program): SolverAnswer {
  try {
    return { kind: 'solution', version, solution: solve(program) };
  } catch (error) {
    return { kind: 'none', version, error: (error as Error).message };
  }
}

/** Rows as they are built, one after another. */
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

  /** Ends the row of what was added since the last one. */
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

/** The entries of A by columns. */
export interface ByColumn {
  readonly starts: Int32Array;
  readonly rows: Int32Array;
  readonly values: Float64Array;
}

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

export function objectiveOf({ cost }: Program, values: Float64Array): number {
  let total = 0;
  for (let column = 0; column < cost.length; column++) total += cost[column]! * values[column]!;
  return total;
}
