import type { z } from 'zod';
import { InputError } from '../errors.js';
import type { Millis } from '../ids.js';
import { firstIssue, parseWith, shown, unknownKeys } from '../issues.js';
import { LIMITS } from '../limits.js';
import { sumOf } from '../numbers/sums.js';
import { present } from '../present.js';
import { formatDuration } from '../text/durations.js';
import { didYouMean, nearest } from '../text/nearest.js';
import { givenFactsOf } from './facts.js';
import { type Payload, payloadSchemaOf, TASK_KINDS } from './payload.js';
import {
  fieldsOf,
  type JobSpec,
  jobSpecSchema,
  type ParsedJob,
  type StageSpec,
  type TaskList,
} from './spec.js';
import { joinedValues, orderStages } from './stages.js';

/**
 * Validates a job and sorts its stages topologically.
 *
 * @param source origin for errors: a file name, or `job`
 * @param wallNow time of submission, ms since 1970; undefined: a begin time is not compared with the deadline, a delay is
 * @throws InputError with one line that names the field
 */
export function parseJobSpec(input: unknown, source = 'job', wallNow?: Millis): JobSpec {
  const job = parseFields(input, source);
  const stages = orderStages(job, source);
  const total = sumOf(stages, (stage) => countTasks(stage.tasks));
  if (total > LIMITS.tasksPerJobMax) {
    throw new InputError(
      'bad-job',
      `${source}: a job has at most ${LIMITS.tasksPerJobMax} tasks, not ${total}`,
      'split it into several jobs',
    );
  }
  checkOutputFiles(stages, source);
  checkBegin(job, source, wallNow);
  for (const stage of stages) checkGang(stage, job.maxRunning, source);
  if (job.open !== undefined && stages.some(({ gang }) => gang))
    throw new InputError('bad-job', `${source}: an open job, to which tasks are appended, cannot be a gang`);
  return {
    name: job.name,
    user: job.user,
    ...present({ logicalName: job.logicalName, seed: job.seed }),
    stages,
    estimateMs: job.estimate,
    retries: job.retries,
    ...present({ retryBackoffMs: job.retryBackoff, retryOn: job.retryOn }),
    timeoutMs: job.timeout,
    ...present({ openMs: job.open, timeLimitMs: job.timeLimit, after: job.after, afterOk: job.afterOk }),
    ...(job.hold === true ? { hold: true as const } : {}),
    ...present({ begin: job.begin }),
    maxRunning: job.maxRunning,
    deadlineMs: job.deadline,
    weight: job.weight,
    ...present({ priority: job.priority }),
    ...(job.prefer === undefined ? {} : { prefer: joinedValues(job.prefer) }),
    ...givenFactsOf(job),
    ...present({
      slowdown: job.slowdown,
      notify: job.notify,
      parent: job.parent,
      traceparent: job.traceparent,
    }),
  };
}

function parseFields(input: unknown, source: string): ParsedJob {
  const result = parseWith(jobSpecSchema, input);
  if (result.success) return result.data;
  throw new InputError('bad-job', `${source}: ${describeIssue(result.error)}`);
}

/** Whether any stage is a gang. */
export function hasGangs({ stages }: Pick<JobSpec, 'stages'>): boolean {
  return stages.some(({ gang }) => gang === true);
}

/**
 * Validates tasks that are appended to a job.
 *
 * @param common fields shared by all of the tasks
 * @throws InputError with one line that names the task and the field
 */
export function parseTasks(common: unknown, each: unknown, max: number): Payload[] {
  if (!Array.isArray(each)) throw new InputError('bad-job', 'tasks: expected a list');
  if (each.length > max) {
    const hint = 'close the job, and open another job for the rest';
    throw new InputError('bad-job', `tasks: a job has at most ${LIMITS.tasksPerJobMax}`, hint);
  }
  return each.map((own: unknown, index) => {
    const task =
      isFields(common) && isFields(own) ? { ...common, ...own } : common === undefined ? own : undefined;
    const result = parseWith(payloadSchemaOf(task), task);
    if (result.success) return result.data;
    throw new InputError('bad-job', `tasks[${index}]: ${describeIssue(result.error)}`);
  });
}

