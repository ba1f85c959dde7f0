import { type Address, type MessageType, Random } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import {
  type ClusterOutline,
  delaysOf,
  type MeasuredPhase,
  type MeasuredProfile,
  type NetworkModel,
} from './index.js';

const OUTLINE: ClusterOutline = { firstWorker: 3, workers: 10, beginsAt: 1_000 };
const CENTRAL = 0 as Address;
const SCHEDULER = 1 as Address;
const worker = (number: number): Address => (3 + number) as Address;

const PHASE: MeasuredPhase = {
  fromMs: 0,
  messages: [
    { type: 'steal', sameProcess: true, ms: [0.01, 0.02] },
    { type: 'steal', sameProcess: false, ms: [0.3] },
    { type: 'ask', sameProcess: false, ms: [0.4] },
    { type: 'bind', sameProcess: false, ms: [0.5] },
  ],
  sleepLateMs: [0.7, 0.8],
  timerLateMs: [1, 2, 3],
  submissionMs: [4],
  newsMs: [],
};
const PROFILE: MeasuredProfile = { schema: 'goshawk.delays/1', workersPerProcess: 5, phases: [PHASE] };

function delays(model: NetworkModel, seed = 1) {
  return delaysOf(model, OUTLINE, Random.seeded(seed))!;
}

function draw(count: number, one: () => number): number[] {
  return Array.from({ length: count }, one);
}

describe('normal delays', () => {
  const model: NetworkModel = { kind: 'normal', meanMs: 0.5, deviationMs: 0.1, leastMs: 0 };

  test('have the mean and the deviation that are asked for', () => {
    const normal = delays(model);
    const drawn = draw(20_000, () => normal.messageMs(CENTRAL, SCHEDULER, 'place', 0));
    const mean = drawn.reduce((sum, ms) => sum + ms, 0) / drawn.length;
    const variance = drawn.reduce((sum, ms) => sum + (ms - mean) ** 2, 0) / drawn.length;
    expect(mean).toBeCloseTo(0.5, 2);
    expect(Math.sqrt(variance)).toBeCloseTo(0.1, 2);
  });

  test('are never below the least one, even where half of them would be', () => {
    const cut = delays({ ...model, leastMs: 0.5 });
    expect(
      Math.min(...draw(10_000, () => cut.messageMs(CENTRAL, SCHEDULER, 'place', 0))),
    ).toBeGreaterThanOrEqual(0.5);
  });

  test('of no deviation are constant, and nothing else is late', () => {
    const still = delays({ ...model, deviationMs: 0 });
    expect(still.messageMs(CENTRAL, SCHEDULER, 'place', 0)).toBe(0.5);
    expect([
      still.sleepLateMs(0),
      still.timerLateMs(CENTRAL, 0),
      still.submissionMs(0),
      still.newsMs(0),
    ]).toEqual([0, 0, 0, 0]);
  });

  test('follow from the seed', () => {
    const some = (seed: number) => {
      const normal = delays(model, seed);
      return draw(10, () => normal.messageMs(CENTRAL, SCHEDULER, 'place', 0));
    };
    expect(some(7)).toEqual(some(7));
    expect(some(7)).not.toEqual(some(8));
  });
});

describe('measured delays', () => {
  const measured = delays({ kind: 'measured', profile: PROFILE });
  const seen = (from: Address, to: Address, type: MessageType) => [
    ...new Set(draw(200, () => measured.messageMs(from, to, type, 0)).sort((a, b) => a - b)),
  ];

  test('are drawn from the distribution of the type of message', () => {
    expect(seen(worker(0), SCHEDULER, 'ask')).toEqual([0.4]);
    expect(seen(SCHEDULER, worker(0), 'bind')).toEqual([0.5]);
  });

  test('tell workers of one process from workers of two', () => {
    expect(seen(worker(0), worker(4), 'steal')).toEqual([0.01, 0.02]);
    expect(seen(worker(4), worker(5), 'steal')).toEqual([0.3]);
    expect(seen(worker(9), worker(5), 'steal')).toEqual([0.01, 0.02]);
  });

  test('where nothing was measured are drawn from all that was', () => {
    expect(seen(worker(0), worker(9), 'stolen')).toEqual([0.01, 0.02, 0.3, 0.4, 0.5]);
    expect(seen(13 as Address, CENTRAL, 'place')).toEqual([0.01, 0.02, 0.3, 0.4, 0.5]);
  });

  test('make all values of a list equally likely', () => {
    const counts = new Map<number, number>();
    let at = 0;
    const next = () => measured.timerLateMs(SCHEDULER, at++);
    for (const ms of draw(30_000, next)) counts.set(ms, (counts.get(ms) ?? 0) + 1);
    for (const value of [1, 2, 3]) expect(counts.get(value)! / 30_000).toBeCloseTo(1 / 3, 1);
  });

  test('of timers are one for all of a party that are due at one time, and others for others', () => {
    const late = (party: Address) => Array.from({ length: 50 }, (_, at) => measured.timerLateMs(party, at));
    expect(late(SCHEDULER)).toEqual(late(SCHEDULER));
    expect(late(SCHEDULER)).not.toEqual(late(CENTRAL));
  });

  test('go by the phase, and by all phases where it has nothing of its own', () => {
    const phases = [
      PHASE,
      {
        ...PHASE,
        fromMs: 500,
        messages: [{ type: 'ask', sameProcess: false, ms: [9] }] as const,
        sleepLateMs: [],
        timerLateMs: [6],
      },
    ];
    const phased = delays({ kind: 'measured', profile: { ...PROFILE, phases } });
    const ask = (now: number) => phased.messageMs(worker(0), SCHEDULER, 'ask', now);
    // The workload begins 1 s after the cluster.
    expect([0, 1_499, 1_500, 9_000, 1_200].map(ask)).toEqual([0.4, 0.4, 9, 9, 0.4]);
    expect(phased.timerLateMs(CENTRAL, 1_500)).toBe(6);
    expect(phased.messageMs(SCHEDULER, worker(0), 'bind', 1_500)).toBe(0.5);
    expect([0.7, 0.8]).toContain(phased.sleepLateMs(1_500));
  });

  test('of an empty list are none', () => {
    expect(measured.newsMs(0)).toBe(0);
    expect(measured.submissionMs(0)).toBe(4);
  });
});

test('constant delays draw nothing', () => {
  expect(delaysOf({ kind: 'constant', delayMs: 0.5 }, OUTLINE, Random.seeded(1))).toBeUndefined();
});
