export {
  type ClusterShares,
  type Counters,
  type DrainAnswer,
  type EventPage,
  GoshawkError,
  type HappenedEvent,
  InputError,
  type JobDetail,
  type JobEvent,
  type JobInput,
  type JobShare,
  type JobState,
  type JobSummary,
  type LostWorker,
  type MissingScheduler,
  OutcomeUnknownError,
  rendezvous,
  type SchedulerView,
  type TakeoverAnswer,
  type TaskCounts,
  type TaskFailure,
  type TaskResult,
  type TaskRow,
  UnreachableError,
  type UserQuota,
  type WorkerState,
} from '@goshawk/core';

import type { TaskContext as Context } from '@goshawk/core';

/** Second argument of a module task's function. */
export type TaskContext = Context<AbortSignal>;

export type {
  CancelJobsOptions,
  CancelledJobs,
  CancelledTasks,
  CancelTasksOptions,
  TaskChoice,
} from './cancelling.js';
export { Cluster, type EventsOptions, type HistoryOptions } from './cluster.js';
export type { ClusterView, WorkerView } from './cluster-view.js';
export { connect } from './connect.js';
export type { ClusterCounters, CountersOptions } from './counters.js';
export { JobCancelled, JobFailed, WaitTimeout } from './errors.js';
export type { ClusterWaiting } from './explanations.js';
export { type Forecast, forecastOf, type StageForecast } from './forecast.js';
export {
  type EndedJob,
  type EndedJobWithTasks,
  type ExplainedJob,
  JobHandle,
  type WaitOptions,
} from './job-handle.js';
export type { Jobs, JobsOptions } from './job-listing.js';
export type { LogChunk, LogGap, LogOptions, TaskOutput } from './job-logs.js';
export type { EachResultOptions, ResultOrder, ResultRange, Results } from './job-results.js';
export type { Tasks, TasksOptions } from './job-tasks.js';
export {
  findLocalCluster,
  isHere,
  type LocalCluster,
  localClusterAt,
  localClusters,
  registerLocalCluster,
  unregisterLocalCluster,
} from './local-clusters.js';
export { type LocalGateway, registerLocalGateway, unregisterLocalGateway } from './local-gateways.js';
export type { MapOptions, MapWork } from './map.js';
export {
  type CallOptions,
  type ClientTimings,
  type ConnectOptions,
  DEFAULT_TIMINGS,
  type SubmitOptions,
} from './options.js';
export { type Plan, planJob, planJson, planOf, planTable } from './plan.js';
export type { PlannedEnd } from './planned-end.js';
export type { JobSubmission } from './submission.js';
export { type Usage, type UsageOptions, usageJson, usageTable } from './usage.js';
export {
  drainJson,
  drainTable,
  silentSchedulers,
  workerJson,
  workersJson,
  workersTable,
  workerTable,
} from './workers-json.js';
