import { choice, count, list, number, optional, view } from '../fields/fields.js';
import { line, name } from '../fields/records.js';
import { LIMITS } from '../limits.js';
import { addTo, type Resources } from '../resources/resources.js';
import { amounts } from './amounts.js';
import type { JobSummary } from './view.js';

/** Jobs in one answer, at most. */
export const SHARES_MAX = 1_000;

const jobShare = view({
  /** Id of the job. If the owner is unknown: the party that submitted it, and the job's number there. */
  id: line,
  /** Empty: unknown user. */
  user: name,
  weight: number,
  running: count,
  /** Tasks that may start but have no worker. */
  waiting: count,
  has: amounts,
  /** undefined: the policy does not enforce shares. */
  due: optional(amounts),
  /** The weight of its user. */
  userWeight: optional(number),
});
export type JobShare = NonNullable<(typeof jobShare)['infer']>;

export const clusterShares = view({
  /** The unit that receives weighted equal shares; undefined: the policy has no shares. */
  by: optional(choice('job', 'user')),
  /** Capacity of all workers that accept tasks; with slots, unless tasks share CPUs. */
  capacity: amounts,
  /** Jobs with the largest share of any resource come first. */
  jobs: list(jobShare, SHARES_MAX),
  /** Number of all jobs; the list may be truncated. */
  total: count,
});
/** Actual and fair shares of the cluster. */
export type ClusterShares = NonNullable<(typeof clusterShares)['infer']>;

/** The dominant share: the largest fraction of any resource. */
export function largestShare(amounts: Resources, capacity: Resources): { share: number; of: string } {
  let largest = { share: 0, of: '' };
  for (const [name, total] of Object.entries(capacity)) {
    const share = total > 0 ? (amounts[name] ?? 0) / total : 0;
    if (share > largest.share) largest = { share, of: name };
  }
  return largest;
}

/** The holder's fair share of its dominant resource: the one that it uses most, relative to the cluster. */
export function fairShareOf({ has, due = {} }: Pick<JobShare, 'has' | 'due'>, capacity: Resources): number {
  const { of } = largestShare(has, capacity);
  const total = capacity[of] ?? 0;
  return total > 0 ? (due[of] ?? 0) / total : largestShare(due, capacity).share;
}

/** A job, or all jobs of one user. */
export interface ShareHolder extends Omit<JobShare, 'id' | 'weight'> {
  /** Id of the job; absent for a user. */
  readonly id?: string;
  readonly jobs: number;
  /** undefined: unknown, because central lists none of the jobs. */
  readonly weight?: number | undefined;
  /** Waiting tasks of jobs that are on hold or begin later; `waiting` includes them. */
  readonly held: number;
}

/** Query for the jobs on hold of `shareHolders`. */
export const HELD_JOBS = {
  states: ['waiting', 'running'],
  held: true,
  limit: LIMITS.jobsListedMax,
} as const;

/**
 * Adds jobs on hold, or that begin later, to the jobs that central lists: central does not count their waiting tasks, and
 * lists such a job only while tasks of it run.
 *
 * @param active answer to the query `HELD_JOBS`
 */
export function shareHolders({ jobs, by }: ClusterShares, active: readonly JobSummary[]): ShareHolder[] {
  const held = new Map(active.map((job) => [job.id, job]));
  const listed = jobs.map((job) => {
    const onHold = held.get(job.id)?.tasks.waiting ?? 0;
    held.delete(job.id);
    return { ...job, jobs: 1, waiting: Math.max(job.waiting, onHold), held: onHold };
  });
  const others = Array.from(held.values(), ({ id, user = '', tasks: { running, waiting } }) => ({
    ...{ id, user, jobs: 1, running, waiting, held: waiting, has: {} },
    ...(by === undefined ? {} : { due: {} }),
  }));
  return [...listed, ...others];
}

/** @param jobs from `shareHolders` */
export function sharesByUser(jobs: readonly ShareHolder[]): ShareHolder[] {
  const users = new Map<string, ShareHolder>();
  for (const { id: _, weight, ...job } of jobs) {
    const known = users.get(job.user);
    const userWeight = weight === undefined ? {} : { weight: job.userWeight ?? 1 };
    if (known === undefined) {
      users.set(job.user, { ...job, ...userWeight });
      continue;
    }
    const { due, ...rest } = known;
    users.set(job.user, {
      ...rest,
      ...userWeight,
      jobs: rest.jobs + job.jobs,
      running: rest.running + job.running,
      waiting: rest.waiting + job.waiting,
      held: rest.held + job.held,
      has: sumOf(rest.has, job.has),
      ...(due === undefined || job.due === undefined ? {} : { due: sumOf(due, job.due) }),
    });
  }
  return [...users.values()];
}

function sumOf(one: Resources, other: Resources): Resources {
  const sum = { ...one };
  addTo(sum, other, 1);
  return sum;
}
