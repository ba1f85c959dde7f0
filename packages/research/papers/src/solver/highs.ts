import type { Program, ProgramSolution, SolveProgram } from '@goshawk/policies';
import type { Highs, Model } from 'highs';

/**
 * HiGHS compiled to WebAssembly. It is single-threaded and limited by work, not time, so results are the same
 * on every machine. Loading is asynchronous; solving is synchronous.
 */
export interface Solver {
  readonly solve: SolveProgram;
  /** Version of HiGHS, on which the solution may depend. */
  readonly version: string;
}

export async function loadSolver(): Promise<Solver> {
  const { default: module } = await import('highs');
  // The package's types are for CommonJS, but the loaded module is an ES module.
  const highs = await (module as unknown as typeof module.default)();
  return { version: highs.version.string, solve: (program) => solve(highs, program) };
}

function solve(highs: Highs, program: Program): ProgramSolution {
  const { columns, rows, cost, upper, rowLower, rowUpper, starts, indices, values, limits } = program;
  if (columns === 0) return { values: new Float64Array(0), objective: 0, bound: 0 };
  const { objectiveSense, variableType } = highs.constants;
  const source = {
    numCols: columns,
    numRows: rows,
    sense: objectiveSense.maximize,
    colCost: cost,
    colLower: new Float64Array(columns),
    colUpper: upper,
    rowLower,
    rowUpper,
    matrix: { format: 'csr' as const, numRows: rows, numCols: columns, starts, indices, values },
    integrality: new Int32Array(columns).fill(variableType.integer),
  };
  return highs.withModel(source, (model: Model) => {
    // The heuristic for a first solution is off, because programs have a seed. It would take a quarter of the
    // time.
    const options = { output_flag: false, mip_rel_gap: limits.relativeGap, random_seed: 0 };
    model.options.set({ ...options, mip_heuristic_run_feasibility_jump: false });
    if (program.seed !== undefined) model.setSolution({ colValue: program.seed });
    model.run({
      [highs.constants.callbackType.mipInterrupt]: (event) => {
        if (Number(event.data.mip_total_lp_iterations ?? 0) > limits.lpIterationsMax) event.interrupt();
        return undefined;
      },
    });
    return {
      values: model.getSolution().colValue,
      objective: model.getObjectiveValue(),
      bound: model.info.get('mip_dual_bound') as number,
    };
  });
}
