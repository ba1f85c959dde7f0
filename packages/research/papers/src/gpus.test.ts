import { Random, sumOf } from '@goshawk/core';
import type { RunView } from '@goshawk/policies';
import { CENTRAL_POLICIES } from '@goshawk/policies';
import { expect, test } from 'vitest';
import { addPapers, PAPER_POLICIES } from './index.js';
import { loadSolver } from './solver/index.js';
import { runTrial, type TrialJob, trialPolicy } from './trials/trial.js';

addPapers();
const { solve } = await loadSolver();

const GPUS = 2;
const SEEDS = 5;
/** Variants of one policy, which share nearly all of its code, have different jobs. */
const SEEDS_OF_VARIANT = 2;

/** Whether these amounts, in thousandths, fit into this many GPUs without a fraction that spans two. */
function fitInto(gpus: number, demands: readonly number[]): boolean {
  const wholes = sumOf(demands, (demand) => Math.floor(demand / 1_000));
  const parts = demands.map((demand) => demand % 1_000).filter((part) => part > 0);
  const place = (at: number, free: readonly number[]): boolean =>
    at === parts.length ||
    free.some((left, gpu) => left >= parts[at]! && place(at + 1, free.with(gpu, left - parts[at]!)));
  return wholes <= gpus && place(0, new Array<number>(gpus - wholes).fill(1_000));
}

/** All but Hawk, whose workers choose when the tasks in their queues start. */
const policies = Object.keys({ ...CENTRAL_POLICIES, ...PAPER_POLICIES }).filter((name) => name !== 'hawk');

/** Seeds of the jobs of a policy. */
function seedsOf(name: string): number[] {
  const variant = policies.filter((each) => /^(3sigma|point)-/.test(each)).indexOf(name);
  const [first, count] = variant < 0 ? [1, SEEDS] : [1 + SEEDS_OF_VARIANT * variant, SEEDS_OF_VARIANT];
  return Array.from({ length: count }, (_, at) => first + at);
}

test.each(policies)('%s never assigns more than one of a GPU, and starts everything that fits', (name) => {
  for (const seed of seedsOf(name)) {
    const random = Random.seeded(`gpus ${seed}`);
    const jobs: TrialJob[] = Array.from({ length: 120 }, (_, number) => {
      const part = Math.floor(random.next() * 10) * 100;
      const gpu = random.next() < 0.5 ? part : part + 1_000 * Math.floor(random.next() * GPUS);
      const durationMs = 100 + Math.floor(random.next() * 1_000);
      const stage = {
        tasks: 1 + Math.floor(random.next() * 3),
        demand: [1, 0, gpu],
        durationMs,
        parents: [],
      };
      return { arriveMs: number * 100, stages: [stage] };
    });
    const started = ({ worker }: RunView): void => {
      const demands = worker.runs.map(({ stage }) => stage.demand[2] ?? 0);
      expect(fitInto(GPUS, demands), `seed ${seed}: ${demands}`).toBe(true);
    };
    const workers = Array.from({ length: 3 }, () => ({ capacity: [8, 8_000, GPUS * 1_000] }));
    const { completedMs } = runTrial({
      jobs,
      resources: ['gpu'],
      workers,
      policy: trialPolicy(name),
      solve,
      started,
    });
    expect([...completedMs].filter(Number.isNaN), `seed ${seed}`).toEqual([]);
  }
});
