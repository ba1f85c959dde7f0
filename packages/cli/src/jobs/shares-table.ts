import type { Cluster, ClusterShares } from '@goshawk/client';
import { type Column, plain } from '@goshawk/command';
import {
  fairShareOf,
  formatCount,
  formatResources,
  formatShare,
  HELD_JOBS,
  largestShare,
  type ShareHolder,
  shareHolders,
} from '@goshawk/core';

/** Reads the shares of jobs, with the jobs that central does not list because they are on hold or begin later. */
export async function readShares(
  cluster: Pick<Cluster, 'shares' | 'jobs'>,
  signal: AbortSignal,
): Promise<{ readonly shares: ClusterShares; readonly holders: readonly ShareHolder[] }> {
  const [shares, { jobs }] = await Promise.all([
    cluster.shares({ signal }),
    cluster.jobs({ ...HELD_JOBS, signal }),
  ]);
  return { shares, holders: shareHolders(shares, jobs) };
}

export function sharesColumns(by: 'job' | 'user', shares: ClusterShares): Column<ShareHolder>[] {
  const { capacity, by: sharedBy } = shares;
  const who = ({ user }: ShareHolder): string => (user === '' ? '(unknown)' : plain(user));
  const largest = ({ has }: ShareHolder) => largestShare(has, capacity);
  return [
    { title: by, shrinkTo: 12, of: (holder) => (by === 'job' ? plain(holder.id ?? '') : who(holder)) },
    by === 'job'
      ? { title: 'user', shrinkTo: 8, of: who }
      : { title: 'jobs', align: 'right', of: ({ jobs }) => `${jobs}` },
    { title: 'weight', align: 'right', of: ({ weight = '' }) => `${weight}` },
    { title: 'running', align: 'right', of: ({ running }) => formatCount(running) },
    { title: 'waiting', align: 'right', of: ({ waiting }) => formatCount(waiting) },
    { title: 'share', align: 'right', of: (holder) => formatShare(largest(holder).share) },
    { title: 'of', of: (holder) => largest(holder).of },
    ...(sharedBy === undefined
      ? []
      : [
          {
            title: 'fair',
            align: 'right' as const,
            of: (holder: ShareHolder) => formatShare(fairShareOf(holder, capacity)),
          },
        ]),
    { title: 'allocated', shrinkTo: 12, wraps: true, of: ({ has }) => plain(formatResources(has)) },
  ];
}
