import {
  bytes,
  choice,
  count,
  countTo,
  flag,
  integer,
  list,
  open,
  optional,
  record,
  resources,
  signed,
  text,
  view,
} from '../fields/fields.js';
import { attempt, line, ms, name, OUTCOMES, task } from '../fields/records.js';
import { LIMITS } from '../limits.js';
import { CLASSES } from '../policy/presets.js';
import { PRIORITIES } from './priority.js';

/**
 * The view of jobs in an owner's answers, which clients and the command print. Times are ms since acceptance
 * by the owner's clock, with one wall-clock reading.
 */

/** Characters of a command that are shown. */
export const COMMAND_LENGTH_MAX = 500;
/** Full name of a party, or the name of a worker. */
const party = text(512);
/** Tasks and attempts that are listed one by one. */
const LISTED_MAX = 200;

export const JOB_STATES = ['waiting', 'running', 'completed', 'failed', 'cancelled'] as const;
/** `waiting`: nothing has started; `running`: something has; the rest is final. */
export type JobState = (typeof JOB_STATES)[number];
const jobState = choice(...JOB_STATES);

/** Fate of a job as reported to dependent jobs. `forgotten`: it ended, but the outcome is no longer recorded. */
export const JOB_FATES = [...JOB_STATES, 'forgotten', 'unknown'] as const;
export type JobFate = (typeof JOB_FATES)[number];

const fate = { id: name, state: choice(...JOB_FATES), tasks: count, ended: count };
export const jobFate = record(fate);
export type FateOfJob = NonNullable<(typeof jobFate)['infer']>;

/** A job that another one waits for, as far as that one's owner has heard; `ok`: it must complete. */
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

/** A folder and a path within it, with the job's id and two numbers filled in. */
const outputFile = optional(text(LIMITS.pathLengthMax));

const taskFailure = view({
  task,
  attempts: count,
  kind: choice(...OUTCOMES),
  code: text(64),
  message: line,
  exitCode: optional(integer),
  signal: optional(text(32)),
  worker: party,
  /** The last lines that it printed, as far as they are shown: those of stdout, then those of stderr. */
  printed: optional(bytes(LIMITS.lastLinesBytesMax)),
  /** Files of the worker that its output went to. */
  stdoutFile: outputFile,
  stderrFile: outputFile,
});
export type TaskFailure = NonNullable<(typeof taskFailure)['infer']>;

