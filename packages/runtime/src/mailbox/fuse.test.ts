import { describe, expect, test } from 'vitest';
import { Fuse, memoryReader } from './fuse.js';

const MEBI = 1024 * 1024;

class Bench {
  readonly fuse = new Fuse();
  now = 0;

  /** A second later. @returns for how long connections are cut */
  look(resident: number, accounted: number, isIdle = true): number | undefined {
    this.now += 1_000;
    const memory = { resident: resident * MEBI, accounted: accounted * MEBI };
    const shutMs = this.fuse.look(memory, isIdle, this.now);
    if (shutMs !== undefined) this.fuse.settled(memory);
    return shutMs;
  }
}

describe('connections are cut', () => {
  test('when memory has grown by more than frames take, and there is nothing to read', () => {
    const bench = new Bench();
    expect([bench.look(100, 50), bench.look(355, 50), bench.look(356, 50)]).toEqual([
      undefined,
      undefined,
      200,
    ]);
  });

  test('later when much waits to be read', () => {
    const bench = new Bench();
    expect([100, 500, 1_123, 1_124].map((mebi) => bench.look(mebi, 50, false))).toEqual([
      undefined,
      undefined,
      undefined,
      200,
    ]);
  });

  test('not for what JavaScript has, nor for what it gave back and the system has not taken', () => {
    const bench = new Bench();
    bench.look(100, 50);
    expect([bench.look(2_000, 1_950), bench.look(2_000, 50), bench.look(2_200, 50)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    // Some of it was taken, and is gone with somebody else.
    bench.look(1_000, 50);
    expect(bench.look(1_300, 50)).toBe(200);
  });

  test('once for what stays: it is not theirs', () => {
    const bench = new Bench();
    expect([100, 500, 500, 500, 560].map((mebi) => bench.look(mebi, 50))).toEqual([
      undefined,
      200,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('for longer each time when it happens again soon', () => {
    const bench = new Bench();
    const cuts: number[] = [];
    for (let mebi = 100; cuts.length < 7; mebi += 100) {
      const shutMs = bench.look(mebi, 50);
      if (shutMs !== undefined) cuts.push(shutMs);
    }
    expect(cuts).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  });
});

test.runIf(process.platform === 'linux')('what JavaScript has of this process is accounted for', () => {
  const read = memoryReader()!;
  const before = read();
  const kept = Buffer.alloc(100 * MEBI, 1);
  const after = read();
  expect(after.accounted - before.accounted).toBeGreaterThan(90 * MEBI);
  expect(after.resident - before.resident).toBeGreaterThan(90 * MEBI);
  expect(kept).toHaveLength(100 * MEBI);
});
