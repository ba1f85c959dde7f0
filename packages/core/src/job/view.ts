import {
  bytes,
  choice,
  count,
  countTo,
  doc,
  flag,
  integer,
  list,
  open,
  optional,
  record,
  resources,
  signed,
  text,
  type View,
  view,
} from '../fields/fields.js';
import { attempt, line, ms, name, OUTCOMES, type TaskOfJob, task, taskOfJob } from '../fields/records.js';
import { LIMITS } from '../limits.js';
import { CLASSES } from '../policy/presets.js';
import { isFinal, JOB_STATES, type JobState } from '../states.js';
import { expectedEnd } from './outline.js';
import { PRIORITIES } from './priority.js';

export { isFinal, JOB_STATES, type JobState };

/**
 * The view of jobs in an owner's answers, which clients and the command print. Times are ms since acceptance
 * on the owner's clock; one wall-clock time relates them to the calendar.
 */

/** Commands with more characters are truncated. */
export const COMMAND_LENGTH_MAX = 500;
/** Full name of a party, or the name of a worker. */
const party = text(512);
/** Longer lists of tasks and attempts are truncated. */
const LISTED_MAX = 200;

const jobState = choice(...JOB_STATES);

/** Fate of a job as reported to dependent jobs. `forgotten`: it ended, but the outcome is no longer recorded. */
export const JOB_FATES = [...JOB_STATES, 'forgotten', 'unknown'] as const;
export type JobFate = (typeof JOB_FATES)[number];

const fate = { id: name, state: choice(...JOB_FATES), tasks: count, ended: count };
export const jobFate = record(fate);
export type FateOfJob = NonNullable<(typeof jobFate)['infer']>;

/** A job that another job depends on, as known to that job's owner; `ok`: it must complete. */
export const predecessor = view({ ...fate, ok: flag });
export type Predecessor = NonNullable<(typeof predecessor)['infer']>;

const taskCounts = view({
  total: count,
  waiting: count,
  running: count,
  completed: count,
  failed: count,
  cancelled: count,
});
export type TaskCounts = NonNullable<(typeof taskCounts)['infer']>;

/** A folder and a path within it; the path's placeholders are filled in. */
const outputFile = optional(text(LIMITS.pathLengthMax));

export const taskFailure = view({
  task,
  attempts: count,
  kind: choice(...OUTCOMES),
  code: text(64),
  message: line,
  exitCode: optional(integer),
  signal: optional(text(32)),
  worker: party,
  /** The last lines of its output: stdout, then stderr. */
  printed: optional(bytes(LIMITS.lastLinesBytesMax)),
  /** Files on the worker that receive its output. */
  stdoutFile: outputFile,
  stderrFile: outputFile,
});
export type TaskFailure = NonNullable<(typeof taskFailure)['infer']>;

/** CPUs that an attempt has lent and borrowed. `runMs` and `elapsedMs` of a task exclude its pauses. */
export const lendingFields = {
  /** For how long it was paused, until now; absent: never. */
  pausedMs: optional(ms),
  /** The task that uses its CPUs at present, so that it is paused; absent: it is not paused. */
  lentTo: optional(taskOfJob),
  /** Tasks that are paused for it, or were. */
  borrowedFrom: optional(list(taskOfJob, LIMITS.lendersMax)),
  /** It runs on CPUs of tasks that are paused for it, since its start; absent: it does not, or no more. */
  borrows: optional(flag),
  /** The task of `lentTo` is of a job that it has submitted: they share the CPUs, so it is not paused. */
  toChild: optional(flag),
  /** The task of `borrowedFrom` has submitted its job: they share the CPUs, so that one is not paused. */
  fromParent: optional(flag),
};

export type LendingView = View<typeof lendingFields>;

/** `JOB/TASK`, as commands accept it. */
export function taskAddress({ job, task }: TaskOfJob): string {
  return `${job}/${task}`;
}

export const attemptView = view({
  task,
  /** Starts at 1. */
  attempt,
  state: choice('running', ...OUTCOMES),
  worker: party,
  startedMs: ms,
  /** Run time so far, if it is running. */
  runMs: ms,
  /** Error code; absent without an error. */
  code: optional(text(64)),
  message: optional(line),
  exitCode: optional(integer),
  signal: optional(text(32)),
  /** Absent if there were none. */
  gpus: doc(
    'Names of the GPUs of the attempt, once the attempt has ended.',
    optional(list(name, LIMITS.gpusMax)),
  ),
  ...lendingFields,
});
/** One run of a task. */
export type AttemptView = NonNullable<(typeof attemptView)['infer']>;

