import { MESSAGE_TYPES, type MessageType } from '@goshawk/core';
import { checkProfile } from '@goshawk/simulator';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstOnTheirWay, observe, pairUp, profileOf, slices, workOf } from './delays.js';
import type { Recording } from './recording.js';

const code = (type: MessageType) => MESSAGE_TYPES.indexOf(type);
const NOTHING: Recording = { parties: [], sent: [], handled: [], sleeps: [], timers: [], commits: [] };

/** A scheduler, and two workers in one process. Each process numbers its parties separately. */
const SCHEDULER: Recording = {
  ...NOTHING,
  parties: ['s/0', 'w/0', 'w/1'],
  sent: [...[10, 0, 1, code('probe')], ...[11, 0, 2, code('probe')], ...[12, 0, 1, code('cancelProbes')]],
  handled: [14, 0.25, 1, 0, code('ask')],
  timers: [10.5, 1],
};
const WORKERS: Recording = {
  ...NOTHING,
  parties: ['w/1', 's/0', 'w/0'],
  sent: [...[13, 2, 1, code('ask')], ...[13, 2, 0, code('steal')]],
  handled: [
    ...[11.5, 0.1, 1, 0, code('probe')],
    ...[12, 0.1, 1, 2, code('probe')],
    ...[13, 0.5, 1, 2, code('cancelProbes')],
    ...[13.5, 0.1, 2, 0, code('steal')],
  ],
  // The first began while a probe was handled, the second without a message.
  sleeps: [...[12.5, 0.75, 0.1875], ...[13, 0.25, 0.5]],
};

describe('both ends of a message', () => {
  test('are paired by the order of messages between two parties', () => {
    const travelled = pairUp([SCHEDULER, WORKERS]);
    expect(travelled.map(({ type, delayMs, sameProcess }) => [type, delayMs, sameProcess])).toEqual([
      ['ask', 1, false],
      ['probe', 0.5, false],
      ['probe', 2, false],
      ['cancelProbes', 1, false],
      ['steal', 0.5, true],
    ]);
    expect(travelled.map(({ handlingMs }) => handlingMs)).toEqual([0.25, 0.1, 0.1, 0.5, 0.1]);
  });

  test('that do not match mean that a message was lost', () => {
    const [, ...rest] = [SCHEDULER, { ...WORKERS, sent: WORKERS.sent.slice(4) }];
    expect(() => pairUp([SCHEDULER, ...rest])).toThrow('message 0 of w/0 s/0 was lost: measure again');
  });

  test('messages in flight at the end are ignored', () => {
    expect(
      pairUp([
        { ...SCHEDULER, handled: [] },
        { ...WORKERS, handled: [] },
      ]),
    ).toEqual([]);
  });
});

test('the work lasts from the first submission to the end of the last task', () => {
  const at = (type: MessageType, sentAt: number) => ({
    type,
    sentAt,
    sameProcess: false,
    from: 'c',
    to: 's',
    handledAt: sentAt + 1,
    delayMs: 1,
    handlingMs: 0,
  });
  const all = [at('register', 1), at('submit', 5), at('submit', 7), at('ended', 9), at('leave', 10)];
  expect(workOf(all)).toEqual({ from: 5, to: 9 });
});

test('only messages on an idle connection count as separate delays', () => {
  const one = (from: string, to: string, sentAt: number, delayMs: number) =>
    ({
      type: 'steal',
      from,
      to,
      sameProcess: from === to,
      sentAt,
      handledAt: sentAt + delayMs,
      delayMs,
      handlingMs: 0,
    }) as const;
  const free = [
    one('a', 'b', 0, 10),
    one('c', 'b', 1, 1),
    one('b', 'b', 2, 0.1),
    one('c', 'b', 2, 1),
    one('a', 'b', 12, 1),
  ];
  const behind = [one('a', 'b', 0, 10), one('a', 'b', 3, 7), one('a', 'b', 9, 3)];
  expect(firstOnTheirWay([...free, ...behind])).toEqual(free);
});

test('the measurements form a profile for the simulator, phase by phase', () => {
  const client: Recording = {
    ...NOTHING,
    parties: ['c/0', 's/0', 'w/0'],
    sent: [...[10, 0, 1, code('submit')], ...[13.9, 2, 1, code('ended')], ...[20, 0, 1, code('submit')]],
    handled: [...[10.5, 0.1, 0, 1, code('submit')], ...[14.5, 0.1, 2, 1, code('ended')]],
    timers: [...[9, 7], ...[15, 8]],
  };
  const observed = observe([SCHEDULER, WORKERS, client]);
  const profile = profileOf(observed, { workersPerProcess: 25, phaseMs: 2 });
  expect(checkProfile(JSON.parse(JSON.stringify(profile)), 'it')).toEqual({
    schema: 'goshawk.delays/1',
    workersPerProcess: 25,
    phases: [
      {
        fromMs: 0,
        messages: [{ type: 'probe', sameProcess: false, ms: [2] }],
        sleepLateMs: [],
        timerLateMs: [1],
        submissionMs: [0.5],
        newsMs: [],
      },
      {
        fromMs: 2,
        messages: [
          { type: 'cancelProbes', sameProcess: false, ms: [1] },
          { type: 'ask', sameProcess: false, ms: [1] },
          { type: 'steal', sameProcess: true, ms: [0.5] },
        ],
        sleepLateMs: [0.25, 0.8125],
        timerLateMs: [],
        submissionMs: [],
        newsMs: [],
      },
    ],
  });
});

test('the owner sends the update about an end in the step that handles the end', () => {
  const [client, owner, worker] = [0, 1, 2];
  const seen = (sent: number[][], handled: number[][]): Recording => ({
    ...NOTHING,
    parties: ['c/0', 's/0', 'w/0'],
    sent: sent.flat(),
    handled: handled.flat(),
  });
  const recordings = [
    seen(
      [[0, client, owner, code('submit')]],
      [
        [4, 0.1, owner, client, code('jobEnded')],
        [13, 0.1, owner, client, code('jobEnded')],
      ],
    ),
    seen(
      [
        [3, owner, client, code('jobEnded')],
        [11, owner, client, code('jobEnded')],
      ],
      [
        [1, 0.1, client, owner, code('submit')],
        [11, 0.1, worker, owner, code('ended')],
        [21, 0.1, worker, owner, code('ended')],
      ],
    ),
    seen(
      [
        [10, worker, owner, code('ended')],
        [20, worker, owner, code('ended')],
      ],
      [],
    ),
  ];
  const { phases } = profileOf(observe(recordings), { workersPerProcess: 25, phaseMs: 100 });
  expect(phases.map(({ newsMs }) => newsMs)).toEqual([[2]]);
});

describe('slices', () => {
  test('of few values are these values, in order', () => {
    expect(slices([3, 1, 2])).toEqual([1, 2, 3]);
    expect(slices([])).toEqual([]);
  });

  test('of many keep the mean, the order and the range', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 100, noNaN: true }), { minLength: 500 }), (values) => {
        const some = slices([...values, ...values, ...values]);
        const mean = (of: readonly number[]) => of.reduce((sum, value) => sum + value, 0) / of.length;
        expect(some).toHaveLength(500);
        expect(some).toEqual([...some].sort((a, b) => a - b));
        if (values.length === 500) expect(mean(some)).toBeCloseTo(mean(values), 3);
        expect(some.at(-1)).toBeLessThanOrEqual(Math.max(...values) + 1e-3);
      }),
      { seed: 11, numRuns: 20 },
    );
  });
});
