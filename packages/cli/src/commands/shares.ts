import type { ClusterShares } from '@goshawk/client';
import { defineCommand, FROM, pageOf, painter, renderTable } from '@goshawk/command';
import { openCluster } from '@goshawk/command/cluster';
import {
  counted,
  fairShareOf,
  formatResources,
  largestShare,
  type Output,
  type Resources,
  type ShareHolder,
  sharesByUser,
} from '@goshawk/core';
import { readShares, sharesColumns } from '../jobs/shares-table.js';

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
      setting: false,
      choices: ['job', 'user'],
      describe: 'list shares by job or by user (default: the unit of the policy)',
    },
    limit: { type: 'count', setting: false, default: 100, min: 1, describe: 'maximum number of lines' },
    from: FROM,
  },
  async run(context, options) {
    await using cluster = await openCluster(context);
    const signal = context.interrupted;
    const { shares, holders } = await readShares(cluster, signal);
    const by = options.by ?? shares.by ?? 'job';
    const all = by === 'user' ? sharesByUser(holders) : [...holders];
    all.sort(
      (one, other) =>
        largestShare(other.has, shares.capacity).share - largestShare(one.has, shares.capacity).share,
    );
    const { shown, left, next, ...part } = pageOf(all, options);
    // Central lists only the jobs with the largest shares.
    const unlisted = shares.total - shares.jobs.length;
    const unweighted = holders.length - shares.jobs.length;
    const total = shares.total + unweighted;
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
      context.out(renderTable(sharesColumns(by, shares), shown, painter(context)));
    }
    if (next !== null) context.note(`${counted(left, `more ${by}`)}; continue with --from ${next}`);
    if (unlisted > 0) context.note(`${counted(unlisted, 'more job')} with smaller shares`);
    if (unweighted > 0)
      context.note(`${counted(unweighted, 'job')} on hold or not begun: central does not know the weight`);
    context.note(summary({ ...shares, total }));
  },
});

function holderJson(
  holder: ShareHolder,
  by: 'job' | 'user',
  capacity: Resources,
): Output<'goshawk.shares/1'>['shares'][number] {
  const { id, user, jobs, weight, running, waiting, has, due } = holder;
  const { share, of } = largestShare(has, capacity);
  return {
    ...(by === 'job' ? { job: id! } : { jobs }),
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
