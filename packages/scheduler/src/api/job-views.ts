import {
  type AttemptView,
  COMMAND_LENGTH_MAX,
  formatDuration,
  type JobDetail,
  type JobEnd,
  type JobSummary,
  LIMITS,
  type MessageOf,
  type Millis,
  nearestRank,
  outputPath,
  present,
  type RESULT_ORDERS,
  type ResultPage,
  type ResultRow,
  type StageState,
  shellWord,
  startFaultOf,
  type TaskCounts,
  type TaskFailure,
  type TaskIndex,
} from '@goshawk/core';
import type { Stage } from '../job/batch.js';
import { Page } from '../job/heap-bytes.js';
import type { Job } from '../job/job.js';
import { ATTEMPTS_LISTED_MAX, type ReadRecord } from '../job/task-reports.js';
import { TASK_STATE_NAMES, TaskState } from '../job/task-state.js';
import { unfinishedPredecessorsOf } from '../life/predecessors.js';
import type { SchedulerState } from '../state/state.js';
import { SHOWN_STATES, whyCancelled } from './task-list.js';

/** Maximum number of failures that include the last lines of their output. */
const FAILURES_WITH_OUTPUT_MAX = 5;

// Describes jobs in answers to clients.

export function jobSummary(s: SchedulerState, job: Job): JobSummary {
  const { wallOffsetMs } = s.config;
  const expectedEnd = job.hasEnded ? undefined : s.forecasts.expectedEndOf(job);
  const { endedAt } = job.times;
  const { doneAt } = job;
  return {
    id: job.id,
    name: job.spec.name,
    user: job.spec.user,
    class: job.class,
    classifiedBy: job.estimate.classifiedBy,
    estimateMs: job.estimate.statedMs(),
    state: job.state,
    tasks: job.counts,
    submittedAt: job.acceptedAt + wallOffsetMs,
    startedMs: job.times.firstStartAt === undefined ? undefined : job.times.firstStartAt - job.acceptedAt,
    endedMs: doneAt === undefined ? undefined : doneAt - job.acceptedAt,
    deadlineMs: job.spec.deadlineMs === undefined ? undefined : job.deadlineAt - job.acceptedAt,
    ...(job.isHeld && !job.hasEnded ? { held: job.hold!.isHeld, beginAt: job.hold!.beginAt } : {}),
    ...(job.spec.retryOf === undefined ? {} : { retryOf: job.spec.retryOf.job }),
    ...(expectedEnd === undefined ? {} : { expectedEnd }),
    ...(endedAt === undefined || endedAt === doneAt ? {} : { recordedMs: endedAt - job.acceptedAt }),
  };
}

/** Whether the output of failed tasks, which details include, is available. */
export function isOutputFetched(s: SchedulerState, job: Job): boolean {
  const { logs } = s.jobs;
  if (!logs.mayBeLate(job.number)) return true;
  const failed = [...job.tasks.inStates(TaskState.failed)];
  return logs.lastLines(job.number, failed.slice(0, FAILURES_WITH_OUTPUT_MAX)) !== undefined;
}

