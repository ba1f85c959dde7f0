import {
  type ClusterShares,
  fairShareOf,
  type JobSummary,
  largestShare,
  shareHolders,
  sharesByUser,
} from '@goshawk/core';

/**
 * Returns `goshawk.users/1`: users with active jobs, the largest share first.
 *
 * @param jobs answer to the query `HELD_JOBS`
 */
export function usersJson(shares: ClusterShares, jobs: readonly JobSummary[]) {
  const { by = null, capacity, total } = shares;
  const rows = sharesByUser(shareHolders(shares, jobs)).map((holder) => {
    const { user, jobs: many, weight = null, running, waiting, held: onHold, has, due } = holder;
    const { share, of } = largestShare(has, capacity);
    return {
      ...{ user: user === '' ? null : user, jobs: many, weight, running, waiting, held: onHold, share },
      fairShare: due === undefined ? null : fairShareOf({ has, due }, capacity),
      ...{ of: of === '' ? null : of, has },
    };
  });
  rows.sort((one, other) => other.share - one.share || other.waiting - one.waiting);
  return {
    schema: 'goshawk.users/1' as const,
    sharedBy: by,
    users: rows,
    unlisted: total - shares.jobs.length,
  };
}
