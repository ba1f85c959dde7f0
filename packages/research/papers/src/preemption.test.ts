import { CENTRAL_POLICIES } from '@goshawk/policies';
import { OWNER, PolicyBench } from '@goshawk/policies/testing';
import { expect, test } from 'vitest';
import { addPapers, PAPER_POLICIES } from './index.js';
import { loadSolver } from './solver/index.js';

addPapers();
const { solve } = await loadSolver();

/** Jobs below this number have a deadline; the others may be preempted. */
const FIRST_PREEMPTIBLE = 10;
const CYCLES = 20;
const CYCLE_MS = 10_000;
const POLICIES = Object.keys({ ...CENTRAL_POLICIES, ...PAPER_POLICIES }).filter((name) => name !== 'hawk');

/** Two urgent and two preemptible tasks run; a third urgent one must start at once. @returns jobs preempted in vain */
function preempted(policy: string, gpus: number, used: readonly number[], wanted: number): number[] {
  const slots = used.length;
  const bench = new PolicyBench(policy, 1, { slots, capacity: { cpu: slots, gpu: gpus }, solve });
  const say = bench.books.declare.bind(bench.books);
  bench.books.declare = (owner, number, facts) => {
    const isUrgent = number < FIRST_PREEMPTIBLE;
    const deadlineAt = isUrgent ? bench.now + (CYCLES + 40) * CYCLE_MS : Number.POSITIVE_INFINITY;
    return say(owner, number, { ...facts, isDeclared: true, deadlineAt, preemptible: !isUrgent });
  };
  const jobs = [1, 2, 10, 11].slice(0, used.length);
  for (const [at, job] of jobs.entries()) {
    const gpu = used[at]!;
    bench.need(job, { demand: gpu > 0 ? { gpu } : {}, estimateMs: 50 * CYCLE_MS });
    for (let cycle = 0; cycle < 2; cycle++) {
      bench.now += CYCLE_MS;
      bench.settle();
    }
  }
  // Policies that keep room for others start fewer.
  if (bench.busy < used.length) return [];
  bench.need(3, { demand: { gpu: wanted }, estimateMs: (CYCLES + 30) * CYCLE_MS });
  const victims = new Set<number>();
  for (let cycle = 0; cycle < CYCLES; cycle++) {
    bench.now += CYCLE_MS;
    bench.settle();
    for (const job of jobs.filter((each) => each >= FIRST_PREEMPTIBLE))
      for (const run of bench.books.job(OWNER, job)?.runs ?? []) if (run.isPreempted) victims.add(job);
  }
  return [...victims];
}

test.each(POLICIES)('%s preempts nothing for a task whose GPU is in use by others', (policy) => {
  expect(preempted(policy, 1, [1, 0, 0, 0], 1)).toEqual([]);
});

test.each(POLICIES)(
  '%s preempts nothing for a part of a GPU that would be free only in two halves',
  (policy) => {
    expect(preempted(policy, 2, [0.6, 0.6, 0.4, 0.4], 0.8)).toEqual([]);
  },
);
