import { type Painter, painter, paintJobState, paintState, plain } from '@goshawk/command';
import {
  counted,
  deadlineState,
  expectedEndOf,
  formatCount,
  formatDuration,
  isFinal,
  type JobDetail,
  type JobSummary,
  type Millis,
  measures,
  metDeadline,
  type TaskFailure,
} from '@goshawk/core';
import { expectedEndTime } from './local-time.js';

/** Maximum number of failures that are shown by default. */
const FAILURES_SHOWN = 5;

/** Returns the heading of a job: `a1-3  sweep  running` */
export function heading(job: JobSummary, paint: Painter): string {
  return `${paint.bold(job.id)}  ${plain(job.name)}  ${paintJobState(job, paint)}`;
}

/**
 * Returns the outcome of an ended job in one line: `a1-3 failed: 2 of 200 tasks failed, 198 completed, after
 * 5.2 s`.
 *
 * @param retriedMs time since its retry, which counts in place of the time since its submission
 */
export function outcomeLine(job: JobSummary, paint: Painter, retriedMs?: Millis): string {
  const { total, completed, failed, cancelled } = job.tasks;
  const took =
    retriedMs === undefined
      ? `after ${formatDuration(job.endedMs ?? 0)}`
      : `${formatDuration(retriedMs)} after the retry`;
  const after = job.endedMs === undefined ? '' : `, ${took}${lateness(job)}`;
  const head = `${job.id} ${paintState(job.state, paint)}`;
  switch (job.state) {
    case 'completed':
      return `${head}: ${counted(total, 'task')}${after}`;
    case 'failed': {
      const rest = [
        ...(completed > 0 ? [`, ${formatCount(completed)} completed`] : []),
        ...(cancelled > 0 ? [`, ${formatCount(cancelled)} cancelled`] : []),
      ].join('');
      return `${head}: ${formatCount(failed)} of ${counted(total, 'task')} failed${rest}${after}`;
    }
    default: {
      const rest = failed > 0 ? `, ${formatCount(failed)} failed` : '';
      return `${head}: ${formatCount(completed)} of ${counted(total, 'task')} had completed${rest}${after}`;
    }
  }
}

/** Describes how late a job ended; empty if it met its deadline. */
function lateness({ endedMs = 0, deadlineMs = Number.POSITIVE_INFINITY }: JobSummary): string {
  return endedMs > deadlineMs ? `, ${formatDuration(endedMs - deadlineMs)} after its deadline` : '';
}

/** Returns the time from the job's submission to its end: `20.1 s`, or `12.7 s so far`. @param now wall clock, ms since 1970 */
export function tookWords({ state, endedMs, submittedAt }: JobSummary, now: Millis): string {
  if (!isFinal(state)) return `${formatDuration(Math.max(0, now - submittedAt))} so far`;
  return endedMs === undefined ? '' : formatDuration(Math.max(0, endedMs));
}

/**
 * Describes the deadline: `met`, `missed`, or the time left: `in 12 min 0 s`, with `probably missed` or `at risk` if the job is
 * expected to end, or may end, after it.
 *
 * @param now wall clock, ms since 1970
 */
export function deadlineWords(job: JobSummary, now: Millis): string {
  const met = metDeadline(job, now);
  if (met !== undefined) return met ? 'met' : 'missed';
  const { deadlineMs, submittedAt } = job;
  if (deadlineMs === undefined) return '';
  const state = deadlineState(job, now);
  const risk = state === 'late' ? ', probably missed' : state === 'risk' ? ', at risk' : '';
  return `in ${formatDuration(submittedAt + deadlineMs - now)}${risk}`;
}

/** When an active job is expected to end: `17:26 (17:21 to 17:40)` or `unknown`; empty for an ended job. @param now wall clock */
export function endWords(job: JobSummary, now: Millis): string {
  if (isFinal(job.state)) return '';
  const end = expectedEndOf(job, now);
  return end === undefined ? 'unknown' : expectedEndTime(end, now);
}

