import {
  type Address,
  type ClusterOutline,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Message,
  type Millis,
} from '@goshawk/core';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Registry } from './cluster/registry.js';
import type { CentralConfig, CentralEnvironment } from './contract.js';
import { Outlook } from './outlook.js';

const [A, B] = [1, 2] as Address[];

/** Two schedulers with jobs, and one worker. */
function bench() {
  const asked: Address[] = [];
  const outlines: ClusterOutline[] = [];
  const timers: Millis[] = [];
  const members = new Map([A!, B!].map((address) => [address, { address, tag: `t${address}`, jobs: 1 }]));
  const worker = {
    slots: 1,
    places: 1,
    capacity: {},
    attributes: {},
    draining: false,
    drainRequested: false,
  };
  const env = {
    send: (to: Address, message: Message) => void (message.type === 'outline' && asked.push(to)),
    setTimer: (_: string, __: number, at: Millis) => void timers.push(at),
    clearTimer: () => {},
    foresee: (outline: ClusterOutline) => void outlines.push(outline),
  } as unknown as CentralEnvironment;
  const registry = { schedulers: { members }, workers: new Map([[9, worker]]) } as unknown as Registry;
  const config = { settings: { policy: DEFAULT_POLICY, timings: LIVE_TIMINGS } } as CentralConfig;
  const outlook = new Outlook(config, env, registry, () => {});
  let questions = 0;
  /** Has all schedulers asked at this time, and returns the pause after a forecast of this cost. */
  const pauseAfter = (tookMs: Millis, now: Millis): Millis => {
    asked.length = 0;
    outlook.wake(now);
    questions++;
    for (const from of asked) answer(from, questions, now);
    outlook.foreseen({ ends: new Map([['t1', []]]), planned: [], tookMs }, now);
    return timers.at(-1)! - now;
  };
  const answer = (from: Address, id: number, now: Millis) =>
    outlook.outlined(
      from,
      { type: 'outlined', id, jobs: [], outcomes: [], more: false, tooLarge: false },
      now,
    );
  const leave = (scheduler: Address, now: Millis): void => {
    members.delete(scheduler);
    outlook.left(scheduler, now);
  };
  return { asked, outlines, outlook, answer, leave, pauseAfter, timers };
}

test('a forecast waits for all schedulers, but not for one that was lost', () => {
  const { asked, outlines, outlook, answer, leave } = bench();
  outlook.wake(0);
  expect(asked).toEqual([A, B]);
  answer(A!, 1, 10);
  expect(outlines).toEqual([]);
  leave(B!, 4_000);
  expect(outlines.map(({ schedulers }) => schedulers.map(({ tag }) => tag))).toEqual([['t1']]);
});

test('the loss of all schedulers ends the question, and the next one follows soon', () => {
  const { asked, outlines, outlook, leave, timers } = bench();
  outlook.wake(0);
  leave(A!, 4_000);
  leave(B!, 4_000);
  expect(outlines).toEqual([]);
  expect(timers.at(-1)).toBe(6_000);
  outlook.wake(6_000);
  expect(asked).toHaveLength(2);
});

test('one expensive forecast does not delay the next one, but on average they take at most one part in 75 of a core', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 20, maxLength: 60 }), (costs) => {
      const { pauseAfter } = bench();
      let now = 0;
      for (const [index, tookMs] of costs.entries()) {
        const pauseMs = pauseAfter(tookMs, now);
        if (index === 0) expect(pauseMs).toBe(2_000);
        now += pauseMs;
      }
      const spent = costs.reduce((sum, cost) => sum + cost, 0);
      // Rounding of sums.
      expect(spent).toBeLessThanOrEqual(1_000 + now / 75 + 1);
    }),
  );
});
