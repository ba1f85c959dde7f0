import type { Cluster, JobSubmission, Tasks } from '@goshawk/client';
import { counted, InputError, isFinal, LIMITS, type Payload, UnreachableError } from '@goshawk/core';
import { parametersOf, payloadsOf } from '../jobs/task-parameters.js';

/** Numbers of tasks that a submission leaves out. */
export interface Skipped {
  /** Completed in an earlier job. */
  completed: number;
  /** Waiting or running in another job. */
  active: number;
  /** Their file of `--skip-existing` exists. */
  existing: number;
}

/** Returns the number of tasks; 1 for a job of stages. */
export function lengthOf({ tasks, stages }: JobSubmission): number {
  if (stages?.length === 0) return 0;
  return tasks === undefined ? 1 : 'count' in tasks ? tasks.count : tasks.length;
}

type Fate = 'completed' | 'active';

/**
 * Leaves out the tasks whose parameters completed, or are in progress, in jobs of the same name and user.
 *
 * @throws UnreachableError if a scheduler that does not answer may have such jobs; InputError for a job that is too large
 */
export async function withoutFinished(
  cluster: Cluster,
  job: JobSubmission,
  signal: AbortSignal,
): Promise<{ readonly job: JobSubmission; readonly completed: number; readonly active: number }> {
  const fates = await fatesOf(cluster, job, signal);
  const counts = { completed: 0, active: 0 };
  const tasks = (job.tasks as readonly Payload[]).filter((task) => {
    const fate = fates.get(keyOf(task));
    if (fate !== undefined) counts[fate]++;
    return fate === undefined;
  });
  return { job: { ...job, tasks }, ...counts };
}

/** Returns what became of each combination of parameters. */
async function fatesOf(
  cluster: Cluster,
  { name, user = cluster.user }: JobSubmission,
  signal: AbortSignal,
): Promise<Map<string, Fate>> {
  const { jobs, silent } = await cluster.jobs({ all: true, user, limit: LIMITS.jobsListedMax, signal });
  if (silent.length > 0)
    throw new UnreachableError(
      'unreachable',
      `--resume: no answer from ${silent.join(', ')}, which may have earlier jobs named "${name}"`,
      'try again when it answers, or submit without --resume',
    );
  const fates = new Map<string, Fate>();
  for (const { id, state } of jobs.filter((each) => each.name === name)) {
    const handle = cluster.job(id);
    const payloads = await payloadsOf(handle, signal);
    if (payloads === undefined)
      throw new InputError(
        'spec-too-long',
        `--resume: ${id} is too large to compare its tasks`,
        'use --skip-existing',
      );
    const states = isFinal(state) ? (['completed'] as const) : (['completed', 'waiting', 'running'] as const);
    for (let from: number | undefined = 0; from !== undefined; ) {
      const page: Tasks = await handle.tasksPage({ states, from, signal });
      for (const { index, state: own } of page.tasks) {
        const payload = payloads.of(index);
        if (payload === undefined) continue;
        const key = keyOf(payload);
        if (own === 'completed') fates.set(key, 'completed');
        else if (!fates.has(key)) fates.set(key, 'active');
      }
      from = page.next;
    }
  }
  return fates;
}

function keyOf(payload: Payload): string {
  return JSON.stringify(
    Object.entries(parametersOf(payload)).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** Says how many tasks are left out and why; empty if none are. */
export function skippedText({ completed, active, existing }: Skipped, left: number, name: string): string {
  const total = completed + active + existing + left;
  if (left === total) return '';
  const reasons = [
    ...(completed > 0 ? [`${completed} completed in earlier jobs named "${name}"`] : []),
    ...(active > 0 ? [`${active} in progress in them`] : []),
    ...(existing > 0 ? [`${existing} whose file exists`] : []),
  ];
  const rest = left === 0 ? 'nothing to run' : `${left} ${left === 1 ? 'runs' : 'run'}`;
  return `${total - left} of ${counted(total, 'task')} skipped (${reasons.join(', ')}); ${rest}`;
}
