import { type Address, type MessageType, Random } from '@goshawk/core';
import { describe, expect, test } from 'vitest';
import {
  type ClusterOutline,
  type Delays,
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
    { type: 'run', sameProcess: false, ms: [0.5] },
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

let clock = 0;
/**
 * Returns the delay of a message without predecessors in flight, rounded because it is a difference of times.
 */
function delayOf(from: Delays, sender = CENTRAL, receiver = SCHEDULER, type: MessageType = 'place'): number {
  clock += 1_000;
  return Number((from.arrivalAt(sender, receiver, type, clock) - clock).toFixed(6));
}

function draw(count: number, one: () => number): number[] {
  return Array.from({ length: count }, one);
}

describe('normal delays', () => {
  const model: NetworkModel = { kind: 'normal', meanMs: 0.5, deviationMs: 0.1, leastMs: 0 };

  test('have the requested mean and deviation', () => {
    const normal = delays(model);
    const drawn = draw(20_000, () => delayOf(normal));
    const mean = drawn.reduce((sum, ms) => sum + ms, 0) / drawn.length;
    const variance = drawn.reduce((sum, ms) => sum + (ms - mean) ** 2, 0) / drawn.length;
    expect(mean).toBeCloseTo(0.5, 2);
    expect(Math.sqrt(variance)).toBeCloseTo(0.1, 2);
  });

  test('are never below the minimum, even if half of them would be', () => {
    const cut = delays({ ...model, leastMs: 0.5 });
    expect(Math.min(...draw(10_000, () => delayOf(cut)))).toBeGreaterThanOrEqual(0.5);
  });

  test('without deviation are constant, and nothing else is late', () => {
    const still = delays({ ...model, deviationMs: 0 });
    expect(delayOf(still)).toBe(0.5);
    expect([
      still.sleepLateMs(0),
      still.timerLateMs(CENTRAL, 0),
      still.submissionMs(0),
      still.newsMs(0),
    ]).toEqual([0, 0, 0, 0]);
  });

  test('are determined by the seed', () => {
    const some = (seed: number) => {
      const normal = delays(model, seed);
      return draw(10, () => delayOf(normal));
    };
    expect(some(7)).toEqual(some(7));
    expect(some(7)).not.toEqual(some(8));
  });
});

describe('measured delays', () => {
  const measured = delays({ kind: 'measured', profile: PROFILE });
  const seen = (from: Address, to: Address, type: MessageType) => [
    ...new Set(draw(200, () => delayOf(measured, from, to, type)).sort((a, b) => a - b)),
  ];

  test('are drawn from the distribution of the type of message', () => {
    expect(seen(worker(0), SCHEDULER, 'ask')).toEqual([0.4]);
    expect(seen(SCHEDULER, worker(0), 'run')).toEqual([0.5]);
  });

  test('distinguish workers of one process from workers of two', () => {
    expect(seen(worker(0), worker(4), 'steal')).toEqual([0.01, 0.02]);
    expect(seen(worker(4), worker(5), 'steal')).toEqual([0.3]);
    expect(seen(worker(9), worker(5), 'steal')).toEqual([0.01, 0.02]);
  });

  test('without a measurement are drawn from all messages', () => {
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

  test('of timers are the same for all timers of a party at one time', () => {
    const late = (party: Address) => Array.from({ length: 50 }, (_, at) => measured.timerLateMs(party, at));
    expect(late(SCHEDULER)).toEqual(late(SCHEDULER));
    expect(late(SCHEDULER)).not.toEqual(late(CENTRAL));
  });

  test('depend on the phase, and use all phases for values that the phase lacks', () => {
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
    const arrival = (type: MessageType, now: number) => phased.arrivalAt(worker(0), SCHEDULER, type, now);
    // The workload begins 1 s after the cluster.
    expect(arrival('ask', 0)).toBe(0.4);
    expect(arrival('ask', 1_499)).toBe(1_499.4);
    expect(phased.timerLateMs(CENTRAL, 1_500)).toBe(6);
    expect(phased.timerLateMs(CENTRAL, 1_499)).toBeLessThan(6);
    expect(arrival('ask', 1_500)).toBe(1_509);
    expect(arrival('run', 1_600)).toBe(1_600.5);
    expect(arrival('ask', 9_000)).toBe(9_009);
    expect([0.7, 0.8]).toContain(phased.sleepLateMs(1_500));
  });

  test('of one message delay later messages between the same two processes only', () => {
    const slow = { type: 'steal', sameProcess: false, ms: [10] } as const;
    const quick = { type: 'run', sameProcess: false, ms: [1] } as const;
    const near = { type: 'steal', sameProcess: true, ms: [0.1] } as const;
    const phases = [{ ...PHASE, messages: [slow, quick, near] }];
    const process = delays({ kind: 'measured', profile: { ...PROFILE, phases } });
    // Workers 0 to 4 share a process, as do workers 5 to 9.
    expect(process.arrivalAt(worker(5), worker(0), 'steal', 100)).toBe(110);
    expect(process.arrivalAt(worker(6), worker(1), 'run', 102)).toBe(110);
    expect(process.arrivalAt(SCHEDULER, worker(1), 'run', 102)).toBe(103);
    expect(process.arrivalAt(SCHEDULER, worker(5), 'run', 102)).toBe(103);
    expect(process.arrivalAt(SCHEDULER, CENTRAL, 'run', 102)).toBe(103);
    expect(process.arrivalAt(worker(2), worker(3), 'steal', 102)).toBe(102.1);
    expect(process.arrivalAt(SCHEDULER, worker(1), 'run', 120)).toBe(121);
  });

  test('are the same for all messages between two processes at one time', () => {
    const messages = [{ type: 'steal', sameProcess: false, ms: [1, 2, 4, 8, 16, 32] }] as const;
    const process = delays({ kind: 'measured', profile: { ...PROFILE, phases: [{ ...PHASE, messages }] } });
    const times = new Set<number>();
    for (let now = 0; now < 10_000; now += 100) {
      const at = process.arrivalAt(worker(0), worker(5), 'steal', now);
      expect(process.arrivalAt(worker(0), worker(6), 'steal', now)).toBe(at);
      expect(process.arrivalAt(worker(1), worker(6), 'run', now)).toBe(at);
      times.add(process.arrivalAt(SCHEDULER, worker(5), 'steal', now) - at);
    }
    // Delays of different processes are independent.
    expect(times.size).toBeGreaterThan(10);
  });

  test('of an empty list are 0', () => {
    expect(measured.newsMs(0)).toBe(0);
    expect(measured.submissionMs(0)).toBe(4);
  });
});

test('constant delays draw no random numbers', () => {
  expect(delaysOf({ kind: 'constant', delayMs: 0.5 }, OUTLINE, Random.seeded(1))).toBeUndefined();
});
