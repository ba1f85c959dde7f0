import { JOB_STATES, type JobState } from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Job } from '../job/job.js';
import { EndedJobs } from './ended-jobs.js';

const STATES = ['completed', 'failed', 'cancelled'] as const;

const step = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...STATES) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 1_000 }) },
  { weight: 1, arbitrary: fc.record({ again: fc.nat(1_000), state: fc.constantFrom(...STATES) }) },
);

test('ended jobs are listed and counted by state, latest first, after any evictions and retries', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const ended = new EndedJobs();
      const model: Job[] = [];
      for (const [index, each] of steps.entries()) {
        if (typeof each === 'string') {
          const job = { number: index, state: each, times: { endedAt: Math.floor(index / 3) } } as Job;
          ended.add(job);
          model.push(job);
        } else if (model.length > 0) {
          const [gone] = model.splice((typeof each === 'number' ? each : each.again) % model.length, 1);
          expect([ended.delete(gone!), ended.delete(gone!)]).toEqual([true, false]);
          if (typeof each === 'object') {
            const again = { ...gone!, state: each.state, times: { endedAt: Math.floor(index / 3) } } as Job;
            ended.add(again);
            model.push(again);
          }
        }
        if (index % 100 === 99) ended.sort();
        expect(ended.first).toBe(model[0]);
      }
      const asked: readonly JobState[][] = [
        ['failed'],
        ['completed', 'cancelled'],
        [...JOB_STATES],
        ['running'],
      ];
      for (const states of asked) {
        const wanted = model.filter(({ state }) => states.includes(state)).reverse();
        expect([...ended.newestFirst(states)]).toEqual(wanted);
        expect(ended.count(states)).toBe(wanted.length);
      }
      expect([...ended.values()]).toEqual(model);
    }),
  );
});
