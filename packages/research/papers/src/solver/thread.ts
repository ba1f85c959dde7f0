/** Main file of the solver's thread: receives programs and replies with solutions, one at a time. */
import { parentPort } from 'node:worker_threads';
import type { Program } from '@goshawk/policies';
import { loadSolver } from './highs.js';
import type { SolverMessage, SolverReply } from './threaded.js';

const { solve } = await loadSolver();

parentPort!.postMessage('loaded' satisfies SolverMessage);
parentPort!.on('message', (program: Program) => {
  parentPort!.postMessage(solveProgram(program));
});

function solveProgram(program: Program): SolverReply {
  try {
    return { solution: solve(program) };
  } catch (error) {
    return { error: (error as Error).message };
  }
}
