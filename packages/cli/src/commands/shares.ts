import type { ClusterShares } from '@goshawk/client';
import { type Column, defineCommand, FROM, painter, partOf, plain, renderTable } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import {
  counted,
  fairShareOf,
  formatResources,
  formatShare,
  type JobSummary,
  LIMITS,
  largestShare,
  type Resources,
  type ShareHolder,
  sharesByUser,
} from '@goshawk/core';

export const sharesCommand = defineCommand({
  name: 'shares',
  describe: 'show actual and fair shares of the cluster by job or user',
  examples: [
    ['goshawk shares', 'list shares by the unit of the policy, users or jobs'],
    ['goshawk shares --by user', 'list shares by user'],
  ],
  options: {
    by: {
      type: 'text',
      value: 'UNIT',
      flagOnly: true,
      choices: ['job', 'user'],
      describe: 'list shares by job or by user (default: the unit of the policy)',
    },
    limit: { type: 'count', default: 100, min: 1, describe: 'maximum number of lines' },
    from: FROM,
  },
  async run(context, options) {
    await using cluster = await openCluster(context);
    const signal = context.interrupted;
    const [shares, { jobs: active }] = await Promise.all([
      cluster.shares({ signal }),
      cluster.jobs({ states: ['waiting', 'running'], limit: LIMITS.jobsListedMax, signal }),
    ]);
    const by = options.by ?? shares.by ?? 'job';
    const known: Holder[] =
      by === 'user' ? sharesByUser(shares.jobs) : shares.jobs.map((job) => ({ ...job, jobs: 1 }));
    const held = heldJobs(active, shares);
    const all = by === 'user' ? withHeldJobs(known, held) : [...known, ...held];
    all.sort(
      (one, other) =>
        largestShare(other.has, shares.capacity).share - largestShare(one.has, shares.capacity).share,
    );
    const { shown, left, next, ...part } = partOf(all, options);
    // Central lists only the jobs with the largest shares.
    const unlisted = shares.total - shares.jobs.length;
    const total = shares.total + held.length;
    if (context.global.json) {
      context.json({
        schema: 'goshawk.shares/1',
        by,
        sharedBy: shares.by ?? null,
        capacity: shares.capacity,
        shares: shown.map((holder) => holderJson(holder, by, shares.capacity)),
        total: by === 'user' ? part.total : total,
        truncated: part.truncated || unlisted > 0,
        next,
      });
      return;
    }
    if (shown.length > 0) {
      const rows = shown.map((holder) => row(holder, by, shares));
      context.out(renderTable(columnsOf(by, shares), rows, painter(context)));
    }
    if (next !== null) context.note(`${counted(left, `more ${by}`)}; continue with --from ${next}`);
    if (unlisted > 0) context.note(`${counted(unlisted, 'more job')} with smaller shares`);
    if (held.length > 0)
      context.note(`${counted(held.length, 'job')} on hold or not begun: central does not know the weight`);
    context.note(summary({ ...shares, total }));
  },
});

/** A job, or all jobs of one user. */
interface Holder extends Omit<ShareHolder, 'weight'> {
  /** Undefined if central does not know it, because all of the jobs are on hold. */
  readonly weight?: number;
}

/** Returns the jobs that central does not know because they are on hold, or begin later. */
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
function withHeldJobs(users: readonly Holder[], held: readonly Holder[]): Holder[] {
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

function columnsOf(by: 'job' | 'user', { by: sharedBy }: ClusterShares): Column[] {
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

function row(holder: Holder, by: 'job' | 'user', { capacity, by: sharedBy }: ClusterShares): string[] {
  const { id, user, jobs, weight, running, waiting, has } = holder;
  const { share, of } = largestShare(has, capacity);
  const who = user === '' ? '(unknown)' : plain(user);
  return [
    ...(by === 'job' ? [plain(id ?? ''), who] : [who, `${jobs}`]),
    weight === undefined ? '' : `${weight}`,
    `${running}`,
    `${waiting}`,
    formatShare(share),
    of,
    ...(sharedBy === undefined ? [] : [formatShare(fairShareOf(holder, capacity))]),
    plain(formatResources(has)),
  ];
}

function holderJson(holder: Holder, by: 'job' | 'user', capacity: Resources): Record<string, unknown> {
  const { id, user, jobs, weight, running, waiting, has, due } = holder;
  const { share, of } = largestShare(has, capacity);
  return {
    ...(by === 'job' ? { job: id } : { jobs }),
    user: user === '' ? null : user,
    weight: weight ?? null,
    userWeight: weight === undefined ? null : (holder.userWeight ?? 1),
    running,
    waiting,
    share,
    of: of === '' ? null : of,
    dueShare: due === undefined ? null : fairShareOf(holder, capacity),
    has,
    due: due ?? null,
  };
}

function summary({ total, by, capacity }: ClusterShares): string {
  const { slot, ...rest } = capacity;
  const resources = [
    ...(slot === undefined || rest.cpu !== undefined ? [] : [counted(slot, 'slot')]),
    ...(Object.keys(rest).length === 0 ? [] : [formatResources(rest)]),
  ].join(', ');
  const rule =
    by === undefined
      ? 'this policy does not enforce shares'
      : `the fair shares of ${by}s are proportional to their weights`;
  return `${counted(total, 'job')} in a cluster of ${resources === '' ? 'no workers' : resources}; ${rule}`;
}
