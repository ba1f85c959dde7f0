import { describe, expect, test } from 'vitest';
import { Gpus } from './gpus.js';

function taken(gpus: Gpus, slot: number, gpu: number): readonly number[] {
  gpus.take(slot, { gpu });
  return gpus.heldBy(slot);
}

describe('GPUs', () => {
  test('are given whole, the lowest free ones, and are free again when their task has ended', () => {
    const gpus = Gpus.of({ gpu: 4 })!;
    expect(taken(gpus, 0, 2)).toEqual([0, 1]);
    expect(taken(gpus, 1, 1)).toEqual([2]);
    gpus.free(0);
    expect(gpus.heldBy(0)).toEqual([]);
    expect(taken(gpus, 2, 3)).toEqual([0, 1, 3]);
  });

  test('are shared by tasks that demand a part of one: the fullest that has room', () => {
    const gpus = Gpus.of({ gpu: 3 })!;
    expect(taken(gpus, 0, 0.5)).toEqual([0]);
    expect(taken(gpus, 1, 0.75)).toEqual([1]);
    expect(taken(gpus, 2, 0.25)).toEqual([1]);
    expect(taken(gpus, 3, 1.5)).toEqual([2, 0]);
    for (let slot = 0; slot < 4; slot++) gpus.free(slot);
    expect(taken(gpus, 4, 3)).toEqual([0, 1, 2]);
  });

  test('of which parts are taken everywhere are given all the same, the emptiest first', () => {
    const gpus = Gpus.of({ gpu: 2 })!;
    expect(taken(gpus, 0, 0.7)).toEqual([0]);
    expect(taken(gpus, 1, 0.6)).toEqual([1]);
    expect(taken(gpus, 2, 0.7)).toEqual([1]);
  });

  test.each([0, 1e6, 9e15])('there are none for a capacity of %d', (gpu) => {
    expect(Gpus.of({ gpu })).toBeUndefined();
  });

  test('whole ones are never shared, whatever comes and goes', () => {
    const gpus = Gpus.of({ gpu: 4 })!;
    const sizes = new Map<number, number>();
    let seed = 7;
    const draw = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let step = 0; step < 2_000; step++) {
      const slot = draw(4);
      const inUse = [...sizes.values()].reduce((sum, size) => sum + size, 0);
      if (sizes.delete(slot)) gpus.free(slot);
      else if (inUse < 4) {
        const size = 1 + draw(4 - inUse);
        sizes.set(slot, size);
        expect(taken(gpus, slot, size)).toHaveLength(size);
      }
      const all = [...sizes.keys()].flatMap((each) => gpus.heldBy(each));
      expect(new Set(all).size).toBe(all.length);
    }
  });
});
