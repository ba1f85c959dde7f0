import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DelayLane } from './delay-lane.js';

test('messages arrive intact and in order, however many wait', () => {
  const bursts = fc.array(fc.record({ push: fc.nat(3_000), shift: fc.nat(3_000) }), { maxLength: 8 });
  fc.assert(
    fc.property(bursts, (rounds) => {
      const lane = new DelayLane();
      let pushed = 0;
      let shifted = 0;
      for (const { push, shift } of rounds) {
        for (let i = 0; i < push; i++, pushed++)
          lane.push(pushed / 2, pushed, pushed % 7, pushed % 5, `m${pushed}`);
        for (let i = 0; i < shift && lane.size > 0; i++, shifted++) {
          const { nextTime: time, sequence, target, sender } = lane;
          expect([time, sequence, target, sender]).toEqual([shifted / 2, shifted, shifted % 7, shifted % 5]);
          expect(lane.shift()).toBe(`m${shifted}`);
        }
        expect(lane.size).toBe(pushed - shifted);
        expect(lane.nextTime).toBe(pushed === shifted ? Number.POSITIVE_INFINITY : shifted / 2);
      }
    }),
    { numRuns: 30 },
  );
});
