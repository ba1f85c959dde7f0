import type { Cluster, JobHandle } from '@goshawk/client';
import { type Context, type JobWord, throwAll } from '@goshawk/command';
import { InputError, type TaskRange } from '@goshawk/core';
import { outcomesOf } from './outcomes.js';

/**
 * Finds the jobs that the words name, each once, in the order of the words.
 *
 * @throws the first problem, after the others are reported
 */
export async function findJobs(
  context: Context,
  cluster: Cluster,
  words: readonly JobWord[],
): Promise<JobHandle[]> {
  const found = new Map<string, JobHandle>();
  const problems: unknown[] = [];
  for await (const outcome of outcomesOf(words, (word) => word.wholeJob(context, cluster))) {
    if (outcome.status === 'fulfilled') found.set(outcome.value.id, outcome.value);
    else problems.push(outcome.reason);
  }
  context.interrupted.throwIfAborted();
  throwAll(context, problems);
  return [...found.values()];
}

/** @throws InputError `unknown-task` if a job with this number of tasks does not have all of the named ones */
export function checkTasksExist(id: string, tasks: readonly TaskRange[] | undefined, total: number): void {
  const last = tasks?.at(-1)?.last ?? 0;
  if (last >= total)
    throw new InputError('unknown-task', `${id} has no task ${last}`, `its tasks are 0 to ${total - 1}`);
}
