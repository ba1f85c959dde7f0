import fc from 'fast-check';
import { expect, it } from 'vitest';
import { apportion } from './fewer-tasks.js';

it('divides the total so that each stage gets at least one, and no smaller stage gets more', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(sizes, fc.double({ min: 0, max: 1, noNaN: true }), (each, fraction) => {
      const total = each.reduce((a, b) => a + b, 0);
      const whole = Math.round(fraction * total);
      const parts = apportion(each, whole);
      expect(parts.reduce((a, b) => a + b, 0)).toBe(Math.max(whole, each.length));
      parts.forEach((part, i) => {
        expect(part).toBeGreaterThanOrEqual(1);
        expect(part).toBeLessThanOrEqual(each[i]!);
        each.forEach((other, j) => {
          if (other < each[i]!) expect(parts[j]).toBeLessThanOrEqual(part);
        });
      });
    }),
  );
});