const summaryFields = {
  id: name,
  name,
  user: optional(name),
  class: choice(...CLASSES),
  classifiedBy: name,
  estimateMs: optional(ms),
  state: jobState,
  tasks: taskCounts,
  /** Wall clock, ms since 1970. */
  submittedAt: ms,
  startedMs: optional(ms),
  /** When its last task ended, or when it was closed or cancelled after that. */
  endedMs: optional(ms),
  /** Deadline, relative to submission, also after a retry, from which it counts; undefined: none. */
  deadlineMs: optional(ms),
};

/** Changes that the user made since submission; summaries and details include them near their end. */
const startFields = {
  /** No task starts until the job is released. */
  held: optional(flag),
  /** No task starts earlier. Wall clock, ms since 1970; undefined once that time has passed. */
  beginAt: optional(ms),
};

/** The job whose tasks this job retries. */
const retryOf = optional(name);

/** When it is expected to end; undefined: unknown. Read it with `expectedEndOf`. */
const expected = optional(expectedEnd);

/** When its owner recorded its end, by which lists are ordered; absent: at `endedMs`. */
const recordedMs = optional(ms);

export const jobSummary = view({
  ...summaryFields,
  ...startFields,
  retryOf,
  expectedEnd: expected,
  recordedMs,
});
export type JobSummary = NonNullable<(typeof jobSummary)['infer']>;

/** Whether a job met its deadline; undefined: it has none, or the outcome is still open. */
export function metDeadline(
  { state, endedMs, deadlineMs, submittedAt }: JobSummary,
  now: number,
): boolean | undefined {
  if (deadlineMs === undefined) return undefined;
  if (isFinal(state)) return state === 'completed' && endedMs !== undefined && endedMs <= deadlineMs;
  return now > submittedAt + deadlineMs ? false : undefined;
}

/** How the job was classified by running some of its tasks first. */
export const samplingView = view({
  pilotTasks: count,
  /** The pilots; truncated. */
  pilots: list(record({ task, state: text(32), runMs: ms }), LISTED_MAX),
  /** undefined: not decided yet. */
  decidedMs: optional(ms),
});

/** States of a stage, and of a task in a list. `blocked`: an earlier stage has not completed. */
export const STAGE_STATES = ['blocked', ...JOB_STATES] as const;
export type StageState = (typeof STAGE_STATES)[number];

export const stageView = view({
  name,
  state: choice(...STAGE_STATES),
  tasks: count,
  /** Number of preceding stages that have not completed. */
  unfinished: count,
  /** Names of the stages that must complete first. */
  after: list(name, LIMITS.stagesPerJobMax),
  /** Estimated mean run time of its tasks; undefined: unknown. */
  estimateMs: optional(ms),
  counts: taskCounts,
  /** Mean run time of its completed tasks; undefined: none has completed. */
  meanRunMs: optional(ms),
  command: doc(
    'Command of the first task, truncated if long; null without tasks.',
    optional(text(COMMAND_LENGTH_MAX)),
  ),
  demand: doc('Demand of each task.', resources),
  commandsDiffer: doc('Whether another of the first 100 tasks has another command.', optional(flag)),
});
export type StageView = NonNullable<(typeof stageView)['infer']>;

export const jobDetail = view({
  ...summaryFields,
  /** Stages in topological order. */
  stages: list(stageView, LIMITS.stagesPerJobMax),
  sampling: optional(samplingView),
  attempts: record({ total: count, failed: count, lost: count }),
  /** Failed and lost attempts, then running and completed ones; truncated. */
  attemptList: list(attemptView, LISTED_MAX),
  /** The first failed tasks, with the error of the first failure. */
  failures: list(taskFailure, LISTED_MAX),
  failuresTruncated: flag,
  /** Mean run time of the completed tasks. */
  meanRunMs: optional(ms),
  /** Percentiles of their run times, by nearest rank; present once the job has ended. */
  runPercentilesMs: optional(record({ p50: ms, p90: ms, max: ms })),
  /** Run time of attempts that failed or were lost. */
  wastedMs: ms,
  firstStartMs: optional(ms),
  running: list(view({ task, attempt, worker: party, elapsedMs: ms, ...lendingFields }), LISTED_MAX),
  /** The submitted spec; present only if requested. */
  spec: optional(open),
  /** Limit from the first start; undefined: no limit. */
  timeLimitMs: optional(ms),
  priority: choice(...PRIORITIES),
  /** Unfinished jobs that it depends on; truncated. */
  after: optional(list(predecessor, LISTED_MAX)),
  /** Why the scheduler cancelled it; undefined: a user did. */
  cancelReason: optional(line),
  /** `attemptList` is truncated. */
  attemptsTruncated: optional(flag),
  ...startFields,
  /** Clients may append tasks to it. */
  open: optional(flag),
  retryOf,
  /** Number of its running tasks that are paused; absent: none. */
  pausedTasks: optional(count),
  expectedEnd: expected,
  recordedMs,
});
export type JobDetail = NonNullable<(typeof jobDetail)['infer']>;

