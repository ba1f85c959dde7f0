import { CENTRAL_POLICIES, type SolveProgram } from '@goshawk/policies';
import { OWNER, PolicyBench } from '@goshawk/policies/testing';
import { describe, expect, test } from 'vitest';
import { addPapers, PAPER_POLICIES } from './index.js';
import { loadSolver } from './solver/index.js';

addPapers();
const { solve } = await loadSolver();

/** Longer than the interval of every policy that plans at intervals. */
const CYCLE_MS = 60_000;

/** All but Hawk, which places named tasks: below. Those with a solver also run without its answers. */
const policies = Object.entries({ ...CENTRAL_POLICIES, ...PAPER_POLICIES })
  .filter(([name]) => name !== 'hawk')
  .flatMap(([name, module]) => {
    const without = { name, solve: undefined };
    return module.solves === true ? [without, { name, solve }] : [without];
  });

function cluster(policy: string, solve?: SolveProgram): PolicyBench {
  const bench = new PolicyBench(policy, 2, { slots: 4, capacity: { cpu: 4 }, solve });
  const say = bench.books.declare.bind(bench.books);
  bench.books.declare = (owner, number, facts) => say(owner, number, { ...facts, isDeclared: true });
  return bench;
}

function submit(bench: PolicyBench, job: number): readonly number[] {
  bench.now += CYCLE_MS;
  bench.need(job, { demand: { cpu: 3 }, estimateMs: CYCLE_MS });
  bench.now += CYCLE_MS;
  bench.settle();
  return bench.takePlaces().map(([, worker]) => worker);
}

describe.each(policies)('under $name', ({ name: policy, solve }) => {
  test('a task that its owner declines at a worker starts at another idle one', () => {
    const bench = cluster(policy, solve);
    const [first] = submit(bench, 1) as [number];
    bench.end(1, 'declined');
    expect(submit(bench, 1)).toEqual([1 - first]);
  });

  test('a retry of a failed task starts at another idle worker, even under a new central', () => {
    for (const avoided of [0, 1]) {
      const bench = cluster(policy, solve);
      const { books } = bench;
      const job = books.declare(OWNER, 1, { arrivedAt: 0, tasks: 1 });
      const stage = books.stage(job, 0, { demand: books.names.demandOf({ cpu: 3 }), tasks: 1 });
      books.reconsider(stage, 0, [bench.worker(avoided)]);
      expect(submit(bench, 1)).toEqual([1 - avoided]);
    }
  });

  test('a worker that is declined for one task is used for the next job', () => {
    const bench = cluster(policy, solve);
    const [first] = submit(bench, 1) as [number];
    bench.end(1, 'declined');
    submit(bench, 1);
    expect(submit(bench, 2)).toEqual([first]);
  });
});