/** Lists the first names: `w0, w1 and 3 more` */
export function someNames(names: readonly string[], max: number): string {
  const hidden = names.length - max;
  return `${names.slice(0, max).join(', ')}${hidden > 0 ? ` and ${hidden} more` : ''}`;
}

/** Returns lines about failures: the first failed tasks, and how to see more. */
export function failureLines(job: JobDetail): string[] {
  if (job.tasks.failed === 0) return [];
  const failures = job.failures.slice(0, FAILURES_SHOWN);
  const shown = failures.flatMap((failure, index) => [
    failureLine(failure),
    ...printedLines(failure, failures[index - 1]),
    ...fileLines(failure),
  ]);
  const hidden = job.tasks.failed - failures.length;
  return [...shown, ...(hidden > 0 ? [`and ${formatCount(hidden)} more`] : [])];
}

/** Returns commands that help after a failure. */
export function remedyLines(job: JobDetail): string[] {
  if (job.tasks.failed === 0) return [];
  const isInFiles =
    job.failures.length > 0 &&
    job.failures.every(
      ({ printed, stdoutFile, stderrFile }) =>
        printed === undefined && (stdoutFile ?? stderrFile) !== undefined,
    );
  return alignedCommands([
    ...(isInFiles ? [] : [[`goshawk logs ${job.id} --failed`, 'what they printed'] as const]),
    [`goshawk retry ${job.id} --failed`, 'run the failed tasks again'],
  ]);
}

/** Aligns commands and their descriptions in two columns. */
export function alignedCommands(commands: readonly (readonly [command: string, does: string])[]): string[] {
  const width = Math.max(...commands.map(([command]) => command.length));
  return commands.map(([command, does]) => `${command.padEnd(width)}   ${does}`);
}

/** Returns the outcome of an ended job, its time breakdown, and what to do after a failure. */
export function outcomeText(job: JobDetail, isColored: boolean, retriedMs?: Millis): string {
  const paint = painter({ color: isColored });
  const reason = job.cancelReason === undefined ? [] : [plain(job.cancelReason)];
  const details = [...reason, ...failureLines(job), ...measureLines(job, paint), ...remedyLines(job)];
  return [outcomeLine(job, paint, retriedMs), ...details.map((line) => `  ${line}`)].join('\n');
}

function measureLines(job: JobDetail, paint: Painter): string[] {
  // An estimate of the scheduler is of no use to someone who has not stated one.
  const lines = measures(job).filter(([label]) => label !== 'estimate' || job.classifiedBy === 'given');
  const width = Math.max(0, ...lines.map(([label]) => label.length));
  return lines.map(([label, value]) => `${paint.dim(label.padEnd(width))}  ${value}`);
}

/** Returns the last lines that a failed task printed; none if they are those of the previous failure. */
function printedLines({ printed }: TaskFailure, before: TaskFailure | undefined): string[] {
  if (printed === undefined) return [];
  const text = new TextDecoder().decode(printed);
  if (before?.printed !== undefined && text === new TextDecoder().decode(before.printed)) return [];
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `  | ${plain(line.trimEnd().split('\r').at(-1)!)}`);
}

/** Returns the files with the output of a failed task. */
function fileLines({ stdoutFile, stderrFile }: TaskFailure): string[] {
  if (stdoutFile !== undefined && stdoutFile === stderrFile)
    return [`  stdout and stderr: ${plain(stdoutFile)}`];
  return [
    ...(stdoutFile === undefined ? [] : [`  stdout: ${plain(stdoutFile)}`]),
    ...(stderrFile === undefined ? [] : [`  stderr: ${plain(stderrFile)}`]),
  ];
}

function failureLine(failure: TaskFailure): string {
  const where = failure.worker === '' ? '' : ` on ${plain(failure.worker)}`;
  const attempt = failure.attempts > 1 ? `, the last of ${failure.attempts} attempts` : '';
  return `task ${failure.task}${where}${attempt}: ${plain(failure.message) || failure.kind}`;
}