function isFields(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function countTasks(tasks: TaskList): number {
  if ('count' in tasks) return tasks.count;
  return 'each' in tasks ? tasks.each.length : tasks.sleepsMs.length;
}

/** Rejects a job that begins when its deadline, which counts from submission, has passed. */
function checkBegin({ begin, deadline }: ParsedJob, source: string, wallNow: Millis | undefined): void {
  if (begin === undefined || deadline === undefined) return;
  const delayMs = 'afterMs' in begin ? begin.afterMs : wallNow === undefined ? 0 : begin.at - wallNow;
  if (delayMs < deadline) return;
  throw new InputError(
    'bad-job',
    `${source}: the job begins ${formatDuration(delayMs)} after its submission, and its deadline is ${formatDuration(deadline)} after it`,
    'begin earlier or set a later deadline',
  );
}

/** Rejects gangs that could never start. */
function checkGang(
  { name, tasks, gang }: StageSpec,
  maxRunning = Number.POSITIVE_INFINITY,
  source: string,
): void {
  const count = countTasks(tasks);
  const most = Math.min(maxRunning, LIMITS.gangTasksMax);
  if (gang === undefined || count <= most) return;
  const limit = most === maxRunning ? `maxRunning is ${most}` : `a gang has at most ${most} tasks`;
  throw new InputError(
    'bad-job',
    `${source}: the ${count} tasks of stage "${name}" start together, and ${limit}`,
    most === maxRunning ? 'omit "maxRunning" or "gang"' : 'use fewer tasks, or omit "gang"',
  );
}

/** Rejects two tasks that would overwrite the same file. */
function checkOutputFiles(stages: readonly StageSpec[], source: string): void {
  const written = new Set<string>();
  const take = (task: Payload, times: number): void => {
    if (!('exec' in task) || (task.stdout === undefined && task.stderr === undefined)) return;
    // Maps each file to its task; both streams of a task may use one file.
    const files = new Map<string, string>();
    for (const path of [task.stdout, task.stderr]) {
      if (path === undefined) continue;
      const file = normalized(path.startsWith('/') ? path : `${task.cwd ?? '.'}/${path}`);
      // Checked after normalization: `{index}/../x` is one file for all tasks.
      if (!file.includes('{index}')) files.set(file, path);
    }
    for (const [file, path] of files) {
      if (isDevice(file)) continue;
      if (times === 1 && !written.has(file)) {
        written.add(file);
        continue;
      }
      throw new InputError(
        'bad-job',
        `${source}: several tasks would write to "${path}"`,
        'put {index}, the task number, into the name',
      );
    }
  };
  for (const { tasks } of stages) {
    if ('count' in tasks) take(tasks.run, tasks.count);
    else if ('each' in tasks) for (const task of tasks.each) take(task, 1);
  }
}

/** Whether a normalized path names a device, which several tasks may write to. Files in /dev/shm are files in memory. */
function isDevice(file: string): boolean {
  return file.startsWith('/dev/') && !file.startsWith('/dev/shm/');
}

/**
 * Normalizes `a/./b//../c` to `a/c`. Symbolic links are not resolved, because folders differ between workers.
 */
function normalized(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '..' || !path.startsWith('/')) parts.push(part);
  }
  return `${path.startsWith('/') ? '/' : ''}${parts.join('/')}`;
}

/** Describes the first problem of a job, with its path: `stages[1].tasks[0]: unknown field "slep"`. */
export function describeIssue(error: Pick<z.ZodError, 'issues'>): string {
  return firstIssue(error, unknownFields);
}

/** Suggests the intended field if one is similar. */
function unknownFields(keys: readonly string[], path: readonly PropertyKey[]): string {
  const of = path.length === 0 ? 'job' : path.length === 2 && path[0] === 'stages' ? 'stage' : 'task';
  const first = shown(keys[0] ?? '');
  const fields = fieldsOf(of);
  // The field belongs to another kind of task than the fields beside it.
  if (of === 'task' && fields.includes(first))
    return `${JSON.stringify(first)} cannot be combined with the other fields; ${TASK_KINDS}`;
  const begun = fields.filter(
    (field) => field.slice(0, STEM) === first.slice(0, STEM) && first.length >= STEM,
  );
  const suggestion = nearest(first, fields) ?? begun[0];
  const line = unknownKeys(keys);
  return `${line}${didYouMean(suggestion && `"${suggestion}"`)}`;
}

/** Number of leading letters that identify a field, as in `retry` and `retries`. */
const STEM = 4;
