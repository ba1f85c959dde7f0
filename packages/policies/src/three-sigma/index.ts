export { formulateAsPublished } from './as-published.js';
export { type Distribution, expectedHold, longest, scale, survival, takenToEndAt } from './distribution.js';
export { type Extracted, extract } from './extract.js';
export { type Formulated, formulate } from './formulate.js';
export { greedyPlan } from './greedy.js';
export { THREE_SIGMA_POLICIES } from './policies.js';
export { gridOf, ThreeSigma, type ThreeSigmaTally } from './policy.js';
export {
  DEFERRED,
  type GangStart,
  type Option,
  type PendingGang,
  type Plan,
  type Problem,
  type RunningGang,
  type Space,
} from './problem.js';
export {
  answerOf,
  type Program,
  type ProgramLimits,
  type ProgramSolution,
  type SolveProgram,
} from './program.js';
export type { ThreeSigmaOptions } from './settings.js';
export {
  chanceWithin,
  expectedUtility,
  extendedUtility,
  fallingUtility,
  stepUtility,
  type Utility,
} from './utility.js';
