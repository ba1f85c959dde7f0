import { expect, it } from 'vitest';
import { ago } from './durations.js';

it.each([
  [-5_000, 'just now'],
  [999, 'just now'],
  [1_000, '1 s ago'],
  [59_999, '59 s ago'],
  [60_000, '1 min ago'],
  [3_599_000, '59 min ago'],
  [3_600_000, '1 h ago'],
  [47 * 3_600_000, '47 h ago'],
  [48 * 3_600_000, '2 d ago'],
])('%d ms are %s', (ms, text) => {
  expect(ago(ms)).toBe(text);
});
