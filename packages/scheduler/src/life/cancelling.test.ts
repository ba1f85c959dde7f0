import { PRESETS } from '@goshawk/core';
import { expect, test } from 'vitest';
import { DurableBench } from '../durable.fixture.js';
import { CENTRAL, CLIENT, W1, welcome } from '../lone-scheduler.fixture.js';

test('a cancelled job offers nothing to seeking workers', () => {
  const bench = new DurableBench(undefined, 0, false);
  bench.receive(CENTRAL, welcome({ preset: { ...PRESETS['goshawk-peer'] } }));
  bench.members(W1);
  for (const estimate of [1, 20]) bench.submit({ estimate, tasks: [{ sleep: 1 }] }, `k${estimate}`, estimate);
  bench.commit();
  // The job is not the first in order; invariants check that no offer belongs to an ended job.
  bench.receive(CLIENT, { type: 'cancelJob', request: 9, id: 's-2' });
  expect(bench.scheduler.activeJobs).toBe(1);
});