const attemptView = view({
  task,
  /** Starts at 1. */
  attempt,
  state: choice('running', ...OUTCOMES),
  worker: party,
  startedMs: ms,
  /** So far, when it is running. */
  runMs: ms,
  /** Error code; absent without an error. */
  code: optional(text(64)),
  message: optional(line),
  exitCode: optional(integer),
  signal: optional(text(32)),
  /** Names of the GPUs that it had, once it has ended; not there where it had none. */
  gpus: optional(list(name, LIMITS.gpusMax)),
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
  endedMs: optional(ms),
  /** Deadline from submission; undefined: none. */
  deadlineMs: optional(ms),
};

/** Changes that the user made since submission; among the last fields of summaries and details. */
const standingFields = {
  /** Nothing of it starts until it is released. */
  held: optional(flag),
  /** Nothing of it starts before. Wall clock, ms since 1970; undefined once that time has come. */
  beginAt: optional(ms),
};

/** The job of which it retries tasks. */
const retryOf = optional(name);

export const jobSummary = view({ ...summaryFields, ...standingFields, retryOf });
export type JobSummary = NonNullable<(typeof jobSummary)['infer']>;

/** Whether a job has met its deadline; undefined where it has none, or has neither ended nor missed it. */
export function metDeadline(
  { state, endedMs, deadlineMs, submittedAt }: JobSummary,
  now: number,
): boolean | undefined {
  if (deadlineMs === undefined) return undefined;
  if (isFinal(state)) return state === 'completed' && endedMs !== undefined && endedMs <= deadlineMs;
  return now > submittedAt + deadlineMs ? false : undefined;
}

/** How the class of a job was found out by running some of its tasks first. */
export const samplingView = view({
  pilotTasks: count,
  /** The first hundred of them. */
  pilots: list(record({ task, state: text(32), runMs: ms }), LISTED_MAX),
  /** Undefined while it is not decided. */
  decidedMs: optional(ms),
});

/** States of a stage, and of a task in a list: `blocked` is a stage that comes after another one. */
export const STAGE_STATES = ['blocked', ...JOB_STATES] as const;
export type StageState = (typeof STAGE_STATES)[number];

const stageView = view({
  name,
  /** One of `STAGE_STATES`; `started` and `ended` of a scheduler that is older. */
  state: text(32),
  tasks: count,
  /** Predecessors that have not ended. */
  unfinished: count,
  /** Names of the stages that have to complete before. */
  after: list(name, LIMITS.stagesPerJobMax),
  /** Mean run time of its tasks, as it is believed; undefined: nothing is known. */
  estimateMs: optional(ms),
  /** Not there from a scheduler that is older. */
  counts: optional(taskCounts),
  /** Mean run time of its tasks that completed; undefined while none has. */
  meanRunMs: optional(ms),
  /** The command of its first task, truncated if long. */
  command: optional(text(COMMAND_LENGTH_MAX)),
  /** The demand of each task. */
  demand: resources,
});
export type StageView = NonNullable<(typeof stageView)['infer']>;

export const jobDetail = view({
  ...summaryFields,
  /** In an order in which they can run. */
  stages: list(stageView, LIMITS.stagesPerJobMax),
  sampling: optional(samplingView),
  /** Runs in all, and those that failed or were lost. */
  attempts: record({ total: count, failed: count, lost: count }),
  /** Those that failed or were lost, then those that run or completed; the first hundred in all. */
  attemptList: list(attemptView, LISTED_MAX),
  /** The first of them, with the first failure's error. */
  failures: list(taskFailure, LISTED_MAX),
  failuresTruncated: flag,
  /** Mean run time of the tasks that completed. */
  meanRunMs: optional(ms),
  /** How their run times are spread, by nearest rank; there once the job has ended. */
  runPercentilesMs: optional(record({ p50: ms, p90: ms, max: ms })),
  /** Run time of attempts that failed or were lost. */
  wastedMs: ms,
  firstStartMs: optional(ms),
  running: list(record({ task, attempt, worker: party, elapsedMs: ms }), LISTED_MAX),
  /** The submitted spec; present only if requested. */
  spec: optional(open),
  /** Limit from the first start; undefined: none. */
  timeLimitMs: optional(ms),
  priority: choice(...PRIORITIES),
  /** Jobs that it still waits for; the first hundred. */
  after: optional(list(predecessor, LISTED_MAX)),
  /** Why its scheduler has cancelled it; undefined where somebody else has. */
  cancelReason: optional(line),
  /** `attemptList` leaves some out. */
  attemptsTruncated: optional(flag),
  ...standingFields,
  /** Clients append tasks to it. */
  open: optional(flag),
  retryOf,
});
export type JobDetail = NonNullable<(typeof jobDetail)['infer']>;

export const jobEnd = view({
  job: jobDetail,
  /** The start (ms since acceptance) and run time of each task's successful attempt; only for `detail`. */
  starts: optional(list(signed, LIMITS.timedTasksMax)),
  runs: optional(list(signed, LIMITS.timedTasksMax)),
});
export type JobEnd = NonNullable<(typeof jobEnd)['infer']>;

/** Events of a watched job: progress from time to time, and one end. */
export type JobEvent =
  | { readonly kind: 'progress'; readonly job: JobSummary }
  | ({ readonly kind: 'ended' } & JobEnd);

export const accepted = view({
  job: name,
  state: jobState,
  /** A likely mistake: no current worker could run part of the job. */
  warning: optional(line),
  /** Retries only: tasks that run again, and selected tasks that had completed and do not. */
  again: optional(count),
  completed: optional(count),
});

export const appended = view({
  /** Tasks of the job, these included. */
  tasks: count,
  /** Digest of all tasks that the last client appended: equal digests mean equal tasks. */
  digest: text(64),
  /** Nothing more is appended. */
  closed: flag,
  state: jobState,
});

/** Users of whom one scheduler tells what they have waiting. */
export const QUOTAS_LISTED_MAX = 20;

const userQuota = view({
  user: optional(name),
  /** Tasks of the user that have not started, and how many may wait at this scheduler. */
  waiting: count,
  max: count,
  scheduler: name,
});
export type UserQuota = NonNullable<(typeof userQuota)['infer']>;

/** A place in a list of jobs: active ones, oldest first, then ended ones, latest first; equal times by id. */
export const jobPlace = record({
  ended: flag,
  /** Submission of an active job, end of an ended one. Wall clock, ms since 1970. */
  at: ms,
  id: name,
});
export type JobPlace = NonNullable<(typeof jobPlace)['infer']>;

/** Further filters of a list of jobs; texts are patterns with `*` and `?`. */
export const jobFilter = view({
  userLike: optional(name),
  name: optional(name),
  /** Leaves out jobs that ended earlier. Wall clock, ms since 1970. */
  since: optional(ms),
  /** Lists only what follows this place. */
  after: optional(jobPlace),
});

export function placeOfJob({
  id,
  state,
  submittedAt,
  endedMs = 0,
}: Pick<JobSummary, 'id' | 'state' | 'submittedAt' | 'endedMs'>): JobPlace {
  const ended = isFinal(state);
  return { ended, at: ended ? submittedAt + endedMs : submittedAt, id };
}

/** Compares places for sorting. */
export function comparePlaces(one: JobPlace, other: JobPlace): number {
  if (one.ended !== other.ended) return one.ended ? 1 : -1;
  if (one.at !== other.at) return one.at < other.at === one.ended ? 1 : -1;
  return one.id === other.id ? 0 : one.id < other.id ? -1 : 1;
}

export const jobList = view({
  jobs: list(jobSummary, LIMITS.answerValuesMax),
  /** That match the filters, listed or not. */
  total: count,
  /** Matches of the other filters by state; ended jobs that left memory count only where no name is asked for. */
  counts: optional(taskCounts),
  /** The list is complete up to this place; undefined: to its end. */
  reached: optional(jobPlace),
  /** Those who have most waiting, where a user may have only so much. */
  quotas: optional(list(userQuota, QUOTAS_LISTED_MAX)),
});

const taskRow = view({
  /** In the job, as in `GOSHAWK_TASK`. */
  index: task,
  stage: name,
  state: jobState,
  /** Number of its last attempt; 0: it had none. */
  attempt: count,
  /** Worker of that attempt. */
  worker: optional(party),
  /** When that attempt started, and for how long it has run. */
  startedMs: optional(ms),
  runMs: optional(ms),
  exitCode: optional(integer),
  maxRssBytes: optional(count),
  /** Message of the last failure; absent for completed tasks. */
  error: optional(line),
});
/** One task of a job. Times count from when the job was accepted. */
export type TaskRow = NonNullable<(typeof taskRow)['infer']>;

/** Tasks in one answer. */
export const TASKS_LISTED_MAX = 2_000;

export const taskPage = view({
  /** When the job was accepted. Wall clock, ms since 1970. */
  submittedAt: ms,
  tasks: list(taskRow, TASKS_LISTED_MAX),
  /** That match the filters, listed or not. */
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

const taskResult = view({
  /** Index in the job, from 0. */
  task,
  stage: name,
  state: jobState,
  /** Number of the last attempt; 0: none was made. */
  attempt: count,
  /** Return value of a completed task. */
  value: open,
  /** Error of a task that failed or was cancelled. */
  code: optional(text(64)),
  message: optional(line),
  exitCode: optional(integer),
  signal: optional(text(32)),
  /** Files that a command writes in place of the log, where the job names them. */
  stdout: optional(text(LIMITS.pathLengthMax)),
  stderr: optional(text(LIMITS.pathLengthMax)),
});
/** The result of one task. */
export type ResultRow = NonNullable<(typeof taskResult)['infer']>;

export const resultPage = view({
  /** By task, where tasks returned something; empty where an order was asked for. */
  values: list(record({ task, value: open }), LIMITS.tasksPerJobMax),
  /** Start of the next page; undefined at the end. */
  next: optional(count),
  /** In the order that was asked for. */
  tasks: optional(list(taskResult, LIMITS.answerValuesMax)),
});
export type ResultPage = NonNullable<(typeof resultPage)['infer']>;

export const logPage = view({
  /** In the order in which they arrived. */
  chunks: list(
    record({ task, attempt, stream: choice('stdout', 'stderr'), bytes: bytes(LIMITS.outputBytesMax) }),
    LIMITS.answerValuesMax,
  ),
  /** Give it back as `cursor` to go on. */
  next: count,
  /** There is nothing after `next` at present. */
  atEnd: flag,
  /** Nothing will follow `next`: the job has ended and all is read. */
  done: flag,
  /** Older output was dropped to stay within the owner's memory. */
  dropped: flag,
});
/** Task output. */
export type LogPage = NonNullable<(typeof logPage)['infer']>;

export function isFinal(state: JobState): boolean {
  return state === 'completed' || state === 'failed' || state === 'cancelled';
}