export const jobEnd = view({
  job: jobDetail,
  /**
   * Start (ms since acceptance) and run time of each task's successful attempt; only if `detail` was
   * requested.
   */
  starts: optional(list(signed, LIMITS.timedTasksMax)),
  runs: optional(list(signed, LIMITS.timedTasksMax)),
});
export type JobEnd = NonNullable<(typeof jobEnd)['infer']>;

/** Events of a watched job: progress updates, and one end. */
export type JobEvent =
  | { readonly kind: 'progress'; readonly job: JobSummary }
  | ({ readonly kind: 'ended' } & JobEnd);

export const accepted = view({
  job: name,
  state: jobState,
  /** A likely mistake: no current worker could run part of the job. */
  warning: optional(line),
  /**
   * Retries only: the number of tasks that run again, and of selected tasks that do not because they
   * completed.
   */
  again: optional(count),
  completed: optional(count),
});

export const appended = view({
  /** Tasks of the job, including these. */
  tasks: count,
  /** Digest of all tasks that the last client appended: equal digests mean equal tasks. */
  digest: text(64),
  /** No more tasks may be appended. */
  closed: flag,
  state: jobState,
});

/** Maximum number of users in a scheduler's report of waiting tasks. */
export const QUOTAS_LISTED_MAX = 20;

export const userQuota = view({
  user: optional(name),
  /** Tasks of the user that have not started, and their limit at this scheduler. */
  waiting: count,
  max: count,
  scheduler: name,
});
export type UserQuota = NonNullable<(typeof userQuota)['infer']>;

/**
 * A position in a list of jobs: active jobs, oldest first, then ended jobs, newest first; equal times by id.
 */
const jobCursor = record({
  ended: flag,
  /** Submission of an active job, record of the end of an ended one. Wall clock, ms since 1970. */
  at: ms,
  id: name,
});
export type JobCursor = NonNullable<(typeof jobCursor)['infer']>;

/** Filters of a list of jobs by deadline. `any`: with a deadline. `risk`: expected to be missed. */
export const DEADLINE_FILTERS = ['any', 'risk', 'missed', 'met'] as const;
export type DeadlineFilter = (typeof DEADLINE_FILTERS)[number];

/** More filters of a list of jobs; texts are patterns with `*` and `?`. */
export const jobFilter = view({
  userLike: optional(name),
  name: optional(name),
  /** Excludes jobs that ended earlier. Wall clock, ms since 1970. */
  since: optional(ms),
  /** Lists only jobs after this position. */
  after: optional(jobCursor),
  /** Lists only jobs that are on hold, or begin later. */
  held: optional(flag),
  /** Lists only jobs whose deadline stands like this. */
  deadline: optional(choice(...DEADLINE_FILTERS)),
  /** Excludes jobs that were submitted later. Wall clock, ms since 1970. */
  until: optional(ms),
  /** Lists only jobs that have, or had, a task at a worker whose name matches. */
  worker: optional(name),
  /** Lists only jobs with a failed attempt that ended with this code, among the first 100. A signal counts as 128 + its number. */
  exit: optional(countTo(255, 1)),
});

/** Returns the position of a job in lists: active jobs by submission, ended ones by the record of their end. */
export function cursorOf({
  id,
  state,
  submittedAt,
  endedMs = 0,
  recordedMs = endedMs,
}: Pick<JobSummary, 'id' | 'state' | 'submittedAt' | 'endedMs' | 'recordedMs'>): JobCursor {
  const ended = isFinal(state);
  return { ended, at: ended ? submittedAt + recordedMs : submittedAt, id };
}

/** Compares two positions of a list of jobs. */
export function compareCursors(one: JobCursor, other: JobCursor): number {
  if (one.ended !== other.ended) return one.ended ? 1 : -1;
  if (one.at !== other.at) return one.at < other.at === one.ended ? 1 : -1;
  return one.id === other.id ? 0 : one.id < other.id ? -1 : 1;
}

