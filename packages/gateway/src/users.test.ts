import type { JobSummary } from '@goshawk/core';
import { expect, it } from 'vitest';
import { usersJson } from './users.js';

const listed = { weight: 1, waiting: 0, has: { cpu: 2 }, due: { cpu: 2 }, userWeight: 4 };

function heldJob(id: string, user: string, waiting: number, running: number, more: object): JobSummary {
  const tasks = { total: waiting + running, waiting, running, completed: 0, failed: 0, cancelled: 0 };
  return { id, user, tasks, ...more } as JobSummary;
}

it('counts the tasks of jobs on hold, whether central lists the jobs or not', () => {
  const jobs = [
    { id: 'a-1', user: 'ann', running: 2, ...listed },
    { id: 'a-2', user: 'ann', running: 1, ...listed, waiting: 5 },
  ];
  const shares = { by: 'user' as const, capacity: { cpu: 8 }, jobs, total: 2 };
  const { users } = usersJson(shares, [
    heldJob('a-1', 'ann', 7, 2, { held: true }),
    heldJob('a-3', 'ann', 3, 0, { beginAt: 5 }),
    heldJob('a-4', 'bob', 9, 0, { held: true }),
  ]);
  expect(users).toEqual([
    expect.objectContaining({ user: 'ann', jobs: 3, running: 3, waiting: 15, held: 10, weight: 4 }),
    expect.objectContaining({
      user: 'bob',
      jobs: 1,
      running: 0,
      waiting: 9,
      held: 9,
      weight: null,
      share: 0,
    }),
  ]);
});
