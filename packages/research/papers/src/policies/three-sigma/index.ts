export { formulateAsPublished } from './as-published.js';
export {
  assumedEnd,
  type Distribution,
  expectedShareHeld,
  longest,
  scale,
  survival,
} from './distribution.js';
export { type Extracted, extract } from './extract.js';
export { formulate } from './formulate.js';
export { greedyPlan } from './greedy.js';
export { THREE_SIGMA_POLICIES } from './policies.js';
export { ThreeSigma } from './policy.js';
export {
  DEFERRED,
  type Option,
  type Plan,
  type Problem,
  type Space,
} from './problem.js';
export type { ThreeSigmaOptions } from './settings.js';
export {
  decreasingUtility,
  expectedUtility,
  extendedUtility,
  stepUtility,
  type Utility,
} from './utility.js';
