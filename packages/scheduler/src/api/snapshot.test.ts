import type { Address, WaitingReason } from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { jobOf, startTasks } from '../job/job.fixture.js';
import type { Job } from '../job/job.js';
import { TaskState } from '../job/task-state.js';
import { snapshotOf, userLoadsOf, type WaitContext } from './snapshot.js';

const DEFAULT_CONTEXT: WaitContext = {
  hasWorkers: true,
  isCentralSilent: false,
  isDrained: () => false,
  unmetNeed: () => undefined,
};

function reasons(job: Job, circumstances: Partial<WaitContext> = {}): Partial<Record<WaitingReason, number>> {
  const { waiting } = snapshotOf([job], { ...DEFAULT_CONTEXT, ...circumstances }, 0);
  return Object.fromEntries(Object.entries(waiting[job.class]).filter(([, tasks]) => tasks > 0));
}

function released(job: Job): Job {
  for (const stage of job.stages) if (stage.blockers === 0) job.release(stage, 0);
  return job;
}

function recovering(job: Job): Job {
  job.recovering();
  return released(job);
}

const THREE = { tasks: { count: 3, run: { sleep: 1 } } };

describe('why tasks wait', () => {
  it.each<[string, Job, Partial<WaitContext>, Partial<Record<WaitingReason, number>>]>([
    ['probes are out', released(jobOf(THREE)), {}, { probing: 3 }],
    ['no worker is known', released(jobOf(THREE)), { hasWorkers: false }, { 'no-worker': 3 }],
    [
      'all workers drain, though its probes are in their queues',
      released(jobOf(THREE)),
      { isDrained: () => true },
      { drained: 3 },
    ],
    [
      'only workers drain that have no room for them',
      released(jobOf({ ...THREE, demand: { gpu: 1 } }, { route: { by: 'matching', over: 'all' } })),
      { isDrained: (_scope, { demand }) => !('gpu' in demand) },
      { matching: 3 },
    ],
    ['the scheduler has just started again', recovering(jobOf(THREE)), {}, { resuming: 3 }],
    ['as many run as may', released(jobOf({ ...THREE, maxRunning: 1 })), {}, { probing: 1, 'job-limit': 2 }],
    [
      'another stage comes first',
      released(
        jobOf({
          stages: [
            { name: 'map', tasks: THREE.tasks },
            { name: 'reduce', tasks: { count: 2, run: { sleep: 1 } }, after: ['map'] },
          ],
        }),
      ),
      {},
      { probing: 3, stage: 2 },
    ],
    [
      'central matches',
      released(jobOf(THREE, { route: { by: 'matching', over: 'all' } })),
      {},
      { matching: 3 },
    ],
    [
      'a short job can do without central',
      released(jobOf(THREE, { route: { by: 'matching', over: 'all' } })),
      { isCentralSilent: true },
      { matching: 3 },
    ],
    [
      'a long one cannot',
      released(jobOf(THREE, { class: 'long', route: { by: 'matching', over: 'general' } })),
      { isCentralSilent: true },
      { 'central-away': 3 },
    ],
    ['workers seek', released(jobOf(THREE, { route: { by: 'seeking', over: 'all' } })), {}, { seeking: 3 }],
  ])('%s', (_, job, circumstances, expected) => {
    expect(reasons(job, circumstances)).toEqual(expected);
  });

  it('has exactly one reason per waiting task', () => {
    const states = fc.array(fc.constantFrom(...Object.values(TaskState)), { minLength: 6, maxLength: 6 });
    fc.assert(
      fc.property(
        states,
        fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
        (wanted, maxRunning) => {
          const each = { count: 3, run: { sleep: 1 } };
          const limit = maxRunning === undefined ? {} : { maxRunning };
          const job = released(
            jobOf({
              stages: [
                { name: 'map', tasks: each },
                { name: 'reduce', tasks: each, after: ['map'] },
              ],
              ...limit,
            }),
          );
          wanted.forEach((state, task) => {
            // Tasks of the second stage wait for the first.
            if (task >= 3 || state === TaskState.blocked) return;
            job.tasks.setWorker(task, 1 as Address);
            job.setState(task, state);
          });
          const { waiting, running } = snapshotOf([job], DEFAULT_CONTEXT, 0);
          const explained = Object.values(waiting.short).reduce((sum, tasks) => sum + tasks, 0);
          expect(explained).toBe(job.counts.waiting);
          expect(running.short).toBe(job.counts.running);
        },
      ),
    );
  });
});

test('loads of users count jobs, tasks, and the CPUs that running tasks of each stage request', () => {
  const staged = jobOf({
    user: 'ann',
    stages: [
      { name: 'wide', tasks: THREE.tasks, demand: { cpu: 8 } },
      { name: 'thin', tasks: THREE.tasks },
    ],
  });
  startTasks(staged, 0, 1, 5);
  const plain = jobOf({ ...THREE, user: 'ann' });
  startTasks(plain, 1);
  plain.tasks.setState(2, TaskState.completed);
  expect(userLoadsOf([staged, plain, jobOf(THREE)])).toEqual([
    { user: 'ann', jobs: 2, running: 4, cpus: 18, waiting: 4 },
    { user: undefined, jobs: 1, running: 0, cpus: 0, waiting: 3 },
  ]);
});
