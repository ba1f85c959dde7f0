import { describe, expect, test } from 'vitest';
import { MemoryBreaker } from './memory-breaker.js';

const MEBI = 1024 * 1024;

class Bench {
  readonly breaker: MemoryBreaker;
  now = 0;

  constructor(heapMebi = 4_096) {
    this.breaker = new MemoryBreaker(heapMebi * MEBI);
  }

  /** @returns for how long connections are cut */
  check(resident: number, accounted: number, { isIdle = true, afterMs = 50 } = {}): number | undefined {
    this.now += afterMs;
    const memory = { resident: resident * MEBI, accounted: accounted * MEBI };
    const shutMs = this.breaker.check(memory, isIdle, this.now);
    if (shutMs !== undefined) this.breaker.reset(memory);
    return shutMs;
  }

  /** Grows in steps of this many MiB. @returns how often connections were cut */
  grow(stepMebi: number, steps: number, options = {}): number {
    let cuts = 0;
    for (let i = 0; i <= steps; i++) if (this.check(100 + i * stepMebi, 50, options) !== undefined) cuts++;
    return cuts;
  }
}

test('memory is sampled more often while it grows', () => {
  const bench = new Bench();
  const pauses = [100, 100, 110, 110].map((resident) => {
    bench.check(resident, 50);
    return bench.breaker.pauseMs;
  });
  expect(pauses).toEqual([50, 250, 50, 250]);
});

describe('connections are closed', () => {
  test('if memory grows by more than the size of frames while no input is pending', () => {
    expect(new Bench().grow(25, 10)).toBe(0);
    expect(new Bench().grow(25, 12)).toBe(1);
  });

  test('later if much input is pending, the process was busy, or memory grows slowly', () => {
    for (const options of [{ isIdle: false }, { afterMs: 300 }]) {
      expect(new Bench().grow(25, 40, options)).toBe(0);
      expect(new Bench().grow(25, 41, options)).toBe(1);
    }
    expect(new Bench().grow(2, 500)).toBe(0);
    expect(new Bench().grow(2, 520)).toBe(1);
  });

  test('not for memory of JavaScript, or memory that it has freed and the system has not reclaimed', () => {
    const bench = new Bench();
    bench.check(100, 50);
    const looks = [bench.check(2_000, 1_950), bench.check(2_000, 50), bench.check(2_200, 50)];
    expect(looks).toEqual([undefined, undefined, undefined]);
  });

  test('the sooner the smaller the heap is', () => {
    expect(new Bench(300).grow(25, 1)).toBe(0);
    expect(new Bench(300).grow(25, 3)).toBe(1);
    expect(new Bench(300).grow(25, 13, { isIdle: false })).toBe(1);
  });

  test('for longer each time if it happens again soon', () => {
    const bench = new Bench();
    const cuts: number[] = [];
    for (let mebi = 100; cuts.length < 7; mebi += 100) {
      const shutMs = bench.check(mebi, 50);
      if (shutMs !== undefined) cuts.push(shutMs);
    }
    expect(cuts).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  });
});
