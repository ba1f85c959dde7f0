import { expect, test } from 'vitest';
import { sharesByUser } from './shares.js';

test("the jobs of a user are summed, and the user's weight stays the same", () => {
  const job = {
    user: 'ann',
    weight: 2,
    userWeight: 3,
    running: 1,
    waiting: 2,
    has: { cpu: 1 },
    due: { cpu: 2 },
  };
  expect(
    sharesByUser([
      { id: 'a-1', ...job },
      { id: 'a-2', ...job },
    ]),
  ).toEqual([{ ...job, weight: 3, jobs: 2, running: 2, waiting: 4, has: { cpu: 2 }, due: { cpu: 4 } }]);
});
