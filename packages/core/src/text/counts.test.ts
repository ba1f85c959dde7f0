import { expect, test } from 'vitest';
import { formatCount } from './counts.js';

test.each([0, 7, -7, 999, 1_000, -1_000, 12_345, 123_456, -123_456, 1_000_000, Number.MAX_SAFE_INTEGER])(
  '%d is written as a locale would',
  (count) => expect(formatCount(count)).toBe(count.toLocaleString('en-US')),
);