export function jobDetail(s: SchedulerState, job: Job, now: Millis, withSpec: boolean): JobDetail {
  const { tasks, history } = job;
  const running: JobDetail['running'][number][] = [];
  for (const task of tasks.inStates(TaskState.running)) {
    if (running.length === ATTEMPTS_LISTED_MAX) break;
    running.push({
      task,
      attempt: tasks.executionsOf(task),
      worker: s.cluster.nameOf(tasks.workerOf(task)),
      elapsedMs: job.elapsedMs(task, now),
      ...job.existingLoans?.viewOf(task, tasks.attemptOf(task), now),
    });
  }
  const failed = [...tasks.inStates(TaskState.failed)];
  const attempts = attemptViews(s, job, now);
  const stages = stageSums(job);
  const printed = s.jobs.logs.lastLines(job.number, failed.slice(0, FAILURES_WITH_OUTPUT_MAX));
  const completed = tasks.countOf(TaskState.completed);
  return {
    stages: job.stages.map((stage, index) => {
      const { counts, meanRunMs } = stages[index]!;
      return {
        name: stage.spec.name,
        state: stageStateOf(job, stage, counts),
        tasks: counts.total,
        unfinished: stage.unfinished,
        after: stage.spec.after.map((before) => job.stages[before]!.spec.name),
        estimateMs: job.estimate.statedMs(stage),
        counts,
        ...(meanRunMs === undefined ? {} : { meanRunMs }),
        ...commandOf(job, stage),
        demand: stage.spec.demand,
      };
    }),
    sampling: samplingOf(job),
    attempts: {
      total: history.total,
      failed: history.failedCount + history.endedByOwnerCount,
      lost: history.lostCount,
    },
    attemptList: attempts.listed,
    attemptsTruncated: attempts.truncated,
    failures: failed
      .slice(0, ATTEMPTS_LISTED_MAX)
      .map((task) => describeFailure(job, task, s.env.readRecord, printed?.get(task))),
    failuresTruncated: failed.length > ATTEMPTS_LISTED_MAX,
    meanRunMs: completed === 0 ? undefined : history.completedRunMs / completed,
    runPercentilesMs: job.hasEnded ? runPercentiles(job) : undefined,
    wastedMs: history.wastedMs,
    firstStartMs: job.times.firstStartAt === undefined ? undefined : job.times.firstStartAt - job.acceptedAt,
    running,
    spec: withSpec ? job.spec : undefined,
    timeLimitMs: job.spec.timeLimitMs,
    priority: job.priority,
    after: job.hasPendingPredecessors && !job.hasEnded ? unfinishedPredecessorsOf(s, job) : undefined,
    cancelReason: job.cancellation?.reason,
    ...(job.isOpen ? { open: true } : {}),
    ...(job.existingLoans?.paused ? { pausedTasks: job.existingLoans.paused } : {}),
    // The spread must be last: with this many fields after it, V8 takes 20 µs for the literal instead of 0.3 µs.
    ...jobSummary(s, job),
  };
}

/** Lists unsuccessful attempts, then running, completed and cancelled ones. */
function attemptViews(
  s: SchedulerState,
  job: Job,
  now: Millis,
): { listed: AttemptView[]; truncated: boolean } {
  const { tasks, history } = job;
  const listed = [...history.reports.unsuccessful];
  // Samples all tasks evenly, because the first tasks alone would not represent the job.
  const { running, completed, cancelled } = job.counts;
  const step = Math.max(1, (running + completed + cancelled - tasks.archivedCount) / ATTEMPTS_LISTED_MAX);
  let seen = 0;
  for (const task of tasks.inStates(TaskState.running, TaskState.completed, TaskState.cancelled)) {
    if (tasks.isArchived(task) || Math.floor(seen / step) === Math.floor(++seen / step)) continue;
    const state = tasks.stateOf(task);
    // The task was cancelled before it started.
    if (state === TaskState.cancelled && tasks.runMsOf(task) === 0) continue;
    const isRunning = state === TaskState.running;
    const startedAt = tasks.startedAtOf(task);
    const gpus = isRunning ? undefined : history.reports.gpusOf(task, s.env.readRecord);
    listed.push({
      task,
      attempt: tasks.executionsOf(task),
      state: isRunning ? 'running' : state === TaskState.completed ? 'completed' : 'cancelled',
      worker: s.cluster.nameOf(tasks.workerOf(task)),
      startedMs: startedAt - job.acceptedAt,
      runMs: isRunning ? job.elapsedMs(task, now) : tasks.runMsOf(task),
      ...(gpus === undefined ? {} : { gpus }),
      ...job.existingLoans?.viewOf(task, tasks.attemptOf(task), now),
    });
  }
  // Attempts that could not start are listed but not counted.
  const started = listed.filter(
    ({ state, code = '' }) => state !== 'lost' || startFaultOf(code) === undefined,
  );
  return { listed, truncated: started.length < history.total };
}

/** Lists return values, or outcomes if an order is given, as many as fit into one answer. */
export function jobResults(
  s: SchedulerState,
  job: Job,
  from: number,
  order: MessageOf<'readResults'>['order'],
): ResultPage {
  if (order !== undefined) return taskResults(s, job, from, order);
  const page = new Page<ResultPage['values'][number]>();
  for (let task = from; task < job.taskCount; task++) {
    if (job.tasks.stateOf(task) !== TaskState.completed) continue;
    const value = job.history.reports.valueOf(task, s.env.readRecord);
    if (value !== undefined && !page.take({ task, value })) return { values: page.items, next: task };
  }
  return { values: page.items, next: undefined };
}

