export * from './address-numbers.js';
export * from './assert.js';
export * from './cgroup-limits.js';
export {
  type Counters,
  type DrainAnswer,
  type ListedWorker,
  LOST_WORKERS_MAX,
  LOST_WORKERS_MS,
  type LostWorker,
  type MissingScheduler,
  onlyCounts,
  type SchedulerIntroduction,
  type Schedulers,
  type SchedulerView,
  type TakeoverAnswer,
  WORKERS_PER_PAGE,
} from './cluster-view.js';
export * from './columns.js';
export * from './counts.js';
export * from './csv.js';
export * from './decaying-sum.js';
export * from './deque.js';
export * from './durations.js';
export * from './environment.js';
export * from './errors.js';
export * from './fields/fields.js';
export {
  type Attribute,
  BATCH_PARTS,
  type BatchPart,
  COMPLETED,
  type HeldRun,
  LANES,
  type Lane,
  type Member,
  OUTCOMES,
  type Outcome,
  type OutcomeKind,
  type OutputChunk,
  type Probe,
  type TaskAttempt,
} from './fields/records.js';
export { makeFolder } from './folders.js';
export { matchesGlob } from './glob.js';
export * from './gpus.js';
export * from './hash.js';
export * from './histogram.js';
export * from './http-address.js';
export { IdleConnections } from './idle-connections.js';
export * from './ids.js';
export * from './indexed-heap.js';
export { parseWith } from './issues.js';
export { readAmounts } from './job/amounts.js';
export { type Begin, beginOf } from './job/begin.js';
export { parseBytes } from './job/bytes.js';
export { deadlineSentence, latestStartOf } from './job/deadline-words.js';
export {
  type CentralLine,
  expectedWaitMs,
  type JobExplanation,
  mergedGroups,
  type NeedView,
  needOf,
  type StageWait,
  type StartWait,
  type TaskStory,
  type WaitingGroup,
  type WaitSpread,
  type WaitSum,
  withCentralLimits,
  withLimits,
} from './job/explanation.js';
export {
  type Impossible,
  possibleClasses,
  statedMs,
  whyImpossible,
  whyNoGang,
  whyOutside,
} from './job/impossible.js';
export { jobJson, resultJson, seconds, summaryJson, type TaskResult, taskJson } from './job/json.js';
export { jobJsonSchema } from './job/json-schema.js';
export { countTasks, describeIssue, hasGangs, parseJobSpec, parseTasks } from './job/parse.js';
export * from './job/payload.js';
export * from './job/priority.js';
export { JOB_QUERY_HINT, type JobQuery, parseJobQuery } from './job/query.js';
export * from './job/record.js';
export type { RetryChoice } from './job/retry-choice.js';
export { scopedKey } from './job/scoped-key.js';
export {
  type ClusterShares,
  fairShareOf,
  HELD_JOBS,
  type JobShare,
  largestShare,
  SHARES_MAX,
  type ShareHolder,
  shareHolders,
  sharesByUser,
} from './job/shares.js';
export { exitCodeOfSignal, nameOfRealTimeSignal, SIGNALS } from './job/signals.js';
export { givenSpan, type JobInput, type JobSpec, type StageSpec, type TaskList } from './job/spec.js';
export type { TaskContext } from './job/task-context.js';
export * from './job/usage.js';
export {
  type AttemptView,
  COMMAND_LENGTH_MAX,
  comparePlaces,
  type FateOfJob,
  isFinal,
  JOB_FATES,
  JOB_STATES,
  type JobDetail,
  type JobEnd,
  type JobEvent,
  type JobFate,
  type JobPlace,
  type JobState,
  type JobSummary,
  type LogPage,
  metDeadline,
  type Predecessor,
  placeOfJob,
  QUOTAS_LISTED_MAX,
  RESULT_ORDERS,
  type ResultPage,
  type ResultRow,
  STAGE_STATES,
  type StageState,
  type StageView,
  TASKS_LISTED_MAX,
  type TaskCounts,
  type TaskFailure,
  type TaskPage,
  type TaskRow,
  type UserQuota,
} from './job/view.js';
export * from './job/waiting.js';
export { predecessorWords, WAIT_PHASE_WORDS, WAITING_WORDS } from './job/waiting-words.js';
export { cutoffJson, waitingJson, whyJson } from './job/why-json.js';
export { jsonExcess } from './json-excess.js';
export { jsonLoss, parseExactJson } from './json-loss.js';
export * from './kill-outcomes.js';
export * from './latest.js';
export * from './limits.js';
export * from './linked-lists.js';
export * from './max-tree.js';
export { ROLES, type Role } from './messages/declaration.js';
export { sharedByNumber } from './messages/shared.js';
export * from './messages/table.js';
export * from './nearest.js';
export * from './needs/able-workers.js';
export * from './needs/attributes.js';
export { FeasibleWorkers } from './needs/feasible-workers.js';
export { Needs, NeedsTable } from './needs/needs.js';
export * from './optional-package.js';
export * from './ordered-numbers.js';
export * from './paint.js';
export * from './percentiles.js';
export * from './points.js';
export * from './policy/job-lengths.js';
export * from './policy/presets.js';
export * from './policy/settings.js';
export * from './present.js';
export * from './proc.js';
export * from './published.js';
export * from './random.js';
export { rendezvous } from './rendezvous.js';
export * from './resources.js';
export * from './rights.js';
export * from './segment.js';
export { shellWord } from './shell-word.js';
export * from './slices.js';
export * from './start-fault.js';
export * from './states.js';
export * from './sums.js';
export * from './table.js';
export * from './task-ranges.js';
export * from './terminal-text.js';
export * from './users.js';
export * from './vector.js';
export { isHostAllowed, webHostOf } from './web-address.js';
