import { resolve } from 'node:path';
import { InputError, type JobInput } from '@goshawk/core';

/**
 * Adds the owner and makes paths absolute: only the submitter knows the folder of relative paths. The scheduler validates the
 * job.
 *
 * @param folder that relative paths start from
 */
export function prepareJob(job: Written, folder: string, user: string | undefined): JobInput {
  if (!isObject(job)) return job;
  const { tasks, stages, after, afterOk, begin, ...rest } = job;
  return {
    ...(user === undefined ? {} : { user }),
    ...rest,
    ...(begin === undefined ? {} : { begin: begin instanceof Date ? isoTime(begin) : begin }),
    ...(after === undefined ? {} : { after: each(after, idOf) }),
    ...(afterOk === undefined ? {} : { afterOk: each(afterOk, idOf) }),
    ...(tasks === undefined ? {} : { tasks: absoluteTasks(tasks, folder) }),
    ...(stages === undefined ? {} : { stages: each(stages, (stage) => absoluteStage(stage, folder)) }),
  };
}

/** @throws InputError for an invalid date */
function isoTime(date: Date): string {
  if (Number.isNaN(date.getTime()))
    throw new InputError('bad-job', 'job: begin: the date is invalid', 'check how it was created');
  return date.toISOString();
}

function idOf(job: JobRef): string {
  return isObject(job) ? job.id : job;
}

type JobRef = string | { readonly id: string };

/** Predecessors may be given as handles. */
type Written = Omit<JobInput, 'after' | 'afterOk' | 'begin'> & {
  readonly begin?: JobInput['begin'] | Date;
  readonly after?: readonly JobRef[] | undefined;
  readonly afterOk?: readonly JobRef[] | undefined;
};

type Tasks = NonNullable<JobInput['tasks']>;
type Stage = NonNullable<JobInput['stages']>[number];
type Task = Extract<Tasks, readonly unknown[]>[number];

function absoluteStage(stage: Stage, folder: string): Stage {
  return isObject(stage) ? { ...stage, tasks: absoluteTasks(stage.tasks, folder) } : stage;
}

function absoluteTasks(tasks: Tasks, folder: string): Tasks {
  if (Array.isArray(tasks)) return each(tasks, (task) => absoluteTask(task, folder));
  return isObject(tasks) && 'run' in tasks ? { ...tasks, run: absoluteTask(tasks.run, folder) } : tasks;
}

function absoluteTask(task: Task, folder: string): Task {
  if (!isObject(task)) return task;
  if ('module' in task && typeof task.module === 'string' && !task.module.startsWith('file:')) {
    return { ...task, module: resolve(folder, typeof task.cwd === 'string' ? task.cwd : '', task.module) };
  }
  if ('exec' in task && typeof task.cwd === 'string') return { ...task, cwd: resolve(folder, task.cwd) };
  return task;
}

function each<T, U>(list: readonly T[], change: (one: T) => U): U[] {
  return Array.isArray(list) ? list.map(change) : (list as unknown as U[]);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
