import {
  type Address,
  DEFAULT_POLICY,
  type Message,
  type Millis,
  type PolicySettings,
  PRESETS,
  RELIABLE_TIMINGS,
} from '@goshawk/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { entryOfProbe } from './entry.js';
import { idleWorker } from './state.fixture.js';
import type { WorkerState } from './state.js';
import { Stealing } from './stealing.js';

const SELF = 0 as Address;

/** A thief that always steals, among this many general workers. */
class Bench {
  readonly stealing: Stealing;
  readonly asked: Address[] = [];
  readonly pauses: Millis[] = [];
  readonly w: WorkerState;
  round = 0;

  constructor(policy: Partial<PolicySettings>, seed = 'thief') {
    const settings = {
      policy: { ...DEFAULT_POLICY, preset: { ...PRESETS.hawk }, ...policy },
      timings: RELIABLE_TIMINGS,
    };
    this.w = idleWorker(SELF, seed, settings, {
      send: (to: Address, message: Message) => {
        if (message.type !== 'steal') return;
        this.asked.push(to);
        this.round = message.round;
      },
      setTimer: (_timer, _key, at) => this.pauses.push(at),
    });
    this.stealing = new Stealing(this.w, settings);
  }

  /** Every victim has nothing to steal. */
  wholeRound(): Address[] {
    this.asked.length = 0;
    this.stealing.begin(0);
    for (let i = 0; i < this.asked.length; i++) {
      this.stealing.answered(this.asked[i]!, { type: 'stolen', round: this.round, probes: [] }, 0);
    }
    return [...this.asked];
  }
}

const PROBE = {
  owner: 9 as Address,
  job: 1,
  stage: 0,
  long: false,
  lane: 'normal',
  demand: {},
  sizeMs: 0,
} as const;

function workers(count: number): Address[] {
  return Array.from({ length: count }, (_, i) => i as Address);
}

describe('a round of stealing', () => {
  test('asks distinct workers, never itself, up to the cap', () => {
    fc.assert(
      fc.property(
        fc.nat(60),
        fc.integer({ min: 1, max: 20 }),
        fc.string(),
        fc.boolean(),
        (count, cap, seed, general) => {
          const bench = new Bench({ stealCap: cap }, seed);
          // A general thief is one of the workers; one in the short partition is not.
          const victims = general ? workers(count) : workers(count + 1).slice(1);
          bench.stealing.setVictims(victims, 0);
          const asked = bench.wholeRound();
          const others = victims.filter((victim) => victim !== SELF);
          expect(asked.length).toBe(Math.min(cap, others.length));
          expect(new Set(asked).size).toBe(asked.length);
          for (const victim of asked) expect(others).toContain(victim);
          expect(bench.stealing.inRound).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('asks all victims equally often', () => {
    const bench = new Bench({ stealCap: 3 });
    bench.stealing.setVictims(workers(11), 0);
    const counts = new Map<Address, number>();
    for (let i = 0; i < 4_000; i++) {
      for (const victim of bench.wholeRound()) counts.set(victim, (counts.get(victim) ?? 0) + 1);
    }
    // Binomial: mean 1,200 and standard deviation 29 for each of ten.
    for (const count of counts.values()) expect(Math.abs(count - 1_200)).toBeLessThan(5 * 29);
  });

  test('ends with the first victim that gives something', () => {
    const bench = new Bench({ stealCap: 10 });
    bench.stealing.setVictims(workers(5), 0);
    bench.stealing.begin(0);
    bench.stealing.answered(bench.asked[0]!, { type: 'stolen', round: bench.round, probes: [PROBE] }, 0);
    expect(bench.asked).toHaveLength(1);
    expect(bench.stealing.inRound).toBe(false);
  });

  test('stops when the worker has work again', () => {
    const bench = new Bench({ stealCap: 10 });
    bench.stealing.setVictims(workers(5), 0);
    bench.stealing.begin(0);
    bench.w.queue.push(entryOfProbe(PROBE.owner, PROBE, 0));
    bench.stealing.answered(bench.asked[0]!, { type: 'stolen', round: bench.round, probes: [] }, 0);
    expect(bench.asked).toHaveLength(1);
    expect(bench.stealing.inRound).toBe(false);
  });

  test('that has ended is not resumed by a late answer', () => {
    const bench = new Bench({ stealCap: 10 });
    bench.stealing.setVictims(workers(5), 0);
    bench.stealing.begin(0);
    bench.stealing.end();
    bench.stealing.answered(bench.asked[0]!, { type: 'stolen', round: bench.round, probes: [] }, 0);
    expect(bench.asked).toHaveLength(1);
    expect(bench.stealing.inRound).toBe(false);
  });

  test('ignores answers to an earlier round, or from a worker that was not asked', () => {
    const bench = new Bench({ stealCap: 10 });
    bench.stealing.setVictims(workers(5), 0);
    bench.stealing.begin(0);
    const [asked] = bench.asked;
    const other = workers(5).find((worker) => worker !== asked && worker !== SELF)!;
    bench.stealing.answered(asked!, { type: 'stolen', round: bench.round - 1, probes: [] }, 0);
    bench.stealing.answered(other, { type: 'stolen', round: bench.round, probes: [] }, 0);
    expect(bench.asked).toHaveLength(1);
  });

  test('that found nothing is the last under `never`, and repeated with growing pauses under `backoff`', () => {
    const never = new Bench({ stealRetry: 'never' });
    never.stealing.setVictims(workers(3), 0);
    never.wholeRound();
    expect(never.pauses).toEqual([]);

    const [first, most] = [20, 160];
    const backoff = new Bench({
      stealRetry: 'backoff',
      stealBackoffMs: first,
      stealBackoffMaxMs: most,
      stealCap: 1,
    });
    for (let i = 0; i < 8; i++) backoff.wholeRound();
    backoff.pauses.forEach((pause, i) => {
      const base = Math.min(most, first * 2 ** i);
      expect(pause).toBeGreaterThanOrEqual(base * 0.5);
      expect(pause).toBeLessThan(base * 1.5);
    });
    backoff.stealing.foundWork();
    backoff.wholeRound();
    expect(backoff.pauses.at(-1)).toBeLessThan(first * 1.5);
  });

  test('is not delayed when other workers join and leave', () => {
    const bench = new Bench({ stealRetry: 'backoff', stealBackoffMs: 20, stealBackoffMaxMs: 160 });
    for (let count = 1; count < 10; count++) bench.stealing.setVictims(workers(count), 0);
    expect(Math.max(...bench.pauses)).toBeLessThan(20 * 1.5);
    bench.wholeRound();
    const pauses = bench.pauses.length;
    bench.stealing.setVictims(workers(10), 0);
    expect(bench.pauses).toHaveLength(pauses);
  });
});
