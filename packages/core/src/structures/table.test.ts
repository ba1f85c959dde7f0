import fc from 'fast-check';
import { expect, test } from 'vitest';
import { table } from './table.js';

test('rows keep their values as the table grows, and new rows are 0', () => {
  const number = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5), number), { maxLength: 60 }), (steps) => {
      const rows = table({ small: 'u8', signed: 'i32', wide: 'u32', real: 'f64' });
      const model: number[] = [];
      for (const [more, value] of steps) {
        expect(rows.add(more)).toBe(model.length);
        for (let i = 0; i < more; i++) model.push(0);
        expect(rows.size).toBe(model.length);
        if (model.length === 0) continue;
        const row = value % model.length;
        model[row] = value;
        rows.small[row] = value;
        rows.signed[row] = -value;
        rows.wide[row] = value * 2 ** 24;
        rows.real[row] = value / 3;
        model.forEach((wanted, at) => {
          const read = [rows.small[at], -rows.signed[at]!, rows.wide[at]! / 2 ** 24, rows.real[at]! * 3];
          for (const each of read) expect(each).toBeCloseTo(wanted, 9);
        });
      }
    }),
  );
});

test('adds one row by default', () => {
  const rows = table({ value: 'i32' });
  expect([rows.add(), rows.add(), rows.size]).toEqual([0, 1, 2]);
});
