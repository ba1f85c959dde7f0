import { expect, it } from 'vitest';
import { plain } from './paint.js';

it('words of others neither move the cursor nor break or turn the line', () => {
  expect(plain('a\u001b[31mb\u001b]0;title\u0007c\r\nd')).toBe('abc d');
  expect(plain('user\u202Etxt.exe\u2066x\u200f')).toBe('usertxt.exex');
});
