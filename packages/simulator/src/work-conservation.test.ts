import { type JobInput, Random } from '@goshawk/core';
import { expect, test } from 'vitest';
import { drawnJobs, endsOf, integersOf, settingsOf } from './simulation.fixture.js';
import { Simulation } from './simulation.js';

const SEEDS = Array.from({ length: 12 }, (_, seed) => seed + 1);

/** Draws a job of small tasks, stages, a gang with a deadline or GPU tasks for one of three users. */
function randomJob(random: Random): JobInput {
  const integer = integersOf(random);
  const sleep = integer(10, 2_000);
  const user = `u${integer(1, 3)}`;
  const tasks = (most: number) => ({ count: integer(1, most), run: { sleep } });
  switch (integer(1, 4)) {
    case 1:
      return { user, estimate: sleep, tasks: tasks(4), demand: { cpu: 1 } };
    case 2:
      return {
        user,
        preemptible: random.next() < 0.5,
        stages: [
          { name: 'read', tasks: tasks(12), demand: { cpu: 1 }, estimate: sleep },
          { name: 'join', after: ['read'], tasks: tasks(4), demand: { cpu: integer(2, 4) }, estimate: sleep },
        ],
      };
    case 3:
      return { user, estimate: sleep, gang: true, tasks: tasks(5), demand: { cpu: 2 }, deadline: 3 * sleep };
    default:
      return { user, estimate: sleep, tasks: tasks(3), demand: { cpu: integer(1, 3), gpu: 1 } };
  }
}

/** About half of the jobs are long under the second cutoff: they lend, and short tasks have a reserve. */
const CUTOFFS = [10_000, 700];
const CASES = SEEDS.map((seed) => [seed, CUTOFFS[seed % 2]!] as const);

test.each(CASES)(
  'no room stays free while a task that fits it waits: seed %i, cutoff %i ms',
  async (seed, cutoffMs) => {
    const random = Random.seeded(`work conservation ${seed}`);
    const jobs = drawnJobs(60, 100, () => randomJob(random));
    const simulation = new Simulation({
      workers: 4,
      slots: 4,
      capacity: { cpu: 4, gpu: 1 },
      schedulers: 2,
      settings: settingsOf('goshawk', { cutoffMs, estimator: 'given' }),
      seed,
      checked: true,
    });
    const ends = await endsOf(simulation, jobs);
    expect(ends.map(({ completed }) => completed)).toEqual(jobs.map(() => true));
  },
);
