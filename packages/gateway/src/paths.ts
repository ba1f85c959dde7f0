import { isAbsolute } from 'node:path';
import { InputError, quoted } from '@goshawk/core';

/**
 * Rejects relative paths in a job. Over HTTP they would start at the folder of the gateway, which clients do
 * not know.
 *
 * @param job the job as posted, before validation
 * @throws InputError that names the first relative path
 */
export function checkPaths(job: object): void {
  const { tasks, stages } = job as { readonly tasks?: unknown; readonly stages?: unknown };
  checkTasks(tasks, 'tasks');
  if (!Array.isArray(stages)) return;
  for (const [index, stage] of stages.entries())
    checkTasks((stage as { readonly tasks?: unknown } | null)?.tasks, `stages[${index}].tasks`);
}

function checkTasks(tasks: unknown, at: string): void {
  if (Array.isArray(tasks)) for (const [index, task] of tasks.entries()) checkTask(task, `${at}[${index}]`);
  else checkTask((tasks as { readonly run?: unknown } | null | undefined)?.run, `${at}.run`);
}

function checkTask(task: unknown, at: string): void {
  const { cwd, module } = (task ?? {}) as { readonly cwd?: unknown; readonly module?: unknown };
  if (typeof cwd === 'string' && !isAbsolute(cwd)) throw relative(`${at}.cwd`, cwd);
  if (typeof module !== 'string' || cwd !== undefined) return;
  if (!isAbsolute(module) && !module.startsWith('file:')) throw relative(`${at}.module`, module);
}

function relative(at: string, path: string): InputError {
  return new InputError(
    'bad-job',
    `${at}: ${quoted(path)} is not an absolute path`,
    'over HTTP, relative paths have no base folder',
  );
}
