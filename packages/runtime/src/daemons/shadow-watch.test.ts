import { DEFAULT_POLICY } from '@goshawk/core';
import type { Job } from '@goshawk/scheduler';
import { expect, test } from 'vitest';
import { ShadowWatch } from './shadow-watch.js';

interface Scores {
  readonly given?: { readonly groups: { readonly all?: { readonly jobs: number } } };
}

function job(id: string, runMs: number): Job {
  const arriving = { name: 'a', tasks: 1, startable: 1, submittedAt: 0, givenMs: runMs };
  const end = {
    state: 'completed',
    arrivedAt: 0,
    times: { eligibleAt: 0 },
    doneAt: runMs,
    tasks: { completedRunMs: () => Float64Array.of(runMs) },
  };
  // Schedulers that a process has adopted number their jobs from 1, too.
  return { id, number: 1, arriving, ...end } as unknown as Job;
}

test('jobs of adopted schedulers are distinguished from those of this one', () => {
  const watch = new ShadowWatch(
    ['given'],
    'seed',
    () => DEFAULT_POLICY,
    () => {},
  );
  const scored = () => (watch.counts() as Scores).given?.groups.all?.jobs ?? 0;
  watch.accepted(job('own-1', 10));
  watch.ended(job('adopted-1', 100_000));
  expect(scored()).toBe(0);
  watch.ended(job('own-1', 10));
  expect(scored()).toBe(1);
});
