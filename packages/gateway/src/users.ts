import {
  type ClusterShares,
  fairShareOf,
  type JobSummary,
  largestShare,
  type ShareHolder,
  sharesByUser,
} from '@goshawk/core';

/** A user; `weight` is undefined if central lists none of the user's jobs. */
interface User extends Omit<ShareHolder, 'weight'> {
  readonly weight?: number;
  readonly held: number;
}

/**
 * Returns `goshawk.users/1`: users with active jobs, the largest share first.
 *
 * @param jobs jobs on hold, or that begin later: central lists such a job only while tasks of it run
 */
export function usersJson(shares: ClusterShares, jobs: readonly JobSummary[]) {
  const { by = null, capacity, total } = shares;
  const held = new Map(jobs.filter(isHeld).map((job) => [job.id, job]));
  const heldOf = (id: string): number => held.get(id)?.tasks.waiting ?? 0;
  // Central no longer counts the waiting tasks of a job on hold.
  const listed = shares.jobs.map((job) => ({ ...job, waiting: Math.max(job.waiting, heldOf(job.id)) }));
  const users = new Map<string, User>(sharesByUser(listed).map((user) => [user.user, { ...user, held: 0 }]));
  for (const { id, user } of listed) {
    const known = users.get(user)!;
    users.set(user, { ...known, held: known.held + heldOf(id) });
    held.delete(id);
  }
  for (const { user = '', tasks } of held.values()) {
    const none = { user, jobs: 0, running: 0, waiting: 0, held: 0, has: {} };
    const known = users.get(user) ?? (by === null ? none : { ...none, due: {} });
    users.set(user, {
      ...known,
      jobs: known.jobs + 1,
      running: known.running + tasks.running,
      waiting: known.waiting + tasks.waiting,
      held: known.held + tasks.waiting,
    });
  }
  const rows = Array.from(users.values(), (holder) => {
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

/** Older schedulers also list other jobs. */
function isHeld({ held, beginAt }: JobSummary): boolean {
  return held === true || beginAt !== undefined;
}
