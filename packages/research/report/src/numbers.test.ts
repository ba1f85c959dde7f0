import { describe, expect, test } from 'vitest';
import {
  bytes,
  compact,
  duration,
  durationTicks,
  factor,
  factorRange,
  inUnit,
  percent,
  threeDigits,
  tickDuration,
  unitFor,
} from './numbers.js';

describe('formatted numbers', () => {
  test.each([
    [0, '0'],
    [0.012345, '0.0123'],
    [1.2, '1.20'],
    [123.4, '123'],
    [20713, '20,700'],
    [1e-7, '0.000000100'],
    [null, '–'],
  ])('three digits of %s: %s', (value, text) => expect(threeDigits(value)).toBe(text));

  test.each([
    [0.0123, '12.3 ms'],
    [0.42, '420 ms'],
    [1.234, '1.23 s'],
    [0.9996, '1 s'],
    [20713, '5 h 45 min'],
    [176_400, '2 d 1 h'],
    [null, '–'],
  ])('a duration of %s s: %s', (value, text) => expect(duration(value)).toBe(text));

  test('a group of durations has a common unit: milliseconds below 10 s, otherwise seconds', () => {
    expect(inUnit(0.42, unitFor([0.1, 9.9, null]))).toBe('420');
    expect(inUnit(0.42, unitFor([0.1, 10]))).toBe('0.420');
    expect(unitFor([]).symbol).toBe('ms');
  });

  test.each([
    [0.0123, '0.012×'],
    [0.06, '0.060×'],
    [0.2149, '0.21×'],
    [0.996, '1.00×'],
    [1.05, '1.05×'],
    [12.34, '12.3×'],
    [1534, '1,534×'],
    [0, '0.00×'],
    [null, '–'],
  ])('a factor of %s: %s', (value, text) => expect(factor(value)).toBe(text));

  test('ranges, shares and sizes are formatted', () => {
    expect(factorRange(0.19, 0.231)).toBe('0.19–0.23×');
    expect([0, 0.8734, 1, 0.9999].map(percent)).toEqual(['0%', '87.3%', '100%', '100%']);
    expect([210 * 2 ** 20, 1.5 * 2 ** 30].map(bytes)).toEqual(['210 MiB', '1.5 GiB']);
    expect([950, 61_234].map(compact)).toEqual(['950', '61.2K']);
  });

  test('ticks show significant digits only, and those of a linear axis share a unit', () => {
    expect([0.001, 0.5, 2000].map(tickDuration)).toEqual(['1 ms', '500 ms', '2,000 s']);
    expect([0, 0.5, 2].map(durationTicks(2))).toEqual(['0 s', '0.5 s', '2 s']);
    expect([0, 0.5].map(durationTicks(0.5))).toEqual(['0 ms', '500 ms']);
  });
});

test('a share close to zero has no sign', () => {
  expect([percent(-0.0001), percent(-0.02), percent(0)]).toEqual(['0%', '-2%', '0%']);
});
