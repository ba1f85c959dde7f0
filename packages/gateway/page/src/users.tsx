import { counted, formatCount, formatShare } from '@goshawk/core';
import { jobsLink } from './router.js';
import type { Usage, Users } from './shapes.js';
import { useStore } from './store.js';
import { Card, Problem, Table, Waiting } from './ui.js';
import { useAnswer } from './use-answer.js';
import { ABSENT, amounts, duration } from './words.js';

/** Number of days of usage on this page. */
const DAYS = 30;

/** Each user's share of the cluster, waiting tasks, and usage. */
export function UsersView() {
  const { updates } = useStore();
  const users = useAnswer<Users>('/v1/users', updates.value);
  const usage = useAnswer<Usage>(`/v1/usage?by=user,project&since=${DAYS}d&limit=100`, updates.value);
  return (
    <>
      <Problem error={users.error ?? usage.error} />
      <Card title="Users with active jobs">
        {users.data === undefined ? <Waiting /> : <UsersTable users={users.data} />}
      </Card>
      <Card title={`Usage in the last ${DAYS} days`}>
        {usage.data === undefined ? <Waiting /> : <UsageTable usage={usage.data} />}
      </Card>
    </>
  );
}

export function UsersTable({ users: { users, sharedBy, unlisted } }: { readonly users: Users }) {
  if (users.length === 0) return <p class="well">No user has active jobs.</p>;
  const rule =
    sharedBy === null
      ? 'This policy does not enforce shares.'
      : `The fair share of each ${sharedBy} is proportional to its weight.`;
  return (
    <div>
      <Table<Users['users'][number]>
        caption="Users"
        rows={users}
        keyOf={({ user }) => user ?? ''}
        columns={[
          {
            title: 'user',
            of: ({ user }) =>
              user === null ? (
                'unknown'
              ) : (
                <a class="clip" title={user} href={jobsLink(`user:${user} state:active`)}>
                  {user}
                </a>
              ),
          },
          { title: 'jobs', isNumber: true, isExtra: true, of: ({ jobs }) => formatCount(jobs) },
          { title: 'running', isNumber: true, of: ({ running }) => formatCount(running) },
          { title: 'waiting', isNumber: true, of: ({ waiting }) => formatCount(waiting) },
          { title: 'held', isNumber: true, isExtra: true, of: ({ held }) => formatCount(held) },
          {
            title: 'uses',
            isNumber: true,
            of: ({ share, of }) => `${formatShare(share)}${of === null ? '' : ` of ${of}`}`,
          },
          sharedBy !== null && {
            title: 'fair share',
            isNumber: true,
            of: ({ fairShare }) => (fairShare === null ? ABSENT : formatShare(fairShare)),
          },
          sharedBy !== null && {
            title: 'weight',
            isNumber: true,
            isExtra: true,
            of: ({ weight }) => (weight === null ? ABSENT : formatCount(weight)),
          },
          { title: 'allocated', isExtra: true, of: ({ has }) => amounts(has) },
        ]}
      />
      <p class="hint">
        {rule} Held tasks belong to jobs on hold, or that begin later, and count as waiting.
        {unlisted > 0 ? ` ${counted(unlisted, 'job')} with smaller shares are left out.` : ''}
      </p>
    </div>
  );
}

export function UsageTable({ usage: { usage, total, totals, silent } }: { readonly usage: Usage }) {
  if (total === 0) return <p class="well">No attempt has ended.</p>;
  const left = total - usage.length;
  return (
    <div>
      <Table<Usage['usage'][number]>
        caption="Usage"
        rows={usage}
        keyOf={({ user, project }) => `${user ?? ''} ${project ?? ''}`}
        columns={[
          { title: 'user', of: ({ user }) => user ?? 'unknown' },
          { title: 'project', of: ({ project }) => project ?? '' },
          { title: 'attempts', isNumber: true, of: ({ attempts }) => formatCount(attempts) },
          { title: 'CPU time', isNumber: true, of: ({ cpuHours }) => duration(3_600 * cpuHours) },
          {
            title: 'used CPU time',
            isNumber: true,
            isExtra: true,
            of: ({ cpuUsedHours }) => (cpuUsedHours === null ? 'unknown' : duration(3_600 * cpuUsedHours)),
          },
          {
            title: 'share',
            isNumber: true,
            of: ({ cpuHours }) => (totals.cpuHours > 0 ? formatShare(cpuHours / totals.cpuHours) : ABSENT),
          },
          {
            title: 'memory, GiB hours',
            isNumber: true,
            isExtra: true,
            of: ({ memoryGibHours }) => (memoryGibHours === null ? 'not requested' : hours(memoryGibHours)),
          },
          {
            title: 'GPU time',
            isNumber: true,
            isExtra: true,
            of: ({ gpuHours }) => duration(3_600 * gpuHours),
          },
          {
            title: 'mean wait',
            isNumber: true,
            isExtra: true,
            of: ({ meanWaitSeconds }) => (meanWaitSeconds === null ? 'unknown' : duration(meanWaitSeconds)),
          },
          { title: 'failed', isNumber: true, of: ({ failed }) => formatCount(failed) },
          { title: 'lost', isNumber: true, isExtra: true, of: ({ lost }) => formatCount(lost) },
        ]}
      />
      <p class="hint">
        {`In total: ${duration(3_600 * totals.cpuHours)} of CPU time in ${counted(totals.attempts, 'attempt')}. `}
        Requested resources × run time of all attempts that have ended; memory counts those that request it.
        {left > 0 ? ` ${counted(left, 'more row')}.` : ''}
        {silent.length > 0 ? ` No answer from ${silent.join(', ')}.` : ''}
      </p>
    </div>
  );
}

function hours(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 4 });
}
