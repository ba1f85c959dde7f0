import { type JobSummary, parseJobSpec } from '@goshawk/core';
import { expect, test } from 'vitest';
import type { Cluster } from './cluster.js';
import { planJob } from './plan.js';

test.each([
  ['ben', 0],
  ['ann', 9],
])('tasks that a limit of ann holds are ahead of her own jobs only: %s', async (user, ahead) => {
  const held = { id: 'a-1', name: 'a', user: 'ann', tasks: { waiting: 9, running: 0 } };
  const cluster = {
    describe: async () => ({
      workers: [],
      complete: true,
      settings: {
        policy: {
          cutoffMs: 1_000,
          estimator: 'given',
          preset: { short: { over: 'all' }, long: { over: 'all' } },
        },
      },
    }),
    waiting: async () => ({
      central: { needs: [], slots: 4, freeSlots: 0, longRunning: 0, longLimit: 4, unmatched: 0 },
      waiting: [{ class: 'short', reason: 'user-limit', tasks: 9, example: 'a-1', exampleAgeMs: 1 }],
    }),
    jobs: async () => ({ jobs: [held as unknown as JobSummary] }),
    plannedEnd: async () => ({ unknown: 'nothing is known' }),
    job: () => ({ explain: async () => ({ waiting: [{ reason: 'user-limit', tasks: 9 }] }) }),
  } as unknown as Cluster;
  const spec = parseJobSpec({ tasks: { count: 1, run: { sleep: 10 } }, user });
  const forecast = await planJob(cluster, spec, AbortSignal.timeout(10_000));
  expect(forecast.ahead.tasks).toBe(ahead);
});
