import type { Millis } from '../ids.js';
import type { Output } from '../published.js';
import { expectedEndOf } from './outline.js';
import {
  type AttemptView,
  isFinal,
  type JobDetail,
  type JobState,
  type JobSummary,
  type LendingView,
  metDeadline,
  type ResultRow,
  type TaskRow,
  taskAddress,
} from './view.js';

/** Available in every supported JavaScript engine. */
declare const TextDecoder: new () => { decode(bytes: Uint8Array): string };

/**
 * A job in a list. Times are ISO 8601, durations in seconds; unknown values are null.
 *
 * @param now wall clock, ms since 1970
 */
export function summaryJson(job: JobSummary, now: Millis): Record<string, unknown> {
  return {
    id: job.id,
    name: job.name,
    user: job.user ?? null,
    class: job.class,
    classifiedBy: job.classifiedBy,
    estimateSeconds: seconds(job.estimateMs),
    state: job.state,
    held: job.held ?? false,
    beginAt: job.beginAt === undefined ? null : new Date(job.beginAt).toISOString(),
    retryOf: job.retryOf ?? null,
    tasks: job.tasks,
    submittedAt: at(job, 0),
    startedAt: at(job, job.startedMs),
    endedAt: at(job, job.endedMs),
    deadlineAt: at(job, job.deadlineMs),
    deadlineMet: metDeadline(job, now) ?? null,
    expectedEnd: expectedEndJson(job, now),
  };
}

/** When an active job is expected to end, with an interval; null: unknown, or it has ended. */
function expectedEndJson(job: Pick<JobSummary, 'state' | 'expectedEnd'>, now: Millis) {
  const end = expectedEndOf(job, now);
  if (end === undefined) return null;
  const iso = (ms: Millis): string => new Date(ms).toISOString();
  return {
    at: iso(end.at),
    earliest: iso(end.earliest),
    latest: iso(end.latest),
    computedAt: iso(end.computedAt),
  };
}

/** `goshawk.job/1`: everything known about one job except its submitted spec. */
export function jobJson(job: JobDetail, now: Millis): Output {
  return {
    schema: 'goshawk.job/1',
    ...summaryJson(job, now),
    stages: job.stages.map(
      ({ estimateMs, meanRunMs, counts, command, commandsDiffer, demand, ...stage }) => ({
        ...stage,
        command: command ?? null,
        commandsDiffer: commandsDiffer ?? false,
        demand,
        counts,
        estimateSeconds: seconds(estimateMs),
        meanRunSeconds: seconds(meanRunMs),
      }),
    ),
    attempts: job.attemptList.map((attempt) => attemptJson(job, attempt)),
    attemptsTruncated: job.attemptsTruncated ?? job.attemptList.length < job.attempts.total,
    attemptCounts: job.attempts,
    sampling:
      job.sampling === undefined
        ? null
        : {
            pilotTasks: job.sampling.pilotTasks,
            decidedAt: at(job, job.sampling.decidedMs),
            pilots: job.sampling.pilots.map(({ task, state, runMs }) => ({
              task,
              state,
              runSeconds: seconds(runMs),
            })),
          },
    failures: job.failures.map(({ exitCode, signal, printed, stdoutFile, stderrFile, ...failure }) => ({
      ...failure,
      /** Output of the first few failed tasks. */
      printed: printed === undefined ? null : new TextDecoder().decode(printed),
      stdoutFile: stdoutFile ?? null,
      stderrFile: stderrFile ?? null,
      exitCode: exitCode ?? null,
      signal: signal ?? null,
    })),
    failuresTruncated: job.failuresTruncated,
    timeLimitSeconds: seconds(job.timeLimitMs),
    priority: job.priority,
    open: job.open ?? false,
    meanRunSeconds: seconds(job.meanRunMs),
    /** Time in unsuccessful attempts. */
    lostSeconds: seconds(job.wastedMs),
    after: job.after ?? [],
    cancelReason: job.cancelReason ?? null,
  };
}

function attemptJson(job: JobDetail, attempt: AttemptView): Record<string, unknown> {
  return {
    task: attempt.task,
    attempt: attempt.attempt,
    state: attempt.state,
    worker: attempt.worker,
    gpus: attempt.gpus ?? [],
    startedAt: at(job, attempt.startedMs),
    runSeconds: seconds(attempt.runMs),
    code: attempt.code || null,
    message: attempt.message || null,
    exitCode: attempt.exitCode ?? null,
    signal: attempt.signal ?? null,
    ...lendingJson(attempt),
  };
}

/** Pauses of an attempt, which its run time excludes, and the tasks (`JOB/TASK`) that it lent CPUs to and borrowed from. */
export function lendingJson({ pausedMs, lentTo, borrowedFrom }: LendingView) {
  return {
    pausedSeconds: seconds(pausedMs ?? 0)!,
    /** The task that uses its CPUs at present. */
    lentTo: lentTo === undefined ? null : taskAddress(lentTo),
    borrowedFrom: (borrowedFrom ?? []).map(taskAddress),
  };
}

/**
 * A task in a list of `goshawk.tasks/1`.
 *
 * @param submittedAt submission time of its job
 */
export function taskJson(task: TaskRow, submittedAt: Millis) {
  const { index, stage, state, attempt, worker, exitCode, startedMs, runMs, maxRssBytes, error } = task;
  const hasEnded = isFinal(state) && startedMs !== undefined && runMs !== undefined;
  return {
    index,
    stage,
    state,
    attempt,
    worker: worker ?? null,
    exitCode: exitCode ?? null,
    startedAt: at({ submittedAt }, startedMs),
    endedAt: hasEnded ? at({ submittedAt }, startedMs + runMs + (task.pausedMs ?? 0)) : null,
    runSeconds: seconds(runMs),
    maxRssBytes: maxRssBytes ?? null,
    error: error ?? null,
    ...lendingJson(task),
  };
}

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

/** The JSON form of a task’s result or error. */
export function resultJson(job: string, result: ResultRow): TaskResult {
  const { task: index, stage, state, attempt, value, code, message = '', exitCode, signal } = result;
  const { stdout = null, stderr = null } = result;
  return {
    index,
    stage,
    state,
    attempt,
    value: value ?? null,
    error: code === undefined ? null : { code, message, signal: signal ?? null },
    exitCode: exitCode ?? null,
    output: { stdout, stderr, logs: `goshawk logs ${job}/${index}` },
  };
}

function at(job: Pick<JobSummary, 'submittedAt'>, ms: Millis | undefined): string | null {
  return ms === undefined ? null : new Date(job.submittedAt + ms).toISOString();
}

/** Seconds with microsecond precision; null if unknown. */
export function seconds(ms: Millis | undefined): number | null {
  return ms === undefined ? null : Math.round(ms * 1_000) / 1_000_000;
}
