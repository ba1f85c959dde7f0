import { expect, it } from 'vitest';
import { clipLines } from './clip.js';

it('cuts each line, and keeps the colours', () => {
  expect(clipLines('abcdef\n\u001b[31mabc\u001b[39mdef\nab', 4)).toBe('abcd\n\u001b[31mabc\u001b[39md\nab');
});
