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
  holder: ShareHolder,
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
