import {
  type Address,
  DEFAULT_POLICY,
  LIVE_TIMINGS,
  type Message,
  type MessageOf,
  type Millis,
  NO_RESOURCES,
  type PolicySettings,
  PRESETS,
} from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entryOfProbe } from './entry.js';
import { Seeking } from './seeking.js';
import { idleWorker } from './state.fixture.js';
import type { WorkerState } from './state.js';

const CENTRAL = 1_000 as Address;
const { heartbeatMs, retryMs, retriesMax } = LIVE_TIMINGS;

/** A worker with one slot that seeks at this many schedulers, with addresses from 0. */
class Bench {
  readonly seeking: Seeking;
  readonly w: WorkerState;
  asked: { scheduler: Address; ask: number; again: boolean }[] = [];

  constructor(schedulers: number, policy: Partial<PolicySettings> = {}, seed = 'seeker') {
    const send = (scheduler: Address, message: Message) => {
      if (message.type === 'seek') this.asked.push({ scheduler, ask: message.ask, again: message.again });
    };
    this.w = idleWorker(999 as Address, seed, { timings: LIVE_TIMINGS }, { send });
    const settings = { ...DEFAULT_POLICY, preset: { ...PRESETS['goshawk-peer'] }, ...policy };
    this.w.membership.welcome(CENTRAL, { policy: settings, timings: LIVE_TIMINGS }, 0);
    const owners = Array.from({ length: schedulers }, (_, i) => i as Address);
    this.w.membership.apply({
      type: 'peers',
      version: 1,
      since: 0,
      joined: [],
      left: [],
      ownersLost: [],
      owners,
      ownersAway: [],
    });
    this.seeking = new Seeking(this.w);
  }

  /** All parties asked in one unsuccessful round. */
  wholeRound(): Address[] {
    this.asked = [];
    this.seeking.begin(0);
    for (let i = 0; i < this.asked.length; i++) {
      this.seeking.refused(this.asked[i]!.scheduler, this.asked[i]!.ask, 0);
    }
    return this.asked.map(({ scheduler }) => scheduler);
  }

  sweep(now: Millis): boolean {
    return this.seeking.sweep(retryMs, retriesMax, now);
  }
}

function run(ask: number): MessageOf<'run'> {
  return {
    type: 'run',
    match: 0,
    job: 1,
    stage: 0,
    task: 0,
    attempt: 1,
    payload: {},
    jobId: 'j1',
    long: false,
    demand: NO_RESOURCES,
    timeoutMs: undefined,
    apartMs: undefined,
    expectedMs: undefined,
    execution: undefined,
    inputs: undefined,
    gang: undefined,
    user: undefined,
    ask,
  };
}

const probe = { job: 1, stage: 0, long: false, lane: 'normal', demand: NO_RESOURCES, sizeMs: 0 } as const;

