import { showError } from './actions.js';
import { get } from './api.js';
import { bytes, card, count, counted, duration, fill, h, percent, table } from './dom.js';
import type { Usage, Users } from './shapes.js';
import type { Place } from './view.js';

/** Number of days of usage on this page. */
const DAYS = 30;

/** Shows each user's share of the cluster, waiting tasks, and usage. */
export function showUsers({ root, live, signal }: Place): void {
  const problem = h('div', { role: 'status' });
  const list = h('div', {});
  const used = h('div', {});
  for (const part of [list, used]) fill(part, h('p', { class: 'hint' }, 'Waiting for an answer.'));
  root.append(problem, card('Users with active jobs', list), card(`Usage in the last ${DAYS} days`, used));
  live.onUpdate(signal, async () => {
    try {
      const [users, usage] = await Promise.all([
        get<Users>('/v1/users', signal),
        get<Usage>(`/v1/usage?by=user,project&since=${DAYS}d&limit=100`, signal),
      ]);
      fill(problem);
      fill(list, usersTable(users));
      fill(used, usageTable(usage));
    } catch (error) {
      showError(problem, error, signal);
    }
  });
}

function usersTable({ users, sharedBy, unlisted }: Users): HTMLElement {
  if (users.length === 0) return h('p', { class: 'well' }, 'No user has active jobs.');
  const rule =
    sharedBy === null
      ? 'This policy does not enforce shares.'
      : `The fair share of each ${sharedBy} is proportional to its weight.`;
  return h(
    'div',
    {},
    table<Users['users'][number]>(
      'Users',
      [
        {
          title: 'user',
          of: ({ user }) =>
            user === null
              ? 'unknown'
              : h(
                  'a',
                  {
                    class: 'clip',
                    title: user,
                    href: `#/jobs?${new URLSearchParams({ q: `user:${user} state:active` })}`,
                  },
                  user,
                ),
        },
        { title: 'jobs', isNumber: true, isExtra: true, of: ({ jobs }) => count(jobs) },
        { title: 'running', isNumber: true, of: ({ running }) => count(running) },
        { title: 'waiting', isNumber: true, of: ({ waiting }) => count(waiting) },
        { title: 'held', isNumber: true, of: ({ held }) => count(held) },
        {
          title: 'uses',
          isNumber: true,
          of: ({ share, of }) => `${percent(share)}${of === null ? '' : ` of ${of}`}`,
        },
        ...(sharedBy === null
          ? []
          : [
              {
                title: 'fair share',
                isNumber: true,
                of: ({ fairShare }: Users['users'][number]) =>
                  fairShare === null ? '–' : percent(fairShare),
              },
              {
                title: 'weight',
                isNumber: true,
                isExtra: true,
                of: ({ weight }: Users['users'][number]) => (weight === null ? '–' : count(weight)),
              },
            ]),
        {
          title: 'allocated',
          isExtra: true,
          of: ({ has }) =>
            Object.entries(has)
              .map(([name, amount]) => `${name === 'memory' ? bytes(amount) : count(amount)} ${name}`)
              .join(', '),
        },
      ],
      users,
    ),
    h(
      'p',
      { class: 'hint' },
      `${rule} Held tasks belong to jobs on hold, or that begin later, and count as waiting.${unlisted > 0 ? ` ${counted(unlisted, 'job')} with smaller shares are left out.` : ''}`,
    ),
  );
}

function usageTable({ usage, total, silent }: Usage): HTMLElement {
  if (total === 0) return h('p', { class: 'well' }, 'No attempt has ended.');
  const left = total - usage.length;
  return h(
    'div',
    {},
    table<Usage['usage'][number]>(
      'Usage',
      [
        { title: 'user', of: ({ user }) => user ?? 'unknown' },
        { title: 'project', of: ({ project }) => project ?? '' },
        { title: 'attempts', isNumber: true, of: ({ attempts }) => count(attempts) },
        { title: 'CPU hours', isNumber: true, of: ({ cpuHours }) => hours(cpuHours) },
        {
          title: 'memory, GiB hours',
          isNumber: true,
          of: ({ memoryGibHours }) => (memoryGibHours === null ? 'unknown' : hours(memoryGibHours)),
        },
        { title: 'GPU hours', isNumber: true, of: ({ gpuHours }) => hours(gpuHours) },
        {
          title: 'mean wait',
          isNumber: true,
          isExtra: true,
          of: ({ meanWaitSeconds }) => (meanWaitSeconds === null ? 'unknown' : duration(meanWaitSeconds)),
        },
        { title: 'failed', isNumber: true, of: ({ failed }) => count(failed) },
        { title: 'lost', isNumber: true, isExtra: true, of: ({ lost }) => count(lost) },
      ],
      usage,
    ),
    h(
      'p',
      { class: 'hint' },
      `Requested resources × run time of all attempts that have ended; memory counts those that request it.${left > 0 ? ` ${counted(left, 'more row')}.` : ''}${silent.length > 0 ? ` No answer from ${silent.join(', ')}.` : ''}`,
    ),
  );
}

function hours(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 4 });
}
