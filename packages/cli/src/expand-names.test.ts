import { expect, test } from 'vitest';
import { expandNames } from './expand-names.js';

test('expands each range to its numbers, and keeps other names', () => {
  expect(expandNames('s[0-2],goshawk-scheduler-[9-10], s1,a')).toEqual([
    ...['s0', 's1', 's2', 'goshawk-scheduler-9', 'goshawk-scheduler-10', 'a'],
  ]);
  expect(expandNames('')).toEqual([]);
});

test.each(['s[2-0]', 's[a-b]', 's*', 's[0-99999]', 'x'.repeat(300), 's0\n1', '\u200b'])(
  '%s is refused',
  (text) => {
    expect(() => expandNames(text)).toThrow('--expect-schedulers');
  },
);
