import { expect, it } from 'vitest';
import { describeThrownIn } from './errors.js';

it.each([
  ['an error', () => new Error('lost my way'), /^Error: lost my way \(errors\.test\.ts:\d+:\d+\)$/],
  ['text', () => 'no way', /^no way$/],
  ['an object without text', () => Object.create(null), /^a value without text$/],
  [
    'an error without text',
    () => Object.assign(new Error('x'), { message: undefined }),
    /^a value without text$/,
  ],
])('describes %s that a custom policy threw', (_, make, text) => {
  expect(describeThrownIn(make(), 'errors.test.ts')).toMatch(text);
});
