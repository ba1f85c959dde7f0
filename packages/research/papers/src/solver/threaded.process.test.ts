import type { Program } from '@goshawk/policies';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadSolver } from './highs.js';
import { type SolverReply, ThreadedSolver } from './threaded.js';

let solver: ThreadedSolver;
beforeEach(() => {
  solver = new ThreadedSolver(60_000);
});
afterEach(() => solver.close());

/** Maximizes `worth` within `room`. */
function knapsack(worth: readonly number[], room: number): Program {
  const columns = worth.length;
  return {
    columns,
    rows: 1,
    cost: Float64Array.from(worth),
    upper: new Float64Array(columns).fill(1),
    rowLower: Float64Array.of(Number.NEGATIVE_INFINITY),
    rowUpper: Float64Array.of(room),
    starts: Int32Array.of(0, columns),
    indices: Int32Array.from(worth, (_, column) => column),
    values: Float64Array.from(worth, (_, column) => column + 1),
    seed: undefined,
    limits: { lpIterationsMax: 1e9, relativeGap: 0 },
  };
}

const solved = (program: Program, by = solver) =>
  new Promise<SolverReply>((resolve) => by.solve(program, resolve));

test('gives the same answer as in this thread', async () => {
  const program = knapsack([4, 3, 7, 1, 8], 7);
  const { solve } = await loadSolver();
  expect(await solved(program)).toEqual({ solution: solve(program) });
});

test('a failing program is reported, and the next one is solved', async () => {
  const bad = { ...knapsack([1, 2], 1), indices: Int32Array.of(0, 9) };
  expect(await solved(bad)).toMatchObject({ error: expect.any(String) });
  expect(await solved(knapsack([5], 1))).toMatchObject({ solution: { objective: 5 } });
});

test('a thread that takes too long is terminated', async () => {
  const hasty = new ThreadedSolver(1);
  const worth = Array.from({ length: 400 }, (_, i) => 1 + ((i * 37) % 91));
  expect(await solved(knapsack(worth, 4_001), hasty)).toEqual({
    error: 'the solver took longer than 1 ms',
  });
  hasty.close();
});

test('of two waiting programs, the later one is solved', async () => {
  const answered: string[] = [];
  const first = solved(knapsack([1], 1)).then(() => answered.push('first'));
  solver.solve(knapsack([2], 1), () => answered.push('second'));
  const third = solved(knapsack([3], 1)).then(() => answered.push('third'));
  await Promise.all([first, third]);
  expect(answered).toEqual(['first', 'third']);
});
