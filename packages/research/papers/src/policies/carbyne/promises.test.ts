import { Random } from '@goshawk/core';
import { expect, test } from 'vitest';
import { runTrial, type TrialJob } from '../../trials/trial.js';
import { pathsToEnd, planJob } from './plan.js';
import { CARBYNE_POLICIES } from './table.js';

const SEED = 'promises';
const SETS = 500;
const UNIT = 1_000;

/** 2 to 9 jobs present at the start, none of whose tasks needs more than its equal share. */
function randomJobs(random: Random): { jobs: TrialJob[]; capacity: number[] } {
  const integer = (least: number, most: number) => least + Math.floor(random.next() * (most - least + 1));
  const count = integer(2, 9);
  const share = [integer(4, 12) * UNIT, integer(4, 12) * UNIT];
  const jobs = Array.from({ length: count }, () => ({
    arriveMs: 0,
    stages: Array.from({ length: integer(1, 7) }, (_, stage) => ({
      tasks: integer(1, 12),
      demand: [1, ...share.map((amount) => integer(1, amount / 2))],
      durationMs: integer(1, 9) * 1_000,
      parents: Array.from({ length: stage }, (__, parent) => parent).filter(() => random.next() < 0.35),
    })),
  }));
  return { jobs, capacity: [Number.POSITIVE_INFINITY, ...share.map((amount) => amount * count)] };
}

/** When the job would end with only its share, in a plan made at the start. */
function firstEnd({ stages }: TrialJob, capacity: readonly number[], jobs: number): number {
  const planned = stages.map(({ tasks, ...rest }) => ({ unstarted: tasks, ...rest }));
  return planJob(
    { stages: planned, running: [], share: capacity.map((amount) => amount / jobs), whole: capacity },
    { ranks: pathsToEnd(planned), oneByOneMax: 16 },
  ).endMs;
}

test('jobs that lend nothing end no later than with their shares alone', () => {
  const random = Random.seeded(SEED);
  const late: string[] = [];
  let runs = 0;
  for (let set = 0; set < SETS; set++) {
    const { jobs, capacity } = randomJobs(random);
    const policy = CARBYNE_POLICIES.carbyne.make(
      { quantumMs: 0, shareBy: 'job', shares: 'equal', altruism: 1, hold: 0, leftover: 'none' },
      { cutoffMs: 0, sizesAreGiven: true, reserve: 'auto', random: () => random.next() },
    );
    const { completedMs } = runTrial({ jobs, resources: ['a', 'b'], workers: [{ capacity }], policy });
    jobs.forEach((job, i) => {
      runs++;
      const promised = firstEnd(job, capacity, jobs.length);
      if (!(completedMs[i]! <= promised + 1))
        late.push(`set ${set}, job ${i}: ${completedMs[i]}, promised ${promised}`);
    });
  }
  expect(late, `of ${runs} jobs, seed ${SEED}`).toEqual([]);
});

test('a job that stops lending after a new draw starts its tasks without any other event', () => {
  const random = Random.seeded(SEED);
  for (let set = 0; set < 200; set++) {
    const { jobs, capacity } = randomJobs(random);
    const longer = jobs.map(({ stages }) => ({
      arriveMs: 0,
      stages: stages.map((stage) => ({ ...stage, durationMs: 30 * stage.durationMs })),
    }));
    const policy = CARBYNE_POLICIES.carbyne.make(
      { quantumMs: 0, shareBy: 'job', shares: 'equal', altruism: 0.5, hold: 0, leftover: 'none' },
      { cutoffMs: 0, sizesAreGiven: true, reserve: 'auto', random: () => random.next() },
    );
    const { completedMs } = runTrial({
      jobs: longer,
      resources: ['a', 'b'],
      workers: [{ capacity }],
      policy,
    });
    expect([...completedMs].every(Number.isFinite), `set ${set}, seed ${SEED}`).toBe(true);
  }
});