export const jobList = view({
  jobs: list(jobSummary, LIMITS.answerValuesMax),
  /** Number of jobs that match the filters, listed or not. */
  total: count,
  /** Users with the most waiting tasks, if users have a limit. */
  quotas: optional(list(userQuota, QUOTAS_LISTED_MAX)),
  /**
   * Number of jobs by state, ignoring the filter by state; ended jobs that are no longer in memory count only
   * without a filter by name.
   */
  counts: optional(taskCounts),
  /** The list is complete up to this position; undefined: to its end. */
  reached: optional(jobCursor),
});

export const taskRow = view({
  index: doc('Index within the job, as in `GOSHAWK_TASK`.', task),
  stage: name,
  state: jobState,
  attempt: doc('Number of the last attempt; 0: none.', count),
  /** Worker of that attempt. */
  worker: optional(party),
  /** Start and run time of that attempt. */
  startedMs: optional(ms),
  runMs: optional(ms),
  exitCode: optional(integer),
  maxRssBytes: optional(count),
  /** Message of the last failure, or why the task is cancelled; absent for completed tasks. */
  error: optional(line),
  ...lendingFields,
});
/** One task of a job. Times count from when the job was accepted. */
export type TaskRow = NonNullable<(typeof taskRow)['infer']>;

/** Maximum number of tasks in one answer. */
export const TASKS_LISTED_MAX = 2_000;

export const taskPage = view({
  /** Acceptance time of the job. Wall clock, ms since 1970. */
  submittedAt: ms,
  tasks: list(taskRow, TASKS_LISTED_MAX),
  /** Number of tasks that match the filters, listed or not. */
  total: count,
  /** Start of the next page; undefined at the end. */
  next: optional(countTo(LIMITS.tasksPerJobMax)),
});
export type TaskPage = NonNullable<(typeof taskPage)['infer']>;
/**
 * Order of results. `index`: every task in any state. `prefix`: in index order up to the first task that has
 * not ended. `ended`: in the order in which tasks ended.
 */
export const RESULT_ORDERS = ['index', 'prefix', 'ended'] as const;

export const taskResult = view({
  /** Index in the job, from 0. */
  task,
  stage: name,
  state: jobState,
  attempt: doc('Number of the last attempt; 0: no attempt.', count),
  /** Return value of a completed task. */
  value: open,
  /** Error of a task that failed or was cancelled. */
  code: optional(text(64)),
  message: optional(line),
  exitCode: optional(integer),
  signal: optional(text(32)),
  /** Files that receive the output of a command instead of the log, if the job specifies them. */
  stdout: optional(text(LIMITS.pathLengthMax)),
  stderr: optional(text(LIMITS.pathLengthMax)),
});
/** The result of one task. */
export type ResultRow = NonNullable<(typeof taskResult)['infer']>;

export const resultPage = view({
  /** Values of tasks that returned one, by task; empty if an order was requested. */
  values: list(record({ task, value: open }), LIMITS.tasksPerJobMax),
  /** Start of the next page; undefined at the end. */
  next: optional(count),
  /** Results in the requested order. */
  tasks: optional(list(taskResult, LIMITS.answerValuesMax)),
});
export type ResultPage = NonNullable<(typeof resultPage)['infer']>;

export const logPage = view({
  /** In the order in which they arrived. */
  chunks: list(
    record({
      task,
      attempt,
      stream: choice('stdout', 'stderr'),
      bytes: bytes(LIMITS.outputBytesMax),
      /** Bytes that the attempt printed before, on both streams: more than the reader has means that output is missing. */
      offset: optional(count),
      /** When it arrived at the scheduler. Wall clock, ms since 1970. */
      at: ms,
    }),
    LIMITS.answerValuesMax,
  ),
  /** Pass it as `cursor` to continue. */
  next: count,
  /** There is no output after `next` yet. */
  atEnd: flag,
  /** The job has ended and there is no output after `next`. */
  done: flag,
  /** Output after the cursor was deleted before the job was, or was never stored. */
  dropped: flag,
  /** Why, as the end of a sentence. */
  whyDropped: optional(text(LIMITS.pathLengthMax)),
  /** Output of attempts before the last one was left out, because only the last one was requested. */
  hasEarlier: optional(flag),
});
/** Task output. */
export type LogPage = NonNullable<(typeof logPage)['infer']>;
