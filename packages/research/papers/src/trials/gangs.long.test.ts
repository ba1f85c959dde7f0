import { History } from '@goshawk/predictor';
import { arrivingJobOf, configureGenerator, type TraceJob } from '@goshawk/traces';
import { describe, expect, test } from 'vitest';
import { THREE_SIGMA_POLICIES } from '../policies/three-sigma/index.js';
import { loadSolver } from '../solver/highs.js';
import { type GangPolicy, runGangExperiment, SIGMA_FEATURES } from './gangs.js';

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

/** Removes machine-dependent fields. */
function outcome(policy: GangPolicy) {
  const { deadlines, planning } = runGangExperiment(experiment(policy), solver.solve);
  return { deadlines, counts: planning?.counts };
}

describe.each(Object.keys(THREE_SIGMA_POLICIES) as GangPolicy[])('%s', (policy) => {
  test('completes what it can, reproducibly', () => {
    const { deadlines, counts } = outcome(policy);
    expect(deadlines).toMatchObject({ jobs: 20, bestEffortCompleted: 20 });
    expect(deadlines.missed).toBeLessThan(12);
    expect(outcome(policy)).toEqual({ deadlines, counts });
  });
});

test('a failing solver results in greedy plans, which are counted', () => {
  const { deadlines, planning } = runGangExperiment(experiment('3sigma-sched'), () => {
    throw new Error('out of memory');
  });
  expect(planning!.counts.greedy).toBe(planning!.counts.cycles);
  expect(deadlines.bestEffortCompleted).toBe(20);
});

/** Shares of estimates by their ratio to the run time, after learning from 10,000 jobs. */
function predictability(generator: string) {
  const history = new History({ features: SIGMA_FEATURES });
  const learn = (job: TraceJob) => history.learn(arrivingJobOf(job), job.meanSeconds * 1_000);
  for (const job of configureGenerator(`${generator}:jobs=10000,seed=1001`).generate()) learn(job);
  const factors = [...configureGenerator(`${generator}:jobs=1470,seed=1`).generate()].map((job) => {
    const factor = history.predict(arrivingJobOf(job)).estimateMs / (job.meanSeconds * 1_000);
    learn(job);
    return factor;
  });
  const share = (is: (factor: number) => boolean) => factors.filter(is).length / factors.length;
  return {
    withinTwice: share((factor) => factor >= 0.5 && factor <= 2),
    within5Percent: share((factor) => Math.abs(factor - 1) <= 0.05),
    over95Percent: share((factor) => factor > 1.95),
  };
}

test("jobs of e2e are as predictable as Google's: 8% of the estimates are off by a factor of 2 (3Sigma §2.1)", () => {
  const { withinTwice } = predictability('e2e');
  expect(withinTwice).toBeGreaterThan(0.9);
  expect(withinTwice).toBeLessThan(0.94);
});

test('jobs like HedgeFund have few accurate estimates, and many that are far off (3Sigma §2.1)', () => {
  const { withinTwice, within5Percent } = predictability('hedgefund-like');
  expect(withinTwice).toBeGreaterThan(0.77);
  expect(withinTwice).toBeLessThan(0.85);
  expect(within5Percent).toBeLessThan(0.15);
});

test('jobs like Mustang have many estimates within 5%, and 23% that are over by 95% (3Sigma §2.1)', () => {
  const { over95Percent, within5Percent } = predictability('mustang-like');
  expect(within5Percent).toBeGreaterThan(0.4);
  expect(over95Percent).toBeGreaterThan(0.22);
  expect(over95Percent).toBeLessThan(0.26);
});
