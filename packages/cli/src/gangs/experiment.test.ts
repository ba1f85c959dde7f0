import { THREE_SIGMA_POLICIES } from '@goshawk/policies';
import { History } from '@goshawk/predictor';
import { loadSolver } from '@goshawk/runtime';
import { configureGenerator, type TraceJob } from '@goshawk/traces';
import { describe, expect, test } from 'vitest';
import { arriving, type GangPolicy, runGangExperiment, SIGMA_FEATURES } from './experiment.js';

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

test("jobs of e2e are as predictable as Google's: 8% of the estimates are off by a factor of 2 (3Sigma §2.1)", () => {
  const history = new History({ features: SIGMA_FEATURES });
  const learn = (job: TraceJob) => history.learn(arriving(job), job.meanSeconds * 1_000);
  for (const job of configureGenerator('e2e:jobs=10000,seed=1001').generate()) learn(job);
  let off = 0;
  for (const job of configureGenerator('e2e:jobs=1470,seed=1').generate()) {
    const factor = history.predict(arriving(job)).estimateMs / (job.meanSeconds * 1_000);
    if (factor < 0.5 || factor > 2) off++;
    learn(job);
  }
  expect(off / 1_470).toBeGreaterThan(0.06);
  expect(off / 1_470).toBeLessThan(0.1);
});
