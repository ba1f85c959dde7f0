export { alignment } from './amounts.js';
export { planJob } from './plan.js';
export type { PlanProblem } from './problem.js';
export { closedForm } from './shares.js';
export { CARBYNE_POLICIES } from './table.js';
