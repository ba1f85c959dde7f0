import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { BearerTokens, bearerToken } from './bearer.js';

test('a request is admitted by any accepted token, in any case of the scheme', () => {
  const tokens = new BearerTokens(['one-token-0123456789', 'two-token-0123456789']);
  expect(tokens.indexOf('Bearer one-token-0123456789')).toBe(0);
  expect(tokens.indexOf('bearer two-token-0123456789')).toBe(1);
  for (const wrong of [
    undefined,
    '',
    'Bearer ',
    'Bearer three',
    'one-token-0123456789',
    'Basic one-token-0123456789',
  ])
    expect(tokens.indexOf(wrong)).toBe(-1);
  expect(new BearerTokens([]).indexOf('Bearer one')).toBe(-1);
});

test('a token has no blanks and no control characters', () => {
  expect(bearerToken('Bearer a b')).toBeUndefined();
  expect(bearerToken('Bearer a\u0007')).toBeUndefined();
});

test('a server that knows only the hash of a token accepts the token, and not the hash', () => {
  const hash = `sha256:${createHash('sha256').update('one-token-0123456789').digest('hex')}`;
  for (const known of [hash, hash.toUpperCase().replace('SHA', 'sha')]) {
    const tokens = new BearerTokens([known]);
    expect(tokens.indexOf('Bearer one-token-0123456789')).toBe(0);
    expect(tokens.indexOf(`Bearer ${known}`)).toBe(-1);
    expect(tokens.indexOf('Bearer two-token-0123456789')).toBe(-1);
  }
});
