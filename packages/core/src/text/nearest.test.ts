import { describe, expect, it } from 'vitest';
import { nearest } from './nearest.js';

const WORDS = ['slots', 'steal-cap', 'stealing', 'all'];

describe('the intended word is found', () => {
  it.each([
    ['slot', 'slots'],
    ['stealcap', 'steal-cap'],
    ['steeling', 'stealing'],
    ['al', 'all'],
    ['slost', 'slots'],
    ['lal', 'all'],
    ['slots', 'slots'],
  ])('by %s is %s', (word, meant) => {
    expect(nearest(word, WORDS)).toBe(meant);
  });

  it.each(['', 'x', 'http-port', 'unheard-of'])('by "%s" is none of them', (word) => {
    expect(nearest(word, WORDS)).toBeUndefined();
  });
});
