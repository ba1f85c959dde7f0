import { type GangRule, type JobInput, parseJobSpec, Random } from '@goshawk/core';
import { addPapers } from '@goshawk/papers';
import {
  ALL_POLICY_NAMES,
  addCustomPolicy,
  type ClusterView,
  choose,
  type Draft,
  deciderOf,
  fitsNow,
  gangSize,
  type PolicyModule,
  presetNamed,
  type StageView,
  type WorkerView,
} from '@goshawk/policies';
import { describe, expect, test } from 'vitest';
import { endsOf, settingsOf } from './simulation.fixture.js';
import { Simulation } from './simulation.js';

addPapers();

const WORKERS = 30;
/** Policies that plan whole jobs; some need a solver, which runs outside of the simulation. */
const OF_WHOLE_JOBS = ALL_POLICY_NAMES.filter((name) => {
  const preset = presetNamed(name);
  return preset.declares && deciderOf(preset).module.solves !== true;
});

/** Draws a policy of the kind that people write: it reads `cluster` or the changes, and orders stages and workers by a rule. */
function randomPolicy(random: Random): PolicyModule<Record<never, never>> {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)]!;
  const seesBy = pick(['jobs', 'jobs', 'changes']);
  const keyOf = pick<(stage: StageView) => number>([
    ({ job }) => job.arrivedAt,
    ({ job }) => -job.arrivedAt,
    ({ estimateMs }) => estimateMs,
    ({ job }) =>
      job.stages.reduce((sum, { tasks, ended, estimateMs }) => sum + (tasks - ended) * estimateMs, 0),
    ({ job, index }) => index * 1e6 + job.running,
  ]);
  const workerKeyOf = pick<(worker: WorkerView) => number>([
    ({ id }) => id,
    ({ runs }) => runs.length,
    ({ free }) => -free[0]!,
  ]);
  const draws = pick(['all', 'one']);
  return {
    title: `${seesBy}, ${draws}`,
    declares: random.next() < 0.8,
    gangs: 'asked',
    options: {},
    make: () => {
      const waiting = new Set<StageView>();
      return {
        update(changes) {
          for (const each of changes)
            if (each.kind === 'waiting') waiting.add(each.stage);
            else if (each.kind === 'gone') for (const stage of each.job.stages) waiting.delete(stage);
        },
        plan(cluster: ClusterView, draft: Draft, now) {
          const stages = seesBy === 'changes' ? [...waiting] : [...cluster.jobs].flatMap((job) => job.stages);
          for (const stage of stages.filter((each) => each.waiting > 0).sort((a, b) => keyOf(a) - keyOf(b))) {
            const workers = [...cluster.workers].filter(({ open }) => open);
            for (const worker of workers.sort((a, b) => workerKeyOf(a) - workerKeyOf(b))) {
              if (gangSize(stage) > 1) continue;
              while (stage.waiting > 0 && draft.start(stage, worker) !== undefined)
                if (draws === 'one') return draft.again(now + 1);
            }
            if (gangSize(stage) > 1) startGang(stage, workers, draft);
          }
        },
      };
    },
  };
}

function startGang(stage: StageView, workers: readonly WorkerView[], draft: Draft): void {
  const chosen: WorkerView[] = [];
  for (const worker of workers)
    if (fitsNow(stage, worker)) choose(worker, worker.roomFor(stage.demand), stage, gangSize(stage), chosen);
  if (chosen.length === gangSize(stage)) draft.gang(chosen.map((worker) => ({ stage, worker })));
}

/** Draws jobs, some of them gangs, and some with more tasks than the cluster runs at once, as far as the policy takes them. */
function randomJob(random: Random, gangs: GangRule): JobInput {
  const integer = (least: number, most: number) => least + Math.floor(random.next() * (most - least + 1));
  const stage = (most: number) => ({
    tasks: { count: integer(1, Math.min(most, WORKERS)), run: { sleep: integer(10, 3_000) } },
  });
  if (gangs !== 'none' && random.next() < 0.25) return { gang: true, ...stage(WORKERS) };
  if (gangs !== 'all' && random.next() < 0.3)
    return { tasks: { count: 3 * WORKERS, run: { sleep: integer(10, 3_000) } } };
  if (random.next() < 0.6) return { estimate: 500, ...stage(60) };
  return {
    stages: [
      { name: 'map', ...stage(50), estimate: 700 },
      { name: 'other', ...stage(10) },
      { name: 'reduce', after: ['map'], ...stage(10) },
    ],
  };
}

async function expectAllJobsEnd(policy: string, estimator: 'pilot' | 'hybrid', random: Random) {
  const { gangs } = presetNamed(policy);
  const jobs = Array.from({ length: 12 }, (_, i) => ({
    submitMs: i * 200,
    spec: parseJobSpec(randomJob(random, gangs)),
  }));
  const simulation = new Simulation({
    workers: WORKERS,
    slots: 1,
    capacity: {},
    schedulers: 2,
    settings: settingsOf(policy, { cutoffMs: 1_000, estimator }),
    seed: 1,
    checked: true,
  });
  const ends = await endsOf(simulation, jobs);
  expect(ends.filter(({ completed }) => completed)).toHaveLength(jobs.length);
}

describe.each(['pilot', 'hybrid'] as const)('with the estimator %s, all jobs end', (estimator) => {
  test('under the policy of the examples', async () => {
    const example = '../../../examples/shortest-first.js';
    const { default: exported } = (await import(/* @vite-ignore */ example)) as { readonly default: unknown };
    addCustomPolicy('./shortest-first.js', '/examples/shortest-first.js', exported);
    return expectAllJobsEnd('./shortest-first.js', estimator, Random.seeded(`example ${estimator}`));
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])('under a random custom policy: seed %i', (seed) => {
    const random = Random.seeded(`custom policy ${seed}`);
    addCustomPolicy(`./random-${seed}.js`, `/random-${seed}.js`, randomPolicy(random));
    return expectAllJobsEnd(`./random-${seed}.js`, estimator, random);
  });
});

test.each(OF_WHOLE_JOBS)('with pilots, all jobs end under %s', (name) =>
  expectAllJobsEnd(name, 'pilot', Random.seeded(name)),
);
