import { expect, test } from 'vitest';
import { type ClusterShares, type JobShare, shareHolders, sharesByUser } from './shares.js';
import type { JobSummary } from './view.js';

const listed = { weight: 2, userWeight: 3, waiting: 0, has: { cpu: 1 }, due: { cpu: 2 } };

function sharesOf(...jobs: JobShare[]): ClusterShares {
  return { by: 'user', capacity: { cpu: 8 }, jobs, total: jobs.length };
}

function job(id: string, user: string, waiting: number, running: number, more: object): JobSummary {
  const tasks = { total: 20, waiting, running, completed: 20 - waiting - running, failed: 0, cancelled: 0 };
  return { id, user, tasks, ...more } as JobSummary;
}

function usersOf(shares: ClusterShares, held: readonly JobSummary[]) {
  return sharesByUser(shareHolders(shares, held));
}

test("the jobs of a user are summed, and the user's weight stays the same", () => {
  const each = { ...listed, user: 'ann', running: 1, waiting: 2 };
  expect(usersOf(sharesOf({ id: 'a-1', ...each }, { id: 'a-2', ...each }), [])).toEqual([
    { ...each, weight: 3, jobs: 2, running: 2, waiting: 4, held: 0, has: { cpu: 2 }, due: { cpu: 4 } },
  ]);
});

test('a job on hold that central does not list is added to its user', () => {
  const held = [job('a-1', 'ann', 9, 0, { held: true }), job('b-1', 'ben', 4, 0, { beginAt: 5 })];
  expect(usersOf(sharesOf({ id: 'a-2', user: 'ann', running: 1, ...listed }), held)).toEqual([
    { ...listed, user: 'ann', weight: 3, jobs: 2, running: 1, waiting: 9, held: 9 },
    { user: 'ben', jobs: 1, running: 0, waiting: 4, held: 4, has: {}, due: {} },
  ]);
});

test('the waiting tasks of a job on hold count while other tasks of it run', () => {
  const shares = sharesOf({ id: 'a-1', user: 'ann', running: 2, ...listed });
  expect(usersOf(shares, [job('a-1', 'ann', 7, 2, { held: true })])).toEqual([
    { ...listed, user: 'ann', weight: 3, jobs: 1, running: 2, waiting: 7, held: 7 },
  ]);
});
