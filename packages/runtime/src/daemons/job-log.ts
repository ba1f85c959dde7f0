import type { Outcome, TaskIndex } from '@goshawk/core';
import type { Job, SchedulerEnvironment } from '@goshawk/scheduler';
import type { Logger } from '@goshawk/transport';
import { EventLog } from './event-log.js';

type Effects = Required<
  Pick<
    SchedulerEnvironment,
    'jobAccepted' | 'jobRecorded' | 'jobClassified' | 'taskBound' | 'attemptEnded' | 'jobEnded'
  >
>;

/** Maximum number of lines that wait for the record of a job. */
const WAITING_LINES_MAX = 100;

/**
 * Logs the main events of each job in its scheduler's log, once its acceptance is durable: if the disk fails before,
 * the job does not exist.
 *
 * @param workerOf returns the name of a task's worker
 */
export function jobLog(logger: Logger, workerOf: (job: Job, task: TaskIndex) => string): Effects {
  const log = new EventLog(logger);
  /** Lines of jobs whose acceptance is not durable yet. */
  const waiting = new Map<Job, Parameters<EventLog['report']>[]>();
  return {
    jobAccepted(job) {
      const { id, spec, taskCount } = job;
      const { name, user } = spec;
      const classified = job.estimate.isUndecided ? {} : classOf(job);
      const fields = { job: id, name, user, tasks: taskCount, ...classified };
      waiting.set(job, [['job-accepted', fields, 'job accepted']]);
    },
    jobRecorded(job) {
      const lines = waiting.get(job) ?? [];
      waiting.delete(job);
      for (const line of lines) log.report(...line);
    },
    jobClassified(job) {
      tell(job, 'job-classified', { job: job.id, ...classOf(job) }, 'job classified by its pilots');
    },
    taskBound(job, task) {
      if (job.history.total !== 1) return;
      tell(job, 'job-started', attemptOf(job, task), 'first task of the job was bound to a worker');
    },
    attemptEnded(job, task, outcome, runMs) {
      if (outcome.kind === 'completed') return;
      const attempt = attemptOf(job, task);
      const fields = { ...attempt, ...endOf(outcome), ms: Math.round(runMs) };
      tell(job, `attempt-${outcome.kind}`, fields, attemptLine(attempt, outcome));
    },
    jobEnded(job) {
      const { id, state, counts, acceptedAt, doneAt } = job;
      const fields = { job: id, state, ...counts, attempts: job.history.total };
      tell(job, 'job-ended', { ...fields, ms: Math.round(doneAt! - acceptedAt) }, `job ${state}`);
    },
  };

  function tell(job: Job, ...line: Parameters<EventLog['report']>): void {
    const before = waiting.get(job);
    if (before === undefined) log.report(...line);
    else if (before.length < WAITING_LINES_MAX) before.push(line);
  }

  function attemptOf(job: Job, task: TaskIndex): LoggedAttempt {
    return { job: job.id, task, attempt: job.tasks.attemptOf(task), worker: workerOf(job, task) };
  }
}

function classOf({ class: jobClass, estimate }: Job): object {
  return {
    class: jobClass,
    classifiedBy: estimate.classifiedBy,
    ...(estimate.meanMs !== undefined && { estimateMs: Math.round(estimate.meanMs) }),
  };
}

interface LoggedAttempt {
  readonly job: string;
  readonly task: TaskIndex;
  readonly attempt: number;
  readonly worker: string;
}

/** Describes the end of an attempt in one line, with all names. */
export function attemptLine(
  { job, task, attempt, worker }: LoggedAttempt,
  { kind, errorCode, exitCode, signal }: Outcome,
): string {
  const how = exitCode !== undefined ? `exit code ${exitCode}` : (signal ?? errorCode);
  const where = `task ${task} of ${job}, attempt ${attempt} on ${worker}`;
  return `${where}: ${kind}${how ? ` (${how})` : ''}`;
}

/** Returns the fields of an outcome without its message, which may contain output of the task. */
export function endOf({ kind, errorCode, exitCode, signal }: Outcome): object {
  return { outcome: kind, code: errorCode, exitCode, signal };
}
