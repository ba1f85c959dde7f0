import { type Painter, page, plain, type Section, section } from '@goshawk/command';
import {
  ago,
  classWords,
  counted,
  expectedEndOf,
  formatCount,
  formatDuration,
  formatResources,
  isFinal,
  type JobDetail,
  lendingWords,
  type Millis,
  measures,
  predecessorWords,
} from '@goshawk/core';
import { expectedEndTime, localTime } from './local-time.js';
import { deadlineWords, failureLines, heading, remedyLines } from './words.js';

/** Maximum number of running tasks that are shown. */
const RUNNING_SHOWN = 5;

/**
 * Renders a job for people.
 *
 * @param now wall clock, ms since 1970
 */
export function jobPage(job: JobDetail, now: Millis, paint: Painter): string {
  const sections: Section[] = [
    ['tasks', taskCounts(job)],
    ...section('stages', job.stages.length > 1 ? stageLines(job) : []),
    ...section('remaining', remainingWork(job)),
    ['class', classWords(job)],
    ...section('pilots', pilotLines(job)),
    ...section('command', commandLines(job)),
    ...section('priority', job.priority === 'normal' ? undefined : job.priority),
    ['submitted', submission(job, now)],
    ...section('retry of', job.retryOf && `${plain(job.retryOf)}; tasks keep their numbers`),
    ...section('held', holdLine(job, now)),
    ...section('ends', endLine(job, now)),
    ...section('deadline', deadlineLine(job, now)),
    ...section('limit', timeLimitLine(job, now)),
    ...section('after', (job.after ?? []).map(predecessorWords)),
    ...section('reason', job.cancelReason && plain(job.cancelReason)),
    ...(isFinal(job.state) ? endings(job) : progress(job)),
    ...section('gpus', gpuLines(job)),
    ...section('failed', failureLines(job)),
    ...section('', isFinal(job.state) ? remedyLines(job) : []),
  ];
  return page(heading(job, paint), sections, paint);
}

/** Lists the command of each stage, and the demand of its tasks. */
function commandLines({ stages }: JobDetail): string[] {
  return stages.flatMap(({ name, command, commandsDiffer, demand }) => {
    if (command === undefined) return [];
    const before = stages.length === 1 ? '' : `${plain(name)}: `;
    const needs = Object.keys(demand).length === 0 ? '' : ` (${plain(formatResources(demand))} each)`;
    const others = commandsDiffer ? ' (first task; others differ)' : '';
    return [`${before}${plain(command)}${others}${needs}`];
  });
}

