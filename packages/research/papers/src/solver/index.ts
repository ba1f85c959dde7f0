export { loadSolver, type Solver } from './highs.js';
export { ThreadedSolver } from './threaded.js';
