export type { PlanProblem } from './forward.js';
export { planJob } from './plan.js';
export { closedForm } from './shares.js';
export { CARBYNE_POLICIES } from './table.js';
