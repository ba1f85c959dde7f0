import { type JobInput, Random } from '@goshawk/core';
import { addPapers, CARBYNE_POLICIES } from '@goshawk/papers';
import { expect, test } from 'vitest';
import { drawnJobs, endsOf, integersOf, settingsOf } from './simulation.fixture.js';
import { Simulation } from './simulation.js';

addPapers();

const SEED = 'staged';

/**
 * Draws a job of 2 to 5 stages of 1 to 12 tasks, with demands and some of the previous stages as
 * predecessors.
 */
function randomJob(random: Random): JobInput {
  const integer = integersOf(random);
  const names = ['a', 'b', 'c', 'd', 'e'].slice(0, integer(2, 5));
  return {
    weight: integer(1, 3),
    user: `u${integer(1, 2)}`,
    stages: names.map((name, place) => {
      const sleep = integer(50, 2_000);
      return {
        name,
        after: names.slice(0, place).filter(() => random.next() < 0.4),
        tasks: { count: integer(1, 12), run: { sleep } },
        demand: { cpu: integer(1, 4), gpu: integer(0, 2) },
        ...(random.next() < 0.7 ? { estimate: sleep } : {}),
      };
    }),
  };
}

test.each([
  ...Object.keys(CARBYNE_POLICIES).map((policy) => [policy, 'given'] as const),
  ['carbyne', 'slearn-dag'],
  ['drf', 'pilot'],
  ['gs', 'slearn-dag'],
] as const)(
  'under %s, estimated by %s, jobs of stages with demands complete, in order',
  async (policy, estimator) => {
    const random = Random.seeded(SEED);
    const jobs = drawnJobs(12, 300, () => randomJob(random));
    const simulation = new Simulation({
      workers: 3,
      slots: 8,
      capacity: { cpu: 8, gpu: 4 },
      schedulers: 2,
      settings: settingsOf(policy, { estimator }),
      seed: 1,
      network: { kind: 'constant', delayMs: 0.5 },
    });
    const ends = await endsOf(simulation, jobs);
    expect(ends.map(({ completed }) => completed)).toEqual(jobs.map(() => true));
    for (const { index, startsMs: starts, runsMs: runs } of ends) {
      const firstTasks: number[] = [];
      let tasks = 0;
      const { stages } = jobs[index]!.spec;
      for (const stage of stages) {
        firstTasks.push(tasks);
        tasks += (stage.tasks as { count: number }).count;
      }
      stages.forEach(({ after }, stage) => {
        for (const before of after) {
          const until = firstTasks[before + 1] ?? tasks;
          for (let task = firstTasks[before]!; task < until; task++) {
            expect(starts[firstTasks[stage]!]).toBeGreaterThan(starts[task]! + runs[task]!);
          }
        }
      });
    }
  },
);
