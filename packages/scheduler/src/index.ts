export * from './contract.js';
export { Job, TASK_STATE_NAMES, TaskState } from './job/job.js';
export type { SchedulerStanding } from './observing/snapshot.js';
export type { Tallies } from './observing/tallies.js';
export { Scheduler } from './scheduler.js';
