import { doc } from '../fields/fields.js';
import type { Millis } from '../ids.js';
import * as json from '../output.js';
import { type Cutoff, cutoffOrigin } from '../policy/settings.js';
import { isFinal, type JobState } from '../states.js';
import { expectedEndOf } from './outline.js';
import {
  type AttemptView,
  attemptView,
  type JobDetail,
  type JobSummary,
  jobDetail,
  jobSummary,
  type LendingView,
  metDeadline,
  type Predecessor,
  predecessor,
  type ResultRow,
  type StageView,
  stageView,
  type TaskCounts,
  type TaskFailure,
  type TaskRow,
  taskAddress,
  taskFailure,
  taskResult,
  taskRow,
  type UserQuota,
  userQuota,
} from './view.js';

/** Available in every supported JavaScript engine. */
declare const TextDecoder: new () => { decode(bytes: Uint8Array): string };

const { count, list, literal, or, orNull, omitted, same, table, text, time } = json;

/** Wall clock, ms since 1970: the present, and when the job was submitted, to which its times are relative. */
export interface JobTimes {
  readonly now: Millis;
  readonly submittedAt: Millis;
}

const at = ({ submittedAt }: Pick<JobTimes, 'submittedAt'>, ms: Millis | undefined): Millis | undefined =>
  ms === undefined ? undefined : submittedAt + ms;

const quota = table<UserQuota>()(() => ({
  user: omitted(text),
  ...same(userQuota, 'waiting', 'max', 'scheduler'),
}));

/** When a job is expected to end. */
export const expectedEndTable = table<NonNullable<JobSummary['expectedEnd']>>()(() => ({
  at: time,
  earliest: doc('The job ends from `earliest` to `latest` in about nine of ten cases.', time),
  latest: time,
  computedAt: doc('When this was computed.', time),
}));

/** A job in a list. Times are ISO 8601, durations in seconds; unknown values are null. */
export const summaryTable = table<JobSummary, { readonly now: Millis }>()((of) => ({
  ...same(jobSummary, 'id', 'name', 'user', 'class', 'classifiedBy'),
  estimateSeconds: of(orNull(json.seconds), (job) => job.estimateMs),
  ...same(jobSummary, 'state', 'held'),
  beginAt: doc('Earliest start; null once that time has passed.', orNull(time)),
  ...same(jobSummary, 'retryOf', 'tasks'),
  submittedAt: time,
  startedAt: of(orNull(time), (job) => at(job, job.startedMs)),
  endedAt: of(orNull(time), (job) => at(job, job.endedMs)),
  deadlineAt: of(orNull(time), (job) => at(job, job.deadlineMs)),
  deadlineMet: of(orNull(json.flag), (job, { now }) => metDeadline(job, now)),
  expectedEnd: doc(
    'When an active job is expected to end; null: unknown, or the job has ended.',
    of(orNull(expectedEndTable), (job, { now }) => expectedEndOf(job, now)),
  ),
}));

/** @param now wall clock, ms since 1970 */
export function summaryJson(job: JobSummary, now: Millis): json.JsonOf<typeof summaryTable> {
  return summaryTable.json(job, { now });
}

/** A list of jobs with what is missing in it. */
interface ListedJobs {
  readonly jobs: readonly JobSummary[];
  readonly total: number;
  readonly truncated: boolean;
  readonly counts: TaskCounts;
  readonly next?: number | undefined;
  readonly cursor?: string | undefined;
  readonly silent: readonly string[];
  readonly warnings: readonly string[];
  readonly quotas: readonly UserQuota[];
}

interface JobsContext {
  readonly now: Millis;
  /** Shown by the command only; null: central does not answer. */
  readonly cutoff?: Cutoff | null;
}

export const jobsTable = table<ListedJobs, JobsContext>()((of) => ({
  schema: of(literal('goshawk.jobs/1'), () => 'goshawk.jobs/1' as const),
  jobs: list(summaryTable),
  cutoffSeconds: doc(
    'Cutoff between short and long jobs, in the output of `goshawk jobs` only; null: central does not answer.',
    of(omitted(orNull(json.seconds)), (_, { cutoff }) =>
      cutoff === undefined ? undefined : (cutoff?.cutoffMs ?? null),
    ),
  ),
  cutoffFrom: doc(
    'Origin of the cutoff, in the output of `goshawk jobs` only.',
    of(omitted(orNull(text)), (_, { cutoff }) => cutoff && cutoffOrigin(cutoff)),
  ),
  total: doc('Number of jobs that match, listed or not.', count),
  truncated: json.flag,
  counts: doc(
    'Counts by state, independent of the state filter.',
    of(same(jobSummary, 'tasks').tasks, ({ counts }) => counts),
  ),
  next: doc('`from` of the next page; null with `after`.', orNull(count)),
  cursor: doc('`after` of the next page, which costs less than `from`.', orNull(text)),
  silent: doc('Schedulers that did not answer.', list(text)),
  warnings: list(text),
  quotas: doc('Waiting tasks per user at schedulers with a limit.', list(quota)),
}));

