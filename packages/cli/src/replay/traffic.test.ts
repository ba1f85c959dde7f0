import type { ClusterCounters, Counters } from '@goshawk/client';
import { expect, it } from 'vitest';
import { trafficBetween } from './traffic.js';

function counters(parties: {
  central?: Counters;
  schedulers?: Record<string, Counters>;
  workers?: Record<string, Counters>;
  silent?: string[];
}): ClusterCounters {
  const { central, schedulers = {}, workers = {}, silent = [] } = parties;
  return { central, schedulers, workers, totals: { schedulers: {}, workers: {}, all: {} }, silent };
}

const worker = (probesMoved: number, sent: Record<string, number>, wakes = 1): Counters => ({
  stealAttempts: 10 * probesMoved,
  stealSuccesses: probesMoved,
  probesMoved,
  messages: { sent, received: {}, wakes },
});

it('adds up what everybody sent since, and leaves out what clients were told', () => {
  const before = counters({
    central: { messages: { sent: { welcome: 100, answer: 3 } } },
    workers: { w0: worker(1, { ask: 5 }) },
  });
  const after = counters({
    central: { messages: { sent: { welcome: 100, placed: 7, answer: 9 } } },
    schedulers: { s0: { messages: { sent: { probe: 40, event: 1_000, refused: 1 } } } },
    workers: { w0: worker(4, { ask: 25, steal: 30 }), w1: worker(2, { ask: 5 }) },
  });
  expect(trafficBetween(before, after)).toEqual({
    messages: { total: 102, byType: { placed: 7, probe: 40, ask: 25, steal: 30 } },
    steals: { attempts: 50, successes: 5, probesMoved: 5 },
    incomplete: [],
  });
});

it('counts a party that was started again from nothing, and says so', () => {
  const before = counters({ workers: { w0: worker(100, { ask: 500 }, 90) } });
  const after = counters({ workers: { w0: worker(3, { ask: 20 }, 4) }, silent: ['worker w1'] });
  expect(trafficBetween(before, after)).toEqual({
    messages: { total: 20, byType: { ask: 20 } },
    steals: { attempts: 30, successes: 3, probesMoved: 3 },
    incomplete: ['worker w1', 'worker w0'],
  });
});
