export * from './assert.js';
export { boundedList } from './bounded.js';
export {
  type ClassRates,
  CounterRates,
  counterGroup,
  HISTORY_KEPT_MS,
  HISTORY_POINTS_PER_PAGE,
  HISTORY_STEP_MS,
  type HistoryPage,
  type HistoryPoint,
  type HistoryRoster,
  LOAD_LOST,
  sumCounters,
  UNKNOWN_RATES,
  useOf,
} from './cluster-history.js';
export type * from './cluster-outline.js';
export {
  type Counters,
  type DrainAnswer,
  drainState,
  EVENTS_KEPT_MS,
  type EventPage,
  eventTable,
  type HappenedEvent,
  type ListedWorker,
  LOST_WORKERS_MAX,
  LOST_WORKERS_MS,
  type LostWorker,
  lostWorkerView,
  type MissingScheduler,
  NOTICE_KINDS,
  type NoticeKind,
  onlyCounts,
  type SchedulerIntroduction,
  type Schedulers,
  type SchedulerView,
  type TakeoverAnswer,
  WORKERS_PER_PAGE,
  workerView,
} from './cluster-view.js';
export * from './environment.js';
export * from './errors.js';
export * from './fields/fields.js';
export {
  type Attribute,
  BATCH_PARTS,
  type BatchPart,
  type Borrowing,
  COMPLETED,
  LANES,
  type Lane,
  type Member,
  OUTCOMES,
  type Outcome,
  type OutcomeKind,
  type OutputChunk,
  type ParentRun,
  type Probe,
  type ReportedRun,
  type TaskAttempt,
  type TaskOfJob,
} from './fields/records.js';
export * from './ids.js';
export { parseWith } from './issues.js';
export { readAmounts } from './job/amounts.js';
export { type Begin, beginOf } from './job/begin.js';
export { parseBytes } from './job/bytes.js';
export {
  type DeadlineState,
  deadlineSentence,
  deadlineState,
  deadlineStateOf,
  forecastWords,
  latestStartOf,
  matchesDeadline,
} from './job/deadline-words.js';
export { type Background, explanationOf, longWords, mainWait } from './job/explain.js';
export {
  type CentralLine,
  expectedWaitMs,
  type JobExplanation,
  mergedGroups,
  type NeedView,
  needOf,
  type StageWait,
  type StartWait,
  type TaskExplanation,
  type WaitingGroup,
  type WaitSpread,
  type WaitSum,
  withCentralLimits,
  withLimits,
} from './job/explanation.js';
export * from './job/facts.js';
export {
  type Impossible,
  possibleClasses,
  statedMs,
  whyImpossible,
  whyNoGang,
  whyOutside,
} from './job/impossible.js';
export { classWords, cutoffWords, measures } from './job/job-words.js';
export {
  expectedEndTable,
  jobJson,
  jobsJson,
  jobsTable,
  jobTable,
  resultJson,
  resultKind,
  seconds,
  summaryJson,
  summaryTable,
  type TaskResult,
  taskJson,
  taskTable,
} from './job/json.js';
export * from './job/outline.js';
export type { GoneOutput, OutputStore, StoredOutput, StoredOutputPage } from './job/output-store.js';
export { countTasks, describeIssue, hasGangs, parseJobSpec, parseTasks } from './job/parse.js';
export * from './job/payload.js';
export { plannedOutline } from './job/planned-outline.js';
export * from './job/priority.js';
export { JOB_QUERY_HINT, type JobQuery, parseJobQuery } from './job/query.js';
export * from './job/record.js';
export type { RetryChoice } from './job/retry-choice.js';
export * from './job/segment.js';
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
export {
  givenParent,
  givenSpan,
  type JobInput,
  type JobSpec,
  jobJsonSchema,
  jobSpecSchema,
  type StageSpec,
  type TaskList,
} from './job/spec.js';
export * from './job/start-fault.js';
export * from './job/start-fault.js';
export type { TaskContext } from './job/task-context.js';
export * from './job/usage.js';
export {
  type AttemptView,
  COMMAND_LENGTH_MAX,
  compareCursors,
  cursorOf,
  DEADLINE_FILTERS,
  type DeadlineFilter,
  type FateOfJob,
  JOB_FATES,
  type JobCursor,
  type JobDetail,
  type JobEnd,
  type JobEvent,
  type JobFate,
  type JobSummary,
  type LendingView,
  type LogPage,
  metDeadline,
  type Predecessor,
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
  taskAddress,
  type UserQuota,
} from './job/view.js';
export * from './job/waiting.js';
export {
  lendingWords,
  predecessorWords,
  WAIT_PHASE_WORDS,
  WAITING_LABELS,
  WAITING_WORDS,
} from './job/waiting-words.js';
export { waitingJson, waitingTable, whyJson, whyTable } from './job/why-json.js';
export * from './limits.js';
export { sharedByNumber } from './messages/shared.js';
export * from './messages/table.js';
export * from './needs/able-workers.js';
export * from './needs/attributes.js';
export { FeasibleWorkers } from './needs/feasible-workers.js';
export { Needs, NeedsTable } from './needs/needs.js';
export { spreadOver } from './needs/requirements.js';
export * from './numbers/decaying-sum.js';
export * from './numbers/histogram.js';
export * from './numbers/percentiles.js';
export * from './numbers/random.js';
export * from './numbers/rendezvous.js';
export * from './numbers/sums.js';
export * as json from './output.js';
export * from './policy/job-lengths.js';
export * from './policy/presets.js';
export * from './policy/settings.js';
export * from './present.js';
export * from './published.js';
export * from './resources/gpus.js';
export * from './resources/resources.js';
export * from './resources/vector.js';
export * from './rights.js';
export * from './states.js';
export * from './structures/address-numbers.js';
export * from './structures/columns.js';
export * from './structures/dense-ids.js';
export * from './structures/deque.js';
export { IdleConnections } from './structures/idle-connections.js';
export * from './structures/indexed-heap.js';
export * from './structures/latest.js';
export * from './structures/linked-lists.js';
export * from './structures/ordered-numbers.js';
export * from './structures/points.js';
export * from './structures/query-budget.js';
export * from './structures/slices.js';
export * from './structures/table.js';
export * from './structures/thinning.js';
export * from './system/cgroup-limits.js';
export { makeFolder } from './system/folders.js';
export * from './system/http-address.js';
export {
  isNotifyAllowed,
  type NotifyTarget,
  notifyTargetName,
  notifyTargetOf,
} from './system/notify-target.js';
export * from './system/optional-package.js';
export { untrustedAt } from './system/ownership.js';
export * from './system/proc.js';
export { readRegularFile } from './system/regular-file.js';
export { exitCodeOfSignal, nameOfRealTimeSignal, SIGNALS } from './system/signals.js';
export * from './task-ranges.js';
export * from './text/counts.js';
export * from './text/csv.js';
export * from './text/durations.js';
export { matchesGlob } from './text/glob.js';
export { jsonExcess } from './text/json-excess.js';
export { jsonLoss, parseExactJson } from './text/json-loss.js';
export * from './text/nearest.js';
export * from './text/paint.js';
export { PLAIN_CHARACTER, shellWord } from './text/shell-word.js';
export { aligned, type Column, renderTable } from './text/table.js';
export * from './text/terminal-text.js';
export { asName, decodeText, nameProblem } from './text/utf8.js';
export * from './users.js';
