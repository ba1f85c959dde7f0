import { expect, test } from 'vitest';
import { InputError } from '../errors.js';
import { formatDuration, parseDuration, untilNextPeriod } from './durations.js';

test.each([
  ['100ms', 100],
  ['2s', 2_000],
  ['1.5m', 90_000],
  ['1h30m', 5_400_000],
  ['250us', 0.25],
  ['0s', 0],
  ['7d', 604_800_000],
])('%s is %d ms', (text, ms) => {
  expect(parseDuration(text, '--for')).toBe(ms);
});

test.each(['', '5', '5x', 's', '-1s', '1s 2', '1e3s'])('%j is refused with what to write instead', (text) => {
  expect(() => parseDuration(text, '--for')).toThrow(InputError);
});

test.each([
  [0.4321, '0.432 ms'],
  [0, '0 ms'],
  [999.6, '1 s'],
  [12_340, '12.3 s'],
  [59_960, '1 min 0 s'],
  [83_000, '1 min 23 s'],
  [7_500_000, '2 h 5 min'],
  [172_770_000, '2 d 0 h'],
  [176_400_000, '2 d 1 h'],
])('%d ms reads %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [250, 1_000.2, 250],
  [250, 1_249.6, 1],
  [1_000, 2_000, 1_000],
])('a period of %d ms has its next beginning after %d ms in %d ms', (period, now, wait) => {
  expect(untilNextPeriod(period, now)).toBe(wait);
});
