import type { Counters, SchedulerView, WorkerView } from '@goshawk/client';
import { expect, it } from 'vitest';
import { planningBetween, type Reading, trafficBetween } from './traffic.js';

function reading(parties: {
  central?: Counters;
  schedulers?: Record<string, Counters>;
  workers?: Record<string, Counters>;
  silent?: string[];
  addresses?: Record<string, string>;
}): Reading {
  const { central, schedulers = {}, workers = {}, silent = [], addresses = {} } = parties;
  const placed = (names: Record<string, Counters>) =>
    Object.keys(names).map((name) => ({ name, address: addresses[name] ?? `${name}!1/0` }));
  return {
    counters: { central, schedulers, workers, totals: { schedulers: {}, workers: {}, all: {} }, silent },
    view: { workers: placed(workers) as WorkerView[], schedulers: placed(schedulers) as SchedulerView[] },
  };
}

const worker = (probesMoved: number, sent: Record<string, number>): Counters => ({
  stealAttempts: 10 * probesMoved,
  stealSuccesses: probesMoved,
  probesMoved,
  messages: { sent, received: {} },
});

it('adds up messages of all processes without those to clients', () => {
  const before = reading({
    central: { messages: { sent: { welcome: 100, accepted: 3 } } },
    workers: { w0: worker(1, { ask: 5 }) },
  });
  const after = reading({
    central: { messages: { sent: { welcome: 100, placed: 7, accepted: 9 } } },
    schedulers: { s0: { messages: { sent: { probe: 40, jobEnded: 1_000, refused: 1 } } } },
    workers: { w0: worker(4, { ask: 25, steal: 30 }), w1: worker(2, { ask: 5 }) },
  });
  expect(trafficBetween(before, after)).toEqual({
    messages: { total: 102, byType: { placed: 7, probe: 40, ask: 25, steal: 30 } },
    steals: { attempts: 50, successes: 5, probesMoved: 5 },
    incomplete: [],
  });
});

it('counts a restarted process from zero and reports it', () => {
  const before = reading({ workers: { w0: worker(1, { ask: 5 }), w1: worker(1, { ask: 5 }) } });
  const after = reading({
    workers: { w0: worker(3, { ask: 20 }), w1: worker(3, { ask: 20 }) },
    silent: ['worker w2'],
    addresses: { w0: 'w0!2/0' },
  });
  expect(trafficBetween(before, after)).toEqual({
    messages: { total: 35, byType: { ask: 35 } },
    steals: { attempts: 50, successes: 5, probesMoved: 5 },
    incomplete: ['worker w2', 'worker w0'],
  });
});

it('treats central as restarted if its counts are smaller than before', () => {
  const sent = (placed: number) => reading({ central: { messages: { sent: { placed } } } });
  expect(trafficBetween(sent(500), sent(20)).messages.total).toBe(20);
});

it('reports processes that are no longer known, as after a restart of central', () => {
  const before = reading({
    schedulers: { s0: {} },
    workers: { w0: worker(1, { ask: 5 }), w1: worker(0, {}) },
  });
  const after = reading({ workers: { w0: worker(1, { ask: 6 }) }, silent: ['worker w1'] });
  const { incomplete, messages } = trafficBetween(before, after);
  expect(incomplete).toEqual(['worker w1', 'scheduler s0']);
  expect(messages.byType).toEqual({ ask: 1 });
});

it('planning results are the counts since the first reading, with their times', () => {
  const spread = { count: 4, p50: 10, p99: 20, max: 30 };
  const planningMs = { formulate: spread, solve: spread, extract: spread, cycle: spread };
  const reading = (cycles: number): Reading => {
    const central = { planning: { cycles, preemptions: 1 }, planningMs };
    const counters = { central, schedulers: {}, workers: {}, totals: {}, silent: [] };
    return { counters, view: { workers: [], schedulers: [] } } as unknown as Reading;
  };
  expect(planningBetween(reading(3), reading(10))).toMatchObject({
    counts: { cycles: 7, preemptions: 0 },
    cycleSeconds: { solve: { count: 4, p50: 0.01, p99: 0.02, max: 0.03 } },
  });
  const without = { counters: { central: { planning: { preemptions: 0 } } }, view: {} } as unknown as Reading;
  expect(planningBetween(without, without)).toBeUndefined();
  const killing = { counters: { central: { planning: { preemptions: 4 } } }, view: {} } as unknown as Reading;
  expect(planningBetween(without, killing)).toEqual({ counts: { preemptions: 4 } });
});