describe('a round', () => {
  test('asks distinct schedulers one after another, up to the cap', () => {
    fc.assert(
      fc.property(fc.nat(20), fc.nat(8), fc.string(), (schedulers, seekCap, seed) => {
        const bench = new Bench(schedulers, { seekCap }, seed);
        const asked = bench.wholeRound();
        expect(asked).toHaveLength(Math.min(schedulers, seekCap));
        expect(new Set(asked).size).toBe(asked.length);
        expect(bench.seeking.isWaiting).toBe(false);
      }),
    );
  });

  test('asks all schedulers equally often', () => {
    const bench = new Bench(10, { seekCap: 2 });
    const counts = new Map<Address, number>();
    for (let i = 0; i < 5_000; i++) {
      for (const scheduler of bench.wholeRound()) counts.set(scheduler, (counts.get(scheduler) ?? 0) + 1);
    }
    // Binomial: mean 1,000 and standard deviation 28 for each.
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(5 * 28);
  });

  test('ends with the first scheduler that has a task', () => {
    const bench = new Bench(5);
    bench.seeking.begin(0);
    const [{ scheduler, ask }] = bench.asked as [Bench['asked'][0]];
    expect(bench.seeking.accept(scheduler, run(ask))).toMatchObject({ owner: scheduler, job: 1 });
    expect(bench.seeking.inRound).toBe(false);
    expect(bench.asked).toHaveLength(1);
  });

  test('begins only if a slot is free, nothing waits, and the worker accepts work', () => {
    const idle = new Bench(5);
    const waiting = new Bench(5);
    waiting.w.queue.push(entryOfProbe(0 as Address, probe, 0));
    const busy = new Bench(5);
    busy.w.slots.ask(entryOfProbe(0 as Address, probe, 0), 1, 0);
    const draining = new Bench(5);
    draining.w.isDraining = true;
    expect([idle, waiting, busy, draining].map(({ seeking }) => seeking.begin(0))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  test('stops if the worker has work meanwhile', () => {
    const bench = new Bench(5, { seekCap: 5 });
    bench.seeking.begin(0);
    bench.w.queue.push(entryOfProbe(0 as Address, probe, 0));
    expect(bench.seeking.refused(bench.asked[0]!.scheduler, bench.asked[0]!.ask, 0)).toBe(false);
    expect(bench.asked).toHaveLength(1);
  });

  test('that found no task is not repeated until the worker has had work', () => {
    const bench = new Bench(5);
    bench.wholeRound();
    expect(bench.seeking.beginUnlessFailed(0)).toBe(false);
    bench.seeking.foundWork();
    expect(bench.seeking.beginUnlessFailed(0)).toBe(true);
  });
});

describe('an arriving task', () => {
  test('is refused if it is a duplicate, from another scheduler, or for an unknown request', () => {
    const bench = new Bench(5);
    bench.seeking.begin(0);
    const [{ scheduler, ask }] = bench.asked as [Bench['asked'][0]];
    expect(bench.seeking.accept((scheduler + 1) as Address, run(ask))).toBeUndefined();
    expect(bench.seeking.accept(scheduler, run(ask + 1))).toBeUndefined();
    expect(bench.seeking.accept(scheduler, run(ask))).toBeDefined();
    expect(bench.seeking.accept(scheduler, run(ask))).toBeUndefined();
  });

  test('takes the slot that asks its scheduler for a task of the same stage', () => {
    const bench = new Bench(5);
    bench.seeking.begin(0);
    const [{ scheduler, ask }] = bench.asked as [Bench['asked'][0]];
    bench.w.slots.ask(entryOfProbe(scheduler, probe, 0), 99, 0);
    expect(bench.seeking.accept(scheduler, run(ask))).toMatchObject({ owner: scheduler, job: 1 });
    expect([bench.w.slots.idleCount, bench.w.slots.indexOfAsk(99)]).toEqual([1, -1]);
  });

  test('is refused if the slot is taken, and still answers the request', () => {
    const bench = new Bench(5);
    bench.seeking.begin(0);
    const [{ scheduler, ask }] = bench.asked as [Bench['asked'][0]];
    bench.w.slots.ask(entryOfProbe(scheduler, { ...probe, job: 2 }, 0), 99, 0);
    expect(bench.seeking.accept(scheduler, run(ask))).toBeUndefined();
    expect(bench.seeking.isWaiting).toBe(false);
  });
});

describe('a silent scheduler', () => {
  test('is asked again with the same number, then given up, while others are asked too', () => {
    const bench = new Bench(5, { seekCap: 2 });
    bench.seeking.begin(0);
    const [first] = bench.asked as [Bench['asked'][0]];
    expect(bench.sweep(retryMs / 2)).toBe(false);
    expect(bench.asked).toHaveLength(1);
    bench.sweep(retryMs);
    const [, again, second] = bench.asked as [Bench['asked'][0], Bench['asked'][0], Bench['asked'][0]];
    expect(again).toEqual({ ...first, again: true });
    expect(second).toMatchObject({ again: false });
    expect(bench.seeking.refused(second.scheduler, second.ask, retryMs)).toBe(false);
    expect(bench.seeking.isWaiting).toBe(true);
    for (let i = 2; i <= retriesMax; i++) bench.sweep(i * retryMs);
    expect(bench.asked.filter(({ ask }) => ask === first.ask)).toHaveLength(retriesMax);
    expect(bench.seeking.isWaiting).toBe(false);
  });

  test('may still send a task, which runs if a slot is free', () => {
    const bench = new Bench(5);
    bench.seeking.begin(0);
    const [first] = bench.asked as [Bench['asked'][0]];
    bench.sweep(retryMs);
    expect(bench.seeking.accept(first.scheduler, run(first.ask))).toBeDefined();
  });

  test('that is lost does not delay the round', () => {
    const bench = new Bench(5, { seekCap: 1 });
    bench.seeking.begin(0);
    expect(bench.seeking.ownerLost(bench.asked[0]!.scheduler, 0)).toBe(true);
    expect(bench.seeking.isWaiting).toBe(false);
  });
});

test('workers seek only while central is silent, if central matches', () => {
  const bench = new Bench(5, { preset: { ...PRESETS.goshawk } });
  expect(bench.seeking.begin(0)).toBe(false);
  expect(bench.seeking.begin(3 * heartbeatMs)).toBe(true);
  bench.seeking.end();
  bench.w.membership.seen(3 * heartbeatMs);
  expect(bench.seeking.isOn(3 * heartbeatMs)).toBe(false);
});

test.each(['hawk', 'sparrow', 'central', 'split'] as const)('workers do not seek under %s', (policy) => {
  const bench = new Bench(5, { preset: { ...PRESETS[policy] } });
  expect(bench.seeking.isOn(0)).toBe(false);
  expect(bench.seeking.isOn(1e9)).toBe(false);
});
