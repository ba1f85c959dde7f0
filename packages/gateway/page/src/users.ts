import { tellError } from './actions.js';
import { get } from './api.js';
import { bytes, card, count, counted, fill, h, percent, table } from './dom.js';
import type { Users } from './shapes.js';
import type { Place } from './view.js';

/** Shows each user's share of the cluster, and waiting tasks. */
export function showUsers({ root, live, signal }: Place): void {
  const problem = h('div', { role: 'status' });
  const list = h('div', {});
  root.append(problem, card('Users with active jobs', list));
  live.onLook(signal, async () => {
    try {
      const users = await get<Users>('/v1/users', signal);
      fill(problem);
      fill(list, usersTable(users));
    } catch (error) {
      tellError(problem, error, signal);
    }
  });
}

function usersTable({ users, sharedBy, unlisted }: Users): HTMLElement {
  if (users.length === 0) return h('p', { class: 'well' }, 'No user has active jobs.');
  const rule =
    sharedBy === null
      ? 'This policy does not enforce shares.'
      : `Each ${sharedBy} has an equal share, by weight.`;
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
        { title: 'jobs', isNumber: true, of: ({ jobs }) => count(jobs) },
        { title: 'running', isNumber: true, of: ({ running }) => count(running) },
        { title: 'waiting', isNumber: true, of: ({ waiting }) => count(waiting) },
        {
          title: 'share',
          isNumber: true,
          of: ({ share, of }) => `${percent(share)}${of === null ? '' : ` of ${of}`}`,
        },
        {
          title: 'uses',
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
      `${rule}${unlisted > 0 ? ` ${counted(unlisted, 'job')} with smaller shares are left out.` : ''}`,
    ),
  );
}
