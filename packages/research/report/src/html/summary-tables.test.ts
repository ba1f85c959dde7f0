import { expect, test } from 'vitest';
import { inWords } from './summary-tables.js';

test.each([
  [0.059, '16.9 times as fast'],
  [0.68, '32% less time'],
  [0.98, 'about equal'],
  [1.04, 'about equal'],
  [1.14, '14% slower'],
  [3, '3.00 times as slow'],
  [null, 'no jobs to compare'],
])('a ratio of %s is said as: %s', (ratio, words) => expect(inWords(ratio)).toBe(words));
