import { choice, count, list, number, optional, view } from '../fields/fields.js';
import { line, name } from '../fields/records.js';
import { addTo, type Resources } from '../resources.js';
import { amounts } from './amounts.js';

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
  for (const [name, there] of Object.entries(capacity)) {
    const share = there > 0 ? (amounts[name] ?? 0) / there : 0;
    if (share > largest.share) largest = { share, of: name };
  }
  return largest;
}

/** The fair share of the resource of which the holder has the largest share. */
export function fairShareOf({ has, due = {} }: Pick<JobShare, 'has' | 'due'>, capacity: Resources): number {
  const { of } = largestShare(has, capacity);
  const total = capacity[of] ?? 0;
  return total > 0 ? (due[of] ?? 0) / total : largestShare(due, capacity).share;
}

/** A job, or all jobs of one user. */
export interface ShareHolder extends Omit<JobShare, 'id'> {
  /** Id of the job; absent for a user. */
  readonly id?: string;
  readonly jobs: number;
}

export function sharesByUser(jobs: readonly JobShare[]): ShareHolder[] {
  const users = new Map<string, ShareHolder>();
  for (const { id: _, ...job } of jobs) {
    const known = users.get(job.user);
    if (known === undefined) {
      users.set(job.user, { ...job, weight: job.userWeight ?? 1, jobs: 1 });
      continue;
    }
    const { due, ...rest } = known;
    users.set(job.user, {
      ...rest,
      jobs: rest.jobs + 1,
      running: rest.running + job.running,
      waiting: rest.waiting + job.waiting,
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
