export type { SchedulerSnapshot, UserLoad } from './api/snapshot.js';
export * from './contract.js';
export { Job } from './job/job.js';
export type { JobObserver, SchedulerCounters } from './job/job-events.js';
export type { Tallies } from './job/tallies.js';
export { TASK_STATE_NAMES, TaskState } from './job/task-state.js';
export { Scheduler } from './scheduler.js';
