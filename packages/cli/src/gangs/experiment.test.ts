import { THREE_SIGMA_POLICIES } from '@goshawk/policies';
import { loadSolver } from '@goshawk/runtime';
import { configureGenerator } from '@goshawk/traces';
import { describe, expect, test } from 'vitest';
import { type GangPolicy, runGangExperiment } from './experiment.js';

const solver = await loadSolver();

function experiment(policy: GangPolicy, jobs = 40) {
  return {
    policy,
    jobs: [...configureGenerator(`e2e:jobs=${jobs},nodes=64,seed=1`).generate()],
    past: [...configureGenerator('e2e:jobs=500,nodes=64,seed=2').generate()],
    nodes: 64,
    racks: 8,
  };
}

describe.each(Object.keys(THREE_SIGMA_POLICIES) as GangPolicy[])('%s', (policy) => {
  test('completes what it can, and the same once more', () => {
    const metrics = runGangExperiment(experiment(policy), solver.solve);
    expect(metrics.deadlineJobs).toBe(20);
    expect(metrics.bestEffortCompleted).toBe(20);
    expect(metrics.missed).toBeLessThan(12);
    expect(runGangExperiment(experiment(policy), solver.solve)).toEqual(metrics);
  });
});

test('a solver that fails leaves greedy plans, which are counted', () => {
  const metrics = runGangExperiment(experiment('3sigma-sched'), () => {
    throw new Error('out of memory');
  });
  expect(metrics.greedy).toBe(metrics.cycles);
  expect(metrics.bestEffortCompleted).toBe(20);
});
