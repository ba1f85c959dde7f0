// The views that are loaded when one of them is first shown.
export { JobView } from './job.js';
export { PolicyView } from './policy.js';
export { SubmitView } from './submit.js';
export { UsersView } from './users.js';
export { WorkersView } from './workers.js';