function taskResults(
  s: SchedulerState,
  job: Job,
  from: number,
  order: (typeof RESULT_ORDERS)[number],
): ResultPage {
  const { tasks } = job;
  const page = new Page<ResultRow>();
  for (let at = from; ; at++) {
    const task = order === 'ended' ? tasks.endOrder.at(at) : at < tasks.count ? at : undefined;
    if (task === undefined || (order === 'prefix' && !tasks.isFinal(task))) break;
    if (tasks.stateOf(task) === TaskState.skipped) continue;
    if (!page.take(resultOf(s, job, task))) return { values: [], tasks: page.items, next: at };
  }
  return { values: [], tasks: page.items, next: undefined };
}

function resultOf(s: SchedulerState, job: Job, task: TaskIndex): ResultRow {
  const { tasks, history } = job;
  const { readRecord } = s.env;
  const state = tasks.stateOf(task);
  const attempt = tasks.executionsOf(task);
  const of = {
    task,
    stage: job.dag.stageOf(task).spec.name,
    state: SHOWN_STATES[state]!,
    attempt,
    value: undefined,
    ...outputFiles(job, task, attempt),
  };
  if (state === TaskState.completed) {
    const value = history.reports.valueOf(task, readRecord);
    return { ...of, value, ...('exec' in job.dag.payloadOf(task) ? { exitCode: 0 } : {}) };
  }
  if (state === TaskState.cancelled) return { ...of, code: 'cancelled', message: whyCancelled(job, task) };
  if (state !== TaskState.failed) return of;
  const { code, kind, message, exitCode, signal } = describeFailure(job, task, readRecord);
  const value = history.reports.errorOf(task, readRecord)?.outcome.value;
  return { ...of, value, code: code || kind, message, ...present({ exitCode, signal }) };
}

/** @param withTasks whether to include the times of each task, unless there are too many */
export function jobEnd(s: SchedulerState, job: Job, withTasks: boolean, now: Millis): JobEnd {
  const isTimed = withTasks && job.taskCount <= LIMITS.timedTasksMax && job.tasks.archivedCount === 0;
  return {
    job: jobDetail(s, job, now, false),
    starts: isTimed ? Array.from(job.tasks.startedAt, (_at, task) => startMsOf(job, task)) : undefined,
    runs: isTimed ? Array.from(job.tasks.runMs) : undefined,
  };
}

/** Maximum number of tasks whose commands are compared, because a job may have a million. */
const COMPARED_TASKS_MAX = 100;

/** Formats the command of the stage's first task for a shell, and determines whether another task has another one. */
function commandOf(job: Job, { first, count }: Stage): { command?: string; commandsDiffer?: true } {
  let task = first;
  while (task < first + count && job.tasks.stateOf(task) === TaskState.skipped) task++;
  if (task === first + count) return {};
  const payload = job.dag.payloadOf(task);
  const text = commandText(payload);
  const command = text.length <= COMMAND_LENGTH_MAX ? text : `${text.slice(0, COMMAND_LENGTH_MAX - 1)}…`;
  const end = Math.min(first + count, task + COMPARED_TASKS_MAX);
  for (let other = task + 1; other < end; other++) {
    if (job.tasks.stateOf(other) === TaskState.skipped) continue;
    const another = job.dag.payloadOf(other);
    // Tasks of an array share one payload.
    if (another !== payload && commandText(another) !== text) return { command, commandsDiffer: true };
  }
  return { command };
}

function commandText(payload: ReturnType<Job['dag']['payloadOf']>): string {
  const words =
    'exec' in payload
      ? payload.exec.map(shellWord)
      : 'sleep' in payload
        ? [`sleep ${formatDuration(payload.sleep)}`]
        : [`module ${payload.module}`];
  return words.join(' ');
}

/** Describes the job's pilots; undefined without pilots. */
export function samplingOf(job: Job): JobDetail['sampling'] {
  const { sample } = job.estimate;
  if (sample === undefined) return undefined;
  return {
    pilotTasks: sample.tasks.length,
    pilots: sample.tasks.slice(0, ATTEMPTS_LISTED_MAX).map((task) => ({
      task,
      state: TASK_STATE_NAMES[job.tasks.stateOf(task)]!,
      runMs: job.tasks.runMsOf(task),
    })),
    decidedMs: job.times.classifiedAt === undefined ? undefined : job.times.classifiedAt - job.acceptedAt,
  };
}

