export * from './contract.js';
export { Job, TASK_STATE_NAMES, TaskState } from './job.js';
export type { JournalEntry } from './rebuild.js';
export { Scheduler } from './scheduler.js';
export type { SchedulerStanding } from './standing.js';
export type { Tallies } from './tallies.js';