/** `goshawk.jobs/1` */
export function jobsJson(listed: ListedJobs, context: JobsContext): json.JsonOf<typeof jobsTable> {
  return jobsTable.json(listed, context);
}

/** Pauses of an attempt, which its run time excludes, and the tasks (`JOB/TASK`) that it lent CPUs to and borrowed from. */
export const lendingEntries = table<LendingView>()((of) => ({
  pausedSeconds: doc(
    'For how long the attempt was paused while other tasks used its CPUs; `runSeconds` excludes it.',
    of(json.seconds, ({ pausedMs }) => pausedMs ?? 0),
  ),
  lentTo: doc(
    'The task that uses its CPUs at present, as JOB/TASK; null: none.',
    of(orNull(text), ({ lentTo }) => (lentTo === undefined ? undefined : taskAddress(lentTo))),
  ),
  borrowedFrom: doc(
    'Tasks whose CPUs it uses, or used.',
    of(list(text), ({ borrowedFrom }) => (borrowedFrom ?? []).map(taskAddress)),
  ),
  toChild: doc(
    'It has submitted the job of `lentTo`: they share the CPUs, so it is not paused.',
    or(json.flag, false),
  ),
  fromParent: doc(
    '`borrowedFrom` is the task that has submitted its job, and is not paused.',
    or(json.flag, false),
  ),
})).entries;

const stage = table<StageView>()((of) => ({
  ...same(stageView, 'name', 'state', 'tasks'),
  unfinished: doc('Number of preceding stages that have not completed.', count),
  ...same(stageView, 'after', 'command', 'commandsDiffer', 'demand', 'counts'),
  estimateSeconds: of(orNull(json.seconds), ({ estimateMs }) => estimateMs),
  meanRunSeconds: doc(
    'Average run time of the completed tasks.',
    of(orNull(json.seconds), ({ meanRunMs }) => meanRunMs),
  ),
}));

const attempt = table<AttemptView, JobTimes>()((of) => ({
  ...same(attemptView, 'task', 'attempt', 'state', 'worker'),
  gpus: doc('Names of the GPUs of the attempt, once the attempt has ended.', or(list(text), [])),
  startedAt: of(time, ({ startedMs }, { submittedAt }) => submittedAt + startedMs),
  runSeconds: of(json.seconds, ({ runMs }) => runMs),
  code: of(orNull(text), ({ code }) => code || undefined),
  message: of(orNull(text), ({ message }) => message || undefined),
  ...same(attemptView, 'exitCode', 'signal'),
  ...lendingEntries,
}));

const pilot = table<NonNullable<JobDetail['sampling']>['pilots'][number]>()((of) => ({
  task: count,
  state: text,
  runSeconds: of(json.seconds, ({ runMs }) => runMs),
}));

const sampling = table<NonNullable<JobDetail['sampling']>, JobTimes>()((of) => ({
  pilotTasks: count,
  decidedAt: of(orNull(time), ({ decidedMs }, job) => at(job, decidedMs)),
  pilots: doc('The first hundred pilots.', list(pilot)),
}));

/** A job that a job still waits for. */
export const predecessorTable = table<Predecessor>()(() => ({
  ...same(predecessor, 'id', 'state', 'tasks', 'ended'),
  ok: doc('Whether it must complete successfully.', json.flag),
}));

const failure = table<TaskFailure>()((of) => ({
  ...same(taskFailure, 'task', 'attempts', 'kind', 'code', 'message', 'worker'),
  printed: doc(
    'Last lines of stdout and stderr of the task; for the first failures only.',
    of(orNull(text), ({ printed }) =>
      printed === undefined ? undefined : new TextDecoder().decode(printed),
    ),
  ),
  stdoutFile: doc('Files on the worker that receive the output instead of the log.', orNull(text)),
  ...same(taskFailure, 'stderrFile', 'exitCode', 'signal'),
}));

const resultError = table<ResultRow>()((of) => ({
  code: of(text, ({ code }) => code!),
  message: of(text, ({ message }) => message ?? ''),
  signal: orNull(text),
}));

const resultOutput = table<ResultRow, { readonly job: string }>()((of) => ({
  stdout: orNull(text),
  stderr: orNull(text),
  logs: of(text, ({ task }, { job }) => `goshawk logs ${job}/${task}`),
}));

/**
 * The result of one task, the same in the SDK, over HTTP and with `--json`; null means absent.
 * @typeParam Value return type of the job's tasks
 */
