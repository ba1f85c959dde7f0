import type { Cluster, ClusterShares } from '@goshawk/client';
import { type Column, plain } from '@goshawk/command';
import {
  fairShareOf,
  formatCount,
  formatResources,
  formatShare,
  type JobSummary,
  LIMITS,
  largestShare,
  type ShareHolder,
} from '@goshawk/core';

/** A job, or all jobs of one user. */
export interface Holder extends Omit<ShareHolder, 'weight'> {
  /** Undefined if central does not know it, because all of the jobs are on hold. */
  readonly weight?: number;
}

/** Reads the shares of jobs, and the jobs that have none because they are on hold or begin later. */
export async function readShares(
  cluster: Pick<Cluster, 'shares' | 'jobs'>,
  signal: AbortSignal,
): Promise<{ readonly shares: ClusterShares; readonly held: readonly Holder[] }> {
  const [shares, { jobs }] = await Promise.all([
    cluster.shares({ signal }),
    cluster.jobs({ states: ['waiting', 'running'], held: true, limit: LIMITS.jobsListedMax, signal }),
  ]);
  return { shares, held: heldJobs(jobs, shares) };
}

/** Returns the jobs that central does not know. Earlier versions of schedulers also list jobs that are not on hold. */
function heldJobs(active: readonly JobSummary[], { jobs, by }: ClusterShares): Holder[] {
  const known = new Set(jobs.map(({ id }) => id));
  const held = active.filter(
    ({ id, held = false, beginAt }) => (held || beginAt !== undefined) && !known.has(id),
  );
  return held.map(({ id, user = '', tasks: { running, waiting } }) => ({
    ...{ id, user, jobs: 1, running, waiting, has: {} },
    ...(by === undefined ? {} : { due: {} }),
  }));
}

/** Adds jobs on hold to their users. */
export function withHeldJobs(users: readonly Holder[], held: readonly Holder[]): Holder[] {
  const all = new Map(users.map((holder) => [holder.user, holder]));
  for (const { id: _, ...job } of held) {
    const known = all.get(job.user);
    all.set(
      job.user,
      known === undefined
        ? job
        : {
            ...known,
            jobs: known.jobs + 1,
            running: known.running + job.running,
            waiting: known.waiting + job.waiting,
          },
    );
  }
  return [...all.values()];
}

export function sharesColumns(by: 'job' | 'user', { by: sharedBy }: ClusterShares): Column[] {
  return [
    { title: by, shrinkTo: 12 },
    ...(by === 'job' ? [{ title: 'user', shrinkTo: 8 }] : [{ title: 'jobs', align: 'right' as const }]),
    { title: 'weight', align: 'right' },
    { title: 'running', align: 'right' },
    { title: 'waiting', align: 'right' },
    { title: 'share', align: 'right' },
    { title: 'of' },
    ...(sharedBy === undefined ? [] : [{ title: 'fair', align: 'right' as const }]),
    { title: 'allocated', shrinkTo: 12, wraps: true },
  ];
}

export function sharesRow(
  holder: Holder,
  by: 'job' | 'user',
  { capacity, by: sharedBy }: ClusterShares,
): string[] {
  const { id, user, jobs, weight, running, waiting, has } = holder;
  const { share, of } = largestShare(has, capacity);
  const who = user === '' ? '(unknown)' : plain(user);
  return [
    ...(by === 'job' ? [plain(id ?? ''), who] : [who, `${jobs}`]),
    weight === undefined ? '' : `${weight}`,
    formatCount(running),
    formatCount(waiting),
    formatShare(share),
    of,
    ...(sharedBy === undefined ? [] : [formatShare(fairShareOf(holder, capacity))]),
    plain(formatResources(has)),
  ];
}
