import { resolve } from 'node:path';
import type { JobInput } from '@goshawk/core';

/** Returns the folder for relative paths and commands of a submission. */
export function folderOf(
  options: { readonly cwd?: string | undefined },
  { cwd }: { readonly cwd: string },
): string {
  return resolve(cwd, options.cwd ?? '');
}

/** Returns an absolute path; a `file:` URL is already absolute. */
export function absoluteModule(module: string, folder: string): string {
  return module.startsWith('file:') ? module : resolve(folder, module);
}

/** Returns the job with absolute paths in all tasks; commands without a folder get this one. */
export function absoluteJob(job: JobInput, folder: string): JobInput {
  const { tasks, stages, ...rest } = job;
  return {
    ...rest,
    ...(tasks === undefined ? {} : { tasks: absoluteTasks(tasks, folder) }),
    ...(stages === undefined
      ? {}
      : { stages: stages.map((stage) => ({ ...stage, tasks: absoluteTasks(stage.tasks, folder) })) }),
  };
}

type Tasks = NonNullable<JobInput['tasks']>;
type TaskInput = Extract<Tasks, readonly unknown[]>[number];

function absoluteTasks(tasks: Tasks, folder: string): Tasks {
  return 'run' in tasks
    ? { ...tasks, run: absoluteTask(tasks.run, folder) }
    : tasks.map((task) => absoluteTask(task, folder));
}

function absoluteTask(task: TaskInput, folder: string): TaskInput {
  if ('exec' in task) return { ...task, cwd: resolve(folder, task.cwd ?? '') };
  if (!('module' in task)) return task;
  const { cwd, ...call } = task;
  return { ...call, module: absoluteModule(task.module, resolve(folder, cwd ?? '')) };
}
