import { describe, expect, test } from 'vitest';
import { LIMITS } from '../limits.js';
import { Random } from '../numbers/random.js';
import { GPU_PARTS, Gpus } from './gpus.js';

function gpusOf(count: number): Gpus<number> {
  return Gpus.of<number>(count * GPU_PARTS, GPU_PARTS)!;
}

function taken(gpus: Gpus<number>, holder: number, gpu: number): readonly number[] {
  gpus.take(holder, gpu * GPU_PARTS);
  return gpus.heldBy(holder);
}

describe('GPUs', () => {
  test('are assigned whole, lowest index first, and are released when their task ends', () => {
    const gpus = gpusOf(4);
    expect(taken(gpus, 0, 2)).toEqual([0, 1]);
    expect(taken(gpus, 1, 1)).toEqual([2]);
    gpus.release(0);
    expect(gpus.heldBy(0)).toEqual([]);
    expect(taken(gpus, 2, 3)).toEqual([0, 1, 3]);
  });

  test('are shared by tasks with fractional demands, on the fullest one with room', () => {
    const gpus = gpusOf(3);
    expect(taken(gpus, 0, 0.5)).toEqual([0]);
    expect(taken(gpus, 1, 0.75)).toEqual([1]);
    expect(taken(gpus, 2, 0.25)).toEqual([1]);
    expect(taken(gpus, 3, 1.5)).toEqual([2, 0]);
    for (let holder = 0; holder < 4; holder++) gpus.release(holder);
    expect(taken(gpus, 4, 3)).toEqual([0, 1, 2]);
  });

  test('are never overcommitted: two tasks of 0.6, or a whole GPU and a fraction, do not share one', () => {
    const gpus = gpusOf(2);
    expect([taken(gpus, 0, 0.6), taken(gpus, 1, 0.6)]).toEqual([[0], [1]]);
    expect([gpus.room, gpus.parts]).toEqual([0.4 * GPU_PARTS, [0.4 * GPU_PARTS, 0.4 * GPU_PARTS]]);
    expect([taken(gpus, 2, 0.6), taken(gpus, 3, 0.8), taken(gpus, 4, 1)]).toEqual([[], [], []]);
    expect(taken(gpus, 5, 0.4)).toEqual([0]);
  });

  test.each([0, 0.5, 1.5])('a worker may have a fraction of one: %d', (amount) => {
    const gpus = Gpus.of<number>(amount * GPU_PARTS, GPU_PARTS);
    expect(gpus?.room ?? 0).toBe(amount * GPU_PARTS);
  });

  test.each([0, LIMITS.gpusMax + 1, 9e15])('there are none for a capacity of %d', (gpu) => {
    expect(Gpus.of(gpu, 1)).toBeUndefined();
  });

  test('stay within capacity for any sequence of tasks, and whole ones are not shared', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = Random.seeded(`gpus ${seed}`);
      const count = 1 + Math.floor(random.next() * 4);
      const gpus = gpusOf(count);
      const amounts = new Map<number, number>();
      for (let step = 0; step < 400; step++) {
        const holder = Math.floor(random.next() * 12);
        if (amounts.delete(holder)) gpus.release(holder);
        else {
          const parts = Math.floor(random.next() * 10) * 1e5;
          const amount = Math.floor(random.next() * (count + 1)) * GPU_PARTS + parts;
          const fits = amount <= gpus.room;
          if (gpus.take(holder, amount) !== fits) expect.fail(`seed ${seed}: ${amount} of ${gpus.room}`);
          if (fits) amounts.set(holder, amount);
        }
        const used = new Array<number>(count).fill(0);
        for (const [each, amount] of amounts) {
          const indices = gpus.heldBy(each);
          if (indices.length !== Math.ceil(amount / GPU_PARTS))
            expect.fail(`seed ${seed}: ${indices} for ${amount}`);
          indices.forEach((index, at) => {
            used[index]! += Math.min(GPU_PARTS, amount - at * GPU_PARTS);
          });
        }
        if (used.some((share) => share > GPU_PARTS)) expect.fail(`seed ${seed}, step ${step}: ${used}`);
        const received = gpusOf(count);
        received.setFree(gpus.room, gpus.parts);
        if (received.room !== gpus.room) expect.fail(`seed ${seed}: ${received.room}, not ${gpus.room}`);
      }
    }
  });
});