export interface TaskResult<Value = unknown> {
  /** Index of the task in its job, from 0. */
  readonly index: number;
  readonly stage: string;
  readonly state: JobState;
  /** Number of its last attempt, from 1; 0: no attempt. */
  readonly attempt: number;
  /**
   * Return value, or the JSON that a command with `returns` wrote; null for other tasks and until the task
   * completes.
   */
  readonly value: Value | null;
  /** Why it failed or was cancelled. */
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly signal: string | null;
  } | null;
  /** Exit code of a command that has ended. */
  readonly exitCode: number | null;
  /**
   * Location of the output: files on the worker that the job specifies, and the command that prints the log.
   */
  readonly output: { readonly stdout: string | null; readonly stderr: string | null; readonly logs: string };
}

const resultTable = table<ResultRow, { readonly job: string }>()((of) => ({
  index: doc(
    'Index of the task in its job, from 0.',
    of(count, ({ task }) => task),
  ),
  ...same(taskResult, 'stage', 'state', 'attempt'),
  value: doc(
    'Returned value; null if the task returned none, as commands do.',
    of(json.unknown, ({ value }) => value ?? null),
  ),
  error: of(orNull(resultError), (task) => (task.code === undefined ? undefined : task)),
  ...same(taskResult, 'exitCode'),
  output: of(resultOutput, (task) => task),
}));

/** Results that are JSON already. */
export const resultKind: json.Kind<TaskResult> = { schema: () => resultTable.schema() as never };

/** The JSON form of a task’s result or error. */
export function resultJson(job: string, result: ResultRow): TaskResult {
  return resultTable.json(result, { job });
}

/** What only some readers of a job ask for. */
export interface JobExtras {
  readonly spec?: unknown;
  readonly results?: readonly TaskResult[];
}

export const jobTable = table<JobDetail, JobTimes & JobExtras>()((of) => ({
  schema: of(literal('goshawk.job/1'), () => 'goshawk.job/1' as const),
  ...summaryTable.entries,
  stages: list(stage),
  attempts: of(list(attempt), ({ attemptList }) => attemptList),
  attemptsTruncated: doc(
    'Whether `attempts` is truncated; `/v1/jobs/{id}/tasks` lists all tasks.',
    of(json.flag, (job) => job.attemptsTruncated ?? job.attemptList.length < job.attempts.total),
  ),
  attemptCounts: of(same(jobDetail, 'attempts').attempts, ({ attempts }) => attempts),
  sampling: doc('Pilot tasks that determined the class of the job; null: none.', orNull(sampling)),
  failures: list(failure),
  ...same(jobDetail, 'failuresTruncated'),
  timeLimitSeconds: of(orNull(json.seconds), ({ timeLimitMs }) => timeLimitMs),
  ...same(jobDetail, 'priority', 'open'),
  meanRunSeconds: of(orNull(json.seconds), ({ meanRunMs }) => meanRunMs),
  lostSeconds: doc(
    'Run time of attempts that failed or were lost.',
    of(json.seconds, ({ wastedMs }) => wastedMs),
  ),
  after: or(list(predecessorTable), []),
  ...same(jobDetail, 'cancelReason'),
  spec: doc(
    'The submitted job, in the output of `job --spec` only.',
    of(omitted(json.unknown), (_, { spec }) => spec),
  ),
  results: doc(
    'Results, in the output of `wait --results` and `submit --results` only.',
    of(omitted(list(resultKind)), (_, { results }) => results),
  ),
}));

/** `goshawk.job/1`: everything known about one job. */
export function jobJson(job: JobDetail, now: Millis, extras: JobExtras = {}): json.JsonOf<typeof jobTable> {
  return jobTable.json(job, { now, submittedAt: job.submittedAt, ...extras });
}

/** A task in a list of `goshawk.tasks/1`. */
export const taskTable = table<TaskRow, Pick<JobTimes, 'submittedAt'>>()((of) => ({
  ...same(taskRow, 'index', 'stage', 'state', 'attempt', 'worker', 'exitCode'),
  startedAt: of(orNull(time), (task, job) => at(job, task.startedMs)),
  endedAt: of(orNull(time), ({ state, startedMs, runMs, pausedMs = 0 }, job) =>
    isFinal(state) && startedMs !== undefined && runMs !== undefined
      ? at(job, startedMs + runMs + pausedMs)
      : undefined,
  ),
  runSeconds: of(orNull(json.seconds), ({ runMs }) => runMs),
  ...same(taskRow, 'maxRssBytes', 'error'),
  ...lendingEntries,
}));

/** @param submittedAt submission time of its job */
export function taskJson(task: TaskRow, submittedAt: Millis): json.JsonOf<typeof taskTable> {
  return taskTable.json(task, { submittedAt });
}

/** Seconds with microsecond precision; null if unknown. */
export function seconds(ms: Millis | undefined): number | null {
  return ms === undefined ? null : json.seconds.json!(ms, undefined);
}