/** Task counts and run times of each stage. */
function stageSums(job: Job): { counts: TaskCounts; meanRunMs: Millis | undefined }[] {
  const { tasks, history } = job;
  const meanOf = (completed: number, workedMs: Millis) =>
    completed === 0 ? undefined : workedMs / completed;
  if (job.stages.length === 1)
    return [{ counts: job.counts, meanRunMs: meanOf(job.counts.completed, history.completedRunMs) }];
  return job.stages.map(({ first, count }) => {
    const byState = new Array<number>(TASK_STATE_NAMES.length).fill(0);
    let workedMs = 0;
    for (let task = first; task < first + count; task++) {
      const state = tasks.states[task]!;
      byState[state]!++;
      if (state === TaskState.completed) workedMs += tasks.runMsOf(task);
    }
    const [running, completed, failed, cancelled, skipped] = byState.slice(TaskState.running) as [
      number,
      number,
      number,
      number,
      number,
    ];
    const total = count - skipped;
    const waiting = total - running - completed - failed - cancelled;
    const counts = { total, waiting, running, completed, failed, cancelled };
    return { counts, meanRunMs: meanOf(completed, workedMs) };
  });
}

/** The state of a stage by the same rules as the state of a job: an ended stage with a failed task has failed. */
function stageStateOf(job: Job, stage: Stage, { total, waiting, failed, cancelled }: TaskCounts): StageState {
  if (stage.unfinished > 0) {
    if (stage.blockers > 0) return 'blocked';
    return waiting < total ? 'running' : 'waiting';
  }
  if (failed > 0) return job.cancelling ? 'cancelled' : 'failed';
  return cancelled > 0 ? 'cancelled' : 'completed';
}

function runPercentiles(job: Job): JobDetail['runPercentilesMs'] {
  const spread = spreadOf(job.tasks.completedRunMs().slice());
  // Memory contains only a sample of the run times of settled tasks.
  return spread && { ...spread, max: Math.max(spread.max, job.history.longestRunMs) };
}

/** Sorts the durations in place and returns their percentiles; undefined if there are none. */
export function spreadOf(durationsMs: Float64Array): { p50: Millis; p90: Millis; max: Millis } | undefined {
  const sorted = durationsMs.sort();
  if (sorted.length === 0) return undefined;
  return { p50: nearestRank(sorted, 50), p90: nearestRank(sorted, 90), max: sorted[sorted.length - 1]! };
}

/** Paths of the files to which a command's output goes instead of the log. */
function outputFiles(job: Job, task: TaskIndex, attempt: number): Pick<ResultRow, 'stdout' | 'stderr'> {
  const payload = job.dag.payloadOf(task);
  if (!('exec' in payload)) return {};
  const { cwd, stdout, stderr } = payload;
  const pathOf = (path: string | undefined) => {
    if (path === undefined) return undefined;
    const expanded = outputPath(path, { job: job.id, index: task, attempt });
    const full = cwd === undefined || expanded.startsWith('/') ? expanded : `${cwd}/${expanded}`;
    // No operating system opens a longer path.
    return full.length <= LIMITS.pathLengthMax ? full : undefined;
  };
  return present({ stdout: pathOf(stdout), stderr: pathOf(stderr) });
}

function describeFailure(
  job: Job,
  task: TaskIndex,
  readRecord: ReadRecord | undefined,
  lastLines?: Uint8Array,
): TaskFailure {
  const error = job.history.reports.errorOf(task, readRecord);
  const { stdout: stdoutFile, stderr: stderrFile } = outputFiles(job, task, job.tasks.executionsOf(task));
  return {
    task,
    attempts: job.tasks.executionsOf(task),
    kind: error?.outcome.kind ?? 'failed',
    code: error?.outcome.errorCode ?? '',
    message: error?.outcome.errorMessage ?? '',
    exitCode: error?.outcome.exitCode,
    signal: error?.outcome.signal,
    worker: error?.worker ?? '',
    printed: lastLines,
    ...present({ stdoutFile, stderrFile }),
  };
}

/**
 * When the last attempt started, in ms since the job's acceptance. Times from the journal may be off by 1 ms, so for an
 * ended task a start before the acceptance counts as 0.
 */
export function startMsOf(job: Job, task: TaskIndex): Millis {
  const since = job.tasks.startedAtOf(task) - job.acceptedAt;
  const state = job.tasks.stateOf(task);
  return state === TaskState.completed || state === TaskState.failed ? Math.max(0, since) : since;
}
