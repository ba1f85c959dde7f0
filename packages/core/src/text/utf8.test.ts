import { expect, it } from 'vitest';
import { textProblem } from './utf8.js';

it('text with a NUL byte or a lone surrogate cannot be passed on', () => {
  expect(['a\0', '\ud800', 'x\udc00', '🦅', 'é', ''].map(textProblem)).toEqual([
    'a NUL byte cannot be passed to a process',
    'half of a character (a lone surrogate) cannot be passed on',
    'half of a character (a lone surrogate) cannot be passed on',
    undefined,
    undefined,
    undefined,
  ]);
});
