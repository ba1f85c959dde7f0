import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runLengths, TimeAxis, unionOf } from './time-axis.js';

it('leaves out the pause before a retry, so that both runs are visible', () => {
  const runs = [
    { from: 1, to: 15 },
    { from: 982, to: 982.2 },
  ];
  const axis = new TimeAxis(runs, 0);
  expect(axis.cuts).toEqual([{ from: 15, to: 982 }]);
  expect(runLengths(axis, runs).map((length) => Number(length.toFixed(1)))).toEqual([14, 0.2]);
  expect(axis.at(15)).toBeGreaterThan(0.9);
  expect(axis.at(982.2)).toBe(1);
});

it('a short pause is a part of the run', () => {
  const runs = [
    { from: 0, to: 10 },
    { from: 15, to: 30 },
  ];
  const axis = new TimeAxis(runs, 0);
  expect(axis.cuts).toEqual([]);
  expect(runLengths(axis, runs)).toEqual([30]);
});

const spans = fc
  .array(
    fc.tuple(fc.double({ min: 0, max: 1e4, noNaN: true }), fc.double({ min: 0.01, max: 100, noNaN: true })),
    {
      minLength: 1,
      maxLength: 30,
    },
  )
  .map((all) =>
    unionOf(all.map(([from, length]) => ({ from, to: from + length })).sort((a, b) => a.from - b.from)),
  );

it('times and places are in the same order, and a place has the time that is there', () => {
  fc.assert(
    fc.property(
      spans,
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 }),
      (runs, places) => {
        const axis = new TimeAxis(runs, 0);
        expect([axis.at(0), axis.at(axis.end)]).toEqual([0, expect.closeTo(1, 9)]);
        for (const place of places) expect(axis.at(axis.timeAt(place))).toBeCloseTo(place, 6);
        const times = runs.flatMap(({ from, to }) => [from, to]).map((time) => axis.at(time));
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      },
    ),
  );
});

it('the intervals contain all attempts and do not overlap', () => {
  fc.assert(
    fc.property(spans, (runs) => {
      for (const [index, { from, to }] of runs.entries()) {
        expect(to).toBeGreaterThan(from);
        if (index > 0) expect(from).toBeGreaterThan(runs[index - 1]!.to);
      }
    }),
  );
});
