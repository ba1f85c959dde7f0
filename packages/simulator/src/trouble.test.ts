import { LIVE_TIMINGS, POLICY_NAMES, Random } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dealtByStart } from './dealt-sleeps.js';
import { drawnJobs, endsOf, integersOf, settingsOf } from './simulation.fixture.js';
import { Simulation, type SimulationOptions } from './simulation.js';
import type { Trouble } from './trouble.js';

const SECOND = 1_000;

/** Settings as those of `simulate` with failures. */
const withRetries = (policy: string) => ({
  ...settingsOf(policy, { cutoffMs: 10 * SECOND }),
  timings: { ...LIVE_TIMINGS, heartbeatMs: 0, leaseMs: 0, retryMs: LIVE_TIMINGS.leaseMs },
});

function simulationOf(trouble: Trouble, options: Partial<SimulationOptions> = {}): Simulation {
  return new Simulation({
    workers: 2,
    slots: 1,
    capacity: {},
    schedulers: 1,
    seed: 1,
    settings: withRetries('goshawk'),
    checked: true,
    trouble,
    ...options,
  });
}

/** Jobs of `tasks` tasks of ten seconds each. */
const tenSeconds = (jobs: number, tasks: number, everyMs: number) =>
  drawnJobs(jobs, everyMs, () => ({
    tasks: Array.from({ length: tasks }, () => ({ sleep: 10 * SECOND })),
    estimate: 10 * SECOND,
    lend: false,
  }));

describe('speeds', () => {
  it('divide the time of each run, worker by worker', async () => {
    const [job] = await endsOf(simulationOf({ speeds: [1, 0.5, 4] }, { workers: 3 }), tenSeconds(1, 3, 0));
    expect([...job!.runsMs].map((ms) => Math.round(ms)).sort((one, other) => one - other)).toEqual([
      2_500, 10_000, 20_000,
    ]);
  });

  it('of 1 change nothing', async () => {
    const ends = (trouble: Trouble | undefined) =>
      endsOf(simulationOf(trouble as Trouble, { workers: 5 }), tenSeconds(20, 3, 5 * SECOND));
    expect(await ends({ speeds: [1] })).toEqual(await ends(undefined));
  });
});

it('stragglers are the given share of all runs, and take the given number of times as long', async () => {
  const trouble = { stragglers: { share: 0.2, times: 8 } };
  const ends = await endsOf(
    simulationOf(trouble, { workers: 50, checked: false }),
    tenSeconds(100, 20, 30 * SECOND),
  );
  const runs = ends.flatMap(({ runsMs }) => [...runsMs]);
  const slow = runs.filter((ms) => Math.round(ms) === 80 * SECOND);
  expect(runs.filter((ms) => Math.round(ms) === 10 * SECOND)).toHaveLength(runs.length - slow.length);
  // The bounds are five standard deviations of 2,000 draws.
  expect(slow.length / runs.length).toBeGreaterThan(0.155);
  expect(slow.length / runs.length).toBeLessThan(0.245);
});

describe('failures', () => {
  it('come as often as given, and tasks that were lost run again', async () => {
    const trouble = { failures: { everyMs: 500 * SECOND, downMs: 20 * SECOND } };
    const jobs = tenSeconds(400, 5, 10 * SECOND);
    const simulation = simulationOf(trouble, { workers: 10, checked: false });
    const ends = await endsOf(simulation, jobs);
    expect(ends.filter(({ completed }) => !completed)).toEqual([]);
    const attempts = ends.reduce((sum, each) => sum + each.attempts, 0);
    // Tasks are running for 20,000 s in total, so 40 of them are lost on average; five standard deviations.
    expect(attempts - 2_000).toBeGreaterThan(8);
    expect(attempts - 2_000).toBeLessThan(72);
  });

  it('let every policy complete all jobs', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...POLICY_NAMES),
        fc.integer({ min: 1, max: 1e9 }),
        async (policy, seed) => {
          const draw = integersOf(Random.seeded(seed));
          const jobs = drawnJobs(draw(5, 30), draw(1, 10) * SECOND, () => {
            const sleep = draw(0, 6) === 0 ? 30 * SECOND : SECOND * draw(1, 5);
            return { tasks: Array.from({ length: draw(1, 6) }, () => ({ sleep })), estimate: sleep };
          });
          const trouble = {
            failures: { everyMs: 200 * SECOND, downMs: draw(0, 40) * SECOND },
            stragglers: { share: 0.1, times: 3 },
            speeds: [1, 2],
          };
          const options = { workers: draw(3, 8), schedulers: 2, seed, settings: withRetries(policy) };
          const dealt = jobs.map(({ submitMs, spec }) => ({
            submitMs,
            spec: dealtByStart(spec, undefined, true),
          }));
          const ends = await endsOf(simulationOf(trouble, options), dealt);
          expect(ends).toHaveLength(jobs.length);
          expect(ends.filter(({ completed }) => !completed).map(({ index }) => index)).toEqual([]);
        },
      ),
      { numRuns: 20 },
    );
  });
});