function taskCounts({ tasks, pausedTasks = 0 }: JobDetail): string {
  const { total, ...states } = tasks;
  const paused = pausedTasks > 0 ? ` (${formatCount(pausedTasks)} paused)` : '';
  const parts = Object.entries(states)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${formatCount(count)} ${state}${state === 'running' ? paused : ''}`);
  return `${formatCount(total)}: ${parts.join(', ')}`;
}

function stageLines({ stages }: JobDetail): string[] {
  return stages.map(({ name, state, tasks, unfinished, after, estimateMs, counts, meanRunMs }) => {
    const left = unfinished > 0 && unfinished < tasks ? `, ${formatCount(unfinished)} left` : '';
    const before = state === 'blocked' ? `, after ${after.map(plain).join(', ')}` : '';
    // Measured run times are more accurate than the job's estimate.
    const length =
      meanRunMs !== undefined ? ` of ${formatDuration(meanRunMs)} on average` : estimated(estimateMs);
    const bad = (['failed', 'cancelled'] as const)
      .filter((end) => counts[end] > 0 && (end !== state || counts[end] < tasks))
      .map((end) => `, ${formatCount(counts![end])} ${end}`)
      .join('');
    const done = bad === '' || counts.completed === 0 ? '' : `, ${formatCount(counts.completed)} completed`;
    return `${plain(name)}: ${counted(tasks, 'task')}${length}, ${state}${left}${done}${bad}${before}`;
  });
}

function estimated(estimateMs: Millis | undefined): string {
  return !estimateMs ? '' : `, estimated at ${formatDuration(estimateMs)} each`;
}

/** Returns the estimated remaining work of a job with stages; undefined if an estimate is missing. */
function remainingWork({ stages }: JobDetail): string | undefined {
  const left = stages.filter(({ unfinished }) => unfinished > 0);
  if (stages.length < 2 || left.length === 0 || left.some(({ estimateMs }) => estimateMs === undefined))
    return undefined;
  let workMs = 0;
  let pathMs = 0;
  const ends = new Map<string, Millis>();
  for (const { name, after, unfinished, estimateMs = 0 } of left) {
    const end = estimateMs + Math.max(0, ...after.map((before) => ends.get(before) ?? 0));
    ends.set(name, end);
    pathMs = Math.max(pathMs, end);
    workMs += unfinished * estimateMs;
  }
  return `${formatDuration(workMs)} of task time, ${formatDuration(pathMs)} on the critical path`;
}

/** Maximum number of attempts whose GPUs are shown. */
const GPUS_SHOWN = 5;

/** Lists the GPUs of ended attempts. */
function gpuLines({ attemptList }: JobDetail): string[] {
  const withGpus = attemptList.filter(({ gpus }) => gpus !== undefined);
  const shown = withGpus.slice(0, GPUS_SHOWN).map(({ task, attempt, worker, gpus = [] }) => {
    const again = attempt > 1 ? `, attempt ${attempt}` : '';
    return `task ${task}${again}: ${plain(gpus.join(', '))} on ${plain(worker)}`;
  });
  return withGpus.length > GPUS_SHOWN ? [...shown, 'more with --json'] : shown;
}

/** Maximum number of pilots that are shown. */
const PILOTS_SHOWN = 5;

/** Lists the pilots of the job, and when they decided its class. */
function pilotLines({ sampling }: JobDetail): string[] {
  if (sampling === undefined) return [];
  const { pilotTasks, pilots, decidedMs } = sampling;
  const shown = pilots.slice(0, PILOTS_SHOWN).map(({ task, state, runMs }) => {
    return `task ${task}: ${state}${runMs > 0 ? `, ran ${formatDuration(runMs)}` : ''}`;
  });
  const hidden = pilotTasks - shown.length;
  return [
    `${counted(pilotTasks, 'task')}, ${decidedMs === undefined ? 'class not decided yet' : `class decided after ${formatDuration(decidedMs)}`}`,
    ...shown,
    ...(hidden > 0 ? [`and ${formatCount(hidden)} more`] : []),
  ];
}

function submission(job: JobDetail, now: Millis): string {
  const by = job.user === undefined ? '' : ` by ${plain(job.user)}`;
  return `${localTime(job.submittedAt)}${by}, ${ago(now - job.submittedAt)}`;
}

function holdLine({ id, held, beginAt, state }: JobDetail, now: Millis): string | undefined {
  if (isFinal(state)) return undefined;
  const release = `\`goshawk release ${id}\``;
  if (held === true) return `until ${release}; running tasks continue`;
  if (beginAt === undefined) return undefined;
  return `until ${localTime(beginAt)}, in ${formatDuration(Math.max(0, beginAt - now))}; ${release} starts it now`;
}

function endLine(job: JobDetail, now: Millis): string | undefined {
  const end = expectedEndOf(job, now);
  if (end === undefined) return isFinal(job.state) ? undefined : 'unknown';
  return `${expectedEndTime(end, now)}, computed ${ago(now - end.computedAt)}`;
}

function deadlineLine(job: JobDetail, now: Millis): string | undefined {
  const { deadlineMs, submittedAt } = job;
  return deadlineMs === undefined
    ? undefined
    : `${localTime(submittedAt + deadlineMs)}, ${deadlineWords(job, now)}`;
}

function timeLimitLine(job: JobDetail, now: Millis): string | undefined {
  const { timeLimitMs, submittedAt, startedMs } = job;
  if (timeLimitMs === undefined) return undefined;
  const limit = `${formatDuration(timeLimitMs)} from its first start`;
  if (startedMs === undefined || isFinal(job.state)) return limit;
  return `${limit}, ${formatDuration(Math.max(0, submittedAt + startedMs + timeLimitMs - now))} left`;
}

function endings(job: JobDetail): Section[] {
  const took =
    job.endedMs === undefined ? undefined : `${formatDuration(job.endedMs)} from submission to end`;
  return [...section('took', took), ...measures(job)];
}

function progress(job: JobDetail): Section[] {
  const shown = job.running.slice(0, RUNNING_SHOWN).map((run) => {
    const again = run.attempt > 1 ? `, attempt ${run.attempt}` : '';
    const lending = lendingWords(run, run.elapsedMs);
    return `task ${run.task} on ${plain(run.worker)}${again}, for ${formatDuration(run.elapsedMs)}${lending === '' ? '' : `, ${plain(lending)}`}`;
  });
  const hidden = job.tasks.running - shown.length;
  const more = hidden > 0 ? [`and ${formatCount(hidden)} more`] : [];
  return [
    ...measures(job).filter(([label]) => label !== 'estimate'),
    ...section('running', [...shown, ...more]),
  ];
}
